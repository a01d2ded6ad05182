"""librdkafka's mock cluster (rdkafka_mock.h), by ctypes on the library inside confluent-kafka's
wheel: in a process of its own, because its errors may end the process.

Argument: one JSON object with `topics` (name -> number of partitions) and `settings`
(group.initial.rebalance.delay.ms alone). It prints one JSON object with `address` and `version`,
and ends when its input ends.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

import confluent_kafka

PRODUCER = 0
DELAY = "group.initial.rebalance.delay.ms"


def library() -> ctypes.CDLL:
    """The librdkafka that the wheel brought; on Linux beside the package, on macOS inside it."""
    package = Path(confluent_kafka.__file__).parent
    for place in (package.parent / "confluent_kafka.libs", package / ".dylibs"):
        for path in sorted(place.glob("librdkafka*")):
            return ctypes.CDLL(str(path))
    sys.exit("confluent-kafka's wheel has no librdkafka")


def main() -> None:
    told = json.loads(sys.argv[1])
    rdkafka = library()

    def function(name: str, result: Any, *arguments: Any) -> Any:
        found = getattr(rdkafka, name)
        found.restype, found.argtypes = result, list(arguments)
        return found

    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    configure = function("rd_kafka_conf_new", pointer)
    new = function("rd_kafka_new", pointer, number, pointer, text, ctypes.c_size_t)
    cluster_of = function("rd_kafka_mock_cluster_new", pointer, pointer, number)
    topic = function("rd_kafka_mock_topic_create", number, pointer, text, number, number)
    addresses = function("rd_kafka_mock_cluster_bootstraps", text, pointer)
    delay = function(
        "rd_kafka_mock_group_initial_rebalance_delay_ms", None, pointer, ctypes.c_int32
    )

    error = ctypes.create_string_buffer(512)
    client = new(PRODUCER, configure(), error, 512)
    if not client:
        sys.exit(error.value.decode())
    cluster = cluster_of(client, 1)
    delay(cluster, int(told["settings"].get(DELAY, 0)))
    for name, partitions in told["topics"].items():
        if topic(cluster, name.encode(), partitions, 1):
            sys.exit(f"the mock cannot create {name}")
    version = f"librdkafka {confluent_kafka.libversion()[0]}"
    print(json.dumps({"address": addresses(cluster).decode(), "version": version}), flush=True)
    sys.stdin.read()


main()
