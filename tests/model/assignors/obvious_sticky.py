"""The sticky assignors where subscriptions differ, written as Kafka's class is: every question is
answered by looking at everything again. What `groupcheck.model.assignors.sticky_unequal` answers
is compared with this.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from itertools import combinations

from groupcheck.model.assignors.claims import Claims, not_assigned
from groupcheck.model.assignors.group import Group, NoAssignment, Partition, every_partition
from groupcheck.model.assignors.hash_order import by_text
from groupcheck.model.assignors.movements import Movements
from groupcheck.model.assignors.racks import RackInfo


def obvious_spread(
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
    try:
        return _Obvious(group, sizes, racks, claims).spread()
    except (
        KeyError
    ):  # of a member that was set aside, or the owner of a partition that has none: a null in Java
        raise NoAssignment(
            "NullPointerException", "a member or owner that the balance needs was set aside"
        ) from None


class _Obvious:
    """The assignment while it is made. `sorted` has the members that take part as (number of
    partitions, id).

    `given` has lists, as in Kafka: if a member claims a partition that does not exist, another
    partition may be given twice (`not_assigned`).
    """

    def __init__(
        self, group: Group, sizes: Mapping[str, int], racks: RackInfo, claims: Claims
    ) -> None:
        self.sizes, self.racks, self.older = sizes, racks, claims.older
        self.topics = {
            member.id: [topic for topic in member.topics if topic in sizes]
            for member in group.members
        }
        self.subscribers = {
            topic: [m.id for m in group.members if topic in m.topics] for topic in sizes
        }
        self.most = {
            member: sum(sizes[topic] for topic in topics) for member, topics in self.topics.items()
        }
        self.given = {member: sorted(claims.owned[member]) for member in by_text(claims.owned)}
        self.owner = {
            partition: member for member, owned in self.given.items() for partition in owned
        }
        self.movements = Movements()
        self.revoked = False
        self.sorted: list[tuple[int, str]] = []

    def spread(self) -> dict[str, list[Partition]]:
        kept = self._keep()
        every = every_partition(
            {topic: self.sizes[topic] for topic in sorted(self.sizes, key=self._rank)}
        )
        free = not_assigned(every, sorted(kept, key=lambda p: (*self._rank(p[0]), p[1])))
        self.sorted = sorted((len(owned), member) for member, owned in self.given.items())
        fresh = not self.sorted[-1][0]
        self._give_away(free)
        self._balance(every, free, fresh)
        return {member: self.given[member] for member in by_text(self.topics)}

    def _rank(self, topic: str) -> tuple[int, str]:
        return len(self.subscribers[topic]), topic

    def _keep(self) -> list[Partition]:
        """What members own and may keep; the rest is revoked."""
        kept = []
        for member, owned in self.given.items():
            mine = [
                p for p in owned if p[0] in self.topics[member] and not self.racks.apart(member, p)
            ]
            self.revoked = self.revoked or mine != owned
            self.given[member] = mine
            kept += mine
        return kept

    def _give_away(self, free: list[Partition]) -> None:
        """First to members nearby, where racks count, then to any."""
        left = (
            [p for p in free if not self._to_the_least_loaded(p, nearby=True)]
            if self.racks.consumers
            else free
        )
        for partition in left:
            self._to_the_least_loaded(partition, nearby=False)

    def _to_the_least_loaded(self, partition: Partition, *, nearby: bool) -> bool:
        for _, member in self.sorted:
            if partition[0] in self.topics[member] and not (
                nearby and self.racks.apart(member, partition)
            ):
                self._leave_order(member)
                self.given[member].append(partition)
                self.owner[partition] = member
                self._enter_order(member)
                return True
        return False

    def _balance(self, every: list[Partition], free: list[Partition], fresh: bool) -> None:
        shared = {topic for topic, members in self.subscribers.items() if len(members) > 1}
        movable, free = ([p for p in partitions if p[0] in shared] for partitions in (every, free))
        aside = self._set_aside(shared)
        before, owner = (
            {member: list(owned) for member, owned in self.given.items()},
            dict(self.owner),
        )
        if not self.revoked:
            self._move(free)
        moved = self._move(movable)
        if not fresh and moved and _unevenness(self.given) >= _unevenness(before):
            self.given, self.owner = before, owner
        self.given.update(aside)

    def _set_aside(self, shared: set[str]) -> dict[str, list[Partition]]:
        """Members that have all they can get, and nothing that another could have instead."""
        aside = {}
        for member in self.topics:
            owned = self.given[member]
            if len(owned) >= self.most[member] and not any(topic in shared for topic, _ in owned):
                self._leave_order(member)
                aside[member] = self.given.pop(member)
        return aside

    def _move(self, movable: Iterable[Partition]) -> bool:
        """performReassignments: over all partitions again and again, until nothing moves or all is
        in balance.
        """
        moved, more = False, True
        while more:
            more = False
            for partition in movable:
                if self._balanced():
                    break
                owner = self.owner[partition]
                here = len(self.given[owner])
                last = self.older.get(partition)
                if last is not None and here > len(self.given[last]) + 1:
                    self._reassign(partition, last)
                elif any(
                    here > len(self.given[other]) + 1 for other in self.subscribers[partition[0]]
                ):
                    self._reassign(
                        partition, next(m for _, m in self.sorted if partition[0] in self.topics[m])
                    )
                else:
                    continue
                moved = more = True
        return moved

    def _reassign(self, partition: Partition, to: str) -> None:
        partition = self.movements.instead_of(partition, self.owner[partition], to)
        frm = self.owner[partition]
        self._leave_order(frm)
        if to != frm:
            self._leave_order(to)
        self.movements.add(partition, frm, to)
        if partition in self.given[frm]:
            self.given[frm].remove(partition)
        self.given[to].append(partition)
        self.owner[partition] = to
        self._enter_order(to)
        if to != frm:
            self._enter_order(frm)

    def _balanced(self) -> bool:
        """At most one apart, or no partition could go to a subscriber that would still have fewer
        than its owner has (KIP-54).
        """
        if self.sorted[0][0] >= self.sorted[-1][0] - 1:
            return True
        owner = {partition: member for member, owned in self.given.items() for partition in owned}
        for size, member in self.sorted:
            if size == self.most[member]:
                continue
            for topic in self.topics[member]:
                for number in range(self.sizes[topic]):
                    other = owner[topic, number]
                    if (
                        size + 1 < len(self.given[other])
                        and (topic, number) not in self.given[member]
                    ):
                        return False
        return True

    def _leave_order(self, member: str) -> None:
        del self.sorted[bisect_left(self.sorted, (len(self.given[member]), member))]

    def _enter_order(self, member: str) -> None:
        insort(self.sorted, (len(self.given[member]), member))


def _unevenness(given: Mapping[str, list[Partition]]) -> int:
    """The sum of the differences in size over all pairs of members."""
    return sum(abs(a - b) for a, b in combinations(map(len, given.values()), 2))
