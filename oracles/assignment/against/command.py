"""`groupcheck assign --against NAME` at the terminal: whose assignors, progress, the findings."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.against.offered import Library
from groupcheck.oracles.assignment.against.searches import EXAMPLES, Against, Finding, findings
from groupcheck.oracles.assignment.promises import ASSIGNORS
from groupcheck.oracles.explain.subject import one_of
from groupcheck.oracles.kafka.versions import NEWEST
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.document import as_text
from groupcheck.oracles.show.suite import ERROR, FAILURE, Case, Suite, tell
from groupcheck.oracles.show.terminal import say
from groupcheck.oracles.show.text import WIDTH

LIBRARIES = ("kafka-python", "aiokafka", "apache")
PROGRAM = "program:"
MOST = 100_000  # examples


def run(
    name: str,
    *,
    like: str | None,
    examples: int | None,
    kafka: str | None,
    as_json: bool,
    junit: Path | None = None,
) -> int:
    """Searches, prints the answer, and returns the exit code: 1 if there are findings, else 0.
    Raises `UserError` for what cannot be asked.
    """
    if examples is not None and not 1 <= examples <= MOST:
        raise UserError(
            f"{examples:,} is not from 1 to {MOST:,}",
            where="--examples",
            do="name a number of groups in this range",
        )
    shown = say if sys.stderr.isatty() else None
    result = findings(library_of(name, like, kafka), examples or EXAMPLES, shown)
    if as_json:
        sys.stdout.write(as_text(result.document()))
    else:
        sys.stdout.writelines(told(result))
    tell(lambda: against_suite(result), junit)
    return result.exit_code


def library_of(name: str, like: str | None = None, kafka: str | None = None) -> Library:
    """The library that a name means. Raises `UserError` if it means none, or if what it needs is
    not installed.
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
    if kafka is not None and name != "apache":
        raise UserError(
            "only --against apache asks Kafka's classes",
            where="--kafka",
            do="leave it out, or ask --against apache",
        )
    if name.startswith(PROGRAM):
        from groupcheck.oracles.assignment.against.libraries import programs

        return programs.library(name.removeprefix(PROGRAM), like)
    if own:
        from groupcheck.oracles.assignment.against.libraries import callables

        return callables.library(name, callables.imported(name), like)
    if name not in LIBRARIES:
        raise UserError(
            f"unknown assignors {printable(name)[:60]!r}",
            where="--against",
            do=f"give one of {', '.join(LIBRARIES)}, or module:function, or 'program: COMMAND'",
        )
    if name == "apache":
        from groupcheck.oracles.assignment.against.libraries import apache

        return apache.library(kafka or NEWEST)
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


def told(result: Against) -> Iterator[str]:
    """The verdict, then every finding with its code. Lines of code are not wrapped: they are there
    to be pasted.
    """
    names = ", ".join(offered.name for offered in result.library.assignors)
    found = len(result.findings)
    many = f"{found} finding{'s' * (found != 1)}" if found else "nothing found"
    who = f"{result.library.name} {result.library.version}".strip()
    yield _wrapped(
        f"{many}  {who}: {names}; {result.searches} searches, {result.examples} groups of each kind"
    )
    if result.given_up:
        why = "not asked any more, because it gave no answer (in time) too often"
        yield _wrapped(f"{why}: {', '.join(result.given_up)}", "  ")
    for finding in result.findings:
        yield "\n" + finding_told(finding)


def finding_told(finding: Finding) -> str:
    """What is wrong, under which circumstances, where the assignor raised it, and what to paste."""
    who = f"{finding.library} {finding.version}".strip()
    lines = [_wrapped(f"{finding.assignor} of {who}, {finding.promise}: {finding.words}")]
    if finding.circumstances:
        lines.append(_wrapped(f"where {'; '.join(finding.circumstances)}", "  "))
    if finding.kafka is not None:
        kept = f"keeps it here: {finding.kafka.answer}"
        does = kept if finding.kafka.keeps else "breaks it here, too"
        lines.append(_wrapped(f"Kafka's own {finding.kafka.assignor} {does}", "  "))
    if finding.traceback:
        shown = "\n".join(map(printable, finding.traceback.splitlines()))
        lines.append(textwrap.indent(shown, "  ") + "\n")
    return "".join([*lines, "\n", textwrap.indent(finding.code, "    ")])


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
    """One test case for each promise that an assignor breaks, and one for each other assignor."""
    cases = [
        Case(f"{f.assignor}: {f.promise} ({number})", FAILURE, f.words, f.code)
        for number, f in enumerate(result.findings, 1)
    ]
    wrong = {finding.assignor for finding in result.findings}
    for offered in result.library.assignors:
        if offered.name in result.given_up:
            cases.append(Case(offered.name, ERROR, "unknown: it did not answer in time"))
        elif offered.name not in wrong:
            cases.append(Case(offered.name))
    return Suite(f"assign --against {result.library.name}", tuple(cases))
