"""Promises and constraints together as a program of whole numbers: columns, and rows that are sums
of columns within bounds.

Partitions of one topic that may go to the same members are alike. So a column does not say who gets
which partition, but how many of a kind a member keeps of those it claims (`kept`), and how many it
is dealt of the others (`dealt`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from math import inf, lcm
from typing import Any

from attrs import frozen

from groupcheck.model.assignors import Group, Partition, range_, round_robin
from groupcheck.model.assignors.group import every_partition, subscribed_sizes
from groupcheck.oracles.assignment.constraints import Constraint
from groupcheck.oracles.assignment.handover import claimants
from groupcheck.oracles.assignment.loads import Capacity, LevelWeights, scale
from groupcheck.oracles.assignment.optimum import balance_of
from groupcheck.oracles.assignment.placement import (
    Apart,
    Drain,
    Nearby,
    Never,
    Stays,
    Together,
    replica_racks,
)
from groupcheck.oracles.assignment.promises import PROMISES, Case, ranges_count
from groupcheck.oracles.assignment.validity import Assigned

Sum = dict[int, int]
"""Column -> factor."""
Allowed = Callable[[Partition], frozenset[str] | None]
"""The only members that may have a partition; None: any."""

# Every program states these by its form. They are in no core.
IN_THE_FORM = ("valid", "complete", "complete later")

# What these ask follows from who is drained.
OF_BALANCE = (
    "level",
    "balanced",
    "balanced in topics",
    "locally balanced",
    "balanced at rest",
    "fewest moves",
    "pointer",
    "ranges",
)
MOST_NEAR = 20_000_000  # members x different racks of partitions


@frozen
class Kind:
    """Partitions that are alike."""

    partitions: list[Partition]
    # The members that have columns for it.
    members: tuple[str, ...]
    # For each restriction, the only members that may have such a partition (None: any).
    allowed: tuple[frozenset[str] | None, ...]
    # A partition may be nobody's for one round.
    may_wait: bool


@frozen
class BoundedSum:
    """A sum within bounds, and the promise or constraint that asks for it (empty: the form)."""

    words: str
    total: Sum
    least: float
    most: float
    # Constraints without which the promise would say something else.
    also: tuple[str, ...] = ()


class Program:
    """The program of some promises and constraints.

    `explain`: a member has columns even for partitions that a promise or constraint forbids it to
    have. Then each one is stated by rows of its own and can be taken back alone; otherwise the
    program is as small as possible.
    """

    def __init__(
        self,
        case: Case,
        names: Sequence[str],
        constraints: Sequence[Constraint],
        *,
        explain: bool = False,
    ) -> None:
        self.case, self.group, self.open = case, case.group, case.open
        self.names, self.constraints, self.explain = names, constraints, explain
        self.sizes = subscribed_sizes(self.group)
        self.every = sum(self.sizes.values())
        self.subscribers = {
            topic: tuple(m.id for m in self.group.members if topic in m.topics)
            for topic in self.sizes
        }
        self.claimed = claimants(self.group)
        # The largest value of each column, what one of it is worth in moves, and its price.
        self.most: list[int] = []
        self.value: list[int] = []
        self.price: list[Fraction] = []
        self.rows: list[BoundedSum] = []
        # (kind, member) -> column.
        self.kept: dict[tuple[int, str], int] = {}
        self.dealt: dict[tuple[int, str], int] = {}
        # All partitions of a member, and those of one topic.
        self.of: dict[str, Sum] = {member.id: {} for member in self.group.members}
        self.of_topic: dict[tuple[str, str], Sum] = defaultdict(dict)
        # The kinds that a member has columns for.
        self.kinds_of: dict[str, list[int]] = {member.id: [] for member in self.group.members}
        # Kind -> the column of its partitions that wait for a round.
        self.waiting_of: dict[int, int] = {}
        self.waiting: Sum = {}
        # Columns that say whether a member has any partition that another could have.
        self.switches = 0
        # The promise or constraint that is being stated, and what one of its rows costs by which it
        # is broken (None: it has to be kept).
        self.words = ""
        self.soft: Fraction | None = None
        # Who is drained, where a promise of balance is being stated.
        self.also: tuple[str, ...] = ()
        drains = tuple(c.words() for c in constraints if isinstance(c, Drain))
        self.drains = {promise_words(name): drains for name in PROMISES if name in OF_BALANCE}
        self.restrictions = list(self._restrictions())
        self.kinds = list(self._kinds())
        self.kind_of = {p: k for k, kind in enumerate(self.kinds) for p in kind.partitions}
        # How many columns there will be of members and kinds, at most.
        self.size = sum(2 * len(kind.members) for kind in self.kinds)

    def column(self, most: int, value: int = 0, price: Fraction = Fraction(0)) -> int:
        """A new whole number from 0 to `most`; one is worth so much."""
        self.most.append(most)
        self.value.append(value)
        self.price.append(price)
        return len(self.value) - 1

    def row(self, total: Sum, least: float = -inf, most: float = inf) -> None:
        """A sum within these bounds. An empty one counts only if it breaks them."""
        if total or not least <= 0 <= most:
            self.rows.append(BoundedSum(self.words, total, least, most, self.also))

    def wanted(self, total: Sum, least: float = -inf, most: float = inf) -> None:
        """A sum that a constraint wants within these bounds. If the constraint is soft, the sum may
        be outside at a price.
        """
        if self.soft is None:
            self.row(total, least, most)
            return
        furthest = sum(abs(factor) * self.most[column] for column, factor in total.items())
        for bound, sense in ((least, 1), (most, -1)):
            if abs(bound) < inf:
                outside = self.column(int(furthest + abs(bound)), price=self.soft)
                self.rows.append(
                    BoundedSum(
                        "",
                        {**total, outside: sense},
                        *((bound, inf) if sense > 0 else (-inf, bound)),
                    )
                )

    def between(self, total: Sum, among: int, members: int) -> None:
        """An even share, rounded down or up."""
        self.row(total, among // members, -(-among // members))

    def state(self) -> None:
        """States that each partition is given once, what is forbidden, and the promises. `stating`
        adds the constraints.
        """
        for number, kind in enumerate(self.kinds):
            self._deal(number, kind)
        for position, (words, _) in enumerate(self.restrictions):
            self.words, self.also = words, self.drains.get(words, ())
            for number, kind in enumerate(self.kinds):
                only = kind.allowed[position]
                if only is not None:
                    others = (member for member in kind.members if member not in only)
                    self.row({c: 1 for m in others for c in self.columns(number, m)}, most=0)
        for name in self.names:
            self.words = promise_words(name)
            self.also = self.drains.get(self.words, ())
            self._promise(name)
        self.also = ()

    def columns(self, kind: int, member: str) -> Sum:
        """The columns of the member for the kind."""
        found = (of.get((kind, member)) for of in (self.kept, self.dealt))
        return {column: 1 for column in found if column is not None}

    def _restrictions(self) -> Iterator[tuple[str, Allowed]]:
        """Promises and constraints that say who may have a partition, in words, and what they
        allow. A promise of balance says nothing about members that are drained.
        """
        drained = self.case.drained
        if "balanced" in self.names:
            able: dict[Partition, frozenset[str]] = {}
            for partitions, members in balance_of(self.open, self.case.weights).able:
                if len(members) < len(set(self.subscribers[partitions[0][0]]) - drained):
                    able.update(dict.fromkeys(partitions, drained.union(members)))
            yield promise_words("balanced"), able.get
        if "handed over" in self.names:
            claims: dict[Partition, list[tuple[int, str]]] = defaultdict(list)
            for member in self.group.members:
                for partition in member.owned:
                    claims[partition].append((member.generation, member.id))
            newest = {
                p: frozenset(m for generation, m in of if generation == max(of)[0])
                for p, of in claims.items()
            }
            yield promise_words("handed over"), newest.get
        for name, assignor in (("pointer", round_robin), ("ranges", range_)):
            if name in self.names and (name == "pointer" or ranges_count(self.group)):
                given = assignor(self.open).items()
                only = {p: drained.union((owner,)) for owner, of in given for p in of}
                yield promise_words(name), only.get
        every = frozenset(m.id for m in self.group.members)
        for constraint in self.constraints:
            if constraint.soft is not None:
                continue
            if isinstance(constraint, Stays):
                here = dict.fromkeys(constraint.partitions, frozenset((constraint.member,)))
                yield constraint.words(), here.get
            elif isinstance(constraint, Never):
                others = dict.fromkeys(constraint.partitions, every - {constraint.member})
                yield constraint.words(), others.get
            elif isinstance(constraint, Drain):
                yield constraint.words(), partial(_all_alike, every - {constraint.member})
            elif isinstance(constraint, Nearby):
                yield constraint.words(), self._near(constraint)

    def _near(self, given: Nearby) -> Allowed:
        """Partitions of the same topic and racks have the same members nearby."""
        racks = replica_racks(self.group)
        near: dict[tuple[str, frozenset[str]], frozenset[str]] = {}

        def allowed(p: Partition) -> frozenset[str] | None:
            if p not in racks:
                return None
            if (p[0], racks[p]) not in near:
                near[p[0], racks[p]] = frozenset(
                    m.id for m in self.group.members if not given.far(racks, m, p)
                )
            return near[p[0], racks[p]]

        return allowed

    def _kinds(self) -> Iterator[Kind]:
        """The kinds in order. Partitions that a constraint tells apart are of different kinds."""
        alone = named_alone(self.constraints)
        told_apart = alike(self.constraints, self.group)
        waits = "complete" not in self.names and "complete later" in self.names
        claims = {p for m in self.group.members for p in m.owned} if waits else set()
        together: dict[Any, list[Partition]] = defaultdict(list)
        for p in every_partition(self.sizes):
            allowed = tuple(only(p) for _, only in self.restrictions)
            together[
                allowed, p in claims, p if p in alone else p[0], tuple(of(p) for of in told_apart)
            ].append(p)
        members_of: dict[Any, tuple[str, ...]] = {}
        for (allowed, may_wait, *_), partitions in together.items():
            topic = partitions[0][0]
            if (topic, allowed) not in members_of:
                members = self.subscribers[topic]
                for only in () if self.explain else filter(None, allowed):
                    members = tuple(member for member in members if member in only)
                members_of[topic, allowed] = members
            yield Kind(partitions, members_of[topic, allowed], allowed, may_wait)

    def _deal(self, number: int, kind: Kind) -> None:
        """Every partition of a kind is given once."""
        topic, many = kind.partitions[0][0], len(kind.partitions)
        claims = Counter(self.claimed.get(p) for p in kind.partitions)
        given: Sum = {}
        for member in kind.members:
            self.dealt[number, member] = self.column(many)
            if claims[member]:
                self.kept[number, member] = self.column(claims[member], value=-1)
            self.kinds_of[member].append(number)
            mine = self.columns(number, member)
            for total in (given, self.of[member], self.of_topic[member, topic]):
                total.update(mine)
        if kind.may_wait:
            waiting = self.waiting_of[number] = self.column(many)
            given[waiting] = self.waiting[waiting] = 1
        self.row(given, many, many)

    def _promise(self, name: str) -> None:
        """States a promise that is not a restriction."""
        if name == "level":
            self._level()
        elif name == "balanced":
            for member, room in balance_of(self.open, self.case.weights).room.items():
                if member not in self.case.drained:
                    self.row(self.of[member], *room)
        elif name == "balanced in topics":
            for topic in self.sizes:
                subscribers = [m.id for m in self.open.members if topic in m.topics]
                for member in subscribers:
                    mine = self.of_topic.get((member, topic), {})
                    self.between(mine, self.sizes[topic], len(subscribers))
        elif name == "fewest moves":
            there = sum(partition in self.kind_of for partition in self.claimed)
            self.row(dict.fromkeys(self.kept.values(), 1), there - self.case.best.moves)
        elif name == "locally balanced":
            self._locally_balanced({})
        elif name == "balanced at rest":
            rest = self.column(1)
            self.row({**self.waiting, rest: 1}, 1)
            self._locally_balanced({rest: -self.every})

    def _level(self) -> None:
        """The members that subscribe to something share evenly."""
        members = [member.id for member in self.open.members if member.topics]
        for member in members:
            self.between(self.of[member], self.every, len(members))

    def _locally_balanced(self, unless: Sum) -> None:
        """Whoever has a partition that another could have has at most one more than that one.
        `unless`: what takes the statement back.

        Members of the same subscriptions have one least size. If two members have only some topics
        in common, it counts whether the larger one has any of these.
        """
        alike: dict[frozenset[str], list[str]] = defaultdict(list)
        for member in self.open.members:
            if topics := member.topics & frozenset(self.sizes):
                alike[topics].append(member.id)
        if len(alike) == 1 and not unless and not self.waiting:
            (sharing,) = alike.values()
            for name in sharing:
                self.between(self.of[name], self.every, len(sharing))
            return
        least = {topics: self.column(self.every) for topics in alike}
        slack = -sum(unless.values())  # with `rest`: size + every * rest <= other size + 1 + every
        gone = {column: -factor for column, factor in unless.items()}
        for topics, members in alike.items():
            for name in members:
                self.row({**self.of[name], least[topics]: -1}, 0)
                for others, smallest in least.items():
                    total = {**self.of[name], smallest: -1, **gone}
                    if topics <= others:
                        self.row(total, most=1 + slack)
                    elif topics & others:
                        held = [c for t in topics & others for c in self.of_topic[name, t]]
                        has = self.column(1)
                        self.switches += 1
                        self.row({**dict.fromkeys(held, 1), has: -self.every}, most=0)
                        self.row({**total, has: self.every}, most=1 + slack + self.every)

    def prices(self) -> list[int]:
        """The price of one of each column, as whole numbers."""
        scale = lcm(*{price.denominator for price in self.price})
        return [int(price * scale) for price in self.price]

    def assigned(self, x: Sequence[int]) -> Assigned:
        """A solution as an assignment: of each kind, its claimants keep so many, and the rest is
        dealt in order.
        """
        given: dict[str, set[Partition]] = {member: set() for member in self.of}
        for number, kind in enumerate(self.kinds):
            left = dict.fromkeys(kind.partitions)
            claims: dict[str, list[Partition]] = defaultdict(list)
            for partition in kind.partitions:
                claims[self.claimed.get(partition, "")].append(partition)
            for member in kind.members:
                mine = claims[member]
                for partition in mine[: x[self.kept[number, member]] if mine else 0]:
                    given[member].add(partition)
                    del left[partition]
            waiting = iter(left)
            for member in kind.members:
                many = x[self.dealt[number, member]]
                given[member].update(p for _, p in zip(range(many), waiting))
        return {member: frozenset(partitions) for member, partitions in given.items()}


def _all_alike(members: frozenset[str], partition: Partition) -> frozenset[str]:
    return members


def too_many_racks(case: Case, constraints: Sequence[Constraint]) -> bool:
    """Are there so many choices of racks that who is near what cannot be listed?"""
    asked = sum(isinstance(constraint, Nearby) for constraint in constraints)
    choices = {(topic, racks) for topic, of in case.group.racks for racks in of} if asked else ()
    return asked * len(choices) * len(case.group.members) > MOST_NEAR


def promise_words(name: str) -> str:
    """A promise as a core names it; empty if the form states it."""
    return "" if name in IN_THE_FORM else f"{name}: {PROMISES[name].statement}"


# -- Which partitions are alike for all constraints, so that a program may count them together.


def named_alone(constraints: Iterable[Constraint]) -> set[Partition]:
    """Partitions that a constraint names beside others, or whose place has a price: each is a kind
    of its own.
    """
    named: set[Partition] = set()
    for one in constraints:
        if isinstance(one, Together | Apart) or (
            isinstance(one, Stays | Never) and one.soft is not None
        ):
            named.update(one.partitions)
    return named


def alike(constraints: Iterable[Constraint], group: Group) -> list[Callable[[Partition], Hashable]]:
    """Functions of a partition: two partitions for which they differ are of different kinds."""
    found: list[Callable[[Partition], Hashable]] = []
    for one in constraints:
        if isinstance(one, Nearby) and one.soft is not None:
            found.append(replica_racks(group).get)
        elif isinstance(one, Capacity | LevelWeights):
            found.append(scale(one.weights).partitions.get)
    return found
