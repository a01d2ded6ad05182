"""The fast engine and the obvious one give the same answers, on random protocols and on real ones."""

from hypothesis import given, settings
from hypothesis import strategies as st
from random_specs import random_spec

from groupcheck.model.engine import Limits, RuleError, UserError, reference
from groupcheck.model.engine import explore as fast


def answer(engine, spec):
    """Everything that both engines must agree on."""
    try:
        v = engine.explore(spec)
    except RuleError as error:
        return type(error).__name__, error.rule
    except UserError as error:
        return type(error).__name__, str(error)
    violations = [(x.invariant, x.depth, len(x.path.steps), x.statement) for x in v.violations]
    return v.verdict, v.reason, v.states, v.transitions, v.depth, v.rules, v.goals, violations


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(0, 1 << 40))
def test_both_engines_agree_on_random_protocols(seed):
    spec = random_spec(seed)
    if reference.explore(spec, Limits(states=700)).states <= 700:
        assert answer(fast, spec) == answer(reference, spec)
