"""Who sits where: the member ids of a log on the indexes of the model's coordinator."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import Factory, define


@define
class Life:
    """What the log says of one member's timers. `sign`: the last sign of life, at the earliest;
    `parked_since`: of a new member.
    """

    session_ms: float = 0.0
    rebalance_ms: float = 0.0
    sign: float = float("-inf")
    parked_since: float = float("inf")

    @property
    def expires(self) -> float:
        """When its session ends, at the earliest."""
        return self.sign + self.session_ms


class Full(Exception):
    """More ids at a time than the coordinator has indexes."""


@define
class Seating:
    """Member id <-> index. An index is given to another id when no world remembers the first one
    any more.
    """

    size: int
    lives: dict[str, Life] = Factory(dict)
    _index: dict[str, int] = Factory(dict)
    _names: dict[int, str] = Factory(dict)

    def seat(self, member: str, used: Iterable[int]) -> int:
        """The index of a member that may be new; `used`: the indexes that mean somebody. Raises
        `Full`.
        """
        if member in self._index:
            return self._index[member]
        taken = set(used)
        free = next((i for i in range(self.size) if i not in taken), None)
        if free is None:
            raise Full
        old = self._names.pop(free, None)
        if old is not None:
            del self._index[old]
            self.lives.pop(old, None)
        self._index[member], self._names[free] = free, member
        self.lives.setdefault(member, Life())
        return free

    def knows(self, member: str) -> bool:
        return member in self._index

    def index(self, member: str) -> int:
        """The index of a member that has been seated."""
        return self._index[member]

    def name(self, index: int) -> str:
        """Who sits there; empty for nobody."""
        return self._names.get(index, "")

    def names_of(self, indexes: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.name(i) for i in sorted(indexes))

    def life(self, index: int) -> Life:
        """The timers of who sits there."""
        return self.lives.get(self.name(index)) or Life()
