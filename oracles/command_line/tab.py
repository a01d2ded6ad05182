"""Commands that a page asks in a browser tab, where Python runs in a worker: the answer is what the
command line prints, with progress told to the page.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen

from groupcheck.oracles.command_line import cli
from groupcheck.oracles.show import meter


@frozen
class Told:
    """What a command has printed on standard output and standard error, and its exit code."""

    code: int
    out: str
    err: str


def answered(
    arguments: Sequence[str], folder: str | Path, hear: Callable[[str], None] | None = None
) -> Told:
    """Runs one command in a folder. `hear` is told how far it has come, some times a second, in
    words. Every error is in the answer, as the command line tells it; nothing is raised but
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
