"""What a member did, by the log of its client: the rebalances that it went through, and what it
owned. Any library's statements will do, of the classic protocol and of KIP-848: a generation or an
epoch that is named first begins a rebalance of the member, whatever else the library prints.

Nothing here judges: `life` and `native` say what is proved about a member.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Iterator

from attrs import Factory, define, evolve

from groupcheck.traces.clients.partitions import Holdings
from groupcheck.traces.clients.statement import Statement, is_another, settings_of
from groupcheck.traces.clients.who import AIOKAFKA, JAVA, KAFKA_PYTHON, LIBRDKAFKA
from groupcheck.traces.lines.timestamps import FIRST_DATED
from groupcheck.traces.members.commits import APART_MS, Commits
from groupcheck.traces.members.member_round import End, MemberRound, Owned
from groupcheck.traces.members.reasons import REASONS, why_of
from groupcheck.traces.members.said_by_members import (
    answers_a_join,
    has_no_id,
    has_partitions,
    is_of_member,
)
from groupcheck.traces.members.standing import Standing, Step, is_answer
from groupcheck.traces.story.events import RebalanceCause
from groupcheck.traces.story.member import client_of
from groupcheck.traces.story.moments import Moment, is_back

ROUNDS_KEPT = 20_000
UNTOLD = {RebalanceCause.NOT_TOLD, RebalanceCause.NOT_SEEN}
_MEMBER_ID = re.compile(r"[\w.-]{0,250}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_JOIN, _NOT_TOLD = "JoinGroup", RebalanceCause.NOT_TOLD
_TOOK = re.compile(r"\"duration\":\s?(\d{1,9})")
"""How long a join took, as KafkaJS prints it."""
_MODERN = re.compile(r"ConsumerGroupH|(?:Consumer|Share|Streams)MembershipManager")
_RECONCILES, _SETTLED = "received target assignment", "Target assignment acked"
_HELD = {"assigned", "revoked", "lost"}
_MEMBER_STATES = {"STABLE", "RECONCILING", "ACKNOWLEDGING"}
"""A member of KIP-848 that leaves one of these was a member before."""
_NO_MEMBER = {"JOINING", "UNSUBSCRIBED", "FENCED", "NOT_IN_GROUP"}
"""And one that leaves one of these was none."""
_LOSES = {"member_fenced", "member_unknown", "lost", "left", "poll_expired"}
"""Statements by which a member loses its epoch: the epoch had begun before."""
_SETTINGS = {"setting", "poll_expired", "session_timed_out", "joining", "request_sent", "heartbeat"}
_ENDS, _LEAVES = {"left", "closed"}, {"left", "poll_expired"}
_TELL_LEAVING = (JAVA, LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA)
"""A member of these that is closed prints that it leaves, or does not leave: a static one."""
_TELLING = {
    *REASONS, *_HELD, *_SETTINGS - {"heartbeat", "request_sent"}, *_ENDS, "joined", "synced",
    "leading", "id_given", "rejoin_requested", "committed", "commit_refused", "started",
    "subscribed",
}  # fmt: skip
_NUMBERS = {"generation", "epoch", "assignee", "setting_max__poll__interval__ms"}
"""Any other statement tells something only with one of these fields."""
_BEGINS = {"joined", "synced", "leading", "assigned"}
"""A line of these begins the generation that it names; any other may name the present one."""
_GIVES = {"callback", "announced"}
_NO_END = {"of", "begun"}  # of a producer, or a close that has only begun
_BEFORE = {"before", "begins", "answered"}
"""Steps of leaving that are not the moment itself."""


@define
class MemberStory:
    """One member. Statements are added in the order of its log."""

    log: str
    process: str = ""
    group: str = ""
    client: str = ""
    instance: str = ""
    library: str = ""
    # The id that it has now, and when it joined with each.
    member: str = ""
    joined: dict[str, Moment] = Factory(dict)
    # The id under which it was a member before its log begins, if a line tells so.
    earlier: str = ""
    # The id under which its log shows it first, if no line tells whether it was a member before.
    unsure: str = ""
    # Several members write under this name, so what it owned is not told. Or another process of its
    # log has the name.
    shared: bool = False
    twin: bool = False
    # Lines before its first join show it as a member.
    _present: bool = False
    # Its lines go back in time: they are of several processes, or out of order.
    goes_back: bool = False
    # It speaks KIP-848.
    modern: bool = False
    rounds: list[MemberRound] = Factory(list)
    rounds_dropped: int = 0
    # Member id -> how it went; it is `gone` until it joins again.
    ends: dict[str, End] = Factory(dict)
    gone: bool = False
    first: Moment | None = None
    last: Moment | None = None
    holdings: Holdings = Factory(Holdings)
    # The settings in ms that lines tell.
    settings: dict[str, int] = Factory(dict)
    step: Step = Factory(Step)
    _commits: Commits = Factory(Commits)
    _why: tuple[RebalanceCause, str] | None = None
    # It began to reconcile (KIP-848); and whether it gave partitions up since.
    _pending: Moment | None = None
    _gave_up: bool = False
    _settled_ms: int = 0
    _named: str = ""  # the id in its lines, joined or not
    _former: set[str] = Factory(set)
    _fresh: bool = False  # its log shows how it started
    _tells: bool = False  # its log shows when it is told of a rebalance that others began
    _new: bool = False  # its log shows that it had no id yet, or that it had lost it
    _generation: int | None = None
    _mentioned: int = -1  # the line that only mentions it
    unread: int = 0  # the last line of its log about groups that is not understood

    @property
    def name(self) -> str:
        """The most telling name: of the instance, the client, the id, or the log."""
        by_id = client_of(self.member) or self.member
        named = self.instance or self.client or by_id
        named += f" ({self.process})" if named and self.twin and self.process else ""
        return named or self.process or self.log.rpartition("/")[2] or "the client"

    @property
    def commits(self) -> int:
        return self._commits.done or self._commits.asked

    @property
    def commits_refused(self) -> int:
        return self._commits.refused

    @property
    def open(self) -> MemberRound | None:
        """The rebalance that the member is in."""
        return self.rounds[-1] if self.rounds and self.rounds[-1].synced is None else None

    def add(self, said: Statement) -> None:
        at = Moment(said.line, said.time)
        if is_back(self.last, at):
            self.goes_back = True
            if self.first is not None and (at.time or 0) < (self.first.time or 0):
                self.first = at
        else:
            self.first = self.first or at
            earlier = self.last is not None and (at.time or 0) < (self.last.time or 0)
            self.last = self.last if earlier else at
        self.group, self.client = said.group or self.group, said.client or self.client
        self.instance, self.library = said.instance or self.instance, said.library or self.library
        self._named = said.member if said.member and said.kind != "id_given" else self._named
        speaks = "epoch" in said.fields or _MODERN.search(said.text) is not None
        self.modern = self.holdings.modern = self.modern or speaks
        self.step.add(said)
        kind, step = said.kind, said.fields.get("step")
        if not (self.member or self.modern):
            self._present = not has_no_id(said) and (self._present or is_of_member(said))
        # The coordinator gave it the id. That counts though its log shows how it started: older
        # versions print no id when they join.
        if kind in _LEAVES and not (self.modern or self._waits_for_first()):
            self._was_in(said.member, at)
        if self.open is not None and (is_answer(said, _JOIN) or answers_a_join(said)):
            self.open.answered = True
        if kind not in _TELLING and not self.modern and _NUMBERS.isdisjoint(said.fields):
            return
        if kind == "joining":
            self._asks(said, at)
        elif kind in ("committed", "commit_refused"):
            self._commits.add(said)
        elif kind in _ENDS and step not in _BEFORE and _NO_END.isdisjoint(said.fields):
            self._goes(said, at)
        elif kind in REASONS or kind == "rejoin_requested":
            self._reasons(said)
        if kind == "instance_fenced":  # another one has its place and its partitions
            self.holdings.add(evolve(said, kind="lost", fields={"whole": True}))
        self._tells = self._tells or kind == "rebalancing"
        self._fresh = self._fresh or (kind in ("started", "subscribed") and step is None)
        self._new = self._new or has_no_id(said) or said.fields.get("before") in _NO_MEMBER
        if kind not in _ENDS and kind != "commit_refused":
            self._numbers(said, at)
        self._moves_on(said, at)
        if kind in _HELD or "state" in said.fields:
            self.holdings.add(said)
        if kind in _SETTINGS:
            some = settings_of(said.fields)
            self.settings.update({k: v for k, v in some.items() if isinstance(v, int)})

    def _asks(self, said: Statement, at: Moment) -> None:
        """JoinGroup is sent, for the first time in this rebalance or again."""
        self.gone = False
        if said.fields.get("epoch") == 0 or self.modern:
            self._generation, self._pending = None, at
            self._new = self._new or said.fields.get("epoch") == 0
        open = self.open
        if open is not None and open.joined is None:
            open.answered, open.asked_last = False, at
            return
        cause, why = self._why or (_NOT_TOLD, "")
        if not any(r.joined is not None for r in self.rounds):
            cause, why = self._first()
        elif self._why is None and self._tells and self.member:  # else nobody tells who began it
            leads = self.rounds[-1].leader in (self.member, "me")
            cause = RebalanceCause.LEADER_REJOIN if leads else RebalanceCause.MEMBER_REJOIN
        if not self.modern:
            self._begin(MemberRound(at, cause, why))
            self._why = None

    def _first(self) -> tuple[RebalanceCause, str]:
        """Why its first rebalance begins: it joins; where the log begins in the middle, whatever
        the lines before it say.
        """
        told = self._why is not None and self._why[0] == _NOT_TOLD  # who is told is a member
        if self._fresh and not (self._present or told):
            return RebalanceCause.JOIN, ""
        return self._why or (_NOT_TOLD, "")

    def _begin(self, round: MemberRound) -> MemberRound:
        if len(self.rounds) >= ROUNDS_KEPT:
            del self.rounds[0]
            self.rounds_dropped += 1
        self.rounds.append(round)
        return round

    def _reasons(self, said: Statement) -> None:
        """Notes why it will join again: what it says itself counts more than that it was told."""
        why = why_of(said)
        if why is not None and (self._why is None or self._why[0] == _NOT_TOLD):
            self._why = why

    def _numbers(self, said: Statement, at: Moment) -> None:
        """A generation or an epoch is named: it is the present one, or a rebalance to it began."""
        number = said.fields.get("epoch", said.fields.get("generation"))
        if number is None and said.kind in _BEGINS and said.line == self._mentioned + 1:
            number, self._generation = self._generation, None  # brod: a record of two lines
        asks = said.kind == "joined" and not self.modern
        if asks and number is None:
            self._joins(said, at)
        if not isinstance(number, int) or number < 0 or (self.modern and number == 0):
            return
        known = self._generation, self.member
        if said.kind in ("joined", "synced") and is_another(
            (number, said.member), known, bool(self.instance)
        ):
            self.shared = True
            self.joined.setdefault(said.member, at)
        if self.gone and not asks and self.rounds and number == self.rounds[-1].generation:
            return
        open = self.open
        waits = open is not None and open.generation is None
        if self._generation is None and self._only_mentions(said, waits):
            self._generation, self._mentioned = number, said.line
            return
        newer = self._generation is None or number > self._generation
        if not newer and not (asks and (waits or number != self._generation)):
            return
        if open is None or not waits or self.modern:
            open = self._untold(said, at)
        self._pending = None
        self._generation = open.generation = number
        open.joined = None if said.fields.get("step") == "ended" else at
        open.synced = at if self.modern else None
        self._told(open, said, at)

    def _only_mentions(self, said: Statement, waits: bool) -> bool:
        """Does the line name the first generation that is known, and no change to it? `waits`: the
        member has sent JoinGroup; a heartbeat behind it shows that it was answered.
        """
        begins = said.kind in _BEGINS or said.fields.get("step") == "ended"
        if self.modern:  # one that was a member before has had the epoch since nobody knows when
            was = said.kind in _LOSES or said.fields.get("before") in _MEMBER_STATES
            begins = not (was and self._pending is None and not self._fresh)
            if not begins:
                self._was_in(said.member, Moment(said.line, said.time))
        return not begins and not (waits and said.kind == "heartbeat")

    def _joins(self, said: Statement, at: Moment) -> None:
        """A library that names no generation says that it has joined."""
        open = self.open
        if open is not None and open.joined is not None and open.generation is not None:
            return
        if open is None or open.joined is not None:
            open = self._untold(said, at)
        open.joined = at
        self._told(open, said, at)

    def _untold(self, said: Statement, at: Moment) -> MemberRound:
        """A rebalance whose beginning no line tells; that of KIP-848 begins when it is told."""
        cause, why = self._why or (_NOT_TOLD, "")
        if not self.rounds and not (self.earlier and self._why):
            joins = self._pending is not None and not self.earlier
            cause, why = (RebalanceCause.JOIN, "") if joins else self._first()
        took = _TOOK.search(said.text)
        if at.time is not None and self._settled_ms and at.time - self._settled_ms > APART_MS:
            self._pending = None  # it began another epoch, which no line tells
        self._settled_ms = 0
        asked = self._pending or (at if self.modern else None)
        if took is not None and at.time is not None:
            asked = Moment(at.line, at.time - int(took[1]))
        self._why = None
        return self._begin(MemberRound(asked, cause, why))

    def _told(self, open: MemberRound, said: Statement, at: Moment) -> None:
        open.leader = str(said.fields.get("leader") or "")
        named = "" if said.kind in ("leading", "assigned") else said.member
        if named and named != self.member:
            self.shared = self.shared or named in self._former
            if self.member:  # whatever it had is not its own any more
                self._former.add(self.member)
                self.holdings.add(evolve(said, kind="lost", fields={"whole": True}))
            before = self._present or said.fields.get("before") in _MEMBER_STATES
            if not self.member and before:
                self.earlier = named
            elif not (self.member or self._fresh or self._new or open.generation == 1):
                self.unsure = named
            self.member = named
            self.joined.setdefault(named, at)
        open.member = self.member

    def _round_of(self, generation: object) -> MemberRound | None:
        """The rebalance to the generation that a line names, otherwise the last one."""
        named = (r for r in reversed(self.rounds) if r.generation == generation is not None)
        return next(named, self.rounds[-1] if self.rounds else None)

    def _moves_on(self, said: Statement, at: Moment) -> None:
        """What the member was told of its round."""
        first = self.rounds[0] if len(self.rounds) == 1 else None
        begins = first is not None and first.joined is None and first.cause == _NOT_TOLD
        if said.kind == "id_given" and first is not None and begins:
            first.cause = RebalanceCause.JOIN
        last = self._round_of(said.fields.get("generation"))
        if last is None or (last.generation is None and last.joined is None):
            if last is not None and said.kind in ("assigned", "synced") and not self.modern:
                last.synced = at  # whatever line told that it had joined
            return
        if said.kind == "joined" and not last.leader:
            last.leader = str(said.fields.get("leader") or "")
        elif said.kind == "leading":
            last.leader = self.member or "me"
        if said.kind in ("joined", "leading") or "assignee" in said.fields:
            self._whole_group(said, last)
        step = said.fields.get("step", "callback")
        if said.fields.get("state") == "RECONCILING" or _RECONCILES in said.text:
            self._pending = self._pending or at
        elif said.kind == "synced" or _SETTLED in said.text:
            if not self._gave_up:
                last.synced, self._pending, self._why = at, None, None
            elif at.time is not None:
                self._settled_ms = at.time
            self._gave_up = False
        elif (
            said.kind == "assigned"
            and step in ("callback", "worker", "partition")
            and not self.modern
        ):
            last.synced = last.synced or at
        elif self.modern and said.kind == "revoked" and step in _GIVES and has_partitions(said):
            self._gave_up, last.synced = True, last.synced or last.joined

    def _whole_group(self, said: Statement, last: MemberRound) -> None:
        """The members of the generation, which its leader's log tells."""
        count = said.fields.get("members")
        if isinstance(count, int) and count > 0:
            last.size = count
        if said.kind != "joined":
            values = " ".join(str(v) for v in said.fields.values())
            last.ids |= {*_MEMBER_ID.findall(values), said.member} - {""}
            if len(last.ids) > (last.size or 0) and said.kind == "leading":
                last.size = len(last.ids)

    def _waits_for_first(self) -> bool:
        """Does its log show how it started, and that no JoinGroup was answered but with an id
        (KIP-394)?
        """
        joined = any(r.joined is not None or r.synced is not None for r in self.rounds)
        return self._fresh and bool(self.rounds) and not joined

    def _was_in(self, id: str, at: Moment) -> None:
        """A member that leaves had joined, before the log if no line of it says so."""
        if id and not self.member:
            self.member = self.earlier = id
            self.joined.setdefault(id, at)

    def _goes(self, said: Statement, at: Moment) -> None:
        open = self.open
        if open is not None and open.generation is None:
            self.rounds.pop()
        left = said.kind == "left" or self.library not in _TELL_LEAVING
        if self.gone and left and self.member in self.ends:
            self.ends[self.member] = evolve(self.ends[self.member], how="left")
        # A client of KIP-848 makes its id itself: one that has just started may not have joined.
        if said.kind == "left" and not self._fresh:
            self._was_in(said.member or self._named, at)
        if not self.gone and (self._generation is not None or self.rounds or self.earlier):
            self.gone = True
            reason = str(said.fields.get("reason") or "")
            self.ends[self.member] = End(at, "left" if left else "gone", reason)
            if self._why is None or self._why[0] == _NOT_TOLD:
                self._why = RebalanceCause.MEMBER_REJOIN, reason or "it had left"
            how = "lost" if said.kind == "left" else "revoked"
            self.holdings.add(evolve(said, kind=how, fields={"whole": True}))
        self._generation = self._pending = None

    def shifted(self, ms: int, dated: bool) -> MemberStory:
        """The same by a clock that is `ms` behind. `dated`: its log prints dates, so times without
        one are left out.
        """
        if not ms and not dated:
            return self

        def by_clock(time: int | None) -> int | None:
            return None if time is None or (dated and time < FIRST_DATED) else time - ms

        def shift(at: Moment) -> Moment:
            return Moment(at.line, by_clock(at.time))

        for r in self.rounds:
            r.asked, r.joined, r.synced = (at and shift(at) for at in (r.asked, r.joined, r.synced))
        self.first, self.last = (at and shift(at) for at in (self.first, self.last))
        self.ends = {id: evolve(e, at=shift(e.at)) for id, e in self.ends.items()}
        self.joined = {id: shift(at) for id, at in self.joined.items()}
        self.holdings.spans = [
            evolve(s, since=by_clock(s.since), until=by_clock(s.until)) for s in self.holdings.spans
        ]
        self.holdings.gave_up_older = by_clock(self.holdings.gave_up_older)
        for held in self.holdings.now.values():
            held.since, held.until = by_clock(held.since), by_clock(held.until)
        return self

    def owned(self) -> list[Owned]:
        """What it held from when to when, in order; nothing without timestamps."""
        if self.shared or self.goes_back:
            return []
        end = self.last.time if self.last else None
        joins = sorted(
            (r.joined.time or 0, k, r.generation)
            for k, r in enumerate(self.rounds)
            if r.generation is not None and r.joined is not None
        )
        out = []
        for s in self.holdings.spans_until(end):
            if s.since is not None and s.until is not None:
                before = bisect(joins, (s.since, math.inf))
                generation = joins[before - 1][2] if before else None
                out.append(Owned(s.partition, s.since, s.until, s.how, generation))
        return sorted(out, key=lambda o: (o.since, o.partition))

    def standing(self) -> Standing | None:
        """Where it stands when its log ends."""
        open = self.open
        answered = open is not None and open.answered and open.joined is None
        if self.gone or answered or self.shared:
            return None
        found = self.step.standing(self.name, self.settings)
        if found is None or found.state.told_in in ("join_state", "state"):
            return found
        # A line behind it that is not understood may end the wait.
        return None if found.since.line < self.unread else found

    @property
    def ids(self) -> list[str]:
        """The ids that it had; its name if its log tells none."""
        return list(self.joined) or [self.member or self.name]

    @property
    def changes(self) -> list[int]:
        """When it got each id but the first, in ms since 1970."""
        return [at.time or 0 for at in self.joined.values()][1:]

    def still(self) -> Iterator[tuple[int, int]]:
        """From when to when it was a member and owned nothing, after it had owned something, before
        its log perhaps: then what it gives up first tells that.
        """
        end = self.last.time if self.last else None
        until = None if self.modern else self.holdings.gave_up_older  # KIP-848 takes some
        for o in self.owned():
            if until is not None and o.since > until:
                yield until, o.since
            until = o.until if until is None else max(until, o.until)
        if until is not None and not self.gone and end is not None and end > until:
            yield until, end
