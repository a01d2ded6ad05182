"""The things that change while the group is there: its plan, and the limit of its size."""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.conform.situations.groups import T0, T1, joined, stable
from groupcheck.oracles.conform.situations.situation import Situation, answer_of, does
from groupcheck.oracles.kafka.commands import (
    Advance,
    AutoCommit,
    FailOver,
    Heartbeat,
    JoinGroup,
    Reset,
    SyncGroup,
)

LONG: dict[str, Any] = {"session_timeout_ms": 60_000}

CHANGING = (
    Situation(
        "a leader that asks again while its plan is being written, now with another one, is given"
        " the first plan; a fail-over loads the second",
        "GroupMetadataManager.classicGroupSyncToClassicGroup, setAndPropagateAssignment, onLoaded",
        [
            *joined(1),
            does(AutoCommit(on=False)),
            does(SyncGroup(member="m1", generation=1, assignments={"m1": {"t": [0]}})),
            does(JoinGroup(member="m1"), 0, generation=1, leader="m1", members=("m1",)),
            does(
                SyncGroup(member="m1", generation=1, assignments={"m1": {"t": [0, 1]}}),
                name="again",
            ),
            does(
                AutoCommit(on=True),
                releases={"again": answer_of(0, assigned=frozenset({T0}))},
                group={"state": "Stable", "assigned": {"m1": frozenset({T0})}},
            ),
            does(
                FailOver(),
                group={"state": "Stable", "generation": 1, "assigned": {"m1": frozenset({T0, T1})}},
            ),
            does(Heartbeat(member="m1", generation=1), 0),
        ],
    ),
    Situation(
        "a group that is loaded above a lowered group.max.size begins a round, which takes as many"
        " members as the limit allows, and waits for its whole time although all of them have"
        " joined",
        "GroupMetadataManager.onLoaded, acceptJoiningMember; KIP-389",
        [
            *stable(3, **LONG),
            does(
                FailOver(config={"group.max.size": 2}),
                group={
                    "state": "PreparingRebalance",
                    "members": ("m1", "m2", "m3"),
                    "timers": {
                        "join-g": 30_000,
                        **{f"heartbeat-g-m{k}": 60_000 for k in (1, 2, 3)},
                    },
                },
            ),
            does(Heartbeat(member="m3", generation=1), 27),
            does(JoinGroup(member="m2", **LONG), name="m2"),
            does(JoinGroup(member="m3", **LONG), name="m3"),
            does(
                JoinGroup(member="m1", **LONG),
                81,
                group={"members": ("m2", "m3"), "awaiting_join": 2, "leader": "m2"},
            ),
            does(Advance(ms=29_999), group={"state": "PreparingRebalance"}),
            does(
                Advance(ms=1),
                releases={"m2": answer_of(0, generation=2), "m3": answer_of(0, generation=2)},
                group={"state": "CompletingRebalance"},
            ),
        ],
    ),
    Situation(
        "a lowered group.max.size that the group does not exceed changes nothing until somebody"
        " joins",
        "GroupMetadataManager.onLoaded, acceptJoiningMember; KIP-389",
        [
            *stable(1),
            does(FailOver(config={"group.max.size": 1}), group={"state": "Stable"}),
            does(JoinGroup(), 81),
            does(Heartbeat(member="m1", generation=1), 0),
        ],
        Reset(config={"group.max.size": 3}),
    ),
)
