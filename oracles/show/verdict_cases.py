"""The verdict of a search as test cases: one for each invariant and each promise about progress."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine.verdict import HOLDS
from groupcheck.oracles.explain.answer import NOT_JUDGED, Answer
from groupcheck.oracles.show.suite import ERROR, FAILURE, PASSED, SKIPPED, Case, Suite


def verdict_suite(result: Answer) -> Suite:
    """One case for each invariant that was checked, one for each promise about progress, which is
    skipped if it was not judged, and one for each other thing that is wrong: a deadlock, or a fault
    or goal that was asked for and never happened.

    One search checks all invariants, so its time is divided evenly among the cases.
    """
    cases = list(_cases(result))
    share = result.verdict.seconds / max(1, len(cases))
    return Suite(
        f"check {result.subject.title}",
        tuple(Case(name, became, why, text, share) for name, became, why, text in cases),
    )


def _cases(result: Answer) -> Iterator[tuple[str, str, str, str]]:
    v = result.verdict
    told = {e.invariant: e for e in result.explanations}
    spec = result.subject.spec
    names = dict.fromkeys([*(p.name for p in (*spec.invariants, *spec.refinements)), *told])
    for name in names:
        if name in told:
            e = told[name]
            yield name, FAILURE, e.sentence, f"{e.headline}. {e.prose}\nkey: {e.key}"
        elif told:
            yield name, SKIPPED, f"the search ended when {next(iter(told))} broke", ""
        elif result.unknown and not v.complete:
            yield name, ERROR, f"unknown: {v.reason}", ""
        else:
            yield name, PASSED, "", ""
    for name, kind in v.progress.items():
        if name not in told:
            yield name, *((PASSED, "", "") if kind == HOLDS else (ERROR, f"{kind}: {v.reason}", ""))
    for name in result.subject.not_judged:
        yield name, SKIPPED, f"progress: {NOT_JUDGED}", ""
    if result.unknown and v.complete:
        yield "what was asked for happens", ERROR, f"unknown: {v.reason}", ""
