"""The findings of a search: goals that are met, promises that are broken."""

from __future__ import annotations

from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.tabled.tables import Tables


class Findings:
    """The findings so far: goals with the depth at which they were first met, violations with a
    witness.

    A witness is (depth, place, kind): the state itself for `state` and `deadlock`, for `step` the
    state before the step.
    """

    def __init__(self, tables: Tables) -> None:
        self.spec = tables.see.spec
        self.goals: dict[str, int | None] = {g.name: None for g in self.spec.goals}
        # Goal -> the place of the first state that meets it; not of those of an earlier run.
        self.first: dict[str, int] = {}
        self.wrong: dict[str, tuple[int, int, str]] = {}
        self.depth = 0
        self.news = True
        self._goals = {id(g) for g in self.spec.goals}

    def is_goal(self, p: Predicate) -> bool:
        return id(p) in self._goals

    def is_known(self, p: Predicate) -> bool:
        return self.goals[p.name] is not None if self.is_goal(p) else p.name in self.wrong

    def note(self, p: Predicate, place: int) -> None:
        """The predicate is of interest in this state: a goal met, an invariant broken."""
        if self.is_known(p):
            return
        self.news = True
        if self.is_goal(p):
            self.goals[p.name] = self.depth
            self.first[p.name] = place
        else:
            self.wrong[p.name] = (self.depth, place, "state")

    def in_order(self) -> list[tuple[str, int, int, str]]:
        """(name, depth, place, kind) of what is wrong, the shallowest first."""
        return sorted(((name, *at) for name, at in self.wrong.items()), key=lambda w: (w[1], w[0]))

    def broken_step(self, name: str, place: int) -> None:
        self.wrong.setdefault(name, (self.depth, place, "step"))
