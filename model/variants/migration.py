"""Groups that change the protocol while they work: KIP-848's online migration, both ways."""

from __future__ import annotations

from groupcheck.model.protocol.consumer.scope import ASSIGNORS
from groupcheck.model.protocol.covers import covers_of
from groupcheck.model.protocol.family import CONSUMER, MIGRATION
from groupcheck.model.protocol.migration.covers import BOOKKEEPING, SHOWS, SPENT_BY, UNREACHED
from groupcheck.model.protocol.migration.progress import progress
from groupcheck.model.protocol.migration.rules import COORDINATOR, spec
from groupcheck.model.protocol.migration.scope import MIGRATION_FAULTS, MigrationScope
from groupcheck.model.protocol.migration.words import story_of, tell
from groupcheck.model.protocol.variant import Variant

VARIANT = Variant(
    name="migration",
    title="Classic groups that become consumer groups, and back (KIP-848)",
    doc=(
        "A rolling upgrade, or its way back: processes are restarted with the other protocol, and"
        " meanwhile members of both are in one group. The coordinator is that of consumer groups"
        " with what it does for classic members and for conversions; the rounds of a classic group"
        " go step by step. Kafka's weak points are fields of the scope, each with the"
        " mended reading as the default."
    ),
    scope_type=MigrationScope,
    spec=spec,
    faults=MIGRATION_FAULTS,
    families=(MIGRATION, CONSUMER),
    assignors=ASSIGNORS,
    progress=progress,
    coordinator=COORDINATOR,
    tell=tell,
    story=story_of,
    spent_by=SPENT_BY,
    shows=SHOWS,
    covers=covers_of("migration"),
    unreached=UNREACHED,
    bookkeeping=BOOKKEEPING,
    unreal="its rows have a comparison of their own, `conform migration`",
    unreal_member="nobody has written rows of a classic member in a consumer group",
)
