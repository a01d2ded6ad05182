"""A feature of every classic group: a fail-over takes its phases (protocol.md 1.14, 7.6), where the
base moves the coordinator in one step (`failover`). It is on where the scope says `phases`.

    the coordinator moves       in one of three ways, the outcomes of `fail_over`:
        resigned                the broker unloads the group, or dies. What waits ends with 16
                                NOT_COORDINATOR, or with its connection, which is the same to a
                                member: it looks for the coordinator (`find_coordinator`).
        regained                the same, but it is the same broker that is elected again.
                                Connections are as good as before, so a SyncGroup may reach it.
        unnoticed               the broker does not know yet that it is no longer the coordinator.
                                It goes on answering from its memory (a zombie). It cannot write.
    the next one loads          It answers 14 COORDINATOR_LOAD_IN_PROGRESS, and Heartbeat with NONE,
                                until `load_group`: then the members of the last group record are
                                back, each with a full session timer.
    the former one learns       `former_learns` ends a zombie: what waits there ends with 16.

Every connection leads to one broker. One that leads to the former coordinator is `Link.stale`
(`zombie_coordinator` says what is answered there), until the member is answered 16 or loses it. So
a member can be pinned to a zombie, which answers its heartbeats, while its session times out at the
new coordinator.

What is in flight to the log at the moment of the move survives or not, as the base has it: that was
decided when it was written.

It comes after all other features and takes their rules as they have left them. What other features
add to the coordinator is named here: requests (`former.REQUESTS`), what is not done while the group
is loaded (`ONCE_LOADED`), what concerns connections to the coordinator (`AT_COORDINATOR`), other
fail-overs (`RESTARTS`).

Left out, because it is the same as something else to the group:

- A load that fails, or is interrupted by another move: the log is the same afterwards.
- An administrator's request, or the end of a transaction, that reaches a coordinator while it
  loads, or a former one: it changes nothing and is sent again. (The rows of `conform offsets` say
  what it is answered.)

Left out, although it shows:

- What would change a zombie's memory: rounds, members that leave or time out there. A request that
  would is answered 16 at once, which is how it ends when the zombie learns; the other members do
  not hear of it. So is one whose answer waits for the append of the leader's assignment. (Behind
  the appends of an Empty group and of an assignment that was overtaken, answers wait, too.)
- A second move before the zombie of the first one has learned of that.
- Late requests to the former coordinator.
- A producer has no connection of its own: after 16 the member of its process, too, looks for the
  coordinator.

Kafka: CoordinatorRuntime.CoordinatorState, GroupMetadataManager.onUnloaded, onLoaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import cache
from typing import Any

from attrs import frozen

from groupcheck.model.engine import Spec, evolve, rule, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client_faults, dead_values, failover
from groupcheck.model.protocol.classic.features import several_groups
from groupcheck.model.protocol.classic.features.find_coordinator import find_coordinator_first
from groupcheck.model.protocol.classic.features.full_offsets import admin, transactions
from groupcheck.model.protocol.classic.features.full_offsets.kept import OffsetStore
from groupcheck.model.protocol.classic.features.twins import meet_twin, tell_twin
from groupcheck.model.protocol.classic.features.zombie_coordinator import (
    BEFORE,
    BEHIND,
    FORMER,
    NOBODY,
    REQUESTS,
    at_former,
    former_slots,
    keeps_offsets,
    not_at_former,
    over_former_seats,
    remembered,
    remembered_group,
    remembered_offsets,
)
from groupcheck.model.protocol.classic.group import REST, Core, Errand, Seats, Walk
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.walks import begin_walk, end_walk
from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    NONE,
    NOT_COORDINATOR,
)
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.link import Link, reply
from groupcheck.model.protocol.messages import Answer, Heartbeat
from groupcheck.model.protocol.transform import (
    extended,
    inserted,
    outcomes_changed,
    rebuilt,
    rewritten,
)

FAMILY = Family("fail-over in phases", base="classic")

LOADING = "loading"  # the label of an answer of a coordinator that loads


class Way(IntEnum):
    """Why a broker forgets the group, or does not."""

    RESIGNED = 0
    REGAINED = 1
    UNNOTICED = 2
    # A broker that did not know it learns that it is no longer the coordinator.
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
    return evolve(core, loading=True, errands=(Unload(way=way),))


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Unload))
def unload(
    walk: Walk[Unload], seats: Seats, link: Link, former_seats: Seats, scope: Scope
) -> Iterator[tuple[Walk[Unload], Seats, Link, Seats]]:
    """The broker unloads the group: what waits is answered 16. A broker that does not know that it
    is no longer the coordinator keeps its memory, and what waits goes on waiting.
    """
    way, after = walk.errand.way, walk.passed(walk.errand, scope)
    forgotten = evolve(seats, ids=(), leader=None)
    if way == Way.UNNOTICED:
        yield after, forgotten, evolve(link, late=None, stale=True), remembered(seats)
    elif way == Way.LEARNED:
        yield after, seats, sent_away(link) if link.stale else link, NOBODY
    elif way == Way.REGAINED:
        yield after, forgotten, sent_away(link), NOBODY
    else:
        yield after, forgotten, evolve(sent_away(link), late=None, stale=True), NOBODY


def sent_away(link: Link) -> Link:
    """Answers 16 to a request that waits."""
    if link.parked is None or link.orphaned:
        return link
    return evolve(link, parked=None, answer=Answer(link.parked, NOT_COORDINATOR))


@cache
def ending(end_walk: Rule) -> Rule:
    """End: nothing more to write back."""

    def call(*given: Any) -> Iterator[Any]:
        values = dict(zip(end_walk.slots, given))
        if isinstance(values["walk"].errand, Unload):
            yield tuple({**values, "walk": REST}.values())
        else:
            yield from end_walk.call(*given)

    return rewritten(end_walk, call)


# -- The coordinator moves


@cache
def in_phases(usual: Rule, *ways: Way) -> Rule:
    """The rule of a fail-over, which begins with one of these ways. Without ways the broker is
    restarted, so it has resigned.
    """
    labels = tuple(str(way) for way in ways)

    forgets = ("former", "former_offsets") if "offsets" in usual.slots else ("former",)

    def call(*given: Any) -> Iterator[tuple[Any, ...]]:
        values, scope = given[: len(usual.slots)], given[-1]
        before = dict(zip(usual.slots, values, strict=True))
        core: Core = before["core"]
        if core.loading or given[len(usual.slots)] is not None:
            return
        zombie: list[Core | OffsetStore] = [remembered_group(core)]
        if "offsets" in before:
            zombie.append(remembered_offsets(before["offsets"]))
        for outcome in usual.call(*values, *((scope,) if usual.takes_scope else ())):
            after = dict(zip(usual.slots, outcome, strict=True))
            for way in ways or (Way.RESIGNED,):
                moved = {**after, "core": moves(evolve(after["core"], errands=()), way)}
                left = zombie if way == Way.UNNOTICED else [None] * len(zombie)
                yield (*((str(way),) if labels else ()), *moved.values(), *left)

    call.__doc__ = usual.doc
    return rewritten(usual, call, *usual.slots, *forgets, labels=labels, takes_scope=True)


@rule(when=lambda former: former is not None)
def former_learns(core: Core, former: Core | None) -> Iterator[tuple[Core, Core | None]]:
    """The former coordinator learns that it no longer is one, and unloads the group."""
    yield evolve(core, errands=(Unload(way=Way.LEARNED),)), None


@cache
def with_offsets(learns: Rule) -> Rule:
    """Its memory of offsets is gone, too."""
    return extended(
        learns,
        lambda before, label, after, scope: {**after, "former_offsets": None},
        "former_offsets",
    )


@rule(when=lambda core: core.loading)
def load_group(core: Core) -> Iterator[Core]:
    """The new coordinator has read the log: the members of the last group record are there, each
    with a full session timer.
    """
    yield failover.loads(evolve(core, loading=False))


@cache
def over_connections(reload: Rule) -> Rule:
    """The load does not touch connections: the move has."""
    return outcomes_changed(reload, lambda before, label, after: {**after, "link": before["link"]})


# -- Requests to a coordinator that loads, and to a former one


@cache
def while_loading(usual: Rule) -> Rule:
    """The rule of a request, which a coordinator that loads answers at once
    (GroupCoordinatorService.handleOperationException).
    """
    slots = usual.slots if "core" in usual.slots else ("core", *usual.slots)

    def call(*given: Any) -> Iterator[Any]:
        values = dict(zip(slots, given))
        link: Link = values["link"]
        request = link.request
        if values["core"].loading and request is not None:
            code = NONE if isinstance(request, Heartbeat) else COORDINATOR_LOAD_IN_PROGRESS
            yield (LOADING, *{**values, "link": reply(link, Answer(request, code))}.values())
            return
        usually = [values[slot] for slot in usual.slots]
        for label, *after in usual.call(*usually, *given[len(slots) :]):
            yield (label, *{**values, **dict(zip(usual.slots, after, strict=True))}.values())

    call.__doc__ = usual.doc
    return rewritten(usual, call, *slots, labels=(*usual.labels, LOADING))


@cache
def once_loaded(usual: Rule) -> Rule:
    """The rule does nothing while the group is not loaded."""
    if "core" in usual.slots:
        return outcomes_changed(
            usual, lambda before, label, after: None if before["core"].loading else after
        )

    def call(*given: Any) -> Iterator[Any]:
        if not given[0].loading:
            for outcome in usual.call(*given[1:]):
                label, after = ([outcome[0]], outcome[1:]) if usual.labels else ([], outcome)
                yield (*label, given[0], *after)

    return rewritten(usual, call, "core", *usual.slots)


# -- The feature, put together

# What a coordinator does in the phases of a fail-over.
PHASES = frozenset({r.name for r in (former_learns, load_group, unload)}) | {
    FORMER + r.name for r in (*REQUESTS, *BEFORE, *BEHIND)
}
SWITCHED = {"phases": FAMILY}
# Other rules of a fail-over that a feature may have added.
RESTARTS = ("lower_max_size",)
# What is not done, or is refused, while the group is not loaded: what the log says is not forgotten
# before, and whoever asks from outside the group tries again.
ONCE_LOADED = (
    dead_values.close_books,
    *admin.ADMIN_RULES,
    *several_groups.BOTH,
    transactions.write_marker,
)
# What concerns the coordinator's own connections. (A request that is late at a former one is left
# out.)
AT_COORDINATOR = (client_faults.delay_request, meet_twin, tell_twin)


def failover_phases(spec: Spec) -> Spec:
    """The feature: a fail-over takes its phases. It comes after the other features."""
    if not spec.scope.phases:
        return spec
    there = {r.name: r for r in spec.rules}

    def own_of(rules: Iterable[Rule]) -> list[Rule]:
        return [there[r.name] for r in rules if r.name in there]

    requests, learns = own_of(REQUESTS), former_learns
    if keeps_offsets(spec):
        learns = with_offsets(former_learns)
    rules = [
        in_phases(there[failover.fail_over.name], *WAYS),
        *(in_phases(there[name]) for name in RESTARTS if name in there),
        over_connections(there[failover.reload.name]),
        ending(there[end_walk.name]),
        *map(once_loaded, own_of(ONCE_LOADED)),
        *map(not_at_former, own_of(AT_COORDINATOR)),
        *map(while_loading, requests),
    ]
    asked = [
        *map(over_former_seats, own_of(BEFORE)),
        *map(at_former, requests),
    ]
    behind = map(over_former_seats, own_of(BEHIND))
    spec = rebuilt(spec, rules, (load_group, learns, *behind), **former_slots(spec))
    spec = inserted(inserted(spec, begin_walk, unload), REQUESTS[0], *asked)
    return find_coordinator_first(spec)
