"""`groupcheck assign FILE`: read, judge, show."""

from __future__ import annotations

from pathlib import Path

from groupcheck.oracles.assignment import assign_view, sequence_view
from groupcheck.oracles.assignment.cases import judged_suite
from groupcheck.oracles.assignment.judging import RIGHT, Judged, judge
from groupcheck.oracles.assignment.question import question
from groupcheck.oracles.assignment.sequence import JudgedSequence, judge_sequence, sequence
from groupcheck.oracles.assignment.strict_json import read_json
from groupcheck.oracles.show.files import written
from groupcheck.oracles.show.suite import tell
from groupcheck.oracles.show.terminal import answer


def run(path: Path, as_json: bool, html: Path | None, junit: Path | None = None) -> int:
    """Judges the file (-: standard input), prints the answer, writes what is wanted, and
    gives the exit code: 0 right, 1 wrong.
    """
    value = read_json(path)
    judged: Judged | JudgedSequence
    if isinstance(value, dict) and "changes" in value:
        judged = judge_sequence(sequence(value))
        seen = sequence_view.view(judged)
    else:
        judged = judge(question(value))
        seen = assign_view.view(judged)
    if html is not None:
        from groupcheck.oracles.assignment.assign_page import page

        written(html, page(judged))
    answer(judged.document, lambda: seen, as_json)
    tell(lambda: judged_suite(judged), junit)
    return 0 if judged.verdict == RIGHT else 1
