"""One group: the model's memory, and beside it what the model leaves out: names of members, bytes
of subscriptions and assignments, timeouts, and who waits for an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
from attrs import Factory, define, field, frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import coordinator
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.features.failover_phases import Way, load_group
from groupcheck.model.protocol.classic.features.takeover import takeover_committed
from groupcheck.model.protocol.classic.group import Core, Phase, Seat, Seats, leader_of
from groupcheck.model.protocol.classic.plans import interval
from groupcheck.model.protocol.classic.timers import (
    append_committed,
    initial_delay,
    new_member_timeout,
    rebalance_timeout,
    session_timeout,
    sync_timeout,
)
from groupcheck.model.protocol.codes import (
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
)
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    Answer,
    JoinGroup,
    Request,
    Store,
)
from groupcheck.oracles.coordinator.model import (
    HERE,
    SEATS,
    STRANGER,
    Memory,
    Model,
    Step,
    known,
    parked,
)
from groupcheck.oracles.coordinator.votes import protocol_of

UNKNOWN_SERVER_ERROR = -1
NEW_MEMBER_S = 300.0
"""How long a member that is new may wait in JoinGroup (group.new.member.join.timeout.ms)."""
AT_ONCE, PAUSE_S = 30, 0.1
"""So much happens by itself at the same moment, and how long the rest waits."""
UNKNOWN = 90
"""The number of a member id that nobody has; the model gives no such number."""
LIVES = frozenset({NONE, REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED})
"""Answers that count as a sign of life."""
DELAY, ROUND, SYNC, LOAD = "delay", "round", "sync", "load"
Reply = Callable[[Answer, tuple[str, ...]], None]
Id = tuple[int, int]  # the index of a process, and the number of its member id
Protocols = tuple[tuple[str, bytes], ...]


@frozen
class Member:
    """What belongs to a member id and is not in the model."""

    name: str
    instance: str | None
    client: str
    host: str
    session_s: float
    rebalance_s: float
    protocol_type: str = ""
    # The protocols that it lists, each with its subscription.
    protocols: Protocols = ()
    assignment: bytes = b""


@define(eq=False)
class Waiting:
    """A request that the group answers, at once or later."""

    # Is told the model's answer, and the rules that fired.
    reply: Reply
    # Of a JoinGroup: what it says of its member, whose name is not known yet if it has no id.
    joins: Member | None = None
    # Of a SyncGroup: the assignments that it brings, by name of the member.
    plan: Mapping[str, bytes] = field(factory=dict)


@define(eq=False)
class Group:
    """A group. Every method that takes `now` (seconds) may answer requests."""

    name: str
    model: Model
    # How long an Empty group waits for more members (group.initial.rebalance.delay.ms).
    delay_s: float
    # How long a coordinator takes that loads the group.
    load_s: float
    # Makes the id of a member from the name that its client, or its instance, has.
    new_name: Callable[[str], str]
    memory: Memory = field(init=False)
    generation: int = 0
    protocol_type: str = ""
    protocol: str = ""
    members: dict[Id, Member] = Factory(dict)
    waiting: dict[int, Waiting] = Factory(dict)
    # What is to happen when: `DELAY`, `ROUND`, `SYNC`, `LOAD`, or the session of an id.
    due: dict[str | Id, float] = Factory(dict)
    # Of an id that has taken the place of another: the name of that one.
    replaced: dict[Id, str] = Factory(dict)
    # The leader's assignments that are being written, and those that hold: share -> bytes.
    _plan: Mapping[str, bytes] = field(factory=dict)
    _shares: dict[int, bytes] = Factory(dict)
    # When the initial delay ends at the latest.
    _latest: float = 0.0
    # How long the last round waited.
    _last_s: float = 0.0

    def __attrs_post_init__(self) -> None:
        self.memory = self.model.start()

    @property
    def core(self) -> Core:
        return self.memory.core

    @property
    def empty(self) -> bool:
        return self.core.phase == Phase.EMPTY and not self.core.loading

    def seated(self) -> Iterator[tuple[Id, Seat]]:
        """The ids in memory."""
        for index, seats in enumerate(self.memory.seats):
            for id, seat in seats:
                yield (index, id), seat

    @property
    def joined(self) -> list[tuple[Id, Member]]:
        """The members, in the order of their indexes."""
        return [(id, self.members[id]) for id, seat in self.seated() if seat.member]

    @property
    def leader(self) -> Id | None:
        return leader_of(self.memory.seats)

    def name_of(self, id: Id | None) -> str:
        """The name of a member; empty for nobody, or one that was forgotten."""
        member = self.members.get(id) if id is not None else None
        return "" if member is None else member.name

    def assignment(self, share: int) -> bytes:
        """The bytes that the leader has planned for the member with this share of the model's."""
        return self._shares.get(share, b"")

    def subscription(self, member: Member) -> bytes:
        """What a member says to the protocol that was chosen."""
        return dict(member.protocols).get(self.protocol, b"")

    # -- Who asks

    def who(self, name: str, instance: str | None) -> Id:
        """Where the member with that name sits, or the instance; a stranger's place if the group
        does not know it.
        """
        index = self._index_of(instance) if instance is not None else None
        if instance is not None:
            if index is None:
                return STRANGER, UNKNOWN
            number = NO_ID if not name else self._number(index, name)
            return index, number
        for id, member in self.members.items():
            if member.name == name:
                static = self.memory.seats[id[0]].static
                # Without the instance id nothing shows that the member id was replaced.
                if static and self.memory.seats[id[0]][id[1]] is None:
                    return STRANGER, UNKNOWN
                return id
        return STRANGER, UNKNOWN

    def _index_of(self, instance: str) -> int | None:
        for (index, id), member in self.members.items():
            if member.instance == instance and id in known(self.memory, index):
                return index
        return None

    def _number(self, index: int, name: str) -> int:
        there = (
            id for (at, id), member in self.members.items() if (at, member.name) == (index, name)
        )
        return next(there, UNKNOWN)

    def free(self) -> int | None:
        """The first index that means nobody; None if there is none."""
        for index in range(SEATS - 1):
            if not known(self.memory, index) and index not in self.waiting:
                return index
        return None

    def place(self, index: int, static: bool) -> None:
        """An index that meant nobody is for a static, or a dynamic, member from now on."""
        seats = list(self.memory.seats)
        seats[index] = Seats(static=static)
        self.memory = attrs.evolve(self.memory, seats=tuple(seats))

    def claimed(self, id: Id, protocols: Protocols) -> int:
        """A number of the subscription: the one that the member has, if it is the same as before,
        otherwise another.
        """
        seat = self.memory.seats[id[0]][id[1]]
        if seat is None:
            return 0
        member = self.members.get(id)
        if member is not None and member.protocols == protocols:
            return seat.claimed
        return 0 if seat.claimed else 1

    # -- Steps

    def ask(
        self, index: int, request: Request, waiting: Waiting, now: float, two_step: bool = True
    ) -> None:
        """A request of a member: it is answered now, later or never."""
        step = self.model.ask(self.memory, index, request, two_step)
        if step is None:
            waiting.reply(Answer(request, UNKNOWN_SERVER_ERROR), ())
            return
        self._take(step, now, index, request, waiting)
        self._settle(now)

    def fail_over(self, now: float) -> None:
        """The coordinator moves: what waits is answered 16, and the next one loads the group."""
        step = self.model.fire(self.memory, fail_over.name, label=str(Way.RESIGNED))
        if step is not None:
            self._take(step, now)
            self.due = {LOAD: now + self.load_s}

    def advance(self, now: float) -> None:
        """Everything that is due happens."""
        for _ in range(AT_ONCE):
            due = [(at, str(key), key) for key, at in self.due.items() if at <= now]
            if not due:
                return
            key = min(due)[2]
            del self.due[key]
            self._expire(key, now)
            self._settle(now)
        # A coordinator with a bug may begin rounds without end.
        self.due = {key: max(at, now + PAUSE_S) for key, at in self.due.items()}

    @property
    def next_due(self) -> float | None:
        """When something happens next by itself."""
        return min(self.due.values(), default=None)

    def _expire(self, key: str | Id, now: float) -> None:
        if isinstance(key, tuple):
            seat = self.memory.seats[key[0]][key[1]]
            rule = new_member_timeout if seat is not None and seat.new else session_timeout
            if not self._fire(rule.name, now, key[0]):  # a parked request is a sign of life
                self._live(key, now)
        elif key == LOAD:
            self._fire(load_group.name, now)
        elif key == DELAY:
            extends = self.core.extended and now < self._latest
            self._fire(initial_delay.name, now, label="extended" if extends else "over")
            if extends:
                self.due[DELAY] = min(now + self.delay_s, self._latest)
        else:
            self._fire((rebalance_timeout if key == ROUND else sync_timeout).name, now)
            self._round_timers(now)

    def _fire(self, rule: str, now: float, index: int = 0, label: str = "") -> bool:
        """Does it happen?"""
        step = self.model.fire(self.memory, rule, index, label)
        if step is not None:
            self._take(step, now)
        return step is not None

    def _settle(self, now: float) -> None:
        """What happens by itself, at once: appends are written, a round of nobody ends."""
        for _ in range(AT_ONCE):
            core = self.core
            if core.loading:
                return
            taking = [i for (i, _), seat in self.seated() if seat.takes is not None]
            if core.appending:
                happens = self._fire(append_committed.name, now)
            elif taking:
                happens = self._fire(takeover_committed.name, now, taking[0])
            elif core.phase == Phase.PREPARING and core.initial and not self.delay_s:
                happens = self._fire(initial_delay.name, now, label="over")
            elif self.due.get(ROUND, now + 1) <= now:  # it began with nobody
                happens = self._fire(rebalance_timeout.name, now)
            else:
                return
            if not happens:
                return

    def _take(
        self,
        step: Step,
        now: float,
        index: int = STRANGER,
        request: Request | None = None,
        waiting: Waiting | None = None,
    ) -> None:
        before, generation = self.memory, self.generation
        self.memory = step.after
        self.generation += step.on
        for id, seat in self.seated():
            if seat.takes is not None:
                self.replaced[id] = self.name_of((id[0], seat.takes[0]))
        if isinstance(request, JoinGroup) and waiting is not None and waiting.joins is not None:
            self._joined(before, index, request, waiting.joins)
        if step.on and self.core.members:
            self.protocol = protocol_of([m.protocols for _, m in self.joined])
        if waiting is not None and f"{coordinator.sync_group.name}:led" in step.rules:
            self._plan = waiting.plan
        if append_committed.name in step.rules:
            self._assign()
        for other, answer in step.answers:
            waited = self.waiting.pop(other, None)
            if waited is not None:
                waited.reply(_counted(answer, generation), step.rules)
            self._heard(other, answer, now)
        if waiting is not None and step.own is not None:
            waiting.reply(_counted(step.own, generation), step.rules)
            self._heard(index, step.own, now)
        elif waiting is not None:
            self.waiting[index] = waiting
        # A request that the coordinator has forgotten is never answered.
        self.waiting = {i: w for i, w in self.waiting.items() if parked(self.memory, i)}
        self._timers(before, step, now)
        there = {i: known(self.memory, i) for i in range(SEATS)}
        self.members = {id: m for id, m in self.members.items() if id[1] in there[id[0]]}
        self.replaced = {id: name for id, name in self.replaced.items() if id in self.members}

    def _joined(self, before: Memory, index: int, request: JoinGroup, said: Member) -> None:
        """The id of the JoinGroup is that of a member, or was handed out."""
        was, now = known(before, index), self.memory.seats[index]
        if request.id == NO_ID:
            new = [id for id, _ in now if id not in was]
            ids = new or [id for id, _ in now]
        else:
            ids = [id for id, seat in now if id == request.id and seat.claimed == request.claimed]
        if not ids:
            return
        id = (index, ids[-1])
        old = self.members.get(id)
        name = self.new_name(said.instance or said.client) if old is None else old.name
        self.members[id] = evolve(said, name=name)
        if now[id[1]] is not None and self.core.members == 1:
            self.protocol_type = said.protocol_type

    def _assign(self) -> None:
        """The leader's assignment holds: that of each member belongs to its share in the model's
        own plan (the range assignor's, members in the order of their indexes).
        """
        self._shares = {}
        for rank, (id, member) in enumerate(members := self.joined):
            given = self._plan.get(member.name, b"")
            self._shares[interval(rank, len(members), SEATS)] = given
            self.members[id] = evolve(member, assignment=given)
        self._plan = {}

    # -- Timers

    def _heard(self, index: int, answer: Answer, now: float) -> None:
        """A member was answered: unless that is an error, its session begins anew."""
        request: Any = answer.request
        if isinstance(request, Store):  # an accepted commit is a sign of life as well
            request = request.commit
        id = answer.id if answer.id != NO_ID else getattr(request, "id", NO_ID)
        if answer.code in LIVES and self.memory.seats[index][id] is not None:
            self._live((index, id), now)

    def _live(self, id: Id, now: float) -> None:
        seat, member = self.memory.seats[id[0]][id[1]], self.members.get(id)
        if seat is not None and member is not None:
            patience = NEW_MEMBER_S if seat.new and not seat.hurried else member.session_s
            self.due[id] = now + patience

    def _timers(self, before: Memory, step: Step, now: float) -> None:
        """The timers after a step."""
        seated = dict(self.seated())
        for id in [key for key in self.due if isinstance(key, tuple) and key not in seated]:
            del self.due[id]
        for id, seat in seated.items():
            was = before.seats[id[0]][id[1]]
            changed = was is None or (was.new, was.hurried) != (seat.new, seat.hurried)
            if id not in self.due or changed:
                self._live(id, now)
        core, old = self.core, before.core
        waits = core.phase == Phase.PREPARING and not core.loading
        again = bool(step.on) or old.phase != Phase.PREPARING or old.loading
        if not (waits and core.initial):
            self.due.pop(DELAY, None)
        elif again or not old.initial:
            self.due[DELAY] = now + self.delay_s
            self._latest = now + self._patience_s()
        if not (waits and not core.initial):
            self.due.pop(ROUND, None)
        elif again or old.initial:
            self.due[ROUND] = now + self._patience_s()
        if not core.deadline:
            self.due.pop(SYNC, None)
        elif step.on or not old.deadline:
            self.due[SYNC] = now + self._patience_s()

    def _round_timers(self, now: float) -> None:
        """A timer has fired and the group waits on: for static members that have not joined."""
        if self.core.phase == Phase.PREPARING and not self.core.initial:
            self.due.setdefault(ROUND, now + self._patience_s())

    def _patience_s(self) -> float:
        """How long a round waits: the longest rebalance timeout of its members; of those that a
        coordinator with a bug only counts, the one of the round before.
        """
        if self.joined or not self.core.members:
            self._last_s = max((member.rebalance_s for _, member in self.joined), default=0.0)
        return self._last_s


def _counted(answer: Answer, generation: int) -> Answer:
    """The answer with its generation as the group's members count it; `generation`: the one that
    was `HERE` when the model answered.
    """
    if answer.generation == NO_GENERATION:
        return answer
    return evolve(answer, generation=generation + answer.generation - HERE)
