"""A replay as one JSON document, schema groupcheck.replay/2: what scripts depend on.

Times are text, `2024-10-25 17:25:16.582`, of the clock that wrote the line (a broker's log does not
print its zone); durations are milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Any

from attrs import evolve

from groupcheck.oracles.printable import as_json
from groupcheck.oracles.replay import member_types, replay_types
from groupcheck.oracles.replay.answers import Answer, judged, worst
from groupcheck.oracles.replay.claims import headline
from groupcheck.oracles.replay.facts_document import fact_document
from groupcheck.oracles.replay.findings_document import findings_document
from groupcheck.oracles.replay.handovers import handover_documents
from groupcheck.oracles.replay.lanes import NO_STORY
from groupcheck.oracles.replay.lives_document import (
    clock_document,
    followed_document,
    life_documents,
    quoted,
    refuted_document,
    removal_document,
    seen_document,
)
from groupcheck.oracles.replay.request_facts_document import request_facts_document
from groupcheck.oracles.show.json_schemas import ABSENT, document, printed
from groupcheck.traces.causes.found_cause import FoundCause
from groupcheck.traces.findings.anomalies import HOUR_MS, busiest, period, unstable_share
from groupcheck.traces.findings.report import Anomaly, FileReport, GroupReport
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.members.group_story import GroupStory
from groupcheck.traces.story.member import Member, client_of
from groupcheck.traces.story.moments import Moment, Round, elapsed, unseen
from groupcheck.traces.story.timeline import Timeline

SCHEMA = "groupcheck.replay/2"


def replay_document(
    reports: Sequence[FileReport], answers: Sequence[Answer], notes: Sequence[str] = ()
) -> dict[str, Any]:
    """All that `groupcheck replay --json` prints: sums over all files, each file, and the answer
    for each group, the worst first, with its rebalances in each file. `notes`: what was passed
    over.
    """
    return document(SCHEMA, _whole(reports, answers, notes, list(_groups(answers))))


def replay_text(
    reports: Sequence[FileReport], answers: Sequence[Answer], notes: Sequence[str] = ()
) -> Iterator[str]:
    """The document as text, group by group: a log may name thousands, and each may have thousands
    of rebalances.
    """
    head = as_json(document(SCHEMA, _whole(reports, answers, notes, [])), indent=2)
    assert head.endswith("[]\n}")
    yield head.removesuffix("]\n}")
    between = "\n"
    for group in _groups(answers):
        yield between + indent(as_json(printed(group), indent=2), "    ")
        between = ",\n"
    yield ("]" if between == "\n" else "\n  ]") + "\n}\n"


def _groups(answers: Sequence[Answer]) -> Iterator[replay_types.Group]:
    """Each group with its answer: once for each log of a broker that names it, or once."""
    for a in answers:
        for s in a.seen:
            yield answer_document(a, group_document(s.group, s.file, a.story))
        if not a.seen:
            yield answer_document(a, _told(a))


def _told(a: Answer) -> replay_types.GroupLog:
    """A group that only clients' lines name: what its members tell of it."""
    t, story = a.story.timeline, a.story
    log = replay_types.GroupLog(
        verdict=a.verdict,
        reason=a.verdict_reason,
        unexplained=0,
        rebalances=[round_document(x, story) for x in t.rounds],
        members=[*_members(t, story)],
        anomalies=[],
    )
    if not story.told:
        return log
    return evolve(
        log,
        protocol=a.shown[0].protocol,
        generations=replay_types.GenerationSpan(lowest=t.lowest, highest=t.highest),
        rebalance_causes=dict(sorted(t.causes.items(), key=lambda c: (-c[1], c[0]))),
        counts=dict(t.counts),
        time=time_document(t),
        rebalances_not_listed=t.rounds_dropped,
        members_not_listed=0,
    )


def answer_document(a: Answer, log: replay_types.GroupLog) -> replay_types.Group:
    """Health, causes and what to do, beside what one log shows of the group."""
    d = a.diagnosis
    return replay_types.Group(
        group=a.group,
        health=a.health,
        health_reason=a.reason,
        causes=[cause_document(f) for f in d.causes],
        candidates=[cause_document(f) for f in d.candidates],
        consequences=[cause_document(f) for f in d.consequences],
        ruled_out=[refuted_document(r) for r in d.refuted],
        facts=[fact_document(f) for f in a.facts],
        hints=list(d.hints),
        turn_on=a.turn_on,
        followed=followed_document(a.evidence.followed),
        removals=[removal_document(r) for r in a.evidence.removals],
        clocks=[clock_document(s) for s in a.evidence.skews],
        log=log,
    )


def cause_document(f: FoundCause) -> replay_types.Cause:
    """`settings`: what the log tells of them now, and what they should be."""
    names = dict.fromkeys([*f.cause.settings, *f.present])
    return replay_types.Cause(
        kind=f.cause.kind,
        title=f.title,
        text=f.text,
        action=f.action,
        confidence=f.confidence,
        decide=f.decide,
        severity=f.severity,
        who=list(f.who),
        since=None if f.since is None else show_time(f.since),
        until=None if f.until is None else show_time(f.until),
        settings=[
            replay_types.Setting(name=n, present=f.present.get(n), wanted=f.cause.settings.get(n))
            for n in names
        ],
        tickets=[
            replay_types.Ticket(id=t.id, affects=t.affects, fixed=t.fixed, here=list(t.here))
            for t in f.tickets
        ],
        evidence=[replay_types.Evidence(file=s.log, line=s.line, text=s.text) for s in f.lines],
        overcome=quoted(f.overcome) if f.overcome else None,
    )


def _whole(
    reports: Sequence[FileReport],
    answers: Sequence[Answer],
    notes: Sequence[str],
    groups: list[replay_types.Group],
) -> replay_types.ReplayDocument:
    formats = sorted({r.format for r in reports})
    verdict, reason = judged(reports)
    every = [g for r in reports for g in r.groups]
    return replay_types.ReplayDocument(
        format=formats[0] if len(formats) == 1 else "mixed",
        health=worst(answers),
        conclusion=headline(answers),
        reading=replay_types.Reading(
            verdict=verdict,
            reason=reason,
            lines=sum(r.lines for r in reports),
            lines_understood=sum(r.understood for r in reports),
            lines_of_others=sum(r.foreign for r in reports),
            lines_not_understood=sum(r.strange for r in reports),
        ),
        notes=list(notes),
        answers_judged=_judged(every),
        request_facts=request_facts_document(every),
        files=[file_document(r) for r in reports],
        groups=groups,
    )


def file_document(r: FileReport) -> replay_types.File:
    return replay_types.File(
        file=r.path,
        format=r.format,
        reading=replay_types.Reading(
            verdict=r.verdict,
            reason=r.reason,
            lines=r.lines,
            lines_understood=r.understood,
            lines_of_others=r.foreign,
            lines_not_understood=r.strange,
        ),
        not_understood=[replay_types.UnreadLine(line=line, text=text) for line, text in r.samples],
        versions=list(r.versions),
        notes=list(r.notes),
        files=[
            replay_types.Part(
                path=part.path,
                first_line=part.first_line,
                lines=part.lines,
                left_out=part.left_out,
            )
            for part in r.files
        ],
        anomalies=[anomaly_document(a) for a in r.anomalies],
    )


def group_document(
    g: GroupReport, r: FileReport, story: GroupStory = NO_STORY
) -> replay_types.GroupLog:
    """A group in one log of a broker, beside what its members tell."""
    t = g.timeline
    return replay_types.GroupLog(
        file=r.path,
        coordinator=g.coordinator,
        protocol=g.protocol,
        verdict=g.verdict,
        reason=g.reason,
        begins=g.begins,
        lines=g.lines,
        unexplained=g.unexplained_count,
        assumed_missing=g.assumed_count,
        generations=replay_types.GenerationSpan(lowest=t.lowest, highest=t.highest),
        rebalance_causes=dict(sorted(t.causes.items(), key=lambda c: (-c[1], c[0]))),
        counts=dict(t.counts),
        time=time_document(t),
        rebalances=[round_document(x, story) for x in t.rounds],
        rebalances_not_listed=t.rounds_dropped,
        members=[*_members(t, story)],
        members_not_listed=t.members_dropped,
        epochs=[
            replay_types.GroupEpoch(epoch=epoch, what=what, time=_time(at), line=at.line)
            for epoch, at, what in t.epochs
        ],
        anomalies=[anomaly_document(a) for a in g.anomalies],
        findings=findings_document(g.findings),
        answers_judged=_judged([g]),
        request_facts=request_facts_document([g]),
    )


def _judged(groups: Sequence[GroupReport]) -> int:
    """How many answers of request logs were judged; ABSENT of other logs."""
    told = [g.requests.judged for g in groups if g.requests is not None]
    return sum(told) if told else ABSENT


def time_document(t: Timeline) -> replay_types.TimeShares:
    """`preparing_ms`: in join phases; `unstable_ms`: until the assignment; `median_period_ms`: from
    one rebalance's beginning to the next's.
    """
    starts = sorted(t.starts)
    share = unstable_share(t)
    return replay_types.TimeShares(
        first=_time(t.first),
        last=_time(t.last),
        observed_ms=elapsed(t.first, t.last),
        preparing_ms=t.preparing_ms,
        unstable_ms=t.unstable_ms,
        unstable_share=None if share is None else round(share, 4),
        median_period_ms=None if unseen(t.rounds) else period(starts),
        most_in_an_hour=busiest(starts, HOUR_MS)[0],
    )


def round_document(x: Round, story: GroupStory = NO_STORY) -> replay_types.Rebalance:
    return replay_types.Rebalance(
        from_generation=x.from_generation,
        to_generation=x.to_generation,
        cause=x.cause.value,
        member=x.causers[0] if x.causers else None,
        members=list(x.causers),
        reason=x.reason,
        client_reason=x.client_reason,
        started=_time(x.started),
        started_line=_line(x.started),
        joined=_time(x.joined_at),
        ended=_time(x.ended),
        ended_line=_line(x.ended),
        join_ms=elapsed(x.started, x.joined_at),
        duration_ms=elapsed(x.started, x.ended),
        outcome=x.outcome,
        size=x.size,
        leader=x.leader,
        held_up_by=list(x.held_up_by),
        waited_for=x.waited_for,
        members_joined=list(x.joined),
        members_left=list(x.left),
        members_expired=list(x.expired),
        members_not_rejoined=list(x.not_rejoined),
        handovers=handover_documents(x) or ABSENT,
        seen=seen_document(story.rounds.get(-1 if x.to_generation is None else x.to_generation)),
    )


def _members(t: Timeline, story: GroupStory) -> Iterator[replay_types.Member]:
    lives = life_documents(story)
    for m in t.members.values():
        yield member_document(m, lives.get(m.id, member_types.ClientLife()))


def member_document(m: Member, life: member_types.ClientLife) -> replay_types.Member:
    return replay_types.Member(
        member=m.id,
        client=client_of(m.id),
        instance=m.instance,
        first_seen=_time(m.first_seen),
        first_line=m.first_seen.line if m.first_seen else None,
        id_handed_out=_time(m.handed_out),
        joined=_time(m.joined),
        gone=m.gone or None,
        ended=_time(m.ended),
        ended_line=m.ended.line if m.ended else None,
        client_reason=m.client_reason,
        led_generations=m.led,
        rebalances_caused=m.caused,
        log=life,
    )


def anomaly_document(a: Anomaly) -> replay_types.Anomaly:
    return replay_types.Anomaly(kind=a.kind, line=a.line, text=a.text, evidence=list(a.evidence))


def _line(moment: Moment | None) -> int | None:
    """Its line; None if it belongs to several logs."""
    return None if moment is None else moment.line or None


def _time(moment: Moment | None) -> str | None:
    return None if moment is None or moment.time is None else show_time(moment.time)
