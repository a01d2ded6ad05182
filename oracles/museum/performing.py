"""One exhibit: the path is found in the model, translated, and carried out on the old release and
on the fixed one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.protocol.messages import JoinGroup
from groupcheck.oracles.explain.explanation import Explanation, explain
from groupcheck.oracles.explain.subject import mutation_named, subject
from groupcheck.oracles.museum import bugs_real_types
from groupcheck.oracles.museum.calls import Caller
from groupcheck.oracles.museum.exhibits import Exhibit
from groupcheck.oracles.museum.moves import Move, moves
from groupcheck.oracles.museum.seen import PerformanceRecord
from groupcheck.oracles.museum.stage import Cast, Stage
from groupcheck.oracles.show.report import walk_command
from groupcheck.oracles.show.walk_links import address

Say = Callable[[str], None]


@frozen
class ExhibitPath:
    """The path of an exhibit."""

    told: Explanation
    moves: tuple[Move, ...]
    processes: int
    partitions: int
    atomic: bool
    # What walks the path: a command line, and a link of the explorer; empty for the path of several
    # mutations, which it cannot put into a model together.
    walk: str
    link: str


@frozen
class Performance:
    """An exhibit that was carried out on both releases."""

    exhibit: Exhibit
    found: ExhibitPath
    old: PerformanceRecord
    fixed: PerformanceRecord

    @property
    def shows(self) -> str:
        """The place where the bug shows on the old release; empty if it does not."""
        return "" if self.old.left_at else self.exhibit.symptom(self.old)

    @property
    def still(self) -> str:
        """The place where it shows on the fixed release; empty if it does not."""
        return self.exhibit.symptom(self.fixed)

    @property
    def comparable(self) -> bool:
        """Has the fixed release come to the step in which the bug would show?"""
        return not self.fixed.left_at or self.fixed.left_in == self.found.told.depth

    @property
    def path_of(self) -> tuple[str, ...]:
        """The mutations of the model in which the path was found."""
        return self.exhibit.of or (self.exhibit.mutation,)

    @property
    def reproduced(self) -> bool:
        return bool(self.shows) and not self.still and self.comparable

    def shown(self) -> bugs_real_types.Exhibit:
        """One object that `bugs --real --json` prints."""
        exhibit, told = self.exhibit, self.found.told
        return bugs_real_types.Exhibit(
            id=exhibit.mutation,
            ticket=exhibit.ticket,
            title=mutation_named(exhibit.mutation).title,
            reproduced=self.reproduced,
            path=bugs_real_types.ModelPath(
                mutations=list(self.path_of),
                promise=told.invariant,
                depth=told.depth,
                key=told.key,
                link=self.found.link,
                prose=told.prose,
                why=exhibit.why,
            ),
            old=_shown(self.old, self.shows),
            fixed=_shown(self.fixed, self.still),
        )


def _shown(seen: PerformanceRecord, bug: str) -> bugs_real_types.Release:
    return bugs_real_types.Release(
        release=seen.release, bug=bug, left_at=seen.left_at, transcript=list(seen.lines())
    )


def find(exhibit: Exhibit) -> ExhibitPath:
    """Searches for the path of an exhibit."""
    first, *more = exhibit.of or (exhibit.mutation,)
    mutation = mutation_named(first)
    promise = exhibit.promise or mutation_named(exhibit.mutation).invariant
    if exhibit.of:
        promise = mutation_named(exhibit.of[-1]).invariant
    about = subject(
        mutation.family.base, mutation=first, invariants=[promise], **dict(exhibit.scope)
    )
    spec = attrs.evolve(about.spec, goals=())
    for id in more:
        spec = mutation_named(id).apply(spec)
    about = attrs.evolve(about, spec=spec)
    # The compiled search alone: of several shortest paths it finds one that real releases can go.
    # On that of plain Python a fixed release gives, for three bugs, another answer before the end.
    name = promise if isinstance(promise, str) else promise.name
    violation = next(v for v in explore(spec).violations if v.invariant == name)
    scope: Any = spec.scope
    # The keys of a path do not depend on which promises are judged.
    walked = subject(mutation.family.base, mutation=first, **dict(exhibit.scope))
    key = violation.key
    return ExhibitPath(
        explain(about, violation),
        moves(spec, violation.path),
        scope.members,
        scope.partition_count,
        scope.atomic_complete,
        "" if more else walk_command(walked, key),
        "" if more else address(walked, key),
    )


def perform(exhibit: Exhibit, say: Say) -> Performance:
    """Carries out an exhibit. Raises `UserError` without a JDK or Maven.

    Which member's id comes first decides some plans, and brokers make ids at random. The orders are
    tried one after the other until the bug shows; the fixed release gets the same order.
    """
    found = find(exhibit)
    if exhibit.on_broker:
        old, fixed = (
            Caller(exhibit, release, say).perform(found.moves)
            for release in (exhibit.old, exhibit.fixed)
        )
        return Performance(exhibit, found, old, fixed)
    performance: Performance | None = None
    for cast in _casts(exhibit, found):
        old = Stage(cast, exhibit.old, say).perform(found.moves)
        performance = Performance(exhibit, found, old, old)
        if performance.shows:
            others = dict.fromkeys(exhibit.stay_old, exhibit.old)
            fixed = Stage(cast, exhibit.fixed, say, others).perform(found.moves)
            return Performance(exhibit, found, old, fixed)
    assert performance is not None
    return performance


def _casts(exhibit: Exhibit, found: ExhibitPath) -> Iterator[Cast]:
    topic = next((m.partitions for m in found.moves if m.partitions), 0)
    partitions = topic - 1 if topic else found.partitions
    near = _preferred(found.moves) if exhibit.racks else None
    for order in permutations(reversed(range(found.processes))):
        yield Cast(exhibit.settings, order, partitions, found.atomic, near)


def _preferred(moves: Sequence[Move]) -> tuple[int, int]:
    """The member that gets in the last step what it did not claim, and that partition."""
    claimed: dict[int, int] = {}
    got = (0, 0)
    for move in moves:
        if isinstance(move.request, JoinGroup):
            claimed[move.process] = move.request.owned
        elif move.answer is not None and (new := move.answer.share & ~claimed[move.process]):
            got = move.process, new.bit_length() - 1
    return got
