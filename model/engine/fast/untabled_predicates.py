"""Predicates of which nearly every state needs a row of its own, because they read nearly all of a
state: they are evaluated for each new state, and nothing is kept.

The search decides this by its own counts: in two windows after each other, at least half of the new
states need a new row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from groupcheck.model.engine.binding import Instance
from groupcheck.model.engine.errors import RuleError, UserError
from groupcheck.model.engine.fast.generated_loop import Found, Writer, look_loop
from groupcheck.model.engine.fast.log import Log
from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.predicates import PackedPredicates
from groupcheck.model.engine.functions import truth
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.step import State

AT_ONCE = 1 << 12  # states whose values are held at the same time


class UntabledPredicates:
    """Predicates that no table holds any more."""

    def __init__(
        self, predicates: PackedPredicates, packed: Packed, log: Log, key_to: Callable[[int], str]
    ) -> None:
        """`key_to`: the key of a path to a place."""
        self.predicates, self.findings = predicates, predicates.findings
        self.packed, self.log, self.key_to = packed, log, key_to
        # All states before this place have been looked at.
        self.looked = 0
        self._found = Found([], {}, {})
        self._look: Callable[..., None] | None = None

    def take(self, taken: Sequence[Predicate]) -> None:
        """Takes over predicates. All states so far have been looked at."""
        self.looked = self.log.states
        self.predicates.set_aside(taken)
        self._write()

    def _write(self) -> None:
        tables = self.predicates.tables
        wanted = [p for p in self.predicates.aside if not self.findings.is_known(p)]
        writer = Writer(tables, {}, self._found, self.findings, [], self)
        self._look = look_loop(writer, wanted, self.findings.is_goal)

    def look(self) -> None:
        """Looks at the states found since."""
        if self._look is None:
            return
        pools = self.predicates.pools
        while self.looked < self.log.states:
            end = min(self.looked + AT_ONCE, self.log.states)
            columns = self.packed.ids(self.log.packed_states(self.looked, end))
            values = [[pool.values[n] for n in ids] for pool, ids in zip(pools, columns)]
            try:
                self._look(zip(*values), self.looked)
            except (Exception, SystemExit) as error:
                self._explain(error)
                raise
            self.looked = end
            if self.findings.news:
                self.predicates.refresh()
                self._write()

    def note(self, p: Predicate, answer: Any, place: int) -> None:
        """A predicate gave another answer than the one that is of no interest."""
        if truth(answer) == self.findings.is_goal(p):
            self.findings.note(p, place)

    def check(
        self,
        instance: Instance,
        place: int,
        name: str,
        before: Sequence[Any],
        after: Sequence[Any],
    ) -> None:
        """No steps are taken here."""

    def meet(self, i: Instance, before: State, known: State, after: State) -> None:
        """No steps are taken here."""

    def _explain(self, error: BaseException) -> None:
        """Raises what the plain semantics says of the state at which something was odd."""
        if isinstance(error, (UserError, MemoryError)):
            return
        place, see = self._found.at, self.predicates
        try:
            see.arrive(see.state_of(place), place, list(see.aside))
        except RuleError as told:
            raise told.at(self.key_to(place)) from error
