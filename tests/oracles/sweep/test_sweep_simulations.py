"""Simulations as cells of a sweep: which there are, what they say, and what is kept of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyarrow import parquet

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.simulate import Setup, simulate
from groupcheck.oracles.sweep import running, simulation_rows
from groupcheck.oracles.sweep.growing import Sweep, grown
from groupcheck.oracles.sweep.simulations import Simulation

DOCUMENT = (Path(__file__).parents[3] / "docs/sweep.md").read_text("utf-8")
FILE = """
[[simulate]]
name = "restarts"
variant = ["classic", "static_membership"]
scenario = "rolling-restart"
members = [3, 5]
changed_members = 3
replications = 2
at_most = {rounds = 0}
without = [{variant = "classic", members = 5}]
"""


def sweep_of(*grids: dict[str, Any]) -> Sweep:
    return grown({"simulate": list(grids)}, "here")


def swept(folder: Path, text: str, *options: str) -> tuple[int, Path]:
    (folder / "sweep.toml").write_text(text)
    out = folder / "out"
    return cli.run(["sweep", str(folder / "sweep.toml"), "--out", str(out), *options]), out


def test_a_grid_is_the_product_of_its_lists() -> None:
    sweep = sweep_of(
        {"variant": ["classic", "cooperative"], "members": [2, 3], "seed": [0, 7], "loss": 0.01},
        {"variant": "classic", "scenario": "crash", "stall_ms": "uniform:1,2"},
    )
    assert [cell.number for cell in sweep.simulations] == list(range(1, 10))
    first, last = sweep.simulations[0].question.setup(), sweep.simulations[-1].question.setup()
    assert (first.variant, first.members, first.partitions, first.seed) == ("classic", 2, 2, 0)
    assert first.assumptions.loss == 0.01 and last.scenario == "crash"
    assert len({cell.id for cell in sweep.simulations}) == 9


def test_checks_come_first_and_numbers_go_on() -> None:
    sweep = grown(
        {
            "grid": [{"variant": "classic", "members": 1, "generations": 1}],
            "simulate": [{"variant": "classic", "members": 3}],
        },
        "here",
    )
    assert [cell.number for cell in sweep.every] == [1, 2]


@pytest.mark.parametrize(
    ("grid", "says"),
    [
        ({}, "missing"),
        ({"variant": "clasic"}, "clasic"),
        ({"variant": "classic", "scenario": "scale-upp"}, "scale-upp"),
        ({"variant": "classic", "member": 3}, "member"),
        ({"variant": "classic", "members": "3"}, "whole number"),
        ({"variant": "classic", "members": [3, 1]}, "not a number from 2"),
        ({"variant": "classic", "members": []}, "empty list"),
        ({"variant": "classic", "members": [3, 3]}, "ask the same"),
        ({"variant": "classic", "at_most": {"round": 3}}, "round"),
        ({"variant": "classic", "replications": 0}, "replications"),
        ({"variant": "classic", "loss": 2}, "below 1"),
        ({"variant": "classic", "network_ms": "lognormal:1"}, "distribution"),
        ({"variant": "callbacks"}, "fires"),
        ({"variant": "classic", "scenario": "partitions-added"}, "needs the rule"),
        ({"variant": "classic", "only": [{"crash": 1}]}, "crash"),
    ],
)
def test_a_grid_that_cannot_be_simulated_is_refused(grid: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError) as refused:
        sweep_of(grid)
    assert says in str(refused.value)


def test_the_figures_are_those_of_simulate() -> None:
    question = Simulation("classic", {"members": 3, "seed": 4}, 2)
    outcome = question.answered()
    alone = [simulate(attrs.evolve(Setup(members=3, partitions=3), seed=4 + k)) for k in range(2)]
    for name in alone[0].measures:
        mean = sum(one.measures[name] for one in alone) / 2
        assert outcome.measures[name][0] == pytest.approx(mean, abs=1e-5)
    assert outcome.verdict == "holds" and not outcome.broken
    assert list(outcome.measures) == list(alone[0].measures)


def test_an_interval_around_the_bound_is_unknown() -> None:
    fields = {"members": 3, "scenario": "crash"}
    mean, low, high = Simulation("classic", fields, 4).answered().measures["total_pause_ms"]
    assert mean is not None and low is not None and high is not None and low < high
    for most, verdict in ((low - 1, "violated"), (mean, "unknown"), (high + 1, "holds")):
        asked = Simulation("classic", fields, 4, {"total_pause_ms": most})
        outcome = asked.answered()
        assert outcome.verdict == verdict
        assert bool(outcome.broken) == (verdict == "violated")


def test_a_run_that_ends_before_the_group_rests_is_unknown(tmp_path: Path) -> None:
    fields = {"members": 3, "seconds": 1, "scenario": "crash"}
    for bounds in ({}, {"settled_ms": 1e9}):
        outcome = Simulation("classic", fields, 2, bounds).answered()
        assert outcome.verdict == "unknown" and not outcome.complete
        assert ("settled_ms is unknown, so it may be more" in outcome.reason) == bool(bounds)
        assert "the group did not come to rest within 1 s of virtual time" in outcome.reason
        assert outcome.reason.endswith("; a larger value of seconds simulates longer")
    cut = '[[simulate]]\nvariant = "classic"\nscenario = "crash"\nmembers = 3\nseconds = 1\n'
    code, out = swept(tmp_path, f"{cut}replications = 2\nat_most = {{settled_ms = 1e9}}\n")
    page = (out / "sweep.html").read_text()
    assert code == 3 and "did not come to rest within 1 s" in page
    assert '<td class="count">unknown</td>' in page and "never ended" not in page


def test_a_sweep_of_simulations_writes_table_page_and_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], misfits: Any
) -> None:
    code, out = swept(tmp_path, FILE, "--json")
    told = json.loads(capsys.readouterr().out)
    assert misfits(told) == []
    assert code == 1 and told["counts"] == {"violated": 1, "unknown": 0, "holds": 2}
    assert [(r["variant"], r["members"], r["verdict"]) for r in told["simulations"]] == [
        ("classic", 3, "violated"),
        ("static_membership", 3, "holds"),
        ("static_membership", 5, "holds"),
    ]
    table = parquet.read_table(out / "simulations.parquet").to_pylist()
    assert len(table) == 3 * 17
    rounds = [r for r in table if r["measure"] == "rounds"]
    assert [(r["mean"], r["at_most"]) for r in rounds] == [(6.0, 0.0), (0.0, 0.0), (0.0, 0.0)]
    page = (out / "sweep.html").read_text()
    assert "restarts" in page and "rounds is 6" in page


def test_what_is_done_is_not_simulated_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    swept(tmp_path, FILE)
    capsys.readouterr()

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("it was simulated again")

    monkeypatch.setattr(running, "checked", never)
    code, _ = swept(tmp_path, FILE, "--resume")
    assert code == 1 and "rounds is 6" in capsys.readouterr().out


def test_the_table_is_documented() -> None:
    section = DOCUMENT.partition("## The table of simulations")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \| (\S.*?) \|", section, re.M)
    told = {name: kind for names, kind in rows for name in re.findall(r"`(\w+)`", names)}
    assert told == simulation_rows.COLUMNS


@pytest.mark.parametrize("most", [float("nan"), float("inf"), -1, 10**400])
def test_a_bound_that_nothing_can_break_is_refused(most: float) -> None:
    with pytest.raises(UserError, match=r"at_most: rounds is .*, not a number from 0"):
        sweep_of({"variant": "classic", "members": 3, "at_most": {"rounds": most}})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", 99999999999999999999),
        ("partitions", 99999999999999999999),
        ("partitions", 3_000_000_000),
        ("seconds", 10**400),
        ("loss", 10**400),
    ],
)
def test_a_number_that_no_table_holds_is_refused_when_the_file_is_read(
    key: str, value: int
) -> None:
    with pytest.raises(UserError) as refused:
        sweep_of({"variant": "classic", "members": 3, key: value})
    assert key in str(refused.value)


@pytest.mark.parametrize("filters", [{"only": {"members": 5}}, {"without": {"members": 4}}])
def test_filters_that_leave_no_simulation_are_refused(filters: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="no cell is left"):
        sweep_of({"variant": "classic", "members": 4, **filters})


@pytest.mark.parametrize(
    ("grid", "names"),
    [
        ({"at_most": {"xyzzy": 1}}, ("rounds", "lag_recovered_ms")),
        ({"xyzzy": 1}, ("scenario", "start_spread_ms")),
    ],
)
def test_an_error_lists_the_names_that_no_list_has(
    grid: dict[str, Any], names: tuple[str, ...]
) -> None:
    with pytest.raises(UserError) as refused:
        sweep_of({"variant": "classic", **grid})
    assert all(name in str(refused.value) for name in names)
    assert "groupcheck list" not in str(refused.value)


def test_a_simulation_has_the_limit_of_its_grid_or_of_the_file() -> None:
    own = {"variant": "classic", "members": 3, "limits": {"max_seconds": 2}}
    plain = {"variant": "classic", "members": 4}
    sweep = grown({"limits": {"max_seconds": 1}, "simulate": [own, plain]}, "here")
    assert [cell.question.max_seconds for cell in sweep.simulations] == [2.0, 1.0]
    alone = sweep_of(plain).simulations[0]
    assert alone.question.max_seconds is None and alone.id != sweep.simulations[1].id
    with pytest.raises(UserError, match="max_states is no limit of a simulation"):
        sweep_of({"variant": "classic", "limits": {"max_states": 3}})


def test_a_simulation_at_its_limit_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], misfits: Any
) -> None:
    text = '[limits]\nmax_seconds = 1e-9\n[[simulate]]\nvariant = "classic"\nmembers = 3\n'
    code, out = swept(tmp_path, text + "at_most = {rounds = 0}\n", "--json")
    told = json.loads(capsys.readouterr().out)
    assert misfits(told) == [] and code == 3
    (one,) = told["simulations"]
    assert (one["verdict"], one["failed"], one["measures"]) == ("unknown", False, {})
    assert one["reason"] == "stopped at the limit of 1e-09 seconds"
    (row,) = parquet.read_table(out / "simulations.parquet").to_pylist()
    assert (row["measure"], row["max_seconds"]) == (None, 1e-9)


def test_the_help_tells_of_simulations(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["sweep", "--help"]) == 0
    told = capsys.readouterr().out
    assert "[[simulate]]" in told and "simulations.parquet" in told


def test_an_error_lists_the_keys_that_a_filter_may_have() -> None:
    many = dict.fromkeys(("loss", "answer_ms", "trigger_ms", "restart_ms", "metadata_bytes"), 0.5)
    many |= {"seed": 1, "seconds": 9, "group_age_s": 9, "pause_every_s": 9, "service_ms": 1}
    keys = {"variant": "classic", "members": 3, "partitions": 3, "scenario": "crash", **many}
    with pytest.raises(UserError, match=r"choose one of variant, .*group_age_s"):
        sweep_of({**keys, "only": {"xyzzy": 1}})


def test_one_cell_of_one_run_is_singular(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[[simulate]]\nvariant = "classic"\nmembers = 3\nreplications = 1\n'
    code, _ = swept(tmp_path, text)
    told = capsys.readouterr().out
    assert code == 0 and "1 cell: 1 holds" in told and "holds  1 run  simulate" in told
