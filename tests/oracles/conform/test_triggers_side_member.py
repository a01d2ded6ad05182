"""`conform triggers --side member`: the rows of a member whose subscription and topics change, and
those of one whose topics stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from groupcheck.model.engine.rule import Rule
from groupcheck.model.mutations import mutation
from groupcheck.model.protocol.transform import own, rebuilt
from groupcheck.model.variants import load
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.conform.member.changing import Changing
from groupcheck.oracles.conform.member.commit_styles import StyledRows
from groupcheck.oracles.conform.member.conformance import MemberConformance
from groupcheck.oracles.conform.member.every_row import changing_of, every_row, rows_of
from groupcheck.oracles.conform.member.tour import ChangingTour, Tour
from groupcheck.oracles.conform.member.versions_differ import Change, ChangingVersionTour
from groupcheck.oracles.conform.versions import Changes
from groupcheck.oracles.kafka.driver import Driver, shared
from groupcheck.oracles.show.suite import PASSED

TRIGGERS = load("triggers")
PATTERN = {"topics": "t:1,u:0-1", "subscriptions": "*"}
PREFIX = {"topics": "t:1,u:0-1", "subscriptions": "t*"}
GONE = {"topics": "t:0-1", "subscriptions": "t"}


def changing(settings: dict[str, str], generations: int = 1) -> Changing:
    (found,) = changing_of("triggers", generations, None, settings)
    return found


def answer_of(tour: ChangingTour) -> MemberConformance:
    return MemberConformance(variant="triggers", kafka="4.3.0", tours=(tour,), seconds=1.0)


def test_every_row_of_one_generation_with_a_pattern_agrees(
    coordinator: Driver, misfits: Callable[[Any], list[str]]
) -> None:
    tour = ChangingTour(changing(PATTERN), coordinator, lists=True)
    tour.run()
    assert [d.what for d in tour.differences] == []
    assert tour.counts.rows == tour.counts.agreeing == len(tour.listed) == ROWS
    assert tour.counts.memories == MEMORIES
    result = answer_of(tour)
    assert (result.verdict, misfits(result.document())) == ("agrees", [])
    cases = {case.name: case.became for case in result.suite().cases}
    assert {*cases} == KINDS and {*cases.values()} == {PASSED}
    table = result.table()
    assert table[0]["input"] == "the process starts"
    assert {row["agrees"] for row in table} == {True}
    assert max(row["outcomes"] for row in table) > 1  # it may look at the topics, or not yet


def test_every_row_with_a_pattern_that_matches_one_of_two_topics_agrees(
    coordinator: Driver,
) -> None:
    """A share of the other topic is not installed (checkAssignmentMatchedSubscription)."""
    rows = changing(PREFIX)
    tour = ChangingTour(rows, coordinator, lists=True)
    tour.run()
    assert [d.what for d in tour.differences] == []
    assert tour.counts.rows == tour.counts.agreeing == len(tour.listed)
    fired = {name for row, _ in tour.listed for led in row.may for name in led.fired}
    assert any(name.endswith(":mismatched") for name in fired)


def test_the_rows_end_with_the_generations_of_the_scope() -> None:
    one, two = changing(GONE), changing(GONE, generations=2)
    reached = [max(m.client.generation for m in every_memory(rows)) for rows in (one, two)]
    assert reached == [1, 2]


def every_memory(rows: Changing) -> Iterator[Any]:
    known, todo = set(), [rows.start()]
    while todo:
        row = todo.pop()
        for led in row.may:
            if led.memory not in known:
                known.add(led.memory)
                yield led.memory
                todo += rows.beyond((led.memory,), row)


def test_topics_and_subscriptions_choose_the_rows_in_which_they_change() -> None:
    usual = every_row("triggers", None, None, {})
    assert len([rows for rows in usual if isinstance(rows, Changing)]) == len(
        TRIGGERS.member_changing
    )
    *still, chosen, _, _ = every_row("triggers", None, None, {**PATTERN, "autocommit": "no"})
    assert isinstance(chosen, Changing) and chosen.scope.topics == PATTERN["topics"]
    assert [rows.scope.topics for rows in still] == ["t:1"]
    committing = every_row("triggers", None, None, {**PATTERN, "autocommit": "yes"})
    assert [type(rows) for rows in committing] == [type(still[0]), StyledRows]


def test_all_outcomes_of_the_members_rules_are_those_of_some_rows() -> None:
    rules = [r for r in TRIGGERS.spec(TRIGGERS.scope_type()).rules if "client" in r.slots]
    named = {name for r in rules for name in r.names}
    rows = every_row("triggers", None, None, {"autocommit": "no"})
    assert set[str]().union(*(r.outcomes_named for r in rows)) == named
    assert {*TRIGGERS.member_apart} < named


def test_the_nearest_rows_of_a_topic_that_stays_as_it_is_agree(coordinator: Driver) -> None:
    (rows,) = rows_of("triggers", 1, None, {"autocommit": "no"})
    tour = Tour(rows, coordinator, max_rows=600)
    tour.run()
    assert [d.what for d in tour.differences] == []
    assert tour.counts.agreeing > 200


def blind(base: Rule) -> Rule:
    """The leader does not notice that topics have changed."""

    def call(*given: Any) -> Iterator[Any]:
        for outcome in base.call(*given):
            if outcome[0] != "outdated":
                yield outcome

    return attrs.evolve(base, call=call)


def test_a_wrong_member_makes_the_verdict_differ_with_a_schedule(
    coordinator: Driver, misfits: Callable[[Any], list[str]]
) -> None:
    right = changing({"topics": "t:1-2", "subscriptions": "t"})
    spec = TRIGGERS.spec(right.scope)
    (rule,) = (r for r in spec.rules if r.name == "refresh_metadata")
    wrong = Changing(rebuilt(spec, [blind(own(spec, rule))]))
    tour = ChangingTour(wrong, coordinator, max_differences=1)
    tour.run()
    result = answer_of(tour)
    document = result.document()
    assert (result.verdict, result.exit_code, misfits(document)) == ("differs", 1, [])
    (first,) = document["differences"]
    assert first["input"] == "SyncGroup is answered 0: no partition"
    assert "leads a group with t, sees t-0, snapshot t-0" in first["memory"]
    assert [what.partition(" ")[0] for what in first["differs"]][:1] == ["state"]
    assert first["transcript"][0].split() == ["1", "poll"]


DROPS = {"topics": "t:1,u:1", "subscriptions": "t,u"}


def cooperative(bug: str = "") -> Changing:
    (found,) = changing_of("cooperative_triggers", 1, None, DROPS)
    spec = load("cooperative_triggers").spec(found.scope)
    return Changing(mutation(bug).apply(spec)) if bug else found


def test_a_cooperative_member_revokes_what_it_has_dropped_before_it_joins(
    coordinator: Driver,
) -> None:
    tour = ChangingTour(cooperative(), coordinator, max_rows=1_200)
    tour.run()
    assert [d.what for d in tour.differences] == []
    assert tour.counts.agreeing > 400


def test_a_cooperative_member_that_joins_with_what_it_has_dropped_differs(
    coordinator: Driver,
) -> None:
    tour = ChangingTour(cooperative("dropped_topic_is_kept"), coordinator, max_differences=1)
    tour.run()
    (first, *_) = tour.differences
    assert {what.partition(" ")[0] for what in first.what} == {"owned", "claims"}


def test_two_versions_execute_the_same_rows(coordinator: Driver) -> None:
    found = Changes[Change]()
    tour = ChangingVersionTour(changing(GONE), coordinator, max_differences=0)
    tour.beside(shared("4.0.0"), found).run()
    assert (tour.counts.rows, tour.counts.agreeing, found.number) == (OF_GONE, OF_GONE, 0)


def test_the_command_lists_what_no_row_executes_with_a_reason(
    capsys: pytest.CaptureFixture[str], misfits: Callable[[Any], list[str]]
) -> None:
    assert cli.run("conform triggers --side member --max-rows 60 --json".split()) == 3
    document = json.loads(capsys.readouterr().out)
    assert misfits(document) == []
    assert (document["scope"]["generations"], document["scope"]["topics"]) == (1, "t:1")
    assert document["agreeing"] == document["executed"] > 10
    assert {*document["not_executed"]} == {*TRIGGERS.member_apart}


ROWS, MEMORIES, OF_GONE = 1543, 278, 65
KINDS = {
    "the process starts",
    "topics are created, grow or are deleted",
    "Heartbeat",
    "JoinGroup",
    "SyncGroup",
    "the connection breaks",
}
