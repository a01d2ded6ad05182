"""Every option that names a file to write, of every command, as the tree of commands has them: what
was there stays if the write fails; pipes, links and devices are written to, and stay.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

from groupcheck.model.engine.fast import segments
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.command_line.option_types import Output
from groupcheck.oracles.judge.client.session import Command
from groupcheck.oracles.judge.report.verdicts import Judgement

DATA = Path(__file__).parents[2] / "data"
LOG = "sample:console-group"
# A command that writes all the files of these options at once. What takes long in it is done once
# for all tests: the functions, as module:function.
RECIPES: dict[str, tuple[str, list[str], list[str]]] = {
    "check": (
        "check twophase --mutation hasty --engine reference",
        ["html", "svg", "pytest", "itf", "junit"],
        [],
    ),
    "explain": ("explain twophase gc1-0.0.0", ["html"], []),
    "bugs": (
        "bugs leader_forgotten",
        ["parquet", "html"],
        ["check.bugs:find_all", "check.score:score"],
    ),
    "sweep": ("sweep SWEEP --out OUT --resume", ["junit"], []),
    "replay": (f"replay {LOG}", ["html", "markdown", "junit"], ["replay.report:replay"]),
    "replay --pytest": (f"replay {LOG}", ["pytest"], ["replay.schedule:test_file"]),
    "what-if": (
        f"replay {LOG} --what-if static --replications 2",
        ["html"],
        [
            "replay.what_if.command:replay",
            "replay.what_if.command:what_if",
            "replay.what_if.plot:drawn",
        ],
    ),
    "conform": (
        "conform classic --members 1 --generations 1 --max-rows 5",
        ["parquet", "junit"],
        ["conform.command:conform"],
    ),
    "connect-rounds": ("connect-rounds --delay 5m", ["svg"], []),
    "assign": (f"assign {DATA}/assign/sticky.json", ["html", "junit"], []),
    "assign --against": (
        "assign --against kafka-python --examples 1",
        ["write-baseline", "junit"],
        ["assignment.against.command:findings"],
    ),
    "judge broker": (
        "judge broker localhost:9092",
        ["html", "junit"],
        ["judge.broker.command:judged"],
    ),
    "judge client": (
        "judge client --no-control --library kafka-python",
        ["html", "junit"],
        ["judge.client.command:judged", "judge.client.command:program"],
    ),
    "simulate": (
        "simulate --members 2",
        ["csv", "parquet", "plot", "html"],
        ["simulate.command:compare", "simulate.uses.compared:drawn"],
    ),
    "curve": (
        "curve initial-delay --members 2 --replications 1 --at 0",
        ["csv", "parquet", "plot", "html"],
        ["simulate.uses.command:answered", "simulate.uses.plots:drawn"],
    ),
    "advise": (
        "advise --members 2 --replications 2 --restart 1s",
        ["plot", "html"],
        [
            "simulate.uses.advise_command:advised",
            "simulate.uses.advice_page:drawn",
            "simulate.uses.advice_page:drawn",
        ],
    ),
}
# It can be read while the server runs, so no new file takes its place at the end.
GROWS = {("coordinator", "--log")}
SMALL = ("check", "explain")  # recipes about the protocol of `small_world`
EACH = [(name, option) for name, (_, options, _) in RECIPES.items() for option in options]
SUFFIX = {"plot": ".svg"}
DONE: dict[Any, Any] = {}
SWEEP = '[[grid]]\nvariant = "classic"\nmembers = 1\ngenerations = 1\n'


def once(recipe: str, where: str) -> Callable[..., Any]:
    """A function that computes its first answer alone."""
    module, _, name = where.partition(":")
    function = getattr(import_module(f"groupcheck.oracles.{module}"), name)

    def answer(*arguments: Any, **options: Any) -> Any:
        if (recipe, where) not in DONE:
            DONE[recipe, where] = function(*arguments, **options)
        return DONE[recipe, where]

    return answer


@pytest.fixture
def run(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> Callable[..., tuple[int, str]]:
    """Runs a recipe with files for options; gives the exit code and what it says on stderr."""
    if "sweep" not in DONE:
        DONE["sweep"] = tmp_path_factory.mktemp("sweep")
        (DONE["sweep"] / "sweep.toml").write_text(SWEEP)
        for side in ("broker", "client"):
            DONE[f"judge {side}", f"judge.{side}.command:judged"] = Judgement(
                subject=f"the {side}", rules=(), remarks=(), not_reached=(), facts=()
            )
        started = (Command(("true",), {}), "kafka-python", frozenset[str]())
        DONE["judge client", "judge.client.command:program"] = started
    words = {"SWEEP": f"{DONE['sweep']}/sweep.toml", "OUT": f"{DONE['sweep']}/out"}

    def run(recipe: str, files: dict[str, Path]) -> tuple[int, str]:
        command, _, slow = RECIPES[recipe]
        if recipe in SMALL:
            request.getfixturevalue("small_world")
        for where in slow:
            name = f"groupcheck.oracles.{where.replace(':', '.')}"
            monkeypatch.setattr(name, once(recipe, where))
        given = [word for option, path in files.items() for word in (f"--{option}", str(path))]
        code = cli.run([*(words.get(word, word) for word in command.split()), *given])
        printed = capsys.readouterr()
        # Without times, and without the rate that a run of a tenth of a second has.
        DONE["printed"] = re.sub(r", [0-9,]+ states/s|[0-9.,]+", "", printed.out)
        return code, printed.err

    return run


@contextmanager
def no_file_grows() -> Iterator[None]:
    """Every write to an ordinary file fails, as on a full disk. (Python writes no bytecode: it
    would keep the beginning of a module that did not fit.)
    """
    usual, bytecode = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, usual[1]))
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        sys.dont_write_bytecode = bytecode


def files_in(folder: Path, recipe: str, name: str = "{}") -> dict[str, Path]:
    return {
        option: folder / (name.format(option) + SUFFIX.get(option, ""))
        for option in RECIPES[recipe][1]
    }


def typed(recipe: str) -> str:
    """The command of a recipe, as it is typed."""
    first, second = recipe.split()[:2]
    return f"{first} {second}" if f"{first} {second}" in cli.every_command() else first


def test_a_recipe_writes_the_file_of_every_option_that_names_one():
    there = {
        (name, option.opts[0])
        for name, command in cli.every_command().items()
        for option in command.params
        if isinstance(option.type, Output)
    }
    used = {
        (typed(command), f"--{option}")
        for command, options, _ in RECIPES.values()
        for option in options
    }
    assert there == used | GROWS


def test_no_option_names_a_file_to_write_in_another_way():
    """`click.Path` and `click.File` by themselves are for what is read, and for folders."""
    folders = {
        *("check --checkpoint", "conform --jars", "generate --out", "record --out"),
        "sweep --out",
    }
    others = {
        f"{name} {option.opts[0]}"
        for name, command in cli.every_command().items()
        for option in command.params
        if isinstance(option.type, click.File) or type(option.type) is click.Path
    }
    assert others == {*folders, "assign --baseline"}


@pytest.mark.parametrize(("recipe", "option"), EACH)
def test_a_write_that_fails_leaves_what_was_there_and_the_answer(
    run, tmp_path: Path, recipe: str, option: str
):
    target = tmp_path / f"file{SUFFIX.get(option, '')}"
    assert run(recipe, {option: target})[0] in (0, 1, 3)
    new, answer = target.read_bytes(), DONE["printed"]
    assert new
    with no_file_grows():
        code, said = run(recipe, {option: target})
    assert (code, target.read_bytes(), DONE["printed"]) == (2, new, answer)
    assert "error: cannot write" in said and "File too large" in said
    assert [*tmp_path.iterdir()] == [target]


def test_a_checkpoint_that_cannot_be_written_is_named_after_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def is_full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(segments.os, "fsync", is_full)
    command = ["check", "classic", "--members", "1", "--generations", "1"]
    code = cli.run([*command, "--checkpoint", f"{tmp_path}/cp"])
    said = capsys.readouterr()
    assert code == 2 and said.out.startswith("holds  classic")
    assert f"error: {tmp_path}/cp: cannot be written: No space left on device" in said.err
    monkeypatch.undo()
    with no_file_grows():
        assert cli.run([*command, "--checkpoint", f"{tmp_path}/new"]) == 2
    assert f"error: {tmp_path}/new: cannot be written: File too large" in capsys.readouterr().err


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_pipe_gets_the_whole_file_and_stays_a_pipe(run, tmp_path: Path, recipe: str):
    got: dict[str, bytes] = {}
    files = files_in(tmp_path, recipe)
    readers = []
    for option, pipe in files.items():
        os.mkfifo(pipe)
        readers.append(
            threading.Thread(
                target=lambda o, p: got.update({o: p.read_bytes()}),
                args=(option, pipe),
                daemon=True,
            )
        )
        readers[-1].start()
    assert run(recipe, files)[0] in (0, 1, 3)
    for reader in readers:
        reader.join(30)
    assert {option for option, data in got.items() if data} == {*files}
    assert all(pipe.is_fifo() for pipe in files.values())


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_link_stays_and_what_it_leads_to_is_replaced(run, tmp_path: Path, recipe: str):
    files, targets = files_in(tmp_path, recipe), files_in(tmp_path, recipe, "{}-itself")
    for link, target in zip(files.values(), targets.values()):
        link.symlink_to(target)
    assert run(recipe, files)[0] in (0, 1, 3)
    assert all(link.is_symlink() for link in files.values())
    assert all(target.stat().st_size for target in targets.values())
    assert {*tmp_path.iterdir()} == {*files.values(), *targets.values()}


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_device_is_written_to_and_stays(run, tmp_path: Path, recipe: str):
    if sys.platform != "linux":
        return
    files = files_in(tmp_path, recipe)
    for device, codes in (("/dev/null", (0, 1, 3)), ("/dev/full", (2,))):
        for link in files.values():
            link.unlink(missing_ok=True)
            link.symlink_to(device)
        code, said = run(recipe, files)
        assert code in codes and ("No space left on device" in said) == (codes == (2,))
        assert all(link.is_symlink() for link in files.values())
        assert stat.S_ISCHR(Path(device).stat().st_mode)


@pytest.mark.parametrize(("recipe", "option"), EACH)
def test_a_folder_that_takes_no_file_is_told_before_anything_runs(
    run, monkeypatch: pytest.MonkeyPatch, recipe: str, option: str
):
    if sys.platform != "linux":
        return
    command = cli.every_command()[typed(RECIPES[recipe][0])]
    monkeypatch.setattr(command, "callback", lambda **_: pytest.fail("it runs"))
    target = Path(f"/proc/file{SUFFIX.get(option, '')}")  # even root makes no file there
    code, said = run(recipe, {option: target})
    assert code == 2 and "the directory /proc takes no new file" in said
