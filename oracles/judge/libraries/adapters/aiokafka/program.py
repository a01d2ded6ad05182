"""A consumer of aiokafka. It polls, the library commits by itself."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import aiokafka
import contract
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from contract import chosen, failed, names, polled, stopped, tell

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


class Listener(aiokafka.ConsumerRebalanceListener):
    async def on_partitions_assigned(self, assigned: Any) -> None:
        tell("assigned", partitions=names(assigned))

    async def on_partitions_revoked(self, revoked: Any) -> None:
        tell("revoked", partitions=names(revoked))


async def main() -> None:
    logging.basicConfig(level=logging.INFO)
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=contract.BOOTSTRAP,
        group_id=contract.GROUP,
        group_instance_id=contract.INSTANCE,
        partition_assignment_strategy=(chosen(ASSIGNORS),),
        session_timeout_ms=contract.SESSION_MS,
        heartbeat_interval_ms=contract.HEARTBEAT_MS,
        max_poll_interval_ms=contract.REBALANCE_MS,
        auto_commit_interval_ms=contract.COMMIT_MS,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=50,
        retry_backoff_ms=50,
        metadata_max_age_ms=500,
        # Longer than a JoinGroup may wait.
        request_timeout_ms=contract.REBALANCE_MS + 5000,
    )
    tell("started", library="aiokafka", version=aiokafka.__version__)
    consumer.subscribe([contract.TOPIC], listener=Listener())
    try:
        await consumer.start()
        while not stopped.is_set():
            try:
                found = await consumer.getmany(timeout_ms=50)
            except aiokafka.errors.CommitFailedError as error:
                failed("commit_failed", error)
            except aiokafka.errors.KafkaError as error:
                if not error.retriable:
                    raise
                failed("error", error)
            else:
                polled(found)
    except Exception as error:
        failed("fatal", error)
    try:
        await consumer.stop()
    except Exception as error:
        failed("error", error)
    tell("closed")


asyncio.run(main())
