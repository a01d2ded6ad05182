"""Generated logs of consumer groups (KIP-848), and the truth about them, for tests."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from groupcheck.oracles.generate.clock import Clock
from groupcheck.oracles.generate.dialects import DIALECTS
from groupcheck.oracles.generate.files import Order, Written, generate
from groupcheck.oracles.generate.run import Process, Run
from groupcheck.oracles.generate.template import Filling
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.replay import replay_file

CONSUMER = [dialect for dialect in DIALECTS.values() if dialect.consumer]
BROKERS = [dialect.name for dialect in CONSUMER if not dialect.requests]
DEBUG = [name for name in BROKERS if name.endswith("debug")]
REQUESTS = [dialect.name for dialect in CONSUMER if dialect.requests]
NEAR_MS = 2
"""A request log has the moment at which the answer was sent."""
SEEDS = range(1, 16)
BY_DAY = ("consumer-4.4", "consumer-4.2-debug", "requests-consumer")
"""With the first seed."""
GROUP = "group-00000"
NATIVE = "requests-consumer-librdkafka"
NATIVES = (NATIVE, f"{NATIVE}-static")


def runs_of(dialects: Iterable[str], by_day: Sequence[str] = BY_DAY) -> list[Any]:
    """Each dialect with each seed."""
    return [
        pytest.param(
            dialect,
            seed,
            marks=() if dialect in by_day and seed == SEEDS[0] else pytest.mark.night,
        )
        for dialect in dialects
        for seed in SEEDS
    ]


def truth(folder: Path, name: str) -> dict[str, list[dict[str, Any]]]:
    """The lines of a truth file by group."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in (folder / f"truth/{name}.jsonl").read_text().splitlines():
        found[json.loads(line)["group"]].append(json.loads(line))
    return found


def written(folder: Path, dialect: str, seed: int, size: int) -> Written:
    order = Order(groups=2, size=size, dialects=(dialect,), runs=2, seed=seed)
    (one,) = generate(folder, order)
    return one


def groups_of(one: Written) -> Sequence[GroupReport]:
    """All of its groups, each of whose lines is understood."""
    report = replay_file(str(one.path))
    assert report.strange == 0, report.reason
    assert (report.understood, report.foreign) == (one.lines, one.others)
    return report.groups


def moment(text: str | None) -> int | None:
    if text is None:
        return None
    return round(
        datetime.strptime(text, "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC).timestamp() * 1000
    )


def near(told: int | None, real: int | None) -> bool:
    if told is None or real is None:
        return told is real
    return abs(told - real) <= NEAR_MS


def run_of(dialect: str, seed: int) -> Run:
    """The first run from this seed on that comes to its end."""
    make = DIALECTS[dialect].with_clients
    assert make is not None
    found = (make(k) for k in range(seed * 100, seed * 100 + 100))
    return next(run for run in found if run.lines)


def logs(run: Run) -> Iterator[tuple[Process, list[str]]]:
    """The log of each process from its start to its end."""
    assert run.members is not None
    filling, clock = Filling("g", run.names, generation=1), Clock()
    by: dict[Process, list[str]] = {}
    for at, who, parts in run.members.lines:
        by.setdefault(who, []).extend(clock.line(at, filling, parts).split("\n"))
    yield from by.items()
