"""A walk state by state, without a terminal or a server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from groupcheck import UserError
from groupcheck.model.engine import Limits
from groupcheck.oracles.explain.subject import Subject, subject
from groupcheck.oracles.explore.seek import seek
from groupcheck.oracles.explore.walk import FAULTS, Walk, goals_here, held_here, promises_here

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_phase_commit.py"
BUG = "keeps_partitions_when_lost"
KEY = "gc1-0.0.2.2.0.3.0.0.2.1.2.0.1.0"


@pytest.fixture(scope="module")
def bug() -> Subject:
    return subject("classic", mutation=BUG)


@pytest.fixture
def two() -> Walk:
    return Walk(subject(f"{EXAMPLE}:two_phase_commit", settings={"managers": "2"}))


def test_a_walk_follows_a_key_and_gives_it_back(bug: Subject) -> None:
    walk = Walk(bug, KEY)
    assert walk.key == KEY
    assert [s.name for s in promises_here(walk) if s.true is False] == ["hand_off"]
    assert walk.told()[0].sentence == "Member A still owns p0 when member B gets it."


def test_choices_are_told_in_words_by_who_acts_and_faults_stand_apart() -> None:
    walk = Walk(subject("classic", members=2, any_faults=1))
    assert [(c.group, c.words) for c in walk.choices if c.group != FAULTS] == [
        (f"member {m}", f"member {m} sends JoinGroup; the coordinator answers 79"
         " MEMBER_ID_REQUIRED")
        for m in "AB"
    ]  # fmt: skip
    walk.take(walk.choices[0].number)
    walk.take(walk.choices[0].number)
    faults = [c for c in walk.choices if c.group == FAULTS]
    assert {c.fault for c in faults} >= {"crash", "new_member_timeout", "fail_over"}
    assert walk.choices[-len(faults) :] == tuple(faults)


def test_steps_that_differ_in_nothing_are_one_choice_and_the_key_of_each_fits() -> None:
    walk = Walk(subject("classic", members=2, any_faults=1), "gc1-0.1.2")
    alike = [c for c in walk.every_choice if c.fault == "new_member_timeout"]
    assert len(alike) == 2 and len({c.words for c in alike}) == 1
    assert [c for c in walk.choices if c in alike] == alike[:1]
    for c in alike:
        walk.follow(f"gc1-0.1.2.{c.number}")
        assert walk.key.endswith(f".{c.number}")


def test_two_steps_in_the_same_words_are_told_apart_by_their_values() -> None:
    walk = Walk(subject("consumer", members=2, partitions=2))
    walk.random(3, seed=0)
    for _ in range(40):
        told = [(c.words, c.changes) for c in walk.choices]
        assert len(set(told)) == len(told)
        walk.random(1, seed=len(told))


def test_a_choice_says_which_promise_it_breaks(bug: Subject) -> None:
    walk = Walk(bug, KEY)
    walk.back()
    assert [c.breaks for c in walk.choices if c.number == 0] == [("hand_off",)]
    walk.back(3)
    assert not any(c.breaks for c in walk.choices)
    walk.follow(KEY)
    kept = [c for c in walk.choices if c.words == "member B sends a heartbeat"]
    assert [c.breaks for c in kept] == [()]  # it is broken already


def test_it_says_what_becomes_of_the_promises_that_do_not_hold(bug: Subject, two: Walk) -> None:
    walk = Walk(bug)
    every, steps, later = 37, 21, len(bug.not_judged)
    assert later > 1
    in_the_end = f"{later} more are about what happens in the end: `check --progress`"
    assert held_here(walk, promises_here(walk)) == (
        f"{every - steps} of {every} promises hold here; {steps} are about steps, and none was"
        f" taken; {in_the_end}"
    )
    walk.follow(KEY)
    assert held_here(walk, promises_here(walk)) == (
        f"{every - 1} of {every} promises hold here; 1 is broken; {in_the_end}"
    )
    assert held_here(two, promises_here(two)) == "2 of 2 promises hold here"


def test_a_node_has_its_key_and_its_branches(two: Walk) -> None:
    first, other = (c.number for c in two.choices[:2])
    two.take(first)
    two.take(two.choices[0].number)
    assert two.at.branches == 0 and two.at.key == two.key
    end = two.at
    two.begin(0)
    two.take(other)
    assert (two.at.branches, end.branches, end.line[0].branches) == (1, 1, 0)
    two.follow(end.key)
    assert two.at is end and end.line[1].key == f"gc1-0.{first}"


def test_steps_are_undone_and_taken_again_and_branches_are_kept(two: Walk) -> None:
    two.take(0)
    two.take(1)
    there = two.key
    assert two.back(9) == 2 and two.key == "gc1-0"
    assert two.forward(9) == 2 and two.key == there
    two.back(2)
    two.take(2)
    assert [(depth, node.number) for depth, node, _ in two.tree()] == [
        (0, 0), (1, 0), (2, 1), (1, 2),
    ]  # fmt: skip
    assert [here for _, _, here in two.tree()] == [False, False, False, True]
    two.follow(there)
    two.begin(0)
    assert two.forward(2) == 2 and two.key == there
    with pytest.raises(UserError, match="no step has the number 99"):
        two.take(99)


def test_the_same_seed_gives_the_same_random_walk(two: Walk) -> None:
    two.random(6, seed=3)
    first = two.key
    two.begin(0)
    two.random(6, seed=3)
    assert two.key == first != "gc1-0"
    two.begin(0)
    two.random(6, seed=4)
    assert two.key != first


def test_the_shortest_way_leads_to_a_goal_a_promise_and_a_condition(
    bug: Subject, two: Walk
) -> None:
    walk = Walk(bug)
    found = seek(walk, "hand_off")
    assert found.numbers is not None and len(found.numbers) == 13
    for number in found.numbers:
        walk.take(number)
    assert "hand_off" in [s.name for s in promises_here(walk) if s.true is False]
    assert seek(walk, "hand_off").numbers == ()
    met = seek(two, "committed")
    assert met.numbers is not None
    for number in met.numbers:
        two.take(number)
    assert [s.true for s in goals_here(two)] == [True]
    two.begin(0)
    some = seek(two, "coordinator.phase == 'committed' and len(network.prepared) == 2")
    assert some.numbers is not None and len(some.numbers) == 5


def test_it_says_how_far_there_is_surely_no_way(two: Walk) -> None:
    nowhere = seek(two, "consistent")
    assert nowhere.numbers is None and nowhere.within is None
    assert "in no state that can be reached from here" in nowhere.words
    cut = seek(two, "committed", Limits(depth=4))
    assert (cut.numbers, cut.within) == (None, 4)
    assert cut.words.startswith("not from here within 4 steps: committed")
    few = seek(two, "committed", Limits(states=20))
    assert few.numbers is None and few.within is not None and few.within < 5


def test_a_key_of_another_subject_is_refused(two: Walk) -> None:
    with pytest.raises(UserError, match="the key does not fit at step 2"):
        two.follow("gc1-0.0.77")


def test_a_step_needs_nothing_that_is_compiled() -> None:
    program = (
        "import sys\n"
        "sys.modules |= dict.fromkeys(('numpy', 'numba', 'llvmlite', 'psutil', 'zstandard',"
        " 'jinja2', 'rich', 'click'))\n"
        "from groupcheck.oracles.explain.subject import subject\n"
        "from groupcheck.oracles.explore.beside import beside, other_of\n"
        "from groupcheck.oracles.explore.walk import Walk, promises_here\n"
        "from groupcheck.oracles.explore.questions import Desk\n"
        f"walk = Walk(subject('classic', mutation='{BUG}'), '{KEY}')\n"
        "parting = beside(walk, Walk(other_of(walk.about, 'healthy'))).parting\n"
        "print(len(promises_here(walk)), walk.told()[0].invariant, parting.step)\n"
        "asked = {'key': 'gc1-0', 'wanted': 'hand_off'}\n"
        "print(Desk(walk).answer({**asked, 'ask': 'seek'})['words'])\n"
        "print(Desk(walk).answer({**asked, 'ask': 'path'})['prose'][:5])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.split("\n")[1:3] == [
        "hand_off breaks after 13 steps (1,327 states looked at)",
        "",
    ]
    assert done.stdout.split()[1:3] == ["hand_off", "9"]
