"""How offsets expire, and go with their topic."""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.conform.situations.groups import at, joined, stable
from groupcheck.oracles.conform.situations.situation import Does, Situation, does
from groupcheck.oracles.kafka.commands import (
    Advance,
    EndTxn,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    Reset,
    SetTopics,
    SyncGroup,
    TxnOffsetCommit,
)

LONG: dict[str, Any] = {"session_timeout_ms": 1_800_000}
HOUR_MS, SWEEP_MS = 3_600_000, 600_000
KEPT_AN_HOUR = Reset(config={"offsets.retention.minutes": 60})


def beating(code: int, times: int, member: str = "m1") -> list[Does]:
    """Twenty minutes pass, in which nothing is logged, and a member heartbeats; so many times."""
    passes = does(Advance(ms=2 * SWEEP_MS), log=())
    return [passes, does(Heartbeat(member=member, generation=1), code)] * times


EXPIRING = (
    Situation(
        "the offsets of an Empty group stay for their retention after it became Empty",
        "ClassicGroup.offsetExpirationCondition; KIP-211; protocol.md 7.3, L8",
        [
            *stable(1, **LONG),
            does(OffsetCommit(member="m1", generation=1, offsets=at(5)), 0),
            does(Advance(ms=2 * SWEEP_MS)),
            does(LeaveGroup(member="m1"), 0),
            does(Advance(ms=HOUR_MS - SWEEP_MS), group={"state": "Empty"}),
            does(
                Advance(ms=2 * SWEEP_MS),
                group={"kind": "none"},
                log=(("offset", "t", 0, None), ("deleted group",)),
            ),
        ],
        KEPT_AN_HOUR,
    ),
    Situation(
        "in a Stable group the offsets of topics that nobody subscribes to expire",
        "ClassicGroup.offsetExpirationCondition; KIP-211",
        [
            *stable(1, **LONG),
            does(OffsetCommit(member="m1", generation=1, offsets=(*at(5), ("u", 0, 6))), 0),
            *beating(0, 3),
            does(
                Advance(ms=2 * SWEEP_MS), group={"state": "Stable"}, log=(("offset", "u", 0, None),)
            ),
            does(OffsetFetch(), 0, offsets=at(5)),
        ],
        KEPT_AN_HOUR,
    ),
    Situation(
        "nothing expires in a group of consumers whose subscriptions cannot be read",
        "ClassicGroup.offsetExpirationCondition, computeSubscribedTopics; KIP-211",
        [
            *joined(1, **LONG, raw={"range": ""}),
            does(SyncGroup(member="m1", generation=1), 0),
            does(OffsetCommit(member="m1", generation=1, offsets=(("u", 0, 6),)), 0),
            *beating(0, 4),
        ],
        KEPT_AN_HOUR,
    ),
    Situation(
        "nothing expires while a round runs, or in a group of another protocol type",
        "ClassicGroup.offsetExpirationCondition; KIP-211",
        [
            *joined(1, **LONG, rebalance_timeout_ms=20_000_000, type="connect"),
            does(SyncGroup(member="m1", generation=1), 0),
            does(OffsetCommit(member="m1", generation=1, offsets=at(5)), 0),
            *beating(0, 4),
            does(OffsetFetch(), 0, offsets=at(5)),
        ],
        KEPT_AN_HOUR,
    ),
    Situation(
        "offsets of consumers do not expire while a round is prepared",
        "ClassicGroup.offsetExpirationCondition; KIP-211",
        [
            *stable(2, **LONG, rebalance_timeout_ms=20_000_000),
            does(OffsetCommit(member="m1", generation=1, offsets=(("u", 0, 6),)), 0),
            does(JoinGroup(member="m1", **LONG, rebalance_timeout_ms=20_000_000)),
            *beating(27, 4, "m2"),
            does(Advance(ms=SWEEP_MS), log=(), group={"state": "PreparingRebalance"}),
        ],
        KEPT_AN_HOUR,
    ),
    Situation(
        "a group without a protocol type keeps each offset for its own retention",
        "ClassicGroup.offsetExpirationCondition; KIP-211",
        [
            does(OffsetCommit(offsets=at(5)), 0),
            does(Advance(ms=HOUR_MS // 2)),
            does(OffsetCommit(offsets=at(6, 1)), 0),
            does(
                Advance(ms=HOUR_MS // 2 + SWEEP_MS),
                group={"state": "Empty"},
                log=(("offset", "t", 0, None),),
            ),
            does(
                Advance(ms=HOUR_MS // 2),
                group={"kind": "none"},
                log=(("offset", "t", 1, None), ("deleted group",)),
            ),
        ],
        KEPT_AN_HOUR,
    ),
    Situation(
        "an offset with a retention of its own, as up to version 4, expires by that",
        "OffsetMetadataManager.expireTimestampMs; OffsetExpirationConditionImpl",
        [
            does(OffsetCommit(offsets=at(5), retention_ms=2 * SWEEP_MS, version=4), 0),
            does(Advance(ms=SWEEP_MS), group={"state": "Empty"}),
            does(Advance(ms=2 * SWEEP_MS), group={"kind": "none"}),
        ],
    ),
    Situation(
        "an offset that an open transaction is about to replace stays, and its group stays",
        "OffsetMetadataManager.cleanupExpiredOffsets",
        [
            does(OffsetCommit(offsets=at(5)), 0),
            does(TxnOffsetCommit(offsets=at(6)), 0),
            does(Advance(ms=HOUR_MS + SWEEP_MS), group={"state": "Empty"}, log=()),
            does(EndTxn(commit=False), 0),
            does(
                Advance(ms=SWEEP_MS),
                group={"kind": "none"},
                log=(("offset", "t", 0, None), ("deleted group",)),
            ),
        ],
        KEPT_AN_HOUR,
    ),
    Situation(
        "a group that has nothing but an open transaction stays",
        "OffsetMetadataManager.cleanupExpiredOffsets",
        [
            does(TxnOffsetCommit(offsets=at(6)), 0),
            does(Advance(ms=HOUR_MS + SWEEP_MS), group={"state": "Empty"}, log=()),
            does(OffsetCommit(offsets=at(5, 1)), 0),
            does(Advance(ms=HOUR_MS + SWEEP_MS), group={"state": "Empty"}),
        ],
        KEPT_AN_HOUR,
        since="4.1.1",
    ),
    Situation(
        "a group whose transaction OffsetDelete has emptied goes with its last offset",
        "OffsetMetadataManager.replay, replayEndTransactionMarker; KAFKA-19164",
        [
            does(TxnOffsetCommit(offsets=at(6)), 0),
            does(OffsetDelete(), 0),
            does(OffsetCommit(offsets=at(5)), 0),
            does(EndTxn(commit=True), 0),
            does(
                Advance(ms=HOUR_MS),
                group={"kind": "none"},
                log=(("offset", "t", 0, None), ("deleted group",)),
            ),
        ],
        KEPT_AN_HOUR,
        # Before, the transaction counted as open for ever, and the group stayed until the next
        # sweep, which found no offset.
        since="4.1.1",
    ),
    Situation(
        "the offsets of a deleted topic go with it, those of open transactions, too",
        "OffsetMetadataManager.onTopicsDeleted; KAFKA-19862",
        [
            does(OffsetCommit(offsets=(*at(5), ("u", 0, 6))), 0),
            does(OffsetCommit(offsets=at(7, 1), topic_ids={"t": ""}), 0),
            does(OffsetCommit(group="h", offsets=at(8), topic_ids={"t": "u"}), 0),
            does(OffsetCommit(group="i", offsets=(("u", 0, 4),)), 0),
            does(TxnOffsetCommit(offsets=(("t", 2, 9),)), 0),
            does(
                SetTopics(topics={"u": 1}),
                log=(("offset", "t", 0, None), ("offset", "t", 1, None), ("offset", "t", 2, None)),
            ),
            does(OffsetFetch(topics=None), 0, offsets=(("u", 0, 6),)),
            # This one was committed for another topic of that name.
            does(OffsetFetch(group="h", topics=None), 0, offsets=at(8)),
        ],
        Reset(topics={"t": 3, "u": 1}),
        # Before, whatever was committed for a topic of that name.
        since="4.3.0",
    ),
)
