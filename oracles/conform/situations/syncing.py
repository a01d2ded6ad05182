"""SyncGroup and Heartbeat: what a plan may say, who may ask, what a failed append leaves."""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.conform.situations.groups import T0, T1, emptied, joined, stable
from groupcheck.oracles.conform.situations.situation import Situation, answer_of, does
from groupcheck.oracles.kafka.commands import (
    Advance,
    AutoCommit,
    CommitAppends,
    FailAppends,
    Heartbeat,
    JoinGroup,
    SyncGroup,
)

LONG: dict[str, Any] = {"session_timeout_ms": 60_000}
# GroupMetadataManager.appendGroupMetadataErrorToResponseError
OF_APPENDS = {
    "UNKNOWN_TOPIC_OR_PARTITION": 15,
    "NOT_ENOUGH_REPLICAS": 15,
    "REQUEST_TIMED_OUT": 15,
    "NOT_LEADER_OR_FOLLOWER": 16,
    "KAFKA_STORAGE_ERROR": 16,
    "MESSAGE_TOO_LARGE": -1,
    "RECORD_LIST_TOO_LARGE": -1,
    "INVALID_FETCH_SIZE": -1,
    "CORRUPT_MESSAGE": 2,
}

SYNCING = (
    Situation(
        "SyncGroup and Heartbeat without a group, or with an Empty one, are of an unknown member",
        "GroupMetadataManager.classicGroupSync, classicGroupHeartbeat; Errors.UNKNOWN_MEMBER_ID",
        [
            does(SyncGroup(group="", member="x", generation=1), 24),
            does(Heartbeat(group="", member="x", generation=1), 24),
            does(SyncGroup(member="x", generation=1), 25, group={"kind": "none"}),
            does(Heartbeat(member="x", generation=1), 25, group={"kind": "none"}),
            *emptied(),
            does(SyncGroup(member="m1", generation=2), 25),
            does(Heartbeat(member="m1", generation=2), 25),
        ],
    ),
    Situation(
        "an id that was handed out is no member: it can neither sync nor heartbeat",
        "ClassicGroup.validateMember",
        [
            *stable(1),
            does(JoinGroup(), 79, member="m2"),
            does(SyncGroup(member="m2", generation=1), 25),
            does(Heartbeat(member="m2", generation=1), 25),
            does(Heartbeat(member="m1", generation=0), 22),
            does(SyncGroup(member="m1", generation=2), 22),
        ],
    ),
    Situation(
        "a SyncGroup that names another protocol or type is refused, after its generation",
        "GroupMetadataManager.validateSyncGroup; KIP-559; Errors.INCONSISTENT_GROUP_PROTOCOL",
        [
            *joined(1),
            does(SyncGroup(member="m1", generation=1, protocol="sticky"), 23, log=()),
            does(SyncGroup(member="m1", generation=1, type="connect"), 23, log=()),
            does(SyncGroup(member="m1", generation=0, type="connect"), 22),
            does(SyncGroup(member="x", generation=0, type="connect"), 25),
            does(
                SyncGroup(
                    member="m1",
                    generation=1,
                    type="consumer",
                    protocol="range",
                    assignments={"m1": {"t": [0]}},
                ),
                0,
                type="consumer",
                protocol="range",
                assigned=frozenset({T0}),
                group={"state": "Stable"},
            ),
            does(SyncGroup(member="m1", generation=1, protocol="sticky"), 23),
        ],
    ),
    Situation(
        "a plan may leave members out and name strangers; only the leader's counts",
        "GroupMetadataManager.classicGroupSyncToClassicGroup, propagateAssignment",
        [
            *joined(3),
            does(SyncGroup(member="m2", generation=1, assignments={"m2": {"t": [0]}}), name="m2"),
            does(
                SyncGroup(
                    member="m1", generation=1, assignments={"m2": {"t": [1]}, "x": {"t": [0]}}
                ),
                0,
                assigned=None,
                releases={"m2": answer_of(0, assigned=frozenset({T1}))},
                group={
                    "state": "Stable",
                    "pending_sync": ("m3",),
                    "assigned": {"m1": frozenset(), "m2": frozenset({T1}), "m3": frozenset()},
                },
                log=(("group", 1, "m1", ("m1", "m2", "m3")),),
            ),
            does(
                SyncGroup(member="m3", generation=1),
                0,
                assigned=None,
                group={
                    "pending_sync": (),
                    "timers": {f"heartbeat-g-m{k}": 10_000 for k in (1, 2, 3)},
                },
            ),
            does(SyncGroup(member="m3", generation=1), 0, assigned=None),
        ],
    ),
    Situation(
        "a plan of nothing is a plan",
        "GroupMetadataManager.classicGroupSyncToClassicGroup",
        [
            *joined(2),
            does(SyncGroup(member="m2", generation=1), name="m2"),
            does(
                SyncGroup(member="m1", generation=1),
                0,
                assigned=None,
                releases={"m2": answer_of(0, assigned=None)},
                group={"state": "Stable"},
                log=(("group", 1, "m1", ("m1", "m2")),),
            ),
        ],
    ),
    *(
        Situation(
            f"a plan whose append fails with {error} is answered {code}, and a round starts",
            "GroupMetadataManager.appendGroupMetadataErrorToResponseError",
            [
                *joined(2),
                does(SyncGroup(member="m2", generation=1), name="m2"),
                does(FailAppends(error=error)),
                does(
                    SyncGroup(member="m1", generation=1, assignments={"m1": {"t": [0]}}),
                    code,
                    assigned=None,
                    releases={"m2": answer_of(code, assigned=None)},
                    group={
                        "state": "PreparingRebalance",
                        "generation": 1,
                        "pending_sync": (),
                        "timers": {
                            "heartbeat-g-m1": 10_000,
                            "heartbeat-g-m2": 10_000,
                            "join-g": 30_000,
                        },
                    },
                    log=(),
                ),
            ],
        )
        for error, code in OF_APPENDS.items()
    ),
    Situation(
        "a plan that a JoinGroup overtakes is answered 27, and its commit changes nothing",
        "GroupMetadataManager.classicGroupSyncToClassicGroup",
        [
            *joined(2),
            does(AutoCommit(on=False)),
            does(SyncGroup(member="m1", generation=1, assignments={"m1": {"t": [0]}}), name="plan"),
            does(
                JoinGroup(member="m2", topics=("t", "u")),
                name="join",
                releases={"plan": answer_of(27)},
                group={"state": "PreparingRebalance"},
            ),
            does(CommitAppends(), group={"state": "PreparingRebalance"}),
            does(
                JoinGroup(member="m1"),
                0,
                generation=2,
                releases={"join": answer_of(0, generation=2)},
            ),
        ],
    ),
    Situation(
        "a plan that is not replicated in time is answered 15, and a round starts",
        "offsets.commit.timeout.ms; GroupMetadataManager.classicGroupSyncToClassicGroup",
        [
            *joined(1),
            does(AutoCommit(on=False)),
            does(SyncGroup(member="m1", generation=1, assignments={"m1": {"t": [0]}}), name="plan"),
            does(Advance(ms=4999)),
            does(
                Advance(ms=1),
                releases={"plan": answer_of(15)},
                group={"state": "PreparingRebalance"},
            ),
        ],
    ),
    Situation(
        "who has not synced when the rebalance timeout ends is removed, and a round starts",
        "GroupMetadataManager.expirePendingSync; KAFKA-13418",
        [
            *joined(3, **LONG),
            does(SyncGroup(member="m1", generation=1, assignments={"m1": {"t": [0]}}), 0),
            does(
                Advance(ms=30_000),
                group={
                    "state": "PreparingRebalance",
                    "members": ("m1",),
                    "timers": {"heartbeat-g-m1": 30_000, "join-g": 30_000},
                },
            ),
            does(Heartbeat(member="m2", generation=1), 25),
        ],
    ),
    Situation(
        "Heartbeat tells of the round; a wrong generation does not renew the session",
        "GroupMetadataManager.classicGroupHeartbeatToClassicGroup",
        [
            *stable(2),
            does(Advance(ms=1000)),
            does(
                Heartbeat(member="m1", generation=2),
                22,
                group={"timers": {"heartbeat-g-m1": 9000, "heartbeat-g-m2": 9000}},
            ),
            does(JoinGroup(member="m2", topics=("u",)), name="join"),
            does(
                Heartbeat(member="m1", generation=1),
                27,
                group={
                    "timers": {
                        "heartbeat-g-m1": 10_000,
                        "heartbeat-g-m2": 9000,
                        "join-g": 30_000,
                    }
                },
            ),
            does(SyncGroup(member="m1", generation=1), 27),
            does(JoinGroup(member="m1"), 0, generation=2, releases={"join": answer_of(0)}),
            does(Heartbeat(member="m1", generation=1), 22),
            does(Heartbeat(member="m1", generation=2), 0),
        ],
    ),
)
