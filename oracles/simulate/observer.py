"""The measurements of a simulation. It looks at the states alone (who owns what, who may work, the
phase of the group), so it is the same for every protocol.

A member **works** on the partitions that it owns, from its first record on. It **pauses** from the
moment it works on none, having worked on some, until it works again or has taken over an empty
share. A partition is **stopped** while no member works on it. Members that the scenario itself
stops do not count among the pauses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from attrs import define, field

from groupcheck.model.protocol.classic.client import NOTHING, Client, Member, Prepare
from groupcheck.model.protocol.masks import numbers
from groupcheck.model.protocol.messages import Heartbeat


def settled(client: Client) -> bool:
    """Has the member taken over its share, and knows of nothing else? (Where JoinGroup is answered
    with the share, a member waits for no SyncGroup.)
    """
    return (
        client.state == Member.STABLE
        and not client.rejoin
        and getattr(client, "granted", NOTHING) == NOTHING
        and getattr(client, "prepare", Prepare.NEEDED) == Prepare.NEEDED
    )


@define
class Observer:
    """Collects what happens from `begin` on. Times are in milliseconds of virtual time."""

    partitions: int
    owners: list[int] = field(init=False)
    serving: dict[int, int] = field(factory=dict)
    paused: dict[int, float] = field(factory=dict)
    starting: dict[int, float] = field(factory=dict)
    # (member, from, to) of pauses that are over; (member, from, to) of starts.
    pauses: list[tuple[int, float, float]] = field(factory=list)
    starts: list[tuple[int, float, float]] = field(factory=list)
    # (time, partition, does it go on).
    turns: list[tuple[float, int, bool]] = field(factory=list)
    # Partitions that were worked on, or are new, and on which nobody works.
    stopped: set[int] = field(factory=set)
    # Partition -> who got it last; and how often that was somebody else than before.
    last: dict[int, int] = field(factory=dict)
    moved: int = 0
    requests: Counter[str] = field(factory=Counter)
    join_bytes: int = 0
    # How often the session of a process that runs expired.
    expired: int = 0
    rounds: int = 0
    # What happens as soon as the next generation begins.
    next_round: list[Callable[[], None]] = field(factory=list)
    # When anything last changed: who owns what, what a member believes, the group's phase.
    changed: float = 0.0

    def __attrs_post_init__(self) -> None:
        self.owners = [0] * self.partitions

    def begin(self) -> None:
        """Begins to measure: the time before does not count."""
        self.pauses, self.starts, self.turns = [], [], []
        self.stopped = set()
        self.paused, self.starting, self.requests = {}, {}, Counter()
        self.join_bytes, self.rounds, self.moved, self.changed = 0, 0, 0, 0.0
        self.expired = 0

    def serves(self, index: int, mask: int, now: float, pauses: bool) -> None:
        """From now on the member works on these partitions. `pauses`: if it works on none, it waits
        for its share; otherwise it has taken over an empty one, or the scenario has stopped it.
        """
        before = self.serving.get(index, 0)
        if index in self.starting and not pauses:
            self.starts.append((index, self.starting.pop(index), now))
        if index in self.paused and not pauses:
            self.pauses.append((index, self.paused.pop(index), now))
        elif before and pauses:
            self.paused.setdefault(index, now)
        if before == mask:
            return
        self.serving[index] = mask
        self.changed = max(self.changed, now)
        for p in numbers(before & ~mask):
            self.owners[p] -= 1
            if not self.owners[p]:
                self.turns.append((now, p, False))
                self.stopped.add(p)
        for p in numbers(mask & ~before):
            self.owners[p] += 1
            if self.owners[p] == 1:
                self.turns.append((now, p, True))
                self.stopped.discard(p)

    def begins(self, rounds: int) -> None:
        """So many generations have begun."""
        self.rounds += rounds
        waiting, self.next_round = self.next_round, []
        for one in waiting:
            one()

    def added(self, mask: int, now: float) -> None:
        """These partitions are new, and nobody works on them yet."""
        self.turns += [(now, p, False) for p in numbers(mask)]
        self.stopped.update(numbers(mask))

    def gets(self, index: int, mask: int) -> None:
        """A round has given the member these partitions."""
        for p in numbers(mask):
            self.moved += self.last.get(p, index) != index
            self.last[p] = index

    def believes(self, now: float) -> None:
        """A member's memory has changed."""
        self.changed = max(self.changed, now)

    def gone(self, index: int, now: float) -> None:
        """The scenario stops the member: what it does from now on is no pause."""
        if index in self.paused:
            self.pauses.append((index, self.paused.pop(index), now))
        self.starting.pop(index, None)
        self.serves(index, 0, now, pauses=False)

    def comes(self, index: int, now: float) -> None:
        """A process starts."""
        self.starting[index] = now

    def sent(self, request: Any) -> None:
        beat = isinstance(request, Heartbeat)  # that of some families is a report, too
        self.requests["Heartbeat" if beat else type(request).__name__] += 1
