"""The lines that the coordinator of Kafka 4 writes about a consumer group (GroupMetadataManager),
in the words of several versions, at INFO or at DEBUG.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping

from attrs import define, frozen

from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.consumer.memory import State
from groupcheck.model.protocol.masks import numbers
from groupcheck.oracles.generate.consumer.happenings import (
    Bumped,
    Happening,
    Joined,
    Lost,
    Moved,
    Planned,
    Reconciled,
    Refreshed,
    Refused,
    Replaced,
    Resolved,
    Went,
)
from groupcheck.oracles.generate.consumer.records import POLL_MS
from groupcheck.oracles.generate.run import Committed
from groupcheck.oracles.generate.template import offset

TOPIC_ID = "tT3cYFRQSSuZ5cpYfQ3zqg"
SHARD = "[GroupCoordinator id=1 topic=__consumer_offsets partition=7] "
LOGGER = " (org.apache.kafka.coordinator.group.GroupMetadataManager)"
OFFSETS_LOGGER = " (org.apache.kafka.coordinator.group.OffsetMetadataManager)"
REGEX, IMAGE = "t.*", 25
"""The regular expression that members subscribe by, and the metadata's version in which it is
resolved.
"""
PARTITION = "__consumer_offsets-7"
NO_REPLICAS = (
    "The size of the current ISR Set(1) is insufficient to satisfy the min.isr requirement of 2 for"
    f" partition {PARTITION}"
)
"""Of a NotEnoughReplicasException (Partition.appendRecordsToLeader)."""
GROUP = "[GroupId <:g:>] "
STATES = {
    State.STABLE: "STABLE",
    State.UNREVOKED: "UNREVOKED_PARTITIONS",
    State.UNRELEASED: "UNRELEASED_PARTITIONS",
}


@frozen
class Words:
    """How a version of Kafka prints."""

    # DEBUG lines, too.
    debug: bool
    # Topics have a hash (KIP-1101); before, the group's metadata is printed.
    hashes: bool = True
    # Partitions have the epoch at which their member was given them (KIP-1251).
    epochs: bool = True
    # Commits have the topic's id (KIP-848, Kafka 4.1).
    ids: bool = True


def number(epoch: int) -> str:
    """The mark for an epoch of the run; 0 and less are the same in each run."""
    return f"<:n{epoch}:>" if epoch > 0 else f"{epoch}"


def member(id: int) -> str:
    """The mark for a member id."""
    return f"<:m{id}:>"


@define
class BrokerWords:
    """Turns what happens into lines."""

    words: Words
    # Takes each line.
    write: Callable[[str], None]
    # The clock of the run, in ms.
    now: Callable[[], int]
    # How many partitions the topic has.
    partitions: int

    def hears(self, happening: Happening) -> None:
        if isinstance(happening, Committed):
            if self.words.debug and happening.code == NONE:
                for text in self._committed(happening):
                    self.write(f"DEBUG {SHARD}{text}{OFFSETS_LOGGER}")
            return
        for level, text in self._lines(happening):
            if self.words.debug or level == "INFO":
                self.write(f"{level} {SHARD}{text}{LOGGER}")

    def _lines(self, h: Happening) -> Iterator[tuple[str, str]]:
        match h:
            case Joined():
                yield from self._joined(h)
            case Resolved():
                yield from self._resolved(h)
            case Replaced():
                yield (
                    "INFO",
                    f"{GROUP}Static member with instance id i{h.instance} re-joins the consumer"
                    " group using the consumer protocol. Created a new member"
                    f" {member(h.member)} to replace the existing member {member(h.former)}.",
                )
            case Refused():
                static = f"Static member {member(h.member)} with instance id i{h.instance}"
                owner = member(h.owner)
                if h.fenced:
                    yield "INFO", f"{GROUP}{static} is fenced by existing member {owner}."
                else:
                    why = f"because the instance id is owned by member {owner}."
                    yield "INFO", f"{GROUP}{static} cannot join the group {why}"
            case Refreshed():
                self.partitions += 1
                yield self._metadata()
            case Went():
                yield from self._went(h)
            case Bumped():
                told = f" with metadata hash {self._hash()}" if self.words.hashes else ""
                yield "INFO", f"{GROUP}Bumped group epoch to {number(h.epoch)}{told}."
            case Planned():
                yield self._planned(h)
            case Reconciled():
                yield (
                    "DEBUG",
                    f"{GROUP}Member {member(h.member)} new assignment state:"
                    f" epoch={number(h.epoch)}, previousEpoch={number(h.previous)},"
                    f" state={STATES[h.state]}, assignedPartitions={self._held(h.assigned)}"
                    f" and revokedPartitions={self._held(h.revoking)}.",
                )
            case Moved():
                yield (
                    "INFO",
                    f"[GroupId=<:g:>] Unloaded group metadata for group epoch {number(h.epoch)}.",
                )
                yield "INFO", f"Loaded consumer group <:g:> with {len(h.members)} members."
                for id in h.members:
                    yield "DEBUG", f"Loaded member {member(id)} in consumer group <:g:>."

    def lost(self, lost: Lost, since: list[Happening]) -> None:
        """Prints what only seemed to happen, and that its records are lost (CoordinatorRuntime and
        CoordinatorTimerImpl of Kafka 4.3).
        """
        there = self.partitions
        for happening in since:
            self.hears(happening)
        self.partitions = there
        told = f"Failed to write records to {PARTITION} due to an unexpected error: {NO_REPLICAS}."
        logger = "org.apache.kafka.coordinator.common.runtime"
        thrown = f"org.apache.kafka.common.errors.NotEnoughReplicasException: {NO_REPLICAS}"
        self.write(f"ERROR [GroupCoordinator id=1] {told} ({logger}.CoordinatorRuntime)\n{thrown}")
        if lost.timer is not None:
            key = f"{lost.timer}-<:g:>-{member(lost.member)}"
            told = f"The write event Timeout(key={key}) for the timer {key} failed due to"
            told = f"{told} {NO_REPLICAS}. Rescheduling it. "
            self.write(f"INFO {SHARD}{told} ({logger}.CoordinatorTimerImpl)")

    def _committed(self, h: Committed) -> Iterator[str]:
        """OffsetMetadataManager.commitOffset, and replay of its records."""
        topic = f"{TOPIC_ID}-t" if self.words.ids else "t"
        for partition, n in h.offsets.items():
            yield (
                f"{GROUP}Committing offsets {offset(partition, n)} for partition"
                f" {topic}-{partition} from member {member(h.member)} with leader epoch -1."
            )
        id = f", topicId={TOPIC_ID}" if self.words.ids else ""
        for partition, n in h.offsets.items():
            key = f"OffsetCommitKey(group='<:g:>', topic='t', partition={partition})"
            value = (
                f"OffsetCommitValue(offset={offset(partition, n)}, leaderEpoch=-1, metadata='',"
                f" commitTimestamp=<:e{self.now()}:>, expireTimestamp=-1{id})"
            )
            yield f"Replaying offset commit with key {key}, value {value}"

    def _joined(self, h: Joined) -> Iterator[tuple[str, str]]:
        yield "INFO", f"{_who(h)} joins the consumer group using the consumer protocol."
        what = f"regex to: {REGEX}" if h.regex else "topics to: [t]"
        yield "DEBUG", f"{GROUP}Member {member(h.member)} updated its subscribed {what}."
        if h.refreshed:
            self.partitions += 1
        if (h.first and not h.regex) or h.refreshed:
            yield self._metadata()

    def _resolved(self, h: Resolved) -> Iterator[tuple[str, str]]:
        """TopicRegexResolver, and handleRegularExpressionsResult."""
        yield "DEBUG", f"{GROUP}Refreshing regular expressions: [{REGEX}]"
        scanned = f"Scanned 2 topics to refresh regular expressions [{REGEX}] in 0ms."
        yield "INFO", f"{GROUP}{scanned}"
        found = f"topics=[t], version={IMAGE}, timestamp=<:e{self.now()}:>"
        told = f"based on the context of member {member(h.member)}"
        results = f"{{{REGEX}=RegularExpressionMetadata({found})}}"
        yield "DEBUG", f"{GROUP}Received updated regular expressions {told}: {results}."
        if h.new:
            yield self._metadata()

    def _went(self, h: Went) -> Iterator[tuple[str, str]]:
        if h.how == "left":
            yield "INFO", f"{_who(h)} left the consumer group."
        elif h.how == "away":
            yield "INFO", f"{_who(h)} temporarily left the consumer group."
        else:
            why = (
                "the member session expired"
                if h.how == "session_expired"
                else f"it failed to transition from epoch {number(h.epoch)} within {POLL_MS}ms"
            )
            yield "INFO", f"{GROUP}Member {member(h.member)} fenced from the group because {why}."
        if h.last:
            yield (
                "DEBUG",
                "Skip downgrading the consumer group <:g:> to classic group because it's empty.",
            )

    def _hash(self) -> int:
        """A number that changes with the topic."""
        return zlib.crc32(f"t-{self.partitions}".encode())

    def _metadata(self) -> tuple[str, str]:
        if self.words.hashes:
            return "DEBUG", f"{GROUP}Computed new metadata hash: {self._hash()}."
        topic = f"TopicMetadata(id={TOPIC_ID}, name=t, numPartitions={self.partitions})"
        return "DEBUG", f"{GROUP}Computed new subscription metadata: {{t={topic}}}."

    def _planned(self, h: Planned) -> tuple[str, str]:
        told = (
            f"{GROUP}Computed a new target assignment for epoch {number(h.epoch)} with 'uniform'"
            " assignor in 0ms"
        )
        if not self.words.debug:
            return "INFO", f"{told}."
        shares = (f"{member(id)}={_share(share)}" for id, share in h.shares.items())
        return "DEBUG", f"{told}: {{{', '.join(shares)}}}."

    def _held(self, given: Mapping[int, int]) -> str:
        told = (f"@{number(epoch)}" if self.words.epochs else "" for epoch in given.values())
        return f"[{', '.join(f'{TOPIC_ID}-{p}{e}' for p, e in zip(given, told, strict=True))}]"


def _who(h: Joined | Went) -> str:
    if h.instance is None:
        return f"{GROUP}Member {member(h.member)}"
    return f"{GROUP}Static member {member(h.member)} with instance id i{h.instance}"


def _share(share: int) -> str:
    partitions = f"{TOPIC_ID}=[{', '.join(map(str, numbers(share)))}]" if share else ""
    return f"MemberAssignment(partitions={{{partitions}}})"
