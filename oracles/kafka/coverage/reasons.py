"""Why a branch of Kafka's code stays unexecuted: `reasons.json` has each reason, for one version.

A branch is named by its class, its method and its line; JaCoCo does not tell the branches of a line
apart. So a reason says how many of the line's branches it explains, and a line may have several
reasons.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen
from cattrs import structure

from groupcheck.oracles.kafka.coverage.coverage_types import Place, Reason
from groupcheck.oracles.kafka.coverage.measuring import Method

TABLE = Path(__file__).with_name("reasons.json")
VERSION = "4.3.0"  # the version whose branches the table explains
# The families of reasons; `OUT_OF_REACH` names those for branches that no classic group reaches.
FAMILIES = {
    "other": "groups of other types, and conversions between types",
    "guard": "an internal guard that no input reaches",
    "left": "reachable, and not executed yet",
}
OUT_OF_REACH = ("other", "guard")


@frozen
class ReasonsCheck:
    """The branches that a run left unexecuted, compared with the table."""

    reasons: tuple[Reason, ...]
    # Branches without a reason, by place.
    without: tuple[tuple[Place, int], ...]
    # Reasons for branches that were executed or that do not exist: how many too many, by place.
    outdated: tuple[tuple[Place, int], ...]

    @property
    def out_of_reach(self) -> int:
        """How many branches no classic group reaches."""
        return sum(r.branches for r in self.reasons if r.family in OUT_OF_REACH)


def table() -> tuple[Reason, ...]:
    """Every reason, in the order of classes and lines."""
    return tuple(structure(reason, Reason) for reason in json.loads(TABLE.read_text()))


def explained(methods: Sequence[Method], reasons: Sequence[Reason]) -> ReasonsCheck:
    """Matches the branches that were left unexecuted with the reasons for them."""
    missed: Counter[Place] = Counter()
    for method in methods:
        for line in method.lines:
            place = (method.class_name, method.name, line.number)
            missed[place] += line.branches - line.branches_executed
    given: Counter[Place] = Counter()
    for reason in reasons:
        given[reason.place] += reason.branches
    return ReasonsCheck(
        tuple(reasons),
        tuple((missed - given).items()),
        tuple((given - missed).items()),
    )
