"""Share groups of KIP-932: members that share the partitions, and may all have the same one."""

from __future__ import annotations

from groupcheck.model.protocol.covers import covers_of
from groupcheck.model.protocol.family import SHARE
from groupcheck.model.protocol.share.covers import BOOKKEEPING, SHOWS, SPENT_BY, UNREACHED
from groupcheck.model.protocol.share.progress import progress
from groupcheck.model.protocol.share.rules import COORDINATOR, spec
from groupcheck.model.protocol.share.scope import ASSIGNORS, FAULTS, ShareScope
from groupcheck.model.protocol.share.words import story_of, tell
from groupcheck.model.protocol.variant import Variant

VARIANT = Variant(
    name="share",
    title="Share groups of KIP-932: who reads which partition",
    doc=(
        "The coordinator makes the plan and each member is given its target with its next"
        " heartbeat: several members may have one partition, so nobody revokes anything (KIP-932)."
        " A partition is initialized by the persister before it is given to anybody. What members"
        " do with records is the protocol share_partition."
    ),
    scope_type=ShareScope,
    spec=spec,
    faults=FAULTS,
    families=(SHARE,),
    assignors=ASSIGNORS,
    progress=progress,
    coordinator=COORDINATOR,
    tell=tell,
    story=story_of,
    spent_by=SPENT_BY,
    shows=SHOWS,
    covers=covers_of("share"),
    unreached=UNREACHED,
    bookkeeping=BOOKKEEPING,
    unreal="its rows have a comparison of their own, `conform share`",
    unreal_member="nobody has written rows of a share consumer",
)
