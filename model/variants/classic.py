"""The classic group protocol with an eager assignor: coordinator, members, connections, offsets
(protocol.md 1 and 2).
"""

from __future__ import annotations

from groupcheck.model.protocol.classic.covers import CONFORMED, EXECUTED, KAFKA_MEMBER, MEMBER_APART
from groupcheck.model.protocol.classic.preset import preset
from groupcheck.model.protocol.classic.progress.feature import progress

VARIANT = preset(
    name="classic",
    title="Classic group, eager assignor",
    doc=(
        "Members stop, re-join and get a new assignment at every change: JoinGroup, SyncGroup,"
        " Heartbeat, LeaveGroup (KIP-62, KIP-134, KIP-389, KIP-394)."
    ),
    features=[],
    progress=progress,
    executed=EXECUTED,
    conformed=CONFORMED,
    real_member=KAFKA_MEMBER,
    member_apart=MEMBER_APART,
)
