"""The events that happened to the processes of a group, read from its log: who came, closed, died,
stalled or was paused.

A log of a coordinator shows what the protocol made of these events: a member joined, left, expired.
How they are read:

- A member that joins is a process that starts. One that sends LeaveGroup closes, unless its reason
  (KIP-800) or the log says that it did not poll in time: then its application stalled from
  max.poll.interval.ms before that until it joined again.
- A member whose session expired died at a moment within one heartbeat interval after its last
  heartbeat, which came session.timeout.ms before the expiry. If it came back with its old id, its
  process was only paused, until then.
- A member that the others waited for in vain stalled from the begin of that rebalance on.
- A member for which a rebalance waited longer than two heartbeats stalled for that time.
- A static member that joins with a new id closed before. In a request log that was within one
  heartbeat interval after its last request. Else it was away for `restart_ms` of the assumptions,
  but at most for half a session, and for half the time since the log last shows it alive.
- Members with one client id (or instance id) that follow each other are one process. A client id
  that is seen for the first time, within `SUCCESSION_MS` after a process went for good, is taken
  for the same process under another name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import Factory, define, evolve, frozen

from groupcheck.oracles.replay.what_if.protocols import CONSUMER
from groupcheck.oracles.replay.what_if.settings import is_cooperative
from groupcheck.oracles.replay.what_if.what_if_types import HappeningKind
from groupcheck.traces.findings.findings import Findings
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.story.events import RebalanceCause
from groupcheck.traces.story.member import Member, client_of
from groupcheck.traces.story.moments import Moment, Round, elapsed

SUCCESSION_MS = 300_000
POLL_TIMEOUT = "poll timeout"
NOT_IN_TIME = "failed to transition"
"""Of a member whose rebalance timeout is over (scheduleConsumerGroupRebalanceTimeout)."""
AWAY = ("left", "expired", "fenced", "not_rejoined", "not_synced", "replaced", "gone")
SILENT = ("expired", "fenced", "not_rejoined", "not_synced")
LASTING = ("stall", "pause")
FOLLOWS = (RebalanceCause.LEADER_REJOIN, RebalanceCause.MEMBER_REJOIN)
WENT = (
    RebalanceCause.LEAVE,
    RebalanceCause.SESSION_EXPIRED,
    RebalanceCause.REBALANCE_TIMEOUT,
    RebalanceCause.GONE,
)


@define
class Happening:
    """Something that happened to a process. Times are ms since 1970 by the clock of the log."""

    # A stall: it does not poll. A pause: it stands still as a whole.
    what: HappeningKind
    process: int
    at: float
    # The line that shows it.
    line: int
    # When a stall or a pause ends; None: not before the log ends.
    until: float | None = None
    # It happened at most so long after `at`.
    slack: float = 0.0
    # One of these processes stalled; empty: `process` did.
    one_of: tuple[int, ...] = ()
    # The rebalance of the log that followed, as an index, and the one that followed its end.
    round: int | None = None
    round_after: int | None = None
    # When the coordinator noticed that it died.
    noticed: float | None = None


@define
class Process:
    """A process, as far as the log tells one from another."""

    # Its client ids or instance ids, in order.
    names: list[str]
    # It was there when the log began.
    there: bool = False
    # Since when it is away; None while it runs.
    away: float | None = None
    last: Happening | None = None


@frozen
class Outside:
    """All that happened to the processes of a group."""

    group: str
    rounds: Sequence[Round]
    processes: Sequence[Process]
    # In order of time.
    happenings: Sequence[Happening]
    # Are all members static, or none? None: some are.
    static: bool | None
    # None: no line tells. A group of KIP-848 is neither this nor eager.
    cooperative: bool | None
    # (line, line): a process went, and another name came that is taken for it.
    renamed: Sequence[tuple[str, str, int]] = ()
    # The partitions that the members of one generation owned at most; 0 if the log does not tell.
    partitions: int = 0
    # How long static members were away is told by `restart_ms`, and not by the log.
    away_assumed: bool = False
    # It is read from requests, which show who came back with its old id.
    requests: bool = False
    # It is a group of KIP-848.
    consumer: bool = False


def outside(report: GroupReport, settings: Mapping[str, float]) -> Outside:
    """Reads what happened to the processes of the group. `settings`: all that is known of them, in
    ms: heartbeat_interval_ms, session_timeout_ms, max_poll_interval_ms, restart_ms.
    """
    reader = _Reader(report, settings)
    reader.read()
    statics = {m.instance is not None for m in reader.members}
    return Outside(
        group=report.group,
        rounds=reader.rounds,
        processes=reader.processes,
        happenings=sorted(reader.happenings, key=lambda h: (h.at, h.line)),
        static=statics.pop() if len(statics) == 1 else None if statics else False,
        cooperative=is_cooperative(report),
        away_assumed=reader.away_assumed,
        requests=report.requests is not None,
        consumer=report.protocol == CONSUMER,
        renamed=reader.renamed,
        partitions=_partitions(report),
    )


def _partitions(report: GroupReport) -> int:
    owned: dict[int | None, int] = {}
    for stay in report.requests.spans.kept if report.requests else ():
        if stay.kind == "owns":
            owned[stay.generation] = owned.get(stay.generation, 0) + stay.count
    return max(owned.values(), default=0)


@define
class _Reader:
    report: GroupReport
    settings: Mapping[str, float]
    rounds: list[Round] = Factory(list)
    members: list[Member] = Factory(list)
    processes: list[Process] = Factory(list)
    happenings: list[Happening] = Factory(list)
    renamed: list[tuple[str, str, int]] = Factory(list)
    away_assumed: bool = False
    # Member id -> its process; name -> the processes with that name.
    _of: dict[str, int] = Factory(dict)
    _named: dict[str, list[int]] = Factory(dict)
    _slow: set[str] = Factory(set)
    # Those that did not give up in time what a target took from them (KIP-848).
    _late: set[str] = Factory(set)
    # Member id -> (from, to) of a pause after which it came back with its old id.
    _paused: dict[str, tuple[float, float]] = Factory(dict)

    @property
    def consumer(self) -> bool:
        """Is it a group of KIP-848?"""
        return self.report.protocol == CONSUMER

    def read(self) -> None:
        """Fills `processes` and `happenings`."""
        timeline = self.report.timeline
        self.rounds = [r for r in timeline.rounds if r.started is not None]
        members = with_returns(timeline.members.values())
        self.members = [m for m in members if _came(m) or not m.handed_out]
        self._slow = {a.member for a in self.report.findings.absences if a.kind == "slow"}
        late = (r.causers for r in self.rounds if self.consumer and NOT_IN_TIME in r.reason)
        self._late = {id for causers in late for id in causers}
        silent = {m.id for m in self.members if m.gone in SILENT}
        self._paused = {id: t for id, t in _pauses(self.report.findings) if id in silent}
        joins = {id: k for k, r in enumerate(self.rounds) for id in _joined(r)}
        arrivals = sorted(
            (m for m in self.members if _came(m) is not None),
            key=lambda m: (_time(_came(m)), _line(_came(m))),
        )
        for member in self.members:
            if _came(member) is None:
                self._enter(member, Process([_name(member)], there=True))
        pending = [m for m in self.members if _came(m) is None and m.gone in AWAY]
        for member in arrivals:
            at = _time(_came(member))
            # Who died may expire only after it has come back.
            waiting = [m for m in pending if self._went(m) <= at]
            for gone in sorted(waiting, key=self._went):
                self._depart(gone)
                pending.remove(gone)
            self._arrive(member, at, joins.get(member.id, self._round_at(at)))
            if member.gone in AWAY:
                pending.append(member)
        for gone in sorted(pending, key=self._went):
            self._depart(gone)
        self._unnamed()
        self.happenings += self._slow_joins()

    # -- who is who

    def _enter(self, member: Member, process: Process) -> int:
        index = len(self.processes)
        self.processes.append(process)
        self._of[member.id] = index
        self._named.setdefault(process.names[-1], []).append(index)
        return index

    def _arrive(self, member: Member, at: float, round: int | None) -> None:
        name = _name(member)
        known = self._named.get(name, [])
        free = [k for k in known if (gone := self.processes[k].away) is not None and gone <= at]
        index = min(free, key=lambda k: self.processes[k].away or 0.0) if free else None
        if index is None and not known:
            index = self._successor(member, name, at)
        if index is None:
            index = self._enter(member, Process([name]))
        self._of[member.id] = index
        process = self.processes[index]
        line = _line(_came(member))
        last = process.last
        if last is not None and last.what in LASTING:
            last.until = max(at, last.at) if last.until is None else last.until
            last.round_after = round
        else:
            last = Happening("start", index, at, line, round=round)
            self.happenings.append(last)
        process.away, process.last = None, last

    def _successor(self, member: Member, name: str, at: float) -> int | None:
        """The process that this new name is taken for: of those that went for good the first."""
        later = {_name(m) for m in self.members if _came(m) and _time(_came(m)) > at}
        gone = [
            k
            for k, p in enumerate(self.processes)
            if p.away is not None
            and at - SUCCESSION_MS <= p.away <= at
            and p.names[-1] not in later
            and not (p.last is not None and p.last.what in LASTING)
        ]
        if not gone or member.instance is not None:
            return None
        index = min(gone, key=lambda k: self.processes[k].away or 0.0)
        line = _line(_came(member))
        self.renamed.append((self.processes[index].names[-1], name, line))
        self.processes[index].names.append(name)
        self._named.setdefault(name, []).append(index)
        return index

    def _unnamed(self) -> None:
        """Members that the log counts and never names were there all the time."""
        missing = 0
        for r in self.rounds:
            if r.size is None or r.joined_at is None or r.joined_at.time is None:
                continue
            at = r.joined_at.time
            there = sum(
                (_came(m) is None or _time(_came(m)) <= at)
                and (m.ended is None or _time(m.ended) > at)
                for m in self.members
            )
            missing = max(missing, r.size - there) if r.outcome == "assigned" else missing
        for k in range(missing):
            self.processes.append(Process([f"(not named, {k + 1})"], there=True))

    # -- what happened to it

    def _went(self, member: Member) -> float:
        """When the process went, which is earlier than the coordinator's line about it."""
        ended, came = _time(member.ended), _time(_came(member), before=True)
        early = 0.0
        if member.id in self._paused:
            return max(self._paused[member.id][0], came + 1)
        if member.gone == "expired" and member.id not in self._late:
            early = self.settings["session_timeout_ms"]
        elif member.gone == "replaced":
            early = self._away(member)
        elif self.consumer and member.gone == "gone":
            early = max(ended - self.report.timeline.signs.get(member.id, ended), 0.0)
        elif self._stalled(member):
            early = self.settings["max_poll_interval_ms"]
        return max(ended - early, came + 1)

    def _away(self, member: Member) -> float:
        """How long before it was replaced the process of a static member closed, at the most."""
        ended, sign = _time(member.ended), self.report.timeline.signs.get(member.id)
        if sign is not None:
            return max(ended - sign, 0.0)
        self.away_assumed = True
        seen = member.armed or _came(member)
        since = ended - _time(seen) if seen is not None else float("inf")
        session = self.settings["session_timeout_ms"]
        return min(self.settings["restart_ms"], session / 2, since / 2)

    def _stalled(self, member: Member) -> bool:
        said = POLL_TIMEOUT in (member.client_reason or "") or member.id in self._slow
        late = member.gone in ("not_rejoined", "not_synced") or member.id in self._late
        return late or (member.gone == "left" and said)

    def _depart(self, member: Member) -> None:
        index = self._of[member.id]
        at, line = self._went(member), _line(member.ended)
        round = self._round_of(member)
        what: HappeningKind = "close"
        slack = 0.0
        if member.id in self._paused:
            what, slack = "pause", self.settings["heartbeat_interval_ms"]
        elif self._stalled(member):
            what = "stall"
        elif member.gone in ("expired", "fenced", "gone"):
            what = "crash"
            heard = member.gone == "expired" or self.consumer
            slack = self.settings["heartbeat_interval_ms"] if heard else 0.0
        elif member.gone == "replaced" and member.id in self.report.timeline.signs:
            slack = self.settings["heartbeat_interval_ms"]
        one = Happening(what, index, at, line, slack=slack, round=round)
        if what == "crash":
            one.noticed = _time(member.ended)
        if what == "pause":
            one.until = max(self._paused[member.id][1], at)
        self.happenings.append(one)
        self.processes[index].away = at
        self.processes[index].last = one

    def _round_of(self, member: Member) -> int | None:
        """The rebalance in which the member's going took effect."""
        for k, r in enumerate(self.rounds):
            if member.id in r.left or member.id in r.expired or member.id in r.not_rejoined:
                return k
            if self.consumer and r.cause in WENT and member.id in r.causers:
                return k
        return None

    def _round_at(self, at: float) -> int | None:
        """The rebalance whose join phase ran then."""
        for k, r in enumerate(self.rounds):
            if _time(r.started) <= at and r.joined_at is not None and at <= _time(r.joined_at):
                return k
        return None

    def _slow_joins(self) -> Iterator[Happening]:
        """Members for which a rebalance waited longer than heartbeats explain."""
        for r in self.rounds:
            took = elapsed(r.started, r.joined_at)
            names = [self._of[id] for id in r.held_up_by if id in self._of]
            waited = "joined last" in r.waited_for and not r.initial
            if r.started is None or took is None or not names or not waited:
                continue
            if took <= 2 * self.settings["heartbeat_interval_ms"]:
                continue
            began = float(r.started.time or 0)
            yield Happening(
                "stall",
                names[0],
                began - 1,
                r.started.line,
                until=began + took,
                one_of=tuple(names) if len(names) > 1 else (),
            )


def _joined(r: Round) -> Sequence[str]:
    """Who joined in a rebalance; one of a group of KIP-848 lists only who caused it."""
    return r.joined or (r.causers if r.cause == RebalanceCause.JOIN else ())


def _pauses(findings: Findings) -> Iterator[tuple[str, tuple[float, float]]]:
    """Members that were silent for longer than a session and came back with their old ids, and
    when they were silent: from their last request to the next one.
    """
    for one in findings.absences:
        since, until = one.window.since, one.window.until
        if one.kind == "frozen" and since is not None and until is not None:
            yield one.member, (float(since), float(until))


def _came(member: Member) -> Moment | None:
    """When the member joined; some brokers print only that it was given an id."""
    if member.joined is None and (member.used or member.gone not in ("", "never_joined")):
        return member.handed_out
    return member.joined


def _line(moment: Moment | None) -> int:
    return 0 if moment is None else moment.line


def _name(member: Member) -> str:
    return member.instance or client_of(member.id)


def _time(moment: Moment | None, before: bool = False) -> float:
    """The time in ms since 1970; without one 0, or with `before` a time before all others."""
    if moment is None or moment.time is None:
        return float("-inf") if before else 0.0
    return float(moment.time)


# -- Static members that came back under ids that no line tells. From 3.0 on a broker prints only
# the old id: `Static member with groupInstanceId=i ... Replacing previously mapped member OLD with
# this groupInstanceId.` The new id may show later, when its member leaves, expires or leads.


def with_returns(members: Iterable[Member]) -> list[Member]:
    """The members, with those that replaced another one: each joined in the line that replaced it,
    under the first new id of its instance that shows later, or else under a name made here.
    """
    known = list(members)
    told = {(m.instance, m.joined.line) for m in known if m.joined is not None}
    replaced = [m for m in known if m.gone == "replaced" and m.ended is not None]
    for old in sorted(replaced, key=lambda m: m.ended.line if m.ended else 0):
        if old.ended is None or (old.instance, old.ended.line) in told:
            continue
        place = _later(known, old)
        if place is None:
            id = f"{old.instance} (since line {old.ended.line})"
            known.append(Member(id, instance=old.instance, joined=old.ended, first_seen=old.ended))
        else:
            known[place] = evolve(known[place], joined=old.ended, instance=old.instance)
    return known


def _later(members: Sequence[Member], old: Member) -> int | None:
    """The place of the first member of the same instance that shows after this one was replaced,
    and of which no line tells how it came.
    """
    since = old.ended.line if old.ended is not None else 0
    found = [
        (m.first_seen.line, k)
        for k, m in enumerate(members)
        if m.joined is None
        and m.handed_out is None
        and m.first_seen is not None
        and m.first_seen.line > since
        and (m.instance or client_of(m.id)) == old.instance
    ]
    return min(found)[1] if found else None
