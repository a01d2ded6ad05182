"""A walk whose steps are the acts of a schedule with which `judge broker` asked a broker: a path of
the model in which members send the same requests, and no others, and the same timers run out.

A judge sends what no client would, too. There the walk ends, in front of that act.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.tabled.steps import Steps
from groupcheck.model.engine.tabled.tabled import Numbers
from groupcheck.model.protocol.classic import failover, timers
from groupcheck.model.protocol.classic.features.takeover import takeover_committed, takeover_failed
from groupcheck.model.protocol.classic.group import Seat, Seats
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_ID, JoinGroup, Request, Store
from groupcheck.oracles.conform.row import STRANGER
from groupcheck.oracles.explain.subject import Subject, subject
from groupcheck.oracles.explore.walk import LONGEST_WALK, Walk
from groupcheck.oracles.judge.broker.profiles import PROFILES, Profile, limited
from groupcheck.oracles.judge.report.document import schedules_in
from groupcheck.oracles.judge.report.schedules import Act
from groupcheck.oracles.printable import printable
from groupcheck.traces.phrases import plural

KEPT = 8  # states behind each act that the search goes on from
LOOKED_AT = 400  # states between two acts
FAULT_COST = 8  # of an unseen fault
MORE_FAULTS, MORE_GENERATIONS = 20, 4  # than the schedule has acts, for what goes on from there
OF_ONE = (timers.session_timeout.name, timers.new_member_timeout.name)
TIMERS = (*OF_ONE, timers.rebalance_timeout.name, timers.sync_timeout.name)
# What happens by itself before the next act, and what a schedule never brings about.
BY_ITSELF = (timers.append_committed.name, timers.initial_delay.name, takeover_committed.name)
NEVER = (timers.append_failed.name, failover.fail_over.name, takeover_failed.name)
DO = "`judge again` carries out its schedules"


@frozen
class Schedule:
    """The schedule of a document that is walked."""

    where: str
    profile: Profile
    acts: tuple[Act, ...]
    # For each JoinGroup of a known id: is its subscription what it was? None: that says nothing.
    same: tuple[bool | None, ...]
    # What a document says of its end; empty for a schedule alone.
    differs: str = ""


@frozen(eq=False)
class At:
    """A state of the model behind some acts, and the way to it."""

    state: Numbers
    before: At | None = None
    # How many acts are done, and whether this step is the last of them.
    acts: int = 0
    is_act: bool = False
    cost: int = 0
    steps: int = 0

    @property
    def line(self) -> list[At]:
        """From the first one to this one."""
        found, at = [self], self
        while at.before is not None:
            at = at.before
            found.append(at)
        return found[::-1]


def read(document: Mapping[str, Any], where: str, number: int | None = None) -> Schedule:
    """A schedule of a document of `judge broker`, of an entry of its `differs`, or alone: the first
    one, or the one with a number from 1. Raises `UserError` if there is none that can be walked.
    """
    if document.get("side") == "client":
        raise UserError(
            "is a judgement of a client, whose schedules name an answer and no requests",
            where=where,
            do="the page of `judge client --html` shows what was sent",
        )
    listed = document.get("differs")
    entries = listed if isinstance(listed, list) else [document]
    if not entries:
        raise UserError("found no difference, so it has no schedule", where=where)
    if not 1 <= (number or 1) <= len(entries):
        has = plural(len(entries), "schedule")
        raise UserError(f"has no schedule {number}, only {has}", where=where)
    entry = entries[(number or 1) - 1]
    if not isinstance(entry, Mapping) or "differs" in entry:
        raise UserError("has an entry that is no difference", where=where, do=DO)
    ((_, name, acts),) = schedules_in(entry, where)
    size = int(name[5:]) if name.startswith("full-") and name[5:].isdecimal() else 0
    every = {p.name: p for p in (*PROFILES, *([limited(size)] if 0 < size < 8 else []))}
    if name not in every:
        raise UserError(f"has an unknown profile, {printable(name)[:40]}", where=where, do=DO)
    acts = tuple(a for a in acts if a.kind in ("ask", "wait") and a.name != "no_timer")
    if not acts:
        raise UserError("has no request of a member: it asks about the group alone", where=where)
    differs = ""
    if isinstance(entry.get("got"), str) and isinstance(entry.get("allowed"), list):
        allowed = " or ".join(map(str, entry["allowed"])) or "nothing"
        differs = printable(f"There came {entry['got']}; the model allows {allowed}.")[:300]
    return Schedule(where, every[name], acts, tuple(_same(acts)), differs)


def _same(acts: Sequence[Act]) -> Iterator[bool | None]:
    said: dict[int, tuple[int | None, int | None]] = {}
    for act in acts:
        fields = dict(act.fields)
        now = fields.get("claimed"), fields.get("owned")
        is_join = act.kind == "ask" and act.name == JoinGroup.__name__
        known = is_join and fields.get("id") != NO_ID and act.member in said
        yield said[act.member] == now if known else None
        if is_join:
            said[act.member] = now


class ActSearch:
    """Looks for a path of the model with the acts of a schedule."""

    def __init__(self, about: Subject, told: Schedule) -> None:
        spec, self.told, self.members = about.spec, told, about.spec.scope.members
        self.steps = Steps(evolve(spec, invariants=(), goals=(), progress=(), refinements=()))
        at = self.steps.places
        self.core, self.budget = at["core", None], at["budget", None]
        self.seats, self.links = (
            [at[name, k] for k in range(self.members)] for name in ("seats", "link")
        )
        self.rules = [
            (rule.name, k, self.steps.fired(rule.name, k))
            for rule in spec.rules
            if not rule.urgent and rule.name not in NEVER
            for k in range(self.members)
            if k == 0 or self.steps.fired(rule.name, k) is not self.steps.fired(rule.name, 0)
        ]

    def path(self) -> list[At]:
        """The states that fit behind as many acts as possible, the likeliest first."""
        worlds = [At(self.steps.start())]
        while worlds[0].acts < len(self.told.acts) and (found := self.behind(worlds)):
            worlds = found
        return [self._rest(w) for w in worlds]

    def behind(self, worlds: Sequence[At]) -> list[At]:
        """The states behind the next act; none if no member of the model does it."""
        number, seen = count(), {w.state for w in worlds}
        heap = [(w.cost, next(number), w) for w in worlds]
        found: list[At] = []
        left = LOOKED_AT
        while heap and left > 0 and len(found) < KEPT:
            _, _, at = heapq.heappop(heap)
            left -= 1
            for after in self.next(at):
                if after.steps > LONGEST_WALK or (not after.is_act and after.state in seen):
                    continue
                seen.add(after.state)
                if after.is_act:
                    found.append(after)
                else:
                    heapq.heappush(heap, (after.cost, next(number), after))
        return found

    def next(self, at: At) -> Iterator[At]:
        """The states after a step that is the next act, or that no schedule tells."""
        done = [r for r in self.rules if r[0] in BY_ITSELF and r[2].allowed(at.state)]
        is_busy = False
        for rules in (done, self.rules):
            if is_busy:
                return  # what happens by itself comes first
            for name, process, fired in rules:
                if not fired.allowed(at.state):
                    continue
                for _, begun in fired.after(at.state):
                    for _, state in self.steps.settled(begun):
                        is_busy = is_busy or rules is done
                        after = self._after(at, name, process, begun, state)
                        if after is not None:
                            yield after

    def _after(self, at: At, name: str, process: int, begun: Numbers, state: Numbers) -> At | None:
        sent = [(k, link.request) for k, link in enumerate(self._links(begun))
                if link.request is not None and not isinstance(link.request, Store)]  # fmt: skip
        if sent or name in TIMERS:
            if not self._is_next(at, name, process, sent):
                return None
            return At(state, at, at.acts + 1, True, at.cost, at.steps + 1)
        if state == at.state or any(link.queue for link in self._links(state)):
            return None  # each request of a judge is handled at once
        spends = at.state[self.budget] != state[self.budget]
        cost = at.cost + (FAULT_COST if spends else name not in BY_ITSELF)
        return At(state, at, at.acts, False, cost, at.steps + 1)

    def _links(self, state: Numbers) -> list[Link]:
        return [self.steps.value(k, state[k]) for k in self.links]

    def _is_next(
        self, at: At, name: str, process: int, sent: Sequence[tuple[int, Request]]
    ) -> bool:
        act = self.told.acts[at.acts]
        if act.kind == "wait":
            last = name not in OF_ONE or process == self.members - 1
            return not sent and name == act.name and last
        if len(sent) != 1 or sent[0][0] != act.member:
            return False
        seats: Seats = self.steps.value(self.seats[act.member], at.state[self.seats[act.member]])
        generation = self.steps.value(self.core, at.state[self.core]).generation
        return alike(act, self.told.same[at.acts], sent[0][1], generation, seats)

    def _rest(self, at: At) -> At:
        """The state once all has happened that happens by itself."""
        while True:
            after = next(self.next(at), None) if self._is_busy(at) else None
            if after is None or after.is_act:
                return at
            at = after

    def _is_busy(self, at: At) -> bool:
        return any(
            name in BY_ITSELF and fired.allowed(at.state) and fired.after(at.state)
            for name, _, fired in self.rules
        )


def alike(act: Act, same: bool | None, request: Request, generation: int, seats: Seats) -> bool:
    """Does a request of the model mean what an act means: one that the coordinator knows as little,
    as far behind the group's generation, with as new a subscription?
    """
    fields, id = dict(act.fields), getattr(request, "id", NO_ID)
    if type(request).__name__ != act.name:
        return False
    seat: Seat | None = None if id == NO_ID else seats[id]
    asked = fields.get("id", NO_ID)
    if (asked == NO_ID) != (id == NO_ID):
        return False
    if id != NO_ID and (seat is None) != (asked == STRANGER):
        return False
    if "generation" in fields:
        return generation - getattr(request, "generation", generation) == fields["generation"]
    if same is not None and isinstance(request, JoinGroup) and seat is not None and seat.member:
        return same == ((request.claimed, request.owned) == (seat.claimed, seat.owned))
    return True


def follow(told: Schedule) -> Walk:
    """The walk along a schedule; it stands behind the last act that a member of the model does."""
    about = _subject(told)
    search = ActSearch(about, told)
    found = search.path()
    walk, known = Walk(about), set[int]()
    titles = {lane.me: lane.title for lane in walk.lanes}
    for at in found[0].line[1:]:
        state = search.steps.tabled.values(at.state)
        number, step = next(
            (n, step) for n, (step, _) in enumerate(walk.see.steps(walk.at.state))
            if step.state == state
        )  # fmt: skip
        walk.go(number, step)
        if at.is_act:
            act = told.acts[at.acts - 1]
            said = [f"act {at.acts}: {words_of(act, told.same[at.acts - 1])}"]
            if act.member >= 0 and act.member not in known:
                known.add(act.member)
                said.append(f"{titles[act.member]} stands for member {act.member}")
            walk.at.said = tuple(said)
    walk.note = _note(told, found[0].acts)
    return walk


def _subject(told: Schedule) -> Subject:
    kind, more = told.profile, len(told.acts)
    return subject(
        kind.variant,
        members=kind.members,
        generations=min(more, 40) + MORE_GENERATIONS,
        any_faults=min(more + MORE_FAULTS, 100),
        settings=kind.settings,
    )


def words_of(act: Act, same: bool | None = None) -> str:
    """An act in words. `same`: does a JoinGroup say what the one before it said?"""
    if act.kind == "wait":
        return f"{act.name.replace('_', ' ')} runs out"
    fields, parts = dict(act.fields), list[str]()
    if fields.get("id") == NO_ID:
        parts.append("without an id")
    elif fields.get("id") == STRANGER:
        parts.append("with an id that the group does not know")
    if behind := fields.get("generation", 0):
        parts.append(f"in a generation that is {behind} behind")
    if same is not None:
        parts.append("with the same subscription" if same else "with another subscription")
    return " ".join([f"member {act.member} sends {act.name} v{act.version}", *parts])


def _note(told: Schedule, done: int) -> str:
    """What the walk shows, and how far it goes."""
    parts = [f"The schedule of {told.where}: {done} of {plural(len(told.acts), 'act')}."]
    if done < len(told.acts):
        missing = words_of(told.acts[done], told.same[done])
        parts.append(f"No member of the model does act {done + 1} here: {missing}.")
    if told.differs and done >= len(told.acts) - 1:
        parts.append(told.differs)
    parts.append("What members did between the acts is assumed.")
    return " ".join(parts)
