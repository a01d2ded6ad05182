"""What Kafka's own member does with the CooperativeStickyAssignor: each step that the feature
`cooperative` has of its own, and K12 of the candidates, on the newest and on the oldest version.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from groupcheck.oracles.kafka.client import (
    Call,
    Look,
    Schedule,
    Transcript,
    coordinator_found,
    failed,
    joined,
    synced,
)
from groupcheck.oracles.kafka.client_commands import (
    Advance,
    Answer,
    Beat,
    Close,
    Command,
    FetchOffsets,
    Network,
    Poll,
    Position,
    Reset,
)
from groupcheck.oracles.kafka.driver import Driver, shared

COOPERATIVE = "cooperative-sticky"


def of(answer: Answer) -> Answer:
    """The answer of a group that has chosen the cooperative assignor."""
    return attrs.evolve(answer, data={**answer.data, "protocolName": COOPERATIVE})


def share(*partitions: int) -> Answer:
    return of(synced({"t": list(partitions)}))


def follows(generation: int) -> Answer:
    return of(joined(generation, "m1", "m2"))


JOINING = (
    Poll(),
    coordinator_found(),
    Poll(),
    failed("JoinGroup", 79, memberId="m1"),
    Poll(),
)
STABLE = (*JOINING, follows(1), Poll(), Network(), share(0, 1), Poll())
TOLD = (*STABLE, Advance(ms=3000), Beat(), Network(), failed("Heartbeat", 27), Network())
JOINED = (*TOLD, Poll(), follows(2), Poll(), Network())
BOTH = frozenset({("t", 0), ("t", 1)})
FIRST, SECOND = frozenset({("t", 0)}), frozenset({("t", 1)})


@pytest.fixture(scope="module", params=["4.3.0", "4.0.0"])
def member(request: pytest.FixtureRequest) -> Driver:
    return shared(request.param)


def last(driver: Driver, *commands: Command, **setup: Any) -> Look:
    given = Reset(assignors=(COOPERATIVE,), auto_commit=False, **setup)
    result = driver.run(Schedule(commands, given))
    assert isinstance(result, Transcript), result
    assert not result.refused, result.refused
    return result.last


def claim(look: Look) -> tuple[int, Any]:
    """The generation and the partitions that the JoinGroup under way claims."""
    join = look.waiting("JoinGroup")
    assert join is not None
    (protocol,) = join.data["protocols"]
    said = protocol["metadata"]
    return said["ownedGeneration"], said["owned"]


def test_a_member_keeps_its_partitions_while_it_joins_and_says_what_it_owns(member: Driver) -> None:
    look = last(member, *TOLD, Poll())
    assert (look.state, look.owned, look.calls) == ("PREPARING_REBALANCE", BOTH, ())
    assert look.pending_revocation == frozenset()
    assert claim(look) == (1, {"t": [0, 1]})


def test_a_share_that_lacks_a_partition_revokes_it_and_the_member_joins_in_the_same_poll(
    member: Driver,
) -> None:
    look = last(member, *JOINED, share(0), Poll())
    assert look.calls == (Call("revoked", SECOND), Call("assigned", frozenset()))
    assert (look.state, look.generation, look.owned) == ("PREPARING_REBALANCE", 2, FIRST)
    assert look.reason == "need to revoke partitions and re-join"
    assert claim(look) == (2, {"t": [0]})


def test_a_member_that_owns_nothing_and_is_given_nothing_does_not_join_again(
    member: Driver,
) -> None:
    """So what was withheld from the process before it is not given away."""
    look = last(member, *JOINING, follows(2), Poll(), Network(), share(), Poll())
    assert look.calls == (Call("assigned", frozenset()),)
    assert (look.state, look.generation, look.rejoin) == ("STABLE", 2, False)


def test_a_share_with_more_revokes_nothing_and_keeps_the_position(member: Driver) -> None:
    begun = (*JOINING, follows(1), Poll(), Network(), share(0), Poll(), *fetched(), *told_again())
    look = last(member, *begun, share(0, 1), Poll())
    assert look.calls == (Call("assigned", SECOND),)
    assert (look.state, look.owned, look.rejoin) == ("STABLE", BOTH, False)
    assert look.positions == (("t", 0, 1),)


def fetched() -> tuple[Command, ...]:
    told = {"partitionIndex": 0, "committedOffset": 0, "committedLeaderEpoch": -1}
    topics = [{"name": "t", "partitions": [{**told, "metadata": "", "errorCode": 0}]}]
    group = {"groupId": "g", "topics": topics, "errorCode": 0}
    answer = Answer(api="OffsetFetch", data={"groups": [group]})
    return (FetchOffsets(), answer, FetchOffsets(), Position(partition=0, offset=1))


def told_again() -> tuple[Command, ...]:
    beat = (Advance(ms=3000), Beat(), Network(), failed("Heartbeat", 27), Network())
    return (*beat, Poll(), follows(2), Poll(), Network())


def test_a_late_sync_that_is_answered_27_claims_the_old_partitions_in_the_new_generation(
    member: Driver,
) -> None:
    """K12: the member has adopted the generation with its JoinGroup, and got no share in it."""
    look = last(member, *JOINED, failed("SyncGroup", 27), Poll(), Advance(ms=1000), Poll())
    assert (look.generation, look.owned, look.calls) == (2, BOTH, ())
    assert claim(look) == (2, {"t": [0, 1]})


@pytest.mark.parametrize(("code", "id"), [(22, "m1"), (25, "")])
def test_a_member_that_is_outside_the_generation_loses_everything_and_claims_nothing(
    code: int, id: str, member: Driver
) -> None:
    look = last(member, *JOINED, failed("SyncGroup", code), Poll(), Advance(ms=1000), Poll())
    assert (look.generation, look.member, look.owned) == (-1, id, frozenset())
    assert claim(look) == (-1, {})
    began = last(member, *JOINED, failed("SyncGroup", code), Poll())
    assert Call("lost", BOTH) in (*began.calls, *look.calls)


def test_25_in_answer_to_joingroup_is_followed_by_a_join_that_claims_nothing(
    member: Driver,
) -> None:
    """KAFKA-12983: onJoinPrepare has run already, and runs once more."""
    look = last(member, *TOLD, Poll(), failed("JoinGroup", 25), Poll(), Advance(ms=1000), Poll())
    assert (look.member, look.owned) == ("", frozenset())
    assert claim(look) == (-1, {})


def test_a_member_that_closes_in_a_round_has_lost_its_partitions_and_has_revoked_them_otherwise(
    member: Driver,
) -> None:
    assert Call("revoked", BOTH) in last(member, *STABLE, Close()).calls
    assert Call("lost", BOTH) in last(member, *JOINED, Close()).calls


@pytest.mark.parametrize("voted", ["range", COOPERATIVE])
@pytest.mark.parametrize("assignors", [("range", COOPERATIVE), (COOPERATIVE, "range")])
def test_a_list_with_an_eager_assignor_makes_the_member_eager_whatever_the_group_has_chosen(
    assignors: tuple[str, ...], voted: str, member: Driver
) -> None:
    """The first of the two rolling bounces, and Kafka's default list: in whichever order they
    stand, the highest protocol that both support is EAGER.
    """
    given = Reset(assignors=assignors, auto_commit=False)
    eager = tuple(
        attrs.evolve(c, data={**c.data, "protocolName": voted})
        if isinstance(c, Answer) and "protocolName" in c.data
        else c
        for c in (*TOLD, Poll())
    )
    result = member.run(Schedule(eager, given))
    assert isinstance(result, Transcript) and not result.refused
    assert result.last.owned == frozenset()
    assert Call("revoked", BOTH) in result.last.calls
    join = result.last.waiting("JoinGroup")
    assert join is not None
    said = {p["name"]: p["metadata"]["owned"] for p in join.data["protocols"]}
    assert said == {"range": {}, COOPERATIVE: {}}
