"""`groupcheck assign FILE`: reads, judges, shows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.text import Text

from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.judge.cases import judged_suite
from groupcheck.oracles.assignment.judge.judging import RIGHT, JudgedAssignment, Progress, judge
from groupcheck.oracles.assignment.judge.question import Question, question
from groupcheck.oracles.assignment.judge.sequence import (
    JudgedSequence,
    Sequence,
    judge_sequence,
    sequence,
)
from groupcheck.oracles.assignment.judge.view import view
from groupcheck.oracles.assignment.reading import file_named, read_json
from groupcheck.oracles.show.files import written
from groupcheck.oracles.show.suite import tell
from groupcheck.oracles.show.terminal import answer, live


def run(path: Path, as_json: bool, html: Path | None, junit: Path | None = None) -> int:
    """Judges the file (-: standard input), prints the answer, writes the files that are wanted, and
    returns the exit code: 0 right, 1 wrong.
    """
    judged: JudgedAssignment | JudgedSequence
    with _meter() as progress:
        asked = _asked(path)
        if isinstance(asked, Sequence):
            judged = judge_sequence(asked, progress)
        else:
            judged = judge(asked, progress)
    answer(judged.document, lambda: view(judged), as_json)
    if html is not None:
        from groupcheck.oracles.assignment.judge.page import page

        written(html, page(judged))
    tell(lambda: judged_suite(judged), junit)
    return 0 if judged.verdict == RIGHT else 1


def _asked(path: Path) -> Question | Sequence:
    """The questions of a file. Raises `UserError` that names the file, and the place in it."""
    value = read_json(path)
    try:
        if isinstance(value, dict) and "changes" in value:
            return sequence(value)
        return question(value)
    except UserError as error:
        where = ": ".join(filter(None, (file_named(path), error.where)))
        raise UserError(error.what, where=where, do=error.do) from None


@contextmanager
def _meter() -> Iterator[Progress]:
    """Shows on a terminal what is being done, and for how long the command has run."""
    began, doing = time.perf_counter(), ["reading"]

    def progress(words: str) -> None:
        doing[0] = words

    def line() -> Text:
        seconds = time.perf_counter() - began
        return Text(f"{doing[0]}  {seconds:.0f} s", overflow="ellipsis", no_wrap=True)

    with live(line):
        yield progress
