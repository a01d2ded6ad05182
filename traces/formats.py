"""The formats of logs."""

from __future__ import annotations

BROKER_SCALA, BROKER_JAVA, REQUEST_LOG, PACKET_CAPTURE, OFFSETS_DUMP, UNKNOWN_FORMAT = (
    "broker-scala",
    "broker-java",
    "request-log",
    "packet-capture",
    "offsets-dump",
    "unknown",
)
OF_COORDINATORS = (BROKER_SCALA, BROKER_JAVA, REQUEST_LOG, PACKET_CAPTURE)
"""They show the steps of group coordinators."""
WALKED = ("classic", "cooperative")
"""Protocols of groups whose steps `explore --from LOG` walks."""
REPLAYED = {
    "broker": "The group coordinator's log, old or new coordinator (the default).",
    BROKER_SCALA: "The old coordinator's log (kafka.coordinator.group, Kafka 0.9 to 3.9).",
    BROKER_JAVA: (
        "The new coordinator's log (org.apache.kafka.coordinator.group, Kafka 3.6 on, the only one"
        " from 4.0)."
    ),
    REQUEST_LOG: "The broker's request log (kafka.request.logger at DEBUG, JSON, Kafka 2.8 on).",
    PACKET_CAPTURE: (
        "A packet capture (pcap, pcapng) of connections to brokers without TLS: requests of the"
        " group APIs and their answers."
    ),
    OFFSETS_DUMP: (
        "A dump of __consumer_offsets: kafka-dump-log.sh --offsets-decoder, or the console consumer"
        " with a formatter for offsets or groups."
    ),
}
GROUP_TABLES, EVENTS = "consumer-groups", "events"
CLIENTS = {
    GROUP_TABLES: (
        "Output of kafka-consumer-groups.sh (Kafka 0.9 on): --describe with --offsets, --members,"
        " --verbose or --state, once or repeated; --list, --delete, --reset-offsets and"
        " --delete-offsets, with its errors."
    ),
    "java-client": "Logs of the Java consumer, of Spring, Kafka Connect and Kafka Streams.",
    "librdkafka": "librdkafka's log and those of its wrappers (Python, Go, .NET, Node, Rust, ...).",
    "kafka-python": "Logs of kafka-python.",
    "aiokafka": "Logs of aiokafka.",
    "sarama": "Logs of sarama.",
    "franz-go": "Logs of franz-go.",
    "kafka-go": "Logs and error texts of kafka-go.",
    "kafkajs": "Logs of KafkaJS.",
    "ruby": "Logs of ruby-kafka and racecar.",
    EVENTS: "groupcheck's own events of clients, one JSON object a line (groupcheck.event/1).",
    "client": "Lines about groups of which no client library is known.",
}
"""Read for statements about groups, from which causes follow."""
