"""What `simulate` answers and refuses: words, ratios, and options that contradict each other."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.simulate.view import times

BOTH = ["simulate", "--members", "6", "--compare", "classic,async_server"]
SLOW = ["--set", "revoke_ms=10000"]


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.run(list(words)) == 2
    return capsys.readouterr().err


def test_a_ratio_has_three_digits() -> None:
    wanted = {0.1234: "0.123", 1.0: "1.00", 1.344: "1.34", 24.24: "24.2", 99.96: "100"}
    wanted |= {242.4: "242", 1234.5: "1,234"}
    assert {ratio: times(ratio) for ratio in wanted} == wanted


def test_a_quick_look_says_that_it_is_one_and_rounds_no_ratio_to_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run([*BOTH, *SLOW, "--replications", "2"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    found = re.search(r"is ([\d.]+) times that with .* interval: ([\d.]+) to ([\d.]+)\)", told)
    assert found and all("." in digits for digits in found.groups())
    assert "In 1 run of 6 members the longest pauses have a ratio of" in told
    assert "not the ratio above; --sensitivity looks at 2 runs of 6 members" in told


def test_sensitivity_of_no_ratio_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["simulate", "--members", "6", "--compare", "classic,cooperative", "--sensitivity"]
    assert "have no ratio" in refused(capsys, *asked)


def test_a_variant_beside_compare_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["simulate", "cooperative", "--compare", "classic,static_membership"]
    told = refused(capsys, *asked)
    assert "--compare cooperative,classic,static_membership" in told


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--partitions", "100001"], "1 to 100,000"),
        (["--partitions", "99999999999999999999"], "1 to 100,000"),
        (["--seed", "99999999999999999999"], "10^18"),
        (["--set", "processing_ms=lognormal:1,1000"], "durations of more than"),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in refused(capsys, "simulate", "--members", "3", *options)


def test_one_of_something_is_singular(capsys: pytest.CaptureFixture[str]) -> None:
    alone = ["simulate", "--members", "1", "--partitions", "1", "--scenario", "steady"]
    assert cli.run(alone) == 0
    assert capsys.readouterr().out.startswith("steady: 1 member, 1 partition, seed 0\n")


def test_the_files_say_which_assumptions_were_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "usual.csv", tmp_path / "other.csv"]
    given = [[], ["--set", "loss=0.01", "--set", "network_ms=3"]]
    for file, words in zip(files, given):
        assert cli.run(["simulate", "--members", "3", *words, "--csv", str(file)]) == 0
    capsys.readouterr()
    told = [json.loads(next(csv.DictReader(file.open()))["settings"]) for file in files]
    assert told == [{}, {"loss": 0.01, "network_ms": "constant:3"}]
