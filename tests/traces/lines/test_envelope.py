"""What shippers put around a line is taken off, and the time that counts is the broker's own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupcheck.traces.lines.envelope import coordinator_sentence
from groupcheck.traces.lines.timestamps import from_number, parse_time

SAID = "Stabilized group g generation 5 (__consumer_offsets-7) with 3 members"
LINE = (
    f"[2024-10-25 17:25:16,582] INFO [GroupCoordinator 3]: {SAID}"
    " (kafka.coordinator.group.GroupCoordinator)"
)
AT = 1729877116582

WRAPPED = {
    "plain": LINE,
    "windows": LINE + "\r",
    "compose": f"broker-1  | {LINE}",
    "grep": f"server.log.2024-10-25:4711:{LINE}",
    "kubectl": f"2024-10-25T18:00:00.123456789Z {LINE}",
    "cri": f"2024-10-25T18:00:00.123456789Z stdout F {LINE}",
    "journald": f"Oct 25 18:00:00 host kafka-server-start.sh[123]: {LINE}",
    "strimzi": (
        "2024-10-25 17:25:16,582 INFO [GroupCoordinator 3]:"
        f" {SAID} (kafka.coordinator.group.GroupCoordinator) [group-metadata-manager-0]"
    ),
    "logger first": (
        "2024-10-25 17:25:16.582  INFO 1 --- [main] k.c.group.GroupCoordinator :"
        f" [GroupCoordinator 3]: {SAID}"
    ),
    "iso": (
        "2024-10-25T17:25:16.582Z [INFO] kafka.coordinator.group.GroupCoordinator -"
        f" [GroupCoordinator 3]: {SAID}"
    ),
    "zone": f"2024-10-25T19:25:16.582+02:00 INFO [GroupCoordinator 3]: {SAID}",
    "log4j DATE": f"25 Oct 2024 17:25:16,582 INFO [GroupCoordinator 3]: {SAID}",
    "colour": f"\x1b[32m[2024-10-25 17:25:16,582] INFO\x1b[0m [GroupCoordinator 3]: {SAID}\x1b[0m",
    "docker json": json.dumps(
        {"log": LINE + "\n", "stream": "stdout", "time": "2024-10-25T18:00:00.1Z"}
    ),
    "logstash": json.dumps(
        {
            "@timestamp": "2024-10-25T17:25:16.582Z",
            "level": "INFO",
            "message": f"[GroupCoordinator 3]: {SAID}",
        }
    ),
    "json in json": json.dumps(
        {"log": json.dumps({"message": f"[GroupCoordinator 3]: {SAID}", "timeMillis": AT})}
    ),
    "elastic": json.dumps(
        {
            "_source": {
                "@timestamp": "2024-10-25T17:25:16.582Z",
                "message": f"[GroupCoordinator 3]: {SAID}",
            }
        }
    ),
    "log4j2 json": json.dumps(
        {
            "instant": {"epochSecond": AT // 1000, "nanoOfSecond": 582_000_000},
            "message": f"[GroupCoordinator 3]: {SAID}",
        }
    ),
    "prefixed json": "broker-1  | "
    + json.dumps({"message": f"[GroupCoordinator 3]: {SAID}", "timestamp": str(AT)}),
    "csv": f'"2024-10-25 17:25:16.582","[GroupCoordinator 3]: {SAID}"',
}


@pytest.mark.parametrize("kind", WRAPPED)
def test_a_wrapped_line_is_the_same_line(kind: str) -> None:
    sentence = coordinator_sentence(WRAPPED[kind].rstrip("\r"))
    assert sentence is not None
    assert (sentence.text, sentence.broker, sentence.java, sentence.time) == (SAID, 3, False, AT)


def test_a_line_without_a_time_has_none() -> None:
    sentence = coordinator_sentence(f"[GroupCoordinator 3]: {SAID}")
    assert sentence is not None and sentence.time is None


def test_lines_of_the_group_metadata_class_have_no_marker_and_are_found() -> None:
    said = (
        "Group leader [member.id: a, group.instance.id: None] failed to join before rebalance"
        " timeout, while new leader b was elected."
    )
    sentence = coordinator_sentence(
        f"[2024-10-25 17:25:16,582] INFO {said} (kafka.coordinator.group.GroupMetadata)"
    )
    assert sentence is not None and sentence.text == said and sentence.broker is None


def test_other_lines_are_not_taken_for_the_coordinators() -> None:
    assert (
        coordinator_sentence(
            "[2024-10-25 17:25:16,582] INFO [Consumer clientId=a, groupId=g] Joined (x)"
        )
        is None
    )
    assert coordinator_sentence('{"message": {"text": 5}}') is None
    assert coordinator_sentence("") is None


def test_a_number_is_seconds_or_a_fraction_of_them_by_its_size() -> None:
    assert [
        from_number(n) for n in (1729877116, 1729877116582, 1729877116582000, 1.729877116582e18)
    ][:3] == [1729877116000, AT, AT]
    assert (
        from_number(5) is None and from_number(float("nan")) is None and from_number(1e300) is None
    )


@pytest.mark.parametrize(
    "text",
    ["2024-13-45 17:25:16", "2024-10-25 99:99:99", "Foo 25 17:25:16", "31 Feb 2024 10:00:00,000"],
)
def test_impossible_dates_are_no_dates(text: str) -> None:
    assert parse_time(text) in (None, 62716000, 36000000)  # a time of day may be left


@given(st.text(max_size=300))
def test_any_text_before_a_sentence_is_harmless(text: str) -> None:
    sentence = coordinator_sentence(text.replace("\n", " ") + f" [GroupCoordinator 3]: {SAID}")
    assert sentence is None or sentence.broker is not None
