"""One world of a group: a memory of the model's coordinator, and what the log adds to it."""

from __future__ import annotations

from attrs import evolve, field, frozen

from groupcheck.traces.requests.coordinator_steps import UNKNOWN_ID, Memory
from groupcheck.traces.requests.member_indexes import Ids, MemberIndexes, id_at
from groupcheck.traces.requests.story import Story


@frozen
class Plan:
    """An assignment."""

    # The leader's SyncGroup that brought it.
    request: int
    # (index, member id in the assignment) of static members that have another id now.
    heirs: tuple[tuple[int, str], ...] = ()

    def with_heir(self, index: int, old: str) -> Plan:
        """A static member has taken the place of an id: its share stays the same."""
        if any(i == index for i, _ in self.heirs):
            return self
        return evolve(self, heirs=(*self.heirs, (index, old)))

    def name_of(self, index: int, member: str) -> str:
        """The id under which the assignment has a share for the member."""
        return next((old for i, old in self.heirs if i == index), member)


@frozen(cache_hash=True)
class GroupWorld:
    """A memory of the model's coordinator, and what the log adds to it. A request is given by the
    number of its line.
    """

    memory: Memory
    # The current generation; None as long as it is not known.
    base: int | None = None
    # (index, request that is parked).
    parked: tuple[tuple[int, int], ...] = ()
    # (request that has arrived and is not handled yet, the moment by which it must be).
    waiting: tuple[tuple[int, float], ...] = ()
    # The assignment that is in force or being written, and the one that a fail-over loads.
    plan: Plan | None = None
    kept_plan: Plan | None = None
    # (index whose parked JoinGroup no line shows, the connection that its member had used).
    unseen: frozenset[tuple[int, str]] = frozenset()
    ids: Ids = ()
    # (request of a takeover that is being written, the leader's member id when it was handled).
    leaders: tuple[tuple[int, str], ...] = ()
    # When the group was loaded last.
    reloaded: float = field(default=float("-inf"), eq=False)
    # When the phase began, at the earliest.
    since: float = field(default=float("-inf"), eq=False)
    story: Story | None = field(default=None, eq=False)

    def is_open(self, request: int) -> bool:
        """Has it arrived without having been answered?"""
        return any(r == request for _, r in self.parked) or any(
            r == request for r, _ in self.waiting
        )

    def text(self) -> str:
        generation = "" if self.base is None else f" in generation {self.base}"
        return (
            f"{self.memory.phase}{generation} with {len(self.memory.members)} members,"
            f" {len(self.memory.joining)} of them parked"
        )

    def number(self, index: int, member: str) -> int:
        """The model's number of a static member's id."""
        return next((n for i, n, id in self.ids if i == index and id == member), UNKNOWN_ID)

    def id(self, index: int, indexes: MemberIndexes) -> str:
        """The member id that an index has now; empty if that is not known."""
        return id_at(self.memory, self.ids, index, indexes)
