"""`groupcheck assign --against NAME` at the terminal: whose assignors, progress, the findings."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.against import EXAMPLES, Against, Finding, findings
from groupcheck.oracles.assignment.cases import against_suite
from groupcheck.oracles.assignment.offered import Library
from groupcheck.oracles.assignment.promises import ASSIGNORS
from groupcheck.oracles.explain.subject import one_of
from groupcheck.oracles.kafka.versions import NEWEST
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.document import as_text
from groupcheck.oracles.show.suite import tell
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
    """Searches, prints, and gives the exit code: 1 where there are findings, else 0. Raises
    `UserError` for what cannot be asked.
    """
    if examples is not None and not 1 <= examples <= MOST:
        raise UserError(
            f"{examples:,} groups are too many or none",
            where="--examples",
            do=f"take 1 to {MOST:,}",
        )
    result = findings(
        library_of(name, like, kafka), examples or EXAMPLES, _tell if sys.stderr.isatty() else None
    )
    if as_json:
        sys.stdout.write(as_text(result.document()))
    else:
        sys.stdout.writelines(told(result))
    tell(lambda: against_suite(result), junit)
    return result.exit_code


def library_of(name: str, like: str | None = None, kafka: str | None = None) -> Library:
    """Whose assignors a name means. Raises `UserError` where it means nothing, or what it needs is
    not installed.
    """
    own = ":" in name
    if like is not None and like not in ASSIGNORS:
        raise one_of("assignor of Kafka's", like, ASSIGNORS)
    if like is not None and not own:
        raise UserError(
            "the assignors of a library have names of their own", where="--like", do="leave it out"
        )
    if kafka is not None and name != "apache":
        raise UserError(
            "Kafka's own classes are not asked",
            where="--kafka",
            do="leave it out, or ask --against apache",
        )
    if name.startswith(PROGRAM):
        from groupcheck.oracles.assignment.libraries import programs

        return programs.library(name.removeprefix(PROGRAM), like)
    if own:
        from groupcheck.oracles.assignment.libraries import callables

        return callables.library(name, callables.imported(name), like)
    if name not in LIBRARIES:
        raise one_of("library (or module:function, or program: COMMAND)", name, LIBRARIES)
    if name == "apache":
        from groupcheck.oracles.assignment.libraries import apache

        return apache.library(kafka or NEWEST)
    return _installed(name)


def _installed(name: str) -> Library:
    try:
        if name == "aiokafka":
            from groupcheck.oracles.assignment.libraries import aiokafka

            return aiokafka.library()
        from groupcheck.oracles.assignment.libraries import kafka_python

        return kafka_python.library()
    except ImportError as missing:
        raise UserError(
            f"{name} is not installed or too old: {missing}",
            where="--against",
            do=f"pip install --upgrade {name}",
        ) from None


def _tell(words: str) -> None:
    print(f"groupcheck: {words}", file=sys.stderr, flush=True)


def told(result: Against) -> Iterator[str]:
    """The verdict, then every finding with its code, which is never broken into other lines: it is
    there to be pasted.
    """
    names = ", ".join(offered.name for offered in result.library.assignors)
    many = (
        "1 finding"
        if len(result.findings) == 1
        else f"{len(result.findings)} findings"
        if result.findings
        else "nothing found"
    )
    who = f"{result.library.name} {result.library.version}".strip()
    yield _wrapped(
        f"{many}  {who}: {names}; {result.searches} searches, {result.examples} groups of each kind"
    )
    if result.given_up:
        yield _wrapped(
            "not asked any more, because it gave no answer (in time) too often:"
            f" {', '.join(result.given_up)}",
            "  ",
        )
    for finding in result.findings:
        yield "\n" + finding_told(finding)


def finding_told(finding: Finding) -> str:
    """What is wrong, under which circumstances, where the assignor raised it, and what to paste."""
    who = f"{finding.library} {finding.version}".strip()
    lines = [_wrapped(f"{finding.assignor} of {who}, {finding.promise}: {finding.words}")]
    if finding.circumstances:
        lines.append(_wrapped(f"where {'; '.join(finding.circumstances)}", "  "))
    if finding.kafka is not None:
        does = (
            f"keeps it here: {finding.kafka.answer}"
            if finding.kafka.keeps
            else "breaks it here, too"
        )
        lines.append(_wrapped(f"Kafka's own {finding.kafka.assignor} {does}", "  "))
    if finding.traceback:
        shown = "\n".join(map(printable, finding.traceback.splitlines()))
        lines.append(textwrap.indent(shown, "  ") + "\n")
    return "".join([*lines, "\n", textwrap.indent(finding.code, "    ")])


def _wrapped(text: str, indent: str = "") -> str:
    return (
        textwrap.fill(
            printable(text),
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent + "  ",
            break_long_words=False,
        )
        + "\n"
    )
