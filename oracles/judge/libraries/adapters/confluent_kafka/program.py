"""A consumer of confluent-kafka, which is librdkafka. It polls, the library commits by itself."""

from __future__ import annotations

import logging
from typing import Any

import confluent_kafka
import contract
from contract import chosen, delivered, name, names, stopped, tell

ASSIGNORS = {
    "range": "range",
    "roundrobin": "roundrobin",
    "cooperative": "cooperative-sticky",
}
AT_MOST = 500  # records of one batch
# Records that are not told yet. A callback, which runs inside poll, comes after them.
waiting: list[tuple[str, int]] = []


def flush() -> None:
    delivered(waiting)
    waiting.clear()


def told(event: str) -> Any:
    def callback(_: Any, partitions: Any) -> None:
        flush()
        tell(event, partitions=names(partitions))

    return callback


def committed(error: Any, partitions: Any) -> None:
    if error is not None and error.code() == confluent_kafka.KafkaError._NO_OFFSET:
        return
    offsets = {name(p): p.offset for p in partitions if p.offset >= 0}
    errors = [p.error for p in partitions if p.error]
    first = error or (errors[0] if errors else None)
    if first:
        tell("commit_failed", error=first.name(), offsets=offsets)
    else:
        tell("commit", offsets=offsets)


def failed(error: Any) -> bool:
    """Tells of an error. Is it fatal? Then poll gives _FATAL, and the text names the error."""
    kind, reason = error.name(), error.str()[:300]
    is_fatal = error.fatal() or error.code() == confluent_kafka.KafkaError._FATAL
    if is_fatal:
        kind = reason.rpartition("Fatal consumer error: ")[2] or kind
    tell("fatal" if is_fatal else "error", error=kind, reason=reason)
    return bool(is_fatal)


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": contract.BOOTSTRAP,
            "group.id": contract.GROUP,
            **({"group.instance.id": contract.INSTANCE} if contract.INSTANCE else {}),
            "partition.assignment.strategy": chosen(ASSIGNORS),
            "session.timeout.ms": contract.SESSION_MS,
            "heartbeat.interval.ms": contract.HEARTBEAT_MS,
            "max.poll.interval.ms": contract.REBALANCE_MS,
            "auto.commit.interval.ms": contract.COMMIT_MS,
            "on_commit": committed,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
            "retry.backoff.ms": 50,
            "retry.backoff.max.ms": 200,
            "reconnect.backoff.ms": 50,
            "reconnect.backoff.max.ms": 200,
            "topic.metadata.refresh.interval.ms": 500,
            "coordinator.query.interval.ms": 1000,
            "debug": "cgrp",
        }
    )
    tell(
        "started",
        library="librdkafka",
        version=f"{confluent_kafka.libversion()[0]}, confluent-kafka {confluent_kafka.__version__}",
    )
    consumer.subscribe(
        [contract.TOPIC],
        on_assign=told("assigned"),
        on_revoke=told("revoked"),
        on_lost=told("lost"),
    )
    fatal = False
    while not stopped.is_set() and not fatal:
        message = consumer.poll(0.05)
        while message is not None and not fatal:
            if message.error():
                fatal = failed(message.error())
            else:
                waiting.append((f"{message.topic()}-{message.partition()}", message.offset()))
            if len(waiting) == AT_MOST:
                break
            message = consumer.poll(0)
        flush()
    try:
        consumer.close()
    except confluent_kafka.KafkaException as error:
        failed(error.args[0])
    tell("closed")


main()
