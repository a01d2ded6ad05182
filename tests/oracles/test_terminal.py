"""Colours and widths: every command honours FORCE_COLOR, NO_COLOR and COLUMNS."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.show.text import console

DATA = Path(__file__).parents[1] / "data"
SWEEP = '[[grid]]\nvariant = "classic"\nmembers = 1\ngenerations = 1\n'
COMMANDS = {
    "check": ["check", "classic", "--mutation", "leader_forgotten"],
    "bugs": ["bugs", "leader_forgotten"],
    "list": ["list", "mutations"],
    "sweep": ["sweep", "{0}/sweep.toml", "--out", "{0}/out"],
    "replay": ["replay", "sample:console-group"],
    "simulate": ["simulate", "--compare", "classic,cooperative,async_server", "--members", "2"],
    "curve": ["curve", "initial-delay", "--members", "2", "--at", "0", "--replications", "2"],
    "assign": ["assign", str(DATA / "assign/sticky.json")],
}
STYLED = [name for name in COMMANDS if name not in ("simulate", "curve")]
COLOURED = re.compile(r"\x1b\[[0-9;]*3[0-7]m")


def printed(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch, **env
) -> str:
    (folder / "sweep.toml").write_text(SWEEP)
    for name, value in env.items():
        patch.setenv(name, value)
    assert cli.run([word.format(folder) for word in COMMANDS[command]]) in (0, 1)
    return capsys.readouterr().out


@pytest.mark.parametrize("command", STYLED)
def test_force_color_asks_for_colours_where_there_is_no_terminal(
    command, tmp_path, capsys, monkeypatch
):
    assert "\x1b[" in printed(command, tmp_path, capsys, monkeypatch, FORCE_COLOR="1")


@pytest.mark.parametrize("command", STYLED)
def test_without_it_there_are_none(command, tmp_path, capsys, monkeypatch):
    assert "\x1b" not in printed(command, tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize("command", STYLED)
def test_no_color_forbids_colours_on_a_terminal_too(command, tmp_path, capsys, monkeypatch):
    shown = printed(command, tmp_path, capsys, monkeypatch, FORCE_COLOR="1", NO_COLOR="1")
    assert not COLOURED.search(shown)


@pytest.mark.parametrize("command", ["check", "bugs", "list", "sweep", "replay"])
def test_columns_say_how_wide_the_output_is(command, tmp_path, capsys, monkeypatch):
    shown = printed(command, tmp_path, capsys, monkeypatch, COLUMNS="60")
    assert max(map(len, shown.splitlines())) <= 60


@pytest.mark.parametrize(
    ("columns", "width"),
    [("0", 100), ("", 100), ("-3", 100), ("²", 100), ("٣٠", 100), ("1", 20), ("9" * 20, 1000)],
)
def test_what_is_no_width_gives_the_usual_one_and_an_odd_one_the_nearest(
    columns, width, tmp_path, capsys, monkeypatch
):
    shown = printed("list", tmp_path, capsys, monkeypatch, COLUMNS=columns, LINES=columns)
    assert shown.startswith("aborted_")
    assert [console(stderr=stderr).width for stderr in (False, True)] == [width, width]


@pytest.mark.parametrize("command", ["simulate", "curve"])
def test_no_figure_is_cut_on_a_narrow_screen(command, tmp_path, capsys, monkeypatch):
    assert "…" not in printed(command, tmp_path, capsys, monkeypatch, COLUMNS="30")


def test_a_sweep_is_stacked_on_a_narrow_screen(tmp_path, capsys, monkeypatch):
    shown = printed("sweep", tmp_path, capsys, monkeypatch, COLUMNS="60")
    assert "\n  holds  9 states\n    classic, members 1, generations 1\n" in shown
