"""Promises and constraints together as a program of whole numbers, for HiGHS (scipy): an assignment
that keeps them with the fewest moves, at scale.

Partitions of one topic that may go to the same members are alike, so what is asked is not who gets
which, but how many of each kind a member keeps of those it claims, and how many it is dealt of the
others. `solving` states the same to z3, partition by partition, which says why where there is none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from math import inf
from typing import Any

from attrs import frozen

from groupcheck.model.assignors import Partition, range_, round_robin
from groupcheck.model.assignors.group import every_partition, subscribed_sizes
from groupcheck.oracles.assignment.constraints import Load, Never, RacksAtMost, Stays, Together
from groupcheck.oracles.assignment.optimum import balance_of, claimants
from groupcheck.oracles.assignment.promises import Case, ranges_count
from groupcheck.oracles.assignment.question import Question
from groupcheck.oracles.assignment.validity import Assigned

MOST_COLUMNS = 500_000
MOST_SWITCHES = (
    3_000  # of statements that hold or not; beyond that HiGHS neither decides nor ends in time
)
MANY_SWITCHES = 20  # these cost it seconds already
MOST_ENTRIES = 10_000_000
Sum = Mapping[int, float]
"""Column -> factor."""


@frozen
class Planned:
    """`found`: an assignment that keeps everything; `fewest`: none that does needs fewer moves.
    `none`: it is certain that there is none.
    """

    found: Assigned | None = None
    fewest: bool = False
    none: bool = False


def plan(question: Question, names: tuple[str, ...], case: Case, seconds: float) -> Planned:
    """Asks HiGHS, for that long. Neither found nor none: not decided, or the program would be too
    large. Raises `ImportError` without scipy.

    What is balanced is locally balanced: where many subscriptions overlap, the first is asked for
    before the second, which takes a switch for each two.
    """
    program = _Program(question, names, case)
    if program.size > MOST_COLUMNS:
        return Planned()
    program.state()
    if program.switches > MANY_SWITCHES:
        stricter = tuple("balanced" if name == "locally balanced" else name for name in names)
        found = plan(question, stricter, case, seconds).found if stricter != names else None
        if found is not None or program.switches > MOST_SWITCHES:
            return Planned(found)
    return program.solved(seconds)


class _Program:
    """Columns `kept` and `dealt` for each kind of partition and each member that may have it."""

    def __init__(self, question: Question, names: tuple[str, ...], case: Case) -> None:
        self.question, self.names, self.case, self.group = question, names, case, question.group
        self.sizes = subscribed_sizes(self.group)
        self.waits = "complete" not in names and "complete later" in names
        self.claimed = claimants(self.group)
        self.kinds = _kinds(self)
        self.size = sum(2 * len(members) for members, _ in self.kinds)
        self.least: list[float] = []
        self.most: list[float] = []
        self.value: list[float] = []
        self.rows: list[tuple[Sum, float, float]] = []
        self.kept: dict[tuple[int, str], int] = {}
        self.dealt: dict[tuple[int, str], int] = {}
        self.of: dict[str, dict[int, float]] = {member.id: {} for member in self.group.members}
        self.of_topic: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
        self.waiting: dict[int, float] = {}
        self.impossible = False
        self.switches = 0

    def column(self, most: float, *, least: float = 0, value: float = 0) -> int:
        """A new whole number within these bounds; one is worth so much."""
        self.least.append(least)
        self.most.append(most)
        self.value.append(value)
        return len(self.value) - 1

    def row(self, total: Sum, least: float = -inf, most: float = inf) -> None:
        """A sum within these bounds."""
        if total:
            self.rows.append((total, least, most))
        elif not least <= 0 <= most:
            self.impossible = True

    def state(self) -> None:
        """Every partition is given once, then promises and constraints."""
        waits = _may_wait(self)
        for kind, (members, partitions) in enumerate(self.kinds):
            topic, given = partitions[0][0], dict[int, float]()
            for member in members:
                own = sum(self.claimed.get(p) == member for p in partitions)
                columns = [self.dealt.setdefault((kind, member), self.column(len(partitions)))]
                if own:
                    columns.append(self.kept.setdefault((kind, member), self.column(own, value=-1)))
                for column in columns:
                    given[column] = self.of[member][column] = self.of_topic[member, topic][
                        column
                    ] = 1
            if partitions[0] in waits:
                waiting = self.column(len(partitions))
                given[waiting] = self.waiting[waiting] = 1
            self.row(given, len(partitions), len(partitions))
        for name in self.names:
            self.promise(name)
        for constraint in self.question.constraints:
            if isinstance(constraint, Together):
                self.together(constraint)
            elif isinstance(constraint, Load):
                self.load(constraint)
            elif isinstance(constraint, RacksAtMost):
                self.racks(constraint)

    def promise(self, name: str) -> None:
        """Those that restrict who may have what are in the kinds already."""
        if name == "level":
            for mine in self.of.values():
                self.between(mine, sum(self.sizes.values()), len(self.of))
        elif name == "balanced":
            for member, room in balance_of(self.group, self.case.weights).room.items():
                self.row(self.of[member], *room)
        elif name == "balanced in topics":
            subscribers = {
                topic: sum(topic in m.topics for m in self.group.members) for topic in self.sizes
            }
            for subscriber in self.group.members:
                for topic in subscriber.topics & set(self.sizes):
                    self.between(
                        self.of_topic[subscriber.id, topic], self.sizes[topic], subscribers[topic]
                    )
        elif name == "fewest moves":
            lost = (
                sum(p[0] in self.sizes and p[1] < self.sizes[p[0]] for p in self.claimed)
                - self.case.best.moves
            )
            self.row(dict.fromkeys(self.kept.values(), 1.0), lost)
        elif name == "locally balanced":
            self.locally_balanced({})
        elif name == "balanced at rest":
            rest = self.column(1)
            self.row({**self.waiting, rest: 1}, 1)
            self.locally_balanced({rest: -float(sum(self.sizes.values()))})

    def between(self, total: Sum, among: int, members: int) -> None:
        """An even share, rounded down or up."""
        self.row(total, among // members, -(-among // members))

    def locally_balanced(self, unless: Sum) -> None:
        """Whoever has a partition that another could have has at most one more than that one.
        `unless`: what takes the statement back.

        Members of the same subscriptions have one least and one largest size; where they only have
        topics in common, it counts which they have.
        """
        every = float(sum(self.sizes.values()))
        alike: dict[frozenset[str], list[str]] = defaultdict(list)
        for of in self.group.members:
            alike[of.topics & frozenset(self.sizes)].append(of.id)
        if len(alike) == 1 and not unless and not self.waiting:
            for mine in self.of.values():
                self.between(mine, int(every), len(self.of))
            return
        least = {topics: self.column(every) for topics in alike}
        slack = -sum(unless.values())  # with `rest`: size + every * rest <= other size + 1 + every
        gone = {column: -factor for column, factor in unless.items()}
        for topics, members in alike.items():
            for member in members:
                self.row({**self.of[member], least[topics]: -1}, 0)
                for others, smallest in least.items():
                    if topics & others:
                        held = (
                            {c: 1.0 for t in topics & others for c in self.of_topic[member, t]}
                            if topics - others
                            else None
                        )
                        self.at_most_one_more(
                            {**self.of[member], smallest: -1, **gone}, 1 + slack, held
                        )

    def at_most_one_more(self, total: Sum, most: float, held: Sum | None) -> None:
        """The row, where anything of `held` is had; None: whatever is had."""
        if held is None:
            self.row(total, -inf, most)
            return
        every = float(sum(self.sizes.values()))
        has = self.column(1)
        self.switches += 1
        self.row({**held, has: -every}, -inf, 0)
        self.row({**total, has: every}, -inf, most + every)

    def together(self, given: Together) -> None:
        """Each of these partitions is a kind of its own."""
        kind_of = {partitions[0]: kind for kind, (_, partitions) in enumerate(self.kinds)}
        for member in self.of:
            here = [
                dict.fromkeys(self.columns(kind_of.get(p, -1), member), 1.0)
                for p in given.partitions
            ]
            if given.apart:
                self.row({column: 1 for one in here for column in one}, -inf, 1)
            else:
                for one in here[1:]:
                    self.row({**here[0], **dict.fromkeys(one, -1)}, 0, 0)

    def columns(self, kind: int, member: str) -> list[int]:
        """What the member has of the kind, as columns to be added up."""
        return [found[kind, member] for found in (self.kept, self.dealt) if (kind, member) in found]

    def load(self, given: Load) -> None:
        """Weights of topics, as whole numbers."""
        weights, most = given.whole()
        for member in given.members:
            total = {
                c: float(weight)
                for topic, weight in weights.items()
                for c in self.of_topic.get((member, topic), ())
            }
            self.row(total, -inf, most)

    def racks(self, given: RacksAtMost) -> None:
        """A rack is used if one of its members has any."""
        used: dict[str, int] = {}
        for member in self.group.members:
            rack = used.setdefault(member.rack or "no rack", -1)
            if rack < 0:
                rack = used[member.rack or "no rack"] = self.column(1)
            mine = (
                self.of[member.id]
                if given.topic is None
                else self.of_topic.get((member.id, given.topic), {})
            )
            for column in mine:
                self.row({column: 1, rack: -self.most[column]}, -inf, 0)
        self.row(dict.fromkeys(used.values(), 1.0), -inf, given.most)

    def solved(self, seconds: float) -> Planned:
        """HiGHS' answer."""
        from scipy import sparse
        from scipy.optimize import Bounds, LinearConstraint, milp

        if self.impossible:
            return Planned(none=True)
        entries = sum(len(total) for total, _, _ in self.rows)
        if entries > MOST_ENTRIES or len(self.value) > MOST_COLUMNS:
            return Planned()
        starts = list(accumulate((len(total) for total, _, _ in self.rows), initial=0))
        columns, values = (
            [c for total, _, _ in self.rows for c in total],
            [v for total, _, _ in self.rows for v in total.values()],
        )
        matrix = sparse.csr_array(
            (values, columns, starts), shape=(len(self.rows), len(self.value))
        )
        answer = milp(
            self.value,
            integrality=1,
            bounds=Bounds(self.least, self.most),
            constraints=LinearConstraint(
                matrix, [least for _, least, _ in self.rows], [most for _, _, most in self.rows]
            ),
            options={"time_limit": seconds, "mip_rel_gap": 0},
        )
        if answer.x is None:
            return Planned(none=answer.status == 2)
        return Planned(self.dealt_out([round(x) for x in answer.x]), fewest=answer.status == 0)

    def dealt_out(self, x: list[int]) -> Assigned:
        """Of each kind, its claimants keep so many, and the rest is dealt in order."""
        given: dict[str, set[Partition]] = {member: set() for member in self.of}
        for kind, (members, partitions) in enumerate(self.kinds):
            left = dict.fromkeys(partitions)
            for member in members:
                mine = [p for p in partitions if self.claimed.get(p) == member]
                for partition in mine[: x[self.kept[kind, member]] if mine else 0]:
                    given[member].add(partition)
                    del left[partition]
            waiting = iter(left)
            for member in members:
                given[member].update(p for _, p in zip(range(x[self.dealt[kind, member]]), waiting))
        return {member: frozenset(partitions) for member, partitions in given.items()}


def _kinds(program: _Program) -> list[tuple[tuple[str, ...], list[Partition]]]:
    """Partitions of one topic that may go to the same members, in order; those that a constraint
    names beside others by themselves.
    """
    able = _able(program)
    alone = {
        p for c in program.question.constraints if isinstance(c, Together) for p in c.partitions
    }
    waits = _may_wait(program)
    kinds: dict[Any, list[Partition]] = defaultdict(list)
    for partition, members in able.items():
        kinds[
            partition[0], members, partition in waits, partition if partition in alone else None
        ].append(partition)
    return [(members, partitions) for (_, members, _, _), partitions in kinds.items()]


def _may_wait(program: _Program) -> set[Partition]:
    """What somebody claims may be nobody's for a round, unless it has to stay somewhere."""
    staying = {
        p for c in program.question.constraints if isinstance(c, Stays) for p in c.partitions
    }
    return {p for m in program.group.members for p in m.owned} - staying if program.waits else set()


def _able(program: _Program) -> dict[Partition, tuple[str, ...]]:
    """Who may have each partition: its subscribers, less what promises and constraints forbid."""
    group, names = program.group, program.names
    subscribers = {
        topic: tuple(m.id for m in group.members if topic in m.topics) for topic in program.sizes
    }
    able = {partition: subscribers[partition[0]] for partition in every_partition(program.sizes)}

    def only(partition: Partition, members: Iterable[str]) -> None:
        if partition in able:
            kept = frozenset(members)
            able[partition] = tuple(member for member in able[partition] if member in kept)

    if "balanced" in names:
        for partitions, members in balance_of(group, program.case.weights).able:
            for partition in (
                partitions if len(members) < len(subscribers[partitions[0][0]]) else ()
            ):
                only(partition, members)
    if "handed over" in names:
        claims: dict[Partition, list[tuple[int, str]]] = defaultdict(list)
        for member in group.members:
            for partition in member.owned:
                claims[partition].append((member.generation, member.id))
        for partition, of in claims.items():
            only(partition, (member for generation, member in of if generation == max(of)[0]))
    for name, assignor in (("pointer", round_robin), ("ranges", range_)):
        if name in names and (name == "pointer" or ranges_count(group)):
            for owner, given in assignor(group).items():
                for partition in given:
                    only(partition, (owner,))
    for constraint in program.question.constraints:
        for partition in constraint.partitions if isinstance(constraint, Stays | Never) else ():
            if isinstance(constraint, Stays):
                only(partition, (constraint.member,))
            elif isinstance(constraint, Never):
                only(partition, (m for m in able.get(partition, ()) if m != constraint.member))
            if partition not in able and isinstance(constraint, Stays):
                able[partition] = ()  # nobody subscribes to it: it cannot stay
    return able
