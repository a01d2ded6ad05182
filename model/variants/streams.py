"""Streams groups of KIP-1071: members that run the tasks of a Kafka Streams application."""

from __future__ import annotations

from groupcheck.model.protocol.covers import covers_of
from groupcheck.model.protocol.family import STREAMS
from groupcheck.model.protocol.streams.covers import BOOKKEEPING, SHOWS, SPENT_BY, UNREACHED
from groupcheck.model.protocol.streams.progress import progress
from groupcheck.model.protocol.streams.rules import COORDINATOR, spec
from groupcheck.model.protocol.streams.scope import ASSIGNORS, FAULTS, StreamsScope
from groupcheck.model.protocol.streams.words import story_of, tell
from groupcheck.model.protocol.variant import Variant

VARIANT = Variant(
    name="streams",
    title="Streams groups of KIP-1071: which process runs which task",
    doc=(
        "The coordinator gives tasks to the threads of a Kafka Streams application, with their"
        " heartbeats: each active task to one of them, and standbys of it to other processes."
        " A task is given to a member only when the former owner, and every other member of its"
        " process, has given it up (KIP-1071). The coordinator's half, with simple members."
    ),
    scope_type=StreamsScope,
    spec=spec,
    faults=FAULTS,
    families=(STREAMS,),
    assignors=ASSIGNORS,
    progress=progress,
    coordinator=COORDINATOR,
    tell=tell,
    story=story_of,
    spent_by=SPENT_BY,
    shows=SHOWS,
    covers=covers_of("streams"),
    unreached=UNREACHED,
    bookkeeping=BOOKKEEPING,
    unreal="its rows have a comparison of their own, `conform streams`",
    unreal_member="nobody has written rows of a Kafka Streams member",
)
