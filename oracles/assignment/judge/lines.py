"""`groupcheck assign --lines FILE`: reads a document from each line and prints a verdict for each.

Each line is what `assign FILE` reads: one assignment, or a sequence. A line that cannot be read is
reported with its number and does not stop the others. Only one line is in memory at a time, and it
may have as many bytes as a file. No right assignment is looked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any, Final

from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.judge.assign_types import (
    AssignLineDocument,
    LineError,
    Violation,
)
from groupcheck.oracles.assignment.judge.judging import RIGHT, WRONG, moved, verdict
from groupcheck.oracles.assignment.judge.question import question
from groupcheck.oracles.assignment.judge.sequence import judge_sequence, sequence
from groupcheck.oracles.assignment.reading import LARGEST, parsed
from groupcheck.oracles.printable import as_json, printable
from groupcheck.oracles.show.json_schemas import document
from groupcheck.traces.sample_files import resolve_sample

SCHEMA = "groupcheck.assign-line/1"
UNREADABLE: Final = "unreadable"


def run(path: Path) -> int:
    """Prints the verdict on each line of the file (-: standard input). Returns the exit code: 0 if
    all are right, 1 if some are wrong, 2 if some could not be read. Raises `UserError` if the file
    cannot be opened.
    """
    became: set[str] = set()
    with _opened(path) as file:
        for number, line in lines(file):
            shown = judged_line(number, line)
            became.add(shown["verdict"])
            sys.stdout.write(as_json(shown) + "\n")
            sys.stdout.flush()
    return 2 if UNREADABLE in became else 1 if WRONG in became else 0


def _opened(path: Path) -> Any:
    if str(path) == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return resolve_sample(path).open("rb")
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=printable(str(path))) from None


def lines(file: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Number and bytes of each line that is not blank; None for one that is too long."""
    number = 0
    while line := file.readline(LARGEST + 1):
        number += 1
        if len(line) > LARGEST:
            while not line.endswith(b"\n") and (line := file.readline(LARGEST)):
                pass
            yield number, None
        elif line.strip():
            yield number, line


def judged_line(number: int, line: bytes | None) -> dict[str, Any]:
    """The verdict on one line, as plain JSON."""
    try:
        if line is None:
            raise UserError(f"more than {LARGEST >> 20} MiB")
        value = parsed(line)
        if isinstance(value, dict) and "changes" in value:
            return document(SCHEMA, _of_sequence(number, value))
        return document(SCHEMA, _of_assignment(number, value))
    except UserError as error:
        return document(SCHEMA, _unreadable(number, error))


def _unreadable(number: int, error: UserError) -> AssignLineDocument:
    return AssignLineDocument(
        line=number,
        verdict=UNREADABLE,
        about="",
        assignor=None,
        promises=[],
        not_judged=[],
        violations=[],
        moves=None,
        fewest=None,
        error=LineError(what=error.what, where=error.where, do=error.do),
    )


def _of_assignment(number: int, value: Any) -> AssignLineDocument:
    asked = question(value)
    found = verdict(asked)
    moves = None if found.assigned is None else moved(found.case, found.names)
    return AssignLineDocument(
        line=number,
        verdict=WRONG if found.violations else RIGHT,
        about=asked.about,
        assignor=asked.assignor,
        promises=list(found.names),
        not_judged=list(found.not_judged),
        violations=[Violation(promise=v.promise, words=v.words) for v in found.violations],
        moves=None if moves is None else len(moves),
        fewest=found.case.best.moves,
        error=None,
    )


def _of_sequence(number: int, value: Any) -> AssignLineDocument:
    judged = judge_sequence(sequence(value))
    return AssignLineDocument(
        line=number,
        verdict=judged.verdict,
        about=judged.question.about,
        assignor=judged.question.assignor,
        promises=list(judged.promises),
        not_judged=[],
        violations=[
            Violation(promise=v.promise, words=f"{where}: {v.words}")
            for where, v in judged.violations
        ],
        moves=sum(change.happened.moves for change in judged.changes),
        fewest=sum(change.happened.fewest for change in judged.changes),
        error=None,
    )
