"""Situations: schedules with stated expectations, on Kafka's own coordinator."""

from __future__ import annotations

from collections import Counter

import attrs
import pytest

from groupcheck.oracles.conform.conformance import conform
from groupcheck.oracles.conform.situations.groups import stable
from groupcheck.oracles.conform.situations.running import SITUATIONS, execute
from groupcheck.oracles.conform.situations.situation import Does, Situation, answer_of, does
from groupcheck.oracles.kafka.commands import Advance, Heartbeat, JoinGroup, Request, SyncGroup
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.versions import VERSIONS
from groupcheck.oracles.show.text import as_plain


def differing(driver: Driver) -> dict[str, tuple[str, ...]]:
    executed = list(execute(driver))
    assert len(executed) > 90
    return {one.situation.name: one.differs for one in executed if one.differs}


def test_every_situation_is_as_expected(coordinator: Driver):
    assert differing(coordinator) == {}


def test_every_situation_is_as_expected_in_the_oldest_version():
    with Driver(VERSIONS[-1]) as oldest:
        assert differing(oldest) == {}
        newest = attrs.evolve(SITUATIONS[0], since=VERSIONS[0])
        assert list(execute(oldest, (newest,))) == []  # it does not know this one


def test_situations_have_different_names_and_say_where_their_expectation_comes_from():
    assert [name for name, n in Counter(s.name for s in SITUATIONS).items() if n > 1] == []
    assert all(s.source and s.since in VERSIONS for s in SITUATIONS)


def expects_something(step: Does) -> bool:
    return bool(step.answer or step.releases or step.group or step.log is not None)


def test_the_last_step_of_a_situation_expects_something():
    def silent(s: Situation) -> bool:
        parked = isinstance(s.steps[-1].command, Request) and s.steps[-1].answer is None
        return not (expects_something(s.steps[-1]) or parked)

    assert [s.name for s in SITUATIONS if silent(s)] == []


WRONG = {
    "request 5 is answered 0, expected 25": does(Heartbeat(member="m1", generation=1), 25),
    "request 5 is answered 0, expected no answer": does(Heartbeat(member="m1", generation=1)),
    "request 5 gets no answer, expected 0": does(JoinGroup(version=3), 0),
    "request 5: leader is 'm1', expected 'm2'": does(JoinGroup(member="m1"), 0, leader="m2"),
    "state is 'Stable', expected 'Empty'": does(Advance(ms=0), group={"state": "Empty"}),
    "timers is {'heartbeat-g-m1': 9999}, expected {}": does(Advance(ms=1), group={"timers": {}}),
    "appended is (), expected (('offset', 't', 0, 1),)": does(
        Advance(ms=0), log=(("offset", "t", 0, 1),)
    ),
    "request 2 gets no answer, expected 27": does(
        SyncGroup(member="m1", generation=1), 0, releases={"join of m1": answer_of(27)}
    ),
    "members is ('m1',), expected ()": does(Advance(ms=0), group={"members": ()}),
}


@pytest.mark.parametrize("what", WRONG)
def test_whatever_is_not_as_expected_is_told(what: str, coordinator: Driver):
    wrong = Situation("wrong", "nowhere", [*stable(1), WRONG[what]])
    (executed,) = execute(coordinator, (wrong,))
    assert [text.partition(": ")[2] for text in executed.differs] == [what]


def test_a_situation_that_cannot_be_carried_out_differs(coordinator: Driver):
    lost = Situation("lost", "nowhere", [does(Heartbeat(broker=7, member="m1", generation=1), 0)])
    (executed,) = execute(coordinator, (lost,))
    assert executed.differs == ("step 1 is refused: there is no broker 7",)


def test_a_situation_that_differs_makes_the_verdict_and_is_shown(
    coordinator: Driver, misfits, monkeypatch: pytest.MonkeyPatch
):
    wrong = Situation("a wrong one", "nowhere", [*stable(1), WRONG[next(iter(WRONG))]])
    only_this = "groupcheck.oracles.conform.conformance.execute"
    monkeypatch.setattr(only_this, lambda driver: execute(driver, (wrong,)))
    small = {"members": 1, "generations": 1, "faults": {"append_failure": 0}}
    found = conform("classic", kafka="4.3.0", driver=coordinator, situations=True, **small)
    assert (found.verdict, found.exit_code, found.differing) == ("differs", 1, 0)
    document = found.document()
    assert misfits(document) == [] and document["situations"]["agreeing"] == 0
    shown = as_plain(found.view())
    assert "Situation: a wrong one (nowhere)" in shown and "1 executed, 0 agreeing" in shown
    assert found.suite().cases[-1].why == "1 of 1 situations differ"
