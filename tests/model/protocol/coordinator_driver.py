"""The classic coordinator of the model alone, driven command by command as `truth/` drives the real
one: no client rules, answers are captured.

A command is what arrives or fires next; everything that the coordinator does because of it happens
inside it. Where it is free to choose, `pick` says which outcome is followed, and `worlds` of the
last command holds them all.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.engine.step import State
from groupcheck.model.protocol.classic.group import Core, Leader, Phase, Seat, Seats, leader_of
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.timers import QUEUE_RULES
from groupcheck.model.protocol.driven import Driven
from groupcheck.model.protocol.link import Link, send
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)
from groupcheck.model.protocol.variant import Variant
from groupcheck.model.variants import load


@attrs.frozen
class World:
    """What one command led to: the labels of the rules that fired, the answers that were sent (by
    member), the coordinator's memory.
    """

    labels: tuple[str, ...]
    answers: dict[int, Answer]
    core: Core
    seats: tuple[Seats, ...]
    links: tuple[Link, ...]
    offsets: Offsets
    state: State = attrs.field(repr=False)

    @property
    def leader(self) -> Leader | None:
        return leader_of(self.seats)

    def code(self, member: int) -> int:
        """The error code that a member was answered; `KeyError` if it was not."""
        return self.answers[member].code

    @property
    def codes(self) -> dict[int, int]:
        return {i: answer.code for i, answer in self.answers.items()}


Pick = Callable[[World], bool]


class Group:
    """A group at a coordinator of the classic family. Members are indexes; each has one connection,
    ids are small numbers of each member's own.
    """

    def __init__(
        self,
        members: int = 2,
        fail_over: bool = False,
        variant: Variant = load("classic"),
        **scope: object,
    ) -> None:
        faults = {name: 50 for name in variant.faults if name != "fail_over" or fail_over}
        fields = {"generations": 50, "faults": faults, "assignor": "range", **scope}
        spec = variant.spec(variant.scope_type(members=members, **fields))
        self.scope: Scope = spec.scope
        self.driven = Driven(spec, variant.coordinator | {r.name for r in QUEUE_RULES})
        self.see = self.driven.see
        self.now = self._world((), {}, self.driven.start())
        self.worlds: tuple[World, ...] = (self.now,)

    # -- what is there

    @property
    def core(self) -> Core:
        return self.now.core

    @property
    def phase(self) -> Phase:
        return self.core.phase

    @property
    def leader(self) -> Leader | None:
        return self.now.leader

    @property
    def offsets(self) -> Offsets:
        return self.now.offsets

    def seat(self, member: int, id: int = 0) -> Seat | None:
        return self.now.seats[member][id]

    def link(self, member: int) -> Link:
        return self.now.links[member]

    def is_member(self, member: int, id: int = 0) -> bool:
        seat = self.seat(member, id)
        return seat is not None and seat.member

    def is_pending(self, member: int, id: int = 0) -> bool:
        seat = self.seat(member, id)
        return seat is not None and not seat.member

    # -- requests; `elsewhere`: over a connection that is gone, so that nobody reads the answer and
    # nothing waits before it

    def send(
        self, member: int, request: Request, elsewhere: bool = False, pick: Pick | None = None
    ) -> World:
        link = self.link(member)
        after = evolve(link, request=request, live=False) if elsewhere else send(link, request)
        where = self.see.at["link", member]
        return self._follow(
            [((), (*self.now.state[:where], after, *self.now.state[where + 1 :]))], pick
        )

    def join(
        self,
        member: int,
        id: int = NO_ID,
        claimed: int = NO_GENERATION,
        elsewhere: bool = False,
        pick: Pick | None = None,
    ) -> World:
        return self.send(member, JoinGroup(id, claimed), elsewhere, pick)

    def sync(
        self,
        member: int,
        generation: int | None = None,
        id: int = 0,
        elsewhere: bool = False,
        pick: Pick | None = None,
    ) -> World:
        return self.send(
            member,
            SyncGroup(id, self.core.generation if generation is None else generation),
            elsewhere,
            pick,
        )

    def heartbeat(
        self, member: int, generation: int | None = None, id: int = 0, elsewhere: bool = False
    ) -> World:
        return self.send(
            member,
            Heartbeat(id, self.core.generation if generation is None else generation),
            elsewhere,
        )

    def leave(
        self, member: int, id: int = 0, elsewhere: bool = False, pick: Pick | None = None
    ) -> World:
        return self.send(member, LeaveGroup(id), elsewhere, pick)

    def commit(
        self,
        member: int,
        offset: int = 1,
        generation: int | None = None,
        id: int = 0,
        elsewhere: bool = False,
    ) -> World:
        return self.send(
            member,
            OffsetCommit(id, self.core.generation if generation is None else generation, offset),
            elsewhere,
        )

    # -- what the coordinator does by itself

    def fire(
        self,
        rule: str,
        member: int | None = None,
        pick: Pick | None = None,
        among: Pick | None = None,
    ) -> World:
        """A timer or an append; `among` restricts what is meant. `AssertionError` if it cannot
        happen now.
        """
        begun = list(self.driven.fired(self.now.state, rule, member or 0))
        return self._follow(begun, pick, among)

    def can(self, rule: str, member: int | None = None) -> bool:
        return any(True for _ in self.driven.fired(self.now.state, rule, member or 0))

    def append_commits(self, pick: Pick | None = None) -> World:
        return self.fire("append_committed", pick=pick)

    def append_fails(self) -> World:
        return self.fire("append_failed")

    def initial_delay(self, extended: bool = False, pick: Pick | None = None) -> World:
        label = "initial_delay:extended" if extended else "initial_delay:over"
        return self.fire("initial_delay", pick=pick, among=lambda w: w.labels[0] == label)

    def rebalance_timeout(self, pick: Pick | None = None) -> World:
        return self.fire("rebalance_timeout", pick=pick)

    def sync_timeout(self, pick: Pick | None = None) -> World:
        return self.fire("sync_timeout", pick=pick)

    def session_expires(self, member: int, id: int = 0, pick: Pick | None = None) -> World:
        return self.fire("session_timeout", member, pick, lambda w: w.seats[member][id] is None)

    def new_member_expires(self, member: int, id: int = 0, pick: Pick | None = None) -> World:
        return self.fire("new_member_timeout", member, pick, lambda w: w.seats[member][id] is None)

    def fails_over(self) -> World:
        return self.fire("fail_over")

    def reads_next(self, member: int) -> World:
        return self.fire("read_next", member)

    def reconnects(self, member: int) -> None:
        """The member gives its connection up and has a new one; the coordinator does not notice."""
        where = self.see.at["link", member]
        self.now = self._world(
            (), {}, (*self.now.state[:where], Link(), *self.now.state[where + 1 :])
        )

    # -- common beginnings

    def enter(self, member: int, pick: Pick | None = None) -> int:
        """The whole way of joining; returns the id, which is then parked."""
        if not self.scope.two_step:
            self.join(member, pick=pick)
            return max(id for id, _ in self.now.seats[member])
        id = self.join(member).answers[member].id
        self.join(member, id, pick=pick)
        return id

    def stabilise(self, pick: Pick | None = None) -> Group:
        """Everybody who has been told the running generation sends SyncGroup, and the leader's
        assignment is committed.
        """
        for member, seats in enumerate(self.now.seats):
            for id, seat in seats:
                if seat.due:
                    self.sync(member, id=id)
        self.append_commits(pick)
        return self

    # -- inside

    def _world(self, labels: tuple[str, ...], answers: dict[int, Answer], state: State) -> World:
        named = self.see.named(state)
        return World(
            labels, answers, named["core"], named["seats"], named["link"], named["offsets"], state
        )

    def _follow(
        self,
        begun: list[tuple[tuple[str, ...], State]],
        pick: Pick | None,
        among: Pick | None = None,
    ) -> World:
        worlds = []
        for labels, state in begun:
            for chain, rest in self.driven.settle(state):
                answers, kept = {}, list(rest)
                for i in range(self.scope.members):
                    link = rest[self.see.at["link", i]]
                    if link.answer is not None:
                        answers[i] = link.answer
                        kept[self.see.at["link", i]] = evolve(link, answer=None)
                worlds.append(self._world((*labels, *chain), answers, tuple(kept)))
        self.worlds = tuple(w for w in worlds if among is None or among(w))
        picked = [w for w in self.worlds if pick is None or pick(w)]
        assert picked, "this cannot happen now"
        assert all(w.state == picked[0].state for w in picked), f"{len(picked)} outcomes: pick one"
        self.now = picked[0]
        return self.now


def round_of(members: int = 2, joining: int | None = None, **scope: object) -> Group:
    """A group in CompletingRebalance, generation 1: members 0, 1, .. have joined in this order
    (`joining` of them), 0 leads.
    """
    group = Group(members, **scope)
    for i in range(members if joining is None else joining):
        group.enter(i)
    group.initial_delay()
    return group


def stable(members: int = 2, joining: int | None = None, **scope: object) -> Group:
    """A Stable group in generation 1, led by member 0."""
    return round_of(members, joining, **scope).stabilise()
