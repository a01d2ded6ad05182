"""The classic group on its way from eager to cooperative rebalancing: the base with two features,
`groupcheck.model.protocol.classic.features.cooperative` and `groupcheck.model.protocol.classic.features.upgrade`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic.assignment import look_at_claims
from groupcheck.model.protocol.classic.cooperative_covers import LOOKS
from groupcheck.model.protocol.classic.covers import (
    COVERS,
    KAFKA_MEMBER,
    MEMBER_APART,
    ROWS_IN_PHASES,
    cover,
    derived,
)
from groupcheck.model.protocol.classic.features.cooperative import cooperative
from groupcheck.model.protocol.classic.features.upgrade import (
    COOPERATIVE,
    WORDS,
    UpgradeScope,
    upgrade,
)
from groupcheck.model.protocol.classic.preset import preset
from groupcheck.model.protocol.family import UPGRADE

EVERY_FAULT = {
    "append_failure": 1,
    "fail_over": 1,
    "new_member_timeout": 1,
    "rebalance_timeout": 1,
    "session_timeout": 1,
    "sync_timeout": 1,
}
# Arguments of `conform`.
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {"members": 1, "generations": 1, "faults": EVERY_FAULT},
    {
        "members": 2,
        "generations": 1,
        "faults": {},
        "settings": {"protocols": f"range|{COOPERATIVE}", "max_size": "1"},
    },
)
CONFORMED: tuple[Mapping[str, Any], ...] = (
    {
        "members": 2,
        "generations": 2,
        "faults": {},
        "settings": {"protocols": f"{COOPERATIVE},range|{COOPERATIVE}"},
    },
    ROWS_IN_PHASES,
)

# The members of a group that is upgraded: before the first bounce, after it, after the second.
KINDS: tuple[Mapping[str, Any], ...] = tuple(
    {"members": 1, "partitions": 2, "protocols": listed}
    for listed in ("range", f"{COOPERATIVE},range", COOPERATIVE)
)
BOUNCED = "It happens to a process that is down; each kind of member begins with a fresh process."

VARIANT = preset(
    name="upgrade",
    title="Classic group, from eager to cooperative rebalancing",
    doc=(
        "Processes are restarted one after the other with other lists of assignors. Members of both"
        " rebalance protocols meet in one group, and the vote decides which assignor they use"
        " (KIP-429)."
    ),
    features=[cooperative, upgrade],
    scope_type=UpgradeScope,
    families=[UPGRADE],
    words=WORDS,
    coordinator=[look_at_claims],
    covers=derived(
        COVERS,
        cover("vote", members=1, generations=1),
        cover("bounce look_at_claims", members=1, generations=1, any_faults=1),
        cover("upgraded", members=1, generations=1, any_faults=2),
        cover("bounce_refused", members=2, generations=1, protocols=f"range|{COOPERATIVE}"),
        cover(
            "both_protocols_in_one_generation",
            members=2,
            generations=2,
            protocols=f"{COOPERATIVE},range|{COOPERATIVE}",
        ),
    ),
    executed=EXECUTED,
    asked=CONFORMED[0],
    conformed=CONFORMED,
    bookkeeping=LOOKS,
    real_member=KAFKA_MEMBER,
    member_generations=1,
    member_apart={**MEMBER_APART, "bounce": BOUNCED},
    member_scopes=KINDS,
)
