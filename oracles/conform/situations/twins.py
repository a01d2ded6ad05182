"""Two processes with the same instance id at the same time (KIP-345): the later one has the place,
and what the earlier one hears.
"""

from __future__ import annotations

from groupcheck.oracles.conform.situations.groups import T0
from groupcheck.oracles.conform.situations.situation import Situation, answer_of, does
from groupcheck.oracles.conform.situations.static_members import joins, one, syncs, two
from groupcheck.oracles.kafka.commands import (
    Advance,
    FailOver,
    Heartbeat,
    LeaveGroup,
    OffsetCommit,
    SyncGroup,
)

FENCING = "ClassicGroup.validateMember; protocol.md 5, C13"

TWINS = (
    Situation(
        "of two living processes with one instance id the later one has the share, and whatever the"
        " earlier one asks is answered 82",
        FENCING,
        [
            *one(),
            does(joins(1), 0, generation=1, member="m2", group={"members": ("m2",)}),
            does(syncs(1, "m2", 1), 0, assigned=frozenset({T0})),
            does(Heartbeat(member="m1", instance="i1", generation=1), 82),
            does(syncs(1, "m1", 1), 82),
            does(OffsetCommit(member="m1", instance="i1", generation=1, offsets={"t": {0: 1}}), 82),
            does(joins(1, "m1"), 82),
            does(Heartbeat(member="m2", instance="i1", generation=1), 0),
        ],
    ),
    Situation(
        "an id that was replaced and that comes without its instance id is unknown (25), as if it"
        " had never been there",
        FENCING,
        [
            *one(),
            does(joins(1), 0, generation=1, member="m2"),
            does(Heartbeat(member="m1", generation=1), 25),
            does(SyncGroup(member="m1", generation=1), 25),
            does(OffsetCommit(member="m1", generation=1, offsets={"t": {0: 1}}), 25),
            does(LeaveGroup(member="m1"), 0, members=(25,)),
            does(Heartbeat(member="m2", instance="i1", generation=1), 0),
        ],
    ),
    Situation(
        "of two processes with one instance id that join the same round the earlier one is answered"
        " 82 at once, and the group has one member",
        "ClassicGroup.replaceStaticMember; protocol.md 5, C13",
        [
            does(joins(1), name="join of the first"),
            does(
                joins(1),
                name="join of the second",
                releases={"join of the first": answer_of(82)},
                group={"state": "PreparingRebalance", "members": ("m2",)},
            ),
            does(
                Advance(ms=3000),
                releases={
                    "join of the second": answer_of(0, generation=1, leader="m2", member="m2")
                },
            ),
        ],
    ),
    Situation(
        "a process with the instance id of one that waits in SyncGroup starts the round anew, and"
        " the one that waits is answered 82",
        "GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin; KAFKA-9801",
        [
            *two(),
            does(syncs(2, "m2", 1), name="sync of i2"),
            does(
                joins(2),
                name="join of the second",
                releases={"sync of i2": answer_of(82)},
                group={"state": "PreparingRebalance", "members": ("m1", "m3")},
            ),
            does(Heartbeat(member="m1", instance="i1", generation=1), 27),
        ],
    ),
    Situation(
        "the two processes take the place from each other as often as they start, and no round"
        " begins",
        FENCING,
        [
            *one(),
            does(joins(1), 0, generation=1, member="m2"),
            does(joins(1), 0, generation=1, member="m3"),
            does(Heartbeat(member="m2", instance="i1", generation=1), 82),
            does(joins(1), 0, generation=1, member="m4"),
            does(
                Heartbeat(member="m3", instance="i1", generation=1),
                82,
                group={"state": "Stable", "generation": 1, "members": ("m4",)},
            ),
        ],
    ),
    Situation(
        "a fail-over keeps the later of two processes with one instance id, once it was answered",
        "KAFKA-10284; GroupMetadataManager.replay",
        [
            *one(),
            does(joins(1), 0, generation=1, member="m2"),
            does(FailOver(), group={"state": "Stable", "generation": 1, "members": ("m2",)}),
            does(Heartbeat(member="m1", instance="i1", generation=1), 82),
            does(Heartbeat(member="m2", instance="i1", generation=1), 0),
        ],
    ),
)
