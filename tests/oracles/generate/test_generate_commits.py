"""What members of generated consumer groups commit, as the log of the coordinator, the request log
and their own logs tell it.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from consumer_logs import (
    DEBUG,
    NATIVE,
    NATIVES,
    REQUESTS,
    groups_of,
    logs,
    run_of,
    runs_of,
    truth,
    written,
)

from groupcheck.model.protocol.codes import NONE
from groupcheck.traces.clients.client_log import ClientLog

_COMMITTING = re.compile(
    r"\[GroupId (\S+)\] Committing offsets (\d+) for partition \S*(t-\d) from member (\S+) with"
)
BY_DAY = ("consumer-4.3-debug", "requests-consumer", NATIVE)


@pytest.mark.parametrize(("dialect", "seed"), runs_of(REQUESTS, BY_DAY))
def test_a_request_log_tells_each_commit_and_its_answer(
    dialect: str, seed: int, tmp_path: Path
) -> None:
    one = written(tmp_path, dialect, seed, 150_000)
    made = truth(tmp_path, "commits")
    for g in groups_of(one):
        assert g.requests is not None
        facts, mine = g.requests.facts, made[g.group]
        assert facts.requests["OFFSET_COMMIT"] == len(mine) > 20
        refused: dict[str, Counter[str]] = {}
        for commit in mine:
            code = commit["answer"].partition(" ")[0]
            if code != "0":
                api = refused.setdefault(f"OFFSET_COMMIT {code}", Counter())
                api[commit["client"]] += 1
        told = {key: by for key, by in facts.errors.items() if key.startswith("OFFSET_COMMIT")}
        assert told == refused
        latest: dict[str, int] = {}
        back = []
        for commit in mine:
            if commit["answer"] != "0 NONE":
                continue
            for partition, offset in commit["offsets"].items():
                if offset < latest.get(partition, -1):
                    back.append((partition[2:], offset, commit["client"]))
                latest[partition] = offset
        rewinds = [(r.partition.rpartition("-")[2], r.committed, r.by) for r in facts.rewinds]
        assert rewinds == back


@pytest.mark.parametrize(("dialect", "seed"), runs_of(DEBUG, BY_DAY))
def test_a_coordinator_s_log_tells_each_offset(dialect: str, seed: int, tmp_path: Path) -> None:
    one = written(tmp_path, dialect, seed, 60_000)
    told = Counter(_COMMITTING.findall(one.path.read_text()))
    real = Counter(
        (group, str(offset), partition, commit["member"])
        for group, made in truth(tmp_path, "commits").items()
        for commit in made
        if commit["answer"] == "0 NONE"
        for partition, offset in commit["offsets"].items()
    )
    assert told == real
    assert len(real) > 50


@pytest.mark.parametrize(("dialect", "seed"), runs_of(REQUESTS, BY_DAY))
def test_members_tell_of_commits_that_were_refused(dialect: str, seed: int) -> None:
    """Java's tell of no others at INFO; librdkafka's of all."""
    run = run_of(dialect, seed)
    read: Counter[int] = Counter()
    for process, lines in logs(run):
        for said in ClientLog().statements(enumerate(lines, 1)):
            refusal = said.kind == "commit_refused" and "] OffsetCommit failed" in said.text
            stored = "OffsetCommit for" in said.text and said.text.endswith("Success")
            if refusal or stored:
                read[process.number] += 1
    native = dialect in NATIVES
    assert read == Counter(c.process for c in run.commits if native or c.code != NONE)
