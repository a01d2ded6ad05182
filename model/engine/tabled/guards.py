"""Which tables are open: by guards, each of which reads one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from groupcheck.model.engine.tabled.rows import GuardValues, Member


class Guards:
    """The guards of some tables. A table is open if one of its rules has no guard, or an open one.
    Tables are bits.
    """

    def __init__(
        self,
        members: Sequence[Sequence[Member]],
        bit_of: Callable[[int], int] = lambda number: 1 << number,
    ) -> None:
        """`members`: the rules of each table. `bit_of`: the bit of the table with a number."""
        # The tables of which some rule has no guard.
        self.always = 0
        # Place -> the guards that read it, with the bits of their tables.
        self.read: dict[int, list[tuple[int, GuardValues]]] = {}
        for k, table in enumerate(members):
            if any(m.guard is None for m in table):
                self.always |= bit_of(k)
                continue
            for m in table:
                assert m.guard is not None
                self.read.setdefault(m.where[m.guard_at], []).append((bit_of(k), m.guard))
        # Each such place, with the tables that guards there leave open by the number of its value.
        self.open: list[tuple[int, list[int]]] = [(place, []) for place in self.read]

    def masks(self, place: int, first: int) -> list[int]:
        """For the values from number `first` on of a place, the tables that guards there leave
        open, as far as guards were asked.
        """
        guards = self.read[place]
        out = [0] * (len(guards[0][1].open) - first)
        for bit, guard in guards:
            for n, is_open in enumerate(guard.open[first:]):
                if is_open:
                    out[n] |= bit
        return out

    def extend(self) -> None:
        """Takes in values that guards were asked about since."""
        for place, masks in self.open:
            masks += self.masks(place, len(masks))

    def mask(self, state: Sequence[int]) -> int:
        """The tables that are open in a state."""
        found = self.always
        for place, masks in self.open:
            found |= masks[state[place]]
        return found
