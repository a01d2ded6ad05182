"""What the member does by itself (protocol.md 2.1 to 2.4, 2.6): when it joins, prepares, commits,
sends heartbeats, and what a fault leaves behind.

Source: Kafka's AbstractCoordinator (joinGroupIfNeeded, HeartbeatThread) and ConsumerCoordinator
(onJoinPrepare, onJoinComplete).
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.client import (
    Client,
    Member,
    Prepare,
    closed,
    join_complete,
    request_timeout,
    send_commit,
    send_heartbeat,
    send_join,
    send_sync,
)
from groupcheck.model.protocol.classic.client_faults import (
    close,
    crash,
    delay_request,
    disconnect,
    late_commit,
    lose_request,
    lose_response,
    poll_timeout,
)
from groupcheck.model.protocol.classic.offsets import Offsets, fetch_offset, process_record
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    SyncGroup,
)

FRESH = Client()
SYNCING = Client(Member.COMPLETING, generation=2, id=0, prepare=Prepare.DONE)
STABLE = Client(Member.STABLE, generation=2, id=0, owned=1, position=1)
DIRTY = evolve(STABLE, dirty=True)
TOLD = evolve(STABLE, rejoin=True)
BUSY = Link(parked=JoinGroup(0, 1))
ALL = Budget(tuple((name, 1) for name in CLASSIC_FAULTS))


def outcomes(
    rule: Rule, client: Client, link: Link = Link(), **scope: object
) -> list[tuple[Any, ...]]:
    """Everything that a member's rule may do, as it is called by an engine: nothing where its guard
    says no.
    """
    given = {
        "client": client,
        "link": link,
        "budget": ALL,
        "offsets": Offsets(),
        "scope": Scope(**scope),
    }  # type: ignore[arg-type]
    guard = rule.guard
    if guard and not guard.allows((0,) * len(guard.takes), given[guard.slot]):
        return []
    args = [given[slot] for slot in rule.slots] + ([given["scope"]] if rule.takes_scope else [])
    return [y if isinstance(y, tuple) else (y,) for y in rule.call(*args)]


# -- joining


@pytest.mark.parametrize(
    "client",
    [FRESH, SYNCING, TOLD, Client(Member.PREPARING, 1, 0, Prepare.DONE)],
    ids=lambda c: str(c.state),
)
def test_a_member_that_is_not_stable_or_was_told_to_joins(client: Client) -> None:
    ((label, after, link),) = outcomes(send_join, client)
    assert (label, link.request) == ("sent", JoinGroup(client.id, client.generation))
    assert (after.state, after.prepare) == (Member.PREPARING, Prepare.DONE)


@pytest.mark.parametrize(
    "client",
    [
        STABLE,
        evolve(SYNCING, prepare=Prepare.SYNC),
        Client(failed=81),
        evolve(STABLE, granted=1, rejoin=True),
    ],
)
def test_a_member_that_is_stable_stopped_or_between_answer_and_next_step_does_not_join(
    client: Client,
) -> None:
    assert outcomes(send_join, client) == []


def test_a_member_does_not_join_twice_over_one_connection() -> None:
    assert outcomes(send_join, FRESH, BUSY) == []


def test_before_it_joins_a_member_gives_up_all_its_partitions() -> None:
    ((_, after, _),) = outcomes(send_join, TOLD)
    assert (after.owned, after.position) == (0, -1)


def test_before_it_gives_up_its_partitions_a_member_commits_what_it_has_processed() -> None:
    ((label, after, link),) = outcomes(send_join, evolve(TOLD, dirty=True))
    assert (label, link.request) == ("committed_first", OffsetCommit(0, 2, 1))
    assert (after.owned, after.state, after.prepare) == (1, Member.STABLE, Prepare.COMMITTED)
    ((label, after, link),) = outcomes(send_join, after)
    assert (label, link.request, after.owned) == ("sent", JoinGroup(0, 2), 0)


def test_without_auto_commit_it_just_gives_them_up() -> None:
    ((label, after, _),) = outcomes(send_join, evolve(TOLD, dirty=True), autocommit=False)
    assert (label, after.owned) == ("sent", 0)


def test_a_member_that_was_reset_loses_its_partitions_without_a_commit() -> None:
    ((label, after, link),) = outcomes(
        send_join, evolve(DIRTY, state=Member.UNJOINED, generation=-1, id=-1)
    )
    assert (label, link.request, after.owned) == ("sent", JoinGroup(-1, -1), 0)


# 2.8
def test_a_member_whose_sync_was_sent_back_claims_a_generation_without_its_partitions() -> None:
    ((_, _, link),) = outcomes(send_join, SYNCING)
    assert link.request == JoinGroup(0, 2)


def test_the_sync_follows_the_join_answer() -> None:
    ((after, link),) = outcomes(send_sync, evolve(SYNCING, prepare=Prepare.SYNC))
    assert (after, link.request) == (SYNCING, SyncGroup(0, 2))


def test_on_join_complete_installs_the_share_and_keeps_a_wish_to_join_again() -> None:
    ((after,),) = outcomes(join_complete, evolve(STABLE, owned=0, granted=0b11, rejoin=True))
    assert (after.owned, after.position, after.rejoin) == (0b11, -1, True)


# -- heartbeats and commits


@pytest.mark.parametrize("client", [SYNCING, STABLE])
def test_heartbeats_are_sent_from_the_join_answer_on(client: Client) -> None:
    ((after, link),) = outcomes(send_heartbeat, client)
    assert (after, link.request) == (client, Heartbeat(0, 2))


@pytest.mark.parametrize(
    "client",
    [FRESH, Client(Member.PREPARING, 1, 0, Prepare.DONE), evolve(SYNCING, prepare=Prepare.SYNC)],
)
def test_no_heartbeat_without_a_generation_while_joining_or_ahead_of_the_sync(
    client: Client,
) -> None:
    assert outcomes(send_heartbeat, client) == []


def test_only_a_stable_member_commits_and_only_what_is_not_committed_yet() -> None:
    ((after, link),) = outcomes(send_commit, DIRTY)
    assert (after, link.request) == (STABLE, OffsetCommit(0, 2, 1))
    for client in (
        STABLE,
        evolve(DIRTY, state=Member.UNJOINED),
        evolve(DIRTY, state=Member.COMPLETING),
        evolve(DIRTY, prepare=Prepare.COMMITTED),
    ):
        assert outcomes(send_commit, client) == []


def test_nothing_is_processed_while_the_commit_before_revoking_waits() -> None:
    assert outcomes(process_record, evolve(TOLD, position=0, prepare=Prepare.COMMITTED)) == []


def test_a_member_that_was_reset_goes_on_processing_until_it_polls() -> None:
    ((after, offsets),) = outcomes(
        process_record, evolve(STABLE, state=Member.UNJOINED, position=0)
    )
    assert (after.position, after.dirty, offsets.processed) == (1, True, 1)


def test_a_new_partition_starts_at_the_committed_offset() -> None:
    ((after, _),) = outcomes(fetch_offset, evolve(STABLE, position=-1))
    assert (after.position, after.dirty) == (0, False)
    assert outcomes(fetch_offset, evolve(STABLE, owned=0b10, position=-1)) == [], (
        "the watched partition is another's"
    )


# -- faults


def test_poll_timeout_leaves_once_forgets_all_and_keeps_the_partitions() -> None:
    (label, after, link, left), (lost, kept, nothing, _) = outcomes(poll_timeout, DIRTY)
    assert (label, link.request) == ("heard", LeaveGroup(0))
    assert (after.state, after.id, after.generation, after.owned, after.position) == (
        Member.UNJOINED,
        -1,
        -1,
        1,
        1,
    )
    assert not left.allows("poll_timeout")
    assert (lost, kept, nothing) == ("unheard", after, Link())


@pytest.mark.parametrize("client", [FRESH, Client(Member.PREPARING, 1, 0, Prepare.DONE)])
def test_poll_timeout_does_not_concern_a_member_that_waits_for_its_join(client: Client) -> None:
    assert outcomes(poll_timeout, client) == []


def test_behind_a_parked_sync_the_leave_waits() -> None:
    (_, _, link, _), _ = outcomes(poll_timeout, SYNCING, Link(parked=SyncGroup(0, 2)))
    assert link.queue == (LeaveGroup(0),)


def test_a_member_that_closes_leaves_and_behind_a_parked_request_it_may_not_be_heard() -> None:
    heard, lost = outcomes(close, STABLE)
    assert (heard[0], heard[1], heard[2].request, heard[2].live) == (
        "heard",
        FRESH,
        LeaveGroup(0),
        False,
    )
    assert (lost[0], lost[1], lost[2]) == ("unheard", FRESH, Link())
    behind, lost = outcomes(close, Client(Member.PREPARING, 1, 0, Prepare.DONE), BUSY)
    assert (behind[0], behind[1].closing, behind[2].parked, behind[2].queue) == (
        "behind",
        True,
        BUSY.parked,
        (LeaveGroup(0),),
    )
    assert (lost[0], lost[1], lost[2]) == ("unheard", FRESH, Link())


def test_a_closing_member_sends_nothing_more_and_ends_when_all_is_answered() -> None:
    closing = Client(closing=True)
    assert outcomes(send_join, closing) == outcomes(send_heartbeat, closing) == []
    assert outcomes(closed, closing, BUSY) == []
    assert outcomes(closed, closing, Link(queue=(LeaveGroup(0),))) == []
    assert outcomes(closed, closing) == [(FRESH, Link())]


def test_a_crash_forgets_the_process_and_its_connection() -> None:
    assert outcomes(crash, DIRTY, BUSY)[0][:2] == (FRESH, Link())
    assert outcomes(crash, FRESH) == [], "there is nothing to break"


@pytest.mark.parametrize(
    ("client", "request_"),
    [
        (FRESH, JoinGroup(-1)),
        (evolve(SYNCING, prepare=Prepare.SYNC), SyncGroup(0, 2)),
        (evolve(TOLD, dirty=True), OffsetCommit(0, 2, 1)),
    ],
    ids=["join", "sync", "commit"],
)
def test_a_lost_response_is_a_request_handled_over_a_connection_that_is_gone(
    client: Client, request_: object
) -> None:
    _, link, _ = outcomes(lose_response, client)[0]
    assert (link.request, link.live) == (request_, False)


def test_with_the_answer_of_a_parked_request_what_stands_behind_it_may_be_lost() -> None:
    behind = Link(queue=(LeaveGroup(0),))
    assert [y[:2] for y in outcomes(lose_response, FRESH, behind)] == [(FRESH, Link())]
    assert outcomes(lose_response, FRESH, evolve(behind, parked=SyncGroup(0, 2))) == [], (
        "that is a disconnect"
    )


def test_poll_timeout_between_join_answer_and_sync_is_heard_by_nobody() -> None:
    ((label, after, link, _),) = outcomes(poll_timeout, evolve(SYNCING, prepare=Prepare.SYNC))
    assert (label, after.state, after.id, link) == ("unheard", Member.UNJOINED, -1, Link())


def test_the_commit_before_revoking_can_be_lost_and_the_member_goes_on_without() -> None:
    ((label, after, link, _),) = outcomes(lose_request, evolve(TOLD, dirty=True))
    assert (label, after.prepare, link) == ("commit", Prepare.COMMITTED, Link())
    assert outcomes(lose_request, TOLD) == []


def test_a_sync_can_be_lost_and_the_member_joins_again() -> None:
    ((label, after, link, _),) = outcomes(lose_request, evolve(SYNCING, prepare=Prepare.SYNC))
    assert (label, after, link) == ("sync", SYNCING, Link())
    assert outcomes(send_join, after)[0][0] == "sent"


def test_a_delayed_request_is_kept_for_later_and_the_member_goes_on_over_a_new_connection() -> None:
    (after, link, _), *_ = outcomes(delay_request, evolve(SYNCING, prepare=Prepare.SYNC))
    assert (after, link) == (SYNCING, Link(late=SyncGroup(0, 2)))


def test_a_disconnect_leaves_the_parked_request_with_the_coordinator() -> None:
    ((after, link, _),) = outcomes(
        disconnect, SYNCING, Link(parked=SyncGroup(0, 2), queue=(LeaveGroup(0),))
    )
    assert (after, link) == (SYNCING, Link())
    assert outcomes(disconnect, SYNCING) == []


def test_a_commit_after_the_join_waits_behind_it() -> None:
    ((after, link, _),) = outcomes(late_commit, evolve(TOLD, dirty=True))
    assert (link.request, link.queue, after.owned) == (JoinGroup(0, 2), (OffsetCommit(0, 2, 1),), 0)


def test_a_request_that_is_never_answered_times_out_and_the_member_connects_anew() -> None:
    assert outcomes(
        request_timeout,
        SYNCING,
        Link(parked=SyncGroup(0, 2), orphaned=True, queue=(Heartbeat(0, 2),)),
    ) == [(SYNCING, Link())]
    assert outcomes(request_timeout, SYNCING, Link(parked=SyncGroup(0, 2))) == []
