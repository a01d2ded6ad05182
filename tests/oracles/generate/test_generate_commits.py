"""What members of generated consumer groups commit, as the log of the coordinator, the request log
and their own logs tell it.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
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
from groupcheck.model.protocol.consumer.commits import STORED, judged
from groupcheck.model.protocol.consumer.messages import Commit, Sender, Tag
from groupcheck.oracles.generate.consumer.positions import Positions
from groupcheck.oracles.generate.consumer.runs import Printed
from groupcheck.oracles.generate.dialects import DIALECTS
from groupcheck.traces.clients.client_log import ClientLog

_COMMITTING = re.compile(
    r"\[GroupId (\S+)\] Committing offsets (\d+) for partition \S*(t-\d) from member (\S+) with"
)
BY_DAY = ("consumer-4.3-debug", "requests-consumer")


@pytest.mark.parametrize(("dialect", "seed"), runs_of(REQUESTS, BY_DAY))
def test_a_request_log_tells_each_commit_and_its_answer(
    dialect: str, seed: int, tmp_path: Path
) -> None:
    one = written(tmp_path, dialect, seed, 60_000)
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


def exchanges(log: Path) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """(API, request, answer) of each line about offsets, in the order of answers."""
    for line in log.read_text().splitlines():
        if "OFFSET_" in line:
            told = json.loads(line[line.index("{") : line.rindex(" (")])
            yield told["requestHeader"]["requestApiKeyName"], told["request"], told["response"]


@pytest.mark.parametrize(("dialect", "seed"), runs_of(REQUESTS, BY_DAY))
def test_a_member_begins_at_what_was_stored_last(dialect: str, seed: int, tmp_path: Path) -> None:
    one = written(tmp_path, dialect, seed, 60_000)
    stored: dict[tuple[str, int], int] = {}
    fetched = 0
    for api, request, answer in exchanges(one.path):
        if api == "OFFSET_COMMIT":
            (asked,), (told,) = request["topics"], answer["topics"]
            for offset, code in zip(asked["partitions"], told["partitions"], strict=True):
                if code["errorCode"] == NONE:
                    where = request["groupId"], offset["partitionIndex"]
                    stored[where] = offset["committedOffset"]
            continue
        (group,) = answer["groups"]
        for topic in group["topics"]:
            for found in topic["partitions"]:
                where = group["groupId"], found["partitionIndex"]
                assert found["committedOffset"] == stored.get(where, 0)
                fetched += 1
    assert fetched > 10


@pytest.mark.parametrize(("dialect", "seed"), runs_of(REQUESTS, ["requests-consumer-static"]))
def test_commits_are_answered_as_the_model_answers_them(
    dialect: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the epochs of the records; the model knows them as far as a member has missed one."""
    make = DIALECTS[dialect].run
    assert isinstance(make, partial)
    given = make.keywords
    scope = evolve(given["scope"], assignment_epochs=True)
    answers: Counter[int] = Counter()
    answer = Positions._answer

    def compared(self: Positions, me: int, epoch: int, offsets: Any, state: Any) -> int:
        code = answer(self, me, epoch, offsets, state)
        at = self.semantics.at
        core, seat, link = state[at["core", None]], state[at["seat", me]], state[at["link", me]]
        if epoch < 0:
            commit = Commit(Sender.SIMPLE)
        elif link.tag == Tag.OLD and seat is not None:
            return code
        else:
            commit = Commit(tag=link.tag, other=link.apart)
        told = {judged(core, seat, commit, 1 << p, scope) for p in offsets}
        assert (code == NONE) == told.issubset(STORED), (code, told)
        answers[code] += 1
        return code

    monkeypatch.setattr(Positions, "_answer", compared)
    library = given.get("library", "java")
    for k in range(2):
        Printed(scope, given["words"], random.Random(seed * 100 + k), library).play()
    assert answers[NONE] > 30


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


@pytest.mark.parametrize(("dialect", "seed"), runs_of(REQUESTS, ("requests-consumer", NATIVE)))
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
    assert read == Counter(c.process for _, c in run.commits if native or c.code != NONE)
