"""The tables that the C loop is given: a run of groupcheck with every call of a rule written down.

    tables.py FILE MEMBERS PARTITIONS GENERATIONS TIMEOUTS CRASHES

Nothing is read out of the engine: the rules are wrapped, so the tables hold what the rules
answered, numbered anew. Layout of the file, all numbers little-endian, 8 bytes unless said
otherwise: number of footprints, number of outcomes, initial state; for each footprint the shift and
width of its first and of its second slot (width 0: it has one), the mask of what it keeps, its
number of cells; then the cells of each footprint (4 bytes: first outcome << 8 | number of
outcomes), then the outcomes, as words with the new values in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from groupcheck.model.engine import Rule, Spec
from groupcheck.model.engine.binding import instances

Place = tuple[str, int | None]
Row = tuple[Any, ...]


class Record:
    """Which rule was called with what, and what it answered: (rule, me or None) -> arguments ->
    list of new values.
    """

    def __init__(self) -> None:
        self.rows: dict[tuple[Any, ...], dict[Row, list[Row]]] = {}

    def listening(self, spec: Spec) -> Spec:
        """The same spec with rules that are written down as they are called."""
        if any(r.urgent for r in spec.rules):
            raise ValueError("the C loop knows no urgent rules")
        return attrs.evolve(
            spec, rules=tuple(attrs.evolve(r, call=self._heard(r)) for r in spec.rules)
        )

    def _heard(self, r: Rule) -> Callable[..., Iterator[Any]]:
        def call(*given: Any) -> Iterator[Any]:
            outcomes = list(r.call(*given))
            taken = len(r.takes)
            args = given[taken : len(given) - r.takes_scope]
            values = [o[1:] if r.labels else (o,) if len(r.slots) == 1 else o for o in outcomes]
            self.rows.setdefault((r.name, *given[:taken]), {})[args] = values
            yield from outcomes

        return call


class Layout:
    """Numbers for the values of each slot, in the order met, and the place of each slot
    in a word.
    """

    def __init__(self, spec: Spec, record: Record) -> None:
        self.spec = spec
        self.ids: dict[str, dict[Any, int]] = {
            name: {slot.initial: 0} for name, slot in spec.slots.items()
        }
        for r in spec.rules:
            for (name, *_), rows in record.rows.items():
                if name == r.name:
                    for args, outcomes in rows.items():
                        for values in (args, *outcomes):
                            for slot, value in zip(r.slots, values):
                                self.ids[slot].setdefault(value, len(self.ids[slot]))
        self.shift: dict[Place, int] = {}
        end = 0
        for place in spec.places:
            self.shift[place] = end
            end += self.width(place)
        if end > 63:
            raise ValueError(f"a state takes {end} bits, the C loop has room for 63")

    def width(self, place: Place) -> int:
        return max(1, (len(self.ids[place[0]]) - 1).bit_length())

    def word(self, places: tuple[Place, ...], values: Row) -> int:
        return sum(self.ids[p[0]][v] << self.shift[p] for p, v in zip(places, values))


def footprints(spec: Spec, record: Record) -> dict[tuple[Place, ...], dict[Row, list[Row]]]:
    """All outcomes by footprint (the places that a rule touches at one index), rules of one
    footprint together.
    """
    found: dict[tuple[Place, ...], dict[Row, list[Row]]] = {}
    for r in spec.rules:
        for i in instances(spec, r, {place: k for k, place in enumerate(spec.places)}):
            rows = found.setdefault(tuple(spec.places[k] for k in i.where), {})
            for args, outcomes in record.rows.get((r.name, *i.given), {}).items():
                rows.setdefault(args, []).extend(outcomes)
    return found


def write(file: Path, spec: Spec, record: Record) -> None:
    """Writes the tables."""
    layout = Layout(spec, record)
    heads: list[int] = []
    tables: list[np.ndarray[Any, Any]] = []
    words: list[int] = []
    for places, rows in footprints(spec, record).items():
        if len(places) > 2:
            raise ValueError("the C loop has room for footprints of two slots")
        widths = [layout.width(p) for p in places]
        second = (layout.shift[places[1]], widths[1]) if len(places) == 2 else (0, 0)
        cells = np.zeros(1 << sum(widths), np.uint32)
        for args, outcomes in rows.items():
            if len(outcomes) > 255:
                raise ValueError("the C loop has room for 255 outcomes of a footprint")
            numbers = [layout.ids[p[0]][v] for p, v in zip(places, args)]
            cell = numbers[0] << second[1] | (numbers[1] if len(places) == 2 else 0)
            cells[cell] = len(words) << 8 | len(outcomes)
            words += [layout.word(places, values) for values in outcomes]
        touched = sum(((1 << w) - 1) << layout.shift[p] for p, w in zip(places, widths))
        heads += [layout.shift[places[0]], widths[0], *second, ~touched & (1 << 64) - 1, len(cells)]
        tables.append(cells)
    if len(words) >= 1 << 24:
        raise ValueError("the C loop has room for 2^24 outcomes")
    with file.open("wb") as out:
        out.write(np.array([len(tables), len(words), 0, *heads], "<u8").tobytes())
        for cells in tables:
            out.write(cells.astype("<u4").tobytes())
        out.write(np.array(words, "<u8").tobytes())
