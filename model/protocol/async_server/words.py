"""Steps of the protocol in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from groupcheck.model.engine.verdict import Firing, Path
from groupcheck.model.protocol.classic.step_words import (
    NOTES,
    PARKS,
    STARTS_OVER,
    THE_COORDINATOR,
    Words,
    member,
    partitions,
)
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.story import Story

DOES: Mapping[str, str] = {
    "initial_delay": "ends the initial delay",
    "fail_over": "moves to another broker, which loads the last plan; connections break",
    "send_join": "sends JoinGroup",
    "send_heartbeat": "sends a heartbeat",
    "send_commit": "commits",
    "crash": "crashes",
    "close:heard": "closes and sends LeaveGroup",
    "close:unheard": "closes, and its LeaveGroup never arrives",
    "disconnect": "loses its connection while its request is parked, and connects again",
}
TO_MEMBER: Mapping[str, str] = {
    "session_timeout": "hears nothing from {who} for session.timeout.ms and removes {who}",
    "rebalance_timeout": "removes {who}, which has to re-join and does not",
    "late_request": "receives a request that {who} sent over an earlier connection",
}
CODES: Mapping[str, int | None] = {
    "join_group:id_required": 79,
    "join_group:unknown": 25,
    "join_group:added": None,
    "join_group:repeated": None,
    "join_group:answered_again": 0,
    "join_group:parked": None,
    "join_group:rejoined": None,
    "heartbeat:unknown": 25,
    "heartbeat:illegal_generation": 22,
    "heartbeat:reported": 0,
    "heartbeat:told": 27,
    "heartbeat:accepted": 0,
    "leave_group:unknown": 25,
    "leave_group:left": 0,
    "offset_commit:unknown": 25,
    "offset_commit:illegal_generation": 22,
    "offset_commit:rebalancing": 27,
    "offset_commit:accepted": 0,
}
HEARS: Mapping[str, str] = {
    **dict.fromkeys(
        """
        answer_joins ask_again begin_walk close_books commit_answer:done end_walk forget
        heartbeat_answer:well join_answer:id_given look_at_reports reload
        """.split(),
        "",
    ),
    "commit_answer:rebalancing": "must re-join",
    "commit_answer:refused": STARTS_OVER,
    "heartbeat_answer:refused": STARTS_OVER,
    "heartbeat_answer:told_to_rejoin": "must re-join",
    "join_answer:refused": STARTS_OVER,
}


@frozen
class AsyncWords(Words):
    """How the outcomes are told; what a member reports and gets stands in the state."""

    def _follows(self, firing: Firing, after: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        me, client = firing.me, None if firing.me is None else after["client"][firing.me]
        if firing.name == "join_answer:joined":
            assert client is not None
            share, generation = partitions(client.owned), client.generation
            yield member(me), f"goes on with {share} in generation {generation}"
        elif firing.name == "heartbeat:reported":
            yield THE_COORDINATOR, f"takes note of what {member(me)} owns"
        elif firing.name == "deal":
            if any(seat.marked for _, seat in after["seats"][me]):
                yield THE_COORDINATOR, f"marks {member(me)}"
        else:
            yield from super()._follows(firing, after)


WORDS = AsyncWords(
    does=DOES,
    to_member=TO_MEMBER,
    codes=CODES,
    parks={
        **PARKS,
        "join_group:repeated": ("parks the request in place of the one before",),
        "join_group:rejoined": ("parks the request",),
    },
    hears=HEARS,
    notes={**NOTES, "initial_delay": "timer"},
    eventful=frozenset({"heartbeat:reported"}),
    item="p",
)


def _current(state: Mapping[str, Any], i: int) -> bool:
    """Is process i a member that names its own generation?"""
    client = state["client"][i]
    seat = state["seats"][i][client.id]
    return seat is not None and bool(seat.names_its_epoch(client.generation))


def story_of(path: Path) -> Story:
    """The story of a path."""
    return story(path, WORDS, _current)
