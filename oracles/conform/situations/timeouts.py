"""Members of one group with different session and rebalance timeouts: which timer is armed with
whose, and which may fire first.
"""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.conform.situations.groups import stable
from groupcheck.oracles.conform.situations.situation import Does, Situation, answer_of, does
from groupcheck.oracles.kafka.commands import Advance, Heartbeat, JoinGroup, LeaveGroup, SyncGroup

QUICK: dict[str, Any] = {"session_timeout_ms": 60_000, "rebalance_timeout_ms": 20_000}
SLOW: dict[str, Any] = {"session_timeout_ms": 90_000, "rebalance_timeout_ms": 70_000}


def parked(member: str, **join: Any) -> list[Does]:
    """A new member whose JoinGroup is parked."""
    return [
        does(JoinGroup(**join), 79, member=member),
        does(JoinGroup(member=member, **join), name=f"join of {member}"),
    ]


def quick_and_slow() -> list[Does]:
    """A Stable group of m1, the leader, with QUICK timeouts and m2 with SLOW ones."""
    both = {f"join of {m}": answer_of(0, generation=1, leader="m1", member=m) for m in ("m1", "m2")}
    sync = SyncGroup(member="m1", generation=1, assignments={"m1": {"t": [0]}, "m2": {"t": [1]}})
    return [
        *parked("m1", **QUICK),
        *parked("m2", **SLOW),
        does(Advance(ms=6000), releases=both, group={"state": "CompletingRebalance"}),
        does(sync, 0, group={"state": "Stable"}),
        does(SyncGroup(member="m2", generation=1), 0),
        does(Advance(ms=0), group={"timers": {"heartbeat-g-m1": 60_000, "heartbeat-g-m2": 90_000}}),
    ]


def in_round(join_ms: int, quick_ms: int | None = None, slow_ms: int | None = None) -> Any:
    """The timers of a round with this time left, and of the members that have not joined it."""
    whose = {"heartbeat-g-m1": quick_ms, "heartbeat-g-m2": slow_ms}
    return {"join-g": join_ms, **{key: ms for key, ms in whose.items() if ms is not None}}


TIMEOUTS = (
    Situation(
        "the members have the longest rebalance timeout of all to send SyncGroup, and then to join"
        " the next round",
        "ClassicGroup.rebalanceTimeoutMs; GroupMetadataManager.schedulePendingSync",
        [
            *parked("m1", **QUICK),
            *parked("m2", **SLOW),
            does(
                Advance(ms=6000),
                releases={"join of m1": answer_of(0), "join of m2": answer_of(0)},
                group={
                    "timers": {
                        "sync-g": 70_000,
                        "heartbeat-g-m1": 60_000,
                        "heartbeat-g-m2": 90_000,
                    }
                },
            ),
            does(SyncGroup(member="m1", generation=1, assignments={}), 0),
            does(SyncGroup(member="m2", generation=1), 0),
            does(JoinGroup(member="m1", **QUICK), name="again"),
            does(Advance(ms=0), group={"timers": in_round(70_000, 60_000, 90_000)}),
        ],
    ),
    Situation(
        "the time of a round is fixed when it begins: neither a slower member that joins it nor the"
        " slowest one that leaves it changes that",
        "GroupMetadataManager.prepareRebalance, addMemberThenRebalanceOrCompleteJoin",
        [
            *quick_and_slow(),
            does(JoinGroup(member="m1", **QUICK), name="again"),
            does(Advance(ms=1000), group={"timers": in_round(69_000, 59_000, 89_000)}),
            does(JoinGroup(rebalance_timeout_ms=200_000, session_timeout_ms=60_000), 79),
            does(
                JoinGroup(member="m3", rebalance_timeout_ms=200_000, session_timeout_ms=60_000),
                name="slower",
                group={"members": ("m1", "m2", "m3"), "state": "PreparingRebalance"},
            ),
            does(Heartbeat(member="m2", generation=1), 27),
            does(
                LeaveGroup(member="m2"),
                0,
                releases={
                    "again": answer_of(0, generation=2),
                    "slower": answer_of(0, generation=2),
                },
            ),
        ],
    ),
    Situation(
        "a round that has lost its slowest member still waits as long as when it began",
        "GroupMetadataManager.prepareRebalance",
        [
            *quick_and_slow(),
            *parked("m3", **QUICK)[:1],
            does(JoinGroup(member="m3", **QUICK), name="new"),
            does(Advance(ms=10_000)),
            does(LeaveGroup(member="m2"), 0, group={"state": "PreparingRebalance"}),
            does(
                Advance(ms=0),
                group={
                    "timers": {
                        "join-g": 60_000,
                        "heartbeat-g-m1": 50_000,
                        "heartbeat-g-m3": 290_000,
                    }
                },
            ),
        ],
    ),
    Situation(
        "an initial delay is extended within the rebalance timeout of the first member, however"
        " slow the later ones are",
        "GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule; KIP-134",
        [
            *parked("m1", rebalance_timeout_ms=4000),
            does(Advance(ms=2000)),
            *parked("m2", **SLOW),
            does(
                Advance(ms=1000), group={"state": "PreparingRebalance", "new_member_added": False}
            ),
            *parked("m3", **SLOW),
            does(
                Advance(ms=1000),
                releases={f"join of m{k}": answer_of(0, generation=1) for k in (1, 2, 3)},
                group={"state": "CompletingRebalance"},
            ),
        ],
    ),
    Situation(
        "a member that joins again brings new timeouts, and they hold from then on",
        "GroupMetadataManager.updateMemberThenRebalanceOrCompleteJoin",
        [
            *quick_and_slow(),
            does(
                JoinGroup(member="m1", session_timeout_ms=30_000, rebalance_timeout_ms=100_000),
                name="again",
            ),
            does(Advance(ms=0), group={"timers": in_round(100_000, 60_000, 90_000)}),
            does(
                JoinGroup(member="m2", **SLOW),
                0,
                releases={"again": answer_of(0, generation=2)},
                group={
                    "timers": {
                        "sync-g": 100_000,
                        "heartbeat-g-m1": 30_000,
                        "heartbeat-g-m2": 90_000,
                    }
                },
            ),
        ],
    ),
    Situation(
        "other timeouts alone are no reason for a round, and are not noted before there is one",
        "GroupMetadataManager.classicGroupJoinExistingMember; ClassicGroupMember.matches",
        [
            *quick_and_slow(),
            does(
                JoinGroup(member="m2", session_timeout_ms=30_000, rebalance_timeout_ms=100_000),
                0,
                generation=1,
                group={"state": "Stable"},
            ),
            does(Heartbeat(member="m2", generation=1), 0),
            does(
                Advance(ms=0),
                group={"timers": {"heartbeat-g-m1": 60_000, "heartbeat-g-m2": 90_000}},
            ),
        ],
    ),
    Situation(
        "a silent member whose session is shorter than the round is gone before the round ends",
        "GroupMetadataManager.expireClassicGroupMemberHeartbeat",
        [
            *quick_and_slow(),
            does(JoinGroup(member="m2", topics=("u",), **SLOW), name="again"),
            does(Advance(ms=59_999), group={"members": ("m1", "m2")}),
            does(
                Advance(ms=1),
                releases={"again": answer_of(0, generation=2, leader="m2")},
                group={"members": ("m2",), "state": "CompletingRebalance"},
            ),
        ],
    ),
    Situation(
        "a silent member whose session is longer than the round is gone when the round ends",
        "GroupMetadataManager.completeClassicGroupJoin",
        [
            *stable(2, session_timeout_ms=60_000),
            does(JoinGroup(member="m2", topics=("u",)), name="again"),
            does(Advance(ms=29_999), group={"members": ("m1", "m2")}),
            does(
                Advance(ms=1),
                releases={"again": answer_of(0, generation=2, leader="m2")},
                group={"members": ("m2",), "state": "CompletingRebalance"},
            ),
        ],
    ),
    Situation(
        "a new member whose rebalance timeout is longer than five minutes is gone before a round"
        " that waits for it and for a silent one",
        "GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin; KIP-394",
        [
            *stable(1, session_timeout_ms=400_000, rebalance_timeout_ms=400_000),
            does(JoinGroup(), 79, member="m2"),
            does(JoinGroup(member="m2"), name="new"),
            does(
                Advance(ms=300_000),
                releases={"new": answer_of(25)},
                group={"members": ("m1",), "timers": in_round(100_000, 100_000)},
            ),
        ],
    ),
)
