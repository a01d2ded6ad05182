"""The optimum: a balanced complete assignment with the fewest moves, exact, for thousands of
members and partitions.

Balanced: the sum of size² / weight over the members is the least possible. That is a flow with
convex costs from classes (the partitions of topics with the same subscribers) to members. `_Shares`
finds the flow; its shadow prices say which class may go to which member, and how many partitions
each may have, in *every* balanced assignment. Within these bounds a small linear program keeps as
many claims as possible. Its matrix is that of a network, so its solution is whole numbers; scipy
(HiGHS) solves it.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from attrs import frozen

from groupcheck.model.assignors import Assignment, Group, Partition
from groupcheck.model.assignors.group import subscribed_sizes
from groupcheck.oracles.assignment.handover import claimants
from groupcheck.oracles.assignment.solvers import solver

Price = int | Fraction
Weights = Mapping[str, Fraction]
Flow = dict[int, dict[str, int]]
"""How many partitions of a class each member has."""

COLUMNS_AT_FIRST = 12  # members of a class, besides those that have some of it


@frozen
class Optimum:
    """The best that is possible for a group."""

    # A balanced complete assignment with the fewest moves.
    assigned: Assignment
    # How many partitions move from their claimant to another member.
    moves: int

    @property
    def sizes(self) -> dict[str, int]:
        """How many partitions each member has."""
        return {member: len(partitions) for member, partitions in self.assigned.items()}


def optimum(group: Group, weights: Weights | None = None) -> Optimum:
    """The balanced complete assignment with the fewest moves. Raises `UserError` if it needs scipy
    (that is, if there are claims) and scipy is not installed.
    """
    shares = _Shares(group, weights or {})
    flow = shares.balanced_flow()
    kept, dealt = _kept(shares, flow) if shares.claimed else ({}, flow)
    assigned: dict[str, set[Partition]] = {member.id: set() for member in group.members}
    for c, partitions in enumerate(shares.partitions):
        mine: dict[str, list[Partition]] = defaultdict(list)
        for partition in sorted(partitions):
            mine[shares.claimed.get(partition, "")].append(partition)
        left = set(partitions)
        for member, count in kept.get(c, {}).items():
            assigned[member].update(mine[member][:count])
            left.difference_update(mine[member][:count])
        free = iter(sorted(left))
        for member, count in dealt.get(c, {}).items():
            assigned[member].update(next(free) for _ in range(count))
    owner = {p: member for member, partitions in assigned.items() for p in partitions}
    moved = sum(owner.get(p, frm) != frm for p, frm in shares.claimed.items())
    return Optimum(
        {member: frozenset(partitions) for member, partitions in assigned.items()}, moved
    )


def unevenness(sizes: Mapping[str, int], weights: Weights) -> Fraction:
    """The measure that a balanced assignment makes as small as it can be: the sum of size² /
    weight.
    """
    return sum(
        (
            Fraction(size * size) / weights.get(member, Fraction(1))
            for member, size in sizes.items()
        ),
        Fraction(0),
    )


class _Shares:
    """The group as a network: classes of partitions with the same subscribers, and what one more
    partition costs a member.
    """

    def __init__(self, group: Group, weights: Weights) -> None:
        alike: dict[tuple[str, ...], list[Partition]] = defaultdict(list)
        for topic, size in subscribed_sizes(group).items():
            subscribers = tuple(member.id for member in group.members if topic in member.topics)
            alike[subscribers] += [(topic, number) for number in range(size)]
        self.members = [member.id for member in group.members]
        self.subscribers = list(alike)
        self.partitions = list(alike.values())
        self.classes_of: dict[str, list[int]] = {member: [] for member in self.members}
        for c, subscribers in enumerate(self.subscribers):
            for member in subscribers:
                self.classes_of[member].append(c)
        self.weights = weights
        there = {p for partitions in self.partitions for p in partitions}
        self.claimed = {p: member for p, member in claimants(group).items() if p in there}

    def price(self, member: str, size: int) -> Price:
        """The price of one more partition for a member that has `size`."""
        return (
            Fraction(2 * size + 1) / self.weights.get(member, 1) if self.weights else 2 * size + 1
        )

    def balanced_flow(self) -> Flow:
        """A flow of least cost: greedy, the class with the fewest subscribers first; then chains
        of moves, until none helps.
        """
        flow: Flow = {}
        size = dict.fromkeys(self.members, 0)
        for c in sorted(range(len(self.partitions)), key=lambda c: len(self.subscribers[c])):
            given: dict[str, int] = defaultdict(int)
            waiting = [
                (self.price(member, size[member]), k, member)
                for k, member in enumerate(self.subscribers[c])
            ]
            heapq.heapify(waiting)
            for _ in self.partitions[c]:
                _, k, member = waiting[0]
                given[member] += 1
                size[member] += 1
                heapq.heapreplace(waiting, (self.price(member, size[member]), k, member))
            flow[c] = given
        while self.improved(flow, size):
            pass
        return flow

    def reached(
        self, flow: Flow, size: Mapping[str, int]
    ) -> tuple[dict[str, Price], dict[str, tuple[int, str]]]:
        """For each member the price of the cheapest end that a chain of moves from it reaches, and
        the first step of that chain.
        """
        prices: dict[str, Price] = {}
        step: dict[str, tuple[int, str]] = {}
        seen: set[int] = set()
        for end in sorted(self.members, key=lambda member: self.price(member, size[member])):
            if end in prices:
                continue
            prices[end] = cheapest = self.price(end, size[end])
            waiting = [end]
            while waiting:
                to = waiting.pop()
                for c in self.classes_of[to]:
                    if c not in seen:
                        seen.add(c)
                        for frm, count in flow[c].items():
                            if count and frm not in prices:
                                prices[frm], step[frm] = cheapest, (c, to)
                                waiting.append(frm)
        return prices, step

    def improved(self, flow: Flow, size: dict[str, int]) -> bool:
        """Moves partitions along chains to where they cost less, over one chain for each end.
        False if no chain helps.
        """
        prices, step = self.reached(flow, size)
        used: set[str] = set()
        for start in sorted(
            (m for m in step if size[m] and self.price(m, size[m] - 1) > prices[m]),
            key=lambda m: -self.price(m, size[m]),
        ):
            chain, at = [], start
            while at in step:
                c, to = step[at]
                chain.append((c, at, to))
                at = to
            if at in used:
                continue
            used.add(at)
            while self.price(start, size[start] - 1) > self.price(at, size[at]) and all(
                flow[c][frm] for c, frm, _ in chain
            ):
                for c, frm, to in chain:
                    flow[c][frm] -= 1
                    flow[c][to] += 1
                size[start] -= 1
                size[at] += 1
        return bool(used)


@frozen
class Balance:
    """The bounds within which an assignment is balanced. An assignment outside them is not."""

    # Partitions, and the members that may have them.
    able: tuple[tuple[tuple[Partition, ...], tuple[str, ...]], ...]
    # Member -> the least and the largest number of partitions that it may have.
    room: Mapping[str, tuple[int, int]]


def balance_of(group: Group, weights: Weights | None = None) -> Balance:
    """The bounds of all balanced complete assignments."""
    shares = _Shares(group, weights or {})
    able, room = _face(shares, shares.balanced_flow())
    return Balance(
        tuple(
            (tuple(partitions), tuple(members))
            for partitions, members in zip(shares.partitions, able)
        ),
        room,
    )


def _face(shares: _Shares, flow: Flow) -> tuple[list[list[str]], dict[str, tuple[int, int]]]:
    """Who may have some of each class, and how much room each member has, by complementary
    slackness: a class goes to the cheapest of its subscribers; a member has every partition that
    costs less than its price, and may have one that costs the same.
    """
    size = dict.fromkeys(shares.members, 0)
    for given in flow.values():
        for member, count in given.items():
            size[member] += count
    prices, _ = shares.reached(flow, size)
    able: list[list[str]] = []
    for subscribers in shares.subscribers:
        cheapest = min(prices[m] for m in subscribers)
        able.append([m for m in subscribers if prices[m] == cheapest])
    room: dict[str, tuple[int, int]] = {}
    for member in shares.members:
        least = size[member]
        while least and shares.price(member, least - 1) >= prices[member]:
            least -= 1
        room[member] = least, least + (shares.price(member, least) == prices[member])
    return able, room


def _kept(shares: _Shares, flow: Flow) -> tuple[Flow, Flow]:
    """Of each class, how many partitions each member keeps of those it claims, and how many of the
    others it is dealt. As many as possible are kept.
    """
    able, room = _face(shares, flow)
    own: list[dict[str, int]] = []
    for c, partitions in enumerate(shares.partitions):
        claims: dict[str, int] = defaultdict(int)
        for partition in partitions:
            claims[shares.claimed.get(partition, "")] += 1
        own.append({member: claims[member] for member in able[c] if claims.get(member)})
    return _Program([len(p) for p in shares.partitions], able, own, room).solved(flow)


class _Program:
    """The linear program. Its columns: what is kept, what is dealt, and how much more than the
    least a member has. A dealt column is added when its price shows that it could help.
    """

    def __init__(
        self,
        sizes: list[int],
        able: list[list[str]],
        own: list[dict[str, int]],
        room: Mapping[str, tuple[int, int]],
    ) -> None:
        self.sizes, self.able, self.own, self.room = sizes, able, own, room
        self.row = {member: len(sizes) + k for k, member in enumerate(room)}

    def solved(self, start: Flow) -> tuple[Flow, Flow]:
        """The partitions that are kept and those that are dealt. Exact: it ends when no column that
        is left out could make the solution better.
        """
        dealt = {(c, m) for c, given in start.items() for m, count in given.items() if count}
        for c, able in enumerate(self.able):
            dealt.update(
                (c, able[(c * COLUMNS_AT_FIRST + k) % len(able)])
                for k in range(min(COLUMNS_AT_FIRST, len(able)))
            )
        while True:
            columns = sorted(dealt)
            kept_columns = [(c, m) for c, own in enumerate(self.own) for m in own]
            x, duals = self._solve(kept_columns, columns)
            more = [
                (c, m)
                for c, able in enumerate(self.able)
                for m in able
                if (c, m) not in dealt and duals[c] + duals[self.row[m]] > 1e-7
            ]
            if not more:
                return _counted(kept_columns, x), _counted(columns, x[len(kept_columns) :])
            dealt.update(more)

    def _solve(
        self, kept: list[tuple[int, str]], dealt: list[tuple[int, str]]
    ) -> tuple[list[int], list[float]]:
        sparse, optimize = (
            solver(module, "the fewest moves are computed")
            for module in ("scipy.sparse", "scipy.optimize")
        )
        both = kept + dealt
        spare = [m for m, (least, most) in self.room.items() if most > least]
        rows = [c for c, _ in both] + [self.row[m] for _, m in both] + [self.row[m] for m in spare]
        columns = [*range(len(both)), *range(len(both)), *range(len(both), len(both) + len(spare))]
        values = [1.0] * (2 * len(both)) + [-1.0] * len(spare)
        shape = len(self.sizes) + len(self.room), len(both) + len(spare)
        most = (
            [self.own[c][m] for c, m in kept] + [self.sizes[c] for c, _ in dealt] + [1] * len(spare)
        )
        answer = optimize.linprog(
            [-1.0] * len(kept) + [0.0] * (len(dealt) + len(spare)),
            A_eq=sparse.csr_array((values, (rows, columns)), shape=shape),
            b_eq=[*self.sizes, *(least for least, _ in self.room.values())],
            bounds=[(0, m) for m in most],
            method="highs-ds",
        )
        assert answer.status == 0, answer.message
        x = [round(value) for value in answer.x]
        assert all(abs(whole - value) < 1e-6 for whole, value in zip(x, answer.x)), (
            "a network's solution is whole"
        )
        return x[: len(both)], list(map(float, answer.eqlin.marginals))


def _counted(columns: list[tuple[int, str]], values: list[int]) -> Flow:
    flow: Flow = defaultdict(dict)
    for (c, member), count in zip(columns, values):
        if count:
            flow[c][member] = count
    return flow
