"""Which members of a log stand for which index of the model's coordinator.

A dynamic member sits there by its member id, a static one by its instance id (group.instance.id,
KIP-345): its member ids change with every restart.

One group may have both kinds (`Seats.static`). The model numbers the ids of an instance; which
member id a number means belongs to the world (`ids`), because the log may never tell an id.
"""

from __future__ import annotations

from attrs import Factory, define, frozen

from groupcheck.traces.exchanges.exchange import Exchange, JoinExchange, LeaveExchange
from groupcheck.traces.requests.coordinator_steps import Memory

IDS_OF_INSTANCE = 8
"""So many of the latest member ids of an instance are known."""


@frozen
class Instance:
    """A static member, by its instance id."""

    name: str


Ids = tuple[tuple[int, int, str], ...]
"""(index, number of the model, member id) of static members; the member id is empty if no answer
has told it.
"""
Key = str | Instance  # a dynamic member's id, or a static member


@define
class MemberTimers:
    """The timers of one member id, as far as the log tells. Moments are ms since 1970."""

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
class MemberIndexes:
    """Member <-> index. An index goes to another member when no world remembers the first one any
    more.
    """

    # How many indexes the coordinator has.
    size: int
    # Member id -> its timers.
    lives: dict[str, MemberTimers] = Factory(dict)
    _index: dict[Key, int] = Factory(dict)
    _keys: dict[int, Key] = Factory(dict)
    # Instance -> its latest member ids; the same the other way round.
    _ids: dict[Instance, list[str]] = Factory(dict)
    _instances: dict[str, Instance] = Factory(dict)
    # The line that names a static member's id first.
    _first: dict[str, int] = Factory(dict)

    def index_for(self, key: Key, used: set[int]) -> int | None:
        """The index of a member that may be new; None if every index is one of `used`, which stand
        for somebody.
        """
        if key in self._index:
            return self._index[key]
        free = next((i for i in range(self.size) if i not in used), None)
        if free is None:
            return None
        old = self._keys.pop(free, None)
        if old is not None:
            del self._index[old]
            for id in self._ids.pop(old, []) if isinstance(old, Instance) else [old]:
                self._forget(id)
        self._index[key], self._keys[free] = free, key
        if not isinstance(key, Instance):
            self.lives.setdefault(key, MemberTimers())
        return free

    def _forget(self, id: str) -> None:
        self.lives.pop(id, None)
        self._instances.pop(id, None)
        self._first.pop(id, None)

    def meet(self, member: str, instance: str, line: int) -> None:
        """The member id is one of this static member."""
        key = Instance(instance)
        if not member or key not in self._index or member in self._instances:
            return
        ids = self._ids.setdefault(key, [])
        before = self.lives.get(ids[-1]) if ids else None
        if len(ids) >= IDS_OF_INSTANCE:
            self._forget(ids.pop(0))
        ids.append(member)
        self._first[member] = line
        self._instances[member] = key
        # The timer of an id that takes the place of another runs for the other one's session first.
        session = before.session_ms if before is not None else 0.0
        self.lives.setdefault(member, MemberTimers(session_ms=session))

    def as_dynamic(self, e: Exchange) -> bool:
        """Was the static member that sends this taken for a dynamic one so far?"""
        known = e.member in self._index and e.member not in self._instances
        return e.instance is not None and bool(e.member) and known

    def given_before(self, e: Exchange) -> bool:
        """Does an answer give a static member an id that it had before?"""
        fresh = isinstance(e, JoinExchange) and not e.member and bool(e.instance)
        return fresh and self._first.get(id_of(e), e.line) < e.line

    def key(self, member: str, instance: str | None) -> Key:
        """Whom a request means that names this member id and instance id."""
        if instance is not None:
            return Instance(instance)
        return self._instances.get(member, member)

    def knows(self, key: Key) -> bool:
        return key in self._index

    def index(self, key: Key) -> int:
        return self._index[key]

    @property
    def static(self) -> list[int]:
        """The indexes of static members."""
        return [i for i, key in self._keys.items() if isinstance(key, Instance)]

    def at(self, index: int) -> Key:
        """The member with that index; the empty id if there is none."""
        return self._keys.get(index, "")


def id_of(e: Exchange) -> str:
    """The member id of a request; for a JoinGroup without one, the id that its answer tells, which
    may be empty.
    """
    return e.response_member if isinstance(e, JoinExchange) and not e.member else e.member


def keys_of(indexes: MemberIndexes, e: Exchange) -> tuple[Key, ...]:
    """The members that an exchange concerns."""
    if isinstance(e, LeaveExchange):
        return tuple(
            indexes.key(x.member, x.instance)
            for x in e.leavers
            if x.member or x.instance is not None
        )
    return (indexes.key(id_of(e), e.instance),)


def id_at(memory: Memory, ids: Ids, index: int, indexes: MemberIndexes) -> str:
    """The member id that an index has in a memory; empty if that is not known."""
    key = indexes.at(index)
    if not isinstance(key, Instance):
        return key
    number = memory.id(index)
    return next((id for i, n, id in ids if (i, n) == (index, number)), "")


def ids_in_memory(ids: Ids, memory: Memory) -> Ids:
    """The ids that the memory still knows."""
    return tuple((i, n, id) for i, n, id in ids if n in memory.ids(i))


def with_id(ids: Ids, memory: Memory, index: int, member: str) -> Ids:
    """The ids once it is known which one an index has."""
    number = memory.id(index)
    if number is None:
        return ids
    others = tuple(x for x in ids if x[:2] != (index, number))
    return tuple(sorted((*others, (index, number, member))))
