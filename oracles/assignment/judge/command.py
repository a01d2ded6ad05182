"""`groupcheck assign FILE`: reads, judges, shows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.text import Text

from groupcheck.oracles.assignment.judge.cases import judged_suite
from groupcheck.oracles.assignment.judge.judging import RIGHT, Judged, Progress, judge
from groupcheck.oracles.assignment.judge.question import question
from groupcheck.oracles.assignment.judge.sequence import JudgedSequence, judge_sequence, sequence
from groupcheck.oracles.assignment.judge.view import view
from groupcheck.oracles.assignment.reading import read_json
from groupcheck.oracles.show.files import written
from groupcheck.oracles.show.suite import tell
from groupcheck.oracles.show.terminal import answer, live


def run(path: Path, as_json: bool, html: Path | None, junit: Path | None = None) -> int:
    """Judges the file (-: standard input), prints the answer, writes the files that are wanted, and
    returns the exit code: 0 right, 1 wrong.
    """
    judged: Judged | JudgedSequence
    with _meter() as progress:
        value = read_json(path)
        if isinstance(value, dict) and "changes" in value:
            judged = judge_sequence(sequence(value), progress)
        else:
            judged = judge(question(value), progress)
    answer(judged.document, lambda: view(judged), as_json)
    if html is not None:
        from groupcheck.oracles.assignment.judge.page import page

        written(html, page(judged))
    tell(lambda: judged_suite(judged), junit)
    return 0 if judged.verdict == RIGHT else 1


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
