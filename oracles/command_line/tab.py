"""Commands that a page asks in a browser tab, where Python runs in a worker: the answer is what the
command line prints, with progress told to the page. A walk of `explore` goes on: its page is in a
frame of the page, and its questions are answered here.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import linecache
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.printable import as_json, printable
from groupcheck.oracles.show import meter

if TYPE_CHECKING:
    from groupcheck.oracles.explore.questions import Desk

FRAMED = """
(() => {
  const waiting = new Map();
  const tell = (message) => parent.postMessage(message, "*");
  let number = 0;
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || !waiting.has(data.number)) return;
    waiting.get(data.number)(JSON.parse(data.answer));
    waiting.delete(data.number);
  });
  self.groupcheckAsk = (question) => new Promise((done) => {
    number += 1;
    waiting.set(number, done);
    tell({ number, question: JSON.stringify(question) });
  });
  self.groupcheckKeep = (link) => tell({ link });
  self.groupcheckCopy = async () => tell({ copy: true });
})();
"""
"""The script that a walk's page has in a frame: its questions go to the page around it."""


@frozen
class Told:
    """What a command has printed on standard output and standard error, and its exit code."""

    code: int
    out: str
    err: str


def answered(
    arguments: Sequence[str], folder: str | Path, hear: Callable[[str], None] | None = None
) -> Told:
    """Runs one command in a folder. `hear` is told how far it has come, several times a second,
    in words. Every error is in the answer, as the command line tells it; nothing is raised but
    `OSError` for a folder that is not there.

    Python files of the folder are read anew each time: the user may have changed them.
    """
    there = Path(folder).resolve()
    out, err = io.StringIO(), io.StringIO()
    # A file that was changed twice in a second without a change of its size seems to be unchanged.
    sys.dont_write_bytecode = True
    _forget_modules(there)
    before, listening = Path.cwd(), meter.PAGE.set(hear)
    os.chdir(there)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.run(list(arguments))
    finally:
        os.chdir(before)
        meter.PAGE.reset(listening)
        _forget_modules(there)
    return Told(code, out.getvalue(), err.getvalue())


def _forget_modules(folder: Path) -> None:
    """Forgets what was imported from a folder, and the lines of its files."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).is_relative_to(folder):
            del sys.modules[name]
    linecache.clearcache()


@frozen
class Walked:
    """A walk that has begun, unless `told` says why not."""

    told: Told
    # The page, for a sandboxed frame; empty without a walk.
    page: str
    # The answer to a question of the page; both are JSON.
    ask: Callable[[str], str]


def walked(arguments: Sequence[str], folder: str | Path) -> Walked:
    """Begins the walk of `explore ARGUMENTS`, in a folder as `answered` does."""
    from groupcheck.oracles.explore import command  # late: most tabs walk nowhere

    taken: list[Desk] = []
    listening = command.TAB.set(taken.append)
    try:
        told = answered(["explore", *arguments], folder)
    finally:
        command.TAB.reset(listening)
    if not taken:
        return Walked(told, "", lambda question: as_json({"error": "there is no walk"}))
    desk = taken[0]

    def ask(question: str) -> str:
        try:
            return as_json(desk.answer(json.loads(question)))
        except UserError as error:
            return as_json({"error": printable(str(error))[:1000]})

    return Walked(told, _framed(desk), ask)


def digest(script: str) -> str:
    """A script as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _framed(desk: Desk) -> str:
    """The page of a walk with the script that asks the page around it."""
    from groupcheck.oracles.explore.page import page

    plain, allowed, end = page(desk.first()), "; script-src ", "</head>"
    assert plain.count(allowed) == 1 and end in plain
    text = plain.replace(allowed, f"{allowed}{digest(FRAMED)} ")
    return text.replace(end, f"<script>{FRAMED}</script>\n{end}", 1)
