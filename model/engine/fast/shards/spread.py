"""A distributed search between two levels: the driver's side. It alone knows rules and values, and
completes what executors could not.

A level is one job: every shard takes in its new states and expands them. What lacked rows comes
back; the driver completes it in its own log, and tells the rows with the next job.
"""

from __future__ import annotations

import contextlib
import functools
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import numpy as np
from attrs import Factory, define, evolve, field

from groupcheck.model.engine import resident
from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.checkpoint import numbers_of
from groupcheck.model.engine.fast.explore import StoppedError, answer
from groupcheck.model.engine.fast.identity import Identity
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.memory import Family
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.shards import manifests
from groupcheck.model.engine.fast.shards.cpu import Cpu
from groupcheck.model.engine.fast.shards.items import Items
from groupcheck.model.engine.fast.shards.lease import Lease
from groupcheck.model.engine.fast.shards.owned import Piece
from groupcheck.model.engine.fast.shards.replica import dealt, found
from groupcheck.model.engine.fast.shards.store import Store
from groupcheck.model.engine.fast.shards.updates import Telling
from groupcheck.model.engine.fast.shards.working import EXAMINED, Report, Work, advance, predecessor
from groupcheck.model.engine.fast.store import Words
from groupcheck.model.engine.paths import path_of, path_through, shown_by, unwound
from groupcheck.model.engine.reference import goal_met, reduction, violation
from groupcheck.model.engine.step import State
from groupcheck.model.engine.verdict import Limits, Path, Progress, Verdict

# states below which one process was quicker than two executors beside it (docs/spark.md)
WORTH = 40_000_000

T = TypeVar("T")
A = TypeVar("A")


class Cluster(Protocol):
    """Executors. `run` calls a function for every argument that is not None, on any executor,
    perhaps more than once, and returns the answers in the order of the arguments. Meanwhile it
    calls `pulse` now and then, which may raise to give up. `retries`: how many calls had to be
    repeated. `cpu`: CPU seconds so far of its workers, and of its other processes.
    """

    @property
    def shards(self) -> int: ...

    @property
    def retries(self) -> int: ...

    @property
    def cpu(self) -> tuple[float, float]: ...

    def run(
        self, function: Callable[[A], T], arguments: Sequence[A | None], pulse: Callable[[], None]
    ) -> list[T | None]: ...


@define
class Spread:
    """A distributed search between two levels, driven by one run."""

    # The driver's own search. Its log holds what is in hand and nothing else.
    search: Search
    store: Store
    cluster: Cluster
    telling: Telling
    run: str
    # The runs that were in the store before this one.
    known: set[str]
    # What the search is of, for those that go on with it; None: the store vanishes afterwards.
    identity: Identity | None
    # How many shards there are.
    shards: int
    # How many states a shard hands to the driver at once.
    most: int
    limits: Limits
    progress: Callable[[Progress], None] | None
    # When the search began, by `time.perf_counter`.
    began: float
    # The level in hand, the states of all levels before it, and those of their orbits.
    level: int
    states: int
    counted: int
    # For each shard its blocks of states.
    pieces: list[list[Piece]]
    # Blocks of successors that are the level in hand; None: it is in `pieces` already.
    incoming: list[str] | None = None
    # For each name that is wrong the level and the numbers of the state that shows it.
    witness: dict[str, tuple[int, list[int]]] = field(factory=dict)
    # For each goal that is met the same.
    met: dict[str, tuple[int, list[int]]] = field(factory=dict)
    costs: list[manifests.LevelCost] = field(factory=list)
    # The most bytes that the logs and indexes of all shards took.
    memory: int = 0
    # When progress was reported last, by `time.perf_counter`.
    reported: float = 0.0
    # Bytes that executors read and wrote for the level in hand.
    read: int = 0
    written: int = 0
    # Successors that the driver found itself, with the layout of that moment.
    out: list[tuple[Words, list[int]]] = field(factory=list)
    finished: bool = False
    family: Family = field(factory=Family)
    # CPU seconds until this object was made, those of earlier drivers included, with all of
    # `one_process`; and what this process had taken then.
    cpu: Cpu = field(factory=Cpu)
    taken: float = field(factory=time.process_time)
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
            self.pieces[x.shard] += [x.piece] if x.piece else []
        new = sum(p.states for p in fresh)
        self.states += new
        self.counted += sum(x.counted for x in reports)
        self.memory = max(self.memory, sum(x.memory for x in reports))
        s.findings.depth = self.level
        self._look_at_whole_states(fresh)
        rounds = self._rounds(reports, self._examine, "examinations")
        incoming: list[str] = []
        self.finished = not (new or self.incoming is None) or bool(s.findings.wrong)
        if not self.finished:
            s.findings.depth = self.level + 1
            incoming = self._take(reports)
            rounds += self._rounds(reports, self._complete, "firings", incoming)
            incoming += self._own_successors()
        used, self.incoming = self.incoming or [], incoming
        skew = max((p.states for p in fresh), default=0) * self.shards / new if new else 1.0
        seconds, rebuilt = time.perf_counter() - began, sum(x.rebuilt for x in reports)
        self.costs.append(
            manifests.LevelCost(
                self.level, new, seconds, skew, self.read, self.written, rounds, rebuilt
            )
        )
        self.level += not self.finished
        self.keep()
        if self.finished:
            used = [x for x in self.store.names() if manifests.SUCCESSORS.fullmatch(x)]
        else:
            used = [name for name in used if name.startswith(f"{self.run}/")]
        self.store.delete(used)
        self.report(new)

    def _advance(self, works: Sequence[Work | None]) -> list[Report]:
        """Lets executors do the works; returns their reports."""
        answers = self._asked(advance, works, self.pulse)
        for why, table in (x.unequal for x in answers if x.unequal):
            self.search.unequal(why, table)
        self.cpu.one_process += sum(x.expanding for x in answers)
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
        live, names = self.search.packed.get(r.LIVE), tuple(self.telling.names)
        incoming = None if self.incoming is None else tuple(self.incoming)
        return [
            Work(
                self.run, self.store.address, shard, self.shards, self.level, 0, names, live,
                tuple(self.pieces[shard]), incoming, None, self.most, self.store.is_resumable,
            )
            for shard in range(self.shards)
        ]  # fmt: skip

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
            told, live = tuple(self.telling.names), self.search.packed.get(r.LIVE)
            reports = self._advance([w and evolve(w, updates=told, live=live) for w in left])
            self.store.delete([w.left for w in left if w and w.left])
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
            if len(x.quiet):
                self._in_hand(x.quiet, x.firings.items.widths)
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
        self._in_hand(items.states, items.widths)
        with self._witnessed(), self.cpu.as_one_process():
            for first in range(0, len(items.examinations), EXAMINED):
                some = np.ascontiguousarray(items.examinations[first : first + EXAMINED])
                s.run(r.RECHECK, 0, len(some), some)
                s.settle()
        s.predicates.refresh()

    def _complete(self, items: Items) -> None:
        """Fires what lacked rows, calling rules."""
        s = self.search
        n = self._in_hand(items.states, items.widths)
        live, s.registers[r.LIVE] = int(s.registers[r.LIVE]), 0
        try:
            with self._witnessed(), self.cpu.as_one_process():
                s.requeue(np.ascontiguousarray(items.firings).reshape(-1))
                s.settle()
                quiet = s.without_successors(np.ascontiguousarray(items.rests))
        finally:
            s.registers[r.LIVE] = live
        self._note_deadlock(quiet)
        if s.log.states > n:
            self.out.append((found(s.log, n), s.packed.state_widths))

    def _note_deadlock(self, places: Words) -> None:
        with self._witnessed():
            self.search.note_deadlock(places, self.level)

    @contextlib.contextmanager
    def _witnessed(self) -> Iterator[None]:
        """Keeps the states that show what is found wrong meanwhile, or meet a goal, also where it
        is interrupted: the log in hand is gone with the next items.
        """
        s = self.search
        try:
            yield
        finally:
            for name, (_, place, _) in s.findings.wrong.items():
                if name not in self.witness:
                    self.witness[name] = (self.level, s.log.ids(place))
            for name, place in s.findings.first.items():
                if name not in self.met:
                    self.met[name] = (self.level, s.log.ids(place))

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
            self._in_hand(block.sections[0], block.header["widths"])
            with self._witnessed():
                s.look_at_whole_states(0)
        s.predicates.refresh()

    # -- paths

    def path_to(
        self, level: int, ids: Sequence[int], shown: Callable[[State], State] = lambda state: state
    ) -> Path:
        """A shortest path to the state with these numbers at a level, over the blocks of the levels
        before. `shown`: under symmetry, the state of its orbit that the path is to end in. Raises
        `RuleError` if no state of a level leads to the next one of the path.
        """
        s = self.search
        self.telling.tell()
        states = [list(ids)]
        for before in range(level - 1, -1, -1):
            target = np.array(s.packed.pack(states[-1]), np.uint64)
            back = functools.partial(predecessor, target=target, widths=s.packed.state_widths)
            works = [
                evolve(work, level=before) if any(p.level == before for p in pieces) else None
                for work, pieces in zip(self._work(), self.pieces)
            ]
            found = next(filter(None, self._asked(back, works, lambda: None)), None)
            if found is None:
                what = f"no state of level {before} leads to one of level {before + 1}"
                raise RuleError("?", f"{what}: a rule is not deterministic", {})
            states.append(found)
        values = [
            tuple(pool.values[n] for pool, n in zip(s.pools, state)) for state in reversed(states)
        ]
        if s.orbits is None:
            return path_through(s.see, values)
        return unwound(s.see, s.orbits, values, shown(values[-1]))

    def _path_of(self, name: str, kind: str) -> Path:
        """The path to what is wrong. `kind`: as in `Findings`."""
        s = self.search

        def shown(state: State) -> State:
            return state if s.orbits is None else shown_by(s.orbits, state, name, kind)

        return path_of(s.see, name, self.path_to(*self.witness[name], shown), kind)

    def _path_to_goal(self, name: str) -> Path:
        s = self.search
        goal = next(g for g in s.spec.goals if g.name == name)

        def meeting(state: State) -> State:
            images = s.orbits.images(state) if s.orbits else (state,)
            return next(image for image in images if s.see.met(goal, image))

        return self.path_to(*self.met[name], meeting)

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

    @property
    def cpu_so_far(self) -> Cpu:
        """CPU seconds of the whole search."""
        return self.cpu + Cpu(time.process_time() - self.taken, *self.cluster.cpu)

    def pulse(self) -> None:
        """A sign of life. Raises `StoppedError` when a limit is reached."""
        self.lease.renew()
        reason = self.limits.reached(self.states, self.seconds, self.level)
        if not reason and self.family.is_above(self.limits.memory):
            reason = resident.reached(self.limits, self.level)
        if reason:
            raise StoppedError(reason)
        if time.perf_counter() - self.reported > 0.5:
            newest = [p for pieces in self.pieces for p in pieces[-1:]]
            self.report(sum(p.states for p in newest if p.level == self.level - 1))

    def report(self, frontier: int) -> None:
        """Tells the listener where the search is."""
        self.reported = time.perf_counter()
        if self.progress:
            done = self.states, self.search.transitions, self.level
            self.progress(Progress(*done, frontier, self.seconds, self.memory))

    def keep(self) -> None:
        """Writes the manifest. Raises `UserError` if another driver has taken over."""
        s = self.search
        self.telling.tell()
        numbers = evolve(numbers_of(s), states=self.states)
        manifest = manifests.Manifest(
            manifests.FORMAT, self.identity, self.run, self.shards, self.level, numbers,
            s.rows.calls, s.findings.wrong, self.witness, self.met, self.pieces, self.incoming,
            self.telling.names, self.finished, self.seconds, self.memory, self.counted,
            self.cpu_so_far, self.costs,
        )  # fmt: skip
        manifests.keep(self.store, manifest, self.known)
        self.store.is_resumable = self.identity is not None

    def verdict(self, reason: str, goals: Sequence[str]) -> Verdict:
        """The answer. `goals`: those whose paths are told."""
        s = self.search
        violations = [
            violation(s.see, name, at, self._path_of(name, kind))
            for name, at, _, kind in s.findings.in_order()
        ]
        sizes = [sum(p.states for p in pieces) for pieces in self.pieces]
        spread = manifests.distribution(
            self.costs, sizes, self.store.uri, self.cluster.retries, self.cpu_so_far
        )
        notes = [*s.tabled.notes, manifests.in_words(spread)]
        if self.states < WORTH:
            notes.append(
                f"{self.states:,} stored states: below some {WORTH:,} one process is quicker than"
                " two cores over Spark (docs/spark.md)"
            )
        per_state = self.memory / max(1, self.counted)
        told = answer(s, reason, violations, self.counted, self.seconds, per_state, notes)
        used = reduction(s.symmetry, self.states)
        reached = tuple(
            goal_met(s.see, name, self.met[name][0], self._path_to_goal(name))
            for name in goals
            if name in self.met
        )
        return evolve(told, distribution=spread, symmetry=used, reached=reached)
