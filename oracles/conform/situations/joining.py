"""JoinGroup: who is let in, with which protocol, at which size."""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.conform.situations.groups import emptied, joined, joining, stable
from groupcheck.oracles.conform.situations.situation import Situation, answer_of, does
from groupcheck.oracles.kafka.commands import (
    Advance,
    DeleteGroups,
    FailAppends,
    Heartbeat,
    JoinGroup,
    Reset,
    SyncGroup,
)

RANGE_AND_STICKY = ("range", "sticky")
LONG: dict[str, Any] = {"session_timeout_ms": 60_000}
BOTH: dict[str, Any] = {"session_timeout_ms": 60_000, "protocols": RANGE_AND_STICKY}

JOINING = (
    Situation(
        "JoinGroup is refused before the group is looked at",
        "GroupCoordinatorService.joinGroup; Errors.INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT",
        [
            does(JoinGroup(group=""), 24, log=()),
            does(JoinGroup(session_timeout_ms=5999), 26, log=()),
            does(JoinGroup(session_timeout_ms=30_001), 26, log=()),
            does(JoinGroup(group="", session_timeout_ms=1), 24, log=()),
            does(JoinGroup(session_timeout_ms=30_000), 79, member="m1"),
        ],
        Reset(
            config={"group.min.session.timeout.ms": 6000, "group.max.session.timeout.ms": 30_000}
        ),
    ),
    Situation(
        "a member id in a group that there is not is unknown, and no group is made",
        "GroupMetadataManager.classicGroupJoinToClassicGroup; Errors.UNKNOWN_MEMBER_ID",
        [
            does(JoinGroup(member="x"), 25, member="x", log=(), group={"kind": "none"}),
            does(
                JoinGroup(),
                79,
                member="m1",
                log=(("group", 0, None, ()),),
                group={"state": "Empty", "pending_join": ("m1",), "type": None},
            ),
            does(JoinGroup(member="x"), 25, member="x", log=()),
        ],
    ),
    Situation(
        "a newcomer without a protocol type, or without a protocol, is refused",
        "ClassicGroup.supportsProtocols; Errors.INCONSISTENT_GROUP_PROTOCOL; KIP-394",
        [
            does(JoinGroup(type=""), 23, member=""),
            does(JoinGroup(protocols=()), 23, member=""),
            does(JoinGroup(), 79, member="m1"),
            does(JoinGroup(member="m1", type=""), 23, member="m1"),
            does(JoinGroup(member="m1", protocols=()), 23, member="m1"),
            does(JoinGroup(member="m1"), group={"state": "PreparingRebalance"}),
        ],
    ),
    Situation(
        "a member of another protocol type, or without a common protocol, is refused",
        "ClassicGroup.supportsProtocols; Errors.INCONSISTENT_GROUP_PROTOCOL",
        [
            *stable(1),
            does(JoinGroup(type="connect"), 23, member="", log=()),
            does(JoinGroup(protocols=("sticky",)), 23, member="", log=()),
            does(JoinGroup(member="m1", type="connect"), 23, member="m1", log=()),
            does(
                JoinGroup(member="m1", protocols=("sticky",)),
                23,
                member="m1",
                group={"state": "Stable", "generation": 1, "pending_join": ()},
            ),
        ],
    ),
    Situation(
        "an Empty group keeps its protocol type, and takes the next member's",
        "ClassicGroup.supportsProtocols, add",
        [
            *emptied(),
            does(
                JoinGroup(type="connect", version=3),
                name="join",
                group={"type": "connect", "protocol": None},
            ),
            does(
                Advance(ms=3000),
                releases={"join": answer_of(0, generation=3, type="connect", protocol="range")},
            ),
        ],
    ),
    Situation(
        "every member votes for the first protocol on its list that all support; most votes win",
        "ClassicGroup.selectProtocol, ClassicGroupMember.vote",
        [
            does(JoinGroup(version=3, protocols=("a", "b")), name="1"),
            does(JoinGroup(version=3, protocols=("c", "b", "a")), name="2"),
            does(JoinGroup(version=3, protocols=("b", "a")), name="3"),
            does(
                Advance(ms=6000),
                releases={
                    "1": answer_of(0, protocol="b", members=("m1", "m2", "m3")),
                    "2": answer_of(0, protocol="b", members=()),
                    "3": answer_of(0, protocol="b", members=()),
                },
                group={"protocol": "b"},
            ),
        ],
    ),
    Situation(
        "below version 4 a newcomer is parked at once, and is removed after five minutes",
        "GroupMetadataManager.classicGroupJoinNewDynamicMember; KIP-394",
        [
            *stable(1, session_timeout_ms=1_000_000, rebalance_timeout_ms=900_000),
            does(
                JoinGroup(version=3, rebalance_timeout_ms=900_000),
                name="join",
                group={
                    "state": "PreparingRebalance",
                    "timers": {
                        "heartbeat-g-m1": 1_000_000,
                        "heartbeat-g-m2": 300_000,
                        "join-g": 900_000,
                    },
                },
            ),
            does(Advance(ms=299_999)),
            does(
                Advance(ms=1),
                releases={"join": answer_of(25, member="")},
                group={"members": ("m1",)},
            ),
        ],
    ),
    Situation(
        "a repeated JoinGroup is answered at once; only the leader is given the members",
        "GroupMetadataManager.classicGroupJoinExistingMember",
        [
            *joined(2),
            does(
                JoinGroup(member="m1"), 0, generation=1, leader="m1", members=("m1", "m2"), log=()
            ),
            does(
                JoinGroup(member="m2"), 0, generation=1, leader="m1", members=(), protocol="range"
            ),
            does(
                JoinGroup(member="m2", topics=("t", "u")),
                group={"state": "PreparingRebalance", "awaiting_join": 1},
            ),
        ],
    ),
    Situation(
        "in a Stable group a follower's JoinGroup starts a round only if its subscription changed",
        "GroupMetadataManager.classicGroupJoinExistingMember",
        [
            *stable(2),
            does(
                JoinGroup(member="m2"),
                0,
                generation=1,
                leader="m1",
                members=(),
                group={"state": "Stable"},
            ),
            does(
                JoinGroup(member="m2", topics=("t", "u")),
                name="changed",
                group={"state": "PreparingRebalance"},
            ),
            does(
                JoinGroup(member="m1"),
                0,
                generation=2,
                leader="m1",
                members=("m1", "m2"),
                releases={"changed": answer_of(0, generation=2, leader="m1", members=())},
            ),
        ],
    ),
    Situation(
        "a leader that does not join again in time is removed, and another member leads",
        "ClassicGroup.maybeElectNewJoinedLeader, remove",
        [
            *stable(2, **LONG),
            does(JoinGroup(member="m2", topics=("t", "u"), **LONG), name="join"),
            does(
                Advance(ms=30_000),
                releases={"join": answer_of(0, generation=2, leader="m2", members=("m2",))},
                group={"members": ("m2",), "leader": "m2"},
            ),
        ],
    ),
    Situation(
        "a group of group.max.size members refuses newcomers, not its own members",
        "GroupMetadataManager.acceptJoiningMember; KIP-389; Errors.GROUP_MAX_SIZE_REACHED",
        [
            *stable(2),
            does(JoinGroup(), 81, member="", log=()),
            does(JoinGroup(member="m2"), 0, generation=1),
            does(JoinGroup(member="x"), 81, member=""),
        ],
        Reset(config={"group.max.size": 2}),
    ),
    Situation(
        "an id that was handed out and is then refused for the size keeps its timer, which removes"
        " nobody",
        "GroupMetadataManager.classicGroupJoinToClassicGroup, expireClassicGroupMemberHeartbeat",
        [
            does(JoinGroup(**LONG), 79, member="m1"),
            does(JoinGroup(), 79, member="m2"),
            does(JoinGroup(member="m1", **LONG), name="join"),
            does(
                JoinGroup(member="m2"),
                81,
                member="",
                group={
                    "pending_join": (),
                    "timers": {"heartbeat-g-m1": 300_000, "heartbeat-g-m2": 10_000, "join-g": 3000},
                },
            ),
            does(Advance(ms=3000), releases={"join": answer_of(0, generation=1, leader="m1")}),
            does(
                Advance(ms=7000),
                group={
                    "state": "CompletingRebalance",
                    "members": ("m1",),
                    "timers": {"heartbeat-g-m1": 53_000, "sync-g": 23_000},
                },
            ),
        ],
        Reset(config={"group.max.size": 1}),
    ),
    Situation(
        "in a round that newcomers have filled, a member that comes late is refused and removed",
        "GroupMetadataManager.acceptJoiningMember; KIP-389",
        [
            *stable(2, **LONG),
            does(JoinGroup(member="m1", **LONG)),
            does(JoinGroup(version=3, **LONG), name="newcomer"),
            does(
                JoinGroup(member="m2", **LONG),
                81,
                member="",
                group={"state": "PreparingRebalance", "members": ("m1", "m3")},
            ),
            # All members wait now. The first JoinGroup of m1 has lost its place to the second.
            does(
                JoinGroup(member="m1", **LONG),
                0,
                generation=2,
                releases={"newcomer": answer_of(0, generation=2)},
            ),
        ],
        Reset(config={"group.max.size": 2}),
    ),
    Situation(
        "the round waits for the longest rebalance timeout, each session has its own length",
        "ClassicGroup.rebalanceTimeoutMs; KIP-62",
        [
            does(
                JoinGroup(version=3, session_timeout_ms=7000, rebalance_timeout_ms=20_000), name="1"
            ),
            does(
                JoinGroup(version=3, session_timeout_ms=9000, rebalance_timeout_ms=50_000), name="2"
            ),
            does(
                JoinGroup(version=3, session_timeout_ms=8000, rebalance_timeout_ms=40_000), name="3"
            ),
            does(
                Advance(ms=6000),
                releases={"1": answer_of(0), "2": answer_of(0), "3": answer_of(0)},
                group={
                    "timers": {
                        "heartbeat-g-m1": 7000,
                        "heartbeat-g-m2": 9000,
                        "heartbeat-g-m3": 8000,
                        "sync-g": 50_000,
                    }
                },
            ),
            does(
                JoinGroup(
                    member="m2",
                    session_timeout_ms=30_000,
                    rebalance_timeout_ms=10_000,
                    topics=("u",),
                ),
                group={
                    "timers": {
                        "heartbeat-g-m1": 7000,
                        "heartbeat-g-m2": 9000,
                        "heartbeat-g-m3": 8000,
                        "join-g": 40_000,
                    }
                },
            ),
        ],
    ),
    Situation(
        "the first delay is extended until the first member's rebalance timeout, not that of later"
        " ones",
        "GroupMetadataManager.prepareRebalance, tryCompleteInitialRebalanceElseSchedule; KIP-134",
        [
            does(JoinGroup(version=3, rebalance_timeout_ms=4000), name="1"),
            does(JoinGroup(version=3, rebalance_timeout_ms=60_000), name="2"),
            does(
                Advance(ms=3000),
                group={
                    "timers": {
                        "heartbeat-g-m1": 297_000,
                        "heartbeat-g-m2": 297_000,
                        "join-g": 1000,
                    }
                },
            ),
            does(JoinGroup(version=3), name="3", group={"new_member_added": True}),
            does(
                Advance(ms=1000),
                releases={name: answer_of(0, generation=1) for name in ("1", "2", "3")},
                group={"state": "CompletingRebalance", "new_member_added": True},
            ),
        ],
    ),
    Situation(
        "a newcomer without an id is told one although its new group cannot be logged and is gone",
        "GroupMetadataManager.classicGroupJoinToClassicGroup",
        [
            does(FailAppends()),
            does(JoinGroup(), 79, member="m1", group={"kind": "none"}),
            does(JoinGroup(member="m1"), 25, member="m1"),
            # The timer of the id finds no group.
            does(Advance(ms=10_000), log=()),
        ],
    ),
    Situation(
        "a parked newcomer is answered with an error if its new group cannot be logged",
        "GroupMetadataManager.classicGroupJoinToClassicGroup; Errors.COORDINATOR_NOT_AVAILABLE",
        [
            does(FailAppends()),
            does(JoinGroup(version=3), 15, group={"kind": "none"}),
            # The timer of the round finds no group.
            does(Advance(ms=3000), log=()),
            does(JoinGroup(), 79, group={"state": "Empty", "generation": 0}),
        ],
    ),
    Situation(
        "the timer of an id finds its group deleted",
        "GroupMetadataManager.expireClassicGroupMemberHeartbeat",
        [
            does(JoinGroup(), 79, member="m1"),
            does(DeleteGroups(), 0, group={"kind": "none"}, log=(("deleted group",),)),
            does(Advance(ms=10_000), log=(), group={"kind": "none"}),
        ],
    ),
    Situation(
        "an id that expires ends a first round in which all others wait",
        "GroupMetadataManager.removePendingMemberAndUpdateClassicGroup",
        [
            does(JoinGroup(session_timeout_ms=2000), 79, member="m1"),
            does(JoinGroup(session_timeout_ms=4000), 79, member="m2"),
            does(JoinGroup(version=3, **LONG), name="join"),
            does(Advance(ms=2000), group={"state": "PreparingRebalance", "pending_join": ("m2",)}),
            does(
                Advance(ms=2000),
                releases={"join": answer_of(0, generation=1, leader="m3", members=("m3",))},
            ),
        ],
        Reset(config={"group.initial.rebalance.delay.ms": 20_000}),
    ),
    Situation(
        "an id that expires in a Stable group starts nothing",
        "GroupMetadataManager.removePendingMemberAndUpdateClassicGroup",
        [
            *stable(1, **LONG),
            does(JoinGroup(), 79, member="m2"),
            does(Advance(ms=10_000), group={"state": "Stable", "pending_join": ()}, log=()),
        ],
    ),
    Situation(
        "a session that ends in a round removes the member; the round ends once all others wait",
        "GroupMetadataManager.removeMemberAndUpdateClassicGroup",
        [
            *stable(3),
            does(Advance(ms=5000)),
            does(Heartbeat(member="m3", generation=1), 0),
            does(JoinGroup(member="m1"), name="join"),
            does(Advance(ms=5000), group={"state": "PreparingRebalance", "members": ("m1", "m3")}),
            does(
                Advance(ms=5000),
                releases={"join": answer_of(0, generation=2, leader="m1", members=("m1",))},
            ),
        ],
    ),
    Situation(
        "the session of a member whose JoinGroup or SyncGroup waits does not end",
        "ClassicGroupMember.hasSatisfiedHeartbeat",
        [
            *stable(2, rebalance_timeout_ms=60_000),
            does(JoinGroup(member="m1", rebalance_timeout_ms=60_000), name="join"),
            does(Advance(ms=9000)),
            does(Heartbeat(member="m2", generation=1), 27),
            does(
                Advance(ms=1000),
                group={
                    "members": ("m1", "m2"),
                    "timers": {"heartbeat-g-m2": 9000, "join-g": 50_000},
                },
            ),
            does(
                JoinGroup(member="m2", rebalance_timeout_ms=60_000),
                0,
                releases={"join": answer_of(0, generation=2)},
            ),
            does(SyncGroup(member="m2", generation=2), name="sync"),
            does(Advance(ms=9000)),
            does(Heartbeat(member="m1", generation=2), 0),
            does(
                Advance(ms=1000),
                group={
                    "state": "CompletingRebalance",
                    "timers": {"heartbeat-g-m1": 9000, "sync-g": 50_000},
                },
            ),
            does(
                SyncGroup(member="m1", generation=2, assignments={"m2": {"t": [0]}}),
                0,
                assigned=None,
                releases={"sync": answer_of(0, assigned=frozenset({("t", 0)}))},
                group={"timers": {"heartbeat-g-m1": 10_000, "heartbeat-g-m2": 10_000}},
            ),
        ],
    ),
    Situation(
        "a group whose subscriptions cannot be read works all the same",
        "ClassicGroup.computeSubscribedTopics",
        [
            does(JoinGroup(version=3, raw={"range": ""}), name="join"),
            does(
                Advance(ms=3000),
                releases={"join": answer_of(0, generation=1, members=("m1",))},
                group={"state": "CompletingRebalance"},
            ),
        ],
    ),
    Situation(
        "an id that was handed out holds up a round that began with members",
        "ClassicGroup.hasAllMembersJoined; GroupMetadataManager.maybeCompleteJoinPhase",
        [
            *stable(1, **LONG),
            does(JoinGroup(session_timeout_ms=5000), 79, member="m2"),
            does(JoinGroup(member="m1", **LONG), name="join"),
            does(JoinGroup(), 79, member="m3"),
            does(JoinGroup(member="m3"), name="other", group={"awaiting_join": 2}),
            does(
                Advance(ms=5000),
                releases={
                    "join": answer_of(0, generation=2, members=("m1", "m3")),
                    "other": answer_of(0, generation=2),
                },
            ),
        ],
    ),
    Situation(
        "members of a first round that list other protocols are let in while one is common",
        "ClassicGroup.supportsProtocols",
        [
            *joining(1, **BOTH),
            does(JoinGroup(version=3, protocols=("sticky",)), name="sticky"),
            does(JoinGroup(version=3, protocols=("range",)), 23),
            does(
                Advance(ms=6000),
                releases={
                    "join of m1": answer_of(0, protocol="sticky", members=("m1", "m2")),
                    "sticky": answer_of(0, protocol="sticky"),
                },
            ),
        ],
    ),
)
