"""A close that has begun is not told as one that is done: it may hang, and a static member does not
leave.
"""

from __future__ import annotations

import pytest

from groupcheck.traces.causes.diagnosis import diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.facts.steps import steps_told

RDKAFKA = "%7|1700000000.{}|{}|a#consumer-1| [thrd:main]: {}"
JAVA = "2024-03-04 10:00:00,302 DEBUG [Consumer clientId=c-1, groupId=g] {}"
KAFKAJS = '{{"level":"DEBUG","logger":"kafkajs","message":"{}","groupId":"g"}}'
PYTHON = "2024-03-04 10:00:00,301 DEBUG kafka.consumer.group {}"
CLOSING = RDKAFKA.format(110, "CLOSE", "Closing consumer")
TERMINATING = RDKAFKA.format(
    111, "CGRPTERM", 'Terminating group "g" in state up with 2 partition(s)'
)
WAITING = RDKAFKA.format(
    112,
    "CGRPTERM",
    'Group "g": waiting for 2 toppar(s), 0 unassignment(s), 0 commit(s), wait-leave (state up,'
    " join-state steady) before terminating",
)
LEAVES = RDKAFKA.format(310, "LEAVE", 'Group "g": leave (in state up)')
PREPARES = "Member abc with epoch 5 transitioned from STABLE to PREPARE_LEAVING"


def group_of(*lines: str) -> GroupEvidence:
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    return evidence.by_group()[0]


def told(*lines: str) -> str:
    """The reason why the group is calm, and the steps."""
    group = group_of(*lines)
    healthy = [f.text for f in diagnose(group, shipped_knowledge()).healthy]
    return "; ".join([*healthy, *(fact.text for fact in steps_told(group.all(), True))])


@pytest.mark.parametrize(
    "lines",
    [
        [CLOSING],
        [CLOSING, TERMINATING, WAITING],
        [JAVA.format("Closing the Kafka consumer")],
        [JAVA.format("Releasing assignment and leaving group before closing consumer")],
        [KAFKAJS.format("[Runner] stop consumer group")],
        [PYTHON.format("Closing the KafkaConsumer.")],
        ["[Worker clientId=w-1, groupId=g] Stopping the Connect group member"],
    ],
)
def test_a_close_that_has_begun_is_not_done(lines: list[str]) -> None:
    words = told(*lines)
    assert "begins to close" in words
    assert all(wrong not in words for wrong in ("left", "was closed", "has been closed", "leaves"))
    assert "has reached its coordinator" not in words
    assert diagnose(group_of(*lines), shipped_knowledge()).health == "unknown"


def test_a_member_that_prepares_to_leave_has_not_left() -> None:
    words = told(JAVA.format(PREPARES))
    assert "prepares to leave" in words and "leaves" not in words


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([CLOSING, TERMINATING, LEAVES], "left the group because its application closed it"),
        ([JAVA.format("Kafka consumer has been closed")], "was closed by its own application"),
        ([KAFKAJS.format("[Consumer] Stopped")], "was closed by its own application"),
        ([PYTHON.format("The KafkaConsumer has closed.")], "was closed by its own application"),
    ],
)
def test_a_close_that_is_done_is_told_so(lines: list[str], words: str) -> None:
    assert words in told(*lines)
    assert diagnose(group_of(*lines), shipped_knowledge()).health == "calm"
