"""A walk whose steps are the lines of a log: a path of the model that shows what the log tells.

The log tells a part of what happens. What its members do unseen (heartbeats, SyncGroups, processes
that die) is looked for, the likeliest first; so is what had happened before the log begins. A
search keeps the best states that fit behind each line, and does not keep all: how many it says fit
is a lower bound.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from attrs import define, evolve, field, frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.tabled.steps import Steps
from groupcheck.model.engine.tabled.tabled import Numbers
from groupcheck.model.protocol.classic import client as member
from groupcheck.model.protocol.classic import client_faults, failover, offsets, timers
from groupcheck.model.protocol.classic.client import Client, Prepare
from groupcheck.model.protocol.classic.group import Core, Phase, Seats
from groupcheck.model.protocol.link import Link
from groupcheck.oracles.explain.subject import Subject, subject
from groupcheck.oracles.explore.log_facts import Fact, Knowledge, fits, shown
from groupcheck.oracles.explore.log_lines import Line, LogPart
from groupcheck.oracles.explore.walk import LONGEST_WALK, Walk
from groupcheck.traces.phrases import plural
from groupcheck.traces.story.events import (
    AssignmentReceived,
    Event,
    GroupEmptied,
    RebalanceStarted,
    Stabilized,
)

KEPT = 24  # states behind each line that the search goes on from
LOOKED_AT = 1_000  # states between two lines; real logs needed 160 at most
AFTER_FIRST = 100  # of them, once one has been found that fits
SOON_MS = 200  # within which members may not have sent the SyncGroup of a round that has ended
FAULT_COST, HOPE = 8, 2  # of an unseen fault; of what is left to do before a line, as a factor
MORE_FAULTS, MORE_GENERATIONS = 20, 4  # than the log tells, for the walk that goes on from there
# What members do that no coordinator's log tells and that changes nothing for the next line.
LEFT_OUT = frozenset(
    r.name
    for r in (
        *offsets.OFFSET_RULES, member.send_commit, timers.append_failed, client_faults.lose_request,
        client_faults.lose_response, client_faults.delay_request, client_faults.late_commit,
        client_faults.disconnect, client_faults.poll_timeout, failover.fail_over,
    )
)  # fmt: skip


@frozen(eq=False)
class World:
    """A state of the model behind some lines of a log, and the way to it."""

    state: Numbers
    known: Knowledge
    before: World | None = None
    # The outcomes of the step that led here; and the numbers of the first line that it explains,
    # and of the first that it does not. Both are the same for a step that no line tells.
    rules: tuple[str, ...] = ()
    lines: tuple[int, int] = (0, 0)
    steps: int = 0
    cost: int = 0

    @property
    def line(self) -> list[World]:
        """The worlds from the first one to this one."""
        found, at = [self], self
        while at.before is not None:
            at = at.before
            found.append(at)
        return found[::-1]


@define(slots=False)
class LogSearch:
    """Looks for a path that shows what a log tells."""

    about: Subject
    told: LogPart
    looked_at: int = field(init=False, default=0)

    def __attrs_post_init__(self) -> None:
        spec, members = self.about.spec, self.about.spec.scope.members
        # Steps need no promise.
        self.steps = Steps(evolve(spec, invariants=(), goals=(), progress=(), refinements=()))
        at = self.steps.places
        self.core, self.budget = at["core", None], at["budget", None]
        self.seats, self.clients, self.links = (
            [at[name, k] for k in range(members)] for name in ("seats", "client", "link")
        )
        # Every rule that begins a step, with its process; and whether it is a fault.
        self.rules = [
            (rule.name, k, self.steps.fired(rule.name, k))
            for rule in spec.rules
            if not rule.urgent
            for k in range(members)
            if k == 0 or self.steps.fired(rule.name, k) is not self.steps.fired(rule.name, 0)
        ]

    # -- values of a state

    def _core(self, state: Numbers) -> Core:
        core: Core = self.steps.value(self.core, state[self.core])
        return core

    def _seats(self, state: Numbers) -> list[Seats]:
        return [self.steps.value(k, state[k]) for k in self.seats]

    def _clients(self, state: Numbers) -> list[Client]:
        return [self.steps.value(k, state[k]) for k in self.clients]

    # -- steps

    def next(self, world: World, lines: Sequence[Line]) -> Iterator[World]:
        """The worlds after a step that shows what the next lines tell, or nothing."""
        first = world.lines[1]
        rested = self._rested(world.state)
        for name, process, fired in self.rules:
            if process in rested and process != rested[0]:
                continue  # processes that have not started are alike
            if not fired.allowed(world.state):
                continue
            for outcome, begun in fired.after(world.state):
                for chain, state in self.steps.settled(begun):
                    if state != world.state:
                        rules = (outcome, *chain)
                        found = self._after(world, name, rules, state, lines, first)
                        if found is not None:
                            yield found

    def _rested(self, state: Numbers) -> list[int]:
        """The processes that have not started and that the coordinator does not remember."""
        clients, seats = self._clients(state), self._seats(state)
        return [
            k
            for k, place in enumerate(self.links)
            if clients[k] == Client()
            and not seats[k].ids
            and self.steps.value(place, state[place]) == Link()
        ]

    def _facts(self, rules: tuple[str, ...], before: Numbers, after: Numbers) -> list[Fact]:
        seats = list(zip(self._seats(before), self._seats(after), strict=True))
        return shown(rules, self._core(before), self._core(after), seats)

    def _after(
        self, world: World, name: str, rules: tuple[str, ...], state: Numbers,
        lines: Sequence[Line], first: int,
    ) -> World | None:  # fmt: skip
        facts = self._facts(rules, world.state, state)
        found = fits(facts, lines, first, world.known, self.told.printed)
        if found is None:
            return None
        count, known = found
        if not count and name in LEFT_OUT:
            return None
        spends = world.state[self.budget] != state[self.budget]
        unlikely = spends and (not count or name in LEFT_OUT - {timers.append_failed.name})
        cost = FAULT_COST if unlikely else 0 if count else 1
        return World(
            state, known, world, rules, (first, first + count), world.steps + 1, world.cost + cost
        )

    def _to_do(self, state: Numbers, wanted: type[Event]) -> int:
        """About how many steps are left until a line of this kind can be told."""
        core = self._core(state)
        if wanted is GroupEmptied:
            return core.members
        if wanted is not Stabilized:
            return 0
        clients, left = self._clients(state), 0 if core.phase == Phase.PREPARING else 5
        for k, seats in enumerate(self._seats(state)):
            for _, seat in seats:
                if seat.member and not seat.join:
                    left += 1 if member.wants_to_join(clients[k]) else 2
                    left += clients[k].prepare == Prepare.SYNC
        return left

    # -- the search

    def behind(self, worlds: Sequence[World], lines: Sequence[Line]) -> list[World]:
        """The worlds behind the next line, the likeliest first; none if it fits nowhere."""
        wanted = type(lines[worlds[0].lines[1]].event)
        first = worlds[0].lines[1]
        seen = {(w.state, w.known) for w in worlds}
        heap = [(w.cost + HOPE * self._to_do(w.state, wanted), -k, w) for k, w in enumerate(worlds)]
        heapq.heapify(heap)
        found: list[World] = []
        left, number = LOOKED_AT, 0
        while heap and left > 0 and len(found) < KEPT:
            _, _, world = heapq.heappop(heap)
            left -= 1
            self.looked_at += 1
            for after in self.next(world, lines):
                key = after.state, after.known
                if after.steps > LONGEST_WALK or key in seen:
                    continue
                seen.add(key)
                if after.lines[1] > first:
                    left = min(left, AFTER_FIRST)
                    found.append(after)
                    continue
                number += 1
                hope = after.cost + HOPE * self._to_do(after.state, wanted)
                heapq.heappush(heap, (hope, -len(worlds) - number, after))
        return sorted(found, key=lambda w: (w.cost, w.steps))[:KEPT]

    def rest(self, world: World, lines: Sequence[Line]) -> World:
        """The world once members that wait for nobody have sent their SyncGroups."""
        moved = True
        while moved:
            moved = False
            for name, _, fired in self.rules:
                if name in QUIET and fired.allowed(world.state):
                    for outcome, begun in fired.after(world.state)[:1]:
                        chain, state = self.steps.settled(begun)[0]
                        after = self._after(
                            world, name, (outcome, *chain), state, lines, world.lines[1]
                        )
                        if after is not None and after.lines[0] == after.lines[1]:
                            world, moved = evolve(after, cost=world.cost), True
        return world

    def has_time(self, lines: Sequence[Line], at: int) -> bool:
        """Does the line before this one stand long before it?"""
        if at == len(lines):
            return True
        before, after = lines[at - 1].event.time, lines[at].event.time
        return before is None or after is None or after - before > SOON_MS

    def begin(self) -> World:
        """The world in which the log begins: its first members have come before it."""
        world = World(self.steps.start(), Knowledge())
        first = next(
            (type(x.event) for x in self.told.lines if isinstance(x.event, OF_ROUNDS)), None
        )
        members = range(self.told.begins)
        join = [(member.send_join.name, k) for k in members]
        every = [*join, *(join if self.told.two_step else [])]
        if members and first is not Stabilized:
            every.append((timers.initial_delay.name, 0))
        for name, process in every:
            world = self._unseen(world, name, process)
        if members and first not in (Stabilized, AssignmentReceived):
            leader = next(k for k, s in enumerate(self._seats(world.state)) if s.leader is not None)
            world = self._unseen(world, member.send_sync.name, leader)
            world = self.rest(world, ())
        return world

    def _unseen(self, world: World, name: str, process: int) -> World:
        """The world after a step before the log begins."""
        outcome, begun = self.steps.fired(name, process).after(world.state)[0]
        chain, state = self.steps.settled(begun)[0]
        return World(state, world.known, world, (outcome, *chain), steps=world.steps + 1)

    def path(self) -> tuple[list[World], int]:
        """Worlds that fit behind as many lines as possible, the likeliest first; and how many lines
        that is.
        """
        lines, waiting = self.told.lines, {0: [self.begin()]}
        while True:
            at = min(waiting)
            worlds = waiting.pop(at)
            if at and self.has_time(lines, at):
                hurried = [evolve(w, cost=w.cost + 1) for w in worlds]
                worlds = [*(self.rest(w, lines) for w in worlds), *hurried]
            if at == len(lines):
                return _different(worlds), at
            for w in self.behind(worlds, lines):
                waiting.setdefault(w.lines[1], []).append(w)
            if not waiting:
                return _different(worlds), at


def _different(worlds: Sequence[World]) -> list[World]:
    """The first world of each state."""
    return list({w.state: w for w in reversed(worlds)}.values())[::-1]


OF_ROUNDS = (RebalanceStarted, Stabilized, AssignmentReceived, GroupEmptied)
QUIET = (member.send_sync.name, timers.append_committed.name, member.join_complete.name)


@define(slots=False)
class LogWalk:
    """A walk along a log."""

    walk: Walk
    # The key of the state behind each line that is followed, by the number of the line.
    keys: dict[int, str]


def follow(told: LogPart) -> LogWalk:
    """The walk along a part of a log; it stands behind the last line that fits. Raises `UserError`
    if not even the first line fits.
    """
    about = _subject(told)
    search = LogSearch(about, told)
    worlds, done = search.path()
    if not done:
        raise UserError(
            f"has no line that the members of the model can cause: {told.lines[0].words[:200]}",
            where=told.log,
            do="`replay` follows the coordinator alone, whatever its members do",
        )
    walk, keys, known = Walk(about), dict[int, str](), dict[str, str]()
    titles = {lane.me: lane.title for lane in walk.lanes}
    for world in worlds[0].line[1:]:
        lines = told.lines[slice(*world.lines)]
        _take(walk, search, world)
        said = dict.fromkeys(line.words for line in lines)
        for name, (process, _) in world.known.bound:
            if known.get(name) != titles[process]:
                known[name] = titles[process]
                said[f"{titles[process]} stands for {name}"] = None
        walk.at.said = tuple(said)
        keys |= {line.number: walk.key for line in lines if line.number}
    walk.note = _note(told, done, len(worlds))
    return LogWalk(walk, keys)


def _take(walk: Walk, search: LogSearch, world: World) -> None:
    """Takes the step that led to a world."""
    state = search.steps.tabled.values(world.state)
    for number, (step, _) in enumerate(walk.see.steps(walk.at.state)):
        if step.state == state:
            walk.go(number, step)
            return
    raise AssertionError("a step of the tables is no step of the model")


def _subject(told: LogPart) -> Subject:
    rounds = sum(isinstance(x.event, Stabilized | GroupEmptied) for x in told.lines)
    return subject(
        "cooperative" if told.cooperative else "classic",
        members=told.most,
        partitions=told.most,
        generations=rounds + MORE_GENERATIONS,
        any_faults=min(len(told.lines) + MORE_FAULTS, 100),
        two_step=told.two_step,
    )


def _note(told: LogPart, done: int, states: int) -> str:
    """What the walk shows, and how sure it is."""
    last = next((x for x in reversed(told.lines[:done]) if x.number), told.lines[0])
    parts = [
        f"{told.group} of {told.log}: {done} of {plural(len(told.lines), 'step')} that the log"
        f" tells, up to line {last.number}."
    ]
    if told.begins:
        members = plural(told.begins, "member")
        parts.append(f"The log begins with {members}, whose way into the group is assumed.")
    if told.before or told.after:
        rest = plural(told.before + told.after, "more step")
        parts.append(f"The log tells {rest} of the group before or after this part.")
    if done < len(told.lines):
        parts.append(
            f"No step of the model's members fits the next line, {told.lines[done].words[:300]}"
        )
    least = f"At least {states} states of the model fit" if states > 1 else "One state was found"
    which = "; this is the likeliest one" if states > 1 else ""
    parts.append(f"{least} behind it{which}. What members did unseen is assumed.")
    return " ".join(parts)
