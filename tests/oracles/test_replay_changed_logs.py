"""What `replay` says of a log stays true where the log is written down in another way, or where
less of it is there: real public excerpts in a frame, at another time, cut, or mixed with another.
"""

from __future__ import annotations

import datetime
import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from groupcheck.oracles.replay.answers import Answer
from groupcheck.oracles.replay.report import replay

DATA = Path(__file__).parent.parent / "data"
LOGS = {
    f"{folder}/{p.name}": p
    for folder in ("incidents", "incidents2", "incidents3")
    for p in sorted((DATA / folder).glob("*.log"))
}
BY_DAY = [*LOGS][::29]
"""A few of all kinds; at night all."""
DATE = re.compile(r"\b(20\d\d)-(\d\d)-(\d\d)(?=[ T]\d\d:)")
TIMED = re.compile(r"\d\d:\d\d:\d\d|\|\d{10}\.\d{3}\|")
CONTIGUOUS = ("rebalances", "expired", "left", "not_rejoined")
Lines = list[str]


def later(line: str) -> str:
    """The line 400 days later."""

    def moved(m: re.Match[str]) -> str:
        there = datetime.date(int(m[1]), int(m[2]), int(m[3])) + datetime.timedelta(days=400)
        return there.isoformat()

    return DATE.sub(moved, line)


FRAMES: dict[str, Callable[[int, str], str]] = {
    "docker compose": lambda k, line: f"app-1  | {line}",
    "kubectl": lambda k, line: f"[pod/app-6c9f4d7b8-xk2vz/app] {line}",
    "CRI": lambda k, line: f"2026-01-01T10:00:{k // 1000:02}.{k % 1000:03}000000Z stdout F {line}",
    "json-file": lambda k, line: json.dumps({"log": f"{line}\n", "stream": "stdout"}),
    "quotation": lambda k, line: f"> {line}",
    "code": lambda k, line: f"    {line}",
    "later": lambda k, line: later(line),
}


def answered(folder: Path, lines: Lines) -> dict[str, Answer]:
    log = folder / "changed.log"
    log.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return {a.group: a for a in replay([log]).answers}


def said(a: Answer) -> dict[str, Any]:
    """What an answer claims."""
    return {
        "health": a.health,
        "causes": [(f.cause.kind, f.confidence, f.overcome is None) for f in a.diagnosis.causes],
        "possible": [f.cause.kind for f in a.diagnosis.candidates],
        "counts": counts(a),
    }


def counts(a: Answer) -> dict[str, int]:
    totals: dict[str, int] = {}
    for g in a.shown:
        for name, n in g.timeline.counts.items():
            totals[name] = totals.get(name, 0) + n
        asked = sum(r.outcome == "open" for r in g.timeline.rounds)  # nothing came of it yet
        if asked:
            totals["rebalances"] -= asked
    return totals


def read(name: str) -> Lines:
    return LOGS[name].read_text(encoding="utf-8", errors="replace").split("\n")


def each() -> Iterator[Any]:
    for name in LOGS:
        marks = () if name in BY_DAY else pytest.mark.night
        yield pytest.param(name, marks=marks, id=name)


@pytest.mark.parametrize("name", [*each()])
def test_an_answer_does_not_depend_on_how_the_log_was_written_down(
    tmp_path: Path, name: str
) -> None:
    lines = read(name)
    whole = {group: said(a) for group, a in answered(tmp_path, lines).items()}
    own_times = sum(bool(TIMED.search(line)) for line in lines) * 2 >= len(lines)
    for frame, put in FRAMES.items():
        if frame == "CRI" and not own_times:
            continue  # its times are those of the lines, then
        changed = answered(tmp_path, [put(k, line) for k, line in enumerate(lines)])
        assert {group: said(a) for group, a in changed.items()} == whole, frame


@pytest.mark.parametrize("name", [*each()])
def test_less_of_a_log_shows_no_more_and_is_not_calm_beside_the_lines_of_a_cause(
    tmp_path: Path, name: str
) -> None:
    lines = read(name)
    whole = answered(tmp_path, lines)
    half, numbers = len(lines) // 2, range(1, len(lines) + 1)
    for part in (numbers[:half], numbers[half:], numbers[::2], numbers[1::2]):
        changed = answered(tmp_path, [lines[n - 1] for n in part])
        for group, a in changed.items():
            if group not in whole or part.step > 1 or bool(a.seen) != bool(whole[group].seen):
                continue
            mine, all_of_them = counts(a), counts(whole[group])
            more = {k for k in CONTIGUOUS if mine.get(k, 0) > all_of_them.get(k, 0)}
            assert not more, (group, mine, all_of_them)
        for group, a in whole.items():
            open = [f for f in a.diagnosis.causes if f.overcome is None]
            there = [f for f in open if all(s.line in part for s in f.lines)]
            if a.health in ("broken", "troubled") and there and group in changed:
                assert changed[group].health != "calm", (part, there[0].cause.kind)


def _timed(name: str) -> bool:
    lines = [line for line in read(name) if line.strip()]
    return len(lines) < 400 and all(TIMED.search(line) for line in lines)


PAIRS = [*itertools.pairwise(name for name in LOGS if _timed(name))]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(a, b, marks=() if k % 12 == 0 else pytest.mark.night, id=f"{a}+{b}")
        for k, (a, b) in enumerate(PAIRS)
    ],
)
def test_groups_of_two_logs_in_one_file_are_told_as_each_by_itself(
    tmp_path: Path, one: str, other: str
) -> None:
    """Lines that name no group are nobody's, then, so a group may only be less well known."""
    first, second = read(one), read(other)
    alone = [answered(tmp_path, lines) for lines in (first, second)]
    both = {**alone[0], **alone[1]}
    if "" in both or not alone[0].keys().isdisjoint(alone[1]):
        return
    mixed = answered(tmp_path, [*first, *second])
    for group, a in mixed.items():
        if not group:
            continue
        health = {a.health, both[group].health}
        assert len(health) == 1 or "" in mixed, (group, health)
        assert a.health != "calm" or both[group].health in ("calm", "unknown") or a.seen, group
        assert {f.cause.kind for f in a.diagnosis.causes} <= {
            f.cause.kind for f in both[group].diagnosis.causes
        }
