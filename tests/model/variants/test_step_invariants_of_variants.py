"""Where the step invariants of the built-in variants look: at the same values of a rule at each of
its indexes, and at no arrays together that nothing else ties. So the numbers of calls and states
that are stored for them do not depend on step invariants.
"""

import attrs
import pytest
from contract import promised

from groupcheck.model.engine import Spec, StepInvariant, array, rule, step_invariant
from groupcheck.model.engine.binding import call_key
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.symmetry import symmetry_of
from groupcheck.model.variants import load, names


def looking_apart(spec: Spec) -> set[str]:
    """The rules whose calls cannot serve all indexes, because of where step invariants look."""
    see = Semantics(spec)
    keys = {
        (i.rule.name, i.given, call_key(i, see.checks(i))) for i in (*see.ordinary, *see.urgent)
    }
    calls = [(name, given) for name, given, _ in keys]
    return {name for name, given in calls if calls.count((name, given)) > 1}


def tied_by_steps(spec: Spec) -> bool:
    """Do step invariants change which arrays are permuted together?"""
    others = [p for p in spec.invariants if not isinstance(p, StepInvariant)]
    return symmetry_of(spec) != symmetry_of(attrs.evolve(spec, invariants=others))


@pytest.mark.parametrize("name", names())
def test_step_invariants_look_at_the_same_values_at_every_index(name):
    variant = load(name)
    for cover in variant.covers:
        spec = promised(variant, variant.spec(variant.scope_type(**cover.fields)))
        # The records of share groups promise states alone.
        some = any(isinstance(p, StepInvariant) for p in spec.invariants)
        assert some == (name != "share_partition")
        assert looking_apart(spec) == set(), cover.fields
        assert not tied_by_steps(spec), cover.fields


def test_another_spec_is_told_apart():
    @rule
    def swap(a: "a[i]", b: "b[j]"):
        yield b, a

    @step_invariant("a", "b")
    def never(before, after):
        return False

    spec = Spec("pairs", {"a": array(3, 0), "b": array(3, 0)}, [swap], invariants=[never])
    assert looking_apart(spec) == {"swap"} and tied_by_steps(spec)
