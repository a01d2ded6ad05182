"""A static member that comes back without its id: what it and its group meet in each state, and
what becomes of the process that had the old id (KIP-345, protocol.md 1.6.3).
"""

from __future__ import annotations

from groupcheck.oracles.conform.situations.groups import T0
from groupcheck.oracles.conform.situations.situation import Situation, answer_of, does
from groupcheck.oracles.conform.situations.static_members import joins, one, syncs, two
from groupcheck.oracles.kafka.commands import (
    AutoCommit,
    FailAppends,
    Fire,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
)

TAKEOVER = "GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin"

TAKEOVERS = (
    Situation(
        "a static member that comes back while the group waits for the plan restarts the round",
        f"{TAKEOVER}; KAFKA-9801",
        [
            *two(),
            does(syncs(2, "m2", 1), name="sync of m2"),
            does(
                joins(2),
                name="join of m3",
                releases={"sync of m2": answer_of(82)},
                group={"state": "PreparingRebalance", "members": ("m1", "m3")},
                log=(),
            ),
        ],
    ),
    Situation(
        "a static member that comes back while a round runs takes part in it, and completes it if"
        " it was missing",
        f"{TAKEOVER}; ClassicGroup.replaceStaticMember",
        [
            *two(),
            does(joins(2), name="join of m3", group={"state": "PreparingRebalance"}),
            does(
                joins(2),
                name="join of m4",
                releases={"join of m3": answer_of(82)},
                group={"state": "PreparingRebalance", "members": ("m1", "m4")},
            ),
            does(
                joins(1),
                0,
                generation=2,
                leader="m5",
                member="m5",
                members=("m4", "m5"),
                releases={"join of m4": answer_of(0, generation=2, leader="m5", member="m4")},
                group={"state": "CompletingRebalance", "leader": "m5"},
            ),
        ],
    ),
    Situation(
        "a static member that comes back with another assignor is refused with 23, because its old"
        " id does not list that one, even if it is the only member",
        "GroupMetadataManager.classicGroupJoinToClassicGroup; ClassicGroup.supportsProtocols",
        [
            *one(),
            does(
                joins(1, protocols=("roundrobin",)),
                23,
                group={"state": "Stable", "members": ("m1",)},
            ),
            does(Heartbeat(member="m1", instance="i1", generation=1), 0),
        ],
    ),
    Situation(
        "a static member that comes back and prefers another assignor starts a round",
        f"{TAKEOVER}; ClassicGroup.selectProtocol",
        [
            *one(),
            does(
                joins(1, protocols=("roundrobin", "range")),
                0,
                generation=2,
                leader="m2",
                member="m2",
                protocol="roundrobin",
                group={"state": "CompletingRebalance", "members": ("m2",)},
                log=(),
            ),
        ],
    ),
    Situation(
        "below version 9 of JoinGroup, a leader that comes back is told that its old id leads",
        f"{TAKEOVER}; KIP-814; KAFKA-13435",
        [
            *one(),
            does(
                joins(1, version=8),
                0,
                generation=1,
                leader="m1",
                member="m2",
                members=(),
                skip_assignment=False,
                group={"state": "Stable", "leader": "m2"},
            ),
        ],
    ),
    Situation(
        "from version 9 of JoinGroup on, a leader that comes back leads and makes no plan",
        f"{TAKEOVER}; KIP-814; KAFKA-13435",
        [
            *one(),
            does(
                joins(1),
                0,
                generation=1,
                leader="m2",
                member="m2",
                members=("m2",),
                skip_assignment=True,
                group={"state": "Stable", "leader": "m2"},
                log=(("group", 1, "m2", ("m2",)),),
            ),
        ],
    ),
    Situation(
        "a takeover whose record is not appended is refused, and the old id stays",
        f"{TAKEOVER}; KAFKA-10284",
        [
            *one(),
            does(FailAppends()),
            does(
                joins(1),
                15,
                member="",
                generation=1,
                leader="m1",
                group={"state": "Stable", "members": ("m1",), "leader": "m1"},
                log=(),
            ),
            does(Heartbeat(member="m1", instance="i1", generation=1), 0),
        ],
    ),
    Situation(
        "a takeover whose append times out once a round has answered it gives the old id back, and"
        " fences the process that lives",
        f"{TAKEOVER}; FINDINGS.md, 23",
        [
            *two(),
            does(syncs(1, "m1", 1, assignments={"m1": {"t": [0]}, "m2": {"t": [1]}}), 0),
            does(syncs(2, "m2", 1), 0),
            does(AutoCommit(on=False)),
            does(joins(2), name="join of m3", group={"state": "Stable"}),
            does(
                joins(1, "m1", topics=("t", "u")),
                0,
                generation=2,
                releases={"join of m3": answer_of(0, generation=2, member="m3")},
                group={"state": "CompletingRebalance", "members": ("m1", "m3")},
            ),
            does(Fire(timer="append-7"), group={"members": ("m1", "m2")}),
            does(Heartbeat(member="m3", instance="i2", generation=2), 82),
        ],
    ),
    Situation(
        "the old id of a static member is answered 82 with its instance id, and 25 without it",
        "ClassicGroup.validateMember; protocol.md 7.2, C13",
        [
            *one(),
            does(joins(1), 0, member="m2"),
            does(Heartbeat(member="m1", instance="i1", generation=1), 82),
            does(syncs(1, "m1", 1), 82),
            does(OffsetCommit(member="m1", instance="i1", generation=1), 82),
            does(joins(1, "m1"), 82),
            does(LeaveGroup(member="m1", instance="i1"), 0, members=(82,)),
            does(Heartbeat(member="m1", generation=1), 25),
            does(OffsetCommit(member="m1", generation=1), 25),
            does(Heartbeat(member="m2", instance="i1", generation=1), 0),
        ],
    ),
    Situation(
        "an administrator removes a static member by its instance id; a round that no static member"
        " joins in time waits again",
        "GroupMetadataManager.completeClassicGroupJoin; protocol.md 1.9, 1.12",
        [
            *two(),
            does(syncs(1, "m1", 1, assignments={"m1": {"t": [0]}, "m2": {"t": [1]}}), 0),
            does(syncs(2, "m2", 1), 0),
            does(
                LeaveGroup(instance="i2"),
                0,
                members=(0,),
                group={"state": "PreparingRebalance", "generation": 1, "members": ("m1",)},
            ),
            does(
                Fire(timer="join-g"),
                group={"state": "PreparingRebalance", "generation": 1, "members": ("m1",)},
            ),
            does(
                joins(1, "m1", owned=(T0,), owned_generation=1),
                0,
                generation=2,
                member="m1",
            ),
        ],
    ),
    Situation(
        "an id that was handed out cannot be joined with an instance id",
        "GroupMetadataManager.classicGroupJoinExistingMember",
        [
            does(JoinGroup(), 79, member="m1"),
            does(JoinGroup(member="m1", instance="i1"), -1),
        ],
    ),
)
