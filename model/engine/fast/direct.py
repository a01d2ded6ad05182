"""A search over plain values: states are tuples in a set, every rule is called for every state, and
nothing is tabulated. It goes on where a search over tables does not pay: where rows approach states
because some rule reads nearly all of a state.

The meaning is that of `step.Semantics`: the loops (`written`) are its shortest form for one spec,
and what they find odd is asked of it again, which says what is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from groupcheck.model.engine.binding import Instance
from groupcheck.model.engine.errors import RuleError, UserError
from groupcheck.model.engine.fast.generated_loop import Found, Writer, search_loop
from groupcheck.model.engine.fast.predicates import PackedPredicates
from groupcheck.model.engine.functions import brief, outcomes, truth
from groupcheck.model.engine.pools import Taken
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.sameness import never_equal, unlike
from groupcheck.model.engine.step import State
from groupcheck.model.engine.tabled.rows import WATCHED, Rows, not_again
from groupcheck.model.engine.tabled.tables import Tables
from groupcheck.model.engine.verdict import DEADLOCK

AT_ONCE = 256  # states between two looks at limits
TUPLE = 56  # bytes of an empty tuple, as the collector sees it


class Watched:
    """Calls of a rule that has not been watched long enough: each is made twice."""

    def __init__(self, rule: Rule, left: int) -> None:
        self.rule, self.left = rule, left

    def __call__(self, *args: Any) -> Any:
        if self.left <= 0:
            return self.rule.call(*args)
        self.left -= 1
        first, again = ([*outcomes(self.rule.call(*args))] for _ in range(2))
        if first != again:
            given = dict(zip(self.rule.named, args[len(self.rule.takes) :]))
            raise RuleError(self.rule.name, not_again(first), given)
        return first


class Direct:
    """The states of a search as values, from the log of a search over tables on."""

    def __init__(
        self,
        tables: Tables,
        states: Sequence[State],
        rows: Rows,
        predicates: PackedPredicates,
        levels: list[int],
        key_to: Callable[[int], str],
    ) -> None:
        """`states`: those known so far; they have been looked at. `levels`: the place of the first
        state of each level. `key_to`: the key of a path to a place.
        """
        self.tables, self.see, self.rows, self.key_to = tables, tables.see, rows, key_to
        self.predicates, self.findings, self.levels = predicates, predicates.findings, levels
        # How many states come from tables.
        self.begun = len(states)
        known = dict(zip(states, states))
        self.found = Found(list(states), known, dict.fromkeys(tables.labels, 0))
        # What to call for each rule.
        self._calls: dict[str, Callable[..., Any]] = {}
        for rule in self.see.spec.rules:
            left = WATCHED - rows.watched(rule)
            self._calls[rule.name] = Watched(rule, left) if left > 0 else rule.call
        self._write_loop()

    def _write_loop(self) -> None:
        every = dict.fromkeys(b.predicate for t in self.tables.predicates for b in t.bound)
        wanted = [p for p in every if not self.findings.is_known(p)]
        self.findings.news = False
        for name, call in self._calls.items():
            if isinstance(call, Watched) and call.left <= 0:
                self._calls[name] = call.rule.call
        writer = Writer(self.tables, self._calls, self.found, self.findings, self.levels, self)
        self._go = search_loop(writer, wanted, self.findings.is_goal)

    # -- searching

    @property
    def states(self) -> list[State]:
        """All states, in order of discovery."""
        return self.found.states

    def stretch(self, first: int, end: int) -> int:
        """Expands states from `first` on, at most to `end`, but where the level ends there, perhaps
        of narrow levels after it, too; returns the next one.
        """
        new, f, level = len(self.states), self.found, self.levels[-1]
        stop = first + AT_ONCE if end == level else min(end, first + AT_ONCE)
        try:
            first = self._go(first, level, stop)
        except (Exception, SystemExit) as error:
            self._explain(f.at, error)
        self.rows.calls += f.calls
        f.calls = 0
        self._must_end()
        self._look_at_whole_states(new)
        self._rest()
        if self.findings.news:
            self._write_loop()
        return first

    def _look_at_whole_states(self, new: int) -> None:
        if self.tables.constant:
            for place in range(new, len(self.states)):
                self.predicates.arrive(self.states[place], place, self.tables.constant)

    def note(self, p: Predicate, answer: Any, place: int) -> None:
        if truth(answer) == self.findings.is_goal(p):
            self.findings.note(p, place)

    def check(
        self, i: Instance, place: int, name: str, before: Sequence[Any], after: Sequence[Any]
    ) -> None:
        """The step invariants of an outcome."""
        for p, at in self.see.checks(i):
            sides = self.see.sides(p, at, before, after)
            if not self.see.promise_holds(p, i, name, before, sides):
                self.findings.broken_step(p.name, place)

    def meet(self, i: Instance, before: State, known: State, after: State) -> None:
        """Raises `RuleError` if a state that a rule led to equals a known one, and is not the
        same.
        """
        for (slot, _), there, here in zip(self.see.places, known, after):
            if problem := unlike(there, here):
                called = i.called([before[k] for k in i.where])
                what = f"yielded {brief(here)} for {slot}, which {problem}"
                raise RuleError(i.rule.name, what, called)

    def _must_end(self) -> None:
        """Raises `RuleError` for values that do not equal themselves. A look at one state now and
        then is enough: where there are such values, nearly all states have some in the end.
        """

        def is_odd(place: int) -> bool:
            return any(map(never_equal, self.states[place]))

        last = len(self.states) - 1
        if is_odd(last):
            way = self.way_to(last)
            first = next(k for k, place in enumerate(way) if is_odd(place))
            self.see.taken = Taken(self.see.spec)
            self._explain(way[first - 1], ValueError("a value that does not equal itself"))

    def _rest(self) -> None:
        """Looks for a deadlock among states without successors."""
        for place in self.found.quiet:
            is_news = self.see.spec.deadlock and DEADLOCK not in self.findings.wrong
            if is_news and not self.see.rests(self.states[place]):
                self.findings.wrong[DEADLOCK] = (self.findings.depth - 1, place, "deadlock")
        self.found.quiet.clear()

    def _explain(self, place: int, error: BaseException) -> NoReturn:
        """Raises what the plain semantics says of the state at which something was odd."""
        state = self.states[place]
        try:
            if isinstance(error, (UserError, MemoryError)):
                raise error
            if self.found.looks:
                every = [b.predicate for t in self.tables.predicates for b in t.bound]
                self.predicates.arrive(state, place, every)
            else:
                list(self.see.steps(state))
            problem = f"yielded a value that raises {type(error).__name__} when it is compared"
            raise RuleError("?", problem, self.see.named(state)) from error
        except RuleError as told:
            if told.key:
                raise
            raise told.at(self.key_to(place)) from error

    # -- what it found

    def free(self) -> None:
        """Gives the states back at once: the loop holds them in a circle."""
        self.found.states.clear()
        self.found.known.clear()

    def way_to(self, place: int) -> list[int]:
        """The places before a place and itself, from the first that came from tables on."""
        way = [place]
        while way[-1] >= self.begun:
            way.append(self.found.parents[way[-1] - self.begun])
        return way[::-1]

    @property
    def bytes(self) -> int:
        """Memory of set, list and states; not the values in them."""
        tuples = len(self.states) * (TUPLE + 8 * len(self.see.places))
        return (
            sys.getsizeof(self.found.known)
            + sys.getsizeof(self.states)
            + tuples
            + len(self.found.parents) * 4
        )

    @property
    def bytes_soon(self) -> int:
        """Bytes that a larger set, list and array take while they are copied."""
        return (
            2 * sys.getsizeof(self.found.known)
            + sys.getsizeof(self.states)
            + len(self.found.parents) * 4
        )
