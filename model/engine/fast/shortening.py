"""Short paths to what random walks have found wrong.

A broken invariant is looked for again, level by level from the initial states, as far as that takes
few new states: then the path is a shortest one of all. Otherwise it is a shortest one through the
states that the walkers of one generation have stood on, and those on the ways to where they began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from attrs import define, field

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.explore import StoppedError
from groupcheck.model.engine.fast.many_states import different
from groupcheck.model.engine.fast.walked import Places, Walked
from groupcheck.model.engine.paths import path_through
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.verdict import Path

NEW_STATES = 1 << 16  # that the search for a shortest path of all may take


@define(eq=False)
class Ways:
    """States by their distance from an initial one. Their order depends on no place in the log."""

    search: Walked
    # Of each state the one before it, or -1; an initial state is before itself.
    before: Places = field(factory=lambda: np.zeros(0, np.int64))

    def levels(self, follow: Callable[[Places], Places]) -> Iterator[Places]:
        """The states at each distance. `follow` says which of them to go on from; these have been
        expanded then.
        """
        now = np.arange(self.search.starts)
        self._grow()
        self.before[now] = now
        while len(now):
            yield now
            now = follow(now)
            self._grow()
            edges = self.search.edges(now)
            owner, _ = edges.of(np.arange(len(now)))
            new = np.flatnonzero(self.before[edges.targets] < 0)
            firsts = new[np.sort(np.unique(edges.targets[new], return_index=True)[1])]
            self.before[edges.targets[firsts]] = now[owner[firsts]]
            now = edges.targets[firsts]

    def _grow(self) -> None:
        more = np.full(self.search.states, -1, np.int64)
        more[: len(self.before)] = self.before
        self.before = more

    def walked(self) -> Iterator[Places]:
        """The levels of what the walkers in hand have stood on."""
        stood = self.search.inside(np.unique(np.concatenate(self.search.ways)))
        stood = stood[self.search.expanded[stood]]
        return self.levels(lambda now: now[np.isin(now, stood)])

    def to(self, place: int) -> Path:
        """A shortest path to a state through what the walkers in hand have stood on. Raises
        `RuleError` if there is none.
        """
        for level in self.walked():
            if place in level:
                return self._path(place)
        raise RuleError("?", f"no walk leads to state {place} of the log", {})

    def _path(self, place: int) -> Path:
        places = [place]
        while places[-1] >= self.search.starts:
            places.append(int(self.before[places[-1]]))
        see, state = self.search.see, self.search.state
        return path_through(see, [state(k) for k in reversed(places)])

    def to_wrong(self, name: str, place: int, kind: str) -> Path:
        """A shortest path, among those of the walkers in hand, to a state that shows what is wrong.
        `place`: of a state that does; others may be nearer. `kind`: as in `Findings`.
        """
        s = self.search
        breaking = Breaking(s, name) if kind == "state" else None
        for level in self.walked():
            if breaking is not None:
                found = breaking.first(level)
                if found is not None:
                    return self._path(found)
            else:
                for k in level[np.isin(level, s.latest)].tolist():
                    if shows(s, name, kind, k):
                        return self._path(k)
        return self._path(place)

    def of_all(self, name: str) -> Path | None:
        """A shortest path to a state that breaks an invariant, among all; None if that takes too
        many new states.
        """
        known, breaking = self.search.states, Breaking(self.search, name)
        try:
            for level in self.levels(self._expanded):
                k = breaking.first(level)
                if k is not None:
                    return self._path(k)
                if self.search.states - known > NEW_STATES:
                    return None
        except (RuleError, StoppedError):  # of a rule that walks have not called, or at a limit
            return None
        return None

    def _expanded(self, now: Places) -> Places:
        """Those of these states that are no border states, expanded."""
        inner = self.search.inside(now)
        self.search.expand(inner[~self.search.expanded[inner]], lambda: "")
        return inner


class Breaking:
    """Which states break an invariant: looked at once for all that agree in what it reads."""

    def __init__(self, search: Walked, name: str) -> None:
        self.search = search
        self.predicate = next(p for p in search.spec.invariants if p.name == name)
        tables = [
            table
            for table in search.tables.predicates
            if any(bound.predicate.name == name for bound in table.bound)
        ]
        read = frozenset[int]().union(*(search.tables.read(table) for table in tables))
        # One that has no table reads the whole state.
        self.read = sorted(read) if tables else list(range(len(search.pools)))
        self.known: dict[tuple[int, ...], bool] = {}

    def first(self, places: Places) -> int | None:
        """The first of these states that breaks it."""
        s, p = self.search, self.predicate
        assert isinstance(p, Predicate)
        ids = np.array(s.packed.ids(s.log.chosen(places.astype(np.uint64))), np.int64)[self.read]
        for k in np.sort(different(ids)[0]).tolist():
            key = tuple(ids[:, k].tolist())
            if key not in self.known:
                self.known[key] = not s.see.holds(p, s.state(int(places[k])))
            if self.known[key]:
                return int(places[k])
        return None


def shows(search: Walked, name: str, kind: str, place: int) -> bool:
    """Has the state at a place a step that breaks a promise, or is it a deadlock? `kind`: as in
    `Findings`.
    """
    see, state = search.see, search.state(place)
    steps = list(see.steps(state))
    if kind == "deadlock":
        return all(s.state == state for s, _ in steps) and not see.rests(state)
    return any(name in [p.name for p in broken] for _, broken in steps)


def shortest(search: Walked, name: str, place: int, kind: str) -> Path:
    """A short path to what is wrong, shown by the state at a place. `kind`: as in `Findings`."""
    if place < search.starts and (kind == "state" or not search.ways):
        return path_through(search.see, [search.state(place)])
    found = Ways(search).of_all(name) if kind == "state" else None
    return found or Ways(search).to_wrong(name, place, kind)


def key_of(search: Walked, place: int) -> str:
    """The key of a path to a state that a walker stands on; empty if the rules do not give it."""
    try:
        return search.see.key(Ways(search).to(place)) if search.ways else ""
    except (RuleError, AssertionError):  # rows of the round in hand are missing
        return ""
