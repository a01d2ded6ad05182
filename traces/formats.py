"""Which program wrote a file, judged by its first lines. Logs that cannot be replayed yet are
named, so that the answer is clear.
"""

from __future__ import annotations

import re
from collections import Counter

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

_MARKS = [
    (BROKER_SCALA, re.compile(r"\[GroupCoordinator \d+\]: |\[GroupMetadataManager brokerId=\d+\]")),
    (BROKER_JAVA, re.compile(r"\[GroupCoordinator id=\d+")),
    (REQUEST_LOG, re.compile(r"Completed request:|kafka\.request\.logger")),
    ("offsets-dump", re.compile(r"\bisvalid: |^\| offset: \d+ |baseOffset: \d+ lastOffset: ")),
    ("librdkafka", re.compile(r"%[0-7]\|\d{9,}\.\d+\||\brdkafka#(?:consumer|producer)-\d")),
    (
        "java-client",
        re.compile(
            r"\[(?:Consumer|Worker)"
            r" (?:instanceId=|clientId=)|org\.apache\.kafka\.clients\.|o\.a\.k\.c|stream-thread \["
        ),
    ),
    ("kafka-python", re.compile(r"\bkafka\.(?:coordinator|consumer|conn|client)\b|\baiokafka\b")),
    ("sarama", re.compile(r"\[[Ss]arama\]")),
    ("kafkajs", re.compile(r'"logger":"kafkajs"|\[Consumer(?:Group)?\] ')),
    (
        "franz-go",
        re.compile(r"\bkgo\b|(?:joining|joined|syncing|synced), group:|heartbeat errored; group:"),
    ),
]
_SNIFFED_LINES = 400


def sniff(head: bytes) -> str:
    """The format of a file by the marks in its first lines, or `unknown`. `head`: how the file
    begins.
    """
    found: Counter[str] = Counter()
    for line in head.decode(errors="replace").splitlines()[:_SNIFFED_LINES]:
        for name, mark in _MARKS:
            if mark.search(line[:2000]):
                found[name] += 1
                break
    return found.most_common(1)[0][0] if found else UNKNOWN_FORMAT
