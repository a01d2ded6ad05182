"""Every known bug of the member is found by `judge client` where the model's member has it (the
program `model_client.py`): by a rule, or by a row that differs from Kafka's member. A table says
why the others do not show.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from test_client_judged import SLOW as MISTAKES

from groupcheck.model.mutations import all_mutations
from groupcheck.model.variants import load, names
from groupcheck.oracles.judge.client.command import program
from groupcheck.oracles.judge.client.differences import followed
from groupcheck.oracles.judge.client.judging import TIMES, cases_of
from groupcheck.oracles.judge.client.moves import (
    BEAT,
    COMMIT,
    COOPERATIVE,
    FOLLOWS,
    JOIN,
    OFFSETS,
    SYNC,
    Licence,
    Setting,
    Step,
)
from groupcheck.oracles.judge.client.session import Command
from groupcheck.oracles.judge.client.targets import Target, targets
from groupcheck.oracles.judge.client.trying import Pool, Run, Trial

SCRIPT = Path(__file__).with_name("model_client.py")
ROW = "a row"
ROUND, SLOW, LOSE = Step.ROUND, Step.SLOW, Step.LOSE_ANSWER
IN_A_ROUND = (FOLLOWS, JOIN, (ROUND,), 0, ())
EVICTED = (FOLLOWS, BEAT, (), 25, None)
COOPERATIVE_ROUND = (COOPERATIVE, JOIN, (ROUND,), 0, ())
Where = tuple[Setting, str, tuple[Step, ...], int, tuple[Step, ...] | None]
# Bug -> where it shows: setting, request, what comes first, code, the way to it (None: any); and
# the rule that is broken. The first entry is the member without a bug.
SHOWN: Mapping[str, tuple[Where, str]] = {
    "": (COOPERATIVE_ROUND, ""),
    "application_not_told_of_loss": ((COOPERATIVE, BEAT, (), 25, None), "assigns_once"),
    "claims_lost_partitions": ((COOPERATIVE, JOIN, (ROUND,), 25, None), "claims_its_share"),
    "claims_nothing": (COOPERATIVE_ROUND, "claims_its_share"),
    "claims_of_another": (COOPERATIVE_ROUND, ROW),
    "closes_without_commit": (IN_A_ROUND, ROW),
    "commit_ahead_of_processing": (IN_A_ROUND, "commits_what_was_delivered"),
    "commits_instead_of_joining": (IN_A_ROUND, "joins_again"),
    "eager_in_a_cooperative_group": (COOPERATIVE_ROUND, "claims_its_share"),
    "id_forgotten_on_disconnect": ((FOLLOWS, JOIN, (ROUND,), 0, (LOSE,)), "keeps_its_id"),
    "fetch_error_skips_records": (
        (FOLLOWS, OFFSETS, (Step.EXPIRE,), 16, None),
        "begins_where_committed",
    ),
    "joins_again_for_nothing": (COOPERATIVE_ROUND, ROW),
    "keeps_partitions_on_rejoin": ((FOLLOWS, JOIN, (SLOW, ROUND), 0, ()), "fetches_its_share"),
    "keeps_partitions_when_lost": (EVICTED, "delivers_between_callbacks"),
    "processing_after_last_commit": ((FOLLOWS, COMMIT, (ROUND,), 0, (Step.HOLD,)), ROW),
    "refused_commit_ignored": ((FOLLOWS, COMMIT, (), 25, None), "fetches_its_share"),
    "rejoin_forgotten_before_sync": ((FOLLOWS, SYNC, (ROUND,), 0, (LOSE,)), ROW),
    "revokes_without_joining_again": (COOPERATIVE_ROUND, "joins_again"),
    "round_resets_late_member": ((COOPERATIVE, SYNC, (ROUND,), 27, None), "claims_its_share"),
    "stored_offset_outlives_revocation": (IN_A_ROUND, "begins_where_committed"),
}
# Bugs of changing topics, which the rows of a served member do not have -> the mistake of the small
# client of `test_client_judged` that is the same.
BY_HAND = {
    "change_during_round_forgotten": "forgets-a-change",
    "leader_ignores_new_partitions": "ignores-new-partitions",
}
# Bugs that show when a partition comes back: after so many moves.
TWICE = {"stored_offset_outlives_revocation": 2}
# Bugs of a variant that no setting has.
VARIANTS = {"joins_again_for_nothing": "cooperative_rounds"}
SUBSCRIBES = "the program under test subscribes once, and to one topic"
PRODUCES = "the program under test has no producer"
STYLE = "the program under test lets its library commit"
CALLBACKS = "the callbacks of the program under test neither wait, commit nor throw"
LATE = "the program under test is never late to poll"
LISTS = "the program under test is told one assignor"
UNSEEN: Mapping[str, str] = {
    "answer_to_an_earlier_subscription": SUBSCRIBES,
    "autocommit_beside_transactions": PRODUCES,
    "callback_commits_in_old_generation": CALLBACKS,
    "commit_sync_gives_up": STYLE,
    "completes_after_leaving": LATE,
    "dropped_topic_is_kept": SUBSCRIBES,
    "dropped_topic_stays_owned": SUBSCRIBES,
    "eager_member_keeps": LISTS,
    "first_assignor_decides": LISTS,
    "joins_while_committing": STYLE,
    "joins_while_revoking": CALLBACKS,
    "reason_to_join_forgotten": SUBSCRIBES,
    "subscription_change_unheard": SUBSCRIBES,
    "synced_without_generation": LATE,
    "throwing_callback_keeps_partitions": CALLBACKS,
    "transaction_without_generation": PRODUCES,
}


# Release of Kafka's Java client -> the bug that it has, which shows where the model's shows.
OLD = {"2.8.0": "claims_lost_partitions", "3.3.1": "round_resets_late_member"}


def test_every_bug_of_the_member_is_shown_or_a_reason_says_why_not() -> None:
    about = [load(name) for name in names()]
    member = [v for v in about if v.real_member and v.name != "consumer"]
    bugs = {
        bug.id
        for bug in all_mutations()
        for v in member
        if bug.concerns(v) and not v.coordinator & {*bug.rules}
    }
    assert sorted(bugs | {""}) == sorted([*SHOWN, *UNSEEN, *BY_HAND])
    assert set(BY_HAND.values()) <= MISTAKES.keys()


def target(
    setting: Setting, at: str, first: tuple[Step, ...], code: int, way: tuple[Step, ...] | None
) -> Target:
    """The one that a full run plays."""
    return next(
        one
        for one in targets(True, Licence.DOCUMENTED)
        if (one.setting, one.move.at, one.move.first, one.move.code) == (setting, at, first, code)
        and not one.move.put
        and (way is None or one.ways == (way,))
        and (way is not None or not one.state)
    )


def scripted(bug: str) -> Command:
    words = [sys.executable, str(SCRIPT), bug, *filter(None, [VARIANTS.get(bug)])]
    return Command(tuple(words), os.environ)


def shows(
    programs: Mapping[str, tuple[str, Command]], healthy: Iterable[str] = ()
) -> dict[object, set[str]]:
    """Name -> the rules that a program breaks where that bug shows, and `ROW` if a row differs. As
    in a judgement, the `healthy` ones are blamed for what shows in each of three tries.
    """
    found: dict[object, set[str]] = {}
    tries = Counter[object]()

    def heard(trial: Trial, run: Run) -> Iterable[Trial]:
        if not run.began and trial.tag not in found:  # the machine was too busy for it to join
            found[trial.tag] = set()
            return [trial]
        assert run.began or trial.tag == "joins_again_for_nothing", (trial.tag, run.log)
        told = {r.name for r, cases in cases_of(run) for c in cases if c.broken}
        told |= {ROW for _ in followed(run.record, run.setting).differences}
        tries[trial.tag] += 1
        found[trial.tag] = told & found[trial.tag] if tries[trial.tag] > 1 else told
        again = trial.tag in healthy and found[trial.tag] and tries[trial.tag] < TIMES
        return [trial] if again else ()

    trials = []
    for name, (bug, command) in programs.items():
        where = (target(*SHOWN[bug][0]),) * TWICE.get(bug, 1)
        trials.append(Trial(where[0].setting, where, command, name, urgent=True))
    Pool(4, time.monotonic()).play(trials, heard)
    return found


def test_a_bug_of_the_member_is_found_and_the_member_without_it_is_not_blamed() -> None:
    found = shows({bug: (bug, scripted(bug)) for bug in ("", "claims_nothing")}, [""])
    assert found[""] == set()
    assert {"claims_its_share", ROW} <= found["claims_nothing"]


@pytest.mark.night
def test_every_bug_of_the_member_that_can_show_is_found() -> None:
    found = shows({bug: (bug, scripted(bug)) for bug in SHOWN}, [""])
    assert found[""] == set(), found
    missed = {bug for bug, (_, rule) in SHOWN.items() if rule and rule not in found[bug]}
    assert missed == set()


@pytest.mark.night
def test_bugs_of_old_java_clients_are_found_and_a_new_one_is_not_blamed() -> None:
    """Bugs of the museum. Older releases have no cooperative assignor, or cannot be built with the
    adapter; those of leaders need a client that leads a cooperative group.
    """
    programs = {old: (bug, program((), f"java=={old}")[0]) for old, bug in OLD.items()}
    new = program((), "java")[0]
    controls = {f"new {bug}": (bug, new) for bug in OLD.values()}
    found = shows(programs | controls, controls)
    for old, bug in OLD.items():
        assert SHOWN[bug][1] in found[old], (old, found[old])
        assert found[f"new {bug}"] == set()
