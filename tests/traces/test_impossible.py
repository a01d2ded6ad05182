"""Recordings with one impossible line, which is named, and recordings with lines taken away, of
which nobody is accused.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from groupcheck.traces.findings.report import FileReport
from groupcheck.traces.lines.sequences import outliers
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parent.parent / "data"
BROKER = (
    "replay/live-zombie.log",
    "replay/live-coop_join_kill.log",
    "replay/kafka41-console-group-scale.log",
    "replay/msk-kafkago-rebalance-storm.log.gz",
    "replay/easycab-144-rebalances-per-hour.log.gz",
)
REQUESTS = ("requests/live-zombie.log.gz", "requests/live-poll_timeout.log.gz")
GENERATION = re.compile(r"(?:with old generation|generation) (\d+)")
LEADER = re.compile(r"received from leader (\S+) for group (\S+) for generation (\d+)")
SECOND = re.compile(r"\d\d:\d\d:\d\d,\d\d\d")

Lines = list[str]


def lines_of(name: str) -> Lines:
    content = (DATA / name).read_bytes()
    text = gzip.decompress(content) if name.endswith(".gz") else content
    return text.decode().splitlines(keepends=True)


def replay(lines: Lines, path: Path) -> FileReport:
    file = path / "some.log"
    file.write_text("".join(lines))
    return replay_file(str(file))


def named(report: FileReport) -> list[int]:
    """The lines that are called impossible."""
    return [a.line for g in report.groups for a in g.anomalies if a.kind == "unexplained_line"]


def put(lines: Lines, at: int, line: str) -> Lines:
    """The line, with the time of the one before it, as line number `at` + 1."""
    time = SECOND.search(lines[at - 1])
    assert time is not None
    return [*lines[:at], SECOND.sub(time[0], line, count=1), *lines[at:]]


def group_of(line: str) -> str | None:
    found = re.search(r"\bgroup (\S+)", line)
    return found[1] if found else None


# -- one line too many


def older_generation(lines: Lines, rng: random.Random) -> Iterator[tuple[int, Lines]]:
    """A step of a generation that is long over."""
    steps = [
        (k, int(m[1]), group_of(line))
        for k, line in enumerate(lines)
        if (m := GENERATION.search(line)) and re.search("Preparing|Stabilized", line)
    ]
    later = [
        (k, old)
        for k, n, g in steps
        for old, older, h in steps
        if g == h and 1 < older < n - 2 and k < len(lines) - 4
    ]
    for k, old in rng.sample(later, min(3, len(later))):
        yield k + 1, put(lines, k + 1, lines[old])


def second_leader(lines: Lines, rng: random.Random) -> Iterator[tuple[int, Lines]]:
    """Another member leads a generation, too."""
    found = [(k, m) for k, line in enumerate(lines) if (m := LEADER.search(line))]
    pairs = [(k, m[1], n[1]) for k, m in found for _, n in found if m[2] == n[2] and m[1] != n[1]]
    for k, leader, other in rng.sample(pairs, min(3, len(pairs))):
        yield k + 1, put(lines, k + 1, lines[k].replace(leader, other))


@pytest.mark.parametrize("name", BROKER)
@pytest.mark.parametrize("insert", [older_generation, second_leader])
def test_one_impossible_line_of_a_coordinator_is_named_and_no_other(
    name: str,
    insert: Callable[[Lines, random.Random], Iterator[tuple[int, Lines]]],
    tmp_path: Path,
) -> None:
    lines = lines_of(name)
    assert named(replay(lines, tmp_path)) == []
    for at, changed in insert(lines, random.Random(name)):
        report = replay(changed, tmp_path)
        assert (report.verdict, named(report)) == ("violated", [at + 1]), report.reason


def parsed(line: str) -> dict:  # type: ignore[type-arg]
    record: dict = json.JSONDecoder().raw_decode(line, line.index("{"))[0]  # type: ignore[type-arg]
    return record


def of(lines: Lines, api: str, code: int) -> list[int]:
    return [
        k
        for k, line in enumerate(lines)
        if f'"{api}"' in line and parsed(line)["response"]["errorCode"] == code
    ]


def at_once(line: str) -> str:
    """The request did not wait."""
    return re.sub(r'"(totalTimeMs|remoteTimeMs|localTimeMs)":[\d.]+', r'"\1":0.5', line)


def sync_of_the_expelled(lines: Lines) -> Iterator[tuple[int, Lines]]:
    told = [k for k, line in enumerate(lines) if '"errorCode":25' in line]
    for k in told + of(lines, "LEAVE_GROUP", 0):
        member = re.search(r'"memberId":"([^"]+)"', lines[k])
        for s in of(lines, "SYNC_GROUP", 0) if member else ():
            if s < k < len(lines) - 6 and member[1] in lines[s]:  # type: ignore[index]
                yield k + 3, put(lines, k + 3, at_once(lines[s]))
                break


def generation_back(lines: Lines) -> Iterator[tuple[int, Lines]]:
    joins = of(lines, "JOIN_GROUP", 0)
    for k in joins[3:]:
        old = next(
            (j for j in joins if parsed(lines[j])["response"]["generationId"] == 2), joins[0]
        )
        if parsed(lines[k])["response"]["generationId"] > 3 and k + 6 < len(lines):
            yield k + 6, put(lines, k + 6, at_once(lines[old]))


def two_leaders(lines: Lines) -> Iterator[tuple[int, Lines]]:
    for k in of(lines, "JOIN_GROUP", 0):
        told = parsed(lines[k])["response"]
        if told["members"] and len(told["members"]) > 1:
            other = next(m["memberId"] for m in told["members"] if m["memberId"] != told["leader"])
            wrong = lines[k].replace(f'"leader":"{told["leader"]}"', f'"leader":"{other}"')
            yield k + 3, put(lines, k + 3, at_once(wrong))


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("insert", [sync_of_the_expelled, generation_back, two_leaders])
def test_one_impossible_answer_is_named_and_no_other(
    name: str, insert: Callable[[Lines], Iterator[tuple[int, Lines]]], tmp_path: Path
) -> None:
    lines = lines_of(name)
    tried = 0
    for at, changed in insert(lines):
        report = replay(changed, tmp_path)
        assert (report.verdict, named(report)) == ("violated", [at + 1]), report.reason
        tried += 1
    assert tried


# -- lines that are missing


@pytest.mark.parametrize("name", [*BROKER[:3], *REQUESTS])
def test_nobody_is_accused_of_lines_that_are_missing(name: str, tmp_path: Path) -> None:
    lines, rng = lines_of(name), random.Random(name)
    for _ in range(12):
        a = rng.randrange(1, len(lines) - 1)
        b = min(a + rng.choice([1, 2, 5, 10, 30]), len(lines) - 1)
        for left in (lines[:a] + lines[b:], lines[:a], lines[a:]):
            report = replay(left, tmp_path)
            assert report.verdict != "violated", (a, b, report.reason)


def test_lines_of_one_millisecond_may_stand_in_any_order(tmp_path: Path) -> None:
    lines = [line for line in lines_of("replay/live-zombie.log") if "07:50:14" in line]
    assert len({SECOND.search(line)[0] for line in lines}) < len(lines)  # type: ignore[index]
    assert replay(lines[::-1], tmp_path).verdict != "violated"


@pytest.mark.parametrize("cut", [8, 45])
def test_a_log_that_ends_before_all_are_answered_accuses_nobody(cut: int, tmp_path: Path) -> None:
    report = replay(lines_of("requests/live-zombie.log.gz")[:cut], tmp_path)
    assert report.verdict == "unknown" and "the log ends before all" in report.reason


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ([1, 2, 3], []),
        ([1, 5, 3, 6], [2]),  # of two that contradict each other, the later one
        ([5, 6, 7, 1, 8, 9], [3]),
        ([1, 2, 3, 99, 4, 5, 6, 7], [3]),
        ([5, 6, 7, 8, 0, 1, 2, 3], []),  # began anew
        ([5, 6, 7, 8, 2, 3], []),  # perhaps
        ([5, 6, 7, 8, 2], [4]),
    ],
)
def test_the_fewest_lines_are_wrong(values: list[int], wrong: list[int]) -> None:
    assert sorted(outliers([(v, 0) for v in values])) == wrong


def test_a_group_that_began_anew_in_missing_lines_may_reach_the_same_generation(
    tmp_path: Path,
) -> None:
    lines = lines_of("replay/connect-cluster-48-rebalances.log")
    report = replay([*lines[:110], *lines[188:]], tmp_path)
    assert report.verdict == "unknown" and named(report) == []


def test_a_group_that_began_anew_in_missing_lines_may_be_in_no_generation_yet(
    tmp_path: Path,
) -> None:
    lines = lines_of("replay/connect-cluster-48-rebalances.log")
    starts = [at for at, line in enumerate(lines) if "old generation 0 " in line]
    first = next(at for at, line in enumerate(lines) if "for generation 1 " in line)
    gap = [at for at in starts if at > first]
    accused = []
    for at in gap:  # the lines that tell of the restart are missing
        report = replay([*lines[: first + 1], *lines[at : at + 3]], tmp_path)
        accused += [(at, *named(report))] if named(report) else []
    assert gap
    assert accused == []
