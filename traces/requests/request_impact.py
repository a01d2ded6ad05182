"""The findings that only requests show: who was refused and why, which partitions had no owner,
commits that run ahead, members that stood still, and the heartbeats' measured interval.
"""

from __future__ import annotations

import re
from collections import Counter
from statistics import median

from attrs import Factory, define, evolve

from groupcheck.model.protocol.codes import NONE, UNKNOWN_MEMBER_ID, name_of
from groupcheck.traces.exchanges.exchange import (
    CommitExchange,
    EpochExchange,
    Exchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
)
from groupcheck.traces.exchanges.member_spans import MemberSpan, MemberSpans
from groupcheck.traces.exchanges.owners import Owners
from groupcheck.traces.exchanges.request_facts import codes_of
from groupcheck.traces.findings.commit_rate import CommitRates
from groupcheck.traces.findings.findings import (
    FOUND_KEPT,
    HEARTBEAT,
    REBALANCE,
    SESSION,
    Absence,
    Findings,
    Jump,
    RefusedRequests,
    Setting,
    StalledMember,
    UnownedPartition,
    Window,
)
from groupcheck.traces.findings.user_impact import conflicts
from groupcheck.traces.requests.words import exchange_text
from groupcheck.traces.story.timeline import Timeline

STOOD_MS = 10_000
MEMBERS_KEPT = 10_000
PARTITIONS_KEPT = 100_000
BEATS_KEPT = 1000
LEAST_BEATS = 3
TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")
"""A topic's id as Kafka prints it (Uuid.toString)."""
MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS = 79, 27
WHAT = {
    81: "full",
    82: "twin",
    111: "unreleased",
    23: "no_common_protocol",
    25: "expired",
    22: "old_generation",
    27: "rebalancing",
    16: "moved",
    15: "unavailable",
    14: "loading",
    26: "bad_session_timeout",
    30: "not_authorized",
    110: "fenced_epoch",
    113: "stale_epoch",
}
"""Error code -> what it says. Codes that are no trouble are left out: 79 belongs to every join, and
27 to every rebalance, unless a commit is refused with it.
"""


@define
class _Refusals:
    count: int
    clients: Counter[str]
    first: Exchange
    last: Exchange


@define
class _LastRequest:
    """A member's last request."""

    at: float
    line: int
    client: str
    session_ms: int = 0


@define
class RequestImpact:
    """One group's, filled by `observe` in the order in which the broker began with the requests."""

    jumped: list[Jump] = Factory(list)
    standing: list[StalledMember] = Factory(list)
    _refused: dict[tuple[str, int], _Refusals] = Factory(dict)
    _paces: CommitRates = Factory(CommitRates)
    _seen: dict[str, _LastRequest] = Factory(dict)
    _beats: dict[str, list[int]] = Factory(dict)
    _last_beat: dict[str, tuple[float, int]] = Factory(dict)
    # Client -> what it asked for, and the line.
    _asked: dict[str, tuple[int, int, int]] = Factory(dict)
    # Members that were silent for longer than their session and were refused then: since, until.
    _frozen: dict[str, Absence] = Factory(dict)
    # The same of members whose session timeout no line had told by then.
    _perhaps_frozen: dict[str, Absence] = Factory(dict)

    def observe(self, e: Exchange) -> None:
        for code in codes_of(e):
            commits = isinstance(e, CommitExchange)
            if code != MEMBER_ID_REQUIRED and (code != REBALANCE_IN_PROGRESS or commits):
                self._note(e, code)
        if isinstance(e, CommitExchange):
            self._commit(e)
        elif isinstance(e, HeartbeatExchange):
            self._beat(e, e.generation)
        elif isinstance(e, EpochExchange):
            self._beat(e, 0)
        elif isinstance(e, JoinExchange):
            if e.client in self._asked or len(self._asked) < MEMBERS_KEPT:
                self._asked[e.client] = (e.session_ms, e.rebalance_ms, e.line)
            waited = e.given - e.began
            if waited >= STOOD_MS and len(self.standing) < FOUND_KEPT:
                window = Window(round(e.began), round(e.given), e.line)
                self.standing.append(
                    StalledMember(e.response_member or e.member, e.client, window, "parked")
                )
        if isinstance(e, LeaveExchange):  # who left is not silent
            for leaver in e.leavers:
                self._seen.pop(leaver.member, None)
        elif e.member:
            self._sign(e)

    def _note(self, e: Exchange, code: int) -> None:
        known = self._refused.get((e.api, code))
        if known is None:
            if len(self._refused) < FOUND_KEPT:
                self._refused[e.api, code] = _Refusals(1, Counter({e.client: 1}), e, e)
            return
        known.count, known.last = known.count + 1, e
        if e.client in known.clients or len(known.clients) < FOUND_KEPT:
            known.clients[e.client] += 1

    def _commit(self, e: CommitExchange) -> None:
        for topic, number, offset, code in e.offsets:
            if code != NONE:
                continue
            partition = f"{topic}-{number}"
            was = self._paces.step(partition, offset, e.answered)
            if was is not None and len(self.jumped) < FOUND_KEPT:
                self.jumped.append(Jump(partition, e.client, offset, was, e.answered, e.line))

    def _beat(self, e: Exchange, generation: int) -> None:
        known = self._last_beat.get(e.member)
        if known is not None and known[1] == generation:
            beats = self._beats.setdefault(e.client, [])
            if len(beats) < BEATS_KEPT:
                beats.append(round(e.arrived - known[0]))
        if known is not None or len(self._last_beat) < MEMBERS_KEPT:
            self._last_beat[e.member] = (e.arrived, generation)

    def _sign(self, e: Exchange) -> None:
        seen = self._seen.get(e.member)
        session = self._asked.get(e.client, (0, 0, 0))[0]
        silent = e.arrived - seen.at if seen is not None else 0.0
        if seen is not None and session and silent > session:
            window = Window(round(seen.at), round(e.arrived), e.line)
            if len(self.standing) < FOUND_KEPT:
                self.standing.append(StalledMember(e.member, e.client, window, "silent"))
            if UNKNOWN_MEMBER_ID in codes_of(e) and len(self._frozen) < MEMBERS_KEPT:
                self._frozen[e.member] = Absence(e.member, e.client, window, "frozen")
        if seen is not None and not session and UNKNOWN_MEMBER_ID in codes_of(e):
            window = Window(round(seen.at), round(e.arrived), e.line)
            if len(self._perhaps_frozen) < MEMBERS_KEPT:
                self._perhaps_frozen[e.member] = Absence(e.member, e.client, window, "frozen")
        if seen is not None or len(self._seen) < MEMBERS_KEPT:
            # A request that waits is a sign until it is answered.
            self._seen[e.member] = _LastRequest(max(e.given, e.arrived), e.line, e.client, session)

    # -- the end

    def added_to(
        self,
        found: Findings,
        stays: MemberSpans,
        owners: Owners,
        timeline: Timeline,
        *,
        both: bool = False,
    ) -> Findings:
        """The findings of the timeline with those of the requests. `both`: members have used the
        classic protocol, which names topics, and KIP-848, which gives their ids.
        """
        self._decide()
        measured = (s for s in found.settings if s.measured)
        settings = (*self._join_settings(), *measured, *self._heartbeats())
        absences = [self._frozen.get(a.member, a) for a in found.absences]
        absences += [
            Absence(z.member, z.client, Window(z.since, z.until, z.line), "slow")
            for z in owners.zombies
            if z.left and z.committed
        ]
        silent = [s for s in self.standing if s.why == "parked" or not _while_away(s, found)]
        names = {a.member for a in absences}
        absences += [a for id, a in self._frozen.items() if id not in names]
        return evolve(
            found,
            unowned=tuple(_unowned(stays, timeline, found, both))[:FOUND_KEPT],
            jumped=tuple(self.jumped),
            refusals=tuple(self._refusals()),
            standing=(*found.standing, *silent),
            settings=settings,
            conflicts=tuple(conflicts(settings)),
            absences=tuple(absences),
        )

    def _decide(self) -> None:
        """A client asks for the same session each time that it joins, so a later JoinGroup tells
        how long a member may have been silent before.
        """
        for member, away in self._perhaps_frozen.items():
            session = self._asked.get(away.client, (0, 0, 0))[0]
            if session and (away.window.ms or 0) > session:
                self._frozen.setdefault(member, away)
        self._perhaps_frozen.clear()

    def _refusals(self) -> list[RefusedRequests]:
        return [
            RefusedRequests(
                WHAT.get(code, "other"),
                api,
                code,
                name_of(code).partition(" ")[2],
                r.count,
                r.clients,
                Window(round(r.first.given), round(r.last.given), r.first.line),
                exchange_text(r.first)[:500],
            )
            for (api, code), r in self._refused.items()
        ]

    def _join_settings(self) -> list[Setting]:
        """The timeouts that clients ask for in JoinGroup."""
        found: dict[tuple[str, int], list[tuple[str, int]]] = {}
        for client, (session, rebalance, line) in self._asked.items():
            for name, value in ((SESSION, session), (REBALANCE, rebalance)):
                if value > 0:
                    found.setdefault((name, value), []).append((client, line))
        return [
            Setting(name, value, False, tuple(c for c, _ in some), min(at for _, at in some))
            for (name, value), some in found.items()
        ]

    def _heartbeats(self) -> list[Setting]:
        """The median interval of each client's heartbeats in one generation."""
        return [
            Setting(HEARTBEAT, int(median(beats)), True, (client,))
            for client, beats in self._beats.items()
            if len(beats) >= LEAST_BEATS
        ]


def _while_away(s: StalledMember, found: Findings) -> bool:
    """Was the coordinator away while the member was silent?"""
    return any(
        None not in (r.window.since, r.window.until, s.window.since, s.window.until)
        and (r.window.since or 0) <= (s.window.until or 0)
        and (s.window.since or 0) <= (r.window.until or 0)
        for r in found.restarts
    )


def _unowned(
    stays: MemberSpans, timeline: Timeline, found: Findings, both: bool
) -> list[UnownedPartition]:
    """The gaps between the owners of each partition, the longest first. A member that died owns
    nothing since its last sign of life. `both`: a topic has its name or its id.
    """
    owned: dict[str, list[tuple[int, int | None, MemberSpan]]] = {}
    for stay in stays.kept:
        if stay.kind != "owns":
            continue
        until = _really_until(stay, timeline)
        for partition in stay.partitions:
            if partition in owned or len(owned) < PARTITIONS_KEPT:
                owned.setdefault(partition, []).append((stay.since, until, stay))
    twins = both and not _with_one_name(owned)
    end = timeline.last.time if timeline.last else None
    by_choice = any(e.window.open and e.by_choice for e in found.empty)
    gaps: list[UnownedPartition] = []
    for partition, stretches in owned.items():
        stretches.sort(key=lambda s: s[0])
        free: int | None = None
        before: MemberSpan = stretches[0][2]
        for since, until, stay in stretches:
            if free is not None and since > free:
                window = Window(free, since, before.line)
                gaps.append(_gap(partition, window, timeline, before.client, stay.client))
            if free is None or until is None or until > free:
                free, before = until, stay
            if until is None:
                break
        if free is not None and end is not None and end > free and not (by_choice or twins):
            window = Window(free, end, before.line, open=True)
            gaps.append(_gap(partition, window, timeline, before.client, ""))
    return sorted(gaps, key=lambda g: (-(g.window.ms or 0), g.partition))


def _with_one_name(owned: dict[str, list[tuple[int, int | None, MemberSpan]]]) -> bool:
    """Gives what is known under a topic's id to its name, if there is but one topic. Whether each
    partition has one name then.
    """
    topics = {partition.rpartition("-")[0] for partition in owned}
    ids = {topic for topic in topics if TOPIC_ID.fullmatch(topic)}
    if len(topics) - len(ids) != 1 or len(ids) != 1:
        return len(ids) in (0, len(topics))
    (id,), (name,) = ids, topics - ids
    for partition in [p for p in owned if p.rpartition("-")[0] == id]:
        number = partition.rpartition("-")[2]
        owned.setdefault(f"{name}-{number}", []).extend(owned.pop(partition))
    return True


def _really_until(stay: MemberSpan, timeline: Timeline) -> int | None:
    member = timeline.members.get(stay.member)
    if member is None or member.gone not in ("expired", "gone") or member.ended is None:
        return stay.until
    sign = timeline.signs.get(stay.member)
    died = sign if sign is not None else member.ended.time
    if died is None or (stay.until is not None and stay.until <= died):
        return stay.until
    return max(died, stay.since)


def _gap(
    partition: str, window: Window, timeline: Timeline, before: str, after: str
) -> UnownedPartition:
    cause = next(
        (
            r.cause
            for r in timeline.rounds
            if r.started is not None
            and r.started.time is not None
            and window.since is not None
            and window.until is not None
            and r.started.time <= window.until
            and (r.ended is None or (r.ended.time or 0) >= window.since)
        ),
        None,
    )
    return UnownedPartition(partition, window, cause, before, after)
