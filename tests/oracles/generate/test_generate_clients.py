"""Generated logs of members: what they say is what happened in the run, and beside the request log
nothing changes.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from itertools import islice
from pathlib import Path

import pytest
from attrs import evolve

from groupcheck.model.engine import UserError
from groupcheck.oracles.generate.clock import FIRST_TIME, Clock
from groupcheck.oracles.generate.dialects import DIALECTS
from groupcheck.oracles.generate.files import Order, generate
from groupcheck.oracles.generate.run import Owned, Process, Run
from groupcheck.oracles.generate.template import Filling
from groupcheck.traces.broker.broker_log import BrokerLog
from groupcheck.traces.causes.diagnosis import diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.partitions import Holdings
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.reading import source_of
from groupcheck.traces.replay import replay_file

RUNS = range(5)
# What members of the model go through besides: their sessions expire, and rounds begin anew.
EXPECTED = {
    "client_stall",
    "join_restarts",
    "network_cut",
    "rebalance_storm",
    "session_expired_broker",
}


def of_seed(seed: int) -> Run:
    run = DIALECTS["requests"].with_clients
    assert run is not None
    return run(seed)


@cache
def seeds() -> list[int]:
    """The first seeds whose runs come to rest: nothing is written of one that never does. Which
    they are depends on the order in which the model lists its steps.
    """
    resting = (seed for seed in range(4 * len(RUNS)) if of_seed(seed).lines)
    found = list(islice(resting, len(RUNS)))
    assert len(found) == len(RUNS), f"only the runs of {found} come to rest"
    return found


@cache
def printed(number: int) -> Run:
    """One of the runs that come to rest."""
    return of_seed(seeds()[number])


def logs(run: Run) -> Iterator[tuple[Process, list[str]]]:
    """The log of each process from its start to its end."""
    assert run.members is not None
    filling, clock = Filling("g", run.names), Clock()
    by: dict[Process, list[str]] = {}
    for at, who, parts in run.members.lines:
        by.setdefault(who, []).append(f"{clock.stamp(at)} {filling.line(parts)}")
    yield from by.items()


def said(lines: list[str]) -> list[Statement]:
    return list(ClientLog().statements(enumerate(lines, 1)))


def _as_read(owned: Owned) -> tuple[int | None, str]:
    """Nobody tells in a log that he is killed."""
    return (None, "end of log") if owned.how == "killed" else (owned.until, owned.how)


def causes(statements: list[Statement]) -> set[str]:
    evidence = Evidence()
    evidence.add_all(statements)
    return {
        f.cause.kind
        for group in evidence.by_group()
        for f in diagnose(group, shipped_knowledge()).causes
    }


@pytest.mark.parametrize("number", RUNS)
def test_what_is_read_from_a_log_is_what_happened(number: int) -> None:
    """Spans of ownership to the millisecond, and missed polls, of every process of a run."""
    run = printed(number)
    assert run.members is not None
    begin = round((FIRST_TIME - datetime(1970, 1, 1)).total_seconds() * 1000)
    for process, lines in logs(run):
        statements = said(lines)
        holdings = Holdings()
        for one in statements:
            holdings.add(one)
        read = {
            (s.partition, (s.since or 0) - begin, s.until and s.until - begin, s.how)
            for s in holdings.spans_until(None)
        }
        true = {
            (f"t-{o.partition}", o.since, *_as_read(o))
            for o in run.members.owned
            if o.process == process
        }
        assert read == true
        slow = any(p == process and w == "poll_timeout" for _, p, w in run.members.troubles)
        found = causes(statements)
        assert ("poll_timeout" in found) == slow
        assert found <= EXPECTED | {"poll_timeout"}


def test_the_runs_show_missed_polls_and_none() -> None:
    """So the test above can fail in both directions."""
    slow = {
        any(w == "poll_timeout" for _, p, w in run.members.troubles if p == process)
        for run in map(printed, RUNS)
        if run.members is not None
        for process, _ in logs(run)
    }
    assert slow == {True, False}


@pytest.mark.parametrize("number", RUNS[:1])
def test_the_request_log_is_the_same_with_and_without_members(number: int) -> None:
    assert printed(number).texts() == DIALECTS["requests"].run(seeds()[number]).texts()


@pytest.mark.parametrize("number", RUNS)
def test_the_coordinator_s_log_agrees_with_the_members(number: int, tmp_path: Path) -> None:
    """No line contradicts another, and the clocks are one; who did not poll in time left, and who
    was killed did not.
    """
    run, clock = printed(number), Clock()
    assert run.members is not None
    filling = Filling("g", run.names)
    told = [f"{clock.stamp(at)} {filling.line(parts)}" for at, parts in run.members.coordinator]
    (tmp_path / "coordinator.log").write_text("\n".join(told) + "\n")
    (report,) = replay_file(str(tmp_path / "coordinator.log")).groups
    assert report.verdict == "holds"
    evidence = Evidence()
    for process, lines in logs(run):
        name = f"{process.number}.{process.life}"
        evidence.add_all(ClientLog(name=name).statements(enumerate(lines, 1)))
    evidence.add_all(ClientLog(name="coordinator").statements(enumerate(told, 1)))
    listen = evidence.coordinator_claims.listener("coordinator")
    for event, text in BrokerLog(source_of(str(tmp_path / "coordinator.log"))).events():
        listen(event, text)
    (group,) = evidence.by_group()
    assert group.followed.impossible == ()
    assert group.skews and all(s.at_least <= 0 <= s.at_most for s in group.skews)
    ends = {(r.client, r.how) for r in group.removals}
    for _, process, what in run.members.troubles:
        how = "left" if what == "poll_timeout" else "expired"
        assert (f"client-{process.number}", how) in ends


def test_files_hold_the_same_and_are_replayed_with_the_request_log(tmp_path: Path) -> None:
    order = Order(groups=2, size=20_000, dialects=("requests",), runs=2, clients=True)
    generate(tmp_path / "a", order)
    made = sorted(path.name for path in (tmp_path / "a/logs").iterdir())
    writers = ("client-0", "client-1", "coordinator")
    assert made == [*(f"group-0000{g}.{w}.log" for g in "01" for w in writers), "requests-0001.log"]
    owned = [json.loads(line) for line in (tmp_path / "a/truth/owned.jsonl").open()]
    log = (tmp_path / "a/logs/group-00000.client-0.log").read_text()
    mine = [o for o in owned if (o["group"], o["client"]) == ("group-00000", "client-0")]
    assert len(mine) > 3
    for one in mine:
        assert f"[{one['since']}] INFO [Consumer clientId=client-0, groupId=group-00000]" in log
    late = [json.loads(line) for line in (tmp_path / "a/truth/troubles.jsonl").open()]
    assert {one["what"] for one in late} <= {"poll_timeout", "killed"} and late
    (report,) = [replay_file(str(p)) for p in (tmp_path / "a/logs").glob("requests*")]
    assert {g.verdict for g in report.groups} == {"holds"}
    assert not any(a.kind == "commit_from_non_owner" for g in report.groups for a in g.anomalies)

    generate(tmp_path / "b", evolve(order, packed=True))
    packed = tmp_path / "b/logs/group-00000.client-0.log.gz"
    assert gzip.decompress(packed.read_bytes()).decode() == log


def test_members_are_printed_only_beside_requests(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="members are not printed beside java-4"):
        Order(clients=True)
