"""The story of a group comes out of its clients' logs alone.

live.tar.xz has recordings of real groups on Kafka 4.3.0 (kafka-python 3.0.12, confluent-kafka 2.16.1,
Java 4.3.0; classic and KIP-848): the log of each client, and truth.json: what each program saw in
its callbacks, the generations and epochs by the broker's request log, and why each began.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.members.group_story import GroupStory
from groupcheck.traces.members.story import MemberStory
from groupcheck.traces.story.events import RebalanceCause

RECORDED = Path(__file__).parents[2] / "data" / "clients" / "live.tar.xz"
CALLBACK_MS, ANSWER_MS = 150, 60
"""So much later than its library a program learns of its partitions, and so much later than the
coordinator answers the library says so, at most.
"""
EXPECTED = {
    "joined": {RebalanceCause.JOIN, RebalanceCause.MEMBER_REJOIN},
    "left": {RebalanceCause.LEAVE},
    "session": {RebalanceCause.GONE},
    "static": {RebalanceCause.GONE},
    "second": {RebalanceCause.MEMBER_REJOIN},
    "client": {RebalanceCause.LEADER_REJOIN},
    "partitions": {RebalanceCause.METADATA_CHANGE},
    "topic": {RebalanceCause.METADATA_CHANGE},
    "subscription": {RebalanceCause.METADATA_CHANGE},
}
"""The first word of a cause in truth.json -> what a story says."""
UNTOLD = {
    # The logs of the members that caused them are empty, and so is their leader's.
    *(("rolling_dynamic", "g1", generation) for generation in (5, 6, 7)),
    # No log of a client names the other members of a KIP-848 group: one was killed, one has none.
    ("kip848", "g1", 6),
    ("java_kip848", "g1", 6),
    ("broker_restart", "g2", 3),
}


@cache
def files() -> dict[str, str]:
    with tarfile.open(RECORDED) as tar:
        return {
            member.name: data.read().decode()
            for member in tar
            if (data := tar.extractfile(member)) is not None
        }


TRUTH: dict[str, Any] = json.loads(files()["truth.json"])


def stories(logs: Iterable[tuple[str, str]]) -> dict[str, GroupStory]:
    evidence = Evidence()
    for name, text in logs:
        evidence.add_all(ClientLog(name=name).statements(enumerate(text.splitlines(), 1)))
    return {group.group: group.story for group in evidence.by_group()}


@cache
def recorded(name: str) -> dict[str, GroupStory]:
    runs = TRUTH[name]["clients"]
    return stories((run, files()[f"{name}.{run}.log"]) for run in runs)


def told(name: str) -> dict[str, tuple[GroupStory, MemberStory]]:
    """RUN -> its group and its story; of a client whose log names no group there is none."""
    return {m.log: (s, m) for s in recorded(name).values() for m in s.members}


@pytest.mark.parametrize("name", TRUTH)
def test_each_generation_and_epoch_comes_out_of_the_clients_logs(name: str) -> None:
    members = told(name)
    times = [(g["group"], g["generation"], run, answered)
             for g in TRUTH[name]["generations"] for run, _, answered in g["joins"]]  # fmt: skip
    times += [(e["group"], e["epoch"], run, reached)
              for e in TRUTH[name]["epochs"] for run, reached in e["reached"].items()]  # fmt: skip
    for group, generation, run, answered in times:
        if run not in members:
            assert len(files().get(f"{name}.{run}.log", "")) < 3000  # it tells nothing
            continue
        seen = recorded(name)[group].rounds[generation]
        shown = [r.joined.time for m, r in seen if m.log == run and r.joined is not None]
        assert any(t is not None and abs(t - answered) < ANSWER_MS for t in shown), generation
    for g in TRUTH[name]["generations"]:
        if g["leader"] in members:
            rounds = members[g["leader"]][0].timeline.rounds
            (leader,) = (r.leader for r in rounds if r.to_generation == g["generation"])
            assert leader in members[g["leader"]][1].joined


@pytest.mark.parametrize("name", TRUTH)
def test_each_ownership_comes_out_of_the_clients_logs(name: str) -> None:
    """The console consumer has no callbacks that could tell the truth."""
    for run, (_, m) in told(name).items():
        client = TRUTH[name]["clients"][run]
        assert [*m.joined] == client["member_ids"]
        found = sorted((o.partition, o.since, o.until, o.how) for o in m.owned())
        owned = [] if run == "console" else sorted(map(tuple, client["owned"]))
        assert run == "console" or [o[0] for o in found] == [o[0] for o in owned], run
        for (partition, since, until, how), (_, began, ended, why) in zip(found, owned):
            assert abs(since - began) < CALLBACK_MS, partition
            if why == "revoked":
                assert how == "revoked" and abs(until - ended) < CALLBACK_MS, partition
            elif why == "lost":
                assert how == "lost" and until <= ended


@pytest.mark.parametrize("name", TRUTH)
def test_a_story_says_why_each_rebalance_began_or_that_no_log_tells(name: str) -> None:
    found = 0
    for cause in TRUTH[name]["causes"]:
        number, group = cause.get("generation", cause.get("epoch")), cause["group"]
        for r in recorded(name)[group].timeline.rounds:
            if r.to_generation != number:
                continue
            found += 1
            untold = (name, group, number) in UNTOLD
            expected = {RebalanceCause.NOT_TOLD} if untold else EXPECTED[cause["cause"].split()[0]]
            assert r.cause in expected, number
            who = {run for run in cause.get("who", "").split(", ") if not untold}
            assert {run for run in who if {*_ids(name, run)} & {*r.causers}} or untold, number
    assert found


def _ids(name: str, run: str) -> list[str]:
    return TRUTH[name]["clients"].get(run, {"member_ids": []})["member_ids"]
