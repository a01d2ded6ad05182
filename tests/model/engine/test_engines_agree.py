"""The fast engine and the obvious one give the same answers, on random protocols and on real ones."""

from hypothesis import HealthCheck, given, settings
from random_specs import specs

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


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(specs())
def test_both_engines_agree_on_random_protocols(spec):
    probe = reference.explore(spec, Limits(states=3000))
    if probe.states <= 3000:
        assert answer(fast, spec) == answer(reference, spec)
