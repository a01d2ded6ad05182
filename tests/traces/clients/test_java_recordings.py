"""Logs of Java consumers of six versions, recorded against a broker 4.3.0, say what was done.

In each run two processes share a group with max.poll.interval.ms = 5000 and, but for KIP-848,
session.timeout.ms = 6000. Process b does not poll for 9 s from its sixth second on, then commits.
Later process a is frozen for 9 s (SIGSTOP). Both close their consumers at the end.
"""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import pytest

from groupcheck.traces.causes.diagnosis import Diagnosis, diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.partitions import Holdings, HoldingSpan
from groupcheck.traces.clients.statement import Statement

DATA = Path(__file__).parents[2] / "data" / "clients"
RUNS = sorted({p.name.rsplit(".", 3)[0] for p in DATA.glob("recorded-*.log.gz")})
EXPIRED = {"session_expired_client", "session_expired_broker"}


def recorded(run: str, process: str) -> list[Statement]:
    lines = gzip.decompress((DATA / f"{run}.{process}.log.gz").read_bytes()).decode().splitlines()
    return list(ClientLog().statements(enumerate(lines, 1)))


def held(statements: list[Statement]) -> list[HoldingSpan]:
    holdings = Holdings()
    for one in statements:
        holdings.add(one)
    return holdings.spans_until(max(s.time or 0 for s in statements))


def diagnosed(statements: list[Statement]) -> Diagnosis:
    evidence = Evidence()
    evidence.add_all(statements)
    (group,) = evidence.by_group()
    return diagnose(group, shipped_knowledge())


def test_there_are_six_runs() -> None:
    assert len(RUNS) == 6


@pytest.mark.parametrize("run", RUNS)
def test_the_slow_process_has_a_poll_timeout_and_nothing_else(run: str) -> None:
    found = diagnosed(recorded(run, "b"))
    assert [(f.cause.kind, f.confidence) for f in found.causes] == [("poll_timeout", "certain")]
    assert found.causes[0].present == {"max.poll.interval.ms": "5000", "max.poll.records": "500"}


@pytest.mark.parametrize("run", [r for r in RUNS if "kip848" not in r])
def test_the_frozen_process_has_lost_its_session(run: str) -> None:
    found = diagnosed(recorded(run, "a"))
    (cause,) = found.causes
    assert cause.cause.kind in EXPIRED


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("process", ["a", "b"])
def test_the_settings_are_read(run: str, process: str) -> None:
    (setting,) = (s for s in recorded(run, process) if s.kind == "setting")
    assert setting.fields["setting_max__poll__interval__ms"] == 5000
    assert setting.group.startswith("g-v")


@pytest.mark.parametrize("run", RUNS)
def test_every_partition_has_one_owner_but_for_the_stalls(run: str) -> None:
    """What one process still holds while it stands still, the other one is given."""
    sides = {process: recorded(run, process) for process in "ab"}
    lives = [(process, span) for process, some in sides.items() for span in held(some)]
    assert {o.partition for _, o in lives} == {f"orders-{n}" for n in range(4)}
    stalls = {
        "a": max(pairwise(s.time or 0 for s in sides["a"]), key=lambda gap: gap[1] - gap[0]),
        "b": _late(sides["b"]),
    }
    overlaps = [
        (max(x.since or 0, y.since or 0), min(x.until or 0, y.until or 0))
        for p, x in lives
        for q, y in lives
        if p < q and x.partition == y.partition
    ]
    for begin, end in overlaps:
        if begin < end:
            assert any(a <= begin and end <= b + 100 for a, b in stalls.values())


def _late(statements: list[Statement]) -> tuple[int, int]:
    """From the poll timeout until the application was back."""
    begin = next(s.time for s in statements if s.kind == "poll_expired")
    end = next(s.time for s in statements if s.kind in ("commit_refused", "poll_resumed"))
    assert begin is not None
    assert end is not None
    return begin, end
