"""Whole runs: a small client that keeps every rule, and one for each mistake, against the model's
coordinator. The mistakes that take seconds to show are made at night.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.client import session
from groupcheck.oracles.judge.client.command import program
from groupcheck.oracles.judge.client.differences import followed
from groupcheck.oracles.judge.client.judging import TIMES, Plan, Shortest, cases_of, judge
from groupcheck.oracles.judge.client.moves import (
    FOLLOWS,
    LEADS,
    STATIC,
    Licence,
    Move,
    Setting,
    Step,
)
from groupcheck.oracles.judge.client.session import Command
from groupcheck.oracles.judge.client.targets import WAYS, Target
from groupcheck.oracles.judge.client.trying import Pool, Run, Trial

SCRIPT = Path(__file__).parent / "scripted_client.py"
ROUND = Target(FOLLOWS, Move("JoinGroup", first=(Step.ROUND,)), ((),))
EVICTED = Target(FOLLOWS, Move("Heartbeat", code=25))
LEADS_ROUND = Target(LEADS, Move("SyncGroup", first=(Step.ROUND,)), ((),))
FENCED = Target(STATIC, Move("Heartbeat", code=82))
SILENT = Target(FOLLOWS, Move("Heartbeat", first=(Step.SILENCE,)), ((),))
LOADS = Target(FOLLOWS, Move("OffsetCommit", first=(Step.MOVE,), code=14), ((),))
FORBIDDEN = Target(FOLLOWS, Move("JoinGroup", first=(Step.ROUND,), code=30, put=True))
GROWS = Target(LEADS, Move("JoinGroup", first=(Step.GROW,)), ((),))
GROWS_LATE = Target(LEADS, Move("SyncGroup", first=(Step.SLOW, Step.ROUND, Step.GROW)), ((),))
ANSWERED_LATE = Target(FOLLOWS, Move("SyncGroup", first=(Step.ROUND,)), ((Step.DELAY,),))
MOVES = Target(FOLLOWS, Move("OffsetFetch", first=(Step.EXPIRE,), code=16), ((Step.MOVE,),))
# Mistake -> where it shows, and the rules that it breaks.
QUICK = {
    "commits-more": (ROUND, {"commits_its_share"}),
    "commits-from-outside": (EVICTED, {"never_commits_from_outside"}),
    "plans-twice": (LEADS_ROUND, {"plans_for_all"}),
    "short-subscription": (ROUND, {"subscribes_readably"}),
}
SLOW = {
    "commits-late": (EVICTED, {"commits_with_its_generation"}),
    "fetches-on": (EVICTED, {"fetches_its_share"}),
    "delivers-on": (ROUND, {"delivers_between_callbacks"}),
    "own-id": (ROUND, {"uses_the_id_it_is_given"}),
    "keeps-a-dead-id": (EVICTED, {"forgets_a_refused_id"}),
    "never-joins-again": (ROUND, {"joins_again"}),
    "no-heartbeats": (ROUND, {"keeps_its_session"}),
    "stays-silent": (SILENT, {"gives_up_a_silent_coordinator"}),
    "tells-nothing": (FORBIDDEN, {"tells_what_is_fatal"}),
    "goes-on-fenced": (FENCED, {"stops_when_fenced"}),
    "never-leaves": (ROUND, {"leaves_on_close"}),
    "ignores-new-partitions": (GROWS, {"plans_for_all"}),
    "forgets-a-change": (GROWS_LATE, {"plans_for_all"}),
    "forgets-its-join": (ANSWERED_LATE, {"reads_its_share", "keeps_its_session"}),
    "skips-after-an-error": (MOVES, {"begins_where_committed"}),
}


def scripted(*mistakes: str) -> Command:
    return Command((sys.executable, SCRIPT, *mistakes), os.environ)


def played(trials: Iterable[Trial], jobs: int = 8) -> dict[object, Run]:
    """The runs of trials, by their tags."""
    runs: dict[object, Run] = {}

    def heard(trial: Trial, run: Run) -> Iterable[Trial]:
        runs[trial.tag] = run
        return ()

    Pool(jobs, time.monotonic() + 240).play(trials, heard)
    return runs


def broken(run: Run) -> dict[str, str]:
    return {
        rule.name: words
        for rule, cases in cases_of(run)
        for words in [next((case.broken for case in cases if case.broken), "")]
        if words
    }


def trial(target: Target, *mistakes: str, tag: object = "") -> Trial:
    return Trial(target.setting, (target,), scripted(*mistakes), tag or mistakes[0])


def test_a_client_that_keeps_the_rules_is_not_blamed_and_mistakes_are_found() -> None:
    honest = Trial(FOLLOWS, (ROUND, EVICTED), scripted(), "honest")
    leads = Trial(LEADS, (LEADS_ROUND,), scripted(), "leads")
    mistakes = [trial(where, name) for name, (where, _) in QUICK.items()]
    runs = played([honest, leads, *mistakes])
    for tag in ("honest", "leads"):
        assert broken(runs[tag]) == {}
        assert all(one.hit and one.calm for one in runs[tag].played)
    for name, (_, rules) in QUICK.items():
        assert rules <= broken(runs[name]).keys(), name


def of_library(name: str) -> tuple[Command, frozenset[str]]:
    command, _, lacks = program((), name)
    return command, lacks


def test_kafkas_own_client_keeps_every_rule_in_a_round_and_an_eviction() -> None:
    command, _ = of_library("java")
    run = played([Trial(FOLLOWS, (ROUND, EVICTED), command, "java")])["java"]
    assert broken(run) == {}
    beside = followed(run.record, run.setting)
    assert (beside.differences, beside.reason) == ([], "")
    assert ("STABLE", True, "Heartbeat", 25) in beside.kinds
    assert all(one.hit and one.calm for one in run.played)


# What each breaks on its own coordinator; Kafka's client is the control.
LIBRARIES = {
    "java": set[str](),
    "confluent-kafka": set[str](),
    "aiokafka": {"never_commits_from_outside"},
    "@platformatic/kafka": {"commits_its_share", "fetches_its_share", "tells_what_is_fatal"},
    "kafka-go": {"commits_its_share", "subscribes_readably"},
}


@pytest.mark.night
@pytest.mark.parametrize("library", LIBRARIES)
def test_defects_of_libraries_come_out_by_themselves(library: str) -> None:
    command, lacks = of_library(library)
    control = None if library == "java" else of_library("java")[0]
    found = judge(Plan(command=command, control=control, without=lacks))
    sure = {o.finding.rule.name for o in found.outcomes() if o.again == o.tried > 0}
    assert LIBRARIES[library] <= sure
    assert LIBRARIES[library] or not found.findings


@pytest.mark.night
def test_every_mistake_is_found() -> None:
    runs = played(trial(where, name) for name, (where, _) in SLOW.items())
    for name, (_, rules) in SLOW.items():
        assert rules <= broken(runs[name]).keys(), (name, broken(runs[name]))


@pytest.mark.night
def test_a_client_that_keeps_the_rules_keeps_them_in_every_move() -> None:
    plan = Plan(command=scripted(), jobs=8, licence=Licence.DOCUMENTED)
    found = judge(plan)
    assert {
        (o.finding.rule.name, str(o.shortest), o.case.broken) for o in found.outcomes()
    } == set()
    assert len(found.reached) > 20


def test_what_the_model_does_not_give_is_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dynamic member cannot be fenced, and no steps lead there."""
    monkeypatch.setattr(session, "HIT_S", 1.0)
    fenced = Target(FOLLOWS, Move("Heartbeat", code=82), WAYS)
    run = played([trial(fenced, tag="honest")])["honest"]
    assert [one.hit for one in run.played] == [False]


def test_what_a_client_breaks_by_itself_is_played_again_without_a_move() -> None:
    """The schedule of a report that has no steps: it joins, and nothing happens."""
    plan = Plan(command=scripted("short-subscription"), only=(Shortest(FOLLOWS, None),))
    (outcome,) = judge(plan).outcomes()
    assert (outcome.finding.rule.name, outcome.again) == ("subscribes_readably", TIMES)


def test_a_program_that_never_joins_is_an_error_with_its_last_words() -> None:
    words = (sys.executable, "-c", "import sys; sys.exit('no such broker')")
    plan = Plan(command=Command(words, os.environ), seconds_given=0.5)
    with pytest.raises(UserError, match=r"never became a member: no such broker"):
        judge(plan)


def test_a_program_that_floods_its_output_is_bounded() -> None:
    flood = (
        "import sys\nfor out in (sys.stdout, sys.stderr):\n"
        "    for k in range(3000): print(k, file=out)\n"
        "    print('x' * 3_000_000, file=out)"
    )
    words = (sys.executable, "-c", flood)
    run = played([Trial(Setting("alone", leads=True), (), Command(words, os.environ))])[None]
    assert len(run.log) <= 400 and max(map(len, run.log)) == 500
