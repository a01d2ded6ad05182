"""Replays a broker's request log: every answer of the group APIs is followed through the model, and
each group gets its timeline and its facts.

Each group is followed by itself. A group whose protocol is not followed yet is read completely, and
its verdict is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal

from attrs import Factory, define, evolve

from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED, Kind
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    NONE,
    REBALANCE_IN_PROGRESS,
)
from groupcheck.traces import formats
from groupcheck.traces.exchanges.exchange import EpochExchange, Exchange, JoinExchange
from groupcheck.traces.exchanges.member_spans import MemberSpans
from groupcheck.traces.exchanges.owners import Owners
from groupcheck.traces.exchanges.request_facts import RequestFacts
from groupcheck.traces.findings.anomalies import find_anomalies
from groupcheck.traces.findings.findings import FOUND_KEPT, Findings
from groupcheck.traces.findings.report import (
    Anomaly,
    FileReport,
    GroupReport,
    Requests,
    UnexplainedLine,
    file_report,
)
from groupcheck.traces.findings.user_impact import findings_of
from groupcheck.traces.phrases import plural, seconds
from groupcheck.traces.reading import ALTERED
from groupcheck.traces.requests.certain import CertainAnswers
from groupcheck.traces.requests.classic_answers import ClassicAnswers
from groupcheck.traces.requests.consumer_answers import ConsumerAnswers
from groupcheck.traces.requests.conversions import Conversions
from groupcheck.traces.requests.epochs import EpochTrail
from groupcheck.traces.requests.every_connection import LoggedConnections, depends_on_removals
from groupcheck.traces.requests.follow_requests import RequestFollower
from groupcheck.traces.requests.group_rules import AWAY, JudgedAssignment
from groupcheck.traces.requests.holes import Holes
from groupcheck.traces.requests.owner_anomalies import of_owners
from groupcheck.traces.requests.request_impact import RequestImpact
from groupcheck.traces.requests.request_log import RequestLog
from groupcheck.traces.requests.story import Entry
from groupcheck.traces.requests.view import SEEN, View, visible
from groupcheck.traces.requests.words import RefusedAnswer, exchange_text, judged_text, why_not
from groupcheck.traces.story.events import Event, OtherProtocol, Stabilized, Timeouts
from groupcheck.traces.story.moments import Moment, elapsed
from groupcheck.traces.story.timeline import Timeline

FOLLOWED = frozenset({"classic", "cooperative", "static"})
"""Kinds of groups whose coordinator is followed. A cooperative group is like any other to it:
`conform cooperative`.
"""
GROUPS_KEPT = 2000
UNEXPLAINED_KEPT = 200
SHOWN = 20
AWAY_MS = 60_000
"""Answers that the coordinator is away belong together if they are this close."""
MOVED_MS = 300_000.0
"""How long a request that no line shows can have an effect: a round waits for its members for up to
max.poll.interval.ms, five minutes by default.
"""


@define
class RequestTrail:
    """One group while the file is read."""

    group: str
    facts: RequestFacts = Factory(lambda self: RequestFacts(self.group), takes_self=True)
    owners: Owners = Factory(lambda self: Owners(self.group), takes_self=True)
    timeline: Timeline = Factory(Timeline)
    spans: MemberSpans = Factory(MemberSpans)
    # The first answers that no world gives, with their exchanges, and how many there are.
    unexplained: list[UnexplainedLine] = Factory(list)
    refused: int = 0
    refused_of: list[RefusedAnswer] = Factory(list)
    certain: CertainAnswers = Factory(CertainAnswers)
    holes: Holes = Factory(Holes)
    # The connections of the whole log, which are looked up where they matter.
    connections: Callable[[], LoggedConnections] = LoggedConnections
    view: View = Factory(View)
    harm: RequestImpact = Factory(RequestImpact)
    conversions: Conversions = Factory(Conversions)
    # Protocols other than the classic eager one -> how many exchanges show them.
    protocols: Counter[str] = Factory(Counter)
    # The first and the last answer that the coordinator is not here, and how many there are.
    away: list[Exchange] = Factory(list)
    away_count: int = 0
    # From when to when the coordinator was away.
    gone: list[tuple[Moment, Moment, Literal["restart", "moved"]]] = Factory(list)
    # When the coordinator was first seen to have moved or to be loading.
    moved_away: float = float("inf")
    lines: int = 0
    # Is told what `tell` is told.
    told: Callable[[Event], None] | None = None
    # Of a KIP-848 group.
    epochs: EpochTrail | None = None
    heartbeats: ConsumerAnswers = Factory(
        lambda self: ConsumerAnswers(self.refuse), takes_self=True
    )
    # Of its classic members, while it is a KIP-848 group.
    classic: ClassicAnswers = Factory(
        lambda self: ClassicAnswers(self.refuse, self.heartbeats.latest), takes_self=True
    )
    # Of a classic group; where a KIP-848 group becomes one, another one follows.
    follower: RequestFollower = Factory(
        lambda self: RequestFollower(self.tell, self.refuse), takes_self=True
    )
    former: list[RequestFollower] = Factory(list)

    def observe(self, e: Exchange) -> None:
        self.lines += 1
        if self.timeline.first is None:
            self.timeline.first = Moment(e.line, e.answered)
        known = self.timeline.last
        self.timeline.last = Moment(e.line, max(e.answered, (known and known.time) or 0))
        self.facts.observe(e)
        self.owners.observe(e)
        self.spans.observe(e)
        self._kind(e)
        self._sign(e)
        self.holes.observe(e)
        self.view.observe(e)
        self.harm.observe(e)
        self.conversions.observe(e)
        if e.code in AWAY:
            self.away_count += 1
            self._gone(e)
            self.away = [*self.away[:1], e]
            if e.code != COORDINATOR_NOT_AVAILABLE:
                self.moved_away = min(self.moved_away, e.given)
        self._judge(e)

    def _judge(self, e: Exchange) -> None:
        """Follows the coordinator, of whichever kind the group is now."""
        if isinstance(e, EpochExchange) and self.epochs is None:
            self.epochs = EpochTrail(self._epoch, e.protocol)
        if self.epochs is not None and self.epochs.protocol != "consumer":
            self._classic_ends()
            self.epochs.observe(e)
            return
        modern = self.conversions.modern
        self.classic.observe(e, modern=modern)
        if self.epochs is not None:
            self.heartbeats.observe(e)
            if modern or isinstance(e, EpochExchange):
                self._classic_ends()
                self.epochs.observe(e)
                return
            if self.follower.lost or not self.follower.begins:
                self.epochs.observe(e)  # the classic group is not found yet
        if isinstance(e, JudgedAssignment):
            if "static" in self.protocols:
                self.certain.turn_static()
            self.certain.observe(e)
            self.follower.observe(e)

    def _classic_ends(self) -> None:
        """From here on the group is no classic one: its coordinator is not followed any more."""
        if self.follower.begins:
            self.follower.finish()
            if self.follower.judged:
                self.former.append(self.follower)
            self.follower = RequestFollower(self.tell, self.refuse)

    def _gone(self, e: Exchange) -> None:
        """Notes for how long the coordinator was away."""
        now = Moment(e.line, round(e.given))
        if self.gone and (elapsed(self.gone[-1][1], now) or 0) <= AWAY_MS:
            self.gone[-1] = (self.gone[-1][0], now, "moved")
        elif len(self.gone) < FOUND_KEPT:
            self.gone.append((now, now, "moved"))

    def _sign(self, e: Exchange) -> None:
        """Notes that somebody uses the id, and its session timeout."""
        if isinstance(e, JoinExchange):
            self.timeline.timeouts(
                e.response_member or e.member, Timeouts(e.session_ms, e.rebalance_ms)
            )
        elif e.member and e.code in (NONE, REBALANCE_IN_PROGRESS):
            self.timeline.sign(e.member, round(e.began))

    def _kind(self, e: Exchange) -> None:
        """Notes the group's protocol, if it is not the classic eager one."""
        if isinstance(e, EpochExchange):
            self._is(e.protocol)
        elif e.instance is not None or (isinstance(e, JoinExchange) and e.static):
            self._is("static")
        if isinstance(e, JoinExchange):
            if e.protocol_type not in ("consumer", ""):
                self._is(e.protocol_type)
            elif e.chosen is not None and "cooperative" in e.chosen:
                self._is("cooperative")
            elif e.chosen == "stream":
                self._is("stream")  # Kafka Streams in a classic group, no streams group
        if self.owners.cooperative and "cooperative" not in self.protocols:
            self._is("cooperative")

    def _is(self, protocol: str) -> None:
        if protocol in self.protocols or len(self.protocols) < SHOWN:
            self.protocols[protocol] += 1

    def tell(self, entry: Entry) -> None:
        """Something that happened to the group, in every world that fits."""
        if self.told is not None:
            self.told(entry.event)
        first, last = self.timeline.first, self.timeline.last
        self.timeline.observe(entry.event)
        self.timeline.first, self.timeline.last = first, last
        if entry.held_up_by and isinstance(entry.event, Stabilized):
            done = self.timeline.rounds[-1]
            done.held_up_by, done.waited_for = (entry.held_up_by,), "joined last"

    def _epoch(self, event: OtherProtocol) -> None:
        """Something that happened to a KIP-848 group."""
        first, last = self.timeline.first, self.timeline.last
        self.timeline.observe(event)
        self.timeline.first, self.timeline.last = first, last

    def refuse(self, refused: RefusedAnswer) -> None:
        """An answer that no world gives."""
        self.refused += 1
        if len(self.unexplained) < UNEXPLAINED_KEPT:
            e = refused.e
            self.refused_of.append(refused)
            self.unexplained.append(
                UnexplainedLine(
                    e.line,
                    exchange_text(e)[:500],
                    why_not(refused)[:500],
                    refused.possible[:500],
                    False,
                )
            )

    # -- the report

    def _followers(self) -> tuple[RequestFollower, ...]:
        """Those of the classic groups that it has been, in order of time."""
        return (*self.former, self.follower)

    def _judged(self) -> int:
        """How many answers were judged, in whichever protocol."""
        of_classic_groups = sum(f.judged for f in self._followers())
        return of_classic_groups + self.heartbeats.judged + self.classic.judged

    def _trouble(self) -> str:
        """Why a classic group could not be followed all the way; empty if it could."""
        why = next((t for f in self._followers() for t in f.troubles), "")
        return why and f"the group could not be followed all the way: {why}"

    def report(self, doubts: str) -> GroupReport:
        """The group's report. `doubts`: what makes the whole file doubtful (empty: nothing)."""
        if self.follower.begins:
            self.follower.finish()
        self._name_the_certain()
        certain = any(u.certain for u in self.unexplained)
        judged = self._judged()
        followed = judged and not self.refused and not self._trouble()
        first_refused = self.refused_of[0].e.given if self.refused_of else None
        lacks = self.view.lacks(bool(followed), first_refused)
        if lacks and not certain:
            self.timeline = self.view.member_timeline(self.timeline)
            self.owners = Owners(self.group, overlaps=self.owners.overlaps)
        verdict, reason = self._verdict(doubts, lacks)
        protocol = max(self.protocols, key=lambda p: (self.protocols[p], p), default="classic")
        modern = protocol == "consumer" and judged > 0
        followed = ((protocol in FOLLOWED or modern) and not lacks) or certain
        anomalies = (
            *(self._refusals() if followed else ()),
            *self._found(),
            *(a for a in find_anomalies(self.timeline) if not lacks or a.kind in SEEN),
        )
        unexplained = tuple(self.unexplained) if followed else ()
        requests = Requests(self.facts, self.owners, self.spans, judged if followed else 0)
        return GroupReport(
            group=self.group,
            coordinator=None,
            protocol=protocol,
            verdict=verdict,
            reason=reason,
            timeline=self.timeline,
            anomalies=anomalies,
            unexplained=unexplained,
            unexplained_count=self.refused if followed else 0,
            assumed_count=0,
            lines=self.lines,
            begins=self._followers()[0].begins if followed else "",
            requests=requests,
            nothing_judged=reason.startswith("nothing is judged"),
            findings=visible(self._findings()) if lacks else self._findings(),
        )

    def _findings(self) -> Findings:
        found = findings_of(self.timeline, away=tuple(self.gone))
        found = evolve(
            found,
            two_owners=tuple(self.owners.two_owners),
            went_back=tuple(self.facts.rewinds),
        )
        both = self.conversions.happened
        return self.harm.added_to(found, self.spans, self.owners, self.timeline, both=both)

    def _hole(self, k: int) -> str:
        """Why missing lines may explain an answer that does not fit; empty if they cannot."""
        refused = self.refused_of[k]
        hole = self.holes.near(refused.e, refused.due) if refused.hole is None else refused.hole
        if hole or "static" not in self.protocols or not depends_on_removals(refused.e):
            return hole
        lacks = self.connections().may_lack(refused.e.given)
        return lacks and f"{lacks}, over which an administrator may have removed a static member"

    def _name_the_certain(self) -> None:
        """If some answers are impossible whatever is missing, those are named, and not what may
        follow from them.
        """
        wrong = self.certain.finish()
        if not wrong:
            return
        known = {u.line: evolve(u, certain=True) for u in self.unexplained}
        self.unexplained = [
            known.get(w.line, UnexplainedLine(w.line, w.text, w.why, "", False, certain=True))
            for w in wrong
        ]
        self.refused = len(wrong)

    def _verdict(self, doubts: str, lacks: str) -> tuple[Kind, str]:
        if any(u.certain for u in self.unexplained):
            return self._of_unexplained(doubts)
        if lacks and not self.owners.overlaps:
            return UNKNOWN, f"nothing is judged: {lacks}"
        if (other := self.protocols.keys() - FOLLOWED) == {"consumer"}:
            return self._of_heartbeats(doubts)
        if other:
            name = max(other, key=lambda p: (self.protocols[p], p))
            said = f"the {name} protocol is not followed yet: every request is read"
            return UNKNOWN, f"{said}, the answers are not judged"
        if self.unexplained and not lacks:
            return self._of_unexplained(doubts)
        if self.owners.overlaps:
            twice = self.owners.overlaps[0]
            said = (
                f"line {twice.line}: the leader's plan gives {twice.partition} to two members"
                " (one_owner)"
            )
            return (UNKNOWN, f"{said}, but {doubts}") if doubts == ALTERED else (VIOLATED, said)
        if trouble := self._trouble():
            return UNKNOWN, trouble
        if not self.follower.judged:
            return (
                UNKNOWN,
                (
                    "nothing is judged: the log shows no complete round of this group"
                    if self.facts.generations
                    else "nothing is judged: no request belongs to a round of this group"
                ),
            )
        zombies = [z for z in self.owners.zombies if z.committed]
        more = "".join(
            f"; zombie: {z.client} tried to commit what was {' and '.join(z.others)}'s, and was"
            " refused"
            for z in zombies[:1]
        )
        return HOLDS, f"every answer is one that the model allows{more}"

    def _of_heartbeats(self, doubts: str) -> tuple[Kind, str]:
        """The verdict on a consumer group."""
        if self.unexplained:
            return self._of_unexplained(doubts)
        if trouble := self._trouble():
            return UNKNOWN, trouble
        if not self._judged():
            why = "the log shows no member of this group from its first request on"
            return UNKNOWN, f"nothing is judged: {why}"
        told = judged_text(
            (self.heartbeats.judged, self.heartbeats.unjudged),
            (self.classic.judged, self.classic.unjudged),
            sum(f.judged for f in self._followers()),
        )
        return HOLDS, f"every answer is one that the model allows ({told})"

    def _of_unexplained(self, doubts: str) -> tuple[Kind, str]:
        first_one = self.unexplained[0]
        if doubts:
            return UNKNOWN, f"line {first_one.line} is not explained, but {doubts}"
        more = f" (and {self.refused - 1} more)" if self.refused > 1 else ""
        if first_one.certain:
            return VIOLATED, f"line {first_one.line}: {first_one.why}{more}"
        if all(
            any(abs(r.e.given - moved) <= MOVED_MS for f in self._followers() for moved in f.moves)
            for r in self.refused_of
        ):
            why = "members changed their connection: a request that no line shows may explain it"
            return UNKNOWN, f"line {first_one.line} is not explained, but {why}"
        if all(r.e.given >= self.moved_away - 1000 for r in self.refused_of):
            return (
                UNKNOWN,
                (
                    f"line {first_one.line} is not explained, but the coordinator was away"
                    " before it: the log does not show what it loaded"
                ),
            )
        hole = self._hole(0)
        if hole:
            return UNKNOWN, f"lines are missing near line {first_one.line}: {hole}"
        return VIOLATED, f"line {first_one.line}: {first_one.why}{more}"

    def _refusals(self) -> Iterator[Anomaly]:
        certain = any(u.certain for u in self.unexplained)
        for k, u in enumerate(self.unexplained):
            possible = (f"possible: {u.possible}",) if u.possible else ()
            hole = "" if certain else self._hole(k)
            if hole:
                yield Anomaly("gap", u.line, u.why, (u.text, *possible, f"but {hole}"))
            else:
                yield Anomaly("unexplained_line", u.line, u.why, (u.text, *possible))

    def _found(self) -> Iterator[Anomaly]:
        yield from of_owners(self.owners, self.facts)
        yield from self.conversions.notes
        if self.away:
            first, last = self.away[0], self.away[-1]
            span = f" in {seconds(last.answered - first.answered)}" if last is not first else ""
            yield Anomaly(
                "coordinator_away",
                first.line,
                f"{plural(self.away_count, 'answer')}{span} that the coordinator is elsewhere, or"
                " still loading",
                (exchange_text(first),),
            )


def replay_requests(
    log: RequestLog,
    group: str | None,
    seen: Callable[[Exchange, str], None] | None = None,
    told: Callable[[Event], None] | None = None,
) -> FileReport:
    """Replays one request log; `group`: only this one; `seen` is told of every exchange, `told` of
    what happened to the groups. Raises `TraceError` if the file cannot be read.
    """
    trails: dict[str, RequestTrail] = {}
    too_many = 0
    connections = cache(log.connections)
    for e in log.exchanges():
        if seen is not None:
            seen(e, "")
        if group is not None and e.group != group:
            continue
        if e.group not in trails:
            if len(trails) >= GROUPS_KEPT:
                too_many += 1
                continue
            view = View(log.source.capture)
            trails[e.group] = RequestTrail(e.group, view=view, connections=connections, told=told)
        trails[e.group].observe(e)
    nothing = (
        f"no request of the group {group!r}"
        if group is not None
        else "the log has no request of a group API; the logger kafka.request.logger must be at"
        " DEBUG, on the group's coordinator"
    )
    doubts = _doubts(log)
    return file_report(
        log,
        formats.PACKET_CAPTURE if log.source.capture else formats.REQUEST_LOG,
        tuple(trails[name].report(doubts) for name in sorted(trails)),
        nothing=nothing,
        too_many=too_many,
        repeated=log.left_out,
    )


def _doubts(log: RequestLog) -> str:
    """Reasons to doubt the file as a whole; empty if there is none."""
    if log.notes.altered:
        return ALTERED
    if log.source.capture and log.source.capture.doubt:
        return log.source.capture.doubt
    if log.strange:
        return f"{log.strange} lines of the request log were not understood"
    if log.late:
        return f"{log.late} requests appear too late in the log to be put in order"
    return "its lines are not in the order of their timestamps" if log.backwards else ""
