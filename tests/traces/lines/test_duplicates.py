"""A log to which two appenders write is judged as if one did; what a coordinator did twice is not
taken for that.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from groupcheck.traces.findings.report import FileReport
from groupcheck.traces.lines.duplicates import PAIRS, WINDOW, DuplicateFilter, Line
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parents[2] / "data"
SCALE = "replay/kafka41-console-group-scale.log"
EXPIRY = "replay/kafka40-two-groups-expire.log.gz"
KRAFT = "replay/kraft-group-35-rebalances.log.gz"
ZOMBIE = "requests/live-zombie.log.gz"
LOGS = [
    SCALE,
    EXPIRY,
    KRAFT,
    "replay/live-zombie.log",
    ZOMBIE,
    "requests/live-broker_restart.log.gz",
]


def lines_of(name: str) -> list[str]:
    path = DATA / name
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as f:
        return [line.rstrip("\n") + "\n" for line in f]


def replay(path: Path, lines: Iterable[str]) -> FileReport:
    (path / "f.log").write_text("".join(lines))
    return replay_file(str(path / "f.log"))


def told(report: FileReport) -> list[object]:
    """All that is said of groups, but line numbers."""
    verdicts = [
        (
            g.group,
            g.verdict,
            g.unexplained_count,
            g.lines,
            dict(g.timeline.counts),
            len(g.timeline.rounds),
        )
        for g in report.groups
    ]
    return [
        report.verdict,
        [[(a.kind, a.text.partition(": ")[2]) for a in g.anomalies] for g in report.groups],
        verdicts,
    ]


def one_by_one(lines: Sequence[str]) -> list[str]:
    return [line for line in lines for _ in range(2)]


def in_blocks(lines: Sequence[str]) -> list[str]:
    return [line for k in range(0, len(lines), 7) for _ in range(2) for line in lines[k : k + 7]]


def by_two_threads(lines: Sequence[str]) -> list[str]:
    return [
        line
        for k in range(0, len(lines), 2)
        for line in (*lines[k : k + 2], *reversed(lines[k : k + 2]))
    ]


@pytest.mark.parametrize("twice", [one_by_one, in_blocks, by_two_threads])
@pytest.mark.parametrize("name", LOGS)
def test_what_two_appenders_write_is_judged_as_if_one_did(
    tmp_path: Path, name: str, twice: Callable[[Sequence[str]], list[str]]
) -> None:
    lines = lines_of(name)
    once, doubled = replay(tmp_path, lines), replay(tmp_path, twice(lines))
    assert told(doubled) == told(once)
    assert (doubled.lines, doubled.understood) == (2 * once.lines, 2 * once.understood)
    assert (
        f"{once.understood} lines appear twice, as if two appenders wrote to one file: taken once"
        in doubled.notes
    )
    assert not any("appear twice" in note for note in once.notes)


@pytest.mark.parametrize("name", [SCALE, ZOMBIE])
def test_a_log_may_begin_or_cease_to_be_doubled_in_the_middle(tmp_path: Path, name: str) -> None:
    lines = lines_of(name)
    once, half = replay(tmp_path, lines), len(lines) // 2
    assert told(replay(tmp_path, one_by_one(lines[:half]) + lines[half:])) == told(once)
    assert told(replay(tmp_path, lines[:half] + one_by_one(lines[half:]))) == told(once)


def test_a_line_that_stands_once_in_a_doubled_log_ends_nothing(tmp_path: Path) -> None:
    lines = lines_of(SCALE)
    doubled = one_by_one(lines)
    del doubled[41], doubled[61]
    assert told(replay(tmp_path, doubled)) == told(replay(tmp_path, lines))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (SCALE, ("generation 9 with", "generation 8 with")),
        (ZOMBIE, ('"errorCode":27', '"errorCode":0')),
    ],
)
def test_a_violation_stays_one_when_it_stands_twice(
    tmp_path: Path, name: str, change: tuple[str, str]
) -> None:
    lines = [line.replace(*change) for line in lines_of(name)]
    once = replay(tmp_path, lines)
    assert once.verdict == "violated" and told(replay(tmp_path, one_by_one(lines))) == told(once)


def test_what_happened_twice_in_one_millisecond_is_not_swallowed(tmp_path: Path) -> None:
    lines = lines_of(EXPIRY)
    k = next(k for k, line in enumerate(lines) if "has failed, removing it" in line)
    again = [*lines[: k + 1], *lines[k:]]
    once = replay(tmp_path, again)
    (failed,) = [g for g in once.groups if g.group in lines[k] and g.timeline.counts["expired"]][:1]
    assert (
        failed.lines
        == next(g.lines for g in replay(tmp_path, lines).groups if g.group == failed.group) + 1
    )
    assert told(replay(tmp_path, one_by_one(again))) == told(once)


@pytest.mark.parametrize(
    ("name", "said", "verdict"),
    [
        (SCALE, "Adding to the group now", "unknown"),
        (EXPIRY, "has failed, removing it", "unknown"),
        (KRAFT, "has left group", "unknown"),
        (SCALE, "Stabilized group", "holds"),
        (SCALE, "Created a new member id", "holds"),
    ],
)
def test_one_line_that_stands_twice_accuses_nobody(
    tmp_path: Path, name: str, said: str, verdict: str
) -> None:
    lines = lines_of(name)
    places = [k for k, line in enumerate(lines) if said in line]
    reports = [replay(tmp_path, [*lines[: k + 1], *lines[k:]]) for k in places]
    assert {report.verdict for report in reports} == {verdict} and not any(
        g.unexplained_count for report in reports for g in report.groups
    )
    if verdict == "unknown":
        assert f"line {places[0] + 2} repeats the one before it" in reports[0].reason


def test_the_same_line_a_millisecond_later_is_a_second_event(tmp_path: Path) -> None:
    lines = lines_of(EXPIRY)
    k = next(
        k
        for k, line in enumerate(lines)
        if "Adding to the group now" in line and line[:24] < lines[k + 1][:24]
    )
    later = re.sub(r",(\d{3})\]", lambda m: f",{int(m[1]) + 1:03}]", lines[k])
    report = replay(tmp_path, [*lines[: k + 1], later, *lines[k + 1 :]])
    assert report.verdict == "unknown" and "lines are missing" in report.reason


def test_a_burst_of_one_kind_of_line_told_twice_is_no_second_appender() -> None:
    burst = [(f"{k}", "expired") for k in range(4 * WINDOW) for _ in range(2)]
    once: DuplicateFilter[str] = DuplicateFilter()
    assert len(list(once.of(Line(said, said, kind, 1) for said, kind in burst))) == len(burst)
    assert (once.left_out, once.kept) == (0, len(burst) // 2)


@pytest.mark.parametrize(("pairs", "left_out"), [(PAIRS - 1, 0), (PAIRS, PAIRS)])
def test_a_few_pairs_prove_nothing(pairs: int, left_out: int) -> None:
    once: DuplicateFilter[str] = DuplicateFilter()
    lines = [Line(f"{k}", k, f"kind {k % 3}", 1) for k in range(pairs) for _ in range(2)]
    given = list(
        once.of([Line("before", "before", "x", 1), *lines, Line("after", "after", "x", 1)])
    )
    assert once.left_out == left_out and len(given) == 2 + 2 * pairs - left_out


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("copies", [1, 2])
def test_few_lines_are_held_back(size: int, copies: int) -> None:
    taken = 0

    def lines() -> Iterable[Line[int]]:
        nonlocal taken
        for k in range(1000):
            for _ in range(copies):
                taken += 1
                yield Line(k, k, "always the same", size)

    most = 2 * WINDOW if size == 1 else 10
    for given, _ in enumerate(DuplicateFilter[int]().of(lines()), 1):
        assert taken - given <= most


def test_no_broker_is_accused_where_it_is_not_clear_which_lines_were_doubled(
    tmp_path: Path,
) -> None:
    lines = [line.replace("generation 9 with", "generation 8 with") for line in lines_of(SCALE)]
    wrong = next(k for k, line in enumerate(lines) if "generation 8 with" in line)
    clear = lines[: wrong + 4] + one_by_one(lines[wrong + 4 :])
    assert replay(tmp_path, clear).verdict == "violated"
    report = replay(tmp_path, [lines[0], *clear])
    assert (
        report.verdict == "unknown"
        and "it is not clear whether two appenders wrote them" in report.reason
    )


def test_a_line_without_a_time_that_is_pasted_twice_accuses_nobody(tmp_path: Path) -> None:
    line = (
        "[GroupCoordinator 0]: Preparing to rebalance group g in state PreparingRebalance with old"
        " generation 1 (__consumer_offsets-10) (reason: removing member m-1 on heartbeat"
        " expiration) (kafka.coordinator.group.GroupCoordinator)\n"
    )
    assert replay(tmp_path, [line, line]).verdict != "violated"
