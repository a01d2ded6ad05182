"""Answers made by hand, for tests of what shows them: a group of a real log with causes that its
lines do not show.
"""

from __future__ import annotations

from collections.abc import Iterable

from groupcheck.oracles.replay.answers import Answer, GroupInLog
from groupcheck.traces.causes.diagnosis import Diagnosis, Health
from groupcheck.traces.causes.found_cause import FoundCause
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.causes.knowledge import Cause, Confidence, Sign, Ticket
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.exchanges.member_spans import MemberSpan, MemberSpans
from groupcheck.traces.exchanges.owners import Owners
from groupcheck.traces.exchanges.request_facts import RequestFacts
from groupcheck.traces.findings.report import FileReport, GroupReport, Requests
from groupcheck.traces.story.member import Member
from groupcheck.traces.story.moments import Moment
from groupcheck.traces.story.timeline import Timeline

BEGIN = 1_730_000_000_000


def found(
    text: str = "c1 did not call poll() for 412 s and left the group.",
    *,
    confidence: Confidence = "certain",
    who: Iterable[str] = ("c1",),
    quoted: Iterable[str] = ("consumer poll timeout has expired",),
    decide: str = "",
) -> FoundCause:
    cause = Cause(
        kind="poll_timeout",
        severity="broken",
        title="poll() was not called in time",
        text="",
        action="",
        signs=(),
        settings={"max.poll.interval.ms": "above the longest handling of one batch"},
    )
    lines = tuple(
        Statement(kind="poll_expired", line=k, text=line, time=BEGIN + 10_000 * k)
        for k, line in enumerate(quoted, 1)
    )
    return FoundCause(
        cause=cause,
        sign=Sign(()),
        confidence=confidence,
        text=text,
        action="Find out what one batch waits for.",
        decide=decide,
        tickets=(Ticket("KAFKA-7610", fixed="2.2"),),
        present={"max.poll.interval.ms": "300000"},
        evidence=lines,
        severity=cause.severity,
        who=tuple(who),
        since=BEGIN + 10_000,
        until=BEGIN + 60_000,
    )


def answer(
    group: str = "orders",
    health: Health = "broken",
    *,
    causes: Iterable[FoundCause] = (),
    candidates: Iterable[FoundCause] = (),
    hints: Iterable[str] = (),
    seen: Iterable[GroupInLog] = (),
) -> Answer:
    diagnosis = Diagnosis(group, health, tuple(causes), tuple(candidates), (), tuple(hints))
    return Answer(
        group=group,
        health=health,
        reason="nothing stands out",
        diagnosis=diagnosis,
        verdict="holds",
        verdict_reason="every line is explained",
        seen=tuple(seen),
        evidence=GroupEvidence(group),
    )


def busy(members: int, events: int, name: str = "member-{k:04}") -> GroupInLog:
    """A group in which so many members together did so many things, one every 100 ms."""
    ids = [name.format(k=k) for k in range(members)]
    end = BEGIN + 100 * events
    stays = [
        MemberSpan(
            member=ids[k % members],
            client=ids[k % members],
            kind="owns" if k // members % 2 else "joining",
            since=BEGIN + 100 * k,
            until=BEGIN + 100 * (k + members),
            line=k + 1,
            generation=k // members,
            count=1,
            partitions=(f"orders-{k % members}",),
        )
        for k in range(events)
    ]
    timeline = Timeline(
        members={id: Member(id, joined=Moment(k + 1, BEGIN + 100 * k)) for k, id in enumerate(ids)},
        first=Moment(1, BEGIN),
        last=Moment(events, end),
    )
    group = GroupReport(
        group="orders",
        coordinator=None,
        protocol="classic",
        verdict="holds",
        reason="every answer is explained",
        timeline=timeline,
        anomalies=(),
        unexplained=(),
        unexplained_count=0,
        assumed_count=0,
        lines=events,
        begins="",
        requests=Requests(RequestFacts("orders"), Owners("orders"), MemberSpans(stays), events),
    )
    return GroupInLog(report([group], lines=events), group)


def report(groups: Iterable[GroupReport] = (), lines: int = 1) -> FileReport:
    return FileReport(
        path="requests.log",
        format="request-log",
        verdict="holds",
        reason="every answer is explained",
        lines=lines,
        understood=lines,
        foreign=0,
        strange=0,
        groups=tuple(groups),
    )
