"""A counterexample for other tools: ITF, and a test file that runs."""

from __future__ import annotations

import enum
import json
import re

import pytest
from attrs import frozen
from two_phase_commit import two_phase_commit

from groupcheck.model.engine import UserError, invariant
from groupcheck.oracles.check.run import CheckResult, check
from groupcheck.oracles.show.itf import expression
from groupcheck.oracles.show.pytest_export import literal


@pytest.fixture
def hasty(small_world: None) -> CheckResult:
    return check("twophase", mutation="hasty", engine="reference")


def assert_expression(value: object) -> None:
    """ADR-015, "Expressions", in its revision of 2023-09-14."""
    if isinstance(value, list):
        for v in value:
            assert_expression(v)
    elif isinstance(value, dict):
        special = [key for key in value if key.startswith("#")]
        if not special:
            for v in value.values():
                assert_expression(v)
            return
        assert len(value) == 1
        [(kind, inner)] = value.items()
        if kind == "#bigint":
            assert re.fullmatch(r"-?[0-9]+", inner)
        elif kind == "#map":
            assert all(len(pair) == 2 for pair in inner)
            assert_expression([v for pair in inner for v in pair])
        else:
            assert kind in ("#set", "#tup")
            assert_expression(inner)
    else:
        assert isinstance(value, bool | str)


def test_the_itf_trace_keeps_to_the_format(hasty):
    trace = json.loads(json.dumps(hasty.itf()))
    assert trace["vars"] == ["coordinator", "network", "manager"]
    assert len(trace["states"]) == 8
    for number, state in enumerate(trace["states"]):
        assert state.pop("#meta")["index"] == number
        assert set(state) == set(trace["vars"])
        assert_expression(list(state.values()))


def test_the_itf_trace_names_each_rule_and_ends_in_the_broken_state(hasty):
    states = hasty.itf()["states"]
    assert [s["#meta"].get("action") for s in states[-2:]] == ["decide:commit", "obey"]
    phases = [value["phase"] for _, value in states[-1]["manager"]["#map"]]
    assert phases == ["committed", "prepared", "aborted"]


class Colour(enum.IntEnum):
    RED = 1


@frozen
class Car:
    colour: Colour
    wheels: frozenset[int] = frozenset({2, 10, 1})
    owner: str | None = None
    moving: bool = False


def test_values_are_written_as_itf_expressions():
    assert expression(Car(Colour.RED)) == {
        "colour": "RED",
        "wheels": {"#set": [{"#bigint": "1"}, {"#bigint": "2"}, {"#bigint": "10"}]},
        "owner": {"tag": "None", "value": {"#tup": []}},
        "moving": False,
    }
    assert expression((2**70, {"a": -1})) == {
        "#tup": [{"#bigint": str(2**70)}, {"#map": [["a", {"#bigint": "-1"}]]}]
    }
    assert set(expression(3.5)) == {"#unserializable"}
    assert expression(10**5000) == {"#unserializable": "<int of 16,610 bits>"}


def run_tests(text: str) -> int:
    """Runs the test functions of a file's text; how many there were."""
    names: dict[str, object] = {}
    exec(compile(text, "exported", "exec"), names)
    tests = [f for name, f in names.items() if name.startswith("test_")]
    for test in tests:
        test()  # type: ignore[operator]
    return len(tests)


def test_the_exported_test_passes_while_the_bug_is_there(hasty):
    text = hasty.pytest()
    assert '("obey", 0),\n' in text
    assert run_tests(text) == 1


def test_the_exported_test_fails_once_the_bug_is_gone(hasty):
    healed = hasty.pytest().replace('mutation="hasty"', "members=3")
    with pytest.raises((AssertionError, UserError)):
        run_tests(healed)


def test_the_exported_test_fails_when_the_path_is_another(hasty):
    with pytest.raises(AssertionError):
        run_tests(hasty.pytest().replace('("give_up", 2)', '("prepare", 2)'))


@pytest.mark.usefixtures("small_world")
def test_the_exported_scope_is_what_differs_from_the_default():
    result = check("twophase", mutation="hasty", members=2, faults={"crash": 1}, engine="reference")
    assert (
        'mutation="hasty",\n        members=2,\n        faults={"crash": 1},\n' in result.pytest()
    )
    assert run_tests(result.pytest()) == 1


def test_faults_of_a_mutation_that_were_taken_away_stay_away():
    result = check(
        "classic",
        mutation="parked_sync_forgotten",
        settings={"any_faults": "none"},
        engine="reference",
    )
    assert result.subject.mutation.scope["faults"] and not result.subject.spec.scope.faults
    assert run_tests(result.pytest()) == 1


def test_a_spec_without_a_name_cannot_become_a_test_file():
    @invariant
    def never(coordinator):
        return coordinator.phase == "init"

    from attrs import evolve

    result = check(evolve(two_phase_commit(2), invariants=[never]), engine="reference")
    with pytest.raises(UserError, match="a test file cannot name this spec"):
        result.pytest()


@pytest.mark.usefixtures("small_world")
def test_without_a_counterexample_nothing_is_exported():
    result = check("twophase", engine="reference")
    with pytest.raises(UserError, match="no counterexample"):
        result.itf()


def test_a_value_that_looks_like_code_stays_a_value():
    hostile = '\\"""\'); import os #\n\x7f\x1b\u2028\u202e\ud800{}\U0001f600\U000e0041'
    value = (hostile, {hostile: (1, None, True)})
    assert literal(value).isascii() and literal(value).isprintable()
    assert eval(literal(value)) == value
