"""The explicit-state engine: a `Spec` of slots and rules goes in, a `Verdict` comes out. It knows
nothing of Kafka.
"""

from groupcheck.model.engine.element import Element
from groupcheck.model.engine.errors import (
    CheckpointError,
    OutageError,
    RuleError,
    ScopeError,
    SpecError,
    UserError,
)
from groupcheck.model.engine.progress import (
    Fairness,
    Liveness,
    always_possible,
    eventually,
    infinitely_often,
    leads_to,
    settles,
    weak,
    weak_any,
)
from groupcheck.model.engine.promises import (
    Predicate,
    StepInvariant,
    constraint,
    end,
    goal,
    invariant,
    step_invariant,
    view,
)
from groupcheck.model.engine.refinement import Refinement, refines
from groupcheck.model.engine.rule import Rule, rule, urgent
from groupcheck.model.engine.slot import AnyOf, Slot, any_of, array, single
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.values import evolve, remembered
from groupcheck.model.engine.verdict import (
    Firing,
    Limits,
    Path,
    Progress,
    Reached,
    Step,
    Verdict,
    Violation,
)

__all__ = [
    "AnyOf",
    "CheckpointError",
    "Element",
    "Fairness",
    "Firing",
    "Limits",
    "Liveness",
    "OutageError",
    "Path",
    "Predicate",
    "Progress",
    "Reached",
    "Refinement",
    "Rule",
    "RuleError",
    "ScopeError",
    "Slot",
    "Spec",
    "SpecError",
    "Step",
    "StepInvariant",
    "UserError",
    "Verdict",
    "Violation",
    "always_possible",
    "any_of",
    "array",
    "constraint",
    "end",
    "eventually",
    "evolve",
    "goal",
    "infinitely_often",
    "invariant",
    "leads_to",
    "refines",
    "remembered",
    "rule",
    "settles",
    "single",
    "step_invariant",
    "urgent",
    "view",
    "weak",
    "weak_any",
]
