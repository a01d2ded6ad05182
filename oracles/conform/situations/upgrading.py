"""A rolling upgrade from eager to cooperative rebalancing (KIP-429), as the coordinator sees it:
who is let in beside whom, and which assignor the group then has.
"""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.conform.situations.situation import Does, Situation, answer_of, does
from groupcheck.oracles.kafka.commands import (
    Advance,
    FailOver,
    Fire,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    SyncGroup,
)

STICKY = "cooperative-sticky"
OLD, BOTH, NEW = ("range",), (STICKY, "range"), (STICKY,)
DEFAULT = ("range", STICKY)  # what Kafka's consumer lists if nobody configures it
VOTE = "ClassicGroup.selectProtocol; KIP-429"
SUPPORT = "ClassicGroup.supportsProtocols; Errors.INCONSISTENT_GROUP_PROTOCOL; KIP-429"


def joins(listed: tuple[str, ...], member: str = "") -> JoinGroup:
    """The JoinGroup of a process that lists these assignors; in one step if it has no id."""
    return JoinGroup(
        member=member, protocols=listed, session_timeout_ms=60_000, version=5 if member else 3
    )


def begun(first: tuple[str, ...], second: tuple[str, ...], voted: str) -> list[Does]:
    """Members m1, the leader, and m2 in generation 1, with the assignor of the group."""
    return [
        does(joins(first), name="join of m1"),
        does(joins(second), name="join of m2"),
        does(
            Advance(ms=6000),
            releases={
                "join of m1": answer_of(0, leader="m1", member="m1", protocol=voted),
                "join of m2": answer_of(0, leader="m1", member="m2", protocol=voted),
            },
        ),
    ]


def stable(first: tuple[str, ...], second: tuple[str, ...], voted: str) -> list[Does]:
    """The same in a Stable group."""
    plan: dict[str, Any] = {"m1": {"t": [0]}, "m2": {"t": [1]}}
    return [
        *begun(first, second, voted),
        does(SyncGroup(member="m1", generation=1, assignments=plan), 0, protocol=voted),
        does(SyncGroup(member="m2", generation=1), 0, protocol=voted),
    ]


UPGRADING = (
    Situation(
        "one bounce: a process that lists cooperative-sticky alone is refused with 23 as long as a"
        " member lists range alone, and the group goes on",
        SUPPORT,
        [
            *stable(OLD, OLD, "range"),
            does(joins(NEW), 23, log=(), group={"state": "Stable", "members": ("m1", "m2")}),
            does(LeaveGroup(member="m2"), 0),
            does(joins(NEW), 23, group={"state": "PreparingRebalance", "members": ("m1",)}),
        ],
    ),
    Situation(
        "one bounce: once the last member with range is gone, the Empty group takes a process that"
        " lists cooperative-sticky alone, and then refuses one that lists range",
        SUPPORT,
        [
            *stable(OLD, OLD, "range"),
            does(LeaveGroup(member="m2"), 0),
            does(LeaveGroup(member="m1"), 0, group={"state": "Empty"}),
            does(joins(NEW), name="join of m3"),
            does(joins(OLD), 23),
            does(Advance(ms=3000), releases={"join of m3": answer_of(0, protocol=STICKY)}),
        ],
    ),
    Situation(
        "the first of two bounces: while one member lists range alone, the group has range,"
        " although the others prefer cooperative-sticky",
        VOTE,
        begun(BOTH, OLD, "range"),
    ),
    Situation(
        "between the two bounces all members list both, and the group has what most prefer",
        VOTE,
        begun(BOTH, BOTH, STICKY),
    ),
    Situation(
        "the second of two bounces: a member that lists cooperative-sticky alone makes the group"
        " have it, although the other one prefers range",
        VOTE,
        begun(DEFAULT, NEW, STICKY),
    ),
    Situation(
        "the second bounce cannot begin before the first one has ended: the process is refused with"
        " 23",
        SUPPORT,
        [
            *stable(BOTH, OLD, "range"),
            does(joins(NEW), 23, group={"state": "Stable", "members": ("m1", "m2")}),
            does(Heartbeat(member="m1", generation=1), 0),
        ],
    ),
    Situation(
        "after the first bounce a Stable group that has range takes a process that lists"
        " cooperative-sticky alone, and has that in the next generation",
        VOTE,
        [
            *stable(DEFAULT, DEFAULT, "range"),
            does(joins(NEW), name="join of m3", group={"state": "PreparingRebalance"}),
            does(
                Fire(timer="join-g"),
                releases={"join of m3": answer_of(0, protocol=STICKY, leader="m3")},
            ),
        ],
    ),
    Situation(
        "after a fail-over the same process is refused with 23 until the members have joined again,"
        " because a group record holds no assignor but the one that was voted for",
        "GroupMetadataManager.replay (GroupMetadataValue); KIP-429",
        [
            *stable(DEFAULT, DEFAULT, "range"),
            does(FailOver(), group={"state": "Stable", "members": ("m1", "m2")}),
            does(joins(NEW), 23, group={"state": "Stable"}),
            does(joins(DEFAULT, "m1"), name="rejoin of m1"),
            does(joins(NEW), 23),
            does(
                joins(DEFAULT, "m2"),
                0,
                releases={"rejoin of m1": answer_of(0, protocol="range")},
            ),
            does(joins(NEW), group={"members": ("m1", "m2", "m3")}),
        ],
    ),
)
