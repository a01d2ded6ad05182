"""The steps of the group's model fit the member's rows, and a mistake that only the group's model
can show (its connection, what is not committed, its budget) does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults as faults
from groupcheck.model.protocol.classic import offsets
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_ID
from groupcheck.model.protocol.transform import rebuilt, rewritten
from groupcheck.model.variants import load
from groupcheck.oracles.conform.member.conformance import MemberConformance, beside
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.group_steps import GroupSteps
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.conform.member.tour import Tour
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.show.suite import FAILURE

CLASSIC = load("classic")
SMALL = {"partitions": "1", "autocommit": "yes"}
STATES, COMPARED = 296, 8_159
# From the arguments of a rule and its outcomes: the wrong outcomes.
Wrong = Callable[[tuple[Any, ...], list[Any]], list[Any]]


def steps(*rules: Rule) -> GroupSteps:
    scope = rows_of("classic", 1, None, SMALL)[0].scope
    return GroupSteps(Rows(scope, rebuilt(CLASSIC.spec(scope), rules)))


def test_every_step_of_the_groups_model_fits_the_rows() -> None:
    made = steps()
    assert made.run(0) == []
    assert (made.states, made.steps) == (STATES, COMPARED)


def never(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    return []


def clean(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    return [
        tuple(evolve(x, dirty=False) if isinstance(x, Client) else x for x in o) for o in outcomes
    ]


def late_too(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    return [tuple(evolve(x, late=None) if isinstance(x, Link) else x for x in o) for o in outcomes]


def free(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    """A fault that spends nothing."""
    return [(*o[:-1], given[2]) for o in outcomes]


def told(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    """Whoever is not STABLE is told to rejoin, too."""

    def one(x: Any) -> Any:
        return evolve(x, rejoin=True) if isinstance(x, Client) and x.state != Member.STABLE else x

    return [tuple(map(one, o)) for o in outcomes]


def without_id(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    def one(x: Any) -> Any:
        if not isinstance(x, Link) or x.request is None:
            return x
        return evolve(x, request=evolve(x.request, id=NO_ID))

    return [tuple(map(one, o)) for o in outcomes]


MISTAKES: dict[str, tuple[Rule, Wrong]] = {
    "the application never commits": (members.send_commit, never),
    "a commit that is refused counts as done": (members.commit_answer, clean),
    "what was processed is clean": (offsets.process_record, clean),
    "nobody hears of 27 outside STABLE, but here": (members.heartbeat_answer, told),
    "a crash takes a late request along": (faults.crash, late_too),
    "a broken connection takes a late request along": (faults.disconnect, late_too),
    "members crash for nothing": (faults.crash, free),
    "connections break for nothing": (faults.disconnect, free),
    "polls are missed for nothing": (faults.poll_timeout, free),
    "no connection breaks": (faults.disconnect, never),
    "a closed process stays": (members.closed, never),
    "an orphan waits for ever": (members.request_timeout, never),
    "a request that is delayed has no id": (faults.lose_response, without_id),
    "nobody commits late": (faults.late_commit, never),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_that_only_the_groups_model_shows_is_noticed(name: str) -> None:
    rule, wrong = MISTAKES[name]

    def call(*given: Any) -> Iterator[Any]:
        yield from wrong(given, list(rule.call(*given)))

    assert steps(rewritten(rule, call)).run(1)


@pytest.mark.parametrize("rule", [members.send_join, members.send_heartbeat])
def test_a_request_beside_one_that_waits_is_noticed(rule: Rule) -> None:
    def call(client: Client, link: Link, *others: Any) -> Iterator[Any]:
        for outcome in rule.call(client, Link(), *others):
            yield *outcome[:-1], evolve(link, request=outcome[-1].request)

    found = steps(rewritten(rule, call)).run(1)
    assert found and "has no row" in found[0].what


def test_a_wrong_step_makes_the_verdict_differ_beside_the_real_member(
    coordinator: Driver, misfits: Callable[[Any], list[str]]
) -> None:
    def call(*given: Any) -> Iterator[Any]:
        yield from late_too(given, list(faults.disconnect.call(*given)))

    wrong = steps(rewritten(faults.disconnect, call))
    tour = Tour(wrong.rows, coordinator, max_rows=500)
    tour.run()
    assert not tour.differences
    found = tuple(beside(tour, wrong.run(1)))
    result = MemberConformance(
        variant="classic",
        kafka="4.3.0",
        tours=(tour,),
        seconds=0.0,
        steps=(wrong,),
        misfits=found,
    )
    assert (result.verdict, result.exit_code) == ("differs", 1)
    document = result.document()
    assert misfits(document) == []
    assert document["group_steps"]["differing"] == 1
    assert [c.name for c in result.suite().cases if c.became == FAILURE] == [
        "steps of the group's model"
    ]
    (told,) = document["differences"]
    assert told["differs"][0].startswith("in the group's model: disconnect")
    assert told["transcript"][0].split() == ["1", "poll"]


def test_a_memory_that_no_row_leads_to_is_a_misfit() -> None:
    made = steps()
    made.executed = {made.rows.start()}
    assert "no row leads to the member" in made.run(1)[0].what
