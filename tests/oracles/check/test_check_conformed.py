"""How much of a check lies inside scopes whose rows were executed on the real coordinator."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from groupcheck.model.protocol.classic.group import Core, Phase, Seat, Seats
from groupcheck.model.variants import load
from groupcheck.oracles.check import run as check_run
from groupcheck.oracles.check.conformed import ids_known, rests
from groupcheck.oracles.command_line.cli import run
from groupcheck.oracles.explain import subject
from groupcheck.oracles.explain.answer import ConformedPart

ONE, TWO = ({"members": n, "generations": 1} for n in (1, 2))


@pytest.fixture
def within(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ConformedPart]:
    """Checks within conformed scopes that are small enough for a test."""

    def checked(*scopes: dict[str, Any], **options: Any) -> ConformedPart:
        variant = attrs.evolve(load("classic"), conformed=scopes, executed=())
        monkeypatch.setattr(subject, "load", lambda name: variant)
        result = check_run.check("classic", conformed=True, **options)
        assert result.conformed is not None
        return result.conformed

    return checked


def test_two_members_without_faults_lie_inside_their_scope(within: Callable[..., ConformedPart]):
    found = within(TWO, members=2, generations=1)
    assert (found.outside, found.example) == (0, None) and found.memories == found.inside > 30


def test_a_member_that_crashes_and_comes_back_is_two_ids(within: Callable[..., ConformedPart]):
    faults = {"members": 1, "generations": 1, "any_faults": 1}
    small, larger = within(ONE, **faults), within(ONE, TWO, **faults)
    assert small.memories == larger.memories == larger.inside > small.inside > 0
    assert small.example == "Empty, generation 0, pending 2; 0.0: known; 0.100: known"
    assert [scope["members"] for scope in larger.scopes] == [1, 2]


def test_a_generation_more_lies_outside(within: Callable[..., ConformedPart]):
    found = within(TWO, members=2, generations=2)
    assert 0 < found.inside < found.memories and "generation 2" in (found.example or "")


def test_settings_of_the_check_are_those_of_the_scope(within: Callable[..., ConformedPart]):
    capped = {**ONE, "settings": {"max_size": "1"}}
    assert within(ONE, capped, members=1, generations=1, max_size=1).scopes == (capped,)
    assert within(capped, members=1, generations=1).inside == 0


def test_a_fault_that_the_scope_leaves_out_is_outside(within: Callable[..., ConformedPart]):
    no_fault = {**ONE, "faults": {}}
    assert within(no_fault, members=1, generations=1).outside == 0
    assert within(no_fault, members=1, generations=1, faults={"fail_over": 1}).outside > 0


CORE = Core(phase=Phase.STABLE, generation=1, members=2, led=True, keeps=("fail_over",))


def test_ids_are_alike_whosever_they_are_and_whatever_their_names():
    member = Seat(member=True)
    apart = (Seats(((0, member),), leader=0), Seats(((3, member),)))
    together = (Seats(((5, member), (7, member)), leader=7), Seats())
    kept = frozenset({"fail_over"})
    assert ids_known(CORE, apart, kept) == ids_known(CORE, together, kept)
    nobody_leads = (attrs.evolve(apart[0], leader=None), apart[1])
    assert ids_known(CORE, apart, kept) != ids_known(CORE, nobody_leads, kept)
    owes = (Seats(((0, attrs.evolve(member, due=True)),), leader=0), apart[1])
    assert ids_known(CORE, apart, frozenset({"sync_timeout"})) != ids_known(
        CORE, owes, frozenset({"sync_timeout"})
    )
    written = (attrs.evolve(apart[0], durable=((0, Seat(member=True, share=1)),)), apart[1])
    assert ids_known(CORE, apart, kept) != ids_known(CORE, written, kept)
    assert ids_known(CORE, apart, frozenset()) == ids_known(CORE, written, frozenset())


def test_a_round_that_only_the_scope_holds_up_is_no_memory_of_a_coordinator():
    waits = Core(phase=Phase.PREPARING, generation=1, members=2, parked=1)
    assert rests(waits, 1) and not rests(attrs.evolve(waits, parked=2), 1)
    assert not rests(attrs.evolve(waits, members=0, parked=0), 3)
    assert rests(attrs.evolve(waits, members=0, parked=0, initial=True), 1)


def test_the_document_and_the_report_say_it(
    within: Callable[..., ConformedPart], capsys: pytest.CaptureFixture[str], misfits
):
    within(ONE, members=1, generations=1)  # sets the scopes
    options = ["check", "classic", "--members", "1", "--generations", "1", "--conformed"]
    assert run([*options, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert misfits(document) == []
    told = document["conformed"]
    assert told["memories"] == told["inside"] > 0 and told["outside"] == 0
    assert told["scopes"] == [{**ONE, "faults": "all", "settings": {}}]
    assert run(options) == 0
    assert f"{told['inside']} of {told['memories']} memories" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["cooperative_rounds"], "no coordinator of cooperative_rounds was executed row by row"),
        (["classic", "--mutation", "leader_forgotten"], "a known bug was put into the model"),
        (["classic", "--engine", "reference"], "--conformed: needs the fast engine"),
    ],
)
def test_what_cannot_be_said_is_refused(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    assert run(["check", *options, "--members", "1", "--conformed"]) == 2
    assert said in capsys.readouterr().err
