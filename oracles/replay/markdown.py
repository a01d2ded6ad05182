"""A replay as Markdown for a ticket: the answer about each group with its evidence, its rounds and
the settings that play a part.

Texts of logs stand in code only, in fences and spans that are longer than any run of backticks in
them, so that they cannot become markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from groupcheck import __version__
from groupcheck.oracles.printable import printable
from groupcheck.oracles.replay.answers import Answer
from groupcheck.oracles.replay.claims import (
    KEEP,
    NOT_TOLD,
    AnswerInWords,
    Claim,
    headline,
    in_words,
    split_calm,
)
from groupcheck.oracles.replay.handovers import HANDOVER_COLUMNS, handover_rows
from groupcheck.oracles.replay.rounds import COLUMNS, fold_cells, folded
from groupcheck.traces.findings.report import FileReport

GROUPS_SHOWN = 20
ROUNDS_SHOWN = 30
CALM_NAMED = 20
# What could be markup, begin a list, or become a link by itself.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~&@]|^[-+=]|(?<=^\d)[.)]|(?<=:/)/|(?<=www)\.")


def markdown(reports: Sequence[FileReport], answers: Sequence[Answer]) -> str:
    """The whole ticket."""
    single, calm = split_calm(answers)
    parts = [f"# {headline(answers)}"]
    if len(single) > 1:
        told_first = [in_words(answer, reports) for answer in single[:GROUPS_SHOWN]]
        rows = [(t.health, t.answer.group or "without a name", t.in_brief) for t in told_first]
        parts.append(table(("health", "group", "what happened"), rows))
    for answer in single[:GROUPS_SHOWN]:
        parts += _group(in_words(answer, reports))
    if len(single) > GROUPS_SHOWN:
        parts.append(f"{len(single) - GROUPS_SHOWN} more groups are not shown.")
    if calm:
        more = f" and {len(calm) - CALM_NAMED} more" if len(calm) > CALM_NAMED else ""
        names = ", ".join(span(a.group) for a in calm[:CALM_NAMED])
        parts.append(f"{len(calm)} groups are calm: {names}{more}")
    parts.append("## Logs")
    parts.append("\n".join(f"- {span(r.path)}: {_log(r)}" for r in reports))
    parts.append(f"groupcheck {__version__}")
    return "\n\n".join(parts) + "\n"


def _log(r: FileReport) -> str:
    return (
        f"{plain(r.format)}, {r.lines:,} lines, {r.understood:,} understood, {r.strange:,} not"
        " understood"
    )


def _group(t: AnswerInWords) -> Iterator[str]:
    name = span(t.answer.group) if t.answer.group else "without a name"
    yield f"## {t.health}: group {name}"
    if not t.causes:
        yield plain(t.sentence)
    for claim in t.causes:
        yield from _claim(claim)
    if t.harm:
        yield "**Harm:** " + "; ".join(map(plain, t.harm))
    for shown in t.facts:
        yield f"**{shown.label.capitalize()}:** {plain(shown.text)}"
        yield fenced([f"{quote.place}: {quote.text}" for quote in shown.quotes])
    for claim in t.candidates:
        yield f"**Possible:** {plain(claim.text)}"
        if claim.decide and claim.decide not in claim.text:
            yield f"To decide: {plain(claim.decide)}"
        yield from _evidence(claim)
    for no in t.ruled_out:
        yield f"**Ruled out:** {plain(no.text)}"
        yield fenced([f"{no.quote.place}: {no.quote.text}"])
    if t.hints:
        yield "**This log cannot tell the rest.** Look for:"
        yield "\n".join(f"- {plain(hint)}" for hint in t.hints)
    if t.answer.turn_on:
        yield f"**Turn on:** {plain(t.answer.turn_on)}"
    if t.consequences:
        yield "**Consequences:** " + "; ".join(plain(claim.title) for claim in t.consequences)
    if t.clocks:
        yield "**Clocks:** " + "; ".join(map(plain, t.clocks))
    if t.members:
        yield f"**Members:** {plain(t.members)}"
    yield f"**Broker:** {plain(t.verdict)}"
    for group in t.answer.shown:
        rounds = group.timeline.rounds
        yield from _rows("Rebalances", COLUMNS, [fold_cells(fold) for fold in folded(rounds)])
        yield from _rows("Handovers", HANDOVER_COLUMNS, handover_rows(rounds, None))


def _rows(title: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield f"**{title}**"
        yield table(names, rows[-ROUNDS_SHOWN:])
    if len(rows) > ROUNDS_SHOWN:
        yield f"These are the last {ROUNDS_SHOWN} of {len(rows)} rows."


def _claim(claim: Claim) -> Iterator[str]:
    yield f"**{claim.label.capitalize()} ({claim.confidence}):** {plain(claim.text)}"
    if claim.when:
        yield f"**When:** {claim.when}"
    if claim.action:
        yield f"**What to do:** {plain(claim.action)}"
    if claim.settings:
        rows = [(s.name, s.present or NOT_TOLD, s.wanted or KEEP) for s in claim.settings]
        yield table(("setting", "now", "should be"), rows)
    if claim.tickets:
        yield "**Tickets:** " + ", ".join(plain(ticket) for ticket in claim.tickets)
    yield from _evidence(claim)


def _evidence(claim: Claim) -> Iterator[str]:
    if claim.evidence:
        yield fenced(": ".join(filter(None, (q.place, q.text))) for q in claim.evidence)


def fenced(lines: Iterable[str]) -> str:
    """Lines of a log as a block of code."""
    told = [printable(line) for line in lines]
    fence = "`" * max(3, 1 + max((_longest_run(line) for line in told), default=0))
    return "\n".join([f"{fence}text", *told, fence])


def span(text: str) -> str:
    """A name as code inside a line."""
    told = printable(text)
    ticks = "`" * (1 + _longest_run(told))
    edge = " " if told.startswith("`") or told.endswith("`") or told != told.strip() else ""
    return f"{ticks}{edge}{told}{edge}{ticks}" if told.strip() else "(empty)"


def plain(text: str) -> str:
    """A sentence in which nothing is markup."""
    return _MARKUP.sub(r"\\\g<0>", printable(text))


def table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are sentences."""
    lines = [" | ".join(names), " | ".join("---" for _ in names)]
    lines += [" | ".join(plain(cell) or " " for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
