"""A replay as test cases: one for each group, and one for each log that could not be read or names
no group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from groupcheck.oracles.replay.answers import Answer
from groupcheck.oracles.replay.claims import AnswerInWords, in_words
from groupcheck.oracles.show.suite import ERROR, FAILURE, SKIPPED, Case, Suite
from groupcheck.traces.findings.report import UNREADABLE, FileReport
from groupcheck.traces.reading.source import place_of

NOT_FAILING = "not among the kinds of --fail-on"


def groups_suite(
    reports: Sequence[FileReport],
    answers: Sequence[Answer],
    fails: Callable[[Answer], bool],
    unknown: bool,
) -> Suite:
    """`fails`: which groups fail the command. `unknown`: the logs show too little of any group, so
    that a group of which they show nothing is an error; else it is skipped.
    """
    cases = [_group(in_words(a, reports), fails(a), unknown) for a in answers]
    return Suite("replay", tuple(_made(reports, cases)))


def _made(reports: Sequence[FileReport], cases: Sequence[Case]) -> Iterator[Case]:
    yield from cases
    for r in reports:
        if r.format == UNREADABLE or not cases:
            yield Case(r.path, ERROR, r.reason, file=r.path)


def _group(t: AnswerInWords, fails: bool, unknown: bool) -> Case:
    name, why = t.group, f"{t.health}: {t.in_brief}"
    if not fails:
        if t.answer.health == "calm":
            return Case(name)
        if t.answer.health == "unknown":
            return Case(name, ERROR if unknown else SKIPPED, why, "\n".join(_lines(t)))
        return Case(name, SKIPPED, f"{why} ({NOT_FAILING})")
    return Case(name, FAILURE, why, "\n".join(_lines(t)), 0.0, *_place(t))


def _lines(t: AnswerInWords) -> Iterator[str]:
    """Causes, what to do about them, and the rest of the answer, in lines."""
    for claim in t.causes:
        yield f"{claim.label}: {claim.text} ({claim.confidence})"
        if claim.action:
            yield f"what to do: {claim.action}"
    for text in t.harm:
        yield f"harm: {text}"
    for claim in t.candidates:
        yield f"possible: {claim.text}"
    for hint in t.hints:
        yield f"look for: {hint}"
    if t.answer.turn_on:
        yield f"turn on: {t.answer.turn_on}"
    if t.answer.seen:
        yield f"broker: {t.verdict}"


def _place(t: AnswerInWords) -> tuple[str, int]:
    """The file and the line that show the first cause; empty and 0 if no line does."""
    quoted = [said for found in t.answer.diagnosis.causes[:1] for said in found.evidence]
    if not quoted or not quoted[0].line:
        return "", 0
    said = quoted[0]
    parts = next((s.file.files for s in t.answer.seen if s.file.path == said.log), ())
    return place_of(parts, said.line) if len(parts) > 1 else (said.log, said.line)
