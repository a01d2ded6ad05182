"""What `--help` shows and what the shell completes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import click
import pytest
from click.shell_completion import BashComplete

from groupcheck.oracles.assignment import promises
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.command_line.cli_kafka import CONFORM_MODES
from groupcheck.oracles.command_line.help_page import SECTIONS
from groupcheck.oracles.command_line.listing import listing
from groupcheck.oracles.kafka.assignors import ASSIGNORS
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.versions import VERSIONS
from groupcheck.oracles.record.clients import CLIENTS

COMMANDS = sorted(cli.every_command())


def examples_of(command: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert cli.run([*command.split(), "--help"]) == 0
    said = capsys.readouterr().out
    return [line.strip() for line in said[said.index("\n  Examples:\n") :].splitlines()[2:]]


def completed(typed: str) -> list[str]:
    """What Tab offers after a command line that ends with the word that is being typed."""
    *words, last = typed.split(" ")
    shell = BashComplete(cli.command, {}, "groupcheck", "_GROUPCHECK_COMPLETE")
    return [item.value for item in shell.get_completions(words[1:], last)]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_ends_in_examples_that_can_be_typed(name, capsys):
    shown = examples_of(name, capsys)
    assert shown
    for example in shown:
        program, *rest = shlex.split(example)
        words = name.split()
        assert (program, rest[: len(words)]) == ("groupcheck", words)
        cli.every_command()[name].make_context(name, rest[len(words) :])


def test_the_options_of_a_long_help_stand_in_groups(capsys):
    assert cli.run(["check", "--help"]) == 0
    said = capsys.readouterr().out
    titles = [line[:-1] for line in said.splitlines() if line.endswith(":") and line[0] != " "]
    assert titles == [*SECTIONS, "Options"][1:]  # it has no modes
    for option in cli.command.commands["check"].params:
        if isinstance(option, click.Option):
            assert said.count(f"\n  {option.opts[0]} ") == 1


def test_each_name_in_the_groups_is_a_parameter():
    known = {p.name for command in cli.every_command().values() for p in command.params}
    assert {name for names in SECTIONS.values() for name in names} <= known


GIVEN = {
    "members": "2",
    "generations": "1",
    "fault": "append_failure",
    "set": "partitions=1",
    "mutation": "leader_forgotten",
    "seed": "1",
    "max-rows": "5",
    "max-differences": "5",
    "schedules": "1",
    "assignor": "range",
    "diff": "4.0.0 4.3.0",
    "jars": "no-such-folder",
    "findings": "",
    "coverage": "",
    "parquet": "rows.parquet",
    "junit": "cases.xml",
}


@pytest.mark.parametrize("mode", CONFORM_MODES)
def test_a_mode_of_conform_refuses_the_options_that_its_help_does_not_list(
    mode, monkeypatch, capsys
):
    """And no driver is started for them."""
    monkeypatch.setattr(Driver, "_running", lambda self: pytest.fail("a driver is started"))
    words = mode.replace("VARIANT", "classic").split()
    words = [w for word in words for w in (word, *GIVEN.get(word.removeprefix("--"), "").split())]
    listed = CONFORM_MODES[mode].split()
    assert {*listed} <= {*GIVEN}
    modes = {"diff", "jars"} if words[0] == "classic" else set()
    for name in {*GIVEN} - {*listed} - modes:
        assert cli.run(["conform", *words, f"--{name}", *GIVEN[name].split()]) == 2, name
        assert f"--{name}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("groupcheck conform assignors --assignor ", ASSIGNORS),
        ("groupcheck assign --like ", promises.ASSIGNORS),
        ("groupcheck record --client ", CLIENTS),
        ("groupcheck record --kafka ", VERSIONS),
        ("groupcheck conform --diff 4.0.0 ", VERSIONS),
        ("groupcheck check --engine ", ["fast", "plain", "reference"]),
    ],
)
def test_the_shell_completes_the_names_of_the_real_world(typed, names):
    assert completed(typed) == list(names)


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        ("groupcheck check ", "variants"),
        ("groupcheck check classic --fault ", "faults"),
        ("groupcheck check classic --mutation ", "mutations"),
        ("groupcheck check classic --invariant ", "invariants"),
        ("groupcheck check classic --goal ", "goals"),
        ("groupcheck check classic --assignor ", "assignors"),
        ("groupcheck bugs ", "mutations"),
        ("groupcheck replay --format ", "formats"),
        ("groupcheck record --scenario ", "scenarios"),
    ],
)
def test_the_shell_completes_the_names_of_the_list(typed, kind):
    names = dict.fromkeys(row.get("name") or row["id"] for row in listing(kind))
    assert completed(typed) == list(names)


def test_the_shell_completes_what_was_begun():
    assert completed("groupcheck check classic --fault session_t") == ["session_timeout"]
    assert completed("groupcheck list mut") == ["mutations"]


def test_the_shell_gets_its_script_and_its_answers_from_the_program():
    def said(**given: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from groupcheck.oracles.command_line.cli import main; main()"],
            env={**os.environ, **given},
            capture_output=True,
            text=True,
            timeout=60,
        )

    script = said(_GROUPCHECK_COMPLETE="zsh_source")
    assert (script.returncode, script.stderr) == (0, "")
    assert script.stdout.startswith("#compdef groupcheck")
    asked = {"COMP_WORDS": "groupcheck check classic --fault cra", "COMP_CWORD": "4"}
    answer = said(_GROUPCHECK_COMPLETE="bash_complete", **asked)
    assert (answer.returncode, answer.stdout) == (0, "plain,crash\n")
