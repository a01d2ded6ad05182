"""Promises and constraints together as a program of whole numbers: columns, and rows that are sums
of columns within bounds.

Partitions of one topic that may go to the same members are alike. So a column does not say who gets
which partition, but how many of a kind a member keeps of those it claims (`kept`), and how many it
is dealt of the others (`dealt`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import inf

from attrs import frozen

from groupcheck.model.assignors import Partition, range_, round_robin
from groupcheck.model.assignors.group import every_partition, subscribed_sizes
from groupcheck.oracles.assignment.constraints import (
    NO_RACK,
    Apart,
    AtMost,
    Capacity,
    Constraint,
    Never,
    RacksAtMost,
    Stays,
    Together,
    loaded,
)
from groupcheck.oracles.assignment.handover import claimants
from groupcheck.oracles.assignment.optimum import balance_of
from groupcheck.oracles.assignment.promises import PROMISES, Case, ranges_count
from groupcheck.oracles.assignment.validity import Assigned

Sum = dict[int, int]
"""Column -> factor."""
Allowed = Mapping[Partition, frozenset[str]]
"""Partition -> the only members that may have it; a partition that is left out may go to any."""

# Every program states these by its form. They are in no core.
IN_THE_FORM = ("valid", "complete", "complete later")


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
class Row:
    """A sum within bounds, and the promise or constraint that asks for it (empty: the form)."""

    words: str
    total: Sum
    least: float
    most: float


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
        self.case, self.group = case, case.group
        self.names, self.constraints, self.explain = names, constraints, explain
        self.sizes = subscribed_sizes(self.group)
        self.every = sum(self.sizes.values())
        self.subscribers = {
            topic: tuple(m.id for m in self.group.members if topic in m.topics)
            for topic in self.sizes
        }
        self.claimed = claimants(self.group)
        # The largest value of each column, and what one of it is worth.
        self.most: list[int] = []
        self.value: list[int] = []
        self.rows: list[Row] = []
        # (kind, member) -> column.
        self.kept: dict[tuple[int, str], int] = {}
        self.dealt: dict[tuple[int, str], int] = {}
        # All partitions of a member, and those of one topic.
        self.of: dict[str, Sum] = {member.id: {} for member in self.group.members}
        self.of_topic: dict[tuple[str, str], Sum] = defaultdict(dict)
        # Partitions that wait for a round.
        self.waiting: Sum = {}
        # Columns that say whether a member has any partition that another could have.
        self.switches = 0
        # The promise or constraint that is being stated.
        self.words = ""
        self.restrictions = list(self._restrictions())
        self.kinds = list(self._kinds())
        self.kind_of = {p: k for k, kind in enumerate(self.kinds) for p in kind.partitions}
        # How many columns there will be of members and kinds, at most.
        self.size = sum(2 * len(kind.members) for kind in self.kinds)

    def column(self, most: int, value: int = 0) -> int:
        """A new whole number from 0 to `most`; one is worth so much."""
        self.most.append(most)
        self.value.append(value)
        return len(self.value) - 1

    def row(self, total: Sum, least: float = -inf, most: float = inf) -> None:
        """A sum within these bounds. An empty one counts only if it breaks them."""
        if total or not least <= 0 <= most:
            self.rows.append(Row(self.words, total, least, most))

    def between(self, total: Sum, among: int, members: int) -> None:
        """An even share, rounded down or up."""
        self.row(total, among // members, -(-among // members))

    def state(self) -> None:
        """States everything: each partition is given once, then promises and constraints."""
        for number, kind in enumerate(self.kinds):
            self._deal(number, kind)
        for position, (words, _) in enumerate(self.restrictions):
            self.words = words
            for number, kind in enumerate(self.kinds):
                only = kind.allowed[position]
                if only is not None:
                    others = (member for member in kind.members if member not in only)
                    self.row({c: 1 for m in others for c in self.columns(number, m)}, most=0)
        for name in self.names:
            self.words = promise_words(name)
            self._promise(name)
        for constraint in self.constraints:
            self.words = constraint.words()
            self._constraint(constraint)

    def columns(self, kind: int, member: str) -> Sum:
        """What the member has of the kind."""
        found = (of.get((kind, member)) for of in (self.kept, self.dealt))
        return {column: 1 for column in found if column is not None}

    def _restrictions(self) -> Iterator[tuple[str, Allowed]]:
        """Promises and constraints that say who may have a partition, in words, and what they
        allow.
        """
        if "balanced" in self.names:
            able = balance_of(self.group, self.case.weights).able
            yield (
                promise_words("balanced"),
                {
                    p: only
                    for partitions, members in able
                    if len(members) < len(self.subscribers[partitions[0][0]])
                    for only in (frozenset(members),)
                    for p in partitions
                },
            )
        if "handed over" in self.names:
            claims: dict[Partition, list[tuple[int, str]]] = defaultdict(list)
            for member in self.group.members:
                for partition in member.owned:
                    claims[partition].append((member.generation, member.id))
            yield (
                promise_words("handed over"),
                {
                    p: frozenset(m for generation, m in of if generation == max(of)[0])
                    for p, of in claims.items()
                },
            )
        for name, assignor in (("pointer", round_robin), ("ranges", range_)):
            if name in self.names and (name == "pointer" or ranges_count(self.group)):
                given = assignor(self.group).items()
                only = {p: frozenset((owner,)) for owner, partitions in given for p in partitions}
                yield promise_words(name), only
        for constraint in self.constraints:
            if isinstance(constraint, Stays):
                only = dict.fromkeys(constraint.partitions, frozenset((constraint.member,)))
                yield constraint.words(), only
            elif isinstance(constraint, Never):
                others = frozenset(m.id for m in self.group.members) - {constraint.member}
                yield constraint.words(), dict.fromkeys(constraint.partitions, others)

    def _kinds(self) -> Iterator[Kind]:
        """The kinds in order. Partitions that a constraint names beside others are kinds of their
        own.
        """
        named = (c for c in self.constraints if isinstance(c, Together | Apart))
        alone = {p for constraint in named for p in constraint.partitions}
        waits = "complete" not in self.names and "complete later" in self.names
        claims = {p for m in self.group.members for p in m.owned} if waits else set()
        alike: dict[
            tuple[tuple[frozenset[str] | None, ...], bool, str | Partition], list[Partition]
        ] = defaultdict(list)
        for p in every_partition(self.sizes):
            allowed = tuple(only.get(p) for _, only in self.restrictions)
            alike[allowed, p in claims, p if p in alone else p[0]].append(p)
        for (allowed, may_wait, _), partitions in alike.items():
            members = self.subscribers[partitions[0][0]]
            for only in () if self.explain else filter(None, allowed):
                members = tuple(member for member in members if member in only)
            yield Kind(partitions, members, allowed, may_wait)

    def _deal(self, number: int, kind: Kind) -> None:
        """Every partition of a kind is given once."""
        topic, many = kind.partitions[0][0], len(kind.partitions)
        given: Sum = {}
        for member in kind.members:
            self.dealt[number, member] = self.column(many)
            own = sum(self.claimed.get(p) == member for p in kind.partitions)
            if own:
                self.kept[number, member] = self.column(own, value=-1)
            mine = self.columns(number, member)
            for total in (given, self.of[member], self.of_topic[member, topic]):
                total.update(mine)
        if kind.may_wait:
            waiting = self.column(many)
            given[waiting] = self.waiting[waiting] = 1
        self.row(given, many, many)

    def _promise(self, name: str) -> None:
        """What is not a restriction."""
        if name == "level":
            for mine in self.of.values():
                self.between(mine, self.every, len(self.of))
        elif name == "balanced":
            for member, room in balance_of(self.group, self.case.weights).room.items():
                self.row(self.of[member], *room)
        elif name == "balanced in topics":
            for topic, subscribers in self.subscribers.items():
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

    def _locally_balanced(self, unless: Sum) -> None:
        """Whoever has a partition that another could have has at most one more than that one.
        `unless`: what takes the statement back.

        Members of the same subscriptions have one least size. If two members have only some topics
        in common, it counts whether the larger one has any of these.
        """
        alike: dict[frozenset[str], list[str]] = defaultdict(list)
        for member in self.group.members:
            alike[member.topics & frozenset(self.sizes)].append(member.id)
        if len(alike) == 1 and not unless and not self.waiting:
            for mine in self.of.values():
                self.between(mine, self.every, len(self.of))
            return
        least = {topics: self.column(self.every) for topics in alike}
        slack = -sum(unless.values())  # with `rest`: size + every * rest <= other size + 1 + every
        gone = {column: -factor for column, factor in unless.items()}
        for topics, members in alike.items():
            for name in members:
                self.row({**self.of[name], least[topics]: -1}, 0)
                for others, smallest in least.items():
                    total = {**self.of[name], smallest: -1, **gone}
                    if topics <= others and topics:
                        self.row(total, most=1 + slack)
                    elif topics & others:
                        held = [c for t in topics & others for c in self.of_topic[name, t]]
                        has = self.column(1)
                        self.switches += 1
                        self.row({**dict.fromkeys(held, 1), has: -self.every}, most=0)
                        self.row({**total, has: self.every}, most=1 + slack + self.every)

    def _constraint(self, given: Constraint) -> None:
        """What is not a restriction."""
        if isinstance(given, Stays):
            for partition in given.partitions:
                number = self.kind_of.get(partition, -1)
                many = len(self.kinds[number].partitions) if number >= 0 else 1
                self.row(self.columns(number, given.member), many)
        elif isinstance(given, Together | Apart):
            for member in self.of:
                here = [self.columns(self.kind_of.get(p, -1), member) for p in given.partitions]
                if isinstance(given, Apart):
                    self.row({column: 1 for one in here for column in one}, most=1)
                else:
                    for one in here[1:]:
                        self.row({**here[0], **dict.fromkeys(one, -1)}, 0, 0)
        elif isinstance(given, Capacity | AtMost):
            weights, most, _ = given.whole(self.group)
            for member in loaded(given, self.group):
                total = {
                    column: weight
                    for topic, weight in weights.items()
                    for column in self.of_topic.get((member, topic), ())
                }
                self.row(total, most=most)
        elif isinstance(given, RacksAtMost):
            self._racks(given)

    def _racks(self, given: RacksAtMost) -> None:
        """A rack is used if one of its members has any."""
        used: dict[str, int] = {}
        for member in self.group.members:
            rack = member.rack or NO_RACK
            if rack not in used:
                used[rack] = self.column(1)
            of_topic = self.of_topic.get((member.id, given.topic or ""), {})
            for column in self.of[member.id] if given.topic is None else of_topic:
                self.row({column: 1, used[rack]: -self.most[column]}, most=0)
        self.row(dict.fromkeys(used.values(), 1), most=given.most)

    def assigned(self, x: Sequence[int]) -> Assigned:
        """A solution as an assignment: of each kind, its claimants keep so many, and the rest is
        dealt in order.
        """
        given: dict[str, set[Partition]] = {member: set() for member in self.of}
        for number, kind in enumerate(self.kinds):
            left = dict.fromkeys(kind.partitions)
            for member in kind.members:
                mine = [p for p in kind.partitions if self.claimed.get(p) == member]
                for partition in mine[: x[self.kept[number, member]] if mine else 0]:
                    given[member].add(partition)
                    del left[partition]
            waiting = iter(left)
            for member in kind.members:
                many = x[self.dealt[number, member]]
                given[member].update(p for _, p in zip(range(many), waiting))
        return {member: frozenset(partitions) for member, partitions in given.items()}


def promise_words(name: str) -> str:
    """A promise as a core names it; empty if the form states it."""
    return "" if name in IN_THE_FORM else f"{name}: {PROMISES[name].statement}"
