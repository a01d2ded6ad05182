"""The sticky assignors where subscriptions differ
(AbstractStickyAssignor.GeneralAssignmentBuilder).

Kafka's class looks at all members and partitions again before each step. Here the answers to its
questions are kept up to date: partitions come topic by topic, so the subscribers of one topic wait
in a heap; and whether anything could still be moved (`isBalanced`) is asked only before a step that
would move something, because where it says no, no earlier step moves anything either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush, heapreplace
from itertools import groupby
from operator import itemgetter

from groupcheck.model.assignors.claims import Claims, not_assigned
from groupcheck.model.assignors.group import Group, NoAssignment, Partition, every_partition
from groupcheck.model.assignors.hash_order import by_text
from groupcheck.model.assignors.movements import Movements
from groupcheck.model.assignors.racks import NOWHERE, RackInfo

Owned = dict[str, Counter[Partition]]
Waiting = list[tuple[int, str]]
"""A heap of members, each with how many partitions it has."""


def spread(
    group: Group, sizes: Mapping[str, int], racks: RackInfo, claims: Claims
) -> dict[str, list[Partition]]:
    """Everybody keeps what it owns and subscribes to; what is free goes to the least loaded; then
    partitions move while that helps.

    Topics with the fewest subscribers come first, ties by name; members with the fewest partitions,
    ties by id. A partition goes back to its last owner of an older generation, whether that one
    still subscribes to it or not, where that helps by two. Where the movements did not improve the
    balance in the end they are all taken back. Of two partitions that could move, hash order
    decides. Raises `NoAssignment` where Kafka's class meets a member that it has set aside.
    """
    return _Spreader(group, sizes, racks, claims).spread()


class _Spreader:
    """The assignment while it is made.

    As in Kafka a member may have a partition twice, and two members may have the same one: if a
    member claims a partition that does not exist, another partition is given again
    (`not_assigned`).
    """

    def __init__(
        self, group: Group, sizes: Mapping[str, int], racks: RackInfo, claims: Claims
    ) -> None:
        self.sizes, self.racks, self.older = sizes, racks, claims.older
        self.topics = {member.id: member.topics.intersection(sizes) for member in group.members}
        self.subscribers: dict[str, list[str]] = {topic: [] for topic in sizes}
        for member, topics in self.topics.items():
            for topic in topics:
                self.subscribers[topic].append(member)
        # Member -> how many partitions it could have.
        self.most = {
            member: sum(sizes[topic] for topic in topics) for member, topics in self.topics.items()
        }
        self.claimed = claims.owned
        # In the order of the hash table; members that are set aside are taken out.
        self.given: Owned = {}
        # Member -> how many partitions it has, for the members in `given`.
        self.load: dict[str, int] = {}
        self.owner: dict[Partition, str] = {}
        # Partitions that were given more than once.
        self.repeated: set[Partition] = set()
        self.movements = Movements()
        self.revoked = False

    def spread(self) -> dict[str, list[Partition]]:
        kept = self._keep()
        fresh = not any(self.load.values())
        rank = {topic: (len(members), topic) for topic, members in self.subscribers.items()}
        every = every_partition(
            {t: self.sizes[t] for t in sorted(self.sizes, key=rank.__getitem__)}
        )
        free = not_assigned(every, sorted(kept, key=lambda p: (rank[p[0]], p[1])))
        self._give_away(free)
        self._balance(every, free, fresh)
        return {member: list(self.given[member].elements()) for member in by_text(self.topics)}

    def _keep(self) -> list[Partition]:
        """The partitions that members own and may keep; the rest is revoked."""
        kept = []
        for member in by_text(self.claimed):
            owned, topics = self.claimed[member], self.topics[member]
            self.owner.update(dict.fromkeys(owned, member))
            mine = [p for p in owned if p[0] in topics and not self.racks.apart(member, p)]
            self.revoked = self.revoked or len(mine) < len(owned)
            self.given[member] = Counter(mine)
            self.load[member] = len(mine)
            kept += mine
        return kept

    def _give_away(self, free: list[Partition]) -> None:
        """First to members nearby, where racks count, then to any."""
        left = self._to_the_least_loaded(free, nearby=True) if self.racks.consumers else free
        self._to_the_least_loaded(left, nearby=False)

    def _to_the_least_loaded(self, free: list[Partition], *, nearby: bool) -> list[Partition]:
        """Gives each partition to the subscriber (`nearby`: in one of its racks, or without a rack)
        that has the fewest. What is left over.
        """
        left = []
        for topic, partitions in groupby(free, itemgetter(0)):
            # Rack (None: no matter which) -> the subscribers there.
            waiting: dict[str | None, Waiting] = {}
            for member in self.subscribers[topic]:
                rack = self.racks.consumers.get(member) if nearby else None
                waiting.setdefault(rack, []).append((self.load[member], member))
            for members in waiting.values():
                heapify(members)
            for partition in partitions:
                racks = self.racks.partitions.get(partition, NOWHERE) if nearby else NOWHERE
                able = [waiting[rack] for rack in (None, *racks) if rack in waiting]
                if not able:
                    left.append(partition)
                    continue
                members = min(able, key=itemgetter(0))
                member = members[0][1]
                self._give(partition, member)
                heapreplace(members, (self.load[member], member))
        return left

    def _give(self, partition: Partition, member: str) -> None:
        self.given[member][partition] += 1
        self.load[member] += 1
        self.owner[partition] = member

    def _balance(self, every: list[Partition], free: list[Partition], fresh: bool) -> None:
        shared = {topic for topic, members in self.subscribers.items() if len(members) > 1}
        movable, free = ([p for p in partitions if p[0] in shared] for partitions in (every, free))
        aside = self._set_aside(shared)
        held = Counter(p for owned in self.given.values() for p in owned.elements())
        self.repeated = {partition for partition, times in held.items() if times > 1}
        before = {member: owned.copy() for member, owned in self.given.items()}
        uneven = _unevenness(self.load)
        if not self.revoked:
            self._move(free)
        moved = self._move(movable)
        if not fresh and moved and _unevenness(self.load) >= uneven:
            self.given = before
        self.given.update(aside)

    def _set_aside(self, shared: set[str]) -> Owned:
        """Members that have all they can get, and nothing that another could have instead."""
        aside = {}
        for member in self.topics:
            owned = self.given[member]
            if self.load[member] >= self.most[member] and not any(t in shared for t, _ in owned):
                aside[member] = self.given.pop(member)
                del self.load[member]
        return aside

    def _move(self, movable: Iterable[Partition]) -> bool:
        """performReassignments: over all partitions again and again, until nothing moves or all is
        in balance.
        """
        topics = [(t, list(partitions)) for t, partitions in groupby(movable, itemgetter(0))]
        moved, more = False, True
        while more:
            more = False
            for topic, partitions in topics:
                subscribers = _Subscribers(self.subscribers[topic], self.load)
                for partition in partitions:
                    to = self._better_owner(partition, subscribers)
                    if to is None:
                        continue
                    if self._balanced(partition, to):
                        return moved
                    if to not in self.load:
                        raise NoAssignment(
                            "NullPointerException", "a member that the balance needs was set aside"
                        )
                    self._reassign(partition, to, subscribers)
                    moved = more = True
        return moved

    def _better_owner(self, partition: Partition, subscribers: _Subscribers) -> str | None:
        """Who is to have the partition instead: the last owner of an older generation, or the
        subscriber with the fewest. A member that was set aside: Kafka's class looks up how many
        that one has, and fails. None: the partition stays.
        """
        here = self.load[self.owner[partition]]
        last = self.older.get(partition)
        if last is not None and (last not in self.load or here > self.load[last] + 1):
            return last
        return subscribers.better_than(here)

    def _reassign(self, partition: Partition, to: str, subscribers: _Subscribers) -> None:
        partition = self.movements.instead_of(partition, self.owner[partition], to)
        frm = self.owner[partition]
        self.movements.add(partition, frm, to)
        owned = self.given[frm]
        if owned[partition]:
            owned[partition] -= 1
            self.load[frm] -= 1
            if not owned[partition]:
                del owned[partition]
        self._give(partition, to)
        subscribers.changed(frm)
        subscribers.changed(to)

    def _balanced(self, partition: Partition, to: str) -> bool:
        """isBalanced: at most one apart, or no partition could go to a subscriber that would still
        have fewer than its owner has (KIP-54). A move that is about to be made is such a case
        nearly always.
        """
        if (
            to in self.load
            and partition[0] in self.topics[to]
            and self.load[to] != self.most[to]
            and self.load[to] + 1 < self.load[self.owner[partition]]
            and partition not in self.repeated
        ):
            return False
        return max(self.load.values()) - min(self.load.values()) <= 1 or not self._could_move()

    def _could_move(self) -> bool:
        """Does a member that has not all it could have find a partition whose owner has two more?
        Of several owners of a partition the last one counts.
        """
        owner = {p: member for member, owned in self.given.items() for p in owned}
        largest: dict[str, int] = {}
        for (topic, _), member in owner.items():
            largest[topic] = max(largest.get(topic, 0), self.load[member])
        for member, size in self.load.items():
            if size == self.most[member]:
                continue
            for topic in self.topics[member]:
                if size + 1 < largest.get(topic, 0) and any(
                    size + 1 < self.load[owner[topic, number]]
                    and (topic, number) not in self.given[member]
                    for number in range(self.sizes[topic])
                ):
                    return True
        return False


class _Subscribers:
    """The subscribers of a topic by their load, while partitions of this topic move."""

    def __init__(self, members: list[str], load: Mapping[str, int]) -> None:
        self.members, self.load, self.set = members, load, frozenset(members)
        self.complete = all(map(load.__contains__, members))
        self.fewest = min(map(load.__getitem__, members)) if self.complete else 0
        # Empty until a partition moves. Loads that are no longer true stay in it.
        self.waiting: Waiting = []

    def better_than(self, here: int) -> str | None:
        """The member with the fewest partitions, if they are fewer than `here` by two or more."""
        if not self.complete:
            for member in self.members:
                if member not in self.load:
                    return member
                if here > self.load[member] + 1:
                    break
            else:
                return None
            return min((m for m in self.members if m in self.load), key=self._place)
        if here <= self.fewest + 1:
            return None
        if not self.waiting:
            self.waiting = [(self.load[member], member) for member in self.members]
            heapify(self.waiting)
        while self.load[self.waiting[0][1]] != self.waiting[0][0]:
            heappop(self.waiting)
        self.fewest, member = self.waiting[0]
        return member if here > self.fewest + 1 else None

    def _place(self, member: str) -> tuple[int, str]:
        return self.load[member], member

    def changed(self, member: str) -> None:
        """The member, a subscriber or not, has more or fewer partitions now."""
        if member in self.set:
            self.fewest = min(self.fewest, self.load[member])
            if self.waiting:
                heappush(self.waiting, (self.load[member], member))


def _unevenness(load: Mapping[str, int]) -> int:
    """The sum of the differences in size over all pairs of members."""
    sizes = sorted(load.values())
    return sum((2 * place + 1 - len(sizes)) * size for place, size in enumerate(sizes))
