"""Generated logs of consumer groups (KIP-848): the replay of each tells what happened in the run of
the model, whatever the version and whoever wrote it.
"""

from __future__ import annotations

import json
import random
from base64 import urlsafe_b64decode
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from consumer_logs import (
    BROKERS,
    BY_DAY,
    DEBUG,
    GROUP,
    NATIVES,
    REQUESTS,
    groups_of,
    logs,
    moment,
    near,
    run_of,
    runs_of,
    truth,
    written,
)

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.generate.clock import FIRST_TIME
from groupcheck.oracles.generate.files import Order, generate
from groupcheck.oracles.generate.run import Owned, own_id
from groupcheck.oracles.replay.document import round_document
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.traces.causes.diagnosis import diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.knowledge import shipped_knowledge
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.partitions import Holdings
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.story.moments import Handover

TOLD = ("from_generation", "to_generation", "cause", "members", "size")
_AT_INFO = {"metadata_change": "not_told"}


def handovers(group: GroupReport) -> Iterator[tuple[Handover, str]]:
    """Each partition of each."""
    for one in group.timeline.rounds:
        for handover in one.handovers:
            for partition in handover.partitions:
                yield handover, f"t-{partition.rpartition('-')[2]}"


def check_handovers(group: GroupReport, had: Iterable[dict[str, Any]], *, ends: bool) -> int:
    """A handover begins where a member really had the partition, which was wanted back and given up
    when it says so, and ends where another one really was given it. Tells how many were compared.
    `ends`: every end of a membership is told in its own line.
    """
    known = [*had]
    compared = 0
    for handover, partition in handovers(group):
        asked, released = handover.asked, handover.released
        if released is not None and (ends or handover.how == "acknowledged"):
            (real,) = [
                one
                for one in known
                if (one["member"], one["partition"]) == (handover.source, partition)
                and near(released.time, moment(one["until"]))
            ]
            assert handover.how == real["how"]
            assert asked is None or near(asked.time, moment(real["asked"]))
            compared += 1
        if handover.taken is not None:
            assert any(
                (one["member"], one["partition"]) == (handover.heir, partition)
                and near(handover.taken.time, moment(one["since"]))
                for one in known
            )
            compared += 1
    return compared


def test_a_member_makes_its_id_as_kafka_s_uuid_does() -> None:
    choose = random.Random(1)
    for id in [own_id(choose) for _ in range(300)]:
        assert not id.startswith("-")
        assert UUID(bytes=urlsafe_b64decode(f"{id}==")).version == 4


@pytest.mark.parametrize(("dialect", "seed"), runs_of(BROKERS))
def test_a_coordinator_s_log_tells_each_rebalance(dialect: str, seed: int, tmp_path: Path) -> None:
    one = written(tmp_path, dialect, seed, 80_000)
    happened, had = truth(tmp_path, "rebalances"), truth(tmp_path, "partitions")
    compared = 0
    for g in groups_of(one):
        told = [printed(round_document(r)) for r in g.timeline.rounds]
        real = happened[g.group]
        if dialect not in DEBUG:  # only lines at DEBUG tell that a topic has grown
            real = [r | {"cause": _AT_INFO.get(r["cause"], r["cause"])} for r in real]
        assert [[t[key] for key in TOLD] for t in told] == [[r[key] for key in TOLD] for r in real]
        compared += len(told)
        if dialect not in DEBUG:
            continue
        assert g.verdict == "holds"
        assert [t["outcome"] for t in told] == [r["outcome"] for r in real]
        compared += check_handovers(g, had[g.group], ends=True)
        acknowledged = [h["partition"] for h in had[g.group] if h["how"] == "acknowledged"]
        seen = [partition for h, partition in handovers(g) if h.how == "acknowledged"]
        assert "unloaded" in g.timeline.counts or sorted(acknowledged) == sorted(seen)
    assert compared > 20


@pytest.mark.parametrize(("dialect", "seed"), runs_of(REQUESTS))
def test_a_request_log_is_judged_and_tells_true_epochs(
    dialect: str, seed: int, tmp_path: Path
) -> None:
    one = written(tmp_path, dialect, seed, 300_000)
    happened, had = truth(tmp_path, "rebalances"), truth(tmp_path, "partitions")
    compared = 0
    for g in groups_of(one):
        assert g.verdict == "holds"
        real = [r["to_generation"] for r in happened[g.group]]
        told = [r.to_generation for r in g.timeline.rounds]
        if told[0] == real[0] - 1:  # a member was told the epoch of a group that was new
            del told[0]
        assert [epoch for epoch in real if epoch in told] == told
        assert len(told) > len(real) / 3
        compared += check_handovers(g, had[g.group], ends=False)
    assert compared > 5


# -- members


def as_read(owned: Owned) -> tuple[int | None, str]:
    """Nobody tells in a log that he is killed."""
    return (None, "end of log") if owned.how == "killed" else (owned.until, owned.how)


def causes(statements: Iterable[Statement]) -> set[str]:
    evidence = Evidence()
    evidence.add_all(statements)
    found = (diagnose(group, shipped_knowledge()) for group in evidence.by_group())
    return {f.cause.kind for one in found for f in one.causes}


@pytest.mark.parametrize(("dialect", "seed"), runs_of(REQUESTS, (*BY_DAY, NATIVES[0])))
def test_members_tell_what_they_owned_and_when(dialect: str, seed: int) -> None:
    """To the millisecond, by the log of each process; and whether it polled in time."""
    run = run_of(dialect, seed)
    assert run.members is not None
    begin = round((FIRST_TIME - datetime(1970, 1, 1)).total_seconds() * 1000)
    for process, lines in logs(run):
        holdings, log = Holdings(), ClientLog()
        for one in log.statements(enumerate(lines, 1)):
            holdings.add(one)
        read = {
            (s.partition, (s.since or 0) - begin, s.until and s.until - begin, s.how)
            for s in holdings.spans_until(None)
        }
        true = {
            (f"t-{o.partition}", o.since, *as_read(o))
            for o in run.members.owned
            if o.process == process
        }
        assert read == true
        slow = any(p == process and w == "poll_timeout" for _, p, w in run.members.troubles)
        found = causes(log.statements(enumerate(lines, 1)))
        assert ("poll_timeout" in found) == slow


@pytest.mark.parametrize(("dialect", "seed"), runs_of(["requests-consumer", *NATIVES]))
def test_all_logs_together_name_who_did_not_poll_and_who_stood_still(
    dialect: str, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The coordinator is not blamed, and nobody is who did nothing."""
    order = Order(1, 1000, 1, (dialect,), seed, runs=1, clients=True)
    generate(tmp_path, order)
    cli.run(["replay", "--json", str(tmp_path / "logs")])
    (first, *_) = json.loads(capsys.readouterr().out)["groups"]
    assert first["verdict"] == "holds"
    real: dict[str, set[str]] = defaultdict(set)
    for trouble in truth(tmp_path, "troubles")[GROUP]:
        real[trouble["what"]].add(trouble["client"])
    told = {  # librdkafka's name of a client goes before its own number of the handle
        cause["kind"]: {who.partition("#")[0] for who in cause["who"]} for cause in first["causes"]
    }
    assert told.get("poll_timeout", set()) == real["poll_timeout"]
    assert told.get("client_stall", set()) <= real["frozen"]
    allowed = {"client_stall", "rebalance_storm", "session_expired_broker", "kip848_fenced"}
    held = {"kip848_slow_revoke", "kip848_held_back"}
    assert told.keys() <= {"poll_timeout", "missing_close", "kip848_static", *held, *allowed}
    requests = (tmp_path / "logs/requests-0001.log").read_text()
    assert ("kip848_static" in told) == ('"errorCode":111' in requests)
    late = any(r["cause"] == "rebalance_timeout" for r in truth(tmp_path, "rebalances")[GROUP])
    assert ("kip848_slow_revoke" in told) == late
