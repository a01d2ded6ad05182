"""Which members have the fewest partitions and which the most, while partitions move between them
(MemberAssignmentBalancer).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized


class Load:
    """Members sorted by load. At the low end each member of a group with the same load takes one
    partition; at the high end each member of such a group gives one. Then the group widens.

    `low` and `high` are the loads of the two groups, counted with what this object has handed out;
    the groups are `members[:low_end]` and `members[high_start:high_end]`.
    """

    def __init__(self, load: list[int], members: Sequence[int]) -> None:
        """`load` is read again whenever a group widens, so it must be kept up to date."""
        self.load = load
        self.members = sorted(members, key=lambda member: (load[member], member))
        lowest, highest = load[self.members[0]], load[self.members[-1]]
        self.difference = highest - lowest
        self.low, self.low_end, self.next_low = lowest - 1, 0, 0
        self.high, self.high_start, self.high_end = highest + 1, len(members), len(members)
        self.next_high = len(members) - 1

    def even(self) -> bool:
        """The two groups are at most one apart."""
        return self.high - self.low <= 1

    def least(self) -> int:
        """The next member to take one."""
        if self.next_low >= self.low_end:
            self.low += 1
            while (
                self.low_end < len(self.members)
                and self.load[self.members[self.low_end]] == self.low
            ):
                self.low_end += 1
            self.next_low = 0
        self.next_low += 1
        return self.members[self.next_low - 1]

    def most(self, left: Mapping[int, Sized]) -> int | None:
        """The next member to give one; members that have nothing `left` to give drop out. None: no
        member has anything left.
        """
        while (member := self._next_most()) is not None:
            if left.get(member):
                return member
            self._drop()
        return None

    def _next_most(self) -> int | None:
        if self.next_high < self.high_start:
            if (
                self.high_end <= self.high_start and self.high_start > 0
            ):  # all of the group dropped out: on to the next load that there is
                self.high = self.load[self.members[self.high_start - 1]]
            else:
                self.high -= 1
            while self.high_start > 0 and self.load[self.members[self.high_start - 1]] == self.high:
                self.high_start -= 1
            self.next_high = self.high_end - 1
        if self.next_high < 0:
            return None
        self.next_high -= 1
        return self.members[self.next_high + 1]

    def _drop(self) -> None:
        """Moves the member that came last behind the group's end."""
        self.high_end -= 1
        here, end = self.next_high + 1, self.high_end
        self.members[here], self.members[end] = self.members[end], self.members[here]
