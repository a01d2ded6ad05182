"""The leader: it makes the plan when it gets the answer to its JoinGroup, and changes its memory
then, whether or not its SyncGroup ever arrives (protocol.md 4.1; Kafka:
WorkerCoordinator.onLeaderElected, IncrementalCooperativeAssignor.performAssignment).

So a walk over all seats begins when a generation does (`Survey`): it collects what the workers
report, if the leader has got its answer. The rule `make_plan` asks the assignor. A second walk
(`Deal`) writes each worker's share to its seat, where it waits for the leader's SyncGroup. A leader
that asks again, because it has lost the answer, makes another plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.assignment import Assign, WriteRecord
from groupcheck.model.protocol.classic.client import Client, Prepare
from groupcheck.model.protocol.classic.group import (
    ENDED,
    REST,
    Core,
    Errand,
    Phase,
    Seat,
    Seats,
    Walk,
)
from groupcheck.model.protocol.classic.rounds import Complete, Vote
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.connect.memory import Memory, Schedule
from groupcheck.model.protocol.connect.plans import (
    Chosen,
    Claim,
    Planned,
    Share,
    forgotten,
    plans,
)
from groupcheck.model.protocol.connect.scope import ConnectScope
from groupcheck.model.protocol.connect.worker import AnswerFacts, Led, Worker
from groupcheck.model.protocol.link import Link, deliver
from groupcheck.model.protocol.messages import FOLLOWS, SyncGroup
from groupcheck.model.protocol.transform import extended, rewritten

# -- Survey: what the workers report


@frozen
class Leader:
    """The facts that the leader knows as it makes the plan."""

    # How far it had read the topic of configurations when it joined, and how far it has now.
    joined: int
    read: int
    led: Led


@frozen(kw_only=True)
class Survey(Errand):
    """The reports of all workers are collected. (See `walks` for what a walk is.)"""

    generation: int
    # The leader's plan of this generation is being appended; another one only changes its memory.
    appending: bool
    # In ascending order: no order of workers shows.
    claims: tuple[Claim, ...] = ()
    # How far the worker that is furthest had read the topic of configurations.
    offset: int = 0
    # None: it has not got the answer to its JoinGroup.
    leader: Leader | None = None


def surveying(core: Core) -> Core:
    """Begin, once a generation has begun and its assignor is chosen."""
    if core.phase == Phase.COMPLETING and not core.errands:
        errand = Survey(generation=core.generation, appending=core.appending)
        return evolve(core, errands=(errand,))
    return core


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Survey))
def survey(
    walk: Walk[Survey], seats: Seats, client: Client, worker: Worker, scope: ConnectScope
) -> Iterator[tuple[Walk[Survey], Seats, Client, Worker]]:
    """The leader has learned from the JoinGroup answer what the workers report."""
    errand = walk.errand
    claims = list(errand.claims)
    for id, seat in seats:
        if seat.member:
            claims.append(claim_of(seat))
            errand = evolve(errand, offset=max(errand.offset, seat.more.offset))
            hears = client.id == id and client.prepare == Prepare.SYNC
            if seats.leader == id and hears and client.generation == errand.generation:
                leader = Leader(seat.more.offset, worker.read, worker.led)
                errand = evolve(errand, leader=leader)
    errand = evolve(errand, claims=tuple(sorted(claims)))
    yield walk.passed(errand, scope), seats, client, worker


# -- the plan


@frozen(kw_only=True)
class Deal(Errand):
    """Each worker's share is written to its seat."""

    error: bool
    offset: int
    delay: bool
    # Without what workers have got already.
    chosen: Chosen
    # The leader has memory of the workers.
    remembers: bool
    # As in `Survey`.
    appending: bool
    # As in `Told`.
    eager: bool = False


@urgent(
    "unheard",
    "behind",
    "planned",
    "delayed",
    when=lambda walk: walk.at == ENDED and isinstance(walk.errand, Survey),
)
def make_plan(
    walk: Walk[Errand], memory: Memory, scope: ConnectScope
) -> Iterator[tuple[str, Walk[Errand], Memory]]:
    """The leader makes its plan. If it is behind a worker and cannot catch up, all workers are told
    to join again (CONFIG_MISMATCH), and its memory stays as it is (ensureLeaderConfig).
    """
    yield from planned(walk, memory, scope)


# All plans that a leader may make; its arguments are the first of `plans.plans`.
Planner = Callable[[Memory, bool, tuple[Claim, ...], int, ConnectScope], Iterable[Planned]]


def planned(
    walk: Walk[Errand], memory: Memory, scope: ConnectScope, planner: Planner = plans
) -> Iterator[tuple[str, Walk[Errand], Memory]]:
    """The same with another planner: that of another release, or one that makes one plan of all."""
    errand = walk.errand
    assert isinstance(errand, Survey)
    leader = errand.leader
    if leader is None:
        yield "unheard", REST, memory
        return
    offset = errand.offset if leader.joined >= errand.offset else leader.read
    if offset < errand.offset:
        same = tuple((c, Share(c.owned, candidate=c.candidate)) for c in errand.claims)
        deal = Deal(
            error=True,
            offset=errand.offset,
            delay=False,
            chosen=same,
            remembers=True,
            appending=errand.appending,
        )
        yield "behind", Walk(0, deal), memory
        return
    first = leader.led == Led.NO
    claims = forgotten(errand.claims) if first else errand.claims
    for made in planner(
        Memory() if first else memory,
        leader.led == Led.SETTLED,
        claims,
        scope.configured(offset),
        scope,
    ):
        deal = Deal(
            error=False,
            offset=offset,
            delay=made.delay,
            chosen=made.chosen,
            remembers=not first,
            appending=errand.appending,
        )
        yield "delayed" if made.delay else "planned", Walk(0, deal), made.memory


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Deal))
def deal_out(
    walk: Walk[Deal], seats: Seats, worker: Worker, scope: ConnectScope
) -> Iterator[tuple[Walk[Deal], Seats, Worker]]:
    """The shares of the plan are noted, and whose memory the leader's is."""
    ways = [(walk.errand, seats)]
    for id, seat in seats:
        if seat.member:
            ways = [after for way in ways for after in _deal(*way, id)]
    if not walk.errand.error:
        worker = evolve(worker, led=Led.NO if seats.leader is None else Led.MADE)
    for errand, dealt in ways:
        yield walk.passed(errand, scope), dealt, worker


def _deal(errand: Deal, seats: Seats, id: int) -> Iterator[tuple[Deal, Seats]]:
    """One worker gets its share, in all the ways in which it may."""
    seat = seats[id]
    assert seat is not None
    mine = claim_of(seat) if errand.remembers else forgotten((claim_of(seat),))[0]
    for claim, share in dict.fromkeys(errand.chosen):
        if claim != mine:
            continue
        at = errand.chosen.index((claim, share))
        left = evolve(errand, chosen=errand.chosen[:at] + errand.chosen[at + 1 :])
        told = AnswerFacts(
            error=errand.error,
            offset=errand.offset,
            delay=errand.delay,
            stops=bool(share.stops),
            candidate=share.candidate,
        )
        if errand.appending and seat.told is not None:
            yield (
                left,
                seats.put(id, evolve(seat, told=evolve(seat.told, candidate=share.candidate))),
            )
        else:
            owned = 0 if errand.error else share.owned
            yield left, seats.put(id, evolve(seat, share=owned, told=told))


def claim_of(seat: Seat) -> Claim:
    """The report of the worker at a seat, and the leader's memory of the worker."""
    told = seat.told
    return Claim(seat.owned, told is not None and told.known, told is not None and told.candidate)


# -- what the coordinator does with it


def leading(original: Rule) -> Rule:
    """The end of a walk, with that of `Deal`, and with a survey where a generation has begun."""

    def end_walk(
        core: Core, walk: Walk[Errand], scope: ConnectScope
    ) -> Iterator[tuple[Core, Walk[Errand]]]:
        if isinstance(walk.errand, Deal):
            yield core, REST
            return
        begins = isinstance(walk.errand, Complete | Vote)
        for after, rest in original.call(core, walk, scope):
            yield surveying(after) if begins else after, rest

    return rewritten(original, end_walk)


def asking_again(original: Rule) -> Rule:
    """A JoinGroup of the leader that is answered at once lists the members, too."""

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: ConnectScope
    ) -> dict[str, Any]:
        leads = before["seats"].leader == before["link"].request.id
        if label == "unchanged" and leads:
            return {**after, "core": surveying(after["core"])}
        return after

    return extended(original, change)


def answering(original: Rule) -> Rule:
    """Parked SyncGroups are answered with the shares that the leader has made."""

    def answer_syncs(
        walk: Walk[Assign], seats: Seats, link: Link, scope: ConnectScope
    ) -> Iterator[tuple[Walk[Assign], Seats, Link]]:
        errand = walk.errand
        for id, seat in seats:
            if not seat.member:
                continue
            if seat.sync and isinstance(link.parked, SyncGroup):
                fields = (id, link.parked.generation, seat.share, FOLLOWS, seat.told)
                link = deliver(link, SyncGroup, id, NONE, *fields)
            due = seat.due and "sync_timeout" in errand.keeps
            seats = seats.put(id, evolve(seat, sync=False, due=due))
        if "fail_over" in errand.keeps:
            seats = seats.recorded(tuple([(id, s.logged) for id, s in seats if s.member]))
        else:
            seats = seats.unrecorded()
        yield walk.passed(errand, scope), seats, link

    return rewritten(original, answer_syncs)


def recording(original: Rule) -> Rule:
    """The leader's plan is written to the log."""

    def record_plan(
        walk: Walk[WriteRecord], seats: Seats, scope: ConnectScope
    ) -> Iterator[tuple[Walk[WriteRecord], Seats]]:
        record = tuple([(id, seat.logged) for id, seat in seats if seat.member])
        yield walk.passed(walk.errand, scope), seats.recorded(record)

    return rewritten(original, record_plan)


def restarting(original: Rule) -> Rule:
    """A round starts: of the last plan only what the leader remembers counts, and what a worker
    has reported only if that was for this round.
    """

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: ConnectScope
    ) -> dict[str, Any]:
        seats = after["seats"]
        for id, seat in seats:
            if seat.told is not None:
                kept = AnswerFacts(candidate=seat.told.candidate, known=seat.told.known)
                seat = evolve(seat, told=kept)
            if not seat.join:
                seat = evolve(seat, more=None)
            seats = seats.put(id, seat)
        return {**after, "seats": seats}

    return extended(original, change)


@rule(when=lambda memory: memory.schedule == Schedule.RUNNING)
def delay_over(memory: Memory) -> Iterator[Memory]:
    """scheduled.rebalance.max.delay.ms, or a back-off, has passed: the one step of time."""
    yield attrs.evolve(memory, schedule=Schedule.OVER)
