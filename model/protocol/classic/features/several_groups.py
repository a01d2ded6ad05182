"""A feature of a classic group with `offsets`: an administrator asks about several groups at once
(KIP-379).

    reset_groups      kafka-consumer-groups.sh --reset-offsets --group a --group b. The protocol has
                      no such request: the tool looks at each group, and sends an OffsetCommit for
                      each that is Empty. So one that has members is refused alone.
    describe_groups   DescribeGroups names several groups, and each has an answer of its own in the
                      response: 69 GROUP_ID_NOT_FOUND where there is none.

The second group (`Other`) is Empty, has an offset, and is on the same coordinator. DeleteGroups is
the third request of this kind, which `offsets` has.

What it leaves out: groups on different coordinators, of which each gets a request of its own.

Kafka: GroupCoordinatorService.describeGroups, KafkaApis.handleDescribeGroupsRequest;
ConsumerGroupCommand.ConsumerGroupService (resetOffsets, describeGroups).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from attrs import frozen

from groupcheck.model.engine import Spec, evolve, rule, single
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.feature import CHANGE_THE_BASE, Feature
from groupcheck.model.protocol.classic.features.full_offsets.admin import reset_offsets
from groupcheck.model.protocol.classic.features.full_offsets.kept import OffsetStore
from groupcheck.model.protocol.classic.features.full_offsets.scope import FullOffsetsScope
from groupcheck.model.protocol.classic.features.full_offsets.words import ADMIN
from groupcheck.model.protocol.classic.group import Core
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import rebuilt, rewritten

FAMILY = Family("several groups", base="classic+offsets+several_groups")

MORE: Mapping[str, str] = {
    "reset_groups": (
        "An administrator sets the offsets of this group and of another one, which is Empty, back"
        " to the beginning: an OffsetCommit for each (KIP-379)."
    ),
    "describe_groups": (
        "An administrator asks what this group and another one are doing, in one DescribeGroups."
    ),
}


@frozen(slots=False)
class SeveralGroupsScope(FullOffsetsScope):
    """The bounds of a run in which an administrator asks about several groups."""

    MORE: ClassVar[Mapping[str, str]] = {**FullOffsetsScope.MORE, **MORE}


@frozen
class Other:
    """The second group, and what the administrator was told of it."""

    # Its offset was set back.
    reset: bool = False
    # It was described.
    described: bool = False


Outcome = tuple[str, Core, OffsetStore, Other, Budget]


@rule("accepted", "refused", when=lambda budget: budget.allows("reset_groups"))
def reset_groups(
    core: Core, offsets: OffsetStore, other: Other, budget: Budget
) -> Iterator[Outcome]:
    """An administrator sets back the offsets of both groups. The other one is Empty."""
    spent = budget.spend("reset_groups")
    for label, mine, kept, _ in reset_offsets.call(core, offsets, budget):
        yield label, mine, kept, evolve(other, reset=True), spent


@rule("described", "no_group", when=lambda budget: budget.allows("describe_groups"))
def describe_groups(
    offsets: OffsetStore, other: Other, budget: Budget
) -> Iterator[tuple[str, OffsetStore, Other, Budget]]:
    """An administrator describes both groups in one request."""
    label = "described" if offsets.there else "no_group"
    yield label, offsets, evolve(other, described=True), budget.spend("describe_groups")


def several_groups(spec: Spec) -> Spec:
    """The feature: an administrator asks about several groups."""
    return rebuilt(spec, [], (reset_groups, describe_groups), other=single(Other()))


BOTH = (reset_groups, describe_groups)
WORDS = Words(
    does={
        "reset_groups:accepted": "sets the committed offsets of the group and of another one to 0",
        "reset_groups:refused": (
            "wants to set back the offsets of the group and of another one, and is refused for this"
            " one, which has members: 25 UNKNOWN_MEMBER_ID"
        ),
        "describe_groups:described": "is told what the group and another one are doing",
        "describe_groups:no_group": (
            "asks about the group and another one, and hears that this one is not there: 69"
            " GROUP_ID_NOT_FOUND"
        ),
    },
    notes={r.name: "fault" for r in BOTH},
    others={name: ADMIN for r in BOTH for name in r.names},
)


# -- How it can be wrong


def _as_a_whole(failed: str) -> Any:
    def twist(rule: Rule) -> Rule:
        at = rule.slots.index("other")

        def call(*given: Any) -> Iterator[Any]:
            for label, *after in rule.call(*given):
                if label == failed:
                    after[at] = given[at]
                yield (label, *after)

        return rewritten(rule, call)

    return twist


BUGS = (
    Mutation(
        id="reset_fails_as_a_whole",
        ticket=SEEDED,
        title="One group that has members keeps the offsets of the others from being set.",
        family=FAMILY,
        invariant="groups_are_reset_apart",
        doc="Seeded: the tool stops at the first group that is refused.",
        scope={"members": 1, "generations": 1, "records": 0, "faults": {"reset_groups": 1}},
        twists={reset_groups.name: _as_a_whole("refused")},
    ),
    Mutation(
        id="describe_fails_as_a_whole",
        ticket="ConsumerGroupCommand of Kafka 4.0",
        title="One group that does not exist keeps the others from being described.",
        family=FAMILY,
        invariant="groups_are_described_apart",
        doc=(
            "kafka-consumer-groups.sh --describe --group a --group b shows no group at all if one"
            " of them does not exist (Kafka 4.0 and later): it waits for the descriptions of all,"
            " although the coordinator has answered each by itself."
        ),
        scope={"members": 1, "generations": 1, "records": 0, "faults": {"describe_groups": 1}},
        twists={describe_groups.name: _as_a_whole("no_group")},
    ),
)

# -- The feature

FEATURE = Feature(
    name="several_groups",
    title="an administrator who asks about several groups at once",
    doc=(
        "The offsets of several groups are set, and several groups are described: each fails by"
        " itself (KIP-379, GroupCoordinatorService.describeGroups)."
    ),
    change=several_groups,
    over=("offsets",),
    after=(*CHANGE_THE_BASE, "unsubscribe", "first_lookup", "heartbeats", "replicas"),
    scope_type=SeveralGroupsScope,
    families=(FAMILY,),
    words=WORDS,
    spent_by={
        "reset_groups": reset_groups.names,
        "describe_groups": describe_groups.names,
    },
    not_simulated=dict.fromkeys((r.name for r in BOTH), "no administrator asks"),
    shows=(
        {
            "members": 1,
            "generations": 1,
            "records": 0,
            "faults": {"reset_groups": 1, "describe_groups": 1},
        },
    ),
    real="",
    unreal=(
        "its coordinator is that of `offsets`; two situations of `conform` execute both requests"
    ),
    executed=(),
    conformed=(),
    bugs=BUGS,
)
