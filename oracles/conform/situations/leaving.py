"""LeaveGroup and the end of groups; what administrators ask."""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.conform.situations.groups import at, emptied, joined, joining, stable
from groupcheck.oracles.conform.situations.situation import Situation, answer_of, does
from groupcheck.oracles.kafka.commands import (
    Advance,
    DeleteGroups,
    DescribeGroups,
    FailAppends,
    FailOver,
    JoinGroup,
    LeaveGroup,
    Leaving,
    ListGroups,
    OffsetCommit,
    SyncGroup,
)

LONG: dict[str, Any] = {"session_timeout_ms": 60_000}

LEAVING = (
    Situation(
        "LeaveGroup without a group tells every member of the batch that it is unknown",
        "GroupCoordinatorService.leaveGroup; KIP-345",
        [
            does(LeaveGroup(group="", member="x"), 24),
            does(LeaveGroup(member="x"), 0, members=(25,)),
            does(
                LeaveGroup(members=(Leaving("x"), Leaving("y"), Leaving())),
                0,
                members=(25, 25, 25),
                group={"kind": "none"},
            ),
        ],
    ),
    Situation(
        "each member of a batch has its own code, and one round follows for all",
        "GroupMetadataManager.classicGroupLeaveToClassicGroup; KIP-345",
        [
            *stable(3),
            does(JoinGroup(), 79, member="m4"),
            does(
                LeaveGroup(
                    members=(
                        Leaving(),
                        Leaving("x"),
                        Leaving("m2", reason="shutdown"),
                        Leaving("m4", reason="shutdown"),
                        Leaving("m2"),
                        Leaving("m1", instance="none"),
                        Leaving(instance="none"),
                    )
                ),
                0,
                members=(25, 25, 0, 0, 25, 25, 25),
                group={
                    "state": "PreparingRebalance",
                    "members": ("m1", "m3"),
                    "pending_join": (),
                    "timers": {
                        "heartbeat-g-m1": 10_000,
                        "heartbeat-g-m3": 10_000,
                        "join-g": 30_000,
                    },
                },
                log=(),
            ),
        ],
    ),
    Situation(
        "a batch of which nobody is known changes nothing",
        "GroupMetadataManager.classicGroupLeaveToClassicGroup",
        [
            *stable(1),
            does(
                LeaveGroup(members=(Leaving("x"), Leaving())),
                0,
                members=(25, 25),
                group={"state": "Stable"},
                log=(),
            ),
            does(LeaveGroup(members=(Leaving("x"),)), 0, members=(25,)),
        ],
    ),
    Situation(
        "an id that was handed out may leave: an Empty group stays as it is",
        "GroupMetadataManager.classicGroupLeaveToClassicGroup",
        [
            does(JoinGroup(), 79, member="m1"),
            does(
                LeaveGroup(member="m1", reason="gave up"),
                0,
                members=(0,),
                group={"state": "Empty", "generation": 0, "pending_join": (), "timers": {}},
                log=(),
            ),
        ],
    ),
    Situation(
        "an id that was handed out may leave: a round that waited for it ends, a Stable group"
        " starts one",
        "GroupMetadataManager.classicGroupLeaveToClassicGroup, maybeCompleteJoinPhase",
        [
            *stable(1),
            does(JoinGroup(), 79, member="m2"),
            does(JoinGroup(member="m1"), name="join", group={"state": "PreparingRebalance"}),
            does(
                LeaveGroup(member="m2"),
                0,
                members=(0,),
                releases={"join": answer_of(0, generation=2, members=("m1",))},
            ),
            does(SyncGroup(member="m1", generation=2), 0),
            does(JoinGroup(), 79, member="m3"),
            does(LeaveGroup(member="m3"), 0, members=(0,), group={"state": "PreparingRebalance"}),
        ],
    ),
    Situation(
        "a leave in a first round does not end it early",
        "GroupMetadataManager.maybeCompleteJoinPhase; KIP-134",
        [
            *joining(2),
            does(
                LeaveGroup(member="m1"),
                0,
                members=(0,),
                releases={"join of m1": answer_of(25, member="")},
                group={"state": "PreparingRebalance", "leader": "m2", "members": ("m2",)},
            ),
            does(
                Advance(ms=6000),
                releases={"join of m2": answer_of(0, generation=1, leader="m2", members=("m2",))},
            ),
        ],
    ),
    Situation(
        "a leave in a round that is being prepared does not end it while others are missing",
        "GroupMetadataManager.maybeCompleteJoinPhase",
        [
            *stable(3),
            does(JoinGroup(member="m1"), name="join"),
            does(
                LeaveGroup(member="m2"),
                0,
                members=(0,),
                group={"state": "PreparingRebalance", "members": ("m1", "m3")},
            ),
            does(
                LeaveGroup(member="m3"),
                0,
                members=(0,),
                releases={"join": answer_of(0, generation=2, leader="m1", members=("m1",))},
            ),
        ],
    ),
    Situation(
        "the last member's leave is answered with an error if the Empty group cannot be logged,"
        " though it is gone",
        "GroupMetadataManager.completeClassicGroupJoin; FINDINGS.md, 3",
        [
            *stable(1),
            does(FailAppends()),
            does(
                LeaveGroup(member="m1"),
                15,
                group={"state": "Empty", "generation": 2, "members": ()},
                log=(),
            ),
            does(FailOver(), group={"state": "Stable", "generation": 1, "members": ("m1",)}),
        ],
    ),
    Situation(
        "a group with members is not deleted in any state, an Empty one is, with all its timers",
        "ClassicGroup.validateDeleteGroup; Errors.NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND",
        [
            does(DeleteGroups(), 69),
            *joining(1),
            does(DeleteGroups(), 68),
            does(Advance(ms=3000), releases={"join of m1": answer_of(0)}),
            does(DeleteGroups(), 68),
            does(SyncGroup(member="m1", generation=1), 0),
            does(DeleteGroups(), 68, log=()),
            does(LeaveGroup(member="m1"), 0, members=(0,)),
            does(DeleteGroups(), 0, log=(("deleted group",),), group={"kind": "none"}),
            does(DeleteGroups(), 69, log=()),
            does(JoinGroup(), 79, member="m2", group={"state": "Empty", "generation": 0}),
        ],
    ),
    Situation(
        "a deletion that cannot be logged leaves the group as it was",
        "GroupCoordinatorShard.deleteGroups",
        [
            *emptied(),
            does(FailAppends(error="NOT_LEADER_OR_FOLLOWER")),
            does(DeleteGroups(), 16, group={"state": "Empty", "generation": 2}, log=()),
        ],
    ),
    Situation(
        "administrators see the state, the protocol and the members",
        "GroupMetadataManager.describeGroups, listGroups; KIP-518",
        [
            does(ListGroups(), 0, groups=()),
            *joined(1),
            does(
                DescribeGroups(), 0, state="CompletingRebalance", type="consumer", members=("m1",)
            ),
            does(SyncGroup(member="m1", generation=1), 0),
            does(
                DescribeGroups(),
                0,
                state="Stable",
                type="consumer",
                protocol="range",
                members=("m1",),
            ),
            does(ListGroups(), 0, groups=(("g", "Stable", "classic"),)),
            does(ListGroups(states=("stable",)), 0, groups=(("g", "Stable", "classic"),)),
            does(ListGroups(states=("Empty",)), 0, groups=()),
            does(ListGroups(types=("classic",)), 0, groups=(("g", "Stable", "classic"),)),
            does(ListGroups(types=("consumer",)), 0, groups=()),
        ],
    ),
    Situation(
        "of several groups that are described in one request, each has an answer of its own",
        "GroupCoordinatorService.describeGroups; KIP-379",
        [
            *stable(1),
            does(
                DescribeGroups(groups=("g", "nobody")),
                0,
                state="Stable",
                codes=(("g", 0), ("nobody", 69)),
            ),
            does(
                DescribeGroups(groups=("nobody", "g")),
                69,
                state="Dead",
                codes=(("g", 0), ("nobody", 69)),
            ),
        ],
    ),
    Situation(
        "the offsets of several groups are set by a commit for each, and one with members is"
        " refused alone",
        "OffsetCommitRequestData.groupId; ClassicGroup.validateOffsetCommit; KIP-379",
        [
            *stable(1),
            does(OffsetCommit(offsets=at(5)), 25, log=()),
            does(OffsetCommit(group="empty", offsets=at(5)), 0, log=(("offset", "t", 0, 5),)),
        ],
    ),
    Situation(
        "a group with members stays, with or without offsets",
        "GroupMetadataManager.maybeDeleteGroup",
        [
            *stable(1, session_timeout_ms=1_800_000),
            does(Advance(ms=600_000), group={"state": "Stable"}, log=()),
        ],
    ),
    Situation(
        "an Empty group without offsets goes with the next sweep, and its successor begins anew",
        "GroupMetadataManager.maybeDeleteGroup; offsets.retention.check.interval.ms",
        [
            *emptied(),
            does(Advance(ms=600_000), group={"kind": "none"}, log=(("deleted group",),)),
            does(JoinGroup(), 79, member="m2", group={"state": "Empty", "generation": 0}),
        ],
    ),
)
