"""What Java's member 4.3.1 writes at INFO and above about the offsets that it commits and fetches
(CommitRequestManager, ConsumerUtils.refreshCommittedOffsets, AbstractMembershipManager,
AsyncKafkaConsumer). Exceptions are given by their class and message, without frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groupcheck.model.protocol.codes import NONE, STALE_MEMBER_EPOCH, name_of
from groupcheck.oracles.generate.consumer.broker import number
from groupcheck.oracles.generate.consumer.happenings import Fetched
from groupcheck.oracles.generate.run import Committed
from groupcheck.oracles.generate.template import offset

REQUESTS, MEMBERSHIP = "CommitRequestManager", "ConsumerMembershipManager"
CONSUMER, UTILS = "AsyncKafkaConsumer", "ConsumerUtils"
LEADER = "LeaderAndEpoch{leader=Optional[b1:9092 (id: 1 rack: null isFenced: false)], epoch=0}"
_FAILED = "org.apache.kafka.clients.consumer.CommitFailedException: OffsetCommit failed with"
_STALE = (
    "The member epoch is stale. The member must retry after receiving its updated member epoch via"
    " the ConsumerGroupHeartbeat API."
)
_UNKNOWN = "The coordinator is not aware of this member."
Said = tuple[str, str, str, str]
"""Level, logger, text, and the line of the exception that was thrown, if one was."""


def committed(h: Committed, member: str) -> Iterator[Said]:
    """A commit is answered: nothing is written if it was stored."""
    if h.code == NONE:
        return
    if h.code == STALE_MEMBER_EPOCH:
        sent = number(h.epoch) if h.epoch >= 0 else "undefined"
        told = f"OffsetCommit failed for member {member} with stale member epoch error."
        yield "ERROR", REQUESTS, f"{told} Last epoch sent: {sent}", ""
        thrown = f"org.apache.kafka.common.errors.StaleMemberEpochException: {_STALE}"
    else:
        yield "ERROR", REQUESTS, f"OffsetCommit failed with {_name(h.code)}", ""
        thrown = f"{_FAILED} unknown member ID. {_UNKNOWN}"
    if h.why in ("interval", "revocation"):
        yield "WARN", REQUESTS, f"Auto-commit of offsets {offsets(h.offsets)} failed", thrown
    if h.why == "revocation" and h.code != STALE_MEMBER_EPOCH:
        told = "Auto-commit request before reconciling new assignment failed. Will proceed with the"
        yield "ERROR", MEMBERSHIP, f"{told} reconciliation anyway.", thrown
    if h.why == "close":
        if h.code == STALE_MEMBER_EPOCH:
            thrown = f"{_FAILED} stale member epoch. {_STALE}"
        yield "WARN", CONSUMER, "Synchronous auto-commit failed", thrown


def fetched(h: Fetched) -> Iterator[Said]:
    """A fetch is answered."""
    if h.code == NONE:
        for partition, found in h.offsets.items():
            where = f"offset={offset(partition, found)}, offsetEpoch=Optional.empty"
            position = f"FetchPosition{{{where}, currentLeader={LEADER}}}"
            told = f"Setting offset for partition t-{partition} to the committed offset"
            yield "INFO", UTILS, f"{told} {position}", ""
    elif h.code == STALE_MEMBER_EPOCH:
        yield (
            "ERROR",
            REQUESTS,
            f"OffsetFetch failed with {_name(h.code)} and the consumer is not part of the group"
            " anymore (it probably left the group, got fenced or failed). The request cannot be"
            " retried and will fail.",
            "",
        )
    else:
        why = "because the member is not part of the group anymore."
        yield "ERROR", REQUESTS, f"OffsetFetch failed with {_name(h.code)} {why}", ""


def _name(code: int) -> str:
    """A code as Java prints it."""
    return name_of(code).partition(" ")[2]


def offsets(some: Mapping[int, int]) -> str:
    """A map of partitions to OffsetAndMetadata, as Java prints it."""
    told = (
        f"t-{p}=OffsetAndMetadata{{offset={offset(p, n)}, leaderEpoch=null, metadata=''}}"
        for p, n in some.items()
    )
    return f"{{{', '.join(told)}}}"
