"""A search whose work threads share. Shortest paths come from the log alone: level by level
backwards, the kernel finds a state that has the next one as successor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.direct import Direct
from groupcheck.model.engine.fast.exploration import AT_ONCE, Exploration, Work
from groupcheck.model.engine.fast.factoring import Factoring, by_table
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.log import Log
from groupcheck.model.engine.fast.loop import STRETCH
from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.refined import Refinements
from groupcheck.model.engine.fast.threads import Threads
from groupcheck.model.engine.fast.untabled_predicates import UntabledPredicates
from groupcheck.model.engine.paths import path_through, shown_by, unwound
from groupcheck.model.engine.resident import cores
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.step import State
from groupcheck.model.engine.symmetry import NO_SYMMETRY, Symmetry
from groupcheck.model.engine.tabled.sizes import bytes_of_pools, weighed_inside
from groupcheck.model.engine.tabled.tabled import Tabled
from groupcheck.model.engine.tabled.tables import Table, Tables
from groupcheck.model.engine.verdict import Path


class Search(Exploration):
    """An exploration by as many threads as `threads` says, one at first."""

    def __init__(
        self,
        spec: Spec,
        symmetry: Symmetry = NO_SYMMETRY,
        tabled: Tabled | None = None,
        new_log: Callable[[Packed], Log] = Log,
    ) -> None:
        """`tabled`: the spec as another search knows it, which is taken over. `new_log`: makes the
        log.
        """
        self.threads = Threads(1)
        # May it go on as a search over values, which leaves the log behind?
        self.may_leave = False
        self.direct: Direct | None = None
        # Of the states that another search found, the places of those that they were found from:
        # kernels may lack rows of these.
        self.parents: Sequence[int] = ()
        # May it begin a level by itself? Only before this place.
        self.may_go_down_below = 0
        super().__init__(spec, symmetry, tabled, new_log)
        every = len(self.see.places)
        self.factoring = Factoring([len(self.tables.read(k)) == every for k in self.tables.all])
        self.refinements = Refinements(self)
        self.key_to = self.key_of
        self.aside = UntabledPredicates(self.predicates, self.packed, self.log, self.key_of)

    def divide(self, workers: int) -> None:
        """Has so many threads explore, as far as there are processors for them."""
        self.threads.workers = self.log.sharers = min(workers, cores())

    def stretch(self, first: int, end: int) -> int:
        """Expands states from `first` on, at most to `end`, completely; returns the next one."""
        if self.direct is not None:
            return self.direct.stretch(first, end)
        if self._does_not_factor(first if self.frontier is None else self.log.levels[-2]):
            return self._leave().stretch(first, end)
        if self.threads.are_worth(end - first):
            first = self.threads.stretch(self, first, end)
        else:
            first = self.stretch_alone(first, end, self._goes_down_below(first, end))
        self.aside.look()
        return first

    def _goes_down_below(self, first: int, end: int) -> int:
        """Before which place the kernel may begin a level by itself; 0: nowhere."""
        is_whole = end == self.log.levels[-1] and self.frontier is None
        is_whole = is_whole and not self.predicates.aside
        return min(self.may_go_down_below, first + STRETCH) if is_whole else 0

    def make_room(self) -> None:
        """Room in log and index for one more buffer of successors, of each thread."""
        if self.log.shared is None:
            super().make_room()
        else:
            self.threads.make_room(self)

    def fill(self) -> None:
        """As in `Exploration`; other threads see the rows from their next part on."""
        super().fill()
        if self.log.shared is not None:
            self.threads.publish(self)

    def evaluate(self, work: Work, tape: list[int]) -> None:
        """As in `Exploration`. A second Ctrl-C ends a rule that does not end."""
        with self.threads.interruptible():
            super().evaluate(work, tape)

    def _relay(self) -> None:
        if self.log.shared is None or self.packed.fits:
            super()._relay()
        else:
            with self.threads.paused(self):
                super()._relay()

    def end_of_level(self, end: int) -> int:
        """The end of the level in hand, which ended at `end` before the last stretch."""
        return end if self.frontier is not None else self.log.levels[-1]

    def _does_not_factor(self, expanded: int) -> bool:
        """Would a search over values be quicker from here on? There its rules are not watched any
        more, so all values must be of kinds that no rule changes by mistake.
        """
        if expanded < self.factoring.next:
            return False
        t, p = self.tables, self.packed
        moves = by_table(t, p.arrays[r.FIRED].tolist())
        self.factoring.look(p.filled, moves, expanded, self.log.states)
        instances = len(t.see.ordinary) + len(t.see.urgent)
        if self.factoring.fails(instances) and self.may_leave:
            return all(pool.is_frozen for pool in self.pools)
        self._set_aside()
        return False

    def _set_aside(self) -> None:
        """Takes predicates out of the tables of which nearly every state needs a row."""
        t = self.tables
        many = [
            bound.predicate
            for number in range(t.views, len(t.all))
            if self.factoring.needs_no_table(number)
            for bound in t.all[number].bound
            if bound.predicate not in self.predicates.aside
        ]
        if many:
            self.aside.take(many)

    def _leave(self) -> Direct:
        """Goes on as a search over values."""
        columns = self.packed.ids(self.log.packed_states(0, self.log.states))
        values = [[pool.values[n] for n in ids] for pool, ids in zip(self.pools, columns)]
        self.direct = Direct(
            self.tables,
            list(zip(*values)),
            self.rows,
            self.predicates,
            self.log.levels,
            self.key_of,
        )
        super().give_up()
        return self.direct

    def free(self) -> None:
        """Gives the states and outcomes back; the search cannot be used any more."""
        super().free()
        if self.direct is not None:
            self.direct.free()

    @property
    def states(self) -> int:
        """States found so far."""
        return len(self.direct.states) if self.direct is not None else self.log.states

    @property
    def counted(self) -> int:
        """States found so far, all those of each orbit."""
        permuted, n = self.packed.permuted, self.log.states
        if permuted is None:
            return self.states
        parts = range(0, n, AT_ONCE)
        return sum(permuted.orbits(self.log.packed_states(k, min(n, k + AT_ONCE))) for k in parts)

    def state(self, place: int) -> State:
        """The values of the state at a place."""
        return self.direct.states[place] if self.direct is not None else super().state(place)

    def notes(self, seconds: float) -> list[str]:
        """The notes that the user should read about a search that took so long."""
        out = self.tabled.notes
        if self.direct is not None:
            out.append(
                f"nearly every state asked {', '.join(self.factoring.culprits(self.tables))} anew,"
                f" so from {self.log.states:,} states on all rules were called for each state"
                f" ({ADVICE})"
            )
            return out
        names = dict.fromkeys(p.name for p in self.predicates.aside)
        if names:
            out.append(
                f"nearly every state asked {', '.join(names)} anew: evaluated for each state"
                f" ({ADVICE})"
            )
        return [*out, *costly(self.tables, self.packed.filled, self.spent, self.states, seconds)]

    @property
    def transitions(self) -> int:
        return super().transitions + (
            self.direct.found.transitions if self.direct is not None else 0
        )

    @property
    def fired(self) -> dict[str, int]:
        out = super().fired
        for name, n in self.direct.found.fired.items() if self.direct is not None else ():
            out[name] += n
        return out

    def path_to(self, place: int, last: State | None = None) -> Path:
        """A shortest path to the state at a place, its values replayed through the rules; under
        symmetry to `last`, a state of its orbit. Raises `RuleError` if they do not give it again.
        """
        later = self.direct.way_to(place) if self.direct is not None else [place]
        places = [later[0]]
        for level in range(self.log.level_of(places[0]) - 1, -1, -1):
            places.append(self._parent(places[-1], level))
        states = [self.state(k) for k in (*reversed(places), *later[1:])]
        if self.orbits is None:
            return path_through(self.see, states)
        return unwound(self.see, self.orbits, states, states[-1] if last is None else last)

    def _parent(self, place: int, level: int) -> int:
        """The place of a state of a level that leads to the one at a place."""
        if place < len(self.parents):
            return self.parents[place]
        first, end = self.log.levels[level], self.log.levels[level + 1]
        found = self.predecessor(first, end, place)
        while found is not None and not self.see.within(self.state(found)):
            found = self.predecessor(found + 1, end, place)
        if found is None:
            what = f"no state leads to state {place} of the log"
            raise RuleError("?", f"{what}: a rule is not deterministic", {})
        return found

    def path_to_goal(self, name: str) -> Path:
        """A shortest path to a state that meets a goal, which some state does."""
        goal = next(g for g in self.spec.goals if g.name == name)
        places = [self.findings.first[name]] if name in self.findings.first else self._first(name)
        return next(
            self.path_to(place, image)
            for place in places
            for image in self._orbit(self.state(place))
            if self.see.met(goal, image)
        )

    def _first(self, goal: str) -> range:
        """The places of the level in which a goal was met before the search was resumed."""
        depth, levels = self.findings.goals[goal], (*self.log.levels, self.log.states)
        assert depth is not None
        return range(levels[depth], levels[depth + 1])

    def _orbit(self, state: State) -> Iterable[State]:
        return self.orbits.images(state) if self.orbits else (state,)

    def witness(self, name: str, place: int, kind: str) -> State:
        """The state of an orbit that shows what is wrong. `kind`: as in `Findings`."""
        state = self.state(place)
        return state if self.orbits is None else shown_by(self.orbits, state, name, kind)

    def key_of(self, place: int) -> str:
        """The key of a shortest path to the state at a place; empty if the rules do not give it
        again.
        """
        try:
            return self.see.key(self.path_to(place))
        except RuleError:
            return ""

    def give_up(self) -> None:
        """Gives back what only a search that goes on needs; paths can still be found."""
        super().give_up()
        self.threads.helpers.clear()

    @property
    def bytes(self) -> int:
        """Memory of log, index, tables, outcomes and queues; not the Python values."""
        direct = self.direct.bytes if self.direct is not None else 0
        return super().bytes + self.threads.bytes + direct

    @property
    def bytes_of_values(self) -> int:
        """Memory of Python's values, as far as a sample tells."""
        states = self.direct.states if self.direct is not None else ()
        return bytes_of_pools((*self.pools, *self.view_pools)) + weighed_inside(states)

    @property
    def bytes_soon(self) -> int:
        """Bytes that the next stretch may take at once: a larger index, and what threads need for
        themselves.
        """
        if self.direct is not None:
            return self.direct.bytes_soon
        return self.log.bytes_soon(self.threads.slack(self)) + self.threads.bytes_soon(self)


# -- The notes that a search gives about rules and predicates that need many rows: by name, number
# and share of the time, so that an author knows which slots to cut.

ROWS_FOR_A_STATE = 0.3  # rows for each state
MANY_ROWS = 20_000  # rows below which nobody waits for them
ADVICE = "see “How to cut a model into slots”"


def costly(
    t: Tables, rows: Sequence[int], spent: Mapping[int, float], states: int, seconds: float
) -> Iterator[str]:
    """A sentence for each rule, view or predicate with many rows. `rows` of all tables, `spent`:
    seconds of some of them, of `seconds` in all.
    """
    asked: dict[str, list[int]] = {}
    for number, table in enumerate(t.all):
        asked.setdefault(_named(t, number, table), []).append(number)
    for name, numbers in asked.items():
        count = sum(rows[k] for k in numbers)
        if count >= MANY_ROWS and count > ROWS_FOR_A_STATE * states:
            share = sum(spent.get(k, 0.0) for k in numbers) / max(seconds, 1e-9)
            yield (
                f"{name} needed {count:,} rows for {states:,} states, {share:.0%} of the time: a"
                f" row serves few states where it reads much ({ADVICE})"
            )


def _named(t: Tables, number: int, table: Table) -> str:
    """The contents of a table, in words: `rule vote`, `view standing`, `kept` for predicates."""
    if table.view is not None:
        return f"view {table.view.view.name}"
    names = [m.rule.name for m in table.members] or [b.predicate.name for b in table.bound]
    kind = "rule" if number < t.urgent else "predicate"
    different = list(dict.fromkeys(names))
    return f"{kind}{'s' * (len(different) > 1)} {', '.join(different)}"
