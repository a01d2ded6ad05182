"""The result of a replay as plain values: a report for each file and for each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import Factory, frozen

from groupcheck.model.engine.errors import UserError
from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED, Kind
from groupcheck.traces.exchanges.member_spans import MemberSpans
from groupcheck.traces.exchanges.owners import Owners
from groupcheck.traces.exchanges.request_facts import RequestFacts
from groupcheck.traces.findings.findings import Findings
from groupcheck.traces.lines.duplicates import left_out_note
from groupcheck.traces.reading import Log, Part
from groupcheck.traces.story.timeline import Timeline

UNREADABLE = "unreadable"
RANK = {HOLDS: 0, UNKNOWN: 1, VIOLATED: 2}


@frozen
class Anomaly:
    # A word for scripts; `anomaly_kinds` lists them.
    kind: str
    # The line where it shows first; 0 if it belongs to no line.
    line: int
    # A sentence.
    text: str
    evidence: tuple[str, ...] = ()
    # When it showed first and last, in ms since 1970; None if it belongs to no time.
    since: int | None = None
    until: int | None = None
    # The first lines from which it was counted; empty if `line` is all.
    lines: tuple[int, ...] = ()


@frozen
class UnexplainedLine:
    """A line that no world of the model explains, as long as no line before it is missing."""

    line: int
    text: str
    # Why it does not fit, and what was possible instead.
    why: str
    possible: str
    # The generation runs ahead, as when lines are missing.
    skips: bool
    # Kinds of lines (names of events) that would explain it if they were missing.
    lost: tuple[str, ...] = ()
    # The log has no line of those kinds at all, so they are assumed to be filtered out.
    assumed: bool = False
    # It is impossible, whatever lines are missing.
    certain: bool = False


@frozen
class Requests:
    """The part of a group's report that only a request log can fill."""

    facts: RequestFacts
    # Which member believed that it owned what.
    owners: Owners
    # What each member did and held when.
    spans: MemberSpans
    # How many answers were judged.
    judged: int


@frozen
class GroupReport:
    """One group on one coordinator."""

    group: str
    # The broker's id; None if the log does not show it.
    coordinator: int | None
    # classic, consumer, share or streams; in a request log also cooperative, static, or the
    # protocol type of a group that is not made of consumers.
    protocol: str
    verdict: Kind
    reason: str
    timeline: Timeline
    anomalies: tuple[Anomaly, ...]
    unexplained: tuple[UnexplainedLine, ...]
    # How many lines are not explained; how many are, if filtered lines are assumed.
    unexplained_count: int
    assumed_count: int
    lines: int
    # What the beginning of the log leaves open.
    begins: str
    # Of a request log only.
    requests: Requests | None = None
    # No line could have contradicted another, so the verdict says nothing about the coordinator.
    nothing_judged: bool = False
    # What a diagnosis is built on.
    findings: Findings = Factory(Findings)


@frozen
class FileReport:
    path: str
    format: str
    verdict: Kind
    reason: str
    lines: int
    understood: int
    # Lines that no coordinator wrote.
    foreign: int
    # Lines of a coordinator that no version is known to print, and (number, text) of the first.
    strange: int
    samples: tuple[tuple[int, str], ...] = ()
    versions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    groups: tuple[GroupReport, ...] = ()
    anomalies: tuple[Anomaly, ...] = Factory(tuple)
    # Number -> text of the lines that anomalies of groups name, for their quotation.
    quotes: Mapping[int, str] = Factory(dict)
    # The files of the log, in order of time.
    files: tuple[Part, ...] = ()


def file_report(
    log: Log,
    format: str,
    groups: tuple[GroupReport, ...],
    *,
    nothing: str,
    too_many: int,
    repeated: int,
    versions: tuple[str, ...] = (),
    anomalies: Sequence[Anomaly] = (),
) -> FileReport:
    """The report of a log that has been read to its end. `nothing`: why there may be no groups;
    `too_many`: lines about groups beyond the limit; `repeated`: lines that were left out as
    repetitions.
    """
    notes = log.notes
    verdict, reason = _verdict(log, groups, too_many) if groups else (UNKNOWN, nothing)
    told = {
        **dict.fromkeys(log.source.notes, True),
        notes.torn: bool(notes.torn),
        notes.beyond: bool(notes.beyond),
        left_out_note(repeated): repeated,
        f"{notes.cut} lines are longer than a million characters and were cut": notes.cut,
        f"{notes.undecodable} lines are not valid UTF-8": notes.undecodable,
        f"{log.strange} lines were not understood": log.strange,
        f"{too_many} lines about more groups than can be followed were left out": too_many,
    }
    backwards = Anomaly(
        "out_of_order", log.first_backwards, f"timestamps run backwards {log.backwards} times"
    )
    return FileReport(
        path=log.path,
        format=format,
        verdict=verdict,
        reason=reason,
        lines=notes.lines,
        understood=log.understood,
        foreign=notes.lines - log.understood - log.strange,
        strange=log.strange,
        samples=tuple(log.samples),
        versions=versions,
        notes=tuple(text for text, so in told.items() if so),
        groups=groups,
        anomalies=(*anomalies, *([backwards] if log.backwards else ())),
        files=tuple(notes.parts),
    )


def unreadable(path: str, why: UserError) -> FileReport:
    """The report of a file that could not be read, among others that could."""
    reason = why.what + (f" ({why.do})" if why.do else "")
    return FileReport(path, UNREADABLE, UNKNOWN, reason, 0, 0, 0, 0)


def _verdict(log: Log, groups: Sequence[GroupReport], too_many: int) -> tuple[Kind, str]:
    judged = [g for g in groups if not g.nothing_judged]
    decisive = max(judged or groups, key=lambda g: RANK[g.verdict])
    if decisive.verdict != HOLDS:
        return decisive.verdict, f"group {decisive.group}: {decisive.reason}"
    if log.strange or too_many:
        lost = f"{log.strange + too_many:,} of its lines were not followed"
        return UNKNOWN, f"{lost}; all others are explained"
    if log.notes.torn:
        return UNKNOWN, f"{log.notes.torn}; everything that was read is explained"
    silent = len(groups) - len(judged)
    if silent:
        return (
            HOLDS,
            f"{decisive.reason}; of {silent:,} of {len(groups):,} groups nothing is judged",
        )
    return HOLDS, decisive.reason


def worst_of(reports: Sequence[FileReport]) -> tuple[Kind, str]:
    """The worst verdict of one or more files, with its reason."""
    worst = max(reports, key=lambda r: RANK[r.verdict])
    return worst.verdict, (
        f"{worst.path}: {worst.reason}"
        if len(reports) > 1 and worst.verdict != HOLDS
        else worst.reason
    )
