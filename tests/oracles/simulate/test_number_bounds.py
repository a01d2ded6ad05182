"""Numbers that nobody means (none, infinite, far too large, far too small) are refused in words
wherever the commands that simulate take one, and no interval of a count goes below 0.
"""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path

import click
import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.quantities import MOST_REPLICATIONS
from groupcheck.oracles.simulate import (
    Distribution,
    Setup,
    compare,
    documented,
    intervals,
    simulate,
)
from groupcheck.oracles.simulate import with_settings as assumed
from groupcheck.oracles.simulate.assumptions import LEAST, MOST, Assumptions
from groupcheck.oracles.simulate.document import spread
from groupcheck.oracles.simulate.uses.advice import advised
from groupcheck.oracles.simulate.uses.advice_group import GroupDescription

COMMANDS = {
    "simulate": "simulate --members 2",
    "curve": "curve initial-delay --members 2 --replications 1 --at 0",
    "advise": "advise --members 2",
    "replay": "replay sample:console-group --what-if static",
    "sweep": "sweep sample:sweep --out OUT",
}
KINDS = (click.types.IntParamType, click.types.FloatParamType)
OPTIONS = [
    (name, option.opts[0])
    for name in COMMANDS
    for option in cli.command.commands[name].params
    if isinstance(option.type, KINDS) or option.opts[0] == "--at"
]
# More digits than a number of the machine has, and than Python turns into a float, or reads at all.
UNMEANT = ["nan", "inf", "-inf", "1e308", "1e400", "9" * 30, "9" * 400, "9" * 5000, "-" + "9" * 30]
NUMBERS = [
    name for name in documented() if not isinstance(getattr(Assumptions(), name), Distribution)
]


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_an_option_refuses_numbers_that_nobody_means(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, option: str
):
    words = COMMANDS[command].replace("OUT", str(tmp_path / "out")).split()
    for value in UNMEANT:
        code = cli.run([*words, f"{option}={value}"])
        said = capsys.readouterr().err
        assert code == 2 and said.count("\n") == 1, value
        assert "bug in groupcheck" not in said and "system refused" not in said
    assert not (tmp_path / "out").exists()


def test_every_command_that_simulates_is_asked():
    assert {name for name, _ in OPTIONS} == {*COMMANDS}
    assert {"--at", "--seconds", "--seed", "--replications", "--workers"} <= {o for _, o in OPTIONS}


@pytest.mark.parametrize("value", ["nan", "inf", "1e308", "1e-300", "1e-320", "-1e-320", "9" * 400])
@pytest.mark.parametrize("name", NUMBERS)
def test_an_assumption_refuses_numbers_that_nobody_means(name: str, value: str):
    with pytest.raises(UserError):
        assumed({name: value})


@pytest.mark.parametrize("value", [LEAST, MOST])
@pytest.mark.parametrize("name", NUMBERS)
def test_an_assumption_at_its_bound_is_simulated_or_refused(name: str, value: float):
    scenario = "crash" if name == "shared_spare" else "scale-out"
    with contextlib.suppress(UserError):
        setup = Setup(members=2, partitions=2, scenario=scenario, seconds=60)
        found = simulate(setup.with_(assumptions=assumed({name: value})))
        assert not any(map(math.isnan, found.measures.values()))


def test_a_message_says_which_numbers_are_meant(capsys: pytest.CaptureFixture[str]):
    for words, said in (
        ("--seconds 1e308", "1e+308 is not in the range 0<x<=1000000000"),
        ("--seconds nan", "'nan' is not a number"),
        ("--replications 1000001", "1000001 is not in the range 1<=x<=1000"),
        ("--set shared_spare=1e-300", "1e-300, neither 0 nor a number from 1e-09 to 1e+15"),
    ):
        assert cli.run(["simulate", "--members", "2", *words.split()]) == 2
        assert said in capsys.readouterr().err


def test_functions_refuse_what_the_options_refuse():
    for count in (0, MOST_REPLICATIONS + 1, 10**30):
        with pytest.raises(UserError, match="not a number from 1 to 1,000"):
            compare([Setup(members=2)], count)
    with pytest.raises(UserError, match="not a number from 1 to 1,000"):
        advised(GroupDescription(members=2), replications=10**30)
    with pytest.raises(UserError, match="seconds is 1e\\+308, not above 0 and up to 1,000,000,000"):
        simulate(Setup(members=2, seconds=1e308))


def test_a_group_with_the_least_spare_capacity_still_catches_up():
    """Also where the share is too small to be added to 1."""
    setup = Setup(
        scenario="crash", members=2, partitions=2, assumptions=assumed({"shared_spare": LEAST})
    )
    assert simulate(setup).measures["lag_recovered_ms"] > 1e9


def test_the_interval_of_what_cannot_be_negative_ends_at_0():
    found = intervals.mean([0, 0, 0, 9], least=0)
    assert (found.mean, found.low, found.is_cut) == (2.25, 0, True) and (found.high or 0) > 9
    assert spread(found, "{:.1f}".format) == f" (0.0 to {found.high:.1f})"
    free = intervals.mean([0, 0, 0, 9])
    assert free.low == pytest.approx(4.5 - (free.high or 0)) and not free.is_cut
    assert spread(free, "{:.1f}".format) == " ± 7.2"
    assert spread(intervals.mean([1, 1]), str) == ""


def test_no_answer_has_an_interval_below_0(capsys: pytest.CaptureFixture[str]):
    for command in ("simulate", "curve initial-delay --at 100"):
        assert cli.run([*command.split(), "--members=3", "--replications=3", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        rows = told["points"] if "points" in told else told["variants"][0]["measures"].values()
        lows = [row["low"] for row in rows if row["low"] is not None]
        assert min(lows) == 0


def test_a_ratio_whose_interval_has_no_end_is_infinite():
    found = intervals.ratio([1e-90, 1e90], [1e90, 1e-90])
    assert found is not None and (found.low, found.high) == (0, math.inf)
