"""OffsetCommit, OffsetFetch, OffsetDelete, and transactions."""

from __future__ import annotations

from typing import Any

from groupcheck.oracles.conform.situations.groups import emptied, joining, stable
from groupcheck.oracles.conform.situations.situation import Does, Situation, does, told
from groupcheck.oracles.kafka.commands import (
    Advance,
    AutoCommit,
    CommitAppends,
    DeleteGroups,
    EndTxn,
    FailAppends,
    FailOver,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    Reset,
    SyncGroup,
    TxnOffsetCommit,
)

LONG: dict[str, Any] = {"session_timeout_ms": 1_800_000}
HOUR_MS, SWEEP_MS = 3_600_000, 600_000
KEPT_AN_HOUR = Reset(config={"offsets.retention.minutes": 60})
BOTH_PARTITIONS = {("t", 0), ("t", 1)}
LARGE = "x" * 4097  # offset.metadata.max.bytes is 4096


def at(number: int, partition: int = 0) -> tuple[tuple[str, int, int], ...]:
    """An offset of a partition of t."""
    return (("t", partition, number),)


def beating(code: int, times: int, member: str = "m1") -> list[Does]:
    """Twenty minutes pass, in which nothing is logged, and a member heartbeats; so many times."""
    passes = does(Advance(ms=2 * SWEEP_MS), log=())
    return [passes, does(Heartbeat(member=member, generation=1), code)] * times


OFFSETS = (
    Situation(
        "who commits as a member of a group that there is not is refused, by version",
        "OffsetMetadataManager.validateOffsetCommit; Errors.GROUP_ID_NOT_FOUND; KIP-848",
        [
            does(OffsetCommit(member="x", generation=1), 69, log=()),
            does(OffsetCommit(member="x", generation=1, version=8), 22, log=()),
            does(TxnOffsetCommit(member="x", generation=1), 22, group={"kind": "none"}),
        ],
    ),
    Situation(
        "a commit from outside makes a group without a protocol type",
        "OffsetMetadataManager.validateOffsetCommit, replay; ClassicGroup.isSimpleGroup",
        [
            does(
                OffsetCommit(offsets=at(5)),
                0,
                log=(("offset", "t", 0, 5),),
                group={"state": "Empty", "type": None, "generation": 0},
            ),
            does(OffsetCommit(member="x", generation=-1, offsets=at(6)), 0),
            does(OffsetCommit(member="x", generation=0), 25),
            does(OffsetFetch(), 0, offsets=at(6)),
            does(FailOver(), group={"state": "Empty", "type": None}),
            does(OffsetFetch(), 0, offsets=at(6)),
        ],
    ),
    Situation(
        "a transaction from outside makes a group without a protocol type",
        "OffsetMetadataManager.validateTransactionalOffsetCommit",
        [
            does(TxnOffsetCommit(group="", offsets=at(5)), 24),
            does(TxnOffsetCommit(offsets=at(5)), 0, group={"state": "Empty", "type": None}),
            does(EndTxn(), 0, log=(("end", True),)),
            does(OffsetFetch(), 0, offsets=at(5)),
        ],
    ),
    Situation(
        "a member commits with its id and generation, others do not",
        "ClassicGroup.validateOffsetCommit",
        [
            *stable(2),
            does(Advance(ms=1000)),
            does(OffsetCommit(), 25),
            does(OffsetCommit(member="x"), 25),
            does(OffsetCommit(instance="none"), 25),
            does(OffsetCommit(member="m1"), 22),
            does(OffsetCommit(member="m1", generation=2), 22),
            does(OffsetCommit(member="x", generation=1), 25),
            does(OffsetCommit(generation=1), 25),
            does(
                OffsetCommit(member="m1", generation=1, offsets=at(3)),
                0,
                log=(("offset", "t", 0, 3),),
                group={"timers": {"heartbeat-g-m1": 10_000, "heartbeat-g-m2": 9000}},
            ),
            # The coordinator does not know who owns what.
            does(OffsetCommit(member="m1", generation=1, offsets=at(9, 1)), 0),
            does(OffsetCommit(member="m1", generation=1, offsets=at(2)), 0),
            does(OffsetFetch(topics=BOTH_PARTITIONS), 0, offsets=(*at(2), *at(9, 1))),
        ],
    ),
    Situation(
        "a commit is accepted while a round is prepared, refused until its plan is written",
        "ClassicGroup.validateOffsetCommit; Errors.REBALANCE_IN_PROGRESS",
        [
            *stable(2),
            does(JoinGroup(member="m1"), name="join"),
            does(OffsetCommit(member="m2", generation=1), 0),
            does(JoinGroup(member="m2"), 0, releases={"join": told(0, generation=2)}),
            does(OffsetCommit(member="m2", generation=1), 22),
            does(OffsetCommit(member="m2", generation=2), 27),
            does(OffsetCommit(), 25),
            does(SyncGroup(member="m1", generation=2), 0),
            does(OffsetCommit(member="m2", generation=2), 0),
        ],
    ),
    Situation(
        "an Empty group accepts commits from outside only",
        "ClassicGroup.validateOffsetCommit",
        [
            *emptied(),
            does(OffsetCommit(member="m1", generation=2), 25),
            does(OffsetCommit(offsets=at(7)), 0),
            does(OffsetCommit(instance="none", offsets=at(8)), 0),
            does(OffsetFetch(), 0, offsets=at(8)),
        ],
    ),
    Situation(
        "metadata that are too long are refused for each partition; the others are committed",
        "OffsetMetadataManager.isMetadataInvalid; Errors.OFFSET_METADATA_TOO_LARGE",
        [
            does(OffsetCommit(metadata=LARGE), 12, log=(), errors=(("t", 0, 12),)),
            does(OffsetCommit(metadata=LARGE[1:]), 0),
            does(OffsetCommit(metadata=None, offsets=at(2)), 0, log=(("offset", "t", 0, 2),)),
            does(TxnOffsetCommit(metadata=LARGE), 12, log=()),
            does(TxnOffsetCommit(metadata=LARGE[1:]), 0),
        ],
    ),
    Situation(
        "a commit that cannot be logged is answered with the error and does not count",
        "CoordinatorOperationExceptionHelper.handleOperationException",
        [
            *stable(1),
            does(OffsetCommit(member="m1", generation=1, offsets=at(3)), 0),
            does(FailAppends()),
            does(OffsetCommit(member="m1", generation=1, offsets=at(4)), 15),
            does(FailAppends(error="NOT_LEADER_OR_FOLLOWER")),
            does(OffsetCommit(member="m1", generation=1, offsets=at(4)), 16),
            does(FailAppends(error="MESSAGE_TOO_LARGE")),
            # Not Errors.INVALID_COMMIT_OFFSET_SIZE (28): FINDINGS.md, 16.
            does(OffsetCommit(member="m1", generation=1, offsets=at(4)), -1),
            does(FailAppends(error="NOT_ENOUGH_REPLICAS")),
            does(TxnOffsetCommit(member="m1", generation=1, offsets=at(4)), 15),
            does(OffsetFetch(), 0, offsets=at(3)),
        ],
    ),
    Situation(
        "OffsetFetch of a group that there is not, or of a partition without offset, is -1",
        "OffsetMetadataManager.fetchOffsets, fetchAllOffsets",
        [
            does(OffsetFetch(), 0, offsets=at(-1)),
            does(OffsetFetch(topics=None), 0, offsets=()),
            does(OffsetFetch(topics=None, stable=False), 0, offsets=()),
            *joining(1),
            does(OffsetFetch(topics=None), 0, offsets=()),
            does(OffsetFetch(), 0, offsets=at(-1)),
            does(OffsetCommit(member="m1", generation=0, offsets=at(5)), 0),
            does(
                OffsetFetch(topics={("t", 0), ("t", 1), ("u", 0)}),
                0,
                offsets=(("t", 0, 5), ("t", 1, -1), ("u", 0, -1)),
            ),
            does(OffsetFetch(topics=None), 0, offsets=at(5)),
            does(OffsetFetch(member="x", generation=77), 0, offsets=at(5)),
        ],
    ),
    Situation(
        "OffsetFetch knows the topic by its id where both sides have one",
        "OffsetMetadataManager.isMismatchedTopicId; KIP-848",
        [
            does(OffsetCommit(offsets=at(5)), 0),
            does(OffsetFetch(topic_ids={"t": "u"}), 0, offsets=at(-1)),
            does(OffsetFetch(topic_ids={"t": ""}), 0, offsets=at(5)),
            does(OffsetFetch(), 0, offsets=at(5)),
            does(OffsetCommit(offsets=at(6), topic_ids={"t": ""}), 0),
            does(OffsetFetch(topic_ids={"t": "u"}), 0, offsets=at(6)),
        ],
        since="4.1.1",
    ),
    Situation(
        "a stable fetch waits for commits that are being replicated, another one does not see them",
        "GroupCoordinatorService.fetchOffsets; KIP-447",
        [
            *stable(1),
            does(AutoCommit(on=False)),
            does(OffsetCommit(member="m1", generation=1, offsets=at(5)), name="commit"),
            does(OffsetFetch(), name="stable"),
            does(OffsetFetch(topics=None), name="all"),
            does(OffsetFetch(stable=False), 0, offsets=at(-1)),
            does(
                CommitAppends(),
                releases={
                    "commit": told(0),
                    "stable": told(0, offsets=at(5)),
                    "all": told(0, offsets=at(5)),
                },
            ),
        ],
    ),
    Situation(
        "offsets of a transaction count once it is committed; a stable fetch says 88 meanwhile",
        "OffsetMetadataManager.commitTransactionalOffset, replayEndTransactionMarker; KIP-447",
        [
            *stable(1),
            does(OffsetCommit(member="m1", generation=1, offsets=at(3)), 0),
            does(TxnOffsetCommit(member="m1", generation=1, offsets=at(7)), 0),
            does(TxnOffsetCommit(member="m1", generation=1, offsets=at(8, 1)), 0),
            does(OffsetFetch(), 88, errors=(("t", 0, 88),), offsets=at(-1)),
            does(OffsetFetch(topics={("u", 0)}), 0, offsets=(("u", 0, -1),)),
            does(OffsetFetch(topics=None), 88, errors=(("t", 0, 88),), offsets=at(-1)),
            does(OffsetFetch(stable=False), 0, offsets=at(3)),
            does(OffsetFetch(topics=None, stable=False), 0, offsets=at(3)),
            does(EndTxn(), 0, log=(("end", True),)),
            does(OffsetFetch(topics=BOTH_PARTITIONS), 0, offsets=(*at(7), *at(8, 1))),
        ],
    ),
    Situation(
        "offsets of a transaction that is aborted are forgotten",
        "OffsetMetadataManager.replayEndTransactionMarker",
        [
            *stable(1),
            does(OffsetCommit(member="m1", generation=1, offsets=at(3, 1)), 0),
            does(TxnOffsetCommit(member="m1", generation=1, offsets=at(7)), 0),
            # Another partition of the topic is stable.
            does(OffsetFetch(topics=BOTH_PARTITIONS), 88, offsets=(*at(-1), *at(3, 1))),
            does(OffsetFetch(topics=None), 0, offsets=at(3, 1)),
            does(EndTxn(commit=False), 0, log=(("end", False),)),
            does(OffsetFetch(topics=BOTH_PARTITIONS), 0, offsets=(*at(-1), *at(3, 1))),
            # A producer without offsets ends its transaction.
            does(EndTxn(producer=5), 0),
            does(EndTxn(producer=5, commit=False), 0),
        ],
    ),
    Situation(
        "a commit after that of an open transaction wins over the transaction's end",
        "OffsetMetadataManager.replayEndTransactionMarker",
        [
            *stable(1),
            does(TxnOffsetCommit(member="m1", generation=1, offsets=at(7)), 0),
            does(OffsetCommit(member="m1", generation=1, offsets=at(3)), 0),
            does(EndTxn(), 0),
            does(OffsetFetch(), 0, offsets=at(3)),
        ],
    ),
    Situation(
        "two transactions over one partition: it is stable once both have ended",
        "OffsetMetadataManager.OpenTransactions",
        [
            *stable(1),
            does(TxnOffsetCommit(member="m1", generation=1, offsets=at(7), producer=1), 0),
            does(TxnOffsetCommit(member="m1", generation=1, offsets=at(8), producer=2), 0),
            does(EndTxn(producer=2), 0),
            does(OffsetFetch(), 88),
            does(EndTxn(producer=1), 0),
            does(OffsetFetch(), 0, offsets=at(8)),
        ],
    ),
    Situation(
        "a transaction may commit in any state, also without a member; ids and generations count",
        "ClassicGroup.validateOffsetCommit; KIP-447",
        [
            *stable(1),
            does(TxnOffsetCommit(offsets=at(1)), 0),
            does(TxnOffsetCommit(member="x", generation=1), 25),
            does(TxnOffsetCommit(member="m1", generation=2), 22),
            does(TxnOffsetCommit(member="m1"), 22),
            does(JoinGroup(member="m1"), 0, generation=2),
            does(TxnOffsetCommit(member="m1", generation=2, offsets=at(2)), 0),
            does(TxnOffsetCommit(offsets=(("nowhere", 0, 2),)), 0),
            does(EndTxn(), 0),
            does(OffsetFetch(), 0, offsets=at(2)),
        ],
    ),
    Situation(
        "open transactions survive a fail-over",
        "OffsetMetadataManager.replay",
        [
            *stable(1),
            does(TxnOffsetCommit(member="m1", generation=1, offsets=at(7)), 0),
            does(FailOver()),
            does(OffsetFetch(), 88),
            does(EndTxn(), 0),
            does(FailOver()),
            does(OffsetFetch(), 0, offsets=at(7)),
        ],
    ),
    Situation(
        "OffsetDelete spares what members subscribe to, and deletes the rest",
        "ClassicGroup.validateOffsetDelete, isSubscribedToTopic; KIP-496",
        [
            does(OffsetDelete(group=""), 24),
            does(OffsetDelete(), 69),
            *stable(1),
            does(OffsetCommit(member="m1", generation=1, offsets=(*at(5), ("u", 0, 6))), 0),
            does(
                OffsetDelete(topics={("t", 0), ("u", 0), ("u", 1)}),
                86,
                errors=(("t", 0, 86),),
                log=(("offset", "u", 0, None),),
            ),
            does(JoinGroup(member="m1"), 0, generation=2),
            does(OffsetDelete(), 86),
            does(LeaveGroup(member="m1"), 0),
            does(OffsetDelete(), 0, log=(("offset", "t", 0, None),)),
            does(OffsetFetch(), 0, offsets=at(-1)),
        ],
    ),
    Situation(
        "before its first round a group of consumers counts as subscribed to every topic",
        "ClassicGroup.isSubscribedToTopic",
        [
            *joining(1),
            does(OffsetCommit(member="m1", generation=0, offsets=(("u", 0, 5),)), 0),
            does(OffsetDelete(topics={("u", 0)}), 86),
        ],
    ),
    Situation(
        "OffsetDelete is refused in a group with members of another protocol type",
        "ClassicGroup.validateOffsetDelete; Errors.NON_EMPTY_GROUP",
        [
            *joining(1, type="connect"),
            does(OffsetDelete(), 68),
            does(Advance(ms=3000), releases={"join of m1": told(0)}),
            does(OffsetDelete(), 68),
            does(SyncGroup(member="m1", generation=1), 0),
            does(OffsetDelete(), 68),
            does(LeaveGroup(member="m1"), 0),
            does(OffsetDelete(), 0),
        ],
    ),
    Situation(
        "OffsetDelete also ends what an open transaction would have committed",
        "OffsetMetadataManager.deleteOffsets, replay",
        [
            does(TxnOffsetCommit(offsets=at(7)), 0),
            does(OffsetDelete(), 0, log=(("offset", "t", 0, None),)),
            does(OffsetFetch(), 0, offsets=at(-1)),
            does(EndTxn(), 0),
            does(OffsetFetch(), 0, offsets=at(-1)),
        ],
    ),
    Situation(
        "an open transaction over one topic holds up no other topic",
        "OffsetMetadataManager.OpenTransactions",
        [
            does(OffsetCommit(offsets=at(5)), 0),
            does(TxnOffsetCommit(offsets=(("u", 0, 7),)), 0),
            does(OffsetFetch(topics={("t", 0), ("u", 0)}), 88, offsets=(*at(5), ("u", 0, -1))),
            does(OffsetDelete(), 0, log=(("offset", "t", 0, None),)),
            does(OffsetDelete(topics={("v", 0)}), 0, log=()),
            does(EndTxn(), 0),
            does(OffsetFetch(topics={("t", 0), ("u", 0)}), 0, offsets=(*at(-1), ("u", 0, 7))),
        ],
    ),
    Situation(
        "DeleteGroups deletes offsets and those of open transactions with the group",
        "OffsetMetadataManager.deleteAllOffsets",
        [
            does(OffsetCommit(offsets=at(5)), 0),
            does(TxnOffsetCommit(offsets=(*at(6), *at(7, 1))), 0),
            does(
                DeleteGroups(),
                0,
                log=(("offset", "t", 0, None), ("offset", "t", 1, None), ("deleted group",)),
                group={"kind": "none"},
            ),
            does(OffsetFetch(topics=BOTH_PARTITIONS), 0, offsets=(*at(-1), *at(-1, 1))),
        ],
    ),
)
