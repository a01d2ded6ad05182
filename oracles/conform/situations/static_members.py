"""Static members (KIP-345): what a process that comes back costs the group, and what the leader is
told of a member that stays away.
"""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.conform.situations.groups import T0
from groupcheck.oracles.conform.situations.situation import Does, Situation, answer_of, does
from groupcheck.oracles.kafka.commands import (
    Advance,
    AutoCommit,
    FailOver,
    Fire,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    Reset,
    SyncGroup,
)

LONG: dict[str, Any] = {"session_timeout_ms": 60_000}
NOTHING: frozenset[Any] = frozenset()


def joins(k: int, member: str = "", **more: Any) -> JoinGroup:
    """The JoinGroup of the process with instance id i<k>."""
    return JoinGroup(member=member, instance=f"i{k}", **{**LONG, **more})


def syncs(k: int, member: str, generation: int, **more: Any) -> SyncGroup:
    return SyncGroup(member=member, instance=f"i{k}", generation=generation, **more)


def two(**join: Any) -> list[Does]:
    """Static members m1, the leader, and m2 in generation 1; none has synced."""
    return [
        does(joins(1, **join), name="join of i1"),
        does(joins(2, **join), name="join of i2"),
        does(
            Advance(ms=6000),
            releases={
                "join of i1": answer_of(0, generation=1, leader="m1", member="m1"),
                "join of i2": answer_of(0, generation=1, leader="m1", member="m2"),
            },
        ),
    ]


def one() -> list[Does]:
    """A Stable group of the static member m1, which has t-0 and claimed nothing when it joined."""
    return [
        does(joins(1), name="join of i1"),
        does(Advance(ms=3000), releases={"join of i1": answer_of(0, generation=1, member="m1")}),
        does(syncs(1, "m1", 1, assignments={"m1": {"t": [0]}}), 0, assigned=frozenset({T0})),
    ]


def joined() -> list[Does]:
    """`one`, and the static member m2 has joined: m1 leads generation 2 and claims t-0."""
    return [
        *one(),
        does(joins(2), name="join of i2"),
        does(
            joins(1, "m1", owned=(T0,), owned_generation=1),
            0,
            generation=2,
            leader="m1",
            claims={"m1": (frozenset({T0}), 1), "m2": (NOTHING, -1)},
            releases={"join of i2": answer_of(0, generation=2)},
        ),
    ]


STATIC_MEMBERS = (
    Situation(
        "a static member that comes back with more topics starts no round",
        "GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin; protocol.md 7.8, K5",
        [
            *one(),
            does(
                joins(1, topics=("t", "u")),
                0,
                generation=1,
                member="m2",
                group={"state": "Stable", "generation": 1, "members": ("m2",)},
            ),
            does(syncs(1, "m2", 1), 0, assigned=frozenset({T0})),
        ],
    ),
    Situation(
        "a static member that comes back to a full group is refused with 81",
        "GroupMetadataManager.acceptJoiningMember; KIP-389; protocol.md 7.8, K6",
        [
            *one(),
            does(joins(1), 81),
            does(Heartbeat(member="m1", instance="i1", generation=1), 0),
        ],
        Reset(config={"group.max.size": 1}),
    ),
    Situation(
        "a static member that comes back before its old id has synced costs a round later, even"
        " if the new id has synced",
        "ClassicGroup.replaceStaticMember; protocol.md 7.8, K7",
        [
            *two(),
            does(syncs(1, "m1", 1, assignments={"m1": {"t": [0]}, "m2": {"t": [1]}}), 0),
            does(joins(2), 0, generation=1, member="m3"),
            does(syncs(2, "m3", 1), 0, assigned=frozenset({("t", 1)})),
            does(
                Fire(timer="sync-g"),
                group={"state": "PreparingRebalance", "members": ("m1", "m3")},
            ),
            does(Heartbeat(member="m1", instance="i1", generation=1), 27),
        ],
    ),
    Situation(
        "the leader is told the last subscription of a static member that did not join, which"
        " does not name what the member has been given since",
        "ClassicGroup.currentClassicGroupMembers; protocol.md 7.2, C3",
        [
            *one(),
            does(joins(2), name="join of i2"),
            does(
                Fire(timer="join-g"),
                releases={
                    "join of i2": answer_of(
                        0,
                        generation=2,
                        leader="m2",
                        member="m2",
                        claims={"m1": (NOTHING, -1), "m2": (NOTHING, -1)},
                    )
                },
                group={"generation": 2, "members": ("m1", "m2")},
            ),
            does(syncs(2, "m2", 2, assignments={"m2": {"t": [0]}}), 0, assigned=frozenset({T0})),
            does(
                joins(1, "m1", owned=(T0,), owned_generation=1),
                group={"state": "PreparingRebalance"},
            ),
        ],
    ),
    Situation(
        "a fail-over undoes a generation; another one of the same number is formed while a static"
        " member of the first one stays away, and the leader does not learn what that owns",
        "GroupMetadataManager.onLoaded; protocol.md 7.2, C3; 7.8, K8",
        [
            *joined(),
            does(AutoCommit(on=False)),
            does(syncs(1, "m1", 2, assignments={"m1": {"t": [0]}, "m2": {}})),
            does(FailOver(), group={"state": "Stable", "generation": 1, "members": ("m1",)}),
            does(AutoCommit(on=True)),
            does(joins(3), name="join of i3"),
            does(
                Fire(timer="join-g"),
                releases={
                    "join of i3": answer_of(
                        0,
                        generation=2,
                        member="m3",
                        claims={"m1": (NOTHING, -1), "m3": (NOTHING, -1)},
                    )
                },
            ),
            does(syncs(3, "m3", 2, assignments={"m3": {"t": [0]}}), 0, assigned=frozenset({T0})),
            does(
                joins(1, "m1", owned=(T0,), owned_generation=2),
                group={"state": "PreparingRebalance", "members": ("m1", "m3")},
            ),
        ],
    ),
    Situation(
        "what the leader has withheld from a static member belongs to nobody if the member comes"
        " back before it heard of that",
        "GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin; KIP-429; protocol.md"
        " 7.3, L5",
        [
            *joined(),
            does(syncs(1, "m1", 2, assignments={"m1": {}, "m2": {}}), 0, assigned=NOTHING),
            does(joins(1), 0, generation=2, member="m3", group={"state": "Stable"}),
            does(syncs(1, "m3", 2), 0, assigned=NOTHING),
            does(
                syncs(2, "m2", 2),
                0,
                assigned=NOTHING,
                group={"state": "Stable", "assigned": {"m2": NOTHING, "m3": NOTHING}},
            ),
            does(Heartbeat(member="m3", instance="i1", generation=2), 0),
            does(Heartbeat(member="m2", instance="i2", generation=2), 0),
        ],
    ),
    Situation(
        "a round that no static member joins goes on until their sessions expire",
        "GroupMetadataManager.completeClassicGroupJoin; protocol.md 7.3, L2",
        [
            *one(),
            does(joins(2), name="join of i2"),
            does(
                LeaveGroup(instance="i2"),
                0,
                releases={"join of i2": answer_of(25)},
                group={"state": "PreparingRebalance", "members": ("m1",)},
            ),
            does(Fire(timer="join-g"), group={"state": "PreparingRebalance", "generation": 1}),
            does(Heartbeat(member="m1", instance="i1", generation=1), 27),
            does(Fire(timer="join-g"), group={"state": "PreparingRebalance", "generation": 1}),
            does(
                Fire(timer="heartbeat-g-m1"),
                group={"state": "Empty", "generation": 2, "members": ()},
            ),
        ],
    ),
)
