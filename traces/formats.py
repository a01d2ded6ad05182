"""The formats of logs. What cannot be replayed yet is named, so that the answer is clear."""

from __future__ import annotations

import re
from collections import Counter

from groupcheck.traces.reading import Notes, Source

BROKER_SCALA, BROKER_JAVA, REQUEST_LOG, UNKNOWN_FORMAT = (
    "broker-scala",
    "broker-java",
    "request-log",
    "unknown",
)
REPLAYED = {
    "broker": "The group coordinator's log, old or new coordinator (the default).",
    BROKER_SCALA: "The old coordinator's log (kafka.coordinator.group, Kafka 0.9 to 3.9).",
    BROKER_JAVA: (
        "The new coordinator's log (org.apache.kafka.coordinator.group, Kafka 3.6 on, the only one"
        " from 4.0)."
    ),
    REQUEST_LOG: "The broker's request log (kafka.request.logger at DEBUG, JSON, Kafka 2.8 on).",
}
CLIENTS = {
    "java-client": "Logs of the Java consumer, of Spring, Kafka Connect and Kafka Streams.",
    "librdkafka": "librdkafka's log and those of its wrappers (Python, Go, .NET, Node, Rust, ...).",
    "kafka-python": "Logs of kafka-python.",
    "aiokafka": "Logs of aiokafka.",
    "sarama": "Logs of sarama.",
    "franz-go": "Logs of franz-go.",
    "kafka-go": "Logs and error texts of kafka-go.",
    "kafkajs": "Logs of KafkaJS.",
    "ruby": "Logs of ruby-kafka and racecar.",
    "client": "Lines about groups of which no client library is known.",
}
"""Read for statements about groups, from which causes follow."""
NAMED = {
    "offsets-dump": "A dump of __consumer_offsets (kafka-dump-log.sh --offsets-decoder).",
}
"""Known, and not replayed yet."""

_MARKS = (
    (
        "offsets-dump",
        (b"isvalid: ", b"| offset: ", b"baseOffset: "),
        re.compile(r"\bisvalid: |^\| offset: \d+ |baseOffset: \d+ lastOffset: "),
    ),
)
"""(format, what one of its lines contains, what tells that it is its line)."""
_MOST_JUDGED = 20_000


def sniff(source: Source, notes: Notes) -> str:
    """The format of a log that nobody replays yet, or `unknown`. All lines are looked at, and
    `notes` counts them.
    """
    found: Counter[str] = Counter()
    needles = tuple(needle for _, some, _ in _MARKS for needle in some)
    for _, line in source.lines(notes, needles):
        if sum(found.values()) < _MOST_JUDGED:
            for name, _, mark in _MARKS:
                if mark.search(line[:2000]):
                    found[name] += 1
                    break
    return found.most_common(1)[0][0] if found else UNKNOWN_FORMAT
