"""`groupcheck.assignor_contract`: a library's assignor under test, with failures that its
maintainer can read.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

import groupcheck
from groupcheck.model.assignors import NoAssignment, cooperative_sticky, range_, round_robin, sticky
from groupcheck.oracles.assignment.against import promise_questions
from groupcheck.oracles.assignment.optimum import optimum

SUITE = """
import groupcheck
from groupcheck.model.assignors import range_

def first_takes_all(group):
    takers = [m for m in group.members]
    first = [(t, p) for t, n in group.topics if t in takers[0].topics for p in range(n)]
    return {m.id: first if m is takers[0] else [] for m in takers}

test_right = groupcheck.assignor_contract(range_, like="range", examples=20)
test_wrong = groupcheck.assignor_contract(first_takes_all, like="range", examples=20)
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_mine.py").write_text(SUITE)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        capture_output=True,
        text=True,
        timeout=100,
        cwd=folder,
    ).stdout


def test_a_library_runs_one_test_for_each_promise(suite):
    assert "3 failed, 15 passed" in suite
    assert "test_wrong[complete]" in suite and "test_wrong[balanced in topics]" in suite


def test_a_failure_shows_the_smallest_group_and_code_that_asks_again(suite):
    assert (
        "first_takes_all of test_mine:first_takes_all, balanced in topics: of t, A has 2 and B"
        " has 0" in suite
    )
    assert (
        "print(first_takes_all(Group(\n        {'t': 2},\n        [\n            Member('A',"
        " ['t']),\n            Member('B', ['t'])," in suite
    )
    assert "Traceback" not in suite and "contract.py" not in suite


test_range_of_groupcheck = groupcheck.assignor_contract(range_, like="range", examples=25)
test_round_robin_of_groupcheck = groupcheck.assignor_contract(
    round_robin, like="roundrobin", examples=25
)
test_no_assignor_of_kafkas = groupcheck.assignor_contract(round_robin, examples=25)


def failure(assignor, promise, **options):
    contract = groupcheck.assignor_contract(assignor, examples=60, **options)
    with pytest.raises(pytest.fail.Exception) as failed:
        contract(promise)
    return " ".join(str(failed.value).split())


def test_an_assignor_that_remembers_is_found():
    asked = []

    def counts(group):
        asked.append(group)
        return round_robin(group) if len(asked) % 2 else {m.id: () for m in group.members}

    assert "the same again: asked again it answers {'A': " in failure(
        counts, "the same again", deterministic=True
    )
    with pytest.warns(UserWarning, match="this only informs: answers vary"):
        groupcheck.assignor_contract(counts, examples=60)("the same again")


def test_an_assignor_that_throws_is_found():
    def throws(group):
        if len(group.members) == 3:
            raise NoAssignment("TooMany", "three are too many")
        return round_robin(group)

    assert "answers: TooMany: three are too many" in failure(throws, "answers")


def test_a_cooperative_assignor_that_hands_over_in_one_round_is_found_in_a_sequence():
    assert "B joins, round 1: t-0 goes from A to B in one round: A has not let go of it" in failure(
        lambda group: (
            range_(group)
            if len(group.members) == 1
            else {m.id: g for m, g in zip(group.members, reversed(range_(group).values()))}
        ),
        "sequence",
        like="cooperative-sticky",
    )


def test_a_cooperative_assignor_that_never_comes_to_rest_is_found_in_a_sequence():
    def always_another(group):
        """The first partition that nobody claims, to the first member."""
        claimed = frozenset().union(*(m.owned for m in group.members))
        free = sorted(frozenset().union(*range_(group).values()) - claimed)
        return {m.id: free[:1] if m is group.members[0] and free else () for m in group.members}

    assert "not at rest after 5 rounds" in failure(
        always_another, "sequence", like="cooperative-sticky"
    )


@pytest.mark.parametrize(
    ("assignor", "like"), [(sticky, "sticky"), (cooperative_sticky, "cooperative-sticky")]
)
def test_kafkas_sticky_assignors_keep_their_promises_over_a_sequence(assignor, like):
    assert groupcheck.assignor_contract(assignor, like=like, examples=60)("sequence") is None


def test_fewest_moves_are_asked_for_only_where_kafkas_sticky_promises_them():
    def worse(group):
        """As balanced, but each member gets what the next one would."""
        given = sticky(group)
        return (
            dict(zip(given, [*list(given.values())[1:], *list(given.values())[:1]]))
            if len({m.topics for m in group.members}) == 1
            else given
        )

    assert groupcheck.assignor_contract(sticky, like="sticky", examples=60)("fewest moves") is None
    assert "where none would do" in failure(worse, "fewest moves", like="sticky")


def best(group):
    """A sticky assignor without a fault: always the optimum."""
    return optimum(group).assigned


test_of_the_optimum = groupcheck.assignor_contract(best, like="sticky", examples=40)
test_of_kafkas_sticky = groupcheck.assignor_contract(
    sticky, like="sticky", examples=40, no_worse=True
)
test_of_kafkas_cooperative = groupcheck.assignor_contract(
    cooperative_sticky, like="cooperative-sticky", examples=40, no_worse=True
)


def test_where_claims_are_older_kafkas_own_sticky_breaks_a_promise_and_that_it_does_is_told():
    told = "Kafka's own sticky breaks it here, too"
    assert told in failure(sticky, "valid", like="sticky", no_worse=False)
    with pytest.warns(UserWarning, match=told):
        groupcheck.assignor_contract(sticky, like="sticky", examples=60)("valid")


def test_of_an_assignor_that_hangs_no_promise_counts_as_kept(monkeypatch):
    monkeypatch.setattr(promise_questions, "PATIENCE_S", 0.05)

    def hangs(group):
        while True:
            pass

    contract = groupcheck.assignor_contract(hangs, examples=20)
    for promise, told in (
        ("answers", "none within"),
        ("valid", "it gave no answer (in time) too often and is not asked any more"),
    ):
        with pytest.raises(pytest.fail.Exception) as failed:
            contract(promise)
        assert told in " ".join(str(failed.value).split())


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(groupcheck.UserError, match="did you mean sticky"):
        groupcheck.assignor_contract(sticky, like="stiky")
    with pytest.raises(groupcheck.UserError, match="no_worse compares"):
        groupcheck.assignor_contract(sticky, no_worse=True)
    with pytest.raises(groupcheck.UserError, match="at least one example"):
        groupcheck.assignor_contract(sticky, examples=0)
