"""Foreign programs are fetched and built once, whole or not at all. The toolchain here is a shell
script, so that the tests need no network.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.installing import installing
from groupcheck.oracles.judge.installing.installing import Recipe, installed
from groupcheck.oracles.judge.installing.toolchains import TOOLCHAINS, Toolchain

SHELL = Toolchain(
    tools={"sh": "install a shell"},
    pinned=(("sh", "-c", "cat a.txt b/c.txt > program"),),
    chosen=(("sh", "-c", "echo {package} {version} > program"),),
    command=("sh", "{home}/program"),
)


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """A program of two sources in two folders, and an empty cache."""
    monkeypatch.setenv("GROUPCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(TOOLCHAINS, "shell", SHELL)  # type: ignore[arg-type]
    for name, text in (("one/a.txt", "A"), ("two/b/c.txt", "C")):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    return Recipe("@x/y", "shell", "the/package", "1.0", (tmp_path / "one", tmp_path / "two"))


def test_it_is_built_once_and_again_after_a_change_of_its_sources(
    recipe: Recipe, tmp_path: Path
) -> None:
    said: list[str] = []
    first = installed(recipe, say=said.append)
    assert Path(first[1]).read_text() == "AC"
    assert installed(recipe, "1.0", said.append) == first
    (tmp_path / "one/a.txt").write_text("B")
    second = installed(recipe, say=said.append)
    assert Path(second[1]).read_text() == "BC" and second != first
    assert said == ["installing @x/y 1.0 (first use only)"] * 2


def test_what_others_could_change_is_not_started(recipe: Recipe) -> None:
    home = Path(installed(recipe, say=print)[1]).parent
    home.chmod(0o777)
    with pytest.raises(UserError, match="other users can write"):
        installed(recipe, say=print)


def test_another_version_has_a_folder_of_its_own(recipe: Recipe) -> None:
    chosen = installed(recipe, "2.0rc1", print)
    assert Path(chosen[1]).read_text() == "the/package 2.0rc1\n"
    assert installed(recipe, say=print) != chosen


@pytest.mark.parametrize("version", ["", "../1", "1 --index x", "latest", "1" * 70])
def test_what_is_no_version_is_refused_before_anything_is_run(recipe: Recipe, version: str) -> None:
    with pytest.raises(UserError, match="is no version of @x/y"):
        installed(recipe, version, print)


def test_a_toolchain_without_a_choice_refuses_another_version(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = Toolchain(SHELL.tools, SHELL.pinned, (), SHELL.command)
    monkeypatch.setitem(TOOLCHAINS, "shell", only)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="leave the version out"):
        installed(recipe, "2.0", print)


def test_a_missing_tool_is_named_with_what_to_install(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="sh is not installed: @x/y needs it") as told:
        installed(recipe, say=print)
    assert told.value.do == "install a shell" and told.value.exit_code == 2


def test_what_cannot_be_built_leaves_nothing_and_says_why(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = ("sh", "-c", "echo fetching; echo ERROR: no version 1.0; echo bye; exit 1")
    broken = Toolchain(SHELL.tools, (step,), (), SHELL.command)
    monkeypatch.setitem(TOOLCHAINS, "shell", broken)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="cannot be installed: ERROR: no version") as told:
        installed(recipe, say=print)
    assert Path(told.value.where).read_text().startswith("fetching")
    assert [p for p in (tmp_path / "cache/judge").iterdir() if p.is_dir()] == []
    monkeypatch.setitem(TOOLCHAINS, "shell", SHELL)  # type: ignore[arg-type]
    assert Path(installed(recipe, say=print)[1]).exists()


def test_a_step_that_does_not_end_is_ended(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Toolchain(SHELL.tools, (("sleep", "60"),), (), SHELL.command)
    monkeypatch.setitem(TOOLCHAINS, "shell", slow)  # type: ignore[arg-type]
    monkeypatch.setattr(installing, "INSTALL_S", 0.05)
    with pytest.raises(UserError, match="sleep did not install @x/y"):
        installed(recipe, say=print)
