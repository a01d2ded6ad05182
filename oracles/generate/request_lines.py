"""Runs of the model's classic group, printed as the request log that a real broker would write.

The printer looks at single firings of rules (`core`, `seats`, `link` before and after) and keeps a
clock of its own: when a timer fires, its time has come. Requests whose connection broke are
answered as well (the broker logs them), those that another one of the same member replaced never.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

from attrs import Factory, define

from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Firing
from groupcheck.model.protocol.classic import coordinator, failover, rounds, timers, walks
from groupcheck.model.protocol.classic.features import takeover
from groupcheck.model.protocol.classic.group import Core, Phase, leader_of
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.messages import (
    NO_ID,
    Heartbeat,
    JoinGroup,
)
from groupcheck.oracles.generate.request_wire import (
    CODES,
    NAMED,
    REBALANCE_MS,
    SESSION_MS,
    Line,
    Wire,
)
from groupcheck.oracles.generate.run import Names, Rounds, Run, Who, run_of
from groupcheck.oracles.generate.template import assignment
from groupcheck.oracles.generate.walk import FAULTY, Enabled, Pair, semantics_of, walk

NEW_MEMBER_MS = 300_000
_ROUND_TIMERS = tuple(f"{timers.rebalance_timeout.name}:{o}" for o in ("missing", "postponed"))
_TAKEN = ("replaced", "replaced_and_parked", "replaced_and_restarted")


@define
class RequestPrinter:
    """Turns firings into lines, the listener of a walk. Each id of the model gets a member id of
    its own when it appears.
    """

    semantics: Semantics
    scope: Scope
    random: random.Random
    # milliseconds since the beginning
    now: float = 0.0
    names: Names = Factory(Names)
    rounds: Rounds = Factory(Rounds)
    # lines, rounds and generation when the group was last empty
    rest: tuple[int, Rounds, int] = Factory(lambda: (0, Rounds(), 0))
    lines: list[Line] = Factory(list)
    # (process, id, join or sync) -> the request that waits for its answer
    waiting: dict[tuple[int, int, str], Line] = Factory(dict)
    # connections with a request that waits
    busy: set[str] = Factory(set)
    # member -> the connection that it used last
    spoken_on: dict[str, str] = Factory(dict)
    # process -> its connection
    connections: dict[int, str] = Factory(dict)
    # member -> when it last gave a sign of life
    signs: dict[str, float] = Factory(dict)
    # member -> since when a request of it has waited
    parked_since: dict[str, float] = Factory(dict)
    # when the round, or the wait for SyncGroup, began
    since: float = 0.0
    # the generation, and the SyncGroup of its leader
    plan: tuple[int, Line] | None = None
    # connections so far
    opened: int = 0
    # the partition whose offsets are committed
    watched: int = 0
    # JoinGroups that are answered when the walk over all members has ended: only then the leader
    # and the members are known
    joined: list[tuple[Line, Who]] = Factory(list)
    # member ids that some answer has told
    told: set[str] = Factory(set)
    wire: Wire = Factory(lambda self: self._wire(), takes_self=True)

    def _wire(self) -> Wire:
        """Clients send one version of JoinGroup; before 9 a leader is not told that it leads on
        (KIP-814).
        """
        version = self.random.choice((5, 9)) if self.scope.static else 9
        return Wire(self.scope, self.names, version)

    def memory(self, state: State) -> tuple[Core, dict[Who, Any], Who | None]:
        named = self.semantics.named(state)
        seats = {(i, id): seat for i, mine in enumerate(named["seats"]) for id, seat in mine}
        return named["core"], seats, leader_of(named["seats"])

    def preferred(self, state: State, enabled: Enabled) -> list[Pair]:
        """Sessions that are over end before anything else happens."""
        ends = [
            pair
            for (faulty, name), pairs in enabled.items()
            if faulty and name.startswith(timers.session_timeout.name)
            for pair in pairs
        ]
        return [pair for pair in ends if self.overdue(state, pair[1])]

    def taken_back(self) -> bool:
        return False

    def rested(self, generation: int, quiet: bool) -> None:
        if quiet and not self.waiting:
            self.rest = len(self.lines), self.rounds, generation

    def step(self, firing: Firing, before: State, after: State) -> None:
        """Moves the clock; before a timer fires, to its time."""
        self.now += self.random.choice((0.3, 1.0, 20.0))
        begun, name = self.now, firing.name.partition(":")[0]
        _, seats, _ = self.memory(before)
        _, left, _ = self.memory(after)
        gone = [self.names.mark(who) for who in seats if who not in left]
        if name == timers.session_timeout.name:
            self.now = max(self.now, self.signs.get(gone[0], self.now) + SESSION_MS)
        elif name == timers.new_member_timeout.name:
            self.now = max(self.now, self.parked_since.get(gone[0], self.now) + NEW_MEMBER_MS)
        elif firing.name in _ROUND_TIMERS or name == timers.sync_timeout.name:
            self.now = max(self.now, self.since + REBALANCE_MS)
            if firing.name == _ROUND_TIMERS[1]:
                self.since = self.now
        if self.now - begun > 1000:
            self._others_live(before, gone)

    def overdue(self, before: State, after: State) -> bool:
        """Whether the session that ends in this step is over, so that nothing may happen before."""
        _, seats, _ = self.memory(before)
        _, left, _ = self.memory(after)
        return any(
            self.signs.get(self.names.mark(who), self.now) + SESSION_MS < self.now
            for who in seats
            if who not in left
        )

    def _others_live(self, before: State, gone: list[str]) -> None:
        """A long time passes, in which the members that do not expire have sent heartbeats."""
        core, seats, leader = self.memory(before)
        until, self.now = self.now, self.now - 500
        for who, seat in seats.items():
            mark = self.names.mark(who)
            silent = seat.member and not seat.join and not seat.sync and mark not in gone
            if silent and (not self.scope.static or mark in self.told):
                connection = self.spoken_on.get(self.names.mark(who), "")
                if connection in self.busy or not connection:
                    connection = self._connection(who[0], fresh=True)
                line = Line(
                    "HEARTBEAT",
                    f"client-{who[0]}",
                    connection,
                    *self._request(Heartbeat(0, core.generation), who[0], mark),
                    self.now,
                )
                self._give(
                    line, 27 if core.phase == Phase.PREPARING else 0, who, core, seats, leader
                )
        self.now = max(self.now, until)

    def fired(self, firing: Firing, before: State, after: State) -> None:
        """Prints what one firing does."""
        self.now += 0.02
        self.watched = self.semantics.named(before)["offsets"].watched
        core, seats, leader = self.memory(before)
        then, left, leads = self.memory(after)
        for who in left.keys() - seats.keys():
            if not self._remembered(who, before):
                self.names.add(who, self.random)
        self.rounds = self.rounds.after(firing, core, seats, then, left, leader, self.names)
        rule, _, label = firing.name.partition(":")
        asked = None
        if firing.me is not None and rule in (
            coordinator.join_group.name,
            coordinator.sync_group.name,
            coordinator.heartbeat.name,
            coordinator.leave_group.name,
            coordinator.offset_commit.name,
        ):
            asked = self._asked(firing.me, label, before, core, seats, leader, then, left)
        self._answers(rule, seats, left, then, leads, after, asked)
        if then.phase != core.phase or then.generation != core.generation:
            if (
                then.phase == Phase.STABLE
                and self.plan is not None
                and self.plan[0] == then.generation
            ):
                self.plan[1].request["assignments"] = self._shares(left)
                self.plan = None
            if then.phase != Phase.STABLE:
                self.since = self.now

    def _shares(self, seats: dict[Who, Any]) -> list[dict[str, str]]:
        return [
            {"memberId": self.names.mark(who), "assignment": assignment(seat.share)}
            for who, seat in seats.items()
            if seat.member
        ]

    # -- requests

    def _asked(
        self,
        me: int,
        label: str,
        before: State,
        core: Core,
        seats: dict[Who, Any],
        leader: Who | None,
        then: Core,
        left: dict[Who, Any],
    ) -> Line:
        link = before[self.semantics.at["link", me]]
        request = link.request
        connection = self._connection(me, fresh=not link.live)
        new = [who for who in left if who not in seats and who[0] == me]
        id = request.id if request.id != NO_ID or not new else new[0][1]
        who = (me, id)
        name = "" if request.id == NO_ID else self.names.mark(who)
        line = Line(
            NAMED[type(request)],
            f"client-{me}",
            connection,
            *self._request(request, me, name),
            self.now,
        )
        if label in _TAKEN and leader is not None:
            line.leader = self.names.mark(leader)
        self.spoken_on[name] = connection
        if label in CODES:
            self.now += 0.02
            line.given, line.response = (
                self.now,
                self._response(line, CODES[label], who, core, left, leader),
            )
            if line.api == "SYNC_GROUP" and label == "stable" and who == leader:
                line.request["assignments"] = self._shares(left)
            self.lines.append(line)
            if label not in ("unknown", "illegal_generation", "too_many", "fenced"):
                self.signs[(self.names.mark(who) if who in self.names else "")] = self.now
            return line
        kind = "join" if isinstance(request, JoinGroup) else "sync"
        if label == "led" or (kind == "sync" and who == leader):
            self.plan = (core.generation, line)
        # the one that waited before is never answered, and its connection is stuck
        self.waiting[me, id, kind] = line
        self.busy.add(connection)
        self.signs[self.names.mark(who)] = self.now
        self.parked_since.setdefault(self.names.mark(who), self.now)
        return line

    def _connection(self, me: int, fresh: bool) -> str:
        known = self.connections.get(me)
        if fresh or known is None or known in self.busy:
            self.opened += 1
            known = f"<:c{self.opened}:>"
            if not fresh:
                self.connections[me] = known
        return known

    def _request(self, request: Any, me: int, name: str) -> tuple[int, dict[str, Any]]:
        """(version, fields)"""
        return self.wire.request(request, me, name, self.watched)

    def _response(
        self, line: Line, code: int, who: Who, core: Core, seats: dict[Who, Any], leader: Who | None
    ) -> dict[str, Any]:
        if line.api == "JOIN_GROUP" and not code:
            self.told.add(self.names.mark(who))
        return self.wire.response(line, code, who, core, seats, leader, self.watched)

    # -- answers to requests that waited

    def _answers(
        self,
        rule: str,
        seats: dict[Who, Any],
        left: dict[Who, Any],
        then: Core,
        leader: Who | None,
        after: State,
        asked: Line | None,
    ) -> None:
        walk = after[self.semantics.at["walk", None]]
        for who, seat in seats.items():
            now = left.get(who)
            for kind, was, still in (
                ("join", seat.join, now and now.join),
                ("sync", seat.sync, now and now.sync),
            ):
                if not was or still:
                    continue
                line = self.waiting.pop((*who, kind), None)
                if line is None or line is asked:
                    continue
                self.busy.discard(line.connection)
                taken = now is None and asked is not None and self._takes(who, asked)
                if rule == failover.reload.name:
                    self._give(line, 16, who, then, left, leader)
                elif taken:
                    self._give(line, 82, who, then, left, leader)
                elif rule == takeover.takeover_failed.name and kind == "join":
                    self._give(line, 15, who, then, left, leader)
                elif rule == takeover.takeover_committed.name and kind == "join":
                    self._taken_over(line, who, then, left, leader)
                elif now is None and kind == "join":
                    self._give(line, 25, who, then, left, leader)
                elif now is not None and kind == "sync":
                    self._give(
                        line,
                        walk.errand.code if rule == rounds.send_back.name else 0,
                        who,
                        then,
                        left,
                        leader,
                    )
                elif now is not None:
                    self.joined.append((line, who))
        if rule in (failover.reload.name, takeover.takeover_failed.name):
            for who in left.keys() - seats.keys():
                self.signs[self.names.mark(who)] = self.now
        if rule == walks.end_walk.name:
            for line, who in self.joined:
                self._give(line, 0, who, then, left, leader)
            self.joined.clear()
        if rule == failover.fail_over.name:
            self._sent_away(seats, then, left, leader)

    def _sent_away(
        self, seats: dict[Who, Any], then: Core, left: dict[Who, Any], leader: Who | None
    ) -> None:
        """All members whose requests do not wait hear that the coordinator is not here; if there
        are none, somebody who wants to join does.
        """
        idle = [w for w, s in sorted(seats.items()) if not s.join and not s.sync]
        for who in idle or [(0, NO_ID)]:
            request = Heartbeat(0, then.generation) if idle else JoinGroup(NO_ID)
            name = self.names.mark(who) if idle else ""
            api, asked = NAMED[type(request)], self._request(request, who[0], name)
            connection = self._connection(who[0], False)
            line = Line(api, f"client-{who[0]}", connection, *asked, self.now)
            self._give(line, 16, who, then, left, leader)

    def _remembered(self, who: Who, before: State) -> bool:
        """Is it an id that was there already: in the group's record, or before a takeover?"""
        me, id = who
        mine = self.semantics.named(before)["seats"][me]
        return any(known == id for known, _ in mine.durable) or any(
            seat.takes_from(id) for _, seat in mine
        )

    def _takes(self, who: Who, asked: Line) -> bool:
        """Does this JoinGroup take the place of the id?"""
        joins = asked.api == "JOIN_GROUP" and not asked.request["memberId"]
        return self.scope.static and joins and asked.client == f"client-{who[0]}"

    def _taken_over(
        self, line: Line, who: Who, then: Core, seats: dict[Who, Any], leader: Who | None
    ) -> None:
        """The answer to a takeover: before version 9 it names the leader that there was, and lists
        nobody.
        """
        self._give(line, 0, who, then, seats, leader)
        if line.version < 9:
            line.response |= {"leader": line.leader, "members": []}
        else:
            line.response["skipAssignment"] = who == leader

    def _give(
        self, line: Line, code: int, who: Who, then: Core, seats: dict[Who, Any], leader: Who | None
    ) -> None:
        self.now += 0.02
        line.given, line.response = self.now, self._response(line, code, who, then, seats, leader)
        if who in self.names:
            self.signs[self.names.mark(who)] = self.now
            self.parked_since.pop(self.names.mark(who), None)
        self.lines.append(line)


def number(lines: list[Line]) -> None:
    """Numbers the requests of each connection."""
    sent: Counter[str] = Counter()
    for line in sorted(lines, key=lambda line: line.arrived):
        sent[line.connection] += 1
        line.correlation = sent[line.connection]


def request_run(
    seed: int, scope: Scope, steps: int, *, to_rest: bool = False, faulty_share: float = FAULTY
) -> Run:
    """The request log of one random run of the model; `to_rest`: only until the group was last as
    empty as at the beginning.
    """
    choose = random.Random(seed)
    printer = RequestPrinter(semantics_of(scope), scope, choose)
    walk(scope, choose, steps, printer, faulty_share)
    return as_run(printer, to_rest=to_rest)


def as_run(printer: RequestPrinter, *, to_rest: bool) -> Run:
    """The request log that was printed."""
    count, rounds, generation = printer.rest if to_rest else (len(printer.lines), printer.rounds, 0)
    lines = sorted(printer.lines[:count], key=lambda line: line.given)
    number(lines)
    texts = [(math.ceil(line.given), line.text()) for line in lines]
    return run_of(texts, rounds.told, printer.names, generation)
