"""Refinements during a search: which state of the smaller spec each state stands for, as numbers,
and whether every step of a level is one of its steps or changes nothing there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import define, field

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.exploration import Exploration
from groupcheck.model.engine.fast.many_states import Numbers, different
from groupcheck.model.engine.fast.store import Words
from groupcheck.model.engine.functions import AnswerError
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.refinement import Refined
from groupcheck.model.engine.step import State
from groupcheck.model.engine.tabled.tables import reads_of


@define
class Part:
    """A value of the smaller spec, and its numbers by those of the values that it is made of."""

    predicate: Any
    binding: dict[str, int]
    # The places that it reads.
    read: list[int]
    known: dict[tuple[int, ...], int] = field(factory=dict)
    values: Pool = field(factory=lambda: Pool(""))


class Seen:
    """The states of one search through one refinement."""

    def __init__(self, search: Exploration, refined: Refined) -> None:
        self.search, self.refined = search, refined
        reads = reads_of(search.see)
        self.parts = [
            Part(p, binding, list(reads(p, binding)))
            for _, p, bindings in refined.parts
            for binding in ([{}] if bindings is None else bindings)
        ]
        self.images: list[State] = []
        # Numbers of the parts' values -> number of the image; image -> its number.
        self._known: dict[tuple[int, ...], int] = {}
        self._numbers: dict[State, int] = {}
        # (image before, image after) -> is it a step?
        self._taken: dict[tuple[int, int], bool] = {}

    def numbers(self, states: Words) -> Numbers:
        """The number of the state that each stands for. `states`: states x words."""
        ids = np.array(self.search.packed.ids(states), np.int64)
        columns = [self._numbered(part, ids) for part in self.parts]
        firsts, which = different(np.array(columns, np.int64))
        found = []
        for k in firsts.tolist():
            key = tuple([int(column[k]) for column in columns])
            if key not in self._known:
                image = self.refined.image(self._state(ids, k))
                number = self._numbers.setdefault(image, len(self.images))
                if number == len(self.images):
                    self.images.append(image)
                self._known[key] = number
            found.append(self._known[key])
        return np.array(found, np.int64)[which]

    def _numbered(self, part: Part, ids: Numbers) -> Numbers:
        """The number of a part's value in each state."""
        some = ids[part.read]
        firsts, which = different(some)
        found = []
        for k in firsts.tolist():
            key = tuple(some[:, k].tolist())
            if key not in part.known:
                value = self.search.see.evaluate(part.predicate, part.binding, self._state(ids, k))
                try:
                    part.known[key] = part.values.number(value)
                except AnswerError as error:
                    problem = f"gave a {type(value).__name__}, which {error}"
                    raise RuleError(part.predicate.name, problem, {}, kind="view") from None
            found.append(part.known[key])
        return np.array(found, np.int64)[which]

    def _state(self, ids: Numbers, k: int) -> State:
        return tuple(
            [pool.values[n] for pool, n in zip(self.search.pools, ids[:, k].tolist(), strict=True)]
        )

    def first_break(self, before: Numbers, after: Numbers) -> int | None:
        """The first of these steps that is none of the smaller spec and changes something there."""
        moves = np.flatnonzero(before != after)
        if not len(moves):
            return None
        firsts, _ = different(np.array([before[moves], after[moves]]))
        for k in np.sort(firsts).tolist():
            pair = int(before[moves[k]]), int(after[moves[k]])
            if pair not in self._taken:
                a, b = self.images[pair[0]], self.images[pair[1]]
                self._taken[pair] = self.refined.takes(a, b)
            if not self._taken[pair]:
                return int(moves[k])
        return None


class Refinements:
    """The refinements of a search."""

    def __init__(self, search: Exploration) -> None:
        self.search = search
        self.seen = [Seen(search, refined) for refined in search.see.refined]

    def look_at(self, places: Words) -> None:
        """Looks at all steps from the states at these places, which have been expanded."""
        findings = self.search.findings
        open_ = [s for s in self.seen if s.refined.of.name not in findings.wrong]
        for words, sources in self.search.steps_of(places) if open_ else ():
            froms, which = np.unique(sources, return_inverse=True)
            states = self.search.log.chosen(froms)
            for seen in open_:
                k = seen.first_break(seen.numbers(states)[which], seen.numbers(words))
                if k is not None:
                    findings.broken_step(seen.refined.of.name, int(sources[k]))
