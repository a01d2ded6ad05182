"""A search whose work is shared: threads explore, forked processes call rules. Shortest paths come
from the log alone: level by level backwards, the kernel finds a state that has the next one as
successor.
"""

from __future__ import annotations

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.exploration import Exploration, Work
from groupcheck.model.engine.fast.forked import Forks, evaluate
from groupcheck.model.engine.fast.loop import STRETCH
from groupcheck.model.engine.fast.threads import Threads
from groupcheck.model.engine.paths import path_through
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.verdict import Path


class Search(Exploration):
    """An exploration with workers: as many as `threads` and `forks` say, one at first."""

    def __init__(self, spec: Spec) -> None:
        self.forks = Forks(1)
        self.threads = Threads(1)
        super().__init__(spec)
        self.key_to = self.key_of

    def stretch(self, first: int, end: int) -> int:
        """Expands states from `first` on, at most to `end`, completely; returns the next one."""
        if self.threads.are_worth(end - first):
            return self.threads.stretch(self, first, end)
        return self.stretch_alone(first, end)

    def evaluate_rules(self, work: Work, tape: list[int]) -> None:
        """Appends the rows of a batch that are of rules."""
        evaluate(self, work, self.forks, tape)

    def path_to(self, place: int) -> Path:
        """A shortest path to the state at a place, its values replayed through the rules. Raises
        `RuleError` if they do not give it again.
        """
        places = [place]
        for level in range(self.log.level_of(place) - 1, -1, -1):
            first, end = self.log.levels[level], self.log.levels[level + 1]
            found = self.predecessor(first, end, places[-1])
            while found is not None and not self.see.within(self.state(found)):
                found = self.predecessor(found + 1, end, places[-1])
            if found is None:
                what = f"no state leads to state {places[-1]} of the log"
                raise RuleError("?", f"{what}: a rule is not deterministic", {})
            places.append(found)
        return path_through(self.see, [self.state(k) for k in reversed(places)])

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
        self.threads.hands.clear()

    @property
    def bytes(self) -> int:
        """Memory of log, index, tables, outcomes and queues; not the Python values."""
        return super().bytes + self.threads.bytes

    @property
    def bytes_soon(self) -> int:
        """What the next stretch may take at once: a larger index, and what threads need for
        themselves.
        """
        room = self.threads.room(self, STRETCH)
        return self.log.bytes_soon(room) + self.threads.bytes_soon(self, STRETCH)
