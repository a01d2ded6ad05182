"""A group that the coordinator rebalances while its members go on: the protocol of a large video
company's Kafka, as far as it is told, with the gaps of the telling filled in safely.
"""

from __future__ import annotations

from groupcheck.model.protocol.async_server.covers import BOOKKEEPING, SHOWS, SPENT_BY, UNREACHED
from groupcheck.model.protocol.async_server.rules import COORDINATOR, spec
from groupcheck.model.protocol.async_server.scope import ASSIGNORS, FAULTS, AsyncScope
from groupcheck.model.protocol.async_server.words import WORDS, told
from groupcheck.model.protocol.covers import covers_of
from groupcheck.model.protocol.family import ASYNC_SERVER
from groupcheck.model.protocol.variant import Variant

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
    story=told,
    spent_by=SPENT_BY,
    shows=SHOWS,
    covers=covers_of("async_server"),
    unreached=UNREACHED,
    unreal="the protocol is known from an article alone; its code is not public",
    unreal_member="the protocol is known from an article alone; its code is not public",
    bookkeeping=BOOKKEEPING,
)
