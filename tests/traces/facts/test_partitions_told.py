"""A list of partitions that a line does not tell is unknown, and never empty."""

from __future__ import annotations

import pytest

from groupcheck.traces.causes.diagnosis import diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.client_log import MOST_CHARS, ClientLog
from groupcheck.traces.clients.partitions import partitions_told
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.steps import steps_told
from groupcheck.traces.facts.values import committed_offsets, value_of

NOTHING, UNKNOWN = 0, None
JAVA = "10:00:00,100 INFO [Consumer clientId=c-1, groupId=g] {}"
PYTHON = "2024-03-04 10:00:00,321 INFO kafka.coordinator.consumer {}"
AIOKAFKA = "2024-03-04 10:00:00,321 INFO aiokafka.consumer.group_coordinator: {}"
FAUST = "[2024-03-04 10:00:00,321] [1] [INFO] {}"
CUT = "{TopicPartition(topic='t', partition=0), TopicPar"
TABLE = """
┌Topic Partition Set─┬────────────┐
│ topic              │ partitions │
├────────────────────┼────────────┤
│ orders             │ {0-7}      │
└────────────────────┴────────────┘ for group g"""
PLAIN_TABLE = TABLE.translate(str.maketrans("│─┌└├", "|-+++"))


def statements(text: str) -> list[Statement]:
    return list(ClientLog().statements(enumerate(text.split("\n"), 1)))


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (JAVA.format("Adding newly assigned partitions: "), NOTHING),
        (JAVA.format("Adding newly assigned partitions: \norders-0, orders-1"), UNKNOWN),
        (JAVA.format("Adding newly assigned partitions: orders-0, orders-1"), 2),
        (JAVA.format("Adding newly assigned partitions: orders-0, orders-1, ..."), UNKNOWN),
        (JAVA.format("Adding newly assigned partitions: orders-0, orders-1, "), UNKNOWN),
        (JAVA.format("Setting newly assigned partitions [orders-0, ord"), UNKNOWN),
        (JAVA.format("Adding newly assigned partitions: orders-0, orders-1 (o.a.k.C)"), 2),
        (JAVA.format("Revoking previously assigned partitions []"), NOTHING),
        (PYTHON.format("Revoking previously assigned partitions set([]) for group g"), NOTHING),
        (PYTHON.format("Revoking previously assigned partitions set() for group g"), NOTHING),
        (FAUST.format("Setting newly assigned partitions" + TABLE), UNKNOWN),
        (FAUST.format("Revoking previously assigned partitions" + TABLE), UNKNOWN),
        (FAUST.format("Revoking previously assigned partitions" + PLAIN_TABLE), UNKNOWN),
        (AIOKAFKA.format("Setting newly assigned partitions frozenset() for group g"), NOTHING),
        (AIOKAFKA.format(f"Setting newly assigned partitions {CUT}... for group g"), UNKNOWN),
    ],
)  # fmt: skip
def test_a_line_tells_how_many_partitions_or_not(line: str, count: int | None) -> None:
    (said,) = statements(line)
    assert value_of(said, ".partitions") == count, said.fields


def test_a_line_that_is_longer_than_what_is_read_does_not_tell_how_many() -> None:
    names = ", ".join(f"{'t' * 200}-{n}" for n in range(MOST_CHARS // 150))
    (said,) = statements(JAVA.format(f"Adding newly assigned partitions: {names}"))
    assert value_of(said, ".partitions") is None


@pytest.mark.parametrize("text", ["[]", "{}", "( )", "set()", "set([])", "frozenset()", "map[]"])
def test_an_empty_list_is_empty_in_every_library(text: str) -> None:
    assert partitions_told(text, "sarama") == []


@pytest.mark.parametrize("text", ["", "orders", "[Topi...", "{TopicPartition(topic='t'", "…"])
def test_what_is_cut_is_unknown(text: str) -> None:
    assert partitions_told(text, "sarama") is None


def test_a_table_over_several_lines_is_no_empty_share() -> None:
    revoked = FAUST.format("Revoking previously assigned partitions" + TABLE)
    assigned = FAUST.format("Setting newly assigned partitions" + TABLE)
    evidence = Evidence()
    evidence.add_all(iter(statements(f"{revoked}\n{assigned}")))
    (group,) = evidence.by_group()
    (steps,) = steps_told(group.all(), True)
    assert "no partitions" not in steps.text and "gives partitions back" in steps.text
    found = diagnose(group, shipped_knowledge())
    assert {f.cause.kind for f in (*found.causes, *found.candidates)} == set()
    assert "without_partitions" not in group.tallies


def test_a_line_without_a_name_ends_the_silence_of_its_log() -> None:
    """aiokafka names its member in a line or two, and not in the others."""
    joined = "2024-03-04 10:00:{:02},001 INFO aiokafka.consumer.group_coordinator: {}"
    member = "aiokafka-0.7.2-11111111-1111-1111-1111-111111111111"
    lines = [
        joined.format(0, f"Joined group 'g' (generation 4) with member_id {member}"),
        joined.format(1, "Setting newly assigned partitions {TopicPartition(topic='t',"
                         " partition=0)} for group g"),
        joined.format(40, f"Joined group 'g' (generation 5) with member_id {member}"),
    ]  # fmt: skip
    evidence = Evidence()
    evidence.add_all(iter(statements("\n".join(lines))))
    assert "silent_after_step" not in evidence.by_group()[0].tallies
    evidence = Evidence()
    evidence.add_all(iter(statements("\n".join([lines[0], lines[2]]))))
    assert "silent_after_step" in evidence.by_group()[0].tallies


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"offsets": '{"topic":"t","partitions":[{"partition":0,"offset":"12"}]}'}, [("t-0", 12)]),
        ({"offsets": '{"topic":"t","partitions":[{"partition":0,"offset":"12'}, []),
        ({"offsets": "{t-0=OffsetAndMetadata{offset=7}, t-1=OffsetAndMetadata{offset=8"},
         [("t-0", 7)]),
        ({"offsets": "{t-0=OffsetAndMetadata{offset=7}, t-1=80..."}, [("t-0", 7)]),
        ({"offsets": "{t-0=1234567890123456789}"}, []),
        ({"topic": "t", "partition": 0, "offset": 12}, [("t-0", 12)]),
        ({"topic": "t", "partition": 0, "offset": "-1001"}, []),
        ({"topic": "t", "partition": 0, "offset": "12..."}, []),
        ({"topic": "t", "partition": 0, "offset": ""}, []),
    ],
)  # fmt: skip
def test_an_offset_that_is_cut_or_stands_for_none_is_no_offset(
    fields: dict[str, object], told: list[tuple[str, int]]
) -> None:
    said = Statement(kind="committed", line=1, text="", fields=fields)
    assert list(committed_offsets(said)) == told
