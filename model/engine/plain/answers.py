"""Ends, constraints and refinements of a search in plain Python: asked once for each combination of
the numbers that they read.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.model.engine.promises import ALL
from groupcheck.model.engine.refinement import Refined
from groupcheck.model.engine.step import State
from groupcheck.model.engine.tabled.tabled import Numbers, Tabled
from groupcheck.model.engine.tabled.tables import CasedPredicate


class Answers:
    """Predicates that are asked for whole states."""

    def __init__(self, tabled: Tabled, asked: Sequence[CasedPredicate]) -> None:
        self.tabled, self.asked = tabled, asked
        # Of a predicate, case and the numbers that it reads there: does it hold?
        self._known: dict[tuple[int, int, Numbers], bool] = {}

    def all(self, state: Numbers) -> bool:
        """Do all of them hold?"""
        return all(self._holds(number, state) for number in range(len(self.asked)))

    def any(self, state: Numbers) -> bool:
        """Does one of them hold?"""
        return any(self._holds(number, state) for number in range(len(self.asked)))

    def _holds(self, number: int, state: Numbers) -> bool:
        p, cases = self.asked[number]
        for k, (case, read) in enumerate(cases):
            key = number, k, tuple([state[place] for place in read])
            if key not in self._known:
                values = self.tabled.values(state)
                self._known[key] = self.tabled.see.answer(p, ALL, case, values)
            if not self._known[key]:
                return False
        return True


class Images:
    """The states of smaller specs that the states of a search stand for."""

    def __init__(self, tabled: Tabled) -> None:
        self.tabled, self.findings = tabled, tabled.findings
        self.refined: list[Refined] = tabled.see.refined
        # Of each refinement: the images, their numbers, and of each place the number of its image.
        self._every: list[list[State]] = [[] for _ in self.refined]
        self._numbers: list[dict[State, int]] = [{} for _ in self.refined]
        self._images: list[list[int]] = [[] for _ in self.refined]
        # The pairs of images that are a step of the smaller spec.
        self._taken: set[tuple[int, int, int]] = set()

    def look(self, before: int, after: int, states: Sequence[Numbers]) -> None:
        """Looks at the step between the states at two places. Raises `RuleError` if a view gives
        what cannot be the value of a slot.
        """
        for k, refined in enumerate(self.refined):
            every, numbers, images = self._every[k], self._numbers[k], self._images[k]
            for place in range(len(images), max(before, after) + 1):
                image = refined.image(self.tabled.values(states[place]))
                number = numbers.setdefault(image, len(every))
                if number == len(every):
                    every.append(image)
                images.append(number)
            pair = k, images[before], images[after]
            if pair in self._taken:
                continue
            if refined.takes(every[pair[1]], every[pair[2]]):
                self._taken.add(pair)
            else:
                self.findings.broken_step(refined.of.name, before)
