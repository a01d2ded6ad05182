"""`groupcheck assign FILE`: reads, judges, shows."""

from __future__ import annotations

from pathlib import Path

from groupcheck.oracles.assignment.judge.cases import judged_suite
from groupcheck.oracles.assignment.judge.judging import RIGHT, Judged, judge
from groupcheck.oracles.assignment.judge.question import question
from groupcheck.oracles.assignment.judge.sequence import JudgedSequence, judge_sequence, sequence
from groupcheck.oracles.assignment.judge.view import view
from groupcheck.oracles.assignment.reading import read_json
from groupcheck.oracles.show.files import written
from groupcheck.oracles.show.suite import tell
from groupcheck.oracles.show.terminal import answer


def run(path: Path, as_json: bool, html: Path | None, junit: Path | None = None) -> int:
    """Judges the file (-: standard input), prints the answer, writes the files that are wanted, and
    returns the exit code: 0 right, 1 wrong.
    """
    value = read_json(path)
    judged: Judged | JudgedSequence
    if isinstance(value, dict) and "changes" in value:
        judged = judge_sequence(sequence(value))
    else:
        judged = judge(question(value))
    if html is not None:
        from groupcheck.oracles.assignment.judge.page import page

        written(html, page(judged))
    answer(judged.document, lambda: view(judged), as_json)
    tell(lambda: judged_suite(judged), junit)
    return 0 if judged.verdict == RIGHT else 1
