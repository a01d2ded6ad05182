"""Which lines of a broker's logs are kept: those of groups, untouched, each with what belongs to
it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupcheck.oracles.record.selection import (
    APIS,
    of_a_coordinator,
    of_a_group,
    select_file,
    selected,
    stamp,
)

AT = 1_795_000_000_000
LINE = "[2026-11-18 11:06:40,{:03}] INFO {}\n"


def request(api: str, client: str = "a") -> str:
    said = json.dumps(
        {"requestHeader": {"clientId": client, "requestApiKeyName": api}}, separators=(",", ":")
    )
    return LINE.format(1, f"Completed request:{said} (kafka.request.logger)")


def test_the_time_of_a_line_is_utc_in_milliseconds():
    assert stamp(LINE.format(7, "x")) == AT + 7
    assert stamp("\tat java.base/java.lang.Thread.run(Thread.java:840)\n") is None


@pytest.mark.parametrize("api", APIS)
def test_requests_of_the_group_apis_are_kept(api: str):
    assert of_a_group(request(api))


@pytest.mark.parametrize(
    "line",
    [
        request("FETCH"),
        request("PRODUCE"),
        request("FIND_COORDINATOR"),
        LINE.format(1, "JOIN_GROUP"),
    ],
)
def test_other_requests_are_not(line: str):
    assert not of_a_group(line)


def test_the_recorders_own_requests_are_left_out():
    assert not of_a_group(request("OFFSET_FETCH", "groupcheck-admin"))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "[GroupCoordinator id=1 topic=__consumer_offsets partition=2] Stabilized group g1"
            " (org.apache.kafka.coordinator.group.GroupMetadataManager)",
            True,
        ),
        (
            "[GroupCoordinator id=1] Loaded x"
            " (org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)",
            True,
        ),
        ("Loaded group (org.apache.kafka.coordinator.group.GroupMetadataManager)", True),
        (
            "[ShareCoordinator id=1] Loaded x"
            " (org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)",
            False,
        ),
        ("[BrokerServer id=1] group.coordinator.threads (kafka.server.BrokerServer)", False),
    ],
)
def test_lines_of_the_group_coordinator_are_kept_and_no_others(text: str, kept: bool):
    assert of_a_coordinator(LINE.format(1, text)) is kept


def test_a_stack_trace_goes_with_its_line():
    lines = [LINE.format(1, "yes"), "java.lang.X\n", "\tat y\n", LINE.format(2, "no"), "\tat z\n"]
    assert list(selected(lines, lambda line: "yes" in line)) == lines[:3]


def test_only_the_window_of_the_recording_is_kept():
    lines = [LINE.format(k, "x") for k in (1, 2, 3, 4)]
    assert list(selected(lines, lambda line: True, AT + 2, AT + 3)) == lines[1:3]


def test_what_is_kept_is_kept_byte_for_byte(tmp_path: Path):
    raw = LINE.format(1, "\r caf").encode() + b"\xff\x00\n" + LINE.format(2, "no").encode()
    (tmp_path / "from").write_bytes(raw)
    assert select_file(tmp_path / "from", tmp_path / "to", lambda line: "no" not in line) == 2
    assert (tmp_path / "to").read_bytes() == raw[: raw.index(b"[2026", 1)]


def test_a_log_that_was_never_written_is_an_empty_one(tmp_path: Path):
    assert select_file(tmp_path / "nothing", tmp_path / "to", of_a_group) == 0
    assert (tmp_path / "to").read_bytes() == b""
