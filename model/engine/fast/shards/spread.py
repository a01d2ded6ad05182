"""A distributed search between two levels: the driver's side. It alone knows rules and values, and
completes what executors could not.

A level is one job: every shard takes in its new states and expands them. What lacked rows comes
back; the driver completes it in its own log, and tells the rows with the next job.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from attrs import Factory, define, evolve, field, frozen

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.backward import path_of, path_through
from groupcheck.model.engine.fast.checkpoint import numbers_of
from groupcheck.model.engine.fast.explore import StoppedError, answer
from groupcheck.model.engine.fast.identity import Identity
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.memory import Family, reached
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.shards import manifests
from groupcheck.model.engine.fast.shards.distribution import distribution, in_words
from groupcheck.model.engine.fast.shards.items import Items
from groupcheck.model.engine.fast.shards.lease import Lease
from groupcheck.model.engine.fast.shards.owned import Piece
from groupcheck.model.engine.fast.shards.replica import dealt, found
from groupcheck.model.engine.fast.shards.store import Store
from groupcheck.model.engine.fast.shards.telling import Telling
from groupcheck.model.engine.fast.shards.working import EXAMINED, Report, Work, advance, predecessor
from groupcheck.model.engine.fast.store import Words
from groupcheck.model.engine.reference import violation
from groupcheck.model.engine.verdict import DEADLOCK, Limits, Path, Progress, Verdict

# states below which one process was quicker than two executors beside it (docs/spark.md)
WORTH = 40_000_000

T = TypeVar("T")
A = TypeVar("A")


class Cluster(Protocol):
    """Executors. `run` calls a function for every argument that is not None, anywhere, perhaps more
    than once; answers in their order.

    `pulse` is called now and then meanwhile and may raise to give up. `retries`: calls that had to
    be made again.
    """

    @property
    def shards(self) -> int: ...

    @property
    def retries(self) -> int: ...

    def run(
        self, function: Callable[[A], T], arguments: Sequence[A | None], pulse: Callable[[], None]
    ) -> list[T | None]: ...


@define
class Spread:
    """A distributed search between two levels, driven by one run. `known`: the runs before it in
    the store. `lasting`: does the store stay afterwards? `pieces[shard]`: its blocks of states.
    `witness`: of what is wrong (level, numbers of the state).
    """

    search: Search
    store: Store
    cluster: Cluster
    telling: Telling
    run: str
    known: set[str]
    identity: Identity | None
    shards: int
    most: int
    limits: Limits
    progress: Callable[[Progress], None] | None
    began: float
    level: int
    states: int
    pieces: list[list[Piece]]
    incoming: list[str] | None = None  # None: the level in hand is in `pieces` already
    witness: dict[str, tuple[int, list[int]]] = field(factory=dict)
    costs: list[manifests.LevelCost] = field(factory=list)
    memory: int = 0
    reported: float = 0.0
    read: int = 0  # bytes of the level in hand
    written: int = 0
    out: list[tuple[Words, list[int]]] = field(
        factory=list
    )  # successors that the driver found, and the layout then
    finished: bool = False
    family: Family = field(factory=Family)
    lease: Lease = field(
        init=False, default=Factory(lambda self: Lease(self.store, self.run), takes_self=True)
    )

    # -- levels

    def levels(self) -> None:
        """Level after level until there is nothing new or something is wrong. Raises `StoppedError`
        at a limit.
        """
        while not self.finished:
            self.pulse()
            self._level()

    def _level(self) -> None:
        began, s = time.perf_counter(), self.search
        self.telling.tell()
        self.read = self.written = 0
        reports = self._advance(self._work())
        fresh = [x.piece for x in reports if x.piece]
        for x in reports:
            if x.piece:
                self.pieces[x.shard].append(x.piece)
        new = sum(p.states for p in fresh)
        self.states += new
        self.memory = max(self.memory, sum(x.memory for x in reports))
        s.findings.depth = self.level
        self._look_at_whole_states(fresh)
        rounds = self._rounds(reports, self._examine, "examinations")
        going = (new or self.incoming is None) and not s.findings.wrong
        incoming: list[str] = []
        if going:
            s.findings.depth = self.level + 1
            incoming = self._take(reports)
            rounds += self._rounds(reports, self._complete, "firings", incoming)
            incoming += self._own_successors()
        used, self.incoming = self.incoming or [], incoming
        widest = max((p.states for p in fresh), default=0)
        seconds = time.perf_counter() - began
        rebuilt = sum(x.rebuilt for x in reports)
        skew = widest * self.shards / new if new else 1.0
        self.costs.append(
            manifests.LevelCost(
                self.level, new, seconds, skew, self.read, self.written, rounds, rebuilt
            )
        )
        self.finished = not going
        if going:
            self.level += 1
        self.keep()
        if going:
            self.store.delete([name for name in used if name.startswith(f"{self.run}/")])
        else:
            self.store.delete([x for x in self.store.names() if manifests.SUCCESSORS.fullmatch(x)])
        self.report(new)

    def _advance(self, works: Sequence[Work | None]) -> list[Report]:
        """What executors report; every work must have been done."""
        answers = self._asked(advance, works, self.pulse)
        self.read += sum(x.bytes[0] for x in answers)
        self.written += sum(x.bytes[1] for x in answers)
        return answers

    def _asked(
        self,
        function: Callable[[Work], T | None],
        works: Sequence[Work | None],
        pulse: Callable[[], None],
    ) -> list[T]:
        """The cluster's answers. A work without one would be states that nobody looked at."""
        answers = self.cluster.run(function, works, pulse)
        assert [x is None for x in answers] == [w is None for w in works], (
            "a work that the cluster did not do"
        )
        return [x for x in answers if x is not None]

    def _work(self) -> list[Work]:
        registers, names = self.search.registers, tuple(self.telling.names)
        incoming = None if self.incoming is None else tuple(self.incoming)
        return [
            Work(
                self.run,
                self.store.address,
                shard,
                self.shards,
                self.level,
                0,
                names,
                int(registers[r.LIVE]),
                tuple(self.pieces[shard]),
                incoming,
                None,
                self.most,
                self.store.is_resumable,
            )
            for shard in range(self.shards)
        ]

    def _rounds(
        self,
        reports: list[Report],
        use: Callable[[Items], None],
        what: str,
        incoming: list[str] | None = None,
    ) -> int:
        """Uses what was handed over, and has executors go on with what was left, until nothing is.
        Returns how many rounds it took.
        """
        rounds, base = 0, self._work()
        while True:
            left: list[Work | None] = [None] * self.shards
            for x in reports:
                handed = getattr(x, what)
                if len(handed.items):
                    use(handed.items)
                if handed.left:
                    left[x.shard] = evolve(base[x.shard], round=rounds + 1, left=handed.left)
            if not any(left):
                return rounds
            rounds += 1
            self.telling.tell()
            told, live = tuple(self.telling.names), int(self.search.registers[r.LIVE])
            works = [w and evolve(w, updates=told, live=live) for w in left]
            reports = self._advance(works)
            self.store.delete([w.left for w in works if w and w.left])
            if incoming is not None:
                incoming += self._take(reports)

    def _take(self, reports: Sequence[Report]) -> list[str]:
        """Counts of expansions and states without successors; the blocks of successors."""
        s = self.search
        fired = s.packed.arrays[r.FIRED]
        for x in reports:
            s.registers[r.TRANSITIONS] += np.uint64(x.transitions)
            for kind, n in x.fired:
                fired[kind] += np.uint64(n)
            if len(x.quiet) and DEADLOCK not in s.findings.wrong:
                self._in_hand(x.quiet.reshape(-1), x.firings.items.widths)
                self._note_deadlock(np.arange(len(x.quiet), dtype=np.uint64))
        return [x.dealt for x in reports if x.dealt]

    # -- what only the driver can do, in its own log

    def _in_hand(self, words: Words, widths: Sequence[int]) -> int:
        """The driver's log with these states and nothing else: how many."""
        states = self.search.packed.in_layout(words, widths)
        self.search.hold_only(states)
        return len(states)

    def _examine(self, items: Items) -> None:
        """Looks predicates up for states whose combinations were new."""
        s = self.search
        self._in_hand(items.states.reshape(-1), items.widths)
        with self._witnessed():
            for first in range(0, len(items.examinations), EXAMINED):
                some = np.ascontiguousarray(items.examinations[first : first + EXAMINED])
                s.run(r.RECHECK, 0, len(some), some)
                s.settle()
        s.predicates.refresh()

    def _complete(self, items: Items) -> None:
        """Fires what lacked rows, calling rules."""
        s = self.search
        n = self._in_hand(items.states.reshape(-1), items.widths)
        live, s.registers[r.LIVE] = int(s.registers[r.LIVE]), 0
        try:
            with self._witnessed():
                s.requeue(np.ascontiguousarray(items.firings).reshape(-1))
                s.settle()
                quiet = (
                    s.without_successors(np.ascontiguousarray(items.rests))
                    if len(items.rests)
                    else items.rests
                )
        finally:
            s.registers[r.LIVE] = live
        if len(quiet) and DEADLOCK not in s.findings.wrong:
            self._note_deadlock(quiet)
        if s.log.states > n:
            self.out.append((found(s.log, n), s.packed.state_widths))

    def _note_deadlock(self, places: Words) -> None:
        s = self.search
        stuck = s.ends.first_deadlock(places, s.log.chosen(places))
        if stuck is not None:
            with self._witnessed():
                s.findings.wrong[DEADLOCK] = (self.level, stuck, "deadlock")

    @contextlib.contextmanager
    def _witnessed(self) -> Iterator[None]:
        """Keeps the states that show what is found wrong meanwhile, also where it is interrupted:
        the log in hand is gone with the next items.
        """
        try:
            yield
        finally:
            for name, (_, place, _) in self.search.findings.wrong.items():
                if name not in self.witness:
                    self.witness[name] = (self.level, self.search.log.ids(place))

    def _own_successors(self) -> list[str]:
        """The block of successors that the driver found itself."""
        p = self.search.packed
        parts = [
            np.column_stack([p.in_layout(rows[:, :-1], widths), rows[:, -1]])
            for rows, widths in self.out
        ]
        self.out.clear()
        if not parts:
            return []
        name = f"{self.run}/level-{self.level:05}/dealt-driver-{uuid.uuid4().hex[:12]}"
        sections = [part.reshape(-1) for part in dealt(p, np.concatenate(parts), self.shards)]
        self.store.write(name, {"widths": p.state_widths}, sections)
        return [name]

    def _look_at_whole_states(self, fresh: Sequence[Piece]) -> None:
        """Predicates over the whole state, in Python, here: executors have no values."""
        s = self.search
        for piece in fresh if s.tables.constant else ():
            block = self.store.read(piece.name)
            there = self._in_hand(block.sections[0], block.header["widths"])
            with self._witnessed():
                for place in range(there):
                    if not place % 64:
                        self.pulse()
                    s.predicates.arrive(s.state(place), place, s.tables.constant)
        s.predicates.refresh()

    # -- paths

    def path_to(self, level: int, ids: Sequence[int]) -> Path:
        """A shortest path to the state with these numbers at a level, over the blocks of the levels
        before.
        """
        s = self.search
        self.telling.tell()
        states = [list(ids)]
        for before in range(level - 1, -1, -1):
            target = np.array(s.packed.pack(states[-1]), np.uint64)
            works = [
                evolve(work, level=before) if any(p.level == before for p in pieces) else None
                for work, pieces in zip(self._work(), self.pieces)
            ]
            found = next(
                (
                    x
                    for x in self._asked(
                        _Back(target, tuple(s.packed.state_widths)), works, lambda: None
                    )
                    if x
                ),
                None,
            )
            if found is None:
                raise RuleError(
                    "?",
                    f"no state of level {before} leads to one of level {before + 1}: a rule is not"
                    " deterministic",
                    {},
                )
            states.append(found)
        return path_through(
            s.see,
            [
                tuple(pool.values[n] for pool, n in zip(s.pools, state))
                for state in reversed(states)
            ],
        )

    def key_of(self, place: int) -> str:
        """The key of a path to a state of the log in hand, for a rule at fault; empty if there is
        none.
        """
        try:
            return self.search.see.key(self.path_to(self.level, self.search.log.ids(place)))
        except RuleError:
            return ""

    # -- limits, progress, manifest

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def pulse(self) -> None:
        """A sign of life, and an end when a limit is reached."""
        self.lease.renew()
        reason = self.limits.reached(self.states, self.seconds, self.level)
        if not reason and self.family.is_above(self.limits.memory):
            reason = reached(self.limits, self.level)
        if reason:
            raise StoppedError(reason)
        if time.perf_counter() - self.reported > 0.5:
            newest = [p for pieces in self.pieces for p in pieces[-1:]]
            self.report(sum(p.states for p in newest if p.level == self.level - 1))

    def report(self, frontier: int) -> None:
        """Tells the listener where the search is."""
        self.reported = time.perf_counter()
        if self.progress:
            self.progress(
                Progress(
                    self.states,
                    self.search.transitions,
                    self.level,
                    frontier,
                    self.seconds,
                    self.memory,
                )
            )

    def keep(self) -> None:
        """Keeps all that `resumed` needs. Raises `UserError` if another driver took over."""
        s = self.search
        self.telling.tell()
        numbers = evolve(numbers_of(s), states=self.states)
        manifest = manifests.Manifest(
            manifests.FORMAT, self.identity, self.run, self.shards, self.level, numbers,
            s.rows.calls, s.findings.wrong, self.witness, self.pieces, self.incoming,
            self.telling.names, self.finished, self.seconds, self.memory, self.costs,
        )  # fmt: skip
        manifests.keep(self.store, manifest, self.known)
        self.store.is_resumable = self.identity is not None

    def verdict(self, reason: str) -> Verdict:
        """The answer."""
        s = self.search
        violations = [
            violation(
                s.see, name, at, path_of(s.see, name, self.path_to(*self.witness[name]), kind)
            )
            for name, at, _, kind in s.findings.in_order()
        ]
        spread = self._distribution()
        notes = [*s.notes, in_words(spread)]
        if self.states < WORTH:
            notes.append(
                f"{self.states:,} states: below some {WORTH:,} one process is quicker than two"
                " cores over Spark (docs/spark.md)"
            )
        told = answer(
            s,
            reason,
            violations,
            self.states,
            self.seconds,
            self.memory / max(1, self.states),
            notes,
        )
        return evolve(told, distribution=spread)

    def _distribution(self) -> Mapping[str, Any]:
        sizes = [sum(p.states for p in pieces) for pieces in self.pieces]
        return distribution(self.costs, sizes, self.store.uri, self.cluster.retries)


@frozen(eq=False)
class _Back:
    """`predecessor` with its target, as a function of the work alone."""

    target: Words
    widths: tuple[int, ...]

    def __call__(self, work: Work) -> list[int]:
        return predecessor(work, self.target, self.widths)
