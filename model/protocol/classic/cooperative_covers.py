"""What groups of cooperative members show beyond eager ones, and the scopes in which `conform`
executes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.classic import covers
from groupcheck.model.protocol.classic.assignment import look_at_claims
from groupcheck.model.protocol.classic.covers import PHASES_SCOPE, cover, derived

CLAIMS_LATE = cover("claims_without_share", **PHASES_SCOPE)
COVERS = derived(
    covers.COVERS,
    cover("look_at_claims", members=1, generations=1),
    CLAIMS_LATE,
    cover(
        "both_claim late_join_overlap",
        members=2,
        generations=3,
        records=0,
        faults={"delay_request": 1, "disconnect": 1},
    ),
)
# Arguments of `conform`.
EXECUTED: tuple[Mapping[str, Any], ...] = (
    {"members": 1, "generations": 1},
    {"members": 2, "generations": 1, "faults": {}, "settings": {"max_size": "1"}},
    {"members": 2, "generations": 1, "faults": {}, "settings": {"protocols": "own|sticky"}},
)
LOOKS = {look_at_claims.name: "The leader does this, not the coordinator."}
