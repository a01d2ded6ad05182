"""The work that an executor could not finish because rows are missing: states of its frontier, and
what is still to be done with each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen

from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.store import Words, joined

KINDS = ("states", "examinations", "firings", "rests")


@frozen(eq=False)
class Items:
    """States, and what to do with them. The other fields name a state by its place in `states`."""

    # States x words.
    states: Words
    # Predicates to be looked up: n x (state, predicates as bits).
    examinations: Words
    # Outcomes that are missing: n x (state, table).
    firings: Words
    # States that seem to have no successor.
    rests: Words
    # The layout of the states.
    widths: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.states)

    @property
    def concerned(self) -> Words:
        """Places of the states with something to do, each once."""
        return np.unique(np.concatenate([self.examinations[:, 0], self.firings[:, 0], self.rests]))

    def only(self, places: Words) -> Items:
        """The items of these states, renumbered. `places`: ascending, each once."""
        number = np.full(len(self.states), len(places), np.uint64)
        number[places] = np.arange(len(places), dtype=np.uint64)

        def chosen(rows: Words) -> Words:
            kept = rows[number[rows[:, 0]] < len(places)]
            return np.column_stack([number[kept[:, 0]], kept[:, 1]]) if len(kept) else pairs([])

        rests = number[self.rests]
        return Items(
            self.states[places],
            chosen(self.examinations),
            chosen(self.firings),
            rests[rests < len(places)],
            self.widths,
        )

    def parted(self, first: Words, most: int) -> tuple[Items, Items]:
        """(at most so many states, the rest). States whose places are in `first` are
        taken first.
        """
        places = self.concerned
        if len(places) <= most:
            return self.only(places), self.only(places[:0])
        ahead = np.isin(places, first)
        order = np.argsort(~ahead, kind="stable")
        return self.only(np.sort(places[order[:most]])), self.only(np.sort(places[order[most:]]))

    def moved_to(self, packed: Packed) -> Items:
        """The same with the states in the layout of today."""
        states = packed.in_layout(self.states, self.widths)
        return evolve(self, states=states, widths=tuple(packed.state_widths))

    @property
    def sections(self) -> list[Words]:
        """As sections of a block."""
        return [getattr(self, kind).reshape(-1) for kind in KINDS]

    @staticmethod
    def of(sections: Sequence[Words], widths: Sequence[int], packed: Packed) -> Items:
        """From sections of a block whose states have a layout with these widths."""
        states, examinations, firings, rests = sections
        return Items(
            states.reshape(-1, packed.arranged(widths)[0]),
            examinations.reshape(-1, 2),
            firings.reshape(-1, 2),
            rests,
            tuple(widths),
        )


def pairs(rows: Sequence[Words]) -> Words:
    """Queues of pairs, one after the other, as pairs x 2."""
    return joined(rows).reshape(-1, 2)
