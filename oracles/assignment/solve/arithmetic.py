"""Why promises and constraints exclude each other, as a sum that anyone can check: "4 members x at
most 2 = 8 < 10 partitions".

A sum is told only if it is wrong, so that it alone shows that there is no assignment. Not every
core has one: constraints may exclude each other in ways that no single sum shows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from attrs import frozen

from groupcheck.model.assignors import Partition
from groupcheck.model.assignors.group import every_partition, subscribed_sizes
from groupcheck.oracles.assignment.constraints import Constraint
from groupcheck.oracles.assignment.handover import claimants
from groupcheck.oracles.assignment.loads import (
    NO_RACK,
    AtLeast,
    AtMost,
    Capacity,
    MovesAtMost,
    RacksAtMost,
    loaded,
)
from groupcheck.oracles.assignment.optimum import balance_of
from groupcheck.oracles.assignment.placement import (
    Apart,
    Drain,
    Nearby,
    Never,
    Stays,
    TopicsApart,
    replica_racks,
)
from groupcheck.oracles.assignment.promises import Case
from groupcheck.oracles.assignment.solve.program import promise_words
from groupcheck.oracles.assignment.validity import named

MOST_CELLS = 200_000  # members x partitions that are looked at
MOST_SETS = 200  # of partitions
PARTITIONS_NAMED = 4  # partitions that a sum names


def arithmetic(
    case: Case, names: Sequence[str], constraints: Sequence[Constraint], core: Sequence[str]
) -> tuple[str, ...]:
    """One sum that is wrong, in words; empty if none is found."""
    if "complete" not in names:
        return ()
    if sum(size for _, size in case.group.topics) * len(case.group.members) > MOST_CELLS:
        return ()
    limits = _Limits(
        case,
        [name for name in names if promise_words(name) in core],
        [c for c in constraints if c.soft is None and c.words() in core],
    )
    sums = (limits.too_little_room(), limits.too_much_wanted(), limits.too_many_moves())
    return tuple(words for found in sums for words in found)[:1]


@frozen
class Bound:
    """How many partitions a member may have, or has to have, and as what that is told."""

    number: int
    words: str


class _Limits:
    """The limits that the promises and constraints of a core set on how many partitions a member
    has.
    """

    def __init__(self, case: Case, names: Sequence[str], constraints: Sequence[Constraint]) -> None:
        self.case, self.constraints = case, constraints
        self.sizes = subscribed_sizes(case.group)
        self.every = every_partition(self.sizes)
        self.members = [member.id for member in case.group.members]
        self.able = self._able()
        # Member -> the least and the largest number that a promise of balance allows.
        self.room: dict[str, tuple[int, int]] = {}
        sharing = [member.id for member in case.open.members if member.topics]
        if "balanced" in names:
            room = balance_of(case.open, case.weights).room
            self.room = {member: room[member] for member in sharing}
        elif "level" in names or (
            "locally balanced" in names
            and len({m.topics for m in case.open.members if m.topics}) == 1
        ):
            total = len(self.every)
            self.room = dict.fromkeys(sharing, (total // len(sharing), -(-total // len(sharing))))

    def _able(self) -> dict[Partition, frozenset[str]]:
        """Partition -> the members that may have it."""
        subscribers = {
            topic: frozenset(m.id for m in self.case.group.members if topic in m.topics)
            for topic in self.sizes
        }
        racks = replica_racks(self.case.group)
        able = {p: subscribers[p[0]] for p in self.every}
        for one in self.constraints:
            if isinstance(one, Stays):
                able.update({p: able[p] & {one.member} for p in one.partitions if p in able})
            elif isinstance(one, Never):
                able.update({p: able[p] - {one.member} for p in one.partitions if p in able})
            elif isinstance(one, Drain):
                able = {p: members - {one.member} for p, members in able.items()}
            elif isinstance(one, Nearby):
                for member in self.case.group.members:
                    for p in self.every:
                        if one.far(racks, member, p):
                            able[p] -= {member.id}
        return able

    def most(self, member: str, partitions: Sequence[Partition]) -> Bound:
        """How many of these partitions, all of which it may have, the member can have at once."""
        count = len(partitions)
        bounds = [Bound(count, f"only {count} that it may have")]
        if member in self.room:
            bounds.append(Bound(self.room[member][1], f"at most {self.room[member][1]} in balance"))
        for one in self.constraints:
            if isinstance(one, AtMost | Capacity) and member in loaded(one, self.case.group):
                bounds.append(self._loaded(one, partitions))
            elif isinstance(one, Apart):
                number = count - max(0, len(set(partitions).intersection(one.partitions)) - 1)
                bounds.append(Bound(number, f"at most {number}"))
            elif isinstance(one, TopicsApart):
                of = Counter(topic for topic, _ in partitions if topic in one.topics)
                number = count - sum(of.values()) + max(of.values(), default=0)
                bounds.append(Bound(number, f"at most {number}"))
        return min(bounds, key=lambda bound: bound.number)

    def _loaded(self, given: AtMost | Capacity, partitions: Sequence[Partition]) -> Bound:
        """As many of the lightest as fit."""
        scaled = given.scale(self.case.group)
        room, number = given.bound(scaled), 0
        weights = sorted(map(scaled.weigh, partitions))
        for weight in weights:
            if weight > room:
                break
            room, number = room - weight, number + 1
        if isinstance(given, AtMost):
            return Bound(number, f"at most {number}")
        each = weights[0] / scaled.by if weights else 0
        return Bound(
            number, f"at most {number} ({float(given.most):g} at {each:g} and more for each)"
        )

    def too_little_room(self) -> Iterator[str]:
        """Partitions for which all members together have no room."""
        for words, partitions in self._sets():
            here: dict[str, list[Partition]] = defaultdict(list)
            for partition in partitions:
                for member in self.able[partition]:
                    here[member].append(partition)
            bounds = {
                member: self.most(member, here[member]) for member in self.members if here[member]
            }
            if not bounds:
                yield f"nobody may have {words}"
                continue
            yield from self._in_racks(words, partitions, bounds)
            room = sum(bound.number for bound in bounds.values())
            if room < len(partitions):
                yield f"{_sum(bounds)} = {room} < {words}"
        yield from self._too_heavy()

    def _in_racks(
        self, words: str, partitions: Sequence[Partition], bounds: dict[str, Bound]
    ) -> Iterator[str]:
        """The roomiest racks hold too little."""
        racks: dict[str, list[str]] = defaultdict(list)
        for member in self.case.group.members:
            if member.id in bounds:
                racks[member.rack or NO_RACK].append(member.id)
        for one in self.constraints:
            if isinstance(one, RacksAtMost) and all(one.topic in (None, t) for t, _ in partitions):
                roomy = sorted(racks, key=lambda rack: -sum(bounds[m].number for m in racks[rack]))
                there = {m: bounds[m] for rack in roomy[: one.most] for m in racks[rack]}
                room = sum(bound.number for bound in there.values())
                if room < len(partitions):
                    where = ", ".join(roomy[: one.most])
                    yield f"in {where}: {_sum(there)} = {room} < {words}"

    def _too_heavy(self) -> Iterator[str]:
        """All partitions weigh more than all members bear."""
        for one in self.constraints:
            if isinstance(one, Capacity) and one.member is None:
                scaled = one.scale(self.case.group)
                weight = sum(map(scaled.weigh, self.every))
                able = frozenset[str]().union(*self.able.values())
                if weight > one.bound(scaled) * len(able):
                    many = _members(len(able))
                    bears = f"{float(one.most):g} = {float(one.most * len(able)):g}"
                    yield f"{many} x at most {bears} < {weight / scaled.by:g}, which all weigh"

    def _sets(self) -> Iterator[tuple[str, list[Partition]]]:
        """Partitions that could be too many: all, those of a topic, those that only the same
        members may have, or that a constraint names. The smallest sets come first.
        """
        sets = {tuple(self.every): f"{len(self.every)} partition{'s' * (len(self.every) != 1)}"}
        for topic, size in self.sizes.items():
            of_topic = tuple((topic, number) for number in range(size))
            sets[of_topic] = f"{size} partition{'s' * (size != 1)} of {topic}"
        for members in dict.fromkeys(self.able.values()):
            some = tuple(p for p in self.every if self.able[p] <= members)
            sets.setdefault(some, _named(some))
        for one in self.constraints:
            if isinstance(one, Apart | Stays | Never):
                some = tuple(p for p in one.partitions if p in self.able)
                sets.setdefault(some, _named(some))
        for some in sorted(filter(None, sets), key=len)[:MOST_SETS]:
            yield sets[some], list(some)

    def least(self, member: str, topic: str | None) -> Bound:
        """How many partitions of the topic (None: of any) the member has to have."""
        bounds = []
        for one in self.constraints:
            if isinstance(one, AtLeast) and member in one.members(self.case.open):
                if topic in (None, one.topic):
                    bounds.append(Bound(one.least, f"at least {one.least}"))
            elif isinstance(one, Stays) and one.member == member:
                stay = [p for p in one.partitions if topic in (None, p[0])]
                bounds.append(Bound(len(stay), f"{len(stay)} that stay on it"))
        if topic is None and member in self.room:
            bounds.append(
                Bound(self.room[member][0], f"at least {self.room[member][0]} in balance")
            )
        return max(bounds, key=lambda bound: bound.number, default=Bound(0, "at least 0"))

    def too_much_wanted(self) -> Iterator[str]:
        """A member that has to have more than it can, or members that together want more
        partitions than there are.
        """
        for topic in (*self.sizes, None):
            there = [p for p in self.every if topic in (None, p[0])]
            of = f" of {topic}" if topic else ""
            wanted = {m: self.least(m, topic) for m in self.members}
            for member, bound in wanted.items():
                most = self.most(member, [p for p in there if member in self.able[p]])
                if bound.number > most.number:
                    yield f"{member}: {bound.words} > {most.words}{of}"
            total = sum(bound.number for bound in wanted.values())
            if total > len(there):
                some = {m: bound for m, bound in wanted.items() if bound.number}
                many = f"{len(there)} partition{'s' * (len(there) != 1)}{of}"
                yield f"{_sum(some)} = {total} > {many}"

    def too_many_moves(self) -> Iterator[str]:
        """Partitions that their claimants cannot keep."""
        bound = next((c.most for c in self.constraints if isinstance(c, MovesAtMost)), None)
        if bound is None:
            return
        claims: dict[str, list[Partition]] = defaultdict(list)
        for partition, member in claimants(self.case.group).items():
            if partition in self.able:
                claims[member].append(partition)
        lost = {}
        for member, partitions in claims.items():
            may = [p for p in partitions if member in self.able[p]]
            kept = self.most(member, may).number
            if kept < len(partitions):
                lost[member] = f"{member} claims {len(partitions)} and can keep {kept}", kept
        forced = sum(len(claims[member]) - kept for member, (_, kept) in lost.items())
        if forced > bound:
            told = [words for words, _ in lost.values()]
            more = (
                [f"{len(told) - PARTITIONS_NAMED} other members lose some"]
                if len(told) > PARTITIONS_NAMED
                else []
            )
            lost_by = "; ".join(told[:PARTITIONS_NAMED] + more)
            yield f"{lost_by}: {forced} have to move > at most {bound}"


def _sum(bounds: dict[str, Bound]) -> str:
    """`3 members x at most 2 + c4: at most 1`."""
    alike: dict[Bound, list[str]] = defaultdict(list)
    for member, bound in bounds.items():
        alike[bound].append(member)
    return " + ".join(
        f"{members[0]}: {bound.words}"
        if len(members) == 1
        else f"{_members(len(members))} x {bound.words}"
        for bound, members in alike.items()
    )


def _members(count: int) -> str:
    return f"{count} member{'s' * (count != 1)}"


def _named(partitions: Sequence[Partition]) -> str:
    count = len(partitions)
    few = ", ".join(map(named, partitions[:PARTITIONS_NAMED])) + (
        ", ..." if count > PARTITIONS_NAMED else ""
    )
    return f"{count} partition{'s' * (count != 1)} ({few})"
