"""Counterexamples to what one might expect of a classic group of dynamic members (protocol.md 7.8).
Those of static members are in `static_members`, the reuse of a generation (K8) in `failing`.
"""

from __future__ import annotations

from groupcheck.oracles.conform.situations.groups import T0, joined, stable
from groupcheck.oracles.conform.situations.situation import Situation, answer_of, does
from groupcheck.oracles.kafka.commands import (
    AutoCommit,
    FailOver,
    Heartbeat,
    JoinGroup,
    SyncGroup,
)

BOTH = ("range", "roundrobin")
KNOWN = (
    Situation(
        "a plan that was overtaken and then replicated is loaded by the next coordinator, and gives"
        " members what they were never told",
        "GroupMetadataManager.classicGroupSyncToClassicGroup, replay; protocol.md 7.8, K9",
        [
            *joined(2),
            does(AutoCommit(on=False)),
            does(SyncGroup(member="m1", generation=1, assignments={"m1": {"t": [0]}}), name="plan"),
            does(
                JoinGroup(member="m2", topics=("t", "u")),
                releases={"plan": answer_of(27)},
                group={"state": "PreparingRebalance"},
            ),
            does(AutoCommit(on=True)),
            does(
                FailOver(),
                group={"state": "Stable", "generation": 1, "members": ("m1", "m2")},
            ),
            does(Heartbeat(member="m1", generation=1), 0),
            does(SyncGroup(member="m1", generation=1), 0, assigned=frozenset({T0})),
        ],
    ),
    Situation(
        "a follower with two assignors that joins again after a fail-over starts a round, though"
        " nothing has changed",
        "ClassicGroupMember.matches; GroupMetadataManager.replay; protocol.md 7.8, K10",
        [
            *stable(2, protocols=BOTH),
            does(JoinGroup(member="m2", protocols=BOTH), 0, generation=1),
            does(FailOver(), group={"state": "Stable", "generation": 1}),
            does(
                JoinGroup(member="m2", protocols=BOTH),
                group={"state": "PreparingRebalance", "generation": 1},
            ),
        ],
    ),
    Situation(
        "a JoinGroup or SyncGroup that a later one has replaced is never answered",
        "ClassicGroup.updateMember, ClassicGroupMember.setAwaitingJoinFuture; protocol.md 7.8, K11",
        [
            *stable(2),
            does(JoinGroup(member="m1"), name="first", group={"state": "PreparingRebalance"}),
            does(JoinGroup(member="m1"), name="second"),
            does(
                JoinGroup(member="m2"),
                0,
                generation=2,
                releases={"second": answer_of(0, generation=2)},
            ),
            does(SyncGroup(member="m2", generation=2), name="first sync"),
            does(SyncGroup(member="m2", generation=2), name="second sync"),
            does(
                SyncGroup(member="m1", generation=2, assignments={"m1": {"t": [0]}, "m2": {}}),
                0,
                releases={"second sync": answer_of(0)},
            ),
        ],
    ),
)
