"""`groupcheck assign --against NAME` at the terminal: whose assignors, progress, the findings."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path

from attrs import evolve

from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.against import baseline as known_violations
from groupcheck.oracles.assignment.against.finding import Against, Finding, round_shown
from groupcheck.oracles.assignment.against.offered import Library
from groupcheck.oracles.assignment.against.promise_questions import OF_CALLS
from groupcheck.oracles.assignment.against.searches import EXAMPLES, Search, findings
from groupcheck.oracles.assignment.promises import ASSIGNORS, PROMISES
from groupcheck.oracles.assignment.validity import named
from groupcheck.oracles.explain.unknown import one_of
from groupcheck.oracles.kafka.versions import DEFAULT
from groupcheck.oracles.printable import as_text, printable
from groupcheck.oracles.show.files import written
from groupcheck.oracles.show.suite import ERROR, FAILURE, Case, Suite, tell
from groupcheck.oracles.show.terminal import say
from groupcheck.oracles.show.text import WIDTH

LIBRARIES = ("kafka-python", "aiokafka", "apache")
PROGRAM = "program:"
MOST_EXAMPLES = 100_000  # examples


def run(
    name: str,
    *,
    like: str | None,
    examples: int | None,
    kafka: str | None,
    as_json: bool,
    junit: Path | None = None,
    seed: int | None = None,
    called: str | None = None,
    skipped: Collection[str] = (),
    strict: bool = False,
    baseline: Path | None = None,
    write_baseline: Path | None = None,
) -> int:
    """Searches, prints the answer, and returns the exit code: 1 if there are findings that do not
    only inform, else 0; 0 if they were written as a baseline. Raises `UserError` for what cannot be
    asked.
    """
    if examples is not None and not 1 <= examples <= MOST_EXAMPLES:
        raise UserError(
            f"{examples:,} is not from 1 to {MOST_EXAMPLES:,}",
            where="--examples",
            do="name a number of groups in this range",
        )
    for promise in skipped:
        if promise not in PROMISES and promise not in OF_CALLS:
            raise one_of("promise", promise, {*PROMISES, *OF_CALLS})
    known = known_violations.read(baseline) if baseline else ()
    how = Search(
        examples or EXAMPLES,
        seed or 0,
        skipped,
        beyond=True,
        kafka_fails=strict,
        varying_fails=strict,
    )
    shown = say if sys.stderr.isatty() else None
    result = findings(library_of(name, like, kafka, called), how, shown)
    result = known_violations.beside(result, known)
    if as_json:
        sys.stdout.write(as_text(result.document()))
    else:
        sys.stdout.writelines(result_lines(result))
    tell(lambda: against_suite(result), junit)
    if write_baseline is not None:
        written(write_baseline, as_text(result.document()))
        return 0
    return result.exit_code


def library_of(
    name: str, like: str | None = None, kafka: str | None = None, called: str | None = None
) -> Library:
    """The library that a name means. `called`: the name to show for an assignor of one's own.
    Raises `UserError` if it means none, or if what it needs is not installed.
    """
    own = ":" in name
    if like is not None and like not in ASSIGNORS:
        raise one_of("assignor of Kafka's", like, ASSIGNORS)
    if like is not None and not own:
        raise UserError(
            "only an assignor of your own needs it: those of a library have names",
            where="--like",
            do="leave it out",
        )
    if called is not None and not own:
        raise UserError(
            "only an assignor of your own can be named", where="--name", do="leave it out"
        )
    if kafka is not None and name != "apache":
        raise UserError(
            "only --against apache asks Kafka's classes",
            where="--kafka",
            do="leave it out, or ask --against apache",
        )
    if name.startswith(PROGRAM):
        from groupcheck.oracles.assignment.against.libraries import programs

        return programs.library(name.removeprefix(PROGRAM), like, called)
    if own:
        from groupcheck.oracles.assignment.against.libraries import callables

        mine = callables.library(name, callables.imported(name), like)
        if called is None:
            return mine
        named = (evolve(offered, name=called) for offered in mine.assignors)
        return evolve(mine, name=called, assignors=tuple(named))
    if name not in LIBRARIES:
        raise UserError(
            f"unknown assignors {printable(name)[:60]!r}",
            where="--against",
            do=f"give one of {', '.join(LIBRARIES)}, or module:function, or 'program: COMMAND'",
        )
    if name == "apache":
        from groupcheck.oracles.assignment.against.libraries import apache

        return apache.library(kafka or DEFAULT)
    return _installed(name)


def _installed(name: str) -> Library:
    from groupcheck.oracles.assignment.against.libraries import aiokafka, kafka_python

    try:
        return aiokafka.library() if name == "aiokafka" else kafka_python.library()
    except ImportError as missing:
        raise UserError(
            f"{name} is not installed or too old: {missing}",
            where="--against",
            do=f"pip install --upgrade {name}",
        ) from None


def result_lines(result: Against) -> Iterator[str]:
    """The verdict, then every finding with its code. Lines of code are not wrapped: they are there
    to be pasted.
    """
    names = ", ".join(offered.name for offered in result.library.assignors)
    found, informing = len(result.failing), len(result.findings) - len(result.failing)
    many = f"{found} finding{'s' * (found != 1)}" if found else "nothing found"
    more = f" ({informing} more that only inform{'s' * (informing == 1)})" if informing else ""
    who = f"{result.library.name} {result.library.version}".strip()
    yield _wrapped(
        f"{many}{more}  {who}: {names}; {result.searches} searches,"
        f" {result.examples} groups of each kind, seed {result.seed}"
    )
    drawn = ", ".join(f"{name} {count:,}" for name, count in result.drawn.items())
    yield _wrapped(f"drawn: {drawn}", "  ")
    if result.given_up:
        why = "not asked any more, because it gave no answer (in time) too often"
        yield _wrapped(f"{why}: {', '.join(result.given_up)}", "  ")
    if result.gone:
        yield _wrapped(f"known, but not found any more: {'; '.join(result.gone)}", "  ")
    for finding in (*result.failing, *(f for f in result.findings if f.informs)):
        yield "\n" + finding_words(finding)
    if result.stderr:
        yield "\n" + _wrapped("the end of its standard error:")
        yield _indented(result.stderr)


def finding_words(finding: Finding) -> str:
    """The text of a finding: what is wrong, under which circumstances, where the assignor raised
    it, and what to paste.
    """
    who = f"{finding.library} {finding.version}".strip()
    lines = [_wrapped(f"{finding.assignor} of {who}, {finding.promise}: {finding.words}")]
    if finding.informs:
        lines.append(_wrapped(f"this only informs: {finding.informs}", "  "))
    if finding.circumstances:
        lines.append(_wrapped(f"where {'; '.join(finding.circumstances)}", "  "))
    if finding.kafka is not None:
        answer = "" if finding.kafka.answer is None else f": {finding.kafka.answer}"
        does = f"keeps it here{answer}" if finding.kafka.keeps else "breaks it here, too"
        lines.append(_wrapped(f"Kafka's own {finding.kafka.assignor} {does}", "  "))
    lines += _round_lines(finding)
    if finding.traceback:
        lines.append(_indented(finding.traceback))
    return "".join([*lines, "\n", textwrap.indent(finding.code, "    ")])


def _round_lines(finding: Finding) -> Iterator[str]:
    """The result of each answer of several: what was kept, lost and gained."""
    for number, (group, given) in enumerate(finding.rounds, 1):
        shown = round_shown(group, given)
        yield _wrapped(f"answer {number}: {shown.answer}", "  ")
        if any(member.owned for member in group.members):
            claims = {m.id: [named(p) for p in sorted(m.owned)] for m in group.members if m.owned}
            yield _wrapped(f"claimed before: {claims}", "    ")
            lost = ", ".join(shown.lost) or "nothing"
            yield _wrapped(f"kept: {shown.kept}; lost by their owner: {lost}", "    ")


def _indented(text: str) -> str:
    shown = "\n".join(map(printable, text.splitlines()))
    return textwrap.indent(shown, "  ") + "\n"


def _wrapped(text: str, indent: str = "") -> str:
    wrapped = textwrap.fill(
        printable(text),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
    )
    return wrapped + "\n"


def against_suite(result: Against) -> Suite:
    """One test case for each promise that an assignor breaks, and one for each other assignor.
    Findings that only inform are left out.
    """
    cases = [
        Case(f"{f.assignor}: {f.promise} ({number})", FAILURE, f.words, f.code)
        for number, f in enumerate(result.failing, 1)
    ]
    wrong = {finding.assignor for finding in result.failing}
    for offered in result.library.assignors:
        if offered.name in result.given_up:
            cases.append(Case(offered.name, ERROR, "unknown: it did not answer in time"))
        elif offered.name not in wrong:
            cases.append(Case(offered.name))
    return Suite(f"assign --against {result.library.name}", tuple(cases))
