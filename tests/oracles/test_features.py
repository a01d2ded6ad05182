"""`--with`: the classic group with any features, in every command that takes a variant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from groupcheck import check
from groupcheck.oracles.command_line import cli

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = ("--members", "1", "--generations", "1")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert cli.run([*arguments, "--json"]) == 0
    told: dict[str, object] = json.loads(capsys.readouterr().out)
    return told


def test_features_make_the_variant_that_has_their_name(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = printed(capsys, "check", "cooperative_static", *SMALL)
    for how in (["static", "--with", "cooperative"], ["cooperative, static"]):
        told = printed(capsys, "check", "classic", "--with", *how, *SMALL)
        same = ("variant", "states", "transitions", "depth")
        assert [told[key] for key in same] == [wanted[key] for key in same]


def test_a_combination_without_a_name_is_checked_and_its_keys_are_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scope = ("--members", "2", "--generations", "1")
    asked = ("classic", "--with", "static,callbacks", "--mutation", "instance_joins_twice")
    assert cli.run(["check", *asked, *scope, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["variant"] == "classic+static+callbacks"
    key = told["violations"][0]["key"]
    assert cli.run(["explain", asked[0], key, *asked[1:], *scope]) == 0
    assert told["violations"][0]["invariant"] in capsys.readouterr().out


def test_python_names_a_combination_by_its_features() -> None:
    verdict = check("static_membership+callbacks", members=1, generations=1).verdict
    assert verdict.verdict == "holds" and verdict.rules["call_back"] == 0


def test_the_features_are_listed_with_what_they_need_and_exclude(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run(["list", "features", "--json"]) == 0
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert listed["twins"]["needs"] == ["static"]
    assert listed["upgrade"]["excludes"][0].startswith("static: ")
    assert "static_topics" not in listed


def test_a_simulation_takes_features_and_names_what_it_does_not_drive(
    capsys: pytest.CaptureFixture[str],
) -> None:
    usual = printed(
        capsys, "simulate", "static_membership", "--members", "3", "--replications", "2"
    )
    told = printed(capsys, "simulate", "--with", "static", "--members", "3", "--replications", "2")
    assert told == usual
    assert cli.run(["simulate", "--with", "static,callbacks"]) == 2
    assert "nothing says when call_back, callback_runs fires" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check", "classic", "--with", "statc"], "did you mean static?"),
        (
            ["check", "cooperative", "--with", "triggers,callbacks"],
            "no group has callbacks, cooperative and triggers",
        ),
        (["check", "connect", "--with", "static"], "connect takes no features"),
        (["check", "mine.py:SPEC", "--with", "static"], "mine.py:SPEC: takes no features"),
        (["conform", "--with", "static,callbacks", "--side", "member"], "were executed apart"),
        (["conform", "--with", "static,callbacks", "--whole"], "is not followed there"),
        (["check", "twins", "--mutation", "instance_joins_twice"], "goes back and forth for ever"),
        (["explain", "classic+twins+mixed", "gc1-0"], "no group has mixed and twins"),
        (["list", "rules", "--variant", "classic+nothing"], "there is no feature 'nothing'"),
    ],
)
def test_what_cannot_be_together_is_refused_in_words(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(arguments) == 2
    assert told in capsys.readouterr().err


def test_a_package_offers_a_feature_with_its_promises_and_bugs(tmp_path: Path) -> None:
    """In a process of its own: features are found once."""
    offers = tmp_path / "offers-1.0.dist-info"
    offers.mkdir()
    (offers / "METADATA").write_text("Metadata-Version: 2.1\nName: offers\nVersion: 1.0\n")
    lines = ["[groupcheck.features]", "pausing = pausing:FEATURE", "gone = nowhere:X"]
    (offers / "entry_points.txt").write_text("\n".join([*lines, "rule = pausing:pause", ""]))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "groupcheck", *arguments],
            env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{EXAMPLES}"},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    asked = ("check", "cooperative", "--with", "pausing", "--json", *SMALL)
    told = json.loads(run(*asked).stdout)
    assert (told["verdict"], told["variant"]) == ("holds", "classic+pausing+cooperative")
    assert told["rules"]["pause"] and told["goals"]["paused_outlives_membership"] is None
    found = run(*asked[: -len(SMALL)], "--mutation", "paused_buffer_is_read")
    (broken,) = json.loads(found.stdout)["violations"]
    assert broken["invariant"] == "paused_is_not_processed"
    assert "Member A processes a record of a partition that it has paused." in found.stdout
    for name, why in (("gone", "ModuleNotFoundError"), ("rule", "is of type Rule, not Feature")):
        refused = run("check", "classic", "--with", name)
        assert (refused.returncode, refused.stdout) == (2, "") and why in refused.stderr
