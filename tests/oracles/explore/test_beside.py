"""Two walks side by side, until they part."""

from __future__ import annotations

import attrs
import pytest

from groupcheck import UserError
from groupcheck.oracles.explain.subject import subject
from groupcheck.oracles.explore.beside import beside, other_of
from groupcheck.oracles.explore.walk import Walk

BUG = "keeps_partitions_when_lost"
KEY = "gc1-0.0.2.2.0.3.0.0.2.1.2.0.1.0"


def test_a_bug_parts_from_the_healthy_model_at_the_step_that_matters() -> None:
    walk = Walk(subject("classic", mutation=BUG), KEY)
    found = beside(walk, Walk(other_of(walk.about, "healthy")))
    assert found.title == "classic" and len(found.states) == 10
    assert found.parting is not None and found.parting.step == 9 and found.parting.possible
    assert found.parting.differences == (("client[0].owned", "1", "0"),)
    assert "member A sends JoinGroup" in found.parting.words.replace("Member", "member")
    assert f"The bug {BUG} changes send join" in found.parting.words
    walk.back(5)
    assert beside(walk, Walk(other_of(walk.about, "healthy"))).parting is None


def test_a_healthy_model_beside_a_bug_parts_at_the_same_step() -> None:
    walk = Walk(subject("classic", mutation=BUG), KEY)
    healthy = Walk(other_of(walk.about, "healthy"), KEY[: KEY.rindex(".1.0")])
    found = beside(healthy, Walk(other_of(healthy.about, BUG)))
    assert found.parting is not None and found.parting.step == 9
    assert found.parting.differences == (("client[0].owned", "0", "1"),)


def test_a_step_that_the_other_one_cannot_take_is_told() -> None:
    about = subject("classic", members=2, faults={"crash": 1})
    walk = Walk(about)
    walk.take(0)
    crash = next(c for c in walk.choices if c.fault == "crash")
    walk.take(crash.number)
    without = Walk(subject("classic", members=2))
    parting = beside(walk, without).parting
    # The scopes differ in their budgets, which are part of the state.
    assert parting is not None and parting.step == 0
    assert parting.differences == (("budget.left", "((crash, 1))", "()"),)


def test_variants_are_compared_at_one_scope() -> None:
    walk = Walk(subject("classic", members=2))
    other = other_of(walk.about, "cooperative")
    assert other.spec.name == "cooperative" and other.spec.scope.members == 2
    walk.random(12, seed=1)
    assert beside(walk, Walk(other)).parting is None
    walk.begin(0)
    walk.random(12, seed=5)  # an eager member gives up p0 when it joins, a cooperative one keeps it
    parting = beside(walk, Walk(other)).parting
    assert parting is not None and parting.step == 12 and parting.possible
    assert parting.words == (
        "Member B sends JoinGroup; the coordinator parks the request; member A joins generation 2;"
        " member B joins generation 2, here and in cooperative. The state after it differs."
    )
    assert ("client[1].owned", "0", "1") in parting.differences


@pytest.mark.parametrize(
    ("about", "name", "what"),
    [
        (("classic", None), "healthy", "classic is healthy already"),
        (("classic", BUG), "keeps_partitions_when_lots", "did you mean keeps_partitions_when_lost"),
    ],
)
def test_a_wrong_other_is_refused(about: tuple[str, str | None], name: str, what: str) -> None:
    with pytest.raises(UserError, match=what):
        other_of(subject(about[0], mutation=about[1]), name)


def test_another_value_of_a_field_is_another_subject_at_the_same_scope() -> None:
    about = subject("consumer", members=1, settings={"k3": "as_kafka"})
    other = other_of(about, "k3=mended")
    assert other.spec.scope == attrs.evolve(about.spec.scope, k3="mended")
    assert beside(Walk(about), Walk(other), "k3=mended").title == "consumer at k3=mended"
    with pytest.raises(UserError, match="kafak"):
        other_of(about, "kafak=4.0.0")
