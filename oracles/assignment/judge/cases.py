"""A judged file as test cases: one for each promise, and one for the constraints."""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.oracles.assignment.judge.judging import JudgedAssignment
from groupcheck.oracles.assignment.judge.sequence import JudgedSequence
from groupcheck.oracles.assignment.promises import statement
from groupcheck.oracles.show.suite import FAILURE, SKIPPED, Case, Suite

NOT_JUDGED = "not judged: partitions are assigned wrongly or not at all"
VIOLATIONS_SHOWN = 20  # violations told in one case


def judged_suite(judged: JudgedAssignment | JudgedSequence) -> Suite:
    """The suite. The time is divided evenly among its cases."""
    if isinstance(judged, JudgedSequence):
        broken = [(v.promise, f"{where}: {v.words}") for where, v in judged.violations]
        rounds = [one for change in judged.changes for one in change.rounds]
        title = judged.question.about or "sequence"
    else:
        broken = [(v.promise, v.words) for v in judged.violations]
        rounds, title = [judged], judged.question.about or "assignment"
    constraints = ("constraint",) * any(one.question.constraints for one in rounds)
    unjudged = {name for one in rounds for name in one.not_judged}
    names = dict.fromkeys([*judged.promises, *constraints, *(promise for promise, _ in broken)])
    share = judged.seconds / max(1, len(names))
    cases = []
    for name in names:
        told = [words for promise, words in broken if promise == name]
        cases.append(_case(name, told, name in unjudged, share))
    if isinstance(judged, JudgedAssignment) and judged.right.core:
        why = "no assignment keeps all of these together"
        text = "\n".join(judged.right.core)
        cases.append(Case("a right assignment exists", FAILURE, why, text))
    return Suite(f"assign {title}", tuple(cases))


def _case(name: str, broken: Sequence[str], unjudged: bool, seconds: float) -> Case:
    if broken:
        more = (
            [f"and {len(broken) - VIOLATIONS_SHOWN:,} more"]
            if len(broken) > VIOLATIONS_SHOWN
            else []
        )
        stated = [statement(name)] if name != "constraint" else []
        text = "\n".join([*stated, *broken[1:VIOLATIONS_SHOWN], *more])
        return Case(name, FAILURE, broken[0], text, seconds)
    if unjudged:
        return Case(name, SKIPPED, NOT_JUDGED, seconds=seconds)
    return Case(name, seconds=seconds)
