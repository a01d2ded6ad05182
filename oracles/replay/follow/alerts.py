"""A change of health in words, on one line, and as a JSON object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from attrs import evolve

from groupcheck.oracles.replay.claims import FACTS_SHOWN, NAMELESS, WORDS
from groupcheck.oracles.replay.document import cause_document
from groupcheck.oracles.replay.facts_document import fact_document
from groupcheck.oracles.replay.follow.follow_types import FollowLine
from groupcheck.oracles.replay.follow.judging import Change
from groupcheck.oracles.show.json_schemas import document
from groupcheck.traces.causes.found_cause import FoundCause
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.facts import Fact
from groupcheck.traces.facts.rules import SORTS
from groupcheck.traces.findings.report import FileReport
from groupcheck.traces.reading import place_of

SCHEMA = "groupcheck.follow/1"
PLACES_SHOWN, FACTS_TOLD = 3, 3
UNEXPLAINED = "unexplained_line"


def placed(said: Statement, reports: Sequence[FileReport]) -> Statement:
    """The statement with the file that holds its line, and the line's number there."""
    path, line = _place(said.log, said.line, reports)
    return evolve(said, log=path, line=line)


def _place(log: str, line: int, reports: Sequence[FileReport]) -> tuple[str, int]:
    files = next((r.files for r in reports if r.path == log), ())
    return place_of(files, line) if files and line else (log, line)


def _places(lines: Iterable[tuple[str, int]]) -> str:
    """` (app.log:12, app.log:19)`, the first ones."""
    shown = [f"{path}:{line}" for path, line in dict.fromkeys(lines) if line]
    return f" ({', '.join(shown[:PLACES_SHOWN])})" if shown else ""


def alert_text(change: Change, at: datetime) -> str:
    """The change on one line: when it was noticed, the group, its health, and why."""
    before = "named for the first time" if change.before is None else f"was {WORDS[change.before]}"
    group = change.group or NAMELESS
    clock = at.astimezone().strftime("%H:%M:%S")
    return f"{clock} {group}: {WORDS[change.health]} ({before}): {_why(change)}"


def _why(change: Change) -> str:
    a, reports = change.answer, change.reports
    if a is None:
        return change.reason
    if a.health in ("troubled", "broken") and a.diagnosis.causes:
        cause = a.diagnosis.causes[0]
        lines = (_place(s.log, s.line, reports) for s in cause.lines)
        return f"{cause.text.rstrip('.')}; {cause.confidence}{_places(lines)}"
    facts = list(_new_facts(change)) if a.health != "calm" else []
    if not facts:
        return a.reason + _places(_shown(change))
    told = (
        f"{SORTS[f.sort]}: {f.text}{_places((p.log, p.line) for p in f.lines)}"
        for f in facts[:FACTS_TOLD]
    )
    reason = [] if any(f.text == a.reason for f in facts[:FACTS_TOLD]) else [a.reason]
    return "; ".join([*reason, *told])


def _new_facts(change: Change) -> Iterator[Fact]:
    """The facts that were not known before, one of each kind, with the files of their lines."""
    kinds = set()
    for f in change.answer.facts if change.answer else ():
        if (f.kind, f.text) in change.new and f.kind not in kinds:
            kinds.add(f.kind)
            yield evolve(f, lines=tuple(placed(s, change.reports) for s in f.lines))


def _shown(change: Change) -> Iterator[tuple[str, int]]:
    """Lines that no correct coordinator writes; if there are none, the newest about the group."""
    for s in change.answer.seen if change.answer else ():
        for anomaly in s.group.anomalies:
            if anomaly.kind == UNEXPLAINED and anomaly.line:
                yield _place(s.file.path, anomaly.line, change.reports)
                return
    if change.last:
        yield _place(*change.last, change.reports)


def alert_document(change: Change, at: datetime) -> dict[str, Any]:
    """The change as a JSON object, schema groupcheck.follow/1."""
    a, reports = change.answer, change.reports
    path, line = _place(*change.last, reports) if change.last else ("", 0)

    def with_files(found: FoundCause) -> FoundCause:
        return evolve(found, evidence=tuple(placed(s, reports) for s in found.lines))

    return document(
        SCHEMA,
        FollowLine(
            event="health",
            at=moment(at),
            group=change.group,
            health=change.health,
            before=change.before,
            reason=change.reason,
            causes=[cause_document(with_files(f)) for f in a.diagnosis.causes] if a else [],
            facts=[fact_document(f) for f in list(_new_facts(change))[:FACTS_SHOWN]],
            lines=change.lines,
            left_out=change.left_out,
            file=path,
            line=line,
        ),
    )


def log_document(name: str, what: str, at: datetime) -> dict[str, Any]:
    """Something that happened to a log, as a JSON object."""
    return document(SCHEMA, FollowLine(event="log", at=moment(at), file=name, reason=what))


def moment(at: datetime) -> str:
    """`2026-11-30T01:22:10.123Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
