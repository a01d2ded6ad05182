"""Several groups of one command: each fails by itself (KIP-379)."""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import step_invariant
from groupcheck.model.protocol.classic.features import several_groups
from groupcheck.model.protocol.classic.features.several_groups import FAMILY as SEVERAL


@step_invariant(
    "other",
    rules=(several_groups.reset_groups.name,),
    source="KIP-379; ConsumerGroupCommand.ConsumerGroupService.resetOffsets",
    broken="The offsets of an Empty group are not set, because another one has members",
    of=SEVERAL,
)
def groups_are_reset_apart(before: Any, after: Any) -> bool:
    """Of several groups whose offsets are set at once, an Empty one has them set whatever becomes
    of the others.
    """
    return bool(after.other.reset)


@step_invariant(
    "other",
    rules=(several_groups.describe_groups.name,),
    source="GroupCoordinatorService.describeGroups",
    broken="A group is not described, because another one does not exist",
    of=SEVERAL,
)
def groups_are_described_apart(before: Any, after: Any) -> bool:
    """Of several groups in one DescribeGroups, one that exists is described whatever becomes of the
    others.
    """
    return bool(after.other.described)
