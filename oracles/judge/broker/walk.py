"""One schedule: a group at the broker and in the model, step by step, until the schedule ends or
the two differ. Where only the code of an answer differs and the model's memory stays as it is, the
schedule goes on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence

from attrs import define, evolve, field, frozen

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.codes import MEMBER_ID_REQUIRED
from groupcheck.oracles.conform.row import Asks, Fires, Memory
from groupcheck.oracles.judge.broker.acts import due, fields_of, versions_of
from groupcheck.oracles.judge.broker.differences import (
    NO_GROUP,
    Difference,
    Differs,
    Late,
    compared,
    not_answered,
    not_refused,
    rules_of,
    word_of,
)
from groupcheck.oracles.judge.broker.graph import IDLE, KeptRows
from groupcheck.oracles.judge.broker.kinds import Kind, Way, kind_of, what_of
from groupcheck.oracles.judge.broker.looks import Look
from groupcheck.oracles.judge.broker.profiles import Profile, timeouts
from groupcheck.oracles.judge.broker.refusals import LOOKS
from groupcheck.oracles.judge.broker.target import Pace, Target
from groupcheck.oracles.judge.broker.transcript import Transcript, lane_of
from groupcheck.oracles.judge.following import requests
from groupcheck.oracles.judge.following.requests import (
    JOIN_GROUP,
    LEAVE_GROUP,
    Timeouts,
    Wire,
    joining,
    wire,
)
from groupcheck.oracles.judge.following.said import subscription
from groupcheck.oracles.judge.following.states import follow
from groupcheck.oracles.judge.following.worlds import (
    End,
    RequestNumber,
    World,
    could,
    ends,
    fits,
    plan,
    relative,
    seen,
)
from groupcheck.oracles.judge.report.schedules import Act, Line
from groupcheck.oracles.wire.connections import API_VERSIONS, Answered, Closed, Connections
from groupcheck.traces.messages.apis import api

# Of a timer's time: before this it must not run out, and how much longer is waited if nobody is
# told that it has.
EARLY, LATE = 0.5, 0.75
LATEST = 0.7  # of a timer's time: later than this there is no step
WAITED_S = 0.3
SLICE_S = 0.1  # of a wait that may end early
LAST_S = 7.0  # for what is asked last, before an answer counts as not come
DESCRIBE_GROUPS = api("DescribeGroups")
NOBODY = "nobody-0"  # an id that no broker has made


@frozen
class AgreeingRow:
    """A row that agrees."""

    kind: Kind
    # API or timer, and the version.
    name: str
    version: int
    # Memory and input.
    row: object
    # What the model allows there (`kinds.what_of`).
    what: str = ""
    # What happened before: the timer that was waited for last, and the row that changed the phase.
    behind: tuple[str, ...] = ()


@define
class Met:
    """What a schedule has met, for whoever counts."""

    agreed: list[AgreeingRow] = field(factory=list)
    differences: list[tuple[Difference, tuple[Act, ...], tuple[Line, ...]]] = field(factory=list)
    # Rule -> how often it was tried.
    tried: dict[str, int] = field(factory=dict)
    requests: int = 0
    # (API, seconds) of each answer that was due at once, and (timer, seconds too late) of timers.
    waited_s: list[tuple[str, float]] = field(factory=list)
    timers_s: list[tuple[str, float]] = field(factory=list)

    def tries(self, *rules: str) -> None:
        for rule in rules:
            self.tried[rule] = self.tried.get(rule, 0) + 1


class Walk:
    """One group."""

    def __init__(
        self,
        target: Target,
        profile: Profile,
        rows: KeptRows,
        connections: Connections,
        group: str,
        pace: Pace,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_over`: does nobody want the rest any more?"""
        self.target, self.profile, self._rows = target, profile, rows
        self._connections, self._group, self._pace = connections, group, pace
        self._is_over = is_over
        self.met, self.transcript, self.acts = Met(), Transcript(), list[Act]()
        # When each member was heard last, and when the phase began: at the earliest, and how much
        # later it may have been.
        self._heard: dict[str, float] = {}
        self._phase, self._since, self._unsure_s = Phase.EMPTY, time.monotonic(), 0.0
        # When something came last.
        self._arrived = self._since
        # Questions about the group whose answers say nothing but that the broker has come to them.
        self._marks = set[int]()
        self.worlds = [World(rows.start(), NOBODY, topic=target.topic)]
        # The broker knows the group. Before, only a JoinGroup without an id is as in the model.
        self.is_made = False
        # The kinds of two rows: of the timer that was waited for last, and of what changed the
        # phase last; empty: none.
        self.waited = self.changed = ""
        # Where it goes: what is left of a way, and its end.
        self.way: list[Way] = []
        self.aim: Way | None = None

    @property
    def memory(self) -> Memory:
        """The first of the memories that fit."""
        return self.worlds[0].memory

    def begin(self) -> None:
        """Makes the group, because an id that comes and goes does so in the model's start, and
        gives back an id that is known to be gone.
        """
        spoken = self.target.announced[JOIN_GROUP.key]
        leaves = self.target.announced.get(LEAVE_GROUP.key)
        if not self._rows.scope.two_step or spoken.stop <= requests.TWO_STEP or leaves is None:
            return
        version = min(5, spoken.stop - 1)
        said = subscription(messages.JoinGroup(messages.NO_ID), self.target.topic)
        values = {"groupId": self._group, **joining(said, timeouts=self._timeouts(0))}
        number = self._send(Wire(JOIN_GROUP, version, values, "makes the group"))
        answer = self._awaited(number, JOIN_GROUP.name).get(number)
        self.transcript.told({number: answer} if answer is not None else {})
        if (
            not isinstance(answer, dict)
            or answer["errorCode"] != MEMBER_ID_REQUIRED
            or not answer["memberId"]
        ):
            got = "silence" if answer is None else word_of(seen(answer)[0])
            raise Differs(Difference(NO_GROUP, ("MEMBER_ID_REQUIRED",), got, ("join_code",)))
        gone = answer["memberId"]
        values = {"groupId": self._group, "memberId": gone, "members": [{"memberId": gone}]}
        number = self._send(Wire(LEAVE_GROUP, min(3, leaves.stop - 1), values))
        answers = self._awaited(number, LEAVE_GROUP.name)
        self.transcript.told(answers)
        self.worlds, self.is_made = [World(self._rows.start(), gone, topic=self.target.topic)], True

    # -- steps

    def versions(self, given: Asks) -> range:
        """The versions in which the request may be sent to this broker."""
        return versions_of(self.target, self._rows, self.memory, given)

    def can(self, given: Asks) -> bool:
        """Does the request mean the same in every world, and can it be made?"""
        joins = isinstance(given.request, messages.JoinGroup) and given.request.id == messages.NO_ID
        if not self.versions(given) or not (joins or self.is_made):
            return False
        if not all(world.knows(given) for world in self.worlds):
            return False
        return all(given in self._rows.asks(world.memory) for world in self.worlds)

    def ask(self, given: Asks, version: int) -> bool:
        """Sends a request and follows what comes of it; False if it has no meaning here. Raises
        `Differs`, and `Late` if the difference may come from a timer.
        """
        scope = self._rows.scope
        plans = {plan(self._rows, world, given) for world in self.worlds}
        said = self._timeouts(given.member)

        def made(world: World) -> Wire:
            planned = next(iter(plans))
            id = self.target.topic_id
            return wire(self._group, world, given, version, scope, planned, said, id)

        allowed = all(self._rows.outcomes(world.memory, given) for world in self.worlds)
        if not allowed or len(plans) > 1 or len({str(made(world)) for world in self.worlds}) > 1:
            return False
        before, request = self.memory, made(self.worlds[0])
        fields = fields_of(given, before)
        self.acts.append(Act("ask", request.api.name, given.member, version, fields))
        self.is_made = True
        kind = kind_of(before, given)
        asked_at = time.monotonic()
        number = self._send(request, given.member)
        ways = ends(self._rows, self.worlds, given, RequestNumber(number, version))
        waits = any(all(e.number != number for e in end.answers) for end in ways)
        patience_s = self._pace.patience_s(request.api.name)
        answers = self._settled(number) if waits else self._gather(patience_s, number)
        if not waits:
            patience_s += asked_at - time.monotonic()
        reached = self._follow(ways, answers, patience_s)
        if number in answers and not waits:
            self.met.waited_s.append((request.api.name, time.monotonic() - asked_at))
        self.met.tries(*rules_of(request.api.name, waits))
        self._hear(answers, number, asked_at)
        if reached:
            row = (relative(World(before, "")).memory, given)
            what = what_of(self._rows.outcomes(before, given))
            self._agrees(AgreeingRow(kind, request.api.name, version, row, what))
            if self.memory.core.phase != before.core.phase:
                self.changed = str(kind)
            return True
        if answers and self.is_late(self._arrived):
            raise Late
        difference = self._compared(kind, ways, answers, number)
        # A code alone, of a request that changes nothing in the model: what follows is known.
        same = all(end.world.memory == w.memory for end in ways for w in self.worlds)
        error = seen(answers[number])[0] if number in answers else 0
        if same and set(answers) == {number} and error > 0:
            self.note(difference)
            return True
        raise Differs(difference)

    def _timeouts(self, member: int) -> Timeouts:
        return timeouts(self.profile, member, self._short_ms, self.target.usual_ms)

    def _hear(self, answers: Mapping[int, Answered], own: int, sent_at: float) -> None:
        """Notes what starts timers again: an answer to a request that waited, at the latest when it
        comes, and any other request that is not refused, at the earliest when it is sent. What is
        answered late may have waited only where rounds of the broker last: others are busy.
        """
        now = time.monotonic()
        for number, answer in answers.items():
            if seen(answer)[0] in (0, MEMBER_ID_REQUIRED):
                waited = number != own or (self.target.slow and now - sent_at > WAITED_S)
                self._heard[self.transcript.whose(number)] = now if waited else sent_at
        core, was = self.memory.core, self._phase
        if core.phase != was:
            self._phase = core.phase
            if not self._syncs_due:  # whose time began with the phase before
                self._since, self._unsure_s = sent_at, now - sent_at

    @property
    def _syncs_due(self) -> bool:
        """Is the group stable while a SyncGroup is awaited?"""
        core = self.memory.core
        return core.phase == Phase.STABLE and core.deadline and core.due > 0

    def is_late(self, at: float | None = None) -> bool:
        """Has so much time passed (until `at`, if not until now) that a timer may have run out
        which nobody waits for? Then the schedule says nothing more.
        """
        now = at or time.monotonic()
        said = [self._timeouts(member) for member in range(self.profile.members)]
        for member, seats in enumerate(self.memory.seats):
            sits = any(not (seat.join or seat.sync) for _, seat in seats)
            since = now - self._heard.get(lane_of(member), self._since)
            if sits and since > said[member].session_ms / 1000 * LATEST:
                return True
        rounds_s = max(one.rebalance_ms for one in said) / 1000
        runs = self.memory.core.phase in (Phase.PREPARING, Phase.COMPLETING) or self._syncs_due
        return runs and now - self._since > rounds_s * LATEST

    @property
    def _short_ms(self) -> int:
        is_session = self.profile.waits == "session"
        return self.target.session_ms if is_session else self.target.rebalance_ms

    def due(self) -> list[Fires]:
        """The timers that run out next while nobody does anything."""
        return due(self.profile, self._rows, self.memory)

    def note(self, difference: Difference) -> None:
        """Keeps a difference with the schedule so far."""
        schedule = tuple(self.acts), tuple(self.transcript.lines)
        self.met.differences.append((difference, *schedule))

    def close(self) -> None:
        """Closes its connections."""
        self._connections.close()

    def wait(self) -> bool:
        """Waits until the timer that is due has run out; False if none is, or more than one. Raises
        `Differs`.
        """
        due = self.due()
        if len(due) != 1 or len(self.worlds) > 1:
            return False
        (given,), short_s = due, self._short_ms / 1000
        kind = kind_of(self.memory, given)
        self.acts.append(Act("wait", given.rule))
        self.transcript.lines.append(Line("waits", "", f"{short_s:g} s pass: {given.rule}"))
        # When the timer was set: at the earliest, and at the latest.
        began = latest = time.monotonic()
        armed = began if given.member is None else self._heard.get(lane_of(given.member), began)
        if given.member is None and given != IDLE:
            armed, latest = self._since, min(began, self._since + self._unsure_s)
        early = self._pass(armed + short_s * EARLY - began)
        ways = ends(self._rows, self.worlds, given)
        answers = dict(early)
        told = any(end.answers for end in ways)
        if not early:
            late_s = latest + short_s * (EARLY + LATE) + 0.3 - time.monotonic()
            answers = self._gather(short_s) if told else self._pass(late_s)
        before, reached = self.memory, [] if early else self._follow(ways, answers, short_s + 1.0)
        self.met.tries("timers")
        if not reached:
            found = self._compared(kind, ways, answers, 0, rules=("timers",))
            raise Differs(evolve(found, got=f"{found.got}, too early") if early else found)
        if told:
            self.met.timers_s.append((given.rule, time.monotonic() - began - short_s))
        self._agrees(AgreeingRow(kind, given.rule, 0, (before, given)))
        self.waited = str(kind)
        self._phase = self.memory.core.phase
        self._since, self._unsure_s = armed + short_s, time.monotonic() - (armed + short_s)
        return True

    def _pass(self, wait_s: float) -> dict[int, Answered]:
        """So many seconds pass; the answers that come meanwhile."""
        until = time.monotonic() + wait_s
        found = self._gather(max(0.0, wait_s))
        while (left := until - time.monotonic()) > 0:
            self._goes_on()
            time.sleep(min(left, SLICE_S))
        return found

    def looks(self) -> list[Look]:
        """The questions that may be asked now, and that the broker announces."""
        if len(self.worlds) > 1:
            return []
        spoken = self.target.announced
        return [
            look
            for look in LOOKS.values()
            if (self.is_made or look.is_apart)
            and look.allowed(self.worlds[0])
            and look.versions(spoken.get(look.api.key, range(0)))
            and not (look.api is JOIN_GROUP and "max_size" in self.profile.settings)
        ]

    def look(self, look: Look, version: int) -> None:
        """Asks a question about the group. What the broker says may lag behind what it does, so a
        wrong answer is asked for again, for a while. Raises `Differs`.
        """
        kind = look.kind(self.worlds[0])
        self.acts.append(Act("look", look.name, -1, version))
        self.met.tries(look.rule, "every_answer", "schema", "connection")
        (world,), until = self.worlds, time.monotonic() + self._pace.lag_s
        values, pause_s = look.asks(self._group, world, version), 0.02
        while True:
            asked_at = time.monotonic()
            number = self._send(Wire(look.api, version, values, look.about))
            answers = self._awaited(number, look.api.name)
            answer = answers.get(number)
            if answer is None or isinstance(answer, Closed) or len(answers) > 1:
                self.transcript.told(answers)
                raise Differs(not_answered(kind, answers, number))
            self.met.waited_s.append((look.api.name, time.monotonic() - asked_at))
            wrong = look.wrong(answer, self._group, world)
            told = "; ".join(wrong) or "as in the model"
            asked = self.transcript.lines[-1].number
            self.transcript.lines.append(Line("answers", "", told, asked))
            if not wrong:
                row = self.memory, look.name
                self._agrees(AgreeingRow(kind, look.api.name, version, row))
                return
            if look.code is not None:
                self.note(not_refused(kind, look.code, answer, look.rule))
                return
            if time.monotonic() > until:
                got = re.sub(r"\{.*\}|\[.*\]", "...", self.transcript.shortened("; ".join(wrong)))
                self.note(Difference(kind, ("as in the model",), got, (look.rule,)))
                return
            del self.transcript.lines[-2:]
            time.sleep(pause_s)
            pause_s *= 2

    def _agrees(self, row: AgreeingRow) -> None:
        behind = tuple(filter(None, (self.waited, self.changed)))
        self.met.agreed.append(evolve(row, behind=behind))

    def _compared(
        self,
        kind: Kind,
        ways: Sequence[End],
        answers: Mapping[int, Answered],
        number: int,
        rules: tuple[str, ...] = (),
    ) -> Difference:
        found = compared(kind, ways, answers, number, rules)
        return evolve(found, detail=self.transcript.renumbered(found.detail))

    # -- what comes

    def _send(self, request: Wire, member: int = -1) -> int:
        number = self._connections.send(
            request.api, request.version, request.values, request.cut, member
        )
        self.transcript.asks(number, request, member)
        self.met.requests += 1
        return number

    def _gather(self, wait_s: float, until: int = 0) -> dict[int, Answered]:
        found, end = dict[int, Answered](), time.monotonic() + wait_s
        while True:
            left = max(0.0, end - time.monotonic())
            found |= self._connections.gather(min(left, SLICE_S), until)
            if until in found or left <= SLICE_S or not self._connections.waiting:
                break
            self._goes_on()
        marks = self._marks & found.keys()
        self._marks -= marks
        found = {number: answer for number, answer in found.items() if number not in marks}
        if found:
            self._arrived = time.monotonic()
        return found

    def _settled(self, number: int) -> dict[int, Answered]:
        """What comes until a request that may wait does so. On a busy machine the broker may not
        have come to it yet, and would handle the next one before it. So a question about the same
        group is sent behind it: the wait ends after that is answered, and as much later as its
        answer has taken.
        """
        began, spoken = time.monotonic(), self.target.announced.get(DESCRIBE_GROUPS.key)
        about, version = (DESCRIBE_GROUPS, spoken.start) if spoken else (API_VERSIONS, 0)
        mark = self._connections.send(about, version, {"groups": [self._group]} if spoken else {})
        self._marks.add(mark)
        found = self._gather(self._pace.quiet_s, number)
        if number not in found and mark in self._marks:
            found |= self._gather(LAST_S, mark)
            found |= self._gather(time.monotonic() - began, number)
        return found

    def _goes_on(self) -> None:
        """Raises `Late` if nobody wants the rest."""
        if self._is_over():
            raise Late

    def _awaited(self, number: int, name: str) -> dict[int, Answered]:
        """What comes until the answer that must come has come."""
        found = self._gather(self._pace.patience_s(name), number)
        return found if number in found else found | self._lastly()

    def _lastly(self) -> dict[int, Answered]:
        """What comes until the broker has answered a question that is asked now: after a pause of
        the broker, or of this machine, that is all that was awaited.
        """
        number = self._connections.send(API_VERSIONS, 0, {})
        found = self._gather(LAST_S, number) | self._gather(self._pace.quiet_s)
        found.pop(number, None)
        return found

    def _follow(
        self, ways: Sequence[End], answers: dict[int, Answered], patience_s: float
    ) -> list[tuple[End, World]]:
        """Gathers answers until they are exactly those of some way, and no more come. `answers`
        grows. On success the worlds are those behind the ways that fit.
        """
        until, is_last = time.monotonic() + patience_s, False
        while True:
            fitting = follow(ways, answers, fits)
            if fitting.reached:
                more = self._gather(self._pace.quiet_s) if self._connections.waiting else {}
                if not more:
                    self.transcript.told(answers)
                    self.worlds = list(dict.fromkeys(relative(w) for w in fitting.states))
                    return list(fitting.reached)
                answers |= more
                continue
            is_late = time.monotonic() > until
            if not any(could(way, answers) for way in ways) or (is_late and is_last):
                self.transcript.told(answers)
                return []
            answers |= self._lastly() if is_late else self._gather(0.01)
            is_last = is_late
