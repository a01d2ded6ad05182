"""A feature of every classic group: a fail-over takes its phases (protocol.md 1.14, 7.6), where the
base moves the coordinator in one step (`failover`). It is on where the scope says `phases`.

    the coordinator moves       in one of three ways, the outcomes of `fail_over`:
        resigned                the broker unloads the group, or dies. What waits ends with 16
                                NOT_COORDINATOR, or with its connection, which is the same to a
                                member: it looks for the coordinator and connects to it.
        regained                the same, but it is the same broker that is elected again.
                                Connections are as good as before, so a SyncGroup may reach it.
        unnoticed               the broker does not know yet that it is no coordinator any more. It
                                goes on answering from its memory (a zombie). It cannot write.
    the next one loads          It answers 14 COORDINATOR_LOAD_IN_PROGRESS, and Heartbeat with NONE,
                                until `load_group`: then the members of the last group record are
                                back, each with a full session timer.
    the former one learns       `former_learns` ends a zombie: what waits there ends with 16.

Every connection leads to one broker. One that leads to the former coordinator is `Link.stale`,
until the member is answered 16 or connects again. So a member can be pinned to a zombie, which
answers its heartbeats, while its session times out at the new coordinator.

What is in flight to the log at the moment of the move survives or not, as the base has it: that was
decided when it was written.

Left out, because it is the same as something else to the group:

- The time in which there is no coordinator. FindCoordinator is answered 15, or with the former
  coordinator, and members do nothing meanwhile.
- A load that fails, or is interrupted by another move: the log is the same afterwards.

Left out, although it shows:

- What would change a zombie's memory: rounds, members that leave or time out there. A request that
  would is answered 16 at once, which is how it ends when the zombie learns; the other members do
  not hear of it. So is one whose answer waits for the append of the leader's assignment. (Behind
  the appends of an Empty group and of an assignment that was overtaken, answers wait, too.)
- A second move before the zombie of the first one has learned of that.
- Late requests to the former coordinator.

Kafka: CoordinatorRuntime.CoordinatorState, GroupMetadataManager.onUnloaded, onLoaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import cache
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, array, but, rule, single, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client_faults, coordinator, failover, forgetting
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.group import REST, Core, Errand, Seats, Walk
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.walks import begin_walk, end_walk
from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    NONE,
    NOT_COORDINATOR,
)
from groupcheck.model.protocol.family import MOVING
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.feature import inserted, own, rebuilt, rewritten
from groupcheck.model.protocol.link import Link, reply
from groupcheck.model.protocol.messages import Answer, Heartbeat

LOADING = "loading"  # the label of an answer of a coordinator that loads
SENT_AWAY = "not_coordinator"  # the label of a former coordinator's answer 16
FORMER = "former_"  # `former_heartbeat` is `heartbeat` at the former coordinator
NOBODY = Seats()


class Way(IntEnum):
    """Why a broker forgets the group, or does not."""

    RESIGNED = 0
    REGAINED = 1
    UNNOTICED = 2
    # A former coordinator that was unnoticed learns that it is none.
    LEARNED = 3

    __hash__ = int.__hash__

    def __str__(self) -> str:
        return self.name.lower()


WAYS = (Way.RESIGNED, Way.REGAINED, Way.UNNOTICED)

# -- Unload: the coordinator's memory is lost


@frozen(kw_only=True)
class Unload(Errand):
    """The ids in memory are forgotten, and what waits is answered, at every seat. (See `walks` for
    what a walk is.)
    """

    way: Way


def moves(core: Core, way: Way) -> Core:
    """Begin: the group is in no coordinator's memory; the next one will load it."""
    return but(core, loading=True, errands=(Unload(way=way),))


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Unload))
def unload(
    walk: Walk[Unload], seats: Seats, link: Link, former_seats: Seats, scope: Scope
) -> Iterator[tuple[Walk[Unload], Seats, Link, Seats]]:
    """The broker unloads the group: what waits is answered 16. A broker that does not know that it
    is no coordinator keeps its memory, and what waits goes on waiting.
    """
    way, after = walk.errand.way, walk.passed(walk.errand, scope)
    forgotten = but(seats, ids=(), leader=None)
    if way == Way.UNNOTICED:
        yield after, forgotten, but(link, late=None, stale=True), remembered(seats)
    elif way == Way.LEARNED:
        yield after, seats, sent_away(link) if link.stale else link, NOBODY
    elif way == Way.REGAINED:
        yield after, forgotten, sent_away(link), NOBODY
    else:
        told = sent_away(link)
        stale = told.answer is None  # who is told has looked for the next coordinator
        yield after, forgotten, but(told, late=None, stale=stale), NOBODY


def sent_away(link: Link) -> Link:
    """What waits is answered 16. The member gives up the connection, with what it has sent behind
    that.
    """
    if link.parked is None or link.orphaned:
        return link
    return Link(late=link.late, answer=Answer(link.parked, NOT_COORDINATOR))


@cache
def ending(end_walk: Rule) -> Rule:
    """End: nothing more to write back."""

    def call(core: Core, walk: Walk[Any], scope: Scope) -> Iterator[Any]:
        if isinstance(walk.errand, Unload):
            yield core, REST
        else:
            yield from end_walk.call(core, walk, scope)

    return rewritten(end_walk, call)


def remembered(seats: Seats) -> Seats:
    """What a zombie remembers, as far as answers depend on it."""
    kept = [(id, but(seat, hurried=False, due=False, owed=None)) for id, seat in seats]
    return but(seats, ids=tuple(kept), durable=(), durable_leader=None)


def remembered_group(core: Core) -> Core:
    """The same of the group. Its timers do not run."""
    return but(
        core,
        due=0,
        deadline=False,
        durable=(0, False, None),
        recorded=False,
        unlogged=0,
        keeps=(),
        errands=(),
    )


# -- The coordinator moves


@cache
def in_phases(usual: Rule, *ways: Way) -> Rule:
    """The rule of a fail-over, which begins with one of these ways. Without ways the broker is
    restarted, so it has resigned.
    """
    labels = tuple(str(way) for way in ways)

    def call(
        core: Core, budget: Budget, former: Core | None, scope: Scope
    ) -> Iterator[tuple[Any, ...]]:
        if core.loading or former is not None:
            return
        given = (core, budget, *((scope,) if usual.takes_scope else ()))
        for after, spent in usual.call(*given):
            for way in ways or (Way.RESIGNED,):
                zombie = remembered_group(core) if way == Way.UNNOTICED else None
                outcome = moves(but(after, errands=()), way), spent, zombie
                yield (str(way), *outcome) if labels else outcome

    call.__doc__ = usual.doc
    return rewritten(usual, call, *usual.slots, "former", labels=labels, takes_scope=True)


@rule(when=lambda former: former is not None)
def former_learns(core: Core, former: Core | None) -> Iterator[tuple[Core, Core | None]]:
    """The former coordinator learns that it is none any more, and unloads the group."""
    yield but(core, errands=(Unload(way=Way.LEARNED),)), None


@rule(when=lambda core: core.loading)
def load_group(core: Core) -> Iterator[Core]:
    """The new coordinator has read the log: the members of the last group record are there, each
    with a full session timer.
    """
    yield failover.loads(but(core, loading=False))


@cache
def over_connections(reload: Rule) -> Rule:
    """The load does not touch connections: the move has."""

    def call(walk: Walk[Any], seats: Seats, link: Link, scope: Scope) -> Iterator[Any]:
        for after, there, _ in reload.call(walk, seats, link, scope):
            yield after, there, link

    return rewritten(reload, call)


@cache
def once_loaded(close_books: Rule) -> Rule:
    """What the log says is not forgotten before it was loaded."""

    def call(core: Core, budget: Budget) -> Iterator[Any]:
        if not core.loading:
            yield from close_books.call(core, budget)

    return rewritten(close_books, call)


# -- Requests to a coordinator that loads, and to a former one


@cache
def while_loading(usual: Rule) -> Rule:
    """The rule of a request, which a coordinator that loads answers at once
    (GroupCoordinatorService.handleOperationException).
    """

    def call(core: Core, seats: Seats, link: Link, *scope: Scope) -> Iterator[Outcome]:
        request = link.request
        if core.loading and request is not None:
            code = NONE if isinstance(request, Heartbeat) else COORDINATOR_LOAD_IN_PROGRESS
            yield LOADING, core, seats, reply(link, Answer(request, code))
        else:
            yield from usual.call(core, seats, link, *scope)

    call.__doc__ = usual.doc
    return rewritten(usual, call, labels=(*usual.labels, LOADING))


# Outcomes of requests that change the coordinator's memory or the log.
CHANGES = frozenset(
    """
    join_group:id_required join_group:added join_group:parked join_group:restarted
    join_group:replaced join_group:replaced_and_parked join_group:replaced_and_restarted
    sync_group:led sync_group:parked
    leave_group:pending leave_group:left leave_group:removed
    offset_commit:accepted
    """.split()
)

# Outcomes whose answers the runtime holds back until what was written before is replicated. (Errors
# are not held back, nor what JoinGroup and SyncGroup are answered.)
WAITS = frozenset(
    "heartbeat:accepted heartbeat:rebalancing leave_group:unknown leave_group:fenced".split()
)


@cache
def at_former(usual: Rule) -> Rule:
    """The rule of the same request to a broker that is no longer the coordinator. If it knows that,
    it answers 16. If not, it answers from its memory as `usual`, unless that would change its
    memory or the log.
    """
    guard: Callable[..., bool] = usual.guard.call  # type: ignore[union-attr]
    labels = [label for label in usual.labels if f"{usual.name}:{label}" not in CHANGES]
    # That a commit is accepted is an outcome which nothing but a bug leads to.
    writes = ("accepted",) if usual.name == coordinator.offset_commit.name else ()

    @urgent(*labels, *writes, SENT_AWAY, when=lambda link: link.stale and guard(link))
    def former_request(
        former: Core | None, former_seats: Seats, link: Link, scope: Scope
    ) -> Iterator[tuple[str, Core | None, Seats, Link]]:
        found = {SENT_AWAY: refused(link)}
        if former is not None:
            given = (scope,) if usual.takes_scope else ()
            for label, _, _, after in usual.call(former, former_seats, link, *given):
                waits = former.appending and f"{usual.name}:{label}" in WAITS
                if label in labels and not waits:
                    found = {label: after}
        for label, after in found.items():
            yield label, former, former_seats, after

    former_request.call.__doc__ = f"A former coordinator is asked. {usual.doc}"
    return attrs.evolve(former_request, name=FORMER + usual.name)


def refused(link: Link) -> Link:
    """The answer 16. The member gives up the connection, with what it has sent behind the request,
    looks for the coordinator and connects to that.
    """
    assert link.request is not None
    told = reply(link, Answer(link.request, NOT_COORDINATOR))
    return Link(late=told.late, answer=told.answer) if link.live else told


@cache
def not_to_a_former_one(delay_request: Rule) -> Rule:
    """A request that is late at a former coordinator is left out."""

    def call(*args: Any) -> Iterator[Any]:
        link = dict(zip(delay_request.slots, args))["link"]
        if not link.stale:
            yield from delay_request.call(*args)

    return rewritten(delay_request, call)


# -- The feature, put together

REQUESTS = coordinator.REQUEST_RULES
# What a coordinator does in the phases of a fail-over.
PHASES = frozenset({r.name for r in (former_learns, load_group, unload)}) | {
    FORMER + r.name for r in REQUESTS
}
SWITCHED = {"phases": MOVING}
LATE = client_faults.delay_request.name
# Other rules of a fail-over that a feature may have added.
RESTARTS = ("lower_max_size",)


def moving(spec: Spec) -> Spec:
    """The feature: a fail-over takes its phases. It comes after the other features."""
    if not spec.scope.phases:
        return spec
    there = {r.name: r for r in spec.rules}
    rules = [
        in_phases(own(spec, failover.fail_over), *WAYS),
        *(in_phases(there[name]) for name in RESTARTS if name in there),
        over_connections(own(spec, failover.reload)),
        ending(own(spec, end_walk)),
        once_loaded(own(spec, forgetting.close_books)),
        *(not_to_a_former_one(r) for r in spec.rules if r.name == LATE),
        *(while_loading(own(spec, r)) for r in REQUESTS),
    ]
    former = [at_former(own(spec, r)) for r in REQUESTS]
    spec = rebuilt(
        spec,
        (),
        (load_group, former_learns),
        former=single(None, of=Core | None),
        former_seats=array(spec.scope.members, NOBODY),
    )
    spec = inserted(inserted(spec, begin_walk, unload), REQUESTS[0], *former)
    return rebuilt(spec, rules)
