"""Loading, unloading, shutting down, and what the next coordinator finds."""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.conform.situations.groups import T0, emptied, joined, joining, stable
from groupcheck.oracles.conform.situations.situation import Does, Situation, answer_of, does
from groupcheck.oracles.kafka.commands import (
    AutoCommit,
    DeleteGroups,
    EndTxn,
    FailOver,
    FinishLoad,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Load,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    ShutDown,
    SyncGroup,
    TxnOffsetCommit,
    Unload,
)

LONG: dict[str, Any] = {"session_timeout_ms": 60_000}


def everything(code: int, heartbeat: int, fetch: int) -> list[Does]:
    """Every request of m1's, answered with the code."""
    return [
        does(JoinGroup(member="m1"), code),
        does(SyncGroup(member="m1", generation=1), code),
        does(Heartbeat(member="m1", generation=1), heartbeat),
        does(LeaveGroup(member="m1"), code),
        does(OffsetCommit(member="m1", generation=1), code),
        does(TxnOffsetCommit(member="m1", generation=1), code),
        does(OffsetFetch(), fetch),
        does(OffsetDelete(), code),
        does(DeleteGroups(), code),
    ]


FAILING = (
    Situation(
        "while it loads, a coordinator answers 14, and Heartbeat with 0",
        "GroupCoordinatorService; Errors.COORDINATOR_LOAD_IN_PROGRESS",
        [
            *stable(1),
            does(FailOver(hold=True)),
            *everything(14, 0, 14),
            does(
                FinishLoad(),
                group={
                    "state": "Stable",
                    "generation": 1,
                    "leader": "m1",
                    "assigned": {"m1": frozenset({T0})},
                    "timers": {"heartbeat-g-m1": 10_000},
                },
            ),
            does(Heartbeat(member="m1", generation=1), 0),
        ],
    ),
    Situation(
        "after its resignation a coordinator answers 16, until it is elected again",
        "GroupCoordinatorService; Errors.NOT_COORDINATOR",
        [
            *stable(1),
            does(Unload()),
            *everything(16, 16, 16),
            does(Load(), group={"state": "Stable", "generation": 1}),
        ],
    ),
    Situation(
        "a coordinator that shuts down answers 15",
        "GroupCoordinatorService.isActive; Errors.COORDINATOR_NOT_AVAILABLE",
        [
            *stable(1),
            does(ShutDown()),
            *everything(15, 15, 15),
            does(EndTxn(), 15),
        ],
    ),
    Situation(
        "an unload answers the JoinGroups that wait with 16",
        "GroupMetadataManager.onUnloaded; protocol.md 7.6, X3",
        [
            *stable(2),
            does(JoinGroup(member="m1"), name="join"),
            does(Unload(), releases={"join": answer_of(16, member="m1")}),
        ],
    ),
    Situation(
        "an unload answers the SyncGroups that wait with 16",
        "GroupMetadataManager.onUnloaded",
        [
            *joined(2),
            does(SyncGroup(member="m2", generation=1), name="sync"),
            does(Unload(), releases={"sync": answer_of(16, assigned=None)}),
        ],
    ),
    Situation(
        "an unload answers a plan in flight with 16, and the SyncGroups that wait for it",
        "GroupMetadataManager.classicGroupSyncToClassicGroup, onUnloaded",
        [
            *joined(2),
            does(SyncGroup(member="m2", generation=1), name="follower"),
            does(AutoCommit(on=False)),
            does(SyncGroup(member="m1", generation=1, assignments={"m1": {"t": [0]}}), name="plan"),
            does(Unload(), releases={"follower": answer_of(16), "plan": answer_of(16)}),
            does(Load(), group={"state": "Stable", "generation": 1, "leader": "m1"}),
        ],
    ),
    Situation(
        "an unload answers what waits for replication with 16",
        "CoordinatorRuntime; Errors.NOT_COORDINATOR",
        [
            *stable(1),
            does(AutoCommit(on=False)),
            does(OffsetCommit(member="m1", generation=1), name="commit"),
            does(Unload(), releases={"commit": answer_of(16)}),
        ],
    ),
    Situation(
        "an Empty group and a first round are unloaded, too",
        "GroupMetadataManager.onUnloaded",
        [
            *emptied(),
            does(Unload()),
            does(Load(), group={"state": "Empty", "generation": 2}),
            does(JoinGroup(version=3), name="join"),
            does(Unload(), releases={"join": answer_of(16)}),
            does(Load(), group={"state": "Empty", "generation": 2}),
        ],
    ),
    Situation(
        "a loaded group that is larger than group.max.size begins a round at once",
        "GroupMetadataManager.onLoaded; KIP-389",
        [
            *stable(2),
            does(
                FailOver(config={"group.max.size": 1}),
                group={
                    "state": "PreparingRebalance",
                    "members": ("m1", "m2"),
                    "timers": {
                        "heartbeat-g-m1": 10_000,
                        "heartbeat-g-m2": 10_000,
                        "join-g": 30_000,
                    },
                },
            ),
            does(Heartbeat(member="m1", generation=1), 27),
            does(JoinGroup(member="m1"), name="join"),
            does(JoinGroup(member="m2"), 81, member=""),
        ],
    ),
    Situation(
        "ids, parked requests and rounds are lost by a fail-over; the group of the log is back",
        "GroupMetadataManager.onLoaded; protocol.md 7.6, X1",
        [
            *stable(2, **LONG),
            does(JoinGroup(**LONG), 79, member="m3"),
            does(JoinGroup(member="m1", **LONG)),
            does(
                FailOver(),
                group={
                    "state": "Stable",
                    "generation": 1,
                    "leader": "m1",
                    "members": ("m1", "m2"),
                    "pending_join": (),
                    "pending_sync": (),
                    "timers": {"heartbeat-g-m1": 60_000, "heartbeat-g-m2": 60_000},
                },
            ),
            does(JoinGroup(member="m3", **LONG), 25),
        ],
    ),
    Situation(
        "a zombie answers what needs no log, and cannot write",
        "CoordinatorRuntime; protocol.md, 7.2",
        [
            *stable(1),
            does(FailOver(zombie=True)),
            does(Heartbeat(member="m1", generation=1, broker=0), 0),
            does(OffsetFetch(stable=False, broker=0), 0),
            does(OffsetCommit(member="m1", generation=1, broker=0), 16),
            does(JoinGroup(member="m1", broker=0), 0, generation=2),
            does(SyncGroup(member="m1", generation=2, broker=0), 16),
        ],
    ),
    Situation(
        "a leave that was answered 0 is undone by a fail-over, because it writes no record",
        "GroupMetadataManager.classicGroupLeave, onLoaded; protocol.md 7.6, X5",
        [
            *stable(2),
            does(LeaveGroup(member="m2"), 0, log=()),
            does(
                FailOver(),
                group={"state": "Stable", "generation": 1, "members": ("m1", "m2")},
            ),
            does(Heartbeat(member="m2", generation=1), 0),
        ],
    ),
    Situation(
        "a zombie answers a leave with 0, of which the next coordinator does not know",
        "GroupMetadataManager.classicGroupLeave; protocol.md 7.6, X4 and X5",
        [
            *stable(2),
            does(FailOver(zombie=True)),
            does(LeaveGroup(member="m2", broker=0), 0, log=()),
            does(Heartbeat(member="m1", generation=1, broker=0), 27),
            does(Heartbeat(member="m2", generation=1), 0, group={"members": ("m1", "m2")}),
        ],
    ),
    Situation(
        "a generation whose plan was not written is issued again, to another set of members",
        "GroupMetadataManager.completeClassicGroupJoin, onLoaded; protocol.md 7.8, K8",
        [
            *stable(2),
            does(JoinGroup(member="m1"), name="m1 joins"),
            does(
                JoinGroup(member="m2"),
                0,
                generation=2,
                releases={"m1 joins": answer_of(0, generation=2)},
                log=(),
            ),
            does(FailOver(), group={"state": "Stable", "generation": 1, "members": ("m1", "m2")}),
            does(SyncGroup(member="m1", generation=2), 22),
            does(LeaveGroup(member="m2"), 0),
            does(JoinGroup(member="m1"), 0, generation=2, leader="m1"),
        ],
    ),
    Situation(
        "a first round is unloaded while its only member waits",
        "GroupMetadataManager.onUnloaded",
        [*joining(1), does(Unload(), releases={"join of m1": answer_of(16, member="m1")})],
    ),
)
