"""What the adapters of Python libraries share: the environment in, events out, `stop`."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

BOOTSTRAP = os.environ["KAFKA_BOOTSTRAP"]
GROUP, TOPIC = os.environ["KAFKA_GROUP"], os.environ["KAFKA_TOPIC"]
INSTANCE = os.environ.get("KAFKA_INSTANCE_ID")
ASSIGNOR = os.environ.get("GROUPCHECK_ASSIGNOR", "range")
SESSION_MS = int(os.environ.get("GROUPCHECK_SESSION_MS", "3000"))
HEARTBEAT_MS = int(os.environ.get("GROUPCHECK_HEARTBEAT_MS", "300"))
COMMIT_MS = int(os.environ.get("GROUPCHECK_COMMIT_MS", "300"))
REBALANCE_MS = int(os.environ.get("GROUPCHECK_REBALANCE_MS", "5000"))

stopped = threading.Event()
_writing = threading.Lock()


def tell(event: str, **fields: Any) -> None:
    """Prints an event; a library may call back from a thread of its own."""
    told = {"schema": "groupcheck.event/1", "time": time.time_ns() // 1_000_000, "event": event}
    with _writing:
        sys.stdout.write(json.dumps(told | fields) + "\n")
        sys.stdout.flush()


def chosen(assignors: Mapping[str, Any]) -> Any:
    """The assignor that is asked for; the program ends with 2 if its library lacks it."""
    if ASSIGNOR not in assignors:
        print(f"the library has no assignor {ASSIGNOR}", file=sys.stderr)
        sys.exit(2)
    return assignors[ASSIGNOR]


def failed(event: str, error: Exception) -> None:
    """Tells of an error that reached the application: `error`, `fatal` or `commit_failed`."""
    tell(event, error=type(error).__name__, reason=str(error)[:300])


def name(partition: Any) -> str:
    """`topic-0` for a topic-partition of any library."""
    return f"{partition.topic}-{partition.partition}"


def names(partitions: Iterable[Any]) -> list[str]:
    """The same for each of them, sorted."""
    return sorted(map(name, partitions))


def delivered(records: Iterable[tuple[str, int]]) -> None:
    """Tells of the records (partition, offset) of one poll, in runs without a gap."""
    run: tuple[str, int, int] | None = None
    for partition, offset in records:
        if run and run[0] == partition and run[2] + 1 == offset:
            run = (partition, run[1], offset)
            continue
        if run:
            tell("delivered", partition=run[0], offset=run[1], last=run[2])
        run = (partition, offset, offset)
    if run:
        tell("delivered", partition=run[0], offset=run[1], last=run[2])


def polled(found: Mapping[Any, Iterable[Any]]) -> None:
    """Tells of the records of each topic-partition, as kafka-python and aiokafka give them."""
    for partition, records in found.items():
        delivered((name(partition), record.offset) for record in records)


def _listen() -> None:
    for line in sys.stdin:
        if line.strip() == "stop":
            break
    stopped.set()


threading.Thread(target=_listen, daemon=True).start()
