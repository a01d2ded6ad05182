"""A coordinator's line is understood in whatever people paste it, and never lost without a word."""

from __future__ import annotations

import gzip
import html
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groupcheck.traces.broker.pasted import readings
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parents[2] / "data"
TIME, LOGGER = "[2024-10-25 17:25:16,582]", "(kafka.coordinator.group.GroupCoordinator)"
SAID = (
    "Preparing to rebalance group my-orders_1 in state PreparingRebalance with old generation 4"
    " (__consumer_offsets-7) (reason: Removing member c-1 on LeaveGroup; client reason: a, b | c)"
)
BARE = f"INFO [GroupCoordinator 3]: {SAID}"
LINE = f"{TIME} {BARE} {LOGGER}"
QUOTED = LINE.replace('"', '""')

FRAMES = {
    "cloudwatch": f'"2024-10-25 17:25:16.582","{QUOTED}","123456:/kafka/broker","i-0abc"',
    "cloudwatch without a logger": f'1729877116582,"{TIME} {BARE}",/kafka/broker,i-0abc',
    "semicolons": f'"{TIME}";"{BARE} {LOGGER}";"broker-3"',
    "tabs": f"{TIME}\t{BARE}\tbroker-3\tINFO",
    "bold": f"{TIME} **{BARE}** {LOGGER}",
    "bold marker": f"**{TIME}** INFO **[GroupCoordinator 3]:** {SAID}",
    "bold group": LINE.replace("my-orders_1", "**my-orders_1**"),
    "code": f"`{LINE}`",
    "a table": f"| {TIME} | {BARE} | broker-3 |",
    "escaped brackets": LINE.replace("[", "\\[").replace("]", "\\]").replace("_", "\\_"),
    "html": f"<td><b>{TIME}</b> <span class='x'>{BARE.replace('[', '&#91;')}</span></td><br/>",
    "quoted mail": f"> > {LINE}",
    "a prompt": f"user@host:~$ {LINE}",
    "docker compose": f"broker1     | {LINE}",
    "stern": f"kafka-0 kafka {LINE}",
    "kubectl": f"[pod/kafka-0/kafka] {LINE}",
    "typographic": f"“{LINE}”",
    "columns behind": f"{LINE}    broker-3   kafka   INFO",
    "a thread behind": f"{LINE} [data-plane-kafka-request-handler-3]",
    "line of class": LINE.replace("GroupCoordinator)", "GroupCoordinator:63)"),
    "json over lines": f'  "message": "{BARE} {LOGGER}",',
    "without marker": f"{TIME} {SAID}",
    "without marker and time": SAID,
    "colours": f"\x1b[32m{TIME}\x1b[0m {BARE} {LOGGER}",
}


@pytest.mark.parametrize("frame", FRAMES)
def test_a_line_is_understood_in_every_frame(tmp_path: Path, frame: str) -> None:
    path = tmp_path / "f.log"
    path.write_text(FRAMES[frame] + "\n")
    report = replay_file(str(path))
    assert (report.understood, report.strange) == (1, 0)
    (group,) = report.groups
    assert group.group == "my-orders_1"
    (rebalance,) = group.timeline.rounds
    assert rebalance.causers == ("c-1",) and rebalance.client_reason == "a, b | c"
    assert group.coordinator == (None if frame.startswith("without") else 3)
    timeless = ("json over lines", "without marker and time")
    assert (rebalance.started is not None) and (
        (rebalance.started.time is None) == (frame in timeless)
    )


@pytest.mark.parametrize(
    "line",
    [
        f"{TIME} INFO [GroupCoordinator 3]: What no version prints, of group g {LOGGER}",
        f"{TIME} INFO [GroupCoordinator 3] {SAID[:40]}",
        f"{TIME} INFO [GroupCoordinator 3]: {SAID[:40]}",
        f"{TIME} INFO [GroupCoordinator three]: {SAID[:40]}",
        f"{TIME} INFO [GroupMetadataManager brokerId=3] What no version prints",
    ],
)
def test_a_line_that_is_not_understood_is_counted_and_shown(tmp_path: Path, line: str) -> None:
    path = tmp_path / "f.log"
    path.write_text(line + "\n")
    report = replay_file(str(path))
    assert (report.understood, report.strange, len(report.samples)) == (0, 1, 1)


def test_text_behind_a_sentence_that_is_no_column_is_not_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "f.log"
    line = (
        "INFO [GroupCoordinator 3]: Stabilized group g generation 5 (__consumer_offsets-7) with 3"
    )
    path.write_text(f"{line} members, and more\n{line} members too many\n")
    report = replay_file(str(path))
    assert (report.understood, report.strange) == (0, 2)


@settings(max_examples=300)
@given(
    st.sampled_from(list(FRAMES.values())),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.integers(0, 300),
)
def test_any_change_of_a_line_gives_readings(line: str, some: str, at: int) -> None:
    assert all(r.text is not None for r in readings(line[:at] + some + line[at:]))


@pytest.mark.parametrize("text", ["<a ", " ", '"', "\t", "**", "[", "(kafka.", "Group ", "&#1"])
def test_a_long_line_does_not_take_long(text: str) -> None:
    line = "[GroupCoordinator 3]: " + text * (200_000 // len(text))
    assert sum(len(r.text) > 0 for r in readings(line)) < 30


@pytest.mark.parametrize(
    "before",
    [
        "",
        f"{TIME} INFO ",
        "kafka-1  | DEBUG ",
        "10:00:00 INFO GroupMetadataManager - ",
        "INFO  x: ",
    ],
)
def test_a_line_of_a_consumer_group_needs_no_marker(tmp_path: Path, before: str) -> None:
    path = tmp_path / "f.log"
    said = [
        "[GroupId orders] Bumped group epoch to 3.",
        "[GroupId orders] Member m-1 fenced from the group because the member session expired.",
        "[GroupId orders][MemberId m-1] What a version prints of a streams group.",
    ]
    path.write_text("".join(f"{before}{line}\n" for line in said))
    report = replay_file(str(path))
    assert (report.understood, report.strange) == (3, 0)
    assert [group.group for group in report.groups] == ["orders"]


REQUESTS = gzip.decompress((DATA / "requests" / "live-zombie.log.gz").read_bytes()).decode()


def as_json(line: str) -> str:
    """As a JSON layout prints it, which tells the time beside the message."""
    time, _, message = line.partition("] DEBUG ")
    return json.dumps({"@timestamp": time[1:].replace(",", ".") + "Z", "message": message})


@pytest.mark.parametrize(
    "framed",
    [
        lambda line: line,
        lambda line: f"broker1  | {line}",
        lambda line: '"2026-11-21 07:50:00.912","' + line.replace('"', '""') + '","/kafka/broker"',
        lambda line: f"<td>{html.escape(line)}</td>",
        lambda line: line.replace('"', '\\"'),
        lambda line: line.replace('"', "”"),
        lambda line: f"> {line.replace(':{', ': {', 1)}    broker-3",
        as_json,
    ],
    ids=["as it is", "compose", "table", "html", "escaped", "typographic", "quoted", "json"],
)
def test_a_request_log_is_understood_in_every_frame(
    tmp_path: Path, framed: Callable[[str], str]
) -> None:
    path = tmp_path / "f.log"
    path.write_text("".join(f"{framed(line)}\n" for line in REQUESTS.splitlines()))
    report = replay_file(str(path))
    expected = replay_file(str(DATA / "requests" / "live-zombie.log.gz"))
    assert (report.understood, report.strange) == (expected.understood, 0)
    assert (report.verdict, report.reason) == (expected.verdict, expected.reason)
