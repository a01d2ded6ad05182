"""Fail-over in its phases: two coordinators at the same time, plans and generations that were on
their way when the coordinator moved.
"""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.conform.situations.groups import T0, T1, joined, stable
from groupcheck.oracles.conform.situations.situation import Does, Situation, answer_of, does
from groupcheck.oracles.kafka.commands import (
    Advance,
    AutoCommit,
    CommitAppends,
    FailOver,
    FinishLoad,
    Fire,
    Heartbeat,
    JoinGroup,
    Load,
    OffsetCommit,
    SyncGroup,
    Unload,
)

BOTH: dict[str, Any] = {"protocols": ("range", "cooperative-sticky")}
ZOMBIE = 0  # the broker that was the coordinator before


def overtaken() -> list[Does]:
    """The plan of generation 2, for m1 alone, is in flight when m2 joins once more."""
    return [
        *stable(2),
        does(JoinGroup(member="m1"), name="m1 joins"),
        does(
            JoinGroup(member="m2"),
            0,
            generation=2,
            releases={"m1 joins": answer_of(0, generation=2)},
        ),
        does(AutoCommit(on=False)),
        does(SyncGroup(member="m1", generation=2, assignments={"m1": {"t": [0, 1]}}), name="plan"),
        does(
            JoinGroup(member="m2", topics=("t", "u")),
            releases={"plan": answer_of(27)},
            group={"state": "PreparingRebalance", "generation": 2},
        ),
    ]


LOADED = {
    "state": "Stable",
    "generation": 2,
    "assigned": {"m1": frozenset({T0, T1}), "m2": frozenset()},
}
MOVING = (
    Situation(
        "a plan that was overtaken is loaded, and given to members that know its generation",
        "GroupMetadataManager.classicGroupSyncToClassicGroup, replay; protocol.md 7.8, K9",
        [
            *overtaken(),
            does(CommitAppends(), group={"state": "PreparingRebalance"}),
            does(FailOver(), group=LOADED),
            does(Heartbeat(member="m1", generation=2), 0),
            does(SyncGroup(member="m1", generation=2), 0, assigned=frozenset({T0, T1})),
            does(SyncGroup(member="m2", generation=1), 22),
        ],
    ),
    Situation(
        "a plan that was overtaken is lost with its generation if its record is not replicated",
        "CoordinatorRuntime; protocol.md 7.8, K8 and K9",
        [
            *overtaken(),
            does(FailOver(), group={"state": "Stable", "generation": 1}),
            does(SyncGroup(member="m1", generation=2), 22),
            does(Heartbeat(member="m2", generation=1), 0),
        ],
    ),
    Situation(
        "a follower that lists two protocols starts a round after a fail-over; the log has but one",
        "ClassicGroup.supportedProtocols; GroupMetadataManager.replay; protocol.md 7.8, K10",
        [
            *stable(2, **BOTH),
            does(JoinGroup(member="m2", **BOTH), 0, generation=1),
            does(FailOver(), group={"state": "Stable", "generation": 1}),
            does(JoinGroup(protocols=("cooperative-sticky",)), 23),
            does(JoinGroup(member="m2", **BOTH), group={"state": "PreparingRebalance"}),
        ],
    ),
    Situation(
        "a member that a zombie hears is removed by the next coordinator, which does not",
        "GroupMetadataManager.onLoaded; protocol.md 7.6, X4",
        [
            *stable(2),
            does(FailOver(zombie=True)),
            does(Advance(ms=9000)),
            does(Heartbeat(member="m1", generation=1, broker=ZOMBIE), 0),
            does(Heartbeat(member="m2", generation=1, broker=ZOMBIE), 0),
            does(Heartbeat(member="m2", generation=1), 0),
            does(Advance(ms=1000), group={"state": "PreparingRebalance", "members": ("m2",)}),
            does(Heartbeat(member="m1", generation=1, broker=ZOMBIE), 0),
            does(Heartbeat(member="m2", generation=1), 27),
            does(Unload(broker=ZOMBIE)),
            does(Heartbeat(member="m1", generation=1, broker=ZOMBIE), 16),
            does(Heartbeat(member="m1", generation=1), 25),
        ],
    ),
    Situation(
        "a zombie and the next coordinator begin the same generation with different members",
        "GroupMetadataManager.completeClassicGroupJoin; protocol.md 7.6, X4, and 7.8, K8",
        [
            *stable(2),
            does(FailOver(zombie=True)),
            does(JoinGroup(member="m1", broker=ZOMBIE), name="m1 joins"),
            does(
                JoinGroup(member="m2", broker=ZOMBIE),
                0,
                generation=2,
                releases={"m1 joins": answer_of(0, generation=2)},
                log=(),
            ),
            does(Fire(timer="heartbeat-g-m1"), group={"state": "PreparingRebalance"}),
            does(JoinGroup(member="m2"), 0, generation=2, members=("m2",)),
            does(SyncGroup(member="m2", generation=2, broker=ZOMBIE), name="follower"),
            does(
                SyncGroup(member="m1", generation=2, broker=ZOMBIE),
                16,
                releases={"follower": answer_of(16)},
                log=(),
            ),
        ],
    ),
    Situation(
        "a zombie answers no heartbeat behind an append in flight, until it learns",
        "CoordinatorRuntime.CoordinatorReadEvent, CoordinatorWriteEvent",
        [
            *stable(2),
            does(AutoCommit(on=False)),
            does(OffsetCommit(member="m1", generation=1), name="commit"),
            does(FailOver(zombie=True, hold=True)),
            does(Heartbeat(member="m2", generation=1, broker=ZOMBIE), name="heartbeat"),
            does(Heartbeat(member="m2", generation=3, broker=ZOMBIE), 22),
            does(SyncGroup(member="m2", generation=1, broker=ZOMBIE), 0, assigned=frozenset({T1})),
            does(
                Unload(broker=ZOMBIE),
                releases={"commit": answer_of(16), "heartbeat": answer_of(16)},
            ),
        ],
    ),
    Situation(
        "a broker that resigns and is elected again answers 14 to the SyncGroup of its own round",
        "GroupCoordinatorService.syncGroup; Errors.COORDINATOR_LOAD_IN_PROGRESS",
        [
            *joined(2),
            does(Unload()),
            does(Load(hold=True)),
            does(SyncGroup(member="m1", generation=1, assignments={"m1": {"t": [0]}}), 14, log=()),
            does(Heartbeat(member="m1", generation=1), 0),
            does(FinishLoad()),
            does(SyncGroup(member="m1", generation=1), 25),
        ],
    ),
    Situation(
        "a group that is loaded above group.max.size lets its members commit before it drops one",
        "GroupMetadataManager.onLoaded, acceptJoiningMember; KIP-389",
        [
            *stable(2),
            does(
                FailOver(config={"group.max.size": 1}, hold=True),
            ),
            does(Heartbeat(member="m1", generation=1), 0),
            does(FinishLoad(), group={"state": "PreparingRebalance", "members": ("m1", "m2")}),
            does(OffsetCommit(member="m2", generation=1), 0),
            does(JoinGroup(member="m2"), name="m2 joins"),
            does(JoinGroup(member="m1"), 81, member="", group={"members": ("m2",)}),
            does(
                Advance(ms=30_000),
                releases={"m2 joins": answer_of(0, generation=2, leader="m2")},
                group={"state": "CompletingRebalance", "members": ("m2",)},
            ),
        ],
    ),
)
