"""The rules of a spec fired one by one over numbers, and the urgent ones after them: for those who
follow a group, and do not search. `engine.step` says what the answers mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from threading import RLock
from typing import Any

import attrs

from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.step import State
from groupcheck.model.engine.tabled.guards import Guards
from groupcheck.model.engine.tabled.rows import Member
from groupcheck.model.engine.tabled.tabled import Numbers, Tabled

Begun = tuple[tuple[str, ...], Numbers]  # outcomes that have fired, and the state they left
Row = list[tuple[str, tuple[tuple[int, int], ...]]]  # outcomes: a name, what changes at which place


class Fired:
    """One rule at one index."""

    def __init__(self, tabled: Tabled, member: Member, lock: RLock) -> None:
        """`lock`: is held while tables grow."""
        self._tabled, self.member, self.where = tabled, member, member.where
        self._lock = lock
        self._get = itemgetter(*member.where)
        self._rows: dict[Any, Row] = {}
        # The place that the guard reads; None without one.
        self.guarded = member.instance.guarded

    def allowed(self, state: Numbers) -> bool:
        """Is the guard open? True without one."""
        return self.guarded is None or self.allows(state[self.guarded])

    def allows(self, number: int) -> bool:
        """Is the guard open for the value with this number at the place that it reads?"""
        guard = self.member.guard
        if guard is None:
            return True
        if number >= len(guard.open):
            with self._lock:
                guard.extend()
        return guard.open[number]

    def after(self, state: Numbers) -> list[tuple[str, Numbers]]:
        """Each outcome in a state whose guard is open, with the state that it leaves. Raises
        `RuleError` for a rule at fault.
        """
        key = self._get(state)
        row = self._rows.get(key)
        if row is None:
            with self._lock:
                row = self._rows[key] = self._row(key)
        found = []
        for name, changes in row:
            now = list(state)
            for k, number in changes:
                now[k] = number
            found.append((name, tuple(now)))
        return found

    def _row(self, key: Any) -> Row:
        member, rows, labels = self.member, self._tabled.rows, self._tabled.tables.labels
        ids = key if len(member.where) > 1 else (key,)
        rows.prepare_member(member)
        if not self.allows(ids[member.guard_at]):
            return []
        flat = rows.outcomes(member, ids, 0)
        width = len(ids) + 1
        assert len(flat) % width == 0, f"{member.rule.name} has a row with a part of an outcome"
        found = []
        for o in range(0, len(flat), width):
            after = zip(member.where, flat[o + 1 : o + width], ids)
            found.append((labels[flat[o]], tuple([(k, n) for k, n, old in after if n != old])))
        return found


class Steps:
    """A spec whose rules fire one by one. States are numbers. Several threads may use it."""

    def __init__(self, spec: Spec) -> None:
        """Looks at no promise or constraint of the spec, and begins in its first initial state
        alone.
        """
        first = attrs.evolve(
            spec,
            ends=(),
            invariants=(),
            goals=(),
            views=(),
            constraints=(),
            initial=spec.initial[:1],
        )
        self.tabled = Tabled(first)
        # Tables only grow: who reads what is there needs no lock.
        self._lock = RLock()
        self.places = self.tabled.see.at
        members = self.tabled.rows.members
        every = [Fired(self.tabled, member, self._lock) for table in members for member in table]
        self._fired = {
            (fired.member.rule.name, fired.member.instance.me or 0): fired
            for fired in every
            if len(fired.member.instance.index) < 2  # `fired` names one index
        }
        self._urgent = [fired for fired in every if fired.member.rule.urgent]
        self._guards = Guards([[fired.member] for fired in self._urgent])
        assert not self._guards.always, "an urgent rule has no guard"
        # For each place that guards of urgent rules read: those rules as a bit mask, and by the
        # number of a value those that are open.
        self._masks = {
            place: (sum(bit for bit, _ in self._guards.read[place]), masks)
            for place, masks in self._guards.open
        }

    def start(self) -> Numbers:
        """The first initial state, at rest."""
        (state,), _ = self.tabled.starts(lambda state: state)
        return state

    def value(self, place: int, number: int) -> Any:
        """The value with a number at a place."""
        return self.tabled.pools[place].values[number]

    def number(self, place: int, value: Any) -> int:
        """The number of a value at a place."""
        with self._lock:
            return self.tabled.pools[place].number(value)

    def numbers(self, state: State) -> Numbers:
        """A state of values as numbers."""
        with self._lock:
            return self.tabled.numbers(state)

    def changed(self, state: Numbers, values: Mapping[int, Any]) -> Numbers:
        """The state with other values at some places."""
        now = list(state)
        for place, value in values.items():
            now[place] = self.number(place, value)
        return tuple(now)

    def fired(self, rule: str, index: int) -> Fired:
        """A rule at an index; a rule without one ignores it."""
        found = self._fired.get((rule, index))
        return self._fired[rule, 0] if found is None else found

    def settled(self, state: Numbers) -> list[Begun]:
        """All ways in which urgent rules bring a state to rest, as `Semantics.settle` has them."""
        found: list[Begun] = []
        stack: list[tuple[tuple[str, ...], Numbers, int]]
        stack = [((), state, self._opened(0, self._masks, state))]
        while stack:
            chain, now, left = stack.pop()
            may = left
            while may:
                lowest = may & -may
                fired = self._urgent[lowest.bit_length() - 1]
                outcomes = fired.after(now)
                if outcomes:
                    stack += [
                        ((*chain, name), after, self._opened(left, fired.where, after))
                        for name, after in reversed(outcomes)
                    ]
                    break
                may ^= lowest
            else:
                found.append((chain, now))
        return found

    def _opened(self, mask: int, places: Iterable[int], state: Numbers) -> int:
        """The urgent rules whose guards are open, as a bit mask, once these places have changed.
        `mask`: those that were open before.
        """
        for place in places:
            if place in self._masks:
                bits, masks = self._masks[place]
                if state[place] >= len(masks):
                    with self._lock:
                        self.tabled.rows.extend_guards()
                        self._guards.extend()
                mask = mask & ~bits | masks[state[place]]
        return mask
