"""The message of a command that failed, in one line on stderr, and its exit code."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TextIO

import click

from groupcheck.oracles.command_line.streams import Unwritten

UNKNOWN = 3
OURS, CLICKS = f"{Path(__file__).parents[2]}/", f"{Path(click.__file__).parent}/"
NO_PLACE = "No usable temporary directory"
"""Python's own words, in a FileNotFoundError without the name of a file."""
OF_PLACES = (
    errno.EACCES,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
)
OUT_OF_MEMORY = (
    "out of memory: raise the limit on memory or address space (ulimit -v) or choose a smaller"
    " scope"
)
KINDS = {"integer": "a whole number", "float": "a number"}  # click's words, and everybody's
BUG = (
    "a bug in groupcheck itself; please report it with the command line (groupcheck --debug shows"
    " more): "
)


def failed(error: BaseException, debug: bool, arguments: Sequence[str]) -> int:
    """Says what went wrong and returns the exit code. Code of users' that would end the program
    (`sys.exit`, or anything else that is no `Exception`) is at fault, whatever its exit code.
    """
    where = _place_of_users(error, arguments)
    # click ends with 0 after completions for a shell, and with 1, which would say "violated", if
    # nobody reads what it writes.
    if isinstance(error, SystemExit | BrokenPipeError) and not where:
        return UNKNOWN if isinstance(error, BrokenPipeError) or error.code else 0
    # numpy is a shared object, which may find no address space
    unmapped = isinstance(error, OSError | ImportError) and "shared object" in str(error)
    if unmapped or isinstance(error, MemoryError):
        return complain(OUT_OF_MEMORY, UNKNOWN, debug)
    raised = f"{type(error).__name__}: {error}".removesuffix(": ")
    if where:
        what = raised if isinstance(error, Exception) else f"would end the program: {raised}"
        return complain(f"{where}: {what}", 2, debug)
    if isinstance(error, Unwritten):
        why = f"the answer cannot be written to standard output: {error.strerror}"
        return complain(why, UNKNOWN, debug)
    if isinstance(error, OSError):
        return complain(*_refused(error), debug)
    if isinstance(error, ModuleNotFoundError):
        from groupcheck.model.engine import compiler

        package = (error.name or "").partition(".")[0]
        if package in compiler.PACKAGES:
            return complain(str(compiler.not_installed(package)), 2, debug)
    if not isinstance(error, ImportError):
        from groupcheck.model.engine.errors import RuleError, UserError

        # A rule at fault is the user's own where the command names code of the user's.
        if isinstance(error, RuleError) and not _names_code(arguments):
            return complain(f"{BUG}{error}", UNKNOWN, debug)
        if isinstance(error, UserError):
            return complain(str(error), error.exit_code, debug)
    return complain(f"{BUG}{raised}", UNKNOWN, debug)


def _refused(error: OSError) -> tuple[str, int]:
    """The message about a refusal of the system, and the exit code: 2 where a place is at fault
    that the user can change.
    """
    if NO_PLACE in str(error):
        return "no folder for temporary files can be written to (set TMPDIR to one)", 2
    if error.errno in OF_PLACES and isinstance(error.filename, str | bytes):
        return f"{os.fsdecode(error.filename)}: {error.strerror}", 2
    try:
        Path.cwd()
    except OSError:
        return "the current folder is gone (change to one that is there)", 2
    return f"the answer cannot be written, or the system refused a request: {error}", UNKNOWN


@contextlib.contextmanager
def same_output() -> Iterator[None]:
    """Raises `UserError` if code that runs in the block leaves another standard output than it
    found: nobody knows where the answer went.
    """
    out, file = sys.stdout, os.fstat(1)
    try:
        yield
        if not _is_there(out, file):
            raise _other_output()
    except (AttributeError, OSError, ValueError):  # of writing the answer
        if _is_there(out, file):
            raise
        raise _other_output() from None
    finally:
        sys.stdout = out


def _other_output() -> Exception:
    from groupcheck.model.engine.errors import UserError

    return UserError(
        "code that ran has closed or replaced it: the answer may not be there",
        where="standard output",
        do="take contextlib.redirect_stdout, which gives it back",
    )


def _is_there(out: TextIO, file: os.stat_result) -> bool:
    """Is this still the standard output, open to the same file?"""
    try:
        return sys.stdout is out and not out.closed and os.path.samestat(file, os.fstat(1))
    except OSError:
        return False


def _place_of_users(error: BaseException, arguments: Sequence[str]) -> str:
    """File and line in the function of a user's from which an error comes; empty if it comes from
    elsewhere. An `Exception` counts only if the command names code of users', and it does not come
    from an installed package: groupcheck may have called that in a wrong way.
    """
    called: list[traceback.FrameSummary] = []  # by groupcheck, the outermost first
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.startswith(OURS):
            called = []
        elif not frame.filename.startswith(CLICKS):
            called.append(frame)
    paths = sysconfig.get_paths()
    others = ("<", *(paths[x] for x in ("stdlib", "platstdlib", "purelib", "platlib")))
    own = [x for x in called if not x.filename.startswith(others)]
    if not isinstance(error, Exception):
        own = own or called
    elif own and not _names_code(arguments):
        own = []
    return f"{own[0].filename}, line {own[0].lineno}" if own else ""


def _names_code(arguments: Sequence[str]) -> bool:
    """Does a command name code of a user's?"""
    from groupcheck.oracles.explain.own import is_own

    return any(x.startswith(("--against", "--specs")) or is_own(x) for x in arguments)


def misuse(error: click.ClickException) -> str:
    """The input that click refused, in a sentence that says what to do about it."""
    text = error.format_message()
    for kind, meant in KINDS.items():
        text = re.sub(rf"not a valid {kind}( range)?\b", f"not {meant}", text)
    if isinstance(error, click.MissingParameter) and error.ctx and "Choose from" not in text:
        text = f"{text} See: {error.ctx.command_path} --help"
    return text + _near_choice(error)


def _near_choice(error: click.ClickException) -> str:
    """` Did you mean NAME?` where somebody mistyped one of several names; empty otherwise."""
    if not isinstance(error, click.BadParameter) or error.param is None:
        return ""
    kind, typed = error.param.type, re.search(r"'([^']*)'", error.message)
    if not isinstance(kind, click.Choice) or typed is None:
        return ""
    near = get_close_matches(typed[1], [str(choice) for choice in kind.choices], 1)
    return f" Did you mean {near[0]}?" if near else ""


def complain(text: str, code: int, debug: bool = False) -> int:
    """One line on stderr, after the traceback if that is wanted. Returns the exit code."""
    from groupcheck.oracles.printable import not_obeyed, printable

    if debug:
        click.echo(traceback.format_exc(), err=True, nl=False)
    told = f"groupcheck: error: {printable(' '.join(text.split()))[:1000]}"
    click.echo(not_obeyed(told), err=True)
    return code
