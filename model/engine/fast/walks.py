"""Random walks, for models that are too large to explore: many paths from the initial states, each
step drawn from all that are possible. What they find wrong is a path like any other; that they find
nothing proves nothing, so their verdict is never `holds`.

States are tuples of numbers of values, and rows of tables are kept, as in a search: a rule is
called once for each combination of its arguments, whatever the number of walks.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from operator import itemgetter
from typing import Any

from attrs import define, field, frozen

from groupcheck.model.engine.binding import Instance, call_key
from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.paths import path_of, path_through
from groupcheck.model.engine.pools import Taken
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.reference import violation
from groupcheck.model.engine.resident import resident_bytes
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.step import LONGEST_CHAIN, State
from groupcheck.model.engine.tabled.tables import Table, tables_of
from groupcheck.model.engine.verdict import (
    DEADLOCK,
    UNKNOWN,
    VIOLATED,
    Kind,
    Limits,
    Progress,
    Verdict,
    Violation,
)

Numbers = tuple[int, ...]  # a state
# The name under which an outcome is counted, (place, new number) of each slot that changes, and the
# step invariants that it breaks.
Outcome = tuple[str, tuple[tuple[int, int], ...], tuple[str, ...]]
Row = tuple[Outcome, ...]
GLANCE = 256  # steps between two looks at limits
MOST_EXPANDED = 20_000  # states, to make a path shorter
LENGTH = 100


@frozen
class Walks:
    """The random walks that are asked for."""

    number: int
    # The most steps of each.
    length: int = LENGTH
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.number:,} random walks of at most {self.length:,} steps (seed {self.seed})"


@define
class Rows:
    """The rows of one table. `key` gives what it reads of a state."""

    table: Table
    key: Callable[[Numbers], Any]
    known: dict[Any, Row] = field(factory=dict)


class WrongError(Exception):
    """Something is wrong in the last state of a path."""

    def __init__(self, names: Sequence[str], kind: str) -> None:
        self.names, self.kind = names, kind


class Model:
    """A spec over numbered values, with rows that are filled as they are needed."""

    def __init__(self, spec: Spec) -> None:
        tables = tables_of(spec)
        self.tables, self.see = tables, tables.see
        self.see.taken = taken = Taken(spec, self.see.views)
        self.pools = [taken.pools[name] for name, _ in self.see.places]
        rows = [Rows(t, itemgetter(*t.inputs)) for t in tables.rules]
        self.ordinary, self.urgent = rows[: tables.ordinary], rows[tables.ordinary :]
        # By the id of each instance: a number that those which share their calls have, too.
        self.keys: dict[int, int] = {}
        numbers: dict[Any, int] = {}
        for i in (*self.see.ordinary, *self.see.urgent):
            key = call_key(i, self.see.checks(i)), i.guard_given
            self.keys[id(i)] = numbers.setdefault(key, len(numbers))
        self.calls: dict[tuple[int, Numbers], list[tuple[str, Numbers, tuple[str, ...]]]] = {}
        self.inside: dict[Numbers, bool] = {}

    def numbered(self, state: State) -> Numbers:
        return tuple([pool.number(value) for pool, value in zip(self.pools, state)])

    def state(self, numbers: Numbers) -> State:
        """The values of a state."""
        return tuple([pool.values[n] for pool, n in zip(self.pools, numbers)])

    def within(self, numbers: Numbers) -> bool:
        """Is it no border state?"""
        if self.see.spec.constraints and numbers not in self.inside:
            self.inside[numbers] = self.see.within(self.state(numbers))
        return self.inside.get(numbers, True)

    def possible(self, state: Numbers) -> list[Outcome]:
        """Every outcome of every ordinary rule."""
        found: list[Outcome] = []
        for rows in self.ordinary:
            key = rows.key(state)
            row = rows.known.get(key)
            if row is None:
                row = rows.known[key] = self._row(rows.table, state)
            found += row
        return found

    def next_urgent(self, state: Numbers) -> Row:
        """The outcomes of the first urgent rule that has some."""
        for rows in self.urgent:
            key = rows.key(state)
            row = rows.known.get(key)
            if row is None:
                row = rows.known[key] = self._row(rows.table, state)
            if row:
                return row
        return ()

    def _row(self, table: Table, state: Numbers) -> Row:
        row: list[Outcome] = []
        for i in table.members:
            for name, after, broken in self._call(i, tuple([state[k] for k in i.where])):
                pairs = zip(i.where, after)
                row.append((name, tuple([(k, n) for k, n in pairs if n != state[k]]), broken))
            if row and i.rule.urgent:
                break
        return tuple(row)

    def _call(self, i: Instance, ids: Numbers) -> list[tuple[str, Numbers, tuple[str, ...]]]:
        """The outcomes of a rule for these values of its slots."""
        which = (self.keys[id(i)], ids)
        if which not in self.calls:
            see = self.see
            pools = [self.pools[k] for k in i.where]
            before = tuple([pool.values[n] for pool, n in zip(pools, ids)])
            found = []
            for name, after in see.call(i, before):
                broken = [
                    p.name
                    for p, at in see.checks(i)
                    if not see.promise_holds(p, i, name, before, see.sides(p, at, before, after))
                ]
                numbers = tuple([pool.number(value) for pool, value in zip(pools, after)])
                found.append((name, numbers, tuple(dict.fromkeys(broken))))
            self.calls[which] = found
        return self.calls[which]

    def successors(self, state: Numbers) -> Iterator[Numbers]:
        """Every state at rest that a step from this one leads to."""
        stack = [applied(state, outcome) for outcome in reversed(self.possible(state))]
        while stack:
            now = stack.pop()
            row = self.next_urgent(now)
            if row:
                stack += [applied(now, outcome) for outcome in reversed(row)]
            else:
                yield now


def applied(state: Numbers, outcome: Outcome) -> Numbers:
    """The state after an outcome."""
    if not outcome[1]:
        return state
    after = list(state)
    for place, number in outcome[1]:
        after[place] = number
    return tuple(after)


class Looks:
    """Invariants and goals, asked once for each combination of the values that they read."""

    def __init__(self, model: Model) -> None:
        tables = model.tables
        self.model, self.see, self.spec = model, model.see, model.see.spec
        self.tabled: list[tuple[Callable[[Numbers], Any], set[Any], Table]] = [
            (itemgetter(*sorted(tables.read(t))), set(), t) for t in tables.predicates
        ]
        self.goals: dict[str, int | None] = {g.name: None for g in self.spec.goals}
        self._goals = {id(g) for g in self.spec.goals}

    def arrive(self, state: Numbers, depth: int) -> None:
        """Looks at a state that was never met. Raises `WrongError`."""
        wrong: list[str] = []
        values: State | None = None
        for key, known, table in self.tabled:
            combination = key(state)
            if combination not in known:
                known.add(combination)
                values = values or self.model.state(state)
                for b in table.bound:
                    answer = self.see.answer(b.predicate, b.usual, dict(b.case), values)
                    self._answered(b.predicate, answer, depth, wrong)
        for p in self.model.tables.constant:
            values = values or self.model.state(state)
            is_goal = id(p) in self._goals
            answer = self.see.met(p, values) if is_goal else self.see.holds(p, values)
            self._answered(p, answer, depth, wrong)
        if wrong:
            raise WrongError(sorted(wrong), "state")

    def _answered(self, p: Predicate, answer: bool, depth: int, wrong: list[str]) -> None:
        if id(p) not in self._goals:
            wrong += [] if answer or p.name in wrong else [p.name]
        elif answer and self.goals[p.name] is None:
            self.goals[p.name] = depth


class Walker:
    """Walks under way."""

    def __init__(self, spec: Spec, asked: Walks) -> None:
        self.spec, self.asked = spec, asked
        self.model = Model(spec)
        self.see, self.looks = self.model.see, Looks(self.model)
        self.random = random.Random(asked.seed)
        self.fired = {name: 0 for rule in spec.rules for name in rule.names}
        self.seen: set[Numbers] = set()
        self.moving: set[Numbers] = set()  # states with a successor other than themselves
        self.path: list[Numbers] = []
        self.transitions = self.longest = self.done = 0

    def begin(self) -> None:
        """Looks at the initial states. Raises `WrongError`."""
        starts = self.see.starts()
        for chain, _, _ in starts:
            for f in chain:
                self.fired[f.name] += 1
        self.starts = list(dict.fromkeys(self.model.numbered(rest) for _, _, rest in starts))
        self.seen.update(self.starts)
        for start in self.starts:
            self.path = [start]
            self.looks.arrive(start, 0)
        for name, rest in self.see.broken_at_starts().items():
            self.path = [self.model.numbered(rest)]
            raise WrongError([name], "state")
        inside = [self.model.within(start) for start in self.starts]  # border states are counted
        if not any(inside):
            raise self.see.nothing_within()

    def walk(self, pulse: Callable[[], None]) -> None:
        """One more walk. Raises `WrongError`; `pulse` may raise, too."""
        state = self.random.choice(self.starts)
        self.path = [state]
        while self.model.within(state) and len(self.path) <= self.asked.length:
            before, state = state, self._step(state)
            if state == before:
                self._must_move(state)
                if state not in self.moving:
                    break
            self.path.append(state)
            self.longest = max(self.longest, len(self.path) - 1)
            if state not in self.seen:
                self.seen.add(state)
                self.looks.arrive(state, len(self.path) - 1)
            if not self.transitions % GLANCE:
                pulse()
        self.done += 1

    def _step(self, state: Numbers) -> Numbers:
        """A state that a step leads to; the same one where no step is possible."""
        row: Sequence[Outcome] = self.model.possible(state)
        if not row:
            return state
        self.transitions += 1
        chain, names = 0, dict[str, None]()
        while row:
            outcome = row[int(self.random.random() * len(row))]
            self.fired[outcome[0]] += 1
            names |= dict.fromkeys(outcome[2])
            state = applied(state, outcome)
            row = self.model.next_urgent(state)
            chain += 1
            if chain > LONGEST_CHAIN:
                list(self.see.steps(self.model.state(self.path[-1])))  # says which rules
        if self.see.refined:
            names |= dict.fromkeys(self._unrefined(self.path[-1], state))
        if names:
            raise WrongError(sorted(names), "step")
        return state

    def _unrefined(self, before: Numbers, after: Numbers) -> Iterator[str]:
        """The refinements that a step breaks."""
        for r in self.see.refined:
            a, b = (r.image(self.model.state(numbers)) for numbers in (before, after))
            if not r.takes(a, b):
                yield r.of.name

    def _must_move(self, state: Numbers) -> None:
        """Raises `WrongError` for a state without a successor other than itself that is no end."""
        if state in self.moving:
            return
        if any(after != state for after in self.model.successors(state)):
            self.moving.add(state)
        elif self.spec.deadlock and not self.see.rests(self.model.state(state)):
            raise WrongError([DEADLOCK], "deadlock")

    # -- what is wrong

    def violations(self, wrong: WrongError) -> list[Violation]:
        """The violations at the end of the walk in hand, with a path that leads there."""
        numbers = self._shorter(self.path[-1])
        path = path_through(self.see, [self.model.state(n) for n in numbers])
        found = []
        for name in wrong.names:
            whole = path_of(self.see, name, path, wrong.kind)
            found.append(violation(self.see, name, len(whole.steps), whole))
        return found

    def key(self) -> str:
        """The key of the walk in hand; empty if the rules do not give it again."""
        try:
            return self.see.key(path_through(self.see, [self.model.state(n) for n in self.path]))
        except RuleError:
            return ""

    def _shorter(self, target: Numbers) -> list[Numbers]:
        """A shortest path through states that the walks have met, as far as that can be found
        quickly; otherwise one through those of the walk in hand.
        """
        try:
            return self._path(target, self.seen) or self._path(target, {*self.path}) or self.path
        except RuleError:  # of a state that no walk has gone on from
            return self.path

    def _path(self, target: Numbers, among: Collection[Numbers]) -> list[Numbers]:
        """A shortest path to a state through some; empty if it takes too long."""
        before: dict[Numbers, Numbers | None] = dict.fromkeys(self.starts)
        queue = list(before)
        for expanded, state in enumerate(queue):
            if state == target:
                path: list[Numbers] = []
                now: Numbers | None = state
                while now is not None:
                    path.append(now)
                    now = before[now]
                return path[::-1]
            if expanded == MOST_EXPANDED:
                break
            for after in self.model.successors(state) if self.model.within(state) else ():
                if after in among and after not in before:
                    before[after] = state
                    queue.append(after)
        return []


class StoppedError(Exception):
    """A limit is reached."""


def walk(
    spec: Spec,
    asked: Walks,
    limits: Limits = Limits(),
    progress: Callable[[Progress], None] | None = None,
) -> Verdict:
    """Goes random walks. The verdict is `violated`, with a path, or `unknown`. The same seed gives
    the same answer. Raises `RuleError` for a rule that is at fault.
    """
    began = time.perf_counter()
    walker = Walker(spec, asked)

    def pulse() -> None:
        seconds, memory = time.perf_counter() - began, resident_bytes()
        reason = limits.reached(len(walker.seen), seconds, 0).removesuffix(" in level 0")
        if not reason and limits.memory is not None and memory > limits.memory:
            whose = f" ({limits.memory_of})" if limits.memory_of else ""
            reason = f"stopped at the limit of {limits.memory:,} bytes of memory{whose}"
        if reason:
            raise StoppedError(reason)
        if progress:
            numbers = len(walker.seen), walker.transitions, walker.done + 1
            progress(Progress(*numbers, asked.number - walker.done, seconds, memory, walks=True))

    reason, notes, violations = f"{asked} met nothing wrong", list[str](), list[Violation]()
    try:
        walker.begin()
        while walker.done < asked.number:
            walker.walk(pulse)
    except WrongError as wrong:
        violations, reason = walker.violations(wrong), ""
        notes.append(
            f"met by number {walker.done + 1:,} of {asked}; the path is a shortest one among the"
            " states that were met, not among all"
        )
    except StoppedError as stopped:
        reason = f"{stopped} after {walker.done:,} of {asked}"
    except KeyboardInterrupt:
        reason = f"interrupted after {walker.done:,} of {asked}"
    except RuleError as error:
        raise error.at(walker.key()) from error
    verdict: Kind = VIOLATED if violations else UNKNOWN
    border = sum(not inside for inside in walker.model.inside.values())
    return Verdict(
        spec.name, spec.scope, verdict, reason, len(walker.seen) - border, walker.transitions,
        walker.longest + 1, time.perf_counter() - began, len(walker.model.calls), 0.0,
        walker.fired, walker.looks.goals, tuple(violations), tuple(notes), border=border,
    )  # fmt: skip
