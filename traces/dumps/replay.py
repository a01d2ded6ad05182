"""Replays a dump of `__consumer_offsets`: each group gets its timeline, and what was committed.

Records show what the coordinator stored, and not what it was asked and what it answered. So its
decisions are not judged, but for one: which assignments it gives to the members of a consumer group
(KIP-848) follows from the records before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from attrs import Factory, define, evolve

from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED, Kind
from groupcheck.traces import formats
from groupcheck.traces.dumps.classic import ClassicStory
from groupcheck.traces.dumps.commits import Commits
from groupcheck.traces.dumps.dump_log import DumpLog
from groupcheck.traces.dumps.modern import ModernStory
from groupcheck.traces.dumps.records import Commit, GenerationRecord, Record, Tombstone
from groupcheck.traces.exchanges.member_spans import MemberSpans
from groupcheck.traces.exchanges.owners import Overlap, Owners
from groupcheck.traces.exchanges.request_facts import RequestFacts
from groupcheck.traces.findings.anomalies import find_anomalies
from groupcheck.traces.findings.findings import Findings
from groupcheck.traces.findings.report import (
    Anomaly,
    FileReport,
    GroupReport,
    Requests,
    UnexplainedLine,
    file_report,
)
from groupcheck.traces.findings.user_impact import findings_of
from groupcheck.traces.phrases import plural
from groupcheck.traces.reading import ALTERED
from groupcheck.traces.story.moments import Moment
from groupcheck.traces.story.timeline import Timeline

GROUPS_KEPT = 2000
SHOWN = 20
STORED = "a dump shows what was stored: the coordinator's decisions are not judged"


@define
class DumpTrail:
    """One group while the dump is read."""

    group: str
    timeline: Timeline = Factory(Timeline)
    spans: MemberSpans = Factory(MemberSpans)
    owners: Owners = Factory(lambda self: Owners(self.group), takes_self=True)
    facts: RequestFacts = Factory(lambda self: RequestFacts(self.group), takes_self=True)
    commits: Commits = Factory(lambda self: Commits(self.facts), takes_self=True)
    classic: ClassicStory = Factory(
        lambda self: ClassicStory(self.group, self.timeline, self.spans, self.owners),
        takes_self=True,
    )
    modern: ModernStory = Factory(
        lambda self: ModernStory(self.group, self.timeline, self.spans), takes_self=True
    )
    # How many records each protocol wrote.
    protocols: Counter[str] = Factory(Counter)
    deleted: list[Anomaly] = Factory(list)
    lines: int = 0

    def observe(self, r: Record, cuts: int, *, begins: bool = False) -> None:
        """Takes a record; `cuts`: how often records may have been missing so far; `begins`: none
        of this partition are missing.
        """
        self.lines += 1
        last, first = self.timeline.last, self.timeline.first
        protocol = getattr(r, "protocol", "") if not isinstance(r, GenerationRecord) else "classic"
        if protocol:
            self.protocols[protocol] += 1
        if isinstance(r, Commit):
            # A console consumer prints commits and groups in different runs.
            empty = r.at is None or not (self.classic.members or self.modern.members)
            self.commits.observe(r, cuts, empty)
        elif isinstance(r, GenerationRecord):
            self.classic.observe(r, cuts)
            self.modern.interrupted()
        elif isinstance(r, Tombstone):
            self._removed(r)
        else:
            self.modern.observe(r, cuts, begins=begins)
        times = [m.time for m in (last,) if m is not None and m.time is not None]
        self.timeline.first = first or Moment(r.line, r.time)
        if r.time is not None:
            times.append(r.time)
        self.timeline.last = Moment(r.line, max(times, default=None))

    def _removed(self, r: Tombstone) -> None:
        story = self.classic if r.protocol == "classic" else self.modern
        story.removed(r)
        if r.protocol == "classic":
            self.modern.interrupted()
        if len(self.deleted) < SHOWN:
            text = "the group was deleted, has expired, or changed its protocol"
            self.deleted.append(Anomaly("group_deleted", r.line, f"its record was removed: {text}"))

    # -- the report

    def report(self, doubts: str) -> GroupReport:
        verdict, reason = self._verdict(doubts)
        judged = self.modern.steps.judged
        requests = Requests(self.facts, self.owners, self.spans, judged)
        unexplained = tuple(
            UnexplainedLine(line, "the record of a member", w.why, w.possible, False)
            for line, w in self.modern.wrong
        )
        wrong = [Anomaly("unexplained_line", u.line, u.why) for u in unexplained]
        return GroupReport(
            group=self.group,
            coordinator=None,
            protocol=max(self.protocols, key=lambda p: (self.protocols[p], p), default="classic"),
            verdict=verdict,
            reason=reason,
            timeline=self.timeline,
            anomalies=(*wrong, *self._found(), *find_anomalies(self.timeline)),
            unexplained=unexplained,
            unexplained_count=self.modern.wrong_count,
            assumed_count=0,
            lines=self.lines,
            begins="",
            requests=requests,
            nothing_judged=verdict == UNKNOWN,
            findings=self._findings(),
        )

    def _verdict(self, doubts: str) -> tuple[Kind, str]:
        for twice in self.owners.overlaps:
            said = (
                f"line {twice.line}: the leader's plan gives {twice.partition} to two members"
                " (one_owner)"
            )
            return (UNKNOWN, f"{said}, but {doubts}") if doubts == ALTERED else (VIOLATED, said)
        if self.modern.wrong:
            line, first = self.modern.wrong[0]
            said = f"line {line}: {first.why}"
            return (UNKNOWN, f"{said}, but {doubts}") if doubts == ALTERED else (VIOLATED, said)
        if judged := self.modern.steps.judged:
            steps = f"{plural(judged, 'step')} of members, by the model `consumer`"
            return HOLDS, f"every assignment that was stored follows from the records ({steps})"
        return UNKNOWN, STORED

    def _findings(self) -> Findings:
        """A dump does not tell why members went, so time without members is no harm by itself."""
        found = findings_of(self.timeline)
        return evolve(
            found,
            empty=(),
            went_back=tuple(self.facts.rewinds),
            jumped=tuple(self.commits.jumped),
        )

    def _found(self) -> Iterator[Anomaly]:
        for twice in self.owners.overlaps[:SHOWN]:
            yield _twice(twice)
        yield from self.deleted
        yield from self.classic.found
        yield from self.commits.anomalies()


def _twice(twice: Overlap) -> Anomaly:
    text = (
        f"the leader's plan for generation {twice.generation} gives {twice.partition} to two"
        " members"
    )
    return Anomaly("partition_assigned_twice", twice.line, text, twice.members)


def replay_dump(log: DumpLog, group: str | None) -> FileReport | None:
    """Replays one dump; `group`: only this one. None if the log is no dump. Raises `TraceError` if
    the file cannot be read.
    """
    trails: dict[str, DumpTrail] = {}
    too_many = 0
    for r in log.records():
        if group is not None and r.group != group:
            continue
        if r.group not in trails:
            if len(trails) >= GROUPS_KEPT:
                too_many += 1
                continue
            trails[r.group] = DumpTrail(r.group)
        trails[r.group].observe(r, log.cuts, begins=log.from_start)
    if not log.understood and not log.strange:
        return None
    nothing = (
        f"no record of the group {group!r}"
        if group is not None and not log.raw
        else "the dump has no record of a group; dump a segment of __consumer_offsets, with"
        " --offsets-decoder"
    )
    report = file_report(
        log,
        formats.OFFSETS_DUMP,
        tuple(trails[name].report(_doubts(log)) for name in sorted(trails)),
        nothing=nothing,
        too_many=too_many,
        repeated=0,
    )
    return evolve(report, notes=(*report.notes, *_notes(log)))


def _notes(log: DumpLog) -> Iterator[str]:
    if log.left_out:
        yield (
            f"{plural(log.left_out, 'record')} left out: they stand behind later ones of their"
            " partition (the same segment twice, or segments out of order)"
        )
    if log.gaps:
        yield (
            f"records are missing at {plural(log.gaps, 'place')}: compacted away, or not in the"
            " dump"
        )
    if log.raw:
        yield (
            f"{plural(log.raw, 'record')} printed as bytes of which some are lost: dump with"
            " --offsets-decoder"
        )


def _doubts(log: DumpLog) -> str:
    return ALTERED if log.notes.altered else ""
