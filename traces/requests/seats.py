"""Which member id of a log stands for which index of the model's coordinator."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import Factory, define


@define
class Life:
    """What the log says about one member's timers. Moments are ms since 1970."""

    session_ms: float = 0.0
    rebalance_ms: float = 0.0
    # Its last sign of life, at the earliest.
    sign: float = float("-inf")
    # Since when the JoinGroup of a new member waits.
    parked_since: float = float("inf")

    @property
    def expires(self) -> float:
        """When its session ends, at the earliest."""
        return self.sign + self.session_ms


@define
class Seating:
    """Member id <-> index. An index goes to another id when no world remembers the first one any
    more.
    """

    # How many indexes the coordinator has.
    size: int
    lives: dict[str, Life] = Factory(dict)
    _index: dict[str, int] = Factory(dict)
    _names: dict[int, str] = Factory(dict)

    def seat(self, member: str, used: set[int]) -> int | None:
        """The index of a member that may be new; None if every index is one of `used`, which stand
        for somebody.
        """
        if member in self._index:
            return self._index[member]
        free = next((i for i in range(self.size) if i not in used), None)
        if free is None:
            return None
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
        return self._index[member]

    def name(self, index: int) -> str:
        """The member with that index; empty if there is none."""
        return self._names.get(index, "")

    def names_of(self, indexes: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.name(i) for i in sorted(indexes))

    def life(self, index: int) -> Life:
        """The timers of the member with that index."""
        return self.lives.get(self.name(index)) or Life()
