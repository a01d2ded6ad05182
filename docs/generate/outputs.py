"""What the pages quote: every `console` block holds commands (`$ ...`), each followed by what it
prints. They run page by page, in one folder, beside the files that the page shows.

    python docs/generate/outputs.py --write [PAGE...]      quotes anew what the commands print
    python docs/generate/outputs.py --serve                tells it, for each page on stdin (JSON)

A block whose fence has a title (```console title="takes a minute") is not run: it says why.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NoReturn

from attrs import frozen

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r'^```(\w+)(?: title="([^"]*)")?\n(.*?)^```$', re.M | re.S)
# A search takes another time in each run, and its speed is told only where it took some time;
# pytest tells its seconds, too.
SPEED = re.compile(r"(^ *run +|passed in )[\d.,]+ ?s\b(?:, [\d,]+ states/s)?", re.M)
# A command of groupcheck alone, and what reads its output.
OWN = re.compile(r"groupcheck ([^|;&<>$`()*?\\]+)(\|.*)?", re.S)
MISTAKES = ("Traceback (most recent call last)", "a bug in groupcheck itself")
PATIENCE_S = 300  # the first check on a machine compiles the search


@frozen
class Quote:
    """A command of a page, and what the page says that it prints; `start` and `end` of that text
    in the page.
    """

    command: str
    output: str
    start: int
    end: int


def quotes(page: str) -> list[Quote]:
    """The commands of a page that are run, in their order."""
    found = []
    for fence in FENCE.finditer(page):
        if fence[1] != "console" or fence[2] is not None:
            continue
        for typed in re.finditer(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", fence[3], re.M):
            at = fence.start(3)
            found.append(Quote(typed[1], typed[2], at + typed.start(2), at + typed.end(2)))
    return found


def shown_files(page: str) -> dict[str, str]:
    """The files that a page shows whole: name -> content."""
    return {
        fence[2]: fence[3]
        for fence in FENCE.finditer(page)
        if fence[1] != "console" and fence[2] and re.fullmatch(r"[\w.-]+", fence[2])
    }


def environment(folder: Path) -> dict[str, str]:
    """100 columns, no colour, and the commands of this checkout."""
    binaries = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"PATH": binaries, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": str(folder)}
    return {**os.environ, **own, "PYTHONDONTWRITEBYTECODE": "1"}


def outputs(page: str) -> list[str]:
    """What the commands of a page print (stdout, then stderr), run one after the other. Raises
    `RuntimeError` for a command that fails by a mistake: no page should quote that.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tests").symlink_to(ROOT / "tests")
        for file, content in shown_files(page).items():
            (folder / file).write_text(content, "utf-8")
        printed = []
        for quote in quotes(page):
            out, error = _run(quote.command, folder)
            said = re.sub(r"[ \t]+$", "", out.rstrip() + "\n" + error, flags=re.M)
            if any(mistake in said for mistake in MISTAKES):
                raise RuntimeError(f"{quote.command} fails:\n{said}")
            printed.append(said.strip("\n") + "\n" if said.strip() else "")
        return printed


def _run(command: str, folder: Path) -> tuple[str, str]:
    """What a command prints on stdout and on stderr, as from a shell in the folder."""
    own = OWN.fullmatch(command.replace("\\\n", " "))
    if not own:
        return _of_shell(command, folder, None)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        _forked(shlex.split(own[1]), folder, out.fileno(), error.fileno())
        out.seek(0)
        error.seek(0)
        said = out.read()
        if own[2]:
            filtered, complaints = _of_shell(f"cat {own[2]}", folder, said)
            return filtered, error.read().decode() + complaints
        return said.decode(), error.read().decode()


def _of_shell(command: str, folder: Path, given: bytes | None) -> tuple[str, str]:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(folder),
        input=given,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    return done.stdout.decode(), done.stderr.decode()


@cache
def _program() -> Callable[[], NoReturn]:
    """The program, when all is imported that most commands need."""
    import scipy.optimize
    import z3

    import groupcheck
    from groupcheck.oracles.command_line.cli import main

    str(groupcheck.check("classic", members=1))
    _ = groupcheck.replay, scipy.optimize, z3
    return main


def _forked(arguments: list[str], folder: Path, out: int, error: int) -> None:
    """Runs `groupcheck` in a copy of this process, which has imported most of it already: a command
    starts in a tenth of the time, and nothing that it does stays.
    """
    main = _program()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        for given, own in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (error, 2)):
            os.dup2(given, own)
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            stream = open(number, "w" if number else "r", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
        os.chdir(folder)
        os.environ.update(environment(folder))
        sys.path.insert(0, str(folder))
        sys.argv = ["groupcheck", *arguments]
        main()
    except SystemExit:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def timeless(text: str) -> str:
    """A text without the seconds of a search."""
    return SPEED.sub(r"\1", text)


def written(page: str) -> str:
    """The page with what its commands print now. Text that differs in times alone stays."""
    for quote, output in reversed(list(zip(quotes(page), outputs(page), strict=True))):
        if timeless(quote.output) != timeless(output):
            page = page[: quote.start] + output + page[quote.end :]
    return page


def serve() -> None:
    """Answers each line of stdin, a page as JSON, with a line: what its commands print, as JSON."""
    for line in sys.stdin:
        print(json.dumps(outputs(json.loads(line))), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
        sys.exit()
    if sys.argv[1:2] != ["--write"]:
        sys.exit("usage: outputs.py --write [PAGE...]")
    for path in map(
        Path, sys.argv[2:] or [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
    ):
        path.write_text(written(path.read_text("utf-8")), "utf-8")
