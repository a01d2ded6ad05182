"""A group that the coordinator rebalances while its members go on: the protocol of a large video
company's Kafka, as far as it is told, with the gaps of the telling filled in safely.
"""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.model.protocol.async_server.rules import COORDINATOR, spec
from groupcheck.model.protocol.async_server.scope import ASSIGNORS, FAULTS, AsyncScope
from groupcheck.model.protocol.async_server.words import WORDS, story_of
from groupcheck.model.protocol.covers import Fields, covers_of
from groupcheck.model.protocol.family import ASYNC_SERVER
from groupcheck.model.protocol.variant import Variant

# Fault -> the outcomes each of which always spends one of it.
SPENT_BY: Mapping[str, tuple[str, ...]] = {
    "crash": ("crash",),
    "close": ("close:heard", "close:unheard"),
    "lose_response": ("lose_response",),
    "disconnect": ("disconnect",),
    "delay_request": ("delay_request",),
    "fail_over": ("fail_over",),
    "session_timeout": ("session_timeout",),
    "rebalance_timeout": ("rebalance_timeout",),
}
# The smallest first.
SHOWS: tuple[Fields, ...] = (
    {"members": 1, "generations": 1},
    {"members": 2, "generations": 1},
    {"members": 2, "generations": 2, "old_clients": 1},
    {"members": 1, "generations": 1, "any_faults": 1},
    {"members": 2, "generations": 2, "faults": {"rebalance_timeout": 1}},
    {"members": 1, "generations": 2, "faults": {"close": 1, "session_timeout": 1}},
    {"members": 2, "generations": 2, "faults": {"session_timeout": 1}},
    {"members": 2, "generations": 2, "faults": {"crash": 1}},
    {"members": 1, "generations": 1, "any_faults": 2},
    {"members": 3, "generations": 2, "partitions": 3},
    {"members": 2, "generations": 2, "faults": {"delay_request": 1, "fail_over": 1}},
)
UNREACHED: Mapping[str, str] = {
    "commit_answer:rebalancing": (
        "A member sends no commit while its JoinGroup is parked; nobody reads the answer to a late"
        " one."
    ),
}
BOOKKEEPING: Mapping[str, str] = {
    "close_books": "The model forgets what only a fault that is spent could have read.",
    "forget": "The same, seat by seat.",
}


VARIANT = Variant(
    name="async_server",
    title="Asynchronous rebalance by the coordinator",
    doc=(
        "Members report their partitions with heartbeats, the coordinator makes a sticky plan and"
        " marks the members whose share changes; only these re-join, and the answer to JoinGroup"
        " carries the share. What the source leaves open are fields of the scope, each with its"
        " safe reading as the default."
    ),
    scope_type=AsyncScope,
    spec=spec,
    faults=FAULTS,
    families=(ASYNC_SERVER,),
    assignors=ASSIGNORS,
    coordinator=COORDINATOR,
    tell=WORDS.tell,
    story=story_of,
    spent_by=SPENT_BY,
    shows=SHOWS,
    covers=covers_of("async_server"),
    unreached=UNREACHED,
    unreal="the protocol is known from an article alone; its code is not public",
    unreal_member="the protocol is known from an article alone; its code is not public",
    bookkeeping=BOOKKEEPING,
)
