"""Generations relative to one that the group has reached, so that a loop of rounds closes and no
scope bounds them.

Rules of an eager group only ask whether two generations are equal, and the number of the next one
is one more. The running generation never falls below a *base*: the generation in the log while a
fail-over may load it, otherwise the running one itself. When the base grows, every number is
written anew (a walk over all processes): the base becomes 1, and later ones follow it as they did
before. A number below the base is never the running one again, so it only matters which of one
process's numbers are equal: they become -2, -3, ... in the order in which the process's client,
connection and seats mention them. A cooperative leader compares the claims of different members,
and asks which is later. There another walk collects the numbers below the base of all processes
first; the latest becomes -2.

A former coordinator that does not know yet that it is none (see `failover_phases`) remembers
a generation and claims, which processes mention, too. Its generation is the first number below the
base of every process, so that all of them write it alike.

Without this the same group with other numbers is another state for ever.

This is a bisimulation: `test_relative_generations.py` compares it step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
from attrs import define, field, frozen

from groupcheck.model.engine import Path, Spec, evolve, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.group import REST, Core, Errand, Record, Seats, Walk
from groupcheck.model.protocol.classic.rounds import answer_joins
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.walks import end_walk
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_GENERATION, JoinGroup, Request, Store
from groupcheck.model.protocol.transform import extended, inserted, own, rebuilt, rewritten

BASE = 1  # what the base is written as, once a generation has begun
FIRST_PAST = NO_GENERATION - 1  # how the first number below the base is written; the next are less


@frozen(kw_only=True)
class Renumber(Errand):
    """Every generation is written relative to the base. (See `walks` for what a walk is.)"""

    # By how much the numbers that are not below the base fall.
    by: int
    # The numbers below the base of all processes, the latest first, if the group compares them.
    past: tuple[int, ...] = ()


@frozen(kw_only=True)
class Collect(Errand):
    """The numbers below the base are collected, for the `Renumber` that follows."""

    renumber: Renumber


def relative_generations(spec: Spec) -> Spec:
    """The feature: generations are relative, and the scope does not bound them."""
    usual, moves = own(spec, end_walk), "former" in spec.slots
    visits = [collect] if spec.scope.cooperative else []
    if moves:
        walks = [extended(r, _with_former_seats, "former_seats") for r in (*visits, renumber)]
    else:
        walks = [*visits, renumber]
    return rebuilt(inserted(spec, usual, *walks), [_renumbering(usual, moves)])


def base(core: Core) -> int:
    """The least generation that may be the running one from now on."""
    return core.durable[0] if "fail_over" in core.keeps else core.generation


def renumbered(core: Core, former: Core | None, scope: Scope) -> tuple[Core, Core | None]:
    """Begin, if the base has grown."""
    by = base(core) - BASE
    if by <= 0:
        return core, former
    logged, *record = core.durable
    durable = (logged - by, *record) if "fail_over" in core.keeps else core.durable
    begun = former is not None and former.generation not in (0, NO_GENERATION)
    past = (former.generation,) if former and begun and former.generation - by < BASE else ()
    errand = Renumber(by=by, past=past)
    core = evolve(
        core,
        generation=core.generation - by,
        durable=durable,
        errands=(Collect(renumber=errand) if scope.cooperative else errand,),
    )
    return core, former if scope.cooperative else _former_renumbered(former, errand)


def _former_renumbered(former: Core | None, errand: Renumber) -> Core | None:
    """A former coordinator with its generation written as processes are about to write it."""
    if former is None or not former.generation:
        return former
    number = _Numbers(errand.by, list(errand.past))
    return evolve(former, generation=number(former.generation))


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Collect))
def collect(
    walk: Walk[Collect], seats: Seats, client: Client, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Collect], Seats, Client, Link]]:
    """Which generations below the base do one process and the coordinator mention?"""
    errand = walk.errand.renumber
    number = _Numbers(errand.by, list(errand.past))
    numbered(number, seats, client, link)
    past = tuple(sorted(number.past, reverse=True))
    yield walk.passed(Collect(renumber=evolve(errand, past=past)), scope), seats, client, link


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Renumber))
def renumber(
    walk: Walk[Renumber], seats: Seats, client: Client, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Renumber], Seats, Client, Link]]:
    """The generations that one process and the coordinator mention to each other are written
    relative to the base.
    """
    number = _Numbers(walk.errand.by, list(walk.errand.past))
    yield walk.passed(walk.errand, scope), *numbered(number, seats, client, link)


def numbered(
    number: Callable[[int], int], seats: Seats, client: Client, link: Link
) -> tuple[Seats, Client, Link]:
    """All that mentions generations of one process, with each of them changed by `number`, which
    is called in a fixed order. (No takeover of a static member is in flight: the round that began
    the generation has ended them all.)
    """
    client = evolve(client, generation=number(client.generation), assigned=number(client.assigned))
    link = evolve(
        link,
        parked=_written(link.parked, number),
        queue=tuple([_written(request, number) for request in link.queue]),
        late=_written(link.late, number),
        request=_written(link.request, number),
    )
    ids = _claims(number, seats.ids)
    return evolve(seats, ids=ids, durable=_claims(number, seats.durable)), client, link


def _claims(number: Callable[[int], int], seats: Record) -> Record:
    """The coordinator's memory of the ids of one process, with their claims changed."""
    return tuple(
        [
            (id, evolve(seat, claimed=number(seat.claimed), assigned=number(seat.assigned)))
            for id, seat in seats
        ]
    )


def _with_former_seats(
    before: dict[str, Any], label: str, after: dict[str, Any], scope: Scope
) -> dict[str, Any]:
    """A visit goes on with what a former coordinator knows of the process."""
    walk: Walk[Any] = before["walk"]
    collects = isinstance(walk.errand, Collect)
    errand: Renumber = walk.errand.renumber if collects else walk.errand
    number = _Numbers(errand.by, list(errand.past))
    numbered(number, before["seats"], before["client"], before["link"])
    seats: Seats = before["former_seats"]
    claims = _claims(number, seats.ids)
    if not collects:
        return {**after, "former_seats": evolve(seats, ids=claims)}
    past = tuple(sorted(number.past, reverse=True))
    found = walk.passed(Collect(renumber=evolve(errand, past=past)), scope)
    return {**after, "walk": found}


def _written(request: Any, number: Callable[[int], int]) -> Any:
    """A request with its generation changed; one without a generation as it is."""
    match request:
        case JoinGroup(claimed=claimed, assigned=assigned):
            return evolve(request, claimed=number(claimed), assigned=number(assigned))
        case Store(commit=commit):
            return Store(_written(commit, number))
        case None:
            return None
    return evolve(request, generation=number(request.generation)) if _numbers(request) else request


def _numbers(request: Request) -> bool:
    return hasattr(request, "generation")


@define
class _Numbers:
    """Writes the generations of one process anew."""

    # By how much those that are not below the base fall.
    by: int
    # Those below the base, in order; those that are met for the first time come last.
    past: list[int] = field(factory=list)

    def __call__(self, generation: int) -> int:
        if generation == NO_GENERATION:
            return generation
        if generation - self.by >= BASE:
            return generation - self.by
        if generation not in self.past:
            self.past.append(generation)
        return FIRST_PAST - self.past.index(generation)


def _renumbering(usual: Rule, moves: bool) -> Rule:
    """`moves`: there may be a former coordinator."""

    def end_walk(*given: Any) -> Iterator[tuple[Any, ...]]:
        """All members are visited: the group gets what the walk has found. If a generation or a
        record has begun with it, generations are written anew.
        """
        core, walk, scope = given[0], given[1], given[-1]
        former: Core | None = given[2] if moves else None
        found: list[tuple[Core, Walk[Errand], Core | None]] = []
        if isinstance(walk.errand, Renumber):
            found = [(core, REST, former)]
        elif isinstance(walk.errand, Collect):
            errand = walk.errand.renumber
            found = [(evolve(core, errands=(errand,)), REST, _former_renumbered(former, errand))]
        else:
            for after, rest in usual.call(core, walk, scope):
                goes_on = after.errands or rest != REST
                now = (after, former) if goes_on else renumbered(after, former, scope)
                found.append((now[0], rest, now[1]))
        yield from (one if moves else one[:2] for one in found)

    assert usual.slots == ("core", "walk")
    return rewritten(usual, end_walk, *usual.slots, *(("former",) if moves else ()))


# -- back to absolute numbers, for stories


def absolute(path: Path) -> Path:
    """The path with the generations of the group and of its clients written from the first one on.
    (What is below the base keeps its relative number; no story tells it.)
    """
    past = 0
    steps = []
    before = path.initial
    at = {place: k for k, place in enumerate(path.places)}
    core = at["core", None]
    clients = [k for (name, _), k in at.items() if name == "client"]
    for step in path.steps:
        names = [firing.name for firing in step.urgent]
        if renumber.name in names:
            begun = names.count(answer_joins.name) // len(clients)
            past += before[core].generation + begun - step.state[core].generation
        before = step.state
        values = list(step.state)
        values[core] = evolve(values[core], generation=values[core].generation + past)
        for k in clients:
            own = values[k].generation
            values[k] = evolve(values[k], generation=own + past if own >= BASE else own)
        steps.append(attrs.evolve(step, state=tuple(values)))
    return attrs.evolve(path, steps=tuple(steps))
