"""Three Python libraries behind one interface, for `member.py`. Only the member's own process
imports this file; each class imports its library when it is used.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Protocol

Options = Mapping[str, Any]
Offsets = Mapping[str, int]  # partition -> offset
AT_MOST = 500  # records of one poll


class AssignmentListener(Protocol):
    """The one who is told about assignments."""

    async def assigned(self, partitions: Iterable[str]) -> None: ...
    async def gone(self, how: str, partitions: Iterable[str]) -> None: ...


def names(partitions: Iterable[Any]) -> list[str]:
    """`topic-0` for each topic-partition of any library."""
    return [f"{p.topic}-{p.partition}" for p in partitions]


def parted(name: str) -> tuple[str, int]:
    """The topic and the number of `topic-0`."""
    topic, _, number = name.rpartition("-")
    return topic, int(number)


def at_once(steps: Coroutine[Any, Any, None]) -> None:
    """Runs a callback for a library without asyncio; the callback must not wait. Raises
    `AssertionError` if it does.
    """
    try:
        steps.send(None)
    except StopIteration:
        return
    steps.close()
    raise AssertionError("a callback waited")


def log_to_stderr(*loggers: str) -> None:
    """Has these loggers write to stderr, with UTC times."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    # kafka-python writes this one at every poll.
    handler.addFilter(lambda record: not record.getMessage().startswith("need_rejoin: False"))
    logging.Formatter.converter = time.gmtime
    logging.getLogger().addHandler(handler)
    for name in loggers:
        logging.getLogger(name).setLevel(logging.DEBUG)


def _options(
    bootstrap: str, client_id: str, group: str, assignors: Mapping[str, type], more: Options
) -> dict[str, Any]:
    """The options that kafka-python and aiokafka share. Both take assignors as classes."""
    named = more["partition_assignment_strategy"]
    return {
        "bootstrap_servers": bootstrap,
        "client_id": client_id,
        "group_id": group,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "fetch_max_wait_ms": 100,
        **more,
        "partition_assignment_strategy": (assignors[named],),
    }


class KafkaPython:
    """kafka-python is synchronous. It cannot commit in a revoked callback (RuntimeError: that would
    block its own IO thread).
    """

    def __init__(self, bootstrap: str, client_id: str, group: str, options: Options) -> None:
        import kafka
        from kafka.coordinator.assignors.range import RangePartitionAssignor
        from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

        assignors = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
        log_to_stderr("kafka.coordinator", "kafka.consumer.subscription_state")
        self.version = f"kafka-python {kafka.__version__}"
        self._kafka = kafka
        given = _options(bootstrap, client_id, group, assignors, options)
        self._consumer = kafka.KafkaConsumer(**given)

    async def start(self, topic: str, told: AssignmentListener) -> None:
        class Listener(self._kafka.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
            def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
                at_once(told.gone("revoked", names(revoked)))

            def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
                at_once(told.assigned(names(assigned)))

            def on_partitions_lost(self, lost: Iterable[Any]) -> None:
                at_once(told.gone("lost", names(lost)))

        self._consumer.subscribe(**subscribed(topic), listener=Listener())

    async def poll(self, wait_ms: int) -> list[tuple[str, int]]:
        found = self._consumer.poll(timeout_ms=wait_ms)
        return [
            (f"{r.topic}-{r.partition}", r.offset) for records in found.values() for r in records
        ]

    async def commit(self, offsets: Offsets) -> None:
        where, what = self._kafka.TopicPartition, self._kafka.OffsetAndMetadata
        self._consumer.commit(
            {where(*parted(name)): what(offset, "", -1) for name, offset in offsets.items()}
        )

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    async def close(self) -> None:
        self._consumer.close()


def subscribed(topic: str) -> dict[str, Any]:
    """The arguments of subscribe(). A topic that begins with ^ is a regular expression."""
    return {"pattern": topic} if topic.startswith("^") else {"topics": [topic]}


class AioKafka:
    """aiokafka uses asyncio. It has no callback for lost partitions, and does not call back when it
    closes.
    """

    def __init__(self, bootstrap: str, client_id: str, group: str, options: Options) -> None:
        import aiokafka
        from aiokafka.coordinator.assignors.range import RangePartitionAssignor
        from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

        assignors = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
        log_to_stderr("aiokafka.consumer.group_coordinator")
        self.version = f"aiokafka {aiokafka.__version__}"
        self._aiokafka = aiokafka
        given = _options(bootstrap, client_id, group, assignors, options)
        self._consumer = aiokafka.AIOKafkaConsumer(**given)

    async def start(self, topic: str, told: AssignmentListener) -> None:
        class Listener(self._aiokafka.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
            async def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
                await told.gone("revoked", names(revoked))

            async def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
                await told.assigned(names(assigned))

        self._consumer.subscribe(**subscribed(topic), listener=Listener())
        await self._consumer.start()

    async def poll(self, wait_ms: int) -> list[tuple[str, int]]:
        found = await self._consumer.getmany(timeout_ms=wait_ms)
        return [
            (f"{r.topic}-{r.partition}", r.offset) for records in found.values() for r in records
        ]

    async def commit(self, offsets: Offsets) -> None:
        await self._consumer.commit(
            {
                self._aiokafka.TopicPartition(*parted(name)): offset
                for name, offset in offsets.items()
            }
        )

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        await self._consumer.stop()


class Confluent:
    """confluent-kafka uses librdkafka: heartbeats and rebalances have threads of their own,
    callbacks run inside poll.
    """

    def __init__(self, bootstrap: str, client_id: str, group: str, options: Options) -> None:
        import confluent_kafka

        self.version = (
            f"confluent-kafka {confluent_kafka.__version__} / librdkafka"
            f" {confluent_kafka.libversion()[0]}"
        )
        self._kafka = confluent_kafka
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": client_id,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 100,
                "debug": "cgrp,consumer",
                **options,
            }
        )

    async def start(self, topic: str, told: AssignmentListener) -> None:
        self._consumer.subscribe(
            [topic],
            on_assign=lambda _, parts: at_once(told.assigned(names(parts))),
            on_revoke=lambda _, parts: at_once(told.gone("revoked", names(parts))),
            on_lost=lambda _, parts: at_once(told.gone("lost", names(parts))),
        )

    async def poll(self, wait_ms: int) -> list[tuple[str, int]]:
        """Raises `KafkaException` for a message that stands for an error."""
        found: list[tuple[str, int]] = []
        message = self._consumer.poll(wait_ms / 1000)
        while message is not None and len(found) < AT_MOST:
            if message.error():
                raise self._kafka.KafkaException(message.error())
            found.append((f"{message.topic()}-{message.partition()}", message.offset() or 0))
            message = self._consumer.poll(0)
        return found

    async def commit(self, offsets: Offsets) -> None:
        """Raises `KafkaException` if an offset was not committed."""
        sent = [
            self._kafka.TopicPartition(*parted(name), offset) for name, offset in offsets.items()
        ]
        for done in self._consumer.commit(offsets=sent, asynchronous=False):
            if done.error:
                raise self._kafka.KafkaException(done.error)

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    async def close(self) -> None:
        self._consumer.close()


CLIENTS = {"kafka-python": KafkaPython, "aiokafka": AioKafka, "confluent-kafka": Confluent}
