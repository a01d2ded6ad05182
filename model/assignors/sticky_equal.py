"""The sticky assignors where all subscriptions are equal
(AbstractStickyAssignor.ConstrainedAssignmentBuilder).
"""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.model.assignors.claims import Claims, not_assigned
from groupcheck.model.assignors.group import NoAssignment, Partition, every_partition
from groupcheck.model.assignors.hash_order import by_text
from groupcheck.model.assignors.racks import RackInfo

WRONG = "IllegalStateException"


def deal(
    sizes: Mapping[str, int], racks: RackInfo, claims: Claims
) -> tuple[dict[str, list[Partition]], dict[Partition, str]]:
    """The partitions that each member gets, and those of them that change hands (partition: its new
    owner).

    Everybody keeps what it owns up to its quota, in the hash order of member ids: who comes first
    may have one more than the least. What is left goes round the members below the least, then to
    those that may have one more, sorted by id. Raises `NoAssignment` where claims of partitions
    that do not exist make the sums come out wrong.
    """
    dealer = _Dealer(sizes, racks, claims)
    dealer.leave_what_is_owned()
    every = every_partition({topic: sizes[topic] for topic in sorted(sizes)})
    left = racks.scarce_first(not_assigned(every, sorted(dealer.kept)))
    dealer.below.sort()
    dealer.at_least.sort()
    if racks.consumers:
        left = dealer.deal_nearby(left)
    dealer.deal_round(left)
    dealer.check()
    return dealer.given, dealer.transfers


class _Dealer:
    """The deal while it goes on. `below`: members under the least quota. `at_least`: members that
    have it, and may get one more.
    """

    def __init__(self, sizes: Mapping[str, int], racks: RackInfo, claims: Claims) -> None:
        self.racks, self.claims = racks, claims
        self.least, self.many = divmod(sum(sizes.values()), len(claims.owned))
        self.most = self.least + (self.many > 0)
        self.above = 0  # members that have more than the least, of the `many` that may
        self.given: dict[str, list[Partition]] = {member: [] for member in claims.owned}
        self.kept: list[Partition] = []
        self.lost_by: dict[Partition, str] = {}
        self.transfers: dict[Partition, str] = {}
        self.below: list[str] = []
        self.at_least: list[str] = []

    def leave_what_is_owned(self) -> None:
        """assignOwnedPartitions: keeps lower numbers before higher ones, whatever their topic."""
        for member in by_text(self.claims.owned):
            owned = []
            for partition in sorted(self.claims.owned[member], key=lambda p: (p[1], p[0])):
                if self.racks.consumers and self.racks.apart(member, partition):
                    self.lost_by[partition] = member
                elif partition not in self.claims.contested:
                    owned.append(partition)
            self._keep(member, owned)

    def _keep(self, member: str, owned: list[Partition]) -> None:
        quota = self.least
        if len(owned) < self.least:
            self.below.append(member)
        elif len(owned) >= self.most and self.above < self.many:
            quota = self.most
            self._one_more_above()
        elif self.above < self.many:
            self.at_least.append(member)
        self.given[member] += owned[:quota]
        self.kept += owned[:quota]
        self.lost_by.update(dict.fromkeys(owned[quota:], member))

    def _one_more_above(self) -> None:
        self.above += 1
        if self.above == self.many:
            self.at_least.clear()

    def deal_nearby(self, partitions: list[Partition]) -> list[Partition]:
        """assignRackAwareRoundRobin: to members in the partition's racks, within the quotas; gives
        back what nobody could take.

        A member's share only grows. So the set of members below the minimum only shrinks, and
        the set of those at the minimum gains only members that were below it. A rack without a
        member below the minimum, and later without one at it, need not be searched again.
        """
        left, pointer = [], 0
        none_below: set[frozenset[str]] = set()
        none_left: set[frozenset[str]] = set()
        for partition in partitions:
            racks, index = self.racks.partitions[partition], None
            if racks not in none_below:
                index = self.racks.next_nearby(partition, self.below, pointer)
            if index is not None:
                member = self.below[index]
                have = len(self.given[member]) + 1
                if have >= self.least:
                    del self.below[index]
                    if have < self.most and self.above < self.many:
                        self.at_least.append(member)
                else:
                    index += 1
                pointer = index % len(self.below) if self.below else 0
            else:
                none_below.add(racks)
                if racks not in none_left:
                    index = self.racks.next_nearby(partition, self.at_least, 0)
                if index is None:
                    none_left.add(racks)
                    left.append(partition)
                    continue
                member = self.at_least[index]
                if len(self.given[member]) + 1 == self.most:
                    del self.at_least[index]
                    self._one_more_above()
            self._give(partition, member)
        return left

    def deal_round(self, partitions: list[Partition]) -> None:
        """assignRoundRobin. Raises `NoAssignment` where nobody may have more."""
        pointer = 0
        for partition in partitions:
            if pointer >= len(self.below):
                pointer = 0
            if self.below:
                member = self.below[pointer]
                pointer += 1
            elif self.at_least:
                member = self.at_least.pop(0)
            else:
                raise NoAssignment(WRONG, "partitions are left, but nobody may have more")
            have = self._give(partition, member)
            if have == self.least:
                pointer -= 1
                del self.below[pointer]
                self.at_least.append(member)
            elif have == self.most:
                self.above += 1

    def _give(self, partition: Partition, member: str) -> int:
        """One that another has just lost, or that was contested, changes hands."""
        self.given[member].append(partition)
        if self.lost_by.get(partition, member) != member or partition in self.claims.contested:
            self.transfers[partition] = member
        return len(self.given[member])

    def check(self) -> None:
        """verifyUnfilledMembers. Raises `NoAssignment` where shares are uneven."""
        if self.below and self.above != self.many:
            raise NoAssignment(
                WRONG, "partitions are dealt, but not enough members have more than the least"
            )
        if any(len(self.given[member]) != self.least for member in self.below):
            raise NoAssignment(WRONG, "partitions are dealt, but a member has less than the least")
