"""Request logs of which somebody kept only a part: the lines of one client, of one API, of one
connection, of some minutes. Lines are missing then, and no answer is called impossible.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from groupcheck.traces.findings.report import FileReport, GroupReport
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parents[2] / "data"
RECORDINGS = (
    "requests/live-zombie",
    "requests/live-poll_timeout",
    "requests/live-broker_restart",
    "requests/live-static_bounce",
    "captures/kill.requests",
    "captures/everything.requests",
)
FIELDS = {name: re.compile(f'"{name}":"([^"]*)"') for name in ("clientId", "connection")}
FIELDS["api"] = re.compile('"requestApiKeyName":"([^"]*)"')
PARTS = 6

Lines = list[str]


@cache
def recording(name: str) -> tuple[str, ...]:
    return tuple(gzip.decompress((DATA / f"{name}.log.gz").read_bytes()).decode().splitlines())


def value(field: str, line: str) -> str:
    found = FIELDS[field].search(line)
    return found[1] if found else ""


def filtered(lines: tuple[str, ...]) -> Iterator[tuple[str, Lines]]:
    for field in FIELDS:
        for kept in sorted({value(field, line) for line in lines}):
            yield f"only {kept}", [line for line in lines if value(field, line) == kept]
            yield f"without {kept}", [line for line in lines if value(field, line) != kept]
    places = [k * len(lines) // PARTS for k in range(PARTS + 1)]
    for since, until in pairwise(places):
        yield f"{since} to {until}", list(lines[since:until])
        yield f"without {since} to {until}", [*lines[:since], *lines[until:]]


def replay(lines: Lines, path: Path) -> FileReport:
    file = path / "requests.log"
    file.write_text("\n".join(lines) + "\n")
    return replay_file(str(file))


def of_client(name: str, client: str) -> Lines:
    return [line for line in recording(name) if value("clientId", line) == client]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.night] * n.endswith("live-broker_restart"))
        for n in RECORDINGS
    ],
)
def test_no_filtered_log_is_called_violated(name: str, tmp_path: Path) -> None:
    for what, lines in filtered(recording(name)):
        report = replay(lines, tmp_path)
        assert report.verdict != "violated", (what, report.reason)


def group(lines: Lines, path: Path) -> GroupReport:
    return next(g for g in replay(lines, path).groups if g.group == "g1")


@pytest.mark.parametrize(("client", "others"), [("a", "1 other member"), ("b", "2 other members")])
def test_that_members_never_speak_is_the_reason(client: str, others: str, tmp_path: Path) -> None:
    """The process `a` has two ids."""
    found = group(of_client("requests/live-zombie", client), tmp_path)
    assert (found.verdict, found.unexplained_count) == ("unknown", 0)
    assert found.reason.startswith(f"nothing is judged: the log lacks requests of {others};")
    assert not {a.kind for a in found.anomalies} & {"unexplained_line", "gap"}
    assert found.findings.unowned == found.findings.absences == ()


def test_joins_that_are_missing_at_the_beginning_of_a_connection_are_noticed(
    tmp_path: Path,
) -> None:
    """No number shows that the connection of `b` lacks its first two requests."""
    joins = [f'"correlationId":{n},"clientId":"b"' for n in (2, 3)]
    lines = [x for x in recording("requests/live-zombie") if not any(j in x for j in joins)]
    assert len(lines) == len(recording("requests/live-zombie")) - 2
    found = group(lines, tmp_path)
    assert found.verdict == "unknown" and re.search("no line shows how b-.* joined", found.reason)


def test_what_is_impossible_whatever_is_missing_is_named_all_the_same(tmp_path: Path) -> None:
    lines = of_client("requests/live-poll_timeout", "a")
    beats = [k for k, line in enumerate(lines) if value("api", line) == "HEARTBEAT"]
    old = next(k for k in beats if '"generationId":1,' in lines[k] and '"errorCode":0' in lines[k])
    time = re.compile(r"\d\d:\d\d:\d\d,\d\d\d")
    back = time.sub(time.search(lines[beats[-2]])[0], lines[old])  # type: ignore[index]
    found = group([*lines[: beats[-2]], back, *lines[beats[-2] :]], tmp_path)
    wrong = [a.line for a in found.anomalies if a.kind == "unexplained_line"]
    assert (found.verdict, wrong) == ("violated", [beats[-2] + 1])


def test_a_group_that_was_made_again_may_begin_with_any_generation(tmp_path: Path) -> None:
    """DeleteGroups and JoinGroups were filtered out: a new member has a lower generation."""
    beats = [line for line in of_client("requests/live-zombie", "b") if "HEARTBEAT" in line]
    assert '"generationId":2' in beats[0]
    later = '"generationId":7'
    before = [line.replace('"generationId":2', later) for line in beats[:4]]
    after = [line.replace('"memberId":"b-', '"memberId":"c-') for line in beats[4:5]]
    assert replay([*before, *after], tmp_path).verdict != "violated"
    assert replay([*before, beats[4]], tmp_path).verdict == "violated"
