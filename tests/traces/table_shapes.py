"""Tables of kafka-consumer-groups.sh, one for each shape that versions print."""

from __future__ import annotations

ID = "consumer-1-81fe8a2a-0b29-4964-a1d4-4741582132bb"


def spread(form: str, *rows: tuple[str, ...]) -> str:
    return "\n".join(form % row for row in rows)


# The first version that prints it -> text; the forms are those of ConsumerOffsetChecker and
# ConsumerGroupCommand.
SHAPES = {
    "0.8": spread(
        "%-15s %-30s %-3s %-15s %-15s %-15s %s",
        ("Group", "Topic", "Pid", "Offset", "logSize", "Lag", "Owner"),
        ("g", "t", "0", "10", "15", "5", ID),
        ("g", "t", "1", "7", "7", "0", "none"),
    ),
    "0.9": spread(
        "%s, %s, %s, %s, %s, %s, %s",
        ("GROUP", "TOPIC", "PARTITION", "CURRENT OFFSET", "LOG END OFFSET", "LAG", "OWNER"),
        ("g", "t", "0", "10", "15", "5", f"{ID}_/10.0.0.1"),
        ("g", "t", "1", "7", "7", "0", "none"),
    ),
    "0.10.0": spread(
        "%-30s %-30s %-10s %-15s %-15s %-15s %s",
        ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "OWNER"),
        ("g", "t", "0", "10", "15", "5", f"{ID}_/10.0.0.1"),
        ("g", "t", "1", "7", "7", "0", "none"),
    ),
    "0.10.2": "Consumer group 'g' has no active members.\n"
    + spread(
        "%-30s %-10s %-15s %-15s %-10s %-50s%-30s %s",
        ("TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST",
         "CLIENT-ID"),
        ("t", "0", "10", "15", "5", f"{ID}-and-more", "/10.0.0.1", "consumer-1"),
        ("t", "1", "7", "7", "0", "-", "-", "-"),
    ),
    "1.1": "$ bin/kafka-consumer-groups.sh --bootstrap-server b:9092 --describe --group g\n\n"
    + spread(
        "%-15s %-10s %-15s %-15s %-15s %-47s %-15s %s",
        ("TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST",
         "CLIENT-ID"),
        ("t", "0", "10", "15", "5", ID, "/10.0.0.1", "consumer-1"),
        ("t", "1", "7", "7", "0", "-", "-", "-"),
    ),
    "2.4": spread(
        "%-15s %-15s %-10s %-15s %-15s %-15s %-47s %-15s %s",
        ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID",
         "HOST", "CLIENT-ID"),
        ("g", "t", "0", "10", "15", "5", ID, "/10.0.0.1", "consumer-1"),
        ("g", "t", "1", "7", "7", "0", "-", "-", "-"),
    ),
    "4.0 --verbose": spread(
        "%-15s %-15s %-10s %-15s %-15s %-15s %-15s %-47s %-15s %s",
        ("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG",
         "CONSUMER-ID", "HOST", "CLIENT-ID"),
        ("g", "t", "0", "-", "10", "15", "5", ID, "/10.0.0.1", "consumer-1"),
        ("g", "t", "1", "3", "7", "7", "0", "-", "-", "-"),
    ),
}  # fmt: skip
