"""Committed offsets of groups, and the requests that read, write and delete them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import Factory, define, frozen

from groupcheck.oracles.coordinator.group_request import GroupRequest
from groupcheck.oracles.wire.cluster import UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID, Cluster, topic_id

METADATA_TOO_LARGE = 12
LONGEST_METADATA = 4_096  # offset.metadata.max.bytes
SEVERAL = 8  # of OffsetFetch: it names several groups
Partition = tuple[str, int]


@frozen
class CommittedOffset:
    offset: int
    leader_epoch: int = -1
    metadata: str = ""


NOTHING = CommittedOffset(-1)


@define(eq=False)
class Offsets:
    """The offsets of all groups."""

    cluster: Cluster
    _of: dict[str, dict[Partition, CommittedOffset]] = Factory(dict)

    def of(self, group: str) -> Mapping[Partition, CommittedOffset]:
        """The committed offsets of a group."""
        return self._of.get(group, {})

    def has(self, group: str) -> bool:
        return bool(self.of(group))

    def forget(self, group: str, partitions: Iterable[Partition] | None = None) -> None:
        """Deletes these offsets, or all."""
        if partitions is None:
            self._of.pop(group, None)
            return
        for partition in partitions:
            self._of.get(group, {}).pop(partition, None)

    def commit(self, request: GroupRequest, code: int) -> None:
        """Answers an OffsetCommit: with that error, or by writing what can be written."""
        group, topics = request.values["groupId"], []
        for entry in request.values["topics"]:
            topic = self.cluster.name_of(entry)
            told = []
            for one in entry["partitions"]:
                wrong = self._wrong(topic, one) or code or self._written(group, topic, one)
                told.append({"partitionIndex": one["partitionIndex"], "errorCode": wrong})
            about = {"name": entry.get("name"), "topicId": entry.get("topicId")}
            topics.append({**about, "partitions": told})
        request.answer({"topics": topics})

    def nowhere(self, request: GroupRequest) -> bool:
        """Are all partitions of an OffsetCommit such that Kafka does not ask the group about
        them?
        """
        return all(
            self._wrong(self.cluster.name_of(entry), one)
            for entry in request.values["topics"]
            for one in entry["partitions"]
        )

    def _wrong(self, topic: str | None, one: Mapping[str, Any]) -> int:
        """The error of a partition that does not exist; otherwise 0."""
        if topic is None:
            return UNKNOWN_TOPIC_ID
        there = self.cluster.partition(topic, one["partitionIndex"]) is not None
        return 0 if there else UNKNOWN_TOPIC

    def _written(self, group: str, topic: str | None, one: Mapping[str, Any]) -> int:
        """Writes an offset, and gives the error code."""
        metadata = one["committedMetadata"] or ""
        assert topic is not None
        if len(metadata.encode()) > LONGEST_METADATA:
            return METADATA_TOO_LARGE
        epoch = one.get("committedLeaderEpoch", -1)
        committed = CommittedOffset(one["committedOffset"], epoch, metadata)
        self._of.setdefault(group, {})[topic, one["partitionIndex"]] = committed
        return 0

    def fetch(self, request: GroupRequest, code: int = 0) -> None:
        """Answers an OffsetFetch, of every group with that error if there is one."""
        values = request.values
        if request.version < SEVERAL:
            topics = self._fetched(values["groupId"], values["topics"], code)
            request.answer({"topics": topics, "errorCode": code})
            return
        groups = []
        for asked in values["groups"]:
            name = asked["groupId"]
            topics = [] if code else self._fetched(name, asked["topics"], code)
            groups.append({"groupId": name, "topics": topics, "errorCode": code})
        request.answer({"groups": groups})

    def _fetched(self, group: str, asked: Any, code: int) -> list[dict[str, Any]]:
        """The offsets of the topics that are asked for; None: all that are committed."""
        there = self.of(group)
        if asked is None:
            names = dict.fromkeys(topic for topic, _ in there)
            asked = [
                {
                    "name": name,
                    "topicId": topic_id(name),
                    "partitionIndexes": [p for topic, p in there if topic == name],
                }
                for name in names
            ]
        topics = []
        for entry in asked:
            topic = self.cluster.name_of(entry)
            told = []
            for number in entry["partitionIndexes"]:
                found = there.get((topic or "", number), NOTHING)
                told.append(
                    {
                        "partitionIndex": number,
                        "committedOffset": -1 if code else found.offset,
                        "committedLeaderEpoch": -1 if code else found.leader_epoch,
                        "metadata": "" if code else found.metadata,
                        "errorCode": code or (0 if topic is not None else UNKNOWN_TOPIC_ID),
                    }
                )
            about = {"name": entry.get("name"), "topicId": entry.get("topicId")}
            topics.append({**about, "partitions": told})
        return topics
