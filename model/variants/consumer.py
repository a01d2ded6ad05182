"""Consumer groups of KIP-848: the protocol that Kafka 4 offers beside the classic one."""

from __future__ import annotations

from groupcheck.model.protocol.consumer.covers import BOOKKEEPING, SHOWS, SPENT_BY, UNREACHED
from groupcheck.model.protocol.consumer.progress import progress
from groupcheck.model.protocol.consumer.rules import COORDINATOR, spec
from groupcheck.model.protocol.consumer.scope import ASSIGNORS, FAULTS, ConsumerScope
from groupcheck.model.protocol.consumer.words import story_of, tell
from groupcheck.model.protocol.covers import covers_of
from groupcheck.model.protocol.family import (
    COMMITTING_MEMBERS,
    CONSUMER,
    CONSUMER_EXPIRY,
    CONSUMER_OFFSETS,
    CONSUMER_REGEXES,
    CONSUMER_TRANSACTIONS,
    JAVA_MEMBERS,
    TRANSACTIONAL_MEMBERS,
)
from groupcheck.model.protocol.variant import Variant

VARIANT = Variant(
    name="consumer",
    title="Consumer groups of KIP-848",
    doc=(
        "The coordinator makes the plan, and each member moves towards its share by heartbeats:"
        " what it has to give up first, then what others have given up (KIP-848). Epochs are"
        " relative, so nothing bounds a run. Kafka's weak points are fields of the scope, each"
        " named after its finding, with the mended reading as the default. Members are simple ones,"
        " or Java's with their two threads. With offsets, they commit what they consume."
    ),
    scope_type=ConsumerScope,
    spec=spec,
    faults=FAULTS,
    families=(CONSUMER,),
    switched={
        "java": JAVA_MEMBERS,
        "offsets": CONSUMER_OFFSETS,
        "members_commit": COMMITTING_MEMBERS,
        "transactions": CONSUMER_TRANSACTIONS,
        "members_use_transactions": TRANSACTIONAL_MEMBERS,
        "expiry": CONSUMER_EXPIRY,
        "regexes": CONSUMER_REGEXES,
    },
    assignors=ASSIGNORS,
    progress=progress,
    coordinator=COORDINATOR,
    tell=tell,
    story=story_of,
    spent_by=SPENT_BY,
    shows=SHOWS,
    covers=covers_of("consumer"),
    unreached=UNREACHED,
    bookkeeping=BOOKKEEPING,
    unreal="its rows have a comparison of their own, `conform consumer`",
    unreal_member="nobody has written its rows; Java's member has threads that this one has not",
)
