"""The lives of members of librdkafka: memberships that ended without the member's doing, and what
they held meanwhile.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.members.life import Lapse

RECORDED = Path(__file__).parents[2] / "data" / "clients"
FRAME = "%7|17000000{second:02}.000|CGRP|c#consumer-1| [thrd:main]: "
JOINED = (
    "JoinGroup response: GenerationId {generation}, Protocol range, LeaderId a-1, my MemberId"
    " {member}, member metadata count 0: (no error)"
)
HELD = ['Group "g": add orders [0]', 'Group "g": add orders [1]']
UNKNOWN = (
    'Group "g" heartbeat error response in state up (join-state steady, 2 partition(s) assigned):'
    " Broker: Unknown member"
)
LOST = (
    'Group "g": current assignment of 2 partition(s) lost: Broker: Unknown member: revoking'
    " assignment and rejoining"
)
EXPIRED = (
    "Application maximum poll interval (300000ms) exceeded by 88ms (adjust max.poll.interval.ms"
    " for long-running message processing): leaving group"
)
IN_FIVE = [JOINED.format(generation=5, member="c-7"), *HELD]
NEEDS_ID = (
    "JoinGroup response: GenerationId -1, Protocol , LeaderId , my MemberId c-8, member metadata"
    " count 0: Broker: Group member needs a valid member ID"
)


def lapses(lines: list[str]) -> tuple[Lapse, ...]:
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    return tuple(lapse for group in evidence.by_group() for lapse in group.followed.lapses)


def said(*texts: str) -> list[str]:
    return [FRAME.format(second=k) + text for k, text in enumerate(texts)]


def test_a_refused_heartbeat_ends_a_membership_with_what_it_held() -> None:
    back = JOINED.format(generation=8, member="c-9")
    (lapse,) = lapses(said(*IN_FIVE, UNKNOWN, LOST, back))
    assert (lapse.client, lapse.member, lapse.generation) == ("c#consumer-1", "c-7", 5)
    assert (lapse.api, lapse.partitions, lapse.missed) == (
        "Heartbeat",
        ("orders-0", "orders-1"),
        2,
    )
    assert lapse.given_up is not None
    assert (lapse.sure.line, lapse.learnt.line, lapse.given_up.line) == (1, 4, 5)


def test_lines_in_another_order_show_no_earlier_generation() -> None:
    """A line about SyncGroup names no generation: it has that of the join before it in time."""
    texts = [JOINED.format(generation=g, member="c-7") for g in (2, 5)]
    first, second, synced = said(
        *texts, "SyncGroup response: Success (62 bytes of MemberState data)"
    )
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate([second, first, synced], 1)))
    assert [group.followed.impossible for group in evidence.by_group()] == [()]


@pytest.mark.parametrize(
    "between",
    [
        [EXPIRED],
        ['Group "g": leave (in state up)'],
        ["Closing consumer"],
    ],
    ids=["poll", "leave", "close"],
)
def test_a_member_that_left_by_itself_was_not_removed(between: list[str]) -> None:
    assert lapses(said(*IN_FIVE, *between, UNKNOWN, LOST)) == ()


def test_nothing_is_claimed_of_two_processes_with_one_name() -> None:
    other = [NEEDS_ID, JOINED.format(generation=6, member="c-8")]
    assert lapses(said(*IN_FIVE, *other, UNKNOWN, LOST)) == ()
    assert lapses(said(*IN_FIVE, UNKNOWN, *other)) != ()


@pytest.mark.parametrize("name", ["poll_timeout.b", "coop_join_kill.b", "coop_join_kill.c"])
def test_recorded_members_of_librdkafka_were_never_thrown_out(name: str) -> None:
    """The first one's poll timed out, so it left by itself."""
    lines = gzip.decompress((RECORDED / f"{name}.log.gz").read_bytes()).decode().splitlines()
    assert any("JoinGroup response: GenerationId 4" in line for line in lines)
    assert lapses(lines) == ()
