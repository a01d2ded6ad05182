"""The search in plain Python: states are tuples of numbers, rows are looked up in dicts. Each state
keeps the one that it was found from, so that shortest paths follow from parents.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, NoReturn

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.paths import path_of, path_through, shown_by, unwound
from groupcheck.model.engine.plain.alike import Alike
from groupcheck.model.engine.plain.answers import Answers, Images
from groupcheck.model.engine.plain.lookups import Lookups, Outcome
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.step import LONGEST_CHAIN, State
from groupcheck.model.engine.symmetry import NO_SYMMETRY, Symmetry
from groupcheck.model.engine.tabled.predicates import Predicates
from groupcheck.model.engine.tabled.sizes import bytes_of_pools
from groupcheck.model.engine.tabled.tabled import Numbers, Tabled
from groupcheck.model.engine.verdict import DEADLOCK, Path

AT_ONCE = 64  # states between two looks at limits
# A state after a step, the tables of predicates that it concerns as bits, and the labels of the
# outcomes that led there.
Rest = tuple[Numbers, int, tuple[int, ...]]


class PlainSearch:
    """A breadth-first search, level by level. `levels[d]` is the place of the first state of level
    d, a place the number of a state in order of discovery.
    """

    def __init__(self, spec: Spec, symmetry: Symmetry = NO_SYMMETRY) -> None:
        """`symmetry`: one whose indexes are stored, or none."""
        self.spec, self.symmetry = spec, symmetry
        self.tabled = Tabled(spec)
        self.alike = Alike(self.tabled, symmetry) if symmetry.is_stored else None
        self.see, self.findings = self.tabled.see, self.tabled.findings
        self.predicates = Predicates(
            self.tabled.tables,
            self.tabled.pools,
            self.tabled.view_pools,
            self.findings,
            self.state,
        )
        self.lookups = Lookups(self.tabled, self.predicates)
        starts, self._begun = self.tabled.starts(self._stored)
        self.states: list[Numbers] = starts
        self.starts = len(starts)
        # Of each state how many it stands for; empty: itself alone.
        self.weights: list[int] = []
        self._weight = 1  # of the state in hand
        self._places = {state: place for place, state in enumerate(starts)}
        # Of each state the place of the one that it was found from; of an initial one its own.
        self.parents = list(range(len(starts)))
        self.levels = [0]
        self.transitions = 0
        # Labels of the outcomes of a transition, in order -> how many transitions had them.
        self._chains: Counter[tuple[int, ...]] = Counter()
        self._ends = Answers(self.tabled, self.tabled.tables.ends)
        self._constraints = Answers(self.tabled, self.tabled.tables.constraints)
        self._images = Images(self.tabled) if spec.refinements else None
        self._live = self.lookups.live()
        if self.alike is not None:
            self.lookups.compare = self.alike.compare
            self.weights = [self.alike.exchange.least(state)[1] for state in starts]

    def _stored(self, state: Numbers) -> Numbers:
        """The state that is stored for a state."""
        return state if self.alike is None else self.alike.exchange.least(state)[0]

    # -- exploring

    def begin(self) -> None:
        """Looks at the initial states. Raises `SpecError` if constraints leave none of them."""
        for place, state in enumerate(self.states):
            if self.alike is None:
                self.predicates.arrive_first(self.state(place), place)
            else:
                self._look_for_orbit(self.alike, state, place)
        self.lookups.refresh()
        self._refresh()
        if self.outside == len(self.states):
            raise self.see.nothing_within()

    def open_level(self) -> tuple[int, int]:
        """Begins a new level. Returns the places of the states to expand: from, and to before."""
        first, end = self.levels[-1], len(self.states)
        # A column that is too short would give a wrong path or count, and no error.
        assert len(self.parents) == end and len(self.weights) in (0, end)
        self.findings.depth += 1
        self.levels.append(end)
        return first, end

    def close_level(self) -> int:
        """How many of the states of the level that was found last are to be expanded. Raises
        `RuleError` for a constraint at fault.
        """
        return sum(map(self.is_inside, range(self.levels[-1], len(self.states))))

    def stretch(self, first: int, end: int, until: float) -> int:
        """Expands states from place `first` on, at most to `end`, some of them; returns the next
        one. `until`: the time, by `time.perf_counter`, after which no further one is expanded.
        Raises `RuleError` for a rule or predicate at fault, with a key to the state.
        """
        end = min(end, first + AT_ONCE)
        for place in range(first, end):
            if self.is_inside(place):
                try:
                    self._expand(place, self.states[place])
                except RuleError as error:
                    self._raise_at(error, place)
            if time.perf_counter() > until:
                return place + 1
        return end

    def _expand(self, place: int, state: Numbers) -> None:
        self._weight = self.weights[place] if self.weights else 1
        moved = False
        for _, row in self.rows(place):
            for outcome in row:
                for after, needs, labels in self._settled(place, state, outcome):
                    self.transitions += self._weight
                    self._chains[labels] += self._weight
                    moved = moved or after != state
                    if self.alike is None:
                        self._arrive(after, place, needs)
                    elif after not in self._places:
                        self._arrive_for_orbit(self.alike, after, place)
        if not moved and self.spec.deadlock and not self._rests(state):
            self.findings.wrong.setdefault(DEADLOCK, (self.findings.depth - 1, place, "deadlock"))

    def _rests(self, state: Numbers) -> bool:
        """Is it a declared end; and so is each state that it stands for?"""
        images = [state] if self.alike is None else self.alike.exchange.images(state)
        return all(map(self._ends.any, images))

    def after(self, place: int, outcome: Outcome) -> list[int]:
        """The places of the states that follow the one at a place, which was expanded."""
        settled = self._settled(place, self.states[place], outcome)
        return [self._places[after] for after, _, _ in settled]

    def rows(self, place: int) -> Iterator[tuple[int, list[Outcome]]]:
        """The rows of the ordinary tables that are open in a state, with their numbers. Raises
        `RuleError` for a rule at fault.
        """
        lookups, state = self.lookups, self.states[place]
        open_ = lookups.guards.mask(state)
        while open_:
            bit = open_ & -open_
            open_ ^= bit
            lookup = lookups.ordinary[bit.bit_length() - 1]
            key = lookup.get(state)
            row = lookup.rows.get(key)
            yield lookup.number, lookups.fill(lookup, key, place) if row is None else row

    def _settled(self, place: int, state: Numbers, outcome: Outcome) -> list[Rest]:
        """Takes an outcome and all urgent ones after it."""
        lookups = self.lookups
        guards, urgent = lookups.urgent_guards, lookups.urgent
        label, changes, pending, needs, moves = outcome
        now = list(state)
        for k, n in changes:
            now[k] = n
        if not pending:
            return [(tuple(now), needs, (label,))]
        found: list[Rest] = []
        stack = [(now, pending, needs, [label])]
        while stack:
            now, pending, needs, labels = stack.pop()
            moves = True
            while pending:
                if moves:
                    open_ = guards.mask(now)
                pending &= open_
                bit = pending & -pending
                if not bit:
                    break
                lookup = urgent[bit.bit_length() - 1]
                key = lookup.get(now)
                row = lookup.rows.get(key)
                if row is None:
                    row = lookups.fill(lookup, key, place)
                if not row:
                    pending ^= bit
                    moves = False
                    continue
                for label, changes, more, concerned, _ in row[:0:-1]:
                    other = now.copy()
                    for k, n in changes:
                        other[k] = n
                    stack.append((other, pending | more, needs | concerned, [*labels, label]))
                label, changes, more, concerned, moves = row[0]
                for k, n in changes:
                    now[k] = n
                pending |= more
                needs |= concerned
                labels.append(label)
                if len(labels) > LONGEST_CHAIN:
                    self._never_rests(place)
            found.append((tuple(now), needs, tuple(labels)))
        return found

    def _arrive(self, state: Numbers, before: int, needs: int) -> None:
        """Takes in a state that follows the one at a place."""
        place = self._places.setdefault(state, len(self.states))
        if place == len(self.states):
            self.states.append(state)
            self.parents.append(before)
            needs &= self._live
            if needs or self.tabled.tables.constant:
                self._look(needs, state, place)
        if self._images is not None:
            self._images.look(before, place, self.states)

    def _arrive_for_orbit(self, alike: Alike, after: Numbers, before: int) -> None:
        """Takes in the state that stands for one that follows the one at a place."""
        state, weight = alike.exchange.least(after)
        place = self._places.setdefault(state, len(self.states))
        if place == len(self.states):
            self.states.append(state)
            self.parents.append(before)
            self.weights.append(weight)
            self._look_for_orbit(alike, state, place)

    def _look_for_orbit(self, alike: Alike, state: Numbers, place: int) -> None:
        try:
            alike.look(state, place)
        except RuleError as error:
            self._raise_at(error, place)

    def _look(self, needs: int, state: Numbers, place: int) -> None:
        try:
            self.lookups.look(needs, state, place)
            if self.tabled.tables.constant:
                self.predicates.arrive(self.state(place), place, self.tabled.tables.constant)
        except RuleError as error:
            self._raise_at(error, place)
        if self.findings.news:
            self._refresh()

    def _refresh(self) -> None:
        self.findings.news = False
        self._live = self.lookups.live()

    def is_inside(self, place: int) -> bool:
        """Is it no border state?"""
        if not self.spec.constraints:
            return True
        try:
            return self._constraints.all(self.states[place])
        except RuleError as error:
            self._raise_at(error, place)

    def _never_rests(self, place: int) -> None:
        """Raises `RuleError`, which names the urgent rule that does not come to rest."""
        for _ in self.see.steps(self.state(place)):
            pass
        raise AssertionError("urgent rules came to rest after all")

    def _raise_at(self, error: RuleError, place: int) -> NoReturn:
        """Raises the error, with a key to the state at a place if it has none yet."""
        if error.key:
            raise error
        raise error.at(self.key_to(place)) from error

    # -- what it found

    @property
    def counted(self) -> int:
        """States found so far, with all that they stand for."""
        return sum(self.weights) if self.weights else len(self.states)

    @property
    def outside(self) -> int:
        """How many border states there are."""
        if not self.spec.constraints:
            return 0
        return sum(not self.is_inside(place) for place in range(len(self.states)))

    @property
    def bytes(self) -> int:
        """Memory of states and values, that of Python's values as far as a sample tells."""
        tuples = sum(map(sys.getsizeof, self.states[:1])) * len(self.states)
        lists = sum(map(sys.getsizeof, (self.states, self.parents, self._places)))
        return bytes_of_pools((*self.tabled.pools, *self.tabled.view_pools)) + lists + tuples

    @property
    def fired(self) -> dict[str, int]:
        """How often each outcome fired."""
        counts: Counter[int] = Counter()
        for labels, n in self._chains.items():
            for label in labels:
                counts[label] += n
        names = self.tabled.tables.labels
        return {name: self._begun[name] + counts[k] for k, name in enumerate(names)}

    def free(self) -> None:
        """Gives the states back; the search cannot be used any more."""
        self.states.clear()
        self._places.clear()
        self._chains.clear()
        self.lookups.free()

    def state(self, place: int) -> State:
        """The values of the state at a place."""
        return self.tabled.values(self.states[place])

    def seen(self, names: Collection[str]) -> Iterator[tuple[Any, ...]]:
        """Every combination of values that the slots of these names have in some state, in the
        order of `see.places`. Of all states, so not under a symmetry.
        """
        at = [k for k, (name, _) in enumerate(self.see.places) if name in names]
        for numbers in {tuple([state[k] for k in at]) for state in self.states}:
            yield tuple([self.tabled.pools[k].values[n] for k, n in zip(at, numbers)])

    def path_to(self, place: int, last: State | None = None) -> Path:
        """A shortest path to the state at a place, its values taken again through the rules; under
        symmetry to `last`, a state of its orbit. Raises `RuleError` if they do not give it again.
        """
        places = [place]
        while self.parents[places[-1]] != places[-1]:
            places.append(self.parents[places[-1]])
        states = [self.state(k) for k in reversed(places)]
        if self.alike is None:
            return path_through(self.see, states)
        return unwound(self.see, self.alike.orbits, states, states[-1] if last is None else last)

    def path_to_goal(self, name: str) -> Path:
        """A shortest path to a state that meets a goal, which some state does."""
        place = self.findings.first[name]
        if self.alike is None:
            return self.path_to(place)
        goal = next(g for g in self.spec.goals if g.name == name)
        images = self.alike.orbits.images(self.state(place))
        return self.path_to(place, next(i for i in images if self.see.met(goal, i)))

    def key_to(self, place: int) -> str:
        """The key of a shortest path to the state at a place; empty if rules do not give it
        again.
        """
        try:
            return self.see.key(self.path_to(place))
        except RuleError:
            return ""

    def witness(self, name: str, place: int, kind: str) -> Path:
        """The path that shows what is wrong. `kind`: as in `Findings`."""
        last = None
        if self.alike is not None:
            last = shown_by(self.alike.orbits, self.state(place), name, kind)
        return path_of(self.see, name, self.path_to(place, last), kind)
