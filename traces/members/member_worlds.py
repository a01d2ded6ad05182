"""The states that a member may be in, as far as its log shows: the model's own member, with the
steps of its rules.

A log names generations and member ids, but the rules only compare them. So a world is relative:
generation 0 is the one that the member joined last, id 0 the one that it was given last. The
numbers themselves are kept in `life`. There are few worlds, so every step is computed once.

A line that no world explains is no accusation: lines may have been cut out, or two processes may
share a name. A join that was refused proves nothing about the session: a frozen member sends it
first when it wakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from functools import cache

from attrs import Factory, frozen

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.tabled.steps import Steps
from groupcheck.model.protocol.classic import client as rules
from groupcheck.model.protocol.classic.client import Client, Member, Prepare
from groupcheck.model.protocol.classic.rules import spec
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)

_STEPS = Steps(spec(Scope(members=1, generations=2)))
_START = _STEPS.start()
_CLIENT, _LINK = _STEPS.places["client", 0], _STEPS.places["link", 0]
_GENERATION, _ID = 0, 0
_ANSWERED_BY: dict[type[Request], Rule] = {
    JoinGroup: rules.join_answer,
    SyncGroup: rules.sync_answer,
    Heartbeat: rules.heartbeat_answer,
    OffsetCommit: rules.commit_answer,
}
ERRORS = {
    "UNKNOWN_MEMBER_ID": UNKNOWN_MEMBER_ID,
    "ILLEGAL_GENERATION": ILLEGAL_GENERATION,
    "FENCED_INSTANCE_ID": FENCED_INSTANCE_ID,
}
"""Errors in answers that make a member forget its generation."""


@frozen
class MemberWorld:
    """A member, and the request of the rebalance that it waits for."""

    client: Client = Factory(Client)
    # Heartbeats and commits are not kept: their answers may come at any time.
    flight: JoinGroup | SyncGroup | None = None

    @property
    def keeps_id(self) -> bool:
        """Does its JoinGroup name the member id that it had before?"""
        return isinstance(self.flight, JoinGroup) and self.flight.id != NO_ID


Worlds = frozenset[MemberWorld]
Step = Callable[[MemberWorld], Iterable[MemberWorld]]


def _fire(rule: Rule, client: Client, link: Link) -> Iterator[tuple[str, Client, Link]]:
    state = _STEPS.changed(_START, {_CLIENT: client, _LINK: link})
    for name, end in _STEPS.fired(rule.name, 0).after(state):
        after, then = _STEPS.value(_CLIENT, end[_CLIENT]), _STEPS.value(_LINK, end[_LINK])
        # What was processed and fetched is no business of a member's life.
        yield name.partition(":")[2], evolve(after, failed=NONE, position=-1, dirty=False), then


def _answered(
    world: MemberWorld, request: Request, answer: Answer
) -> Iterator[tuple[str, MemberWorld]]:
    """The member after an answer to one of its requests."""
    flight = None if request is world.flight else world.flight
    for name, client, _ in _fire(_ANSWERED_BY[type(request)], world.client, Link(answer=answer)):
        yield name, MemberWorld(client, flight)


def joins(world: MemberWorld) -> Iterator[MemberWorld]:
    """JoinGroup is sent."""
    if world.flight is None:
        for _, client, link in _fire(rules.send_join, world.client, Link()):
            if isinstance(link.request, JoinGroup):
                yield MemberWorld(client, link.request)


def given_id(world: MemberWorld) -> Iterator[MemberWorld]:
    """JoinGroup is answered with an id to join with."""
    if isinstance(world.flight, JoinGroup) and not world.keeps_id:
        answer = Answer(world.flight, MEMBER_ID_REQUIRED, _ID)
        yield from (after for _, after in _answered(world, world.flight, answer))


def joined(world: MemberWorld) -> Iterator[MemberWorld]:
    """JoinGroup is answered: the member is in a generation."""
    if isinstance(world.flight, JoinGroup):
        answer = Answer(world.flight, NONE, _ID, _GENERATION)
        for name, after in _answered(world, world.flight, answer):
            if name == "joined":
                yield after


def sends_sync(world: MemberWorld) -> Iterator[MemberWorld]:
    """SyncGroup is sent."""
    if world.client.prepare == Prepare.SYNC:
        for _, client, link in _fire(rules.send_sync, world.client, Link()):
            assert isinstance(link.request, SyncGroup)
            yield MemberWorld(client, link.request)


def synced(world: MemberWorld) -> Iterator[MemberWorld]:
    """SyncGroup is answered with the member's share."""
    if isinstance(world.flight, SyncGroup):
        answer = Answer(world.flight, NONE, _ID, _GENERATION)
        for name, after in _answered(world, world.flight, answer):
            if name == "assigned":
                yield after


def leaves(world: MemberWorld) -> Iterator[MemberWorld]:
    """LeaveGroup is sent. The member forgets its generation in the next step."""
    if world.client.state != Member.UNJOINED and world.client.id != NO_ID:
        yield world


def settled(world: MemberWorld) -> Iterator[MemberWorld]:
    """The round is over: the line of a version that prints a round in one."""
    if world.client.state == Member.STABLE:
        yield world


def forgets(world: MemberWorld) -> Iterator[MemberWorld]:
    """The member forgets its generation and its id, because it leaves."""
    yield MemberWorld(rules.reset(world.client, True), world.flight)


def _fails(world: MemberWorld) -> Iterator[MemberWorld]:
    """The request in flight fails, or its answer comes too late: the member tries again."""
    if world.flight is not None:
        for code in (COORDINATOR_NOT_AVAILABLE, REBALANCE_IN_PROGRESS, NONE):
            answer = Answer(world.flight, code, _ID, _GENERATION)
            for name, after in _answered(world, world.flight, answer):
                if name in ("retry", "ignored"):
                    yield after


def _hears(world: MemberWorld) -> Iterator[MemberWorld]:
    """The member learns that it has to join again, or decides so."""
    if world.client.state == Member.STABLE:
        yield MemberWorld(evolve(world.client, rejoin=True), world.flight)


def _refused(error: int, kind: type[Request]) -> Step:
    """The step in which an answer of this kind makes the member forget its generation."""

    def step(world: MemberWorld) -> Iterator[MemberWorld]:
        c = world.client
        request: Request | None = world.flight
        if kind is Heartbeat:
            request = Heartbeat(c.id, c.generation)
        elif kind is OffsetCommit:
            request = OffsetCommit(c.id, c.generation, 0)
        if request is not None and isinstance(request, kind):
            for name, after in _answered(world, request, Answer(request, error)):
                if name in ("refused", "fatal"):
                    yield after

    return step


REFUSED: dict[tuple[str, type[Request]], Step] = {
    (error, kind): _refused(code, kind) for error, code in ERRORS.items() for kind in _ANSWERED_BY
}
"""Error and request -> the step in which such an answer makes the member forget its generation."""
RESETS = tuple(REFUSED.values())


class Tells(IntEnum):
    """The lines that a version of the Java client prints at its usual level."""

    # Before 2.7: a round in one line, behind SyncGroup.
    ROUNDS = 0
    # 2.7 and later: the answers to JoinGroup and SyncGroup, too.
    ANSWERS = 1
    # 3.0 and later: why it forgets its generation, too.
    RESETS = 2


_SILENT: tuple[Step, ...] = (sends_sync, _fails, _hears)
"""Steps that no version prints."""
_UNTOLD: dict[Tells, tuple[Step, ...]] = {
    Tells.ROUNDS: (*_SILENT, forgets, *RESETS, given_id, joined, synced),
    Tells.ANSWERS: (*_SILENT, forgets, *RESETS, given_id),
    Tells.RESETS: _SILENT,
}


@cache
def apart_from_lines(worlds: Worlds, tells: Tells) -> Worlds:
    """The worlds, and those behind steps that the log does not show."""
    return _closed(worlds, _UNTOLD[tells])


def _closed(worlds: Iterable[MemberWorld], steps: Iterable[Step]) -> Worlds:
    known = set(worlds)
    fresh = list(known)
    while fresh:
        world = fresh.pop()
        for step in steps:
            for after in step(world):
                if after not in known:
                    known.add(after)
                    fresh.append(after)
    return frozenset(known)


@cache
def behind(worlds: Worlds, steps: tuple[Step, ...]) -> Worlds:
    """The worlds behind one of these steps."""
    return frozenset(after for world in worlds for step in steps for after in step(world))


_DUE: dict[str, tuple[Step, ...]] = {
    "join": (joins,),
    "join answer": (joined, given_id),
    "sync answer": (synced,),
}


@cache
def due(worlds: Worlds) -> frozenset[str]:
    """The steps that a log shows next if nothing fails, over all worlds: JoinGroup is sent, or it
    or SyncGroup is answered; none if the member may be at rest.
    """
    each = [
        {name for name, steps in _DUE.items() if behind(_closed([world], (sends_sync,)), steps)}
        for world in worlds
    ]
    return frozenset().union(*each) if each and all(each) else frozenset()


@cache
def every_world() -> Worlds:
    """All that a member can be: a log may begin anywhere."""
    return _closed([MemberWorld()], (joins, *_UNTOLD[Tells.ROUNDS]))
