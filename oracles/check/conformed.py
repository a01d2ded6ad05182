"""Which memories of the coordinator, among those that a check explored, lie inside a scope whose
rows `groupcheck conform` has executed on the real coordinator (`Variant.conformed`, `executed`).

A check counts members; the rows count ids, one for each process at a time. To the coordinator, two
ids of one process and one id each of two processes are the same. So a memory is compared as the ids
that it knows, without their names, whichever process they belong to. Left out is what the
coordinator stores and does not read (shares) or only compares with what a request brings (claims:
for each memory, both a claim that is the same and one that differs are rows), and what the check
has forgotten because no fault could read it any more (`dead_values`). The memories of a scope are
computed from the model alone; no JVM starts.

Memories in which no coordinator stays are not counted: a round without members, whose timeout is 0,
and a round that everybody has joined and that waits only because the check's scope ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.spec import Spec
from groupcheck.model.protocol.classic.group import Core, Phase, Seat, Seats
from groupcheck.model.protocol.messages import NO_GENERATION
from groupcheck.model.protocol.variant import Variant
from groupcheck.oracles.conform.rows import Rows
from groupcheck.oracles.conform.transcript import model_seen
from groupcheck.oracles.explain.answer import ConformedPart
from groupcheck.oracles.explain.subject import Subject, subject

if TYPE_CHECKING:
    from groupcheck.model.engine.fast.search import Search
    from groupcheck.model.engine.plain.plain_search import PlainSearch

# The settings of a scope that change the coordinator, as far as it has them.
SETTINGS = ("max_size", "two_step", "protocols", "topics", "subscriptions", "protocols_after")
ANY = 99  # a fault that may happen may happen any number of times
Kept = frozenset[str]  # the faults of `REMEMBERED` for which a memory keeps values


@frozen
class Reach:
    """The memories of a conformed scope whose rows were executed."""

    given: Mapping[str, Any]
    memories: tuple[tuple[Core, tuple[Seats, ...]], ...]
    # The same memories, as `ids_known` returns them, for each set of faults for which a memory may
    # keep values.
    known: dict[Kept, set[Hashable]]

    def has(self, core: Core, seats: tuple[Seats, ...]) -> bool:
        """Is this memory one of them?"""
        keeps = frozenset(core.keeps)
        if not keeps <= frozenset(self.memories[0][0].keeps):
            return False
        if keeps not in self.known:
            self.known[keeps] = {ids_known(*memory, keeps) for memory in self.memories}
        return ids_known(core, seats, keeps) in self.known[keeps]


class Looker:
    """Collects the coordinator's memories of a search."""

    def __init__(self, about: Subject) -> None:
        """Raises `UserError` if no scope like the subject's was executed."""
        variant = about.variant
        if variant is None or not (variant.conformed or variant.executed):
            raise UserError(
                f"no coordinator of {about.spec.name} was executed row by row",
                where="--conformed",
                do="leave it out, or check a variant that `conform` compares",
            )
        if about.mutation is not None:
            raise UserError(
                "a known bug was put into the model, and its rows were not executed",
                where="--conformed",
                do="leave out --conformed or --mutation",
            )
        self._variant, self._scope = variant, about.spec.scope
        self.found: ConformedPart | None = None

    def __call__(self, search: Search | PlainSearch) -> None:
        memories = [
            (core, tuple(seats))
            for core, *seats in search.seen(("core", "seats"))
            if rests(core, self._scope.last_generation)
        ]
        self.found = conformed(self._variant, self._scope, memories)


def conformed(
    variant: Variant, scope: Any, memories: Collection[tuple[Core, tuple[Seats, ...]]]
) -> ConformedPart:
    """How many of the memories lie inside the scopes of the variant that were executed with the
    same settings as `scope`.
    """
    left, used = list(memories), []
    for given in conformed_scopes(variant, scope):
        if not left:
            break
        reach = reach_of(variant, given)
        used.append(given)
        left = [memory for memory in left if not reach.has(*memory)]
    told = sorted(left, key=lambda memory: (memory[0].generation, model_seen(*memory)))
    example = model_seen(*told[0]) if told else None
    return ConformedPart(tuple(used), len(memories), len(memories) - len(left), example)


def conformed_scopes(variant: Variant, scope: Any) -> Iterator[Mapping[str, Any]]:
    """The executed scopes with the settings of this one, the largest first."""
    wanted = {name: getattr(scope, name, None) for name in SETTINGS}
    for given in (*variant.conformed, *variant.executed):
        about = scope_of(variant, given)
        if all(getattr(about, name, None) == value for name, value in wanted.items()):
            yield given


def scope_of(variant: Variant, given: Mapping[str, Any]) -> Any:
    """The scope of arguments of `conform`."""
    faults = given.get("faults", dict.fromkeys(variant.coordinator_faults, 1))
    budgets = {name: ANY for name, n in faults.items() if n}
    return subject(
        variant.name,
        faults=budgets,
        settings=given.get("settings", {}),
        members=given["members"],
        generations=given["generations"],
        assignor="range",
    ).spec.scope


def reach_of(variant: Variant, given: Mapping[str, Any]) -> Reach:
    """The memories that the rows of a scope start from. Some seconds for a large scope."""
    scope = scope_of(variant, given)
    spec: Spec = variant.spec(scope)
    rows = Rows(scope, spec, variant.coordinator)
    found = {rows.start(): None}
    queue = list(found)
    for memory in queue:
        for asked in rows.inputs(memory):
            for outcome in rows.outcomes(memory, asked):
                if outcome.after not in found:
                    found[outcome.after] = None
                    queue.append(outcome.after)
    inside = [(m.core, m.seats) for m in queue if m.core.generation <= scope.last_generation]
    return Reach(given, tuple(inside), {})


def rests(core: Core, generations: int) -> bool:
    """Can the coordinator stay in this memory? `generations`: the last one of the check."""
    if core.phase != Phase.PREPARING or core.initial:
        return True
    return core.members > 0 and not (core.all_joined and core.generation >= generations)


def ids_known(core: Core, seats: Iterable[Seats], keeps: Kept) -> Hashable:
    """A memory as the ids that it knows, whichever process they belong to. `keeps`: what only other
    faults of `REMEMBERED` could read is left out.
    """
    settled = core.phase == Phase.STABLE and "sync_timeout" not in keeps
    logged = "fail_over" in keeps
    bare = attrs.evolve(core, keeps=())
    if settled:
        bare = attrs.evolve(bare, due=0, deadline=False)
    if not logged:
        bare = attrs.evolve(bare, durable=(0, False, None), recorded=False)
    found: Counter[Hashable] = Counter()
    for mine in seats:
        written = {id for id, _ in mine.durable} if logged else set()
        for id in {id for id, _ in mine} | written:
            durable = (id in written, logged and id == mine.durable_leader)
            found[_id(mine[id], settled, keeps), id == mine.leader, durable] += 1
    return bare, frozenset(found.items())


def _id(seat: Seat | None, settled: bool, keeps: Kept) -> Seat | None:
    if seat is None:
        return None
    return attrs.evolve(
        seat,
        share=0,
        claimed=NO_GENERATION,
        due=seat.due and not settled,
        new=seat.new and "new_member_timeout" in keeps,
        hurried=seat.hurried and "new_member_timeout" in keeps,
    )
