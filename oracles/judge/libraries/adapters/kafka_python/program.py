"""A consumer of kafka-python. It polls, the library commits by itself."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

import contract
import kafka
from contract import chosen, failed, name, names, polled, stopped, tell
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
with suppress(ImportError):  # before 3.0
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor

    ASSIGNORS["cooperative"] = CooperativeStickyAssignor


class Listener(kafka.ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned: Any) -> None:
        tell("assigned", partitions=names(assigned))

    def on_partitions_revoked(self, revoked: Any) -> None:
        tell("revoked", partitions=names(revoked))

    def on_partitions_lost(self, lost: Any) -> None:
        tell("lost", partitions=names(lost))


def committed(offsets: Any, answer: Any) -> None:
    told = {name(p): o.offset for p, o in offsets.items()}
    if isinstance(answer, Exception):
        tell("commit_failed", error=type(answer).__name__, offsets=told)
    else:
        tell("commit", offsets=told)


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    # Releases before 2.3 do not have it.
    static = {"group_instance_id": contract.INSTANCE} if contract.INSTANCE else {}
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=contract.BOOTSTRAP,
        group_id=contract.GROUP,
        **static,
        partition_assignment_strategy=(chosen(ASSIGNORS),),
        session_timeout_ms=contract.SESSION_MS,
        heartbeat_interval_ms=contract.HEARTBEAT_MS,
        max_poll_interval_ms=contract.REBALANCE_MS,
        auto_commit_interval_ms=contract.COMMIT_MS,
        default_offset_commit_callback=committed,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=50,
        retry_backoff_ms=50,
        reconnect_backoff_ms=50,
        reconnect_backoff_max_ms=200,
        metadata_max_age_ms=500,
        # Longer than a JoinGroup may wait.
        request_timeout_ms=contract.REBALANCE_MS + 5000,
    )
    tell("started", library="kafka-python", version=kafka.__version__)
    consumer.subscribe([contract.TOPIC], listener=Listener())
    while not stopped.is_set():
        try:
            found = consumer.poll(timeout_ms=50)
        except kafka.errors.CommitFailedError as error:
            failed("commit_failed", error)
        except Exception as error:
            if not getattr(error, "retriable", False):
                failed("fatal", error)
                break
            failed("error", error)
        else:
            polled(found)
    try:
        consumer.close()
    except Exception as error:
        failed("error", error)
    tell("closed")


main()
