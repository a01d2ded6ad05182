"""What makes a group rebalance although nobody comes or goes: each trigger fires, is told, leads to
an assignment of the topics as they are, and does no more than Kafka's client does.
"""

from __future__ import annotations

from typing import Annotated, Any

import attrs
import pytest

from groupcheck.invariants.registry import for_families
from groupcheck.model.engine import ScopeError, Spec, invariant, reference
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.verdict import HOLDS, Violation
from groupcheck.model.protocol.classic.features.triggers.scope import TriggersScope
from groupcheck.model.protocol.classic.group import Seats
from groupcheck.model.variants import load
from groupcheck.oracles.explain.subject import subject

TRIGGERS = load("triggers")
ONE, TWO = {"members": 1, "records": 0}, {"members": 2, "records": 0}


def spec(**fields: Any) -> Spec:
    promises = for_families(TRIGGERS.families)
    made = TRIGGERS.spec(TRIGGERS.scope_type(**fields))
    return attrs.evolve(made, invariants=promises.invariants, views=promises.views)


@pytest.mark.parametrize(
    ("fields", "states", "transitions", "depth"),
    [
        ({**TWO, "generations": 2, "any_faults": 1}, 6_063, 16_758, 18),
        ({**ONE, "generations": 2, "any_faults": 2}, 2_996, 7_550, 15),
        (
            {**TWO, "generations": 3, "subscriptions": "t|*", "faults": {"create_topic": 1}},
            441,
            1_072,
            20,
        ),
        (
            {**TWO, "generations": 2, "max_size": 2, "topics": "t:1", "assignor": "range"}
            | {"faults": {"lower_max_size": 1, "fail_over": 1}},
            1_181,
            2_801,
            18,
        ),
    ],
    ids=str,
)
def test_the_size_of_the_model(
    fields: dict[str, Any], states: int, transitions: int, depth: int
) -> None:
    slow = [reference.explore(spec(**fields))] if states < 1_500 else []
    for verdict in (explore(spec(**fields)), *slow):
        assert (verdict.verdict, verdict.states, verdict.transitions, verdict.depth) == (
            HOLDS,
            states,
            transitions,
            depth,
        )


def test_without_triggers_the_group_is_the_classic_one() -> None:
    """One topic, to which all subscribe, and a cluster that does not change."""
    classic = load("classic")
    for fields in ({"members": 2, "generations": 2}, {"members": 1, "faults": {"crash": 2}}):
        same = explore(classic.spec(classic.scope_type(partitions=1, assignor="any", **fields)))
        now = explore(TRIGGERS.spec(TRIGGERS.scope_type(topics="t:1", **fields)))
        walks = ("begin_walk", "end_walk")  # those of the survey count, too
        fired = {name: n for name, n in same.rules.items() if name not in walks}
        known = {name: n for name, n in now.rules.items() if name in fired}
        assert (now.states, now.transitions, known) == (same.states, same.transitions, fired)


# -- causes


def told(promise: Any, **fields: Any) -> tuple[Violation, str]:
    """The shortest path that breaks a promise, and its story."""
    verdict = explore(attrs.evolve(spec(**fields), invariants=[promise]))
    (violation,) = verdict.violations
    assert TRIGGERS.story is not None
    lines = TRIGGERS.story(violation.path).lines
    return violation, " ".join(f"{line.lane}: {line.words}." for line in lines if line.telling)


@invariant
def one_round(core: Any) -> bool:
    """Nothing starts a second round."""
    return bool(core.generation < 2)


CAUSES = [
    ({"faults": {"add_partitions": 1}}, "leads the group and learns that topics have changed"),
    ({"faults": {"delete_topic": 1}}, "an administrator deletes a topic"),
    ({"faults": {"create_topic": 1}}, "an administrator creates a topic"),
    (
        {"subscriptions": "*", "faults": {"create_topic": 1}},
        "learns that its pattern matches other topics than before, so it must join again",
    ),
    ({"faults": {"subscribe": 1}}, "subscribes to other topics, and must join again"),
]


@pytest.mark.parametrize(("fields", "cause"), CAUSES, ids=str)
def test_the_story_of_a_second_round_names_its_cause(fields: dict[str, Any], cause: str) -> None:
    assert cause in told(one_round, **ONE, generations=2, **fields)[1]


def test_without_a_trigger_there_is_no_second_round() -> None:
    for fields, _ in CAUSES:
        quiet = {name: value for name, value in fields.items() if name != "faults"}
        still = attrs.evolve(spec(**ONE, generations=2, **quiet), invariants=[one_round])
        assert explore(still).verdict == HOLDS


def test_a_pattern_matches_only_the_topics_whose_names_begin_so() -> None:
    asked: dict[str, Any] = {"generations": 2, "subscriptions": "t*", "faults": {"create_topic": 1}}
    other = attrs.evolve(spec(**ONE, **asked, topics="t:1,u:0-1"), invariants=[one_round])
    assert explore(other).verdict == HOLDS
    told_of = told(one_round, **ONE, **asked, topics="t:1,tu:0-1")[1]
    assert "learns that its pattern matches other topics than before" in told_of


@invariant
def nobody_is_too_many(client: Any) -> bool:
    """No member is told that the group is full."""
    return bool(client.failed != 81)


def test_a_lowered_limit_removes_a_member_and_is_told() -> None:
    lowered = {"lower_max_size": 1, "fail_over": 1}
    _, story = told(
        nobody_is_too_many, **TWO, generations=2, topics="t:1", max_size=2, faults=lowered
    )
    assert "whose group.max.size is smaller" in story
    assert "answers 81 GROUP_MAX_SIZE_REACHED" in story


@invariant
def nobody_is_refused(client: Any) -> bool:
    """No member is told that its assignors do not fit."""
    return bool(client.failed != 23)


def test_one_bounce_to_an_assignor_that_others_do_not_list_is_refused() -> None:
    lists = {"protocols": "range|range", "protocols_after": "sticky|sticky", "topics": "t:1"}
    _, story = told(
        nobody_is_refused, **TWO, generations=2, **lists, faults={"change_assignors": 1}
    )
    assert "is configured with another list of assignors before it starts" in story
    assert "answers 23 INCONSISTENT_GROUP_PROTOCOL" in story


@invariant
def what_is_owned_exists(client: Any, cluster: int) -> bool:
    """No member owns a partition that does not exist."""
    return not client.owned & ~cluster


def test_a_topic_that_is_made_anew_with_fewer_partitions_leaves_an_owner_of_nothing() -> None:
    """The last step makes the topic anew, so that it exists, and a partition of it does not."""

    @invariant
    def as_large_as_before(client: Any, cluster: int) -> bool:
        """No member owns a partition that is gone while the topic exists."""
        return bool(not cluster or not client.owned & ~cluster)

    made_anew = {"delete_topic": 1, "create_topic": 1}
    _, story = told(as_large_as_before, **ONE, generations=2, topics="t:2", faults=made_anew)
    deleted = story.index("an administrator deletes a topic")
    assert story.index("an administrator creates a topic") > deleted
    _, first = told(what_is_owned_exists, **ONE, generations=2, topics="t:2", faults=made_anew)
    assert "an administrator deletes a topic" in first and "creates" not in first


@invariant
def one_owner(client: Annotated[tuple[Any, ...], "client[:]"]) -> bool:
    """Only one member owns anything."""
    return sum(bool(c.owned) for c in client) < 2


def test_members_with_different_subscriptions_are_told_with_their_own_partitions() -> None:
    where = {"topics": "t:1,u:1", "subscriptions": "t|u", "assignor": "range"}
    _, story = told(one_owner, **TWO, generations=2, **where)
    assert "member A gets p0" in story and "member B gets p1" in story


# -- what members own


@pytest.mark.parametrize("assignor", ["any", "range"])
def test_members_get_partitions_of_their_own_topics_and_every_partition_has_an_owner(
    assignor: str,
) -> None:
    """Of t with two partitions and u with one, where only the second member wants u."""
    shares = set()

    @invariant
    def noted(seats: Annotated[tuple[Seats, ...], "seats[:]"]) -> bool:
        """Notes the shares of a full group."""
        given = [seat.share for mine in seats for _, seat in mine if seat.member]
        shares.add(tuple(given))
        return True

    where = {"topics": "t:2,u:1", "subscriptions": "t|t,u", "assignor": assignor}
    explore(attrs.evolve(spec(**TWO, generations=1, **where), invariants=[noted]))
    full = {given for given in shares if len(given) == 2 and any(given)}
    assert all(a & b == 0 and a | b == 0b111 and not a & 0b100 for a, b in full)
    ranged = {(0b001, 0b110)}
    assert full == ranged if assignor == "range" else full > ranged


# -- scopes


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"partitions": 2}, "partitions are those of the topics here"),
        ({"topics": "t"}, "do not say what is there"),
        ({"topics": "t:1,t:2"}, "have a name twice"),
        ({"topics": "t:20,u:20"}, "more than 30 partitions"),
        ({"topics": "t:3-2"}, "begin with more partitions than they may have"),
        ({"subscriptions": "t"}, "do not say to which of t, u each of 2 members subscribes"),
        ({"subscriptions": "t|w"}, "do not say to which of t, u"),
        ({"subscriptions": "t|w*"}, "do not say to which of t, u"),
        ({"protocols_after": "range|range"}, "does not list the assignors of 2 members"),
    ],
)
def test_a_scope_that_does_not_fit_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScopeError, match=problem):
        TriggersScope(**fields)


# -- progress


def broken(**given: Any) -> set[str]:
    made = subject("triggers", progress=True, **given).spec
    return {v.invariant for v in explore(made, liveness=True).violations}


@pytest.mark.parametrize(
    "fields",
    [
        {"members": 2, "faults": {"add_partitions": 1}},
        {"members": 2, "subscriptions": "t|*", "faults": {"delete_topic": 1, "create_topic": 1}},
        {"members": 2, "topics": "t:1,u:1", "faults": {"subscribe": 1, "session_timeout": 1}},
        {"members": 1, "any_faults": 1},
    ],
    ids=str,
)
def test_after_its_triggers_the_group_settles_with_the_topics_as_they_are(
    fields: dict[str, Any],
) -> None:
    assert broken(records=0, **fields) == set()


def without(fair: str) -> set[str]:
    made = subject("triggers", progress=True, members=1, records=0, faults={"add_partitions": 1})
    left = [f for f in made.spec.fair if f.names != (fair,)]
    assert len(left) == len(made.spec.fair) - 1
    unfair = attrs.evolve(made.spec, fair=left)
    return {v.invariant for v in explore(unfair, liveness=True).violations}


def test_a_leader_that_never_looks_leaves_a_partition_to_nobody() -> None:
    assert without("refresh_metadata") == {"plan_is_current", "everything_is_assigned"}


def test_a_bug_breaks_what_the_bug_names() -> None:
    assert broken(mutation="change_during_round_forgotten") >= {"plan_is_current"}
    assert broken(mutation="leader_ignores_new_partitions") >= {"everything_is_assigned"}
    # A member whose subscription is not told to the coordinator.
    assert "subscription_is_told" in broken(
        mutation="change_during_round_forgotten",
        topics="t:1,u:1",
        faults={"subscribe": 1},
        members=2,
    )
