"""Which versions have the reported bugs of the mutations, by ticket.

What is not known is left out: a ticket without an entry names no version. Affected versions stand
here where the ticket or the release notes say them; where a bug was fixed says a tag of the
project's repository or its change log.
"""

from __future__ import annotations

from collections.abc import Mapping

VERSIONS: Mapping[str, str] = {
    "IBM/sarama#1462": "Sarama, not fixed when it was last looked at",
    "KAFKA-9184": "Kafka Connect 2.3, fixed in 2.4.0",
    "KAFKA-9841": "Kafka Connect, fixed in 2.5.1 and 2.6.0",
    "KAFKA-9848": "Kafka Connect, fixed in 2.5.1 and 2.6.0",
    "KAFKA-9851": "Kafka Connect, fixed in 2.5.1 and 2.6.0",
    "KAFKA-10413": "Kafka Connect, fixed in 2.6.2, 2.7.1 and 2.8.0",
    "KAFKA-10763": "Kafka Connect, fixed in 2.6.2, 2.7.1 and 2.8.0",
    "KAFKA-12495": "Kafka Connect, fixed in 3.4.0",
    "KAFKA-15693": "Kafka Connect, fixed in 3.5.2, 3.6.1 and 3.7.0",
    "KAFKA-10284": "Kafka 2.3.0 to 2.6.0, fixed in 2.6.1 and 2.7.0",
    "KAFKA-12890": "Kafka 2.6.1, 2.7 and 2.8.0, fixed in 2.8.1 and 3.0.0",
    "KAFKA-12983": "Kafka, fixed in 2.7.2, 2.8.1 and 3.0.0",
    "KAFKA-12984": "Kafka 2.4 to 2.8, fixed in 3.0.0",
    "KAFKA-13891": "Kafka 3.3.0 and 3.3.1, taken back in 3.3.2 and 3.4.0",
    "KAFKA-13435": "Kafka 2.3 to 3.1, fixed in 3.2.0 (KIP-814)",
    "KAFKA-13636": "Kafka, fixed in 2.8.2, 3.0.1, 3.1.1 and 3.2.0",
    "KAFKA-15784": "Kafka, fixed in 3.7.0",
    "KAFKA-16371": "Kafka, fixed in 3.7.1 and 3.8.0",
    "KAFKA-19163": "Kafka 4.0, fixed in 4.1.0",
    "KAFKA-4682": "Kafka, fixed in 2.1.0 (KIP-211)",
    "KAFKA-5247": "Kafka, fixed in 0.11.0.0",
    "KAFKA-8069": "Kafka, fixed in 2.2.0",
    "redpanda-data/redpanda#31483": "Redpanda, open when it was last looked at",
    "KAFKA-14016": "Kafka 3.3.0 and 3.3.1, fixed in 3.3.2 and 3.4.0",
    "KAFKA-13214": "Kafka, fixed in 2.7.2, 2.8.1 and 3.0.0",
    "KAFKA-13406": "Kafka 2.4 to 3.0.0, fixed in 2.8.2, 3.0.1 and 3.1.0",
    "KAFKA-14024": "Kafka 3.2.0, fixed in 3.2.1 and 3.3.0",
    "KAFKA-14196": "Kafka 3.2, fixed in 3.2.3 and 3.3.0",
    "KAFKA-14639": "Kafka, fixed in 3.4.1 and 3.5.0",
    "KAFKA-18641": "Kafka's new consumer, fixed early in 2025",
    "KAFKA-3117": "Kafka, fixed in 0.10.0.0",
    "KAFKA-3949": "Kafka, fixed in 0.10.1.0",
    "KAFKA-5154": "Kafka, fixed in 0.11.0.0",
    "KAFKA-7026": "Kafka 0.11 to 2.2, fixed in 2.3.0 (KIP-341)",
    "KAFKA-7610": "Kafka, fixed in 2.1.1 and 2.2.0 (KIP-394)",
    "KAFKA-7909": "Kafka, fixed in 2.2.0",
    "KAFKA-8104": "Kafka, fixed in 2.4.0",
    "KAFKA-8500": "Kafka, fixed before 2.3.0 was released",
    "KAFKA-8715": "Kafka, fixed in 2.3.1 and 2.4.0",
    "KAFKA-8220": "Kafka, fixed in 2.3.0",
    "KAFKA-8653": "Kafka 2.3.0, fixed in 2.3.1 and 2.4.0",
    "KAFKA-8972": "Kafka, fixed in 2.4.0",
    "KAFKA-9232": "Kafka, fixed in 2.4.1 and 2.5.0",
    "KAFKA-9741": "Kafka 2.4, fixed in 2.5.0",
    "KAFKA-9752": "Kafka 2.2 to 2.4, fixed in 2.5.0",
    "KAFKA-9801": "Kafka 2.3 and 2.4, fixed in 2.5.0",
    "KAFKA-9815": "Kafka, fixed in 2.5.0",
    "KAFKA-9885": "Kafka, fixed in 2.6.0",
    "KAFKA-15170": "Kafka, fixed in 3.7.1 and 3.8.0",
    "KAFKA-7831": "Kafka, fixed in 2.3.0",
    "aio-libs/aiokafka#1175": "aiokafka, open in August 2026",
    "aio-libs/aiokafka#727": "aiokafka, fixed in 0.7.1",
    "confluentinc/librdkafka#2782": "librdkafka, fixed in 1.4.2, and more of it in 1.9.0",
    "groupcheck finding 7": "Kafka 4.0.0 to 4.3.0",
    "groupcheck finding 9": "Kafka 4.0.0 to 4.3.0",
    "librdkafka 1.8.0": "librdkafka, fixed in 1.8.0",
    "librdkafka 2.2.0": "librdkafka, fixed in 2.2.0",
    "platformatic/kafka#267": "@platformatic/kafka, open in April 2026",
    "redpanda 6a11f7c4a2": "Redpanda, fixed in 22.1.1 and in a release of 21.11",
    "redpanda a90cd758c7": "Redpanda, fixed in 22.2.1",
    "segmentio/kafka-go#646": "kafka-go, open when it was last looked at",
    "streamnative/kop#380": "KoP, fixed with this pull request",
    "twmb/franz-go 4deed686": "franz-go, fixed in 1.21.4",
    "twmb/franz-go v1.10.0": "franz-go, fixed in 1.10.0",
    "twmb/franz-go v1.13.0": "franz-go, fixed in 1.13.0",
    "tulios/kafkajs#1474": "KafkaJS, fixed in 2.2.4",
    "twmb/franz-go 824e34d2": "franz-go, fixed in 1.21.3",
    "twmb/franz-go d7ae9db9": "franz-go, fixed in 1.21.4",
    "twmb/franz-go ee70930": "franz-go, fixed in 1.13.2",
}


def versions_of(ticket: str) -> str:
    """The known versions of a mutation's tickets; empty if there are none."""
    known = (VERSIONS.get(one.strip(), "") for one in ticket.split(","))
    return "; ".join(dict.fromkeys(filter(None, known)))
