"""Which program wrote a log, judged by all of its lines. Logs that cannot be replayed yet are
named, so that the answer is clear.
"""

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
NAMED = {
    "offsets-dump": "A dump of __consumer_offsets (kafka-dump-log.sh --offsets-decoder).",
    "java-client": "Logs of the Java consumer, Kafka Connect or Kafka Streams.",
    "librdkafka": "librdkafka's debug log.",
    "kafka-python": "Logs of kafka-python or aiokafka.",
    "sarama": "Logs of sarama.",
    "franz-go": "Logs of franz-go.",
    "kafkajs": "Logs of KafkaJS.",
}
"""Known, and not replayed yet."""

_MARKS = (
    (
        BROKER_SCALA,
        (b"[GroupCoordinator ", b"[GroupMetadataManager "),
        re.compile(r"\[GroupCoordinator \d+\]: |\[GroupMetadataManager brokerId=\d+\]"),
    ),
    (BROKER_JAVA, (b"[GroupCoordinator id=",), re.compile(r"\[GroupCoordinator id=\d+")),
    (
        REQUEST_LOG,
        (b"Completed request:", b"kafka.request.logger"),
        re.compile(r"Completed request:|kafka\.request\.logger"),
    ),
    (
        "offsets-dump",
        (b"isvalid: ", b"| offset: ", b"baseOffset: "),
        re.compile(r"\bisvalid: |^\| offset: \d+ |baseOffset: \d+ lastOffset: "),
    ),
    (
        "librdkafka",
        (b"%", b"rdkafka#"),
        re.compile(r"%[0-7]\|\d{9,}\.\d+\||\brdkafka#(?:consumer|producer)-\d"),
    ),
    (
        "java-client",
        (
            b"[Consumer ",
            b"[Worker ",
            b"org.apache.kafka.clients.",
            b"o.a.k.c",
            b"stream-thread [",
        ),
        re.compile(
            r"\[(?:Consumer|Worker)"
            r" (?:instanceId=|clientId=)|org\.apache\.kafka\.clients\.|o\.a\.k\.c|stream-thread \["
        ),
    ),
    (
        "kafka-python",
        (b"kafka.co", b"kafka.client", b"aiokafka"),
        re.compile(r"\bkafka\.(?:coordinator|consumer|conn|client)\b|\baiokafka\b"),
    ),
    ("sarama", (b"arama]",), re.compile(r"\[[Ss]arama\]")),
    (
        "kafkajs",
        (b'"kafkajs"', b"[Consumer"),
        re.compile(r'"logger":"kafkajs"|\[Consumer(?:Group)?\] '),
    ),
    (
        "franz-go",
        (b"kgo", b"group:", b"heartbeat errored"),
        re.compile(r"\bkgo\b|(?:joining|joined|syncing|synced), group:|heartbeat errored; group:"),
    ),
)
"""(format, what one of its lines contains, what tells that it is its line)."""
_MOST_JUDGED = 20_000


def sniff(source: Source, notes: Notes) -> str:
    """The format that most lines of a log are of, or `unknown`. All lines are looked at, and
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
