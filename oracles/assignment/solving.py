"""What no assignor knows of: promises and constraints together, stated to HiGHS, which finds an
assignment, and to z3, which says why there is none.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.assignors import Partition, range_, round_robin
from groupcheck.model.assignors.group import every_partition, subscribed_sizes
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.constraints import Constraint, Load, Never, Stays, Together
from groupcheck.oracles.assignment.integer_program import Planned, plan
from groupcheck.oracles.assignment.optimum import balance_of, claimants
from groupcheck.oracles.assignment.promises import PROMISES, Case, ranges_count
from groupcheck.oracles.assignment.question import Question
from groupcheck.oracles.assignment.validity import Assigned

SECONDS_TO_FIND = 30.0  # for HiGHS
SECONDS = 10.0  # for all that z3 is asked about one question
SECONDS_WHY = 3.0  # for z3 where HiGHS is certain that there is none
IN_THE_FORM = (
    "valid",
    "complete",
    "complete later",
)  # stated by the form of the question, and never in a core
MOST_PAIRS = 10_000  # of a partition and a member that could have it
MOST_COMPARED = 300_000  # the same, for each member that another is compared with
UNDECIDED = (
    f"neither HiGHS in {SECONDS_TO_FIND:g} s nor z3 in {SECONDS:g} s has decided whether there"
    " is one"
)
FEWER = "fewer moves may do"


@frozen
class Right:
    """An assignment that breaks nothing of what was asked, and where it comes from. `core`: there
    is none, because of these together.
    """

    assigned: Assigned | None
    origin: str
    core: tuple[str, ...] = ()


def solve(
    question: Question, names: tuple[str, ...], case: Case, holds: Callable[[Assigned], bool]
) -> Right:
    """An assignment that keeps these promises and the constraints, with few moves; or why there is
    none.

    HiGHS finds it at scale; `holds` judges what it finds, which it counts in floating point. Where
    it finds none, z3 says whether there is one, or why not. The core is minimal: without any one of
    it there would be one. Raises `UserError` where one of the two is needed and not installed.
    """
    planned = _planned(question, names, case, SECONDS_TO_FIND)
    if planned.found is not None and holds(planned.found):
        return Right(
            planned.found, f"found by HiGHS, {'with the fewest moves' if planned.fewest else FEWER}"
        )
    sizes, members = subscribed_sizes(question.group), question.group.members
    pairs = sum(size * sum(topic in m.topics for m in members) for topic, size in sizes.items())
    compared = pairs * len(members) if {"locally balanced", "balanced at rest"} & set(names) else 0
    if pairs > MOST_PAIRS or compared > MOST_COMPARED:
        many = f"{len(members)} members with {sum(sizes.values()):,} partitions are too many for z3"
        right = Right(None, f"none of those tried is right, and {many}")
    else:
        right = by_z3(question, names, case, SECONDS_WHY if planned.none else SECONDS)
    if planned.none and right.assigned is None and not right.core:
        return Right(None, "there is none", _core_by_leaving_out(question, names, case))
    return right


def _core_by_leaving_out(question: Question, names: tuple[str, ...], case: Case) -> tuple[str, ...]:
    """The words of what excludes each other. HiGHS is asked again without each one in turn, and one
    that it does not need is left out. If the time ends, more than necessary remains.
    """
    until = time.monotonic() + SECONDS_TO_FIND
    kept: list[str | Constraint] = [
        *(name for name in names if name not in IN_THE_FORM),
        *question.constraints,
    ]
    for one in list(kept):
        rest = [other for other in kept if other is not one]
        left = until - time.monotonic()
        asked = evolve(question, constraints=tuple(c for c in rest if not isinstance(c, str)))
        if (
            left > 0
            and _planned(
                asked, tuple(n for n in names if n in rest or n in IN_THE_FORM), case, left
            ).none
        ):
            kept = rest
    return tuple(
        f"{one}: {PROMISES[one].statement}" if isinstance(one, str) else one.words() for one in kept
    )


def by_z3(
    question: Question, names: tuple[str, ...], case: Case, seconds: float = SECONDS
) -> Right:
    """z3's answer alone."""
    statement = _Statement(_z3(), question, names, case)
    until = time.monotonic() + seconds
    answer = statement.check(until)
    if answer == "unknown":
        return Right(None, UNDECIDED)
    if answer == "unsat":
        return Right(None, "there is none", statement.core(until))
    assigned, proved = statement.with_fewest_moves(until)
    return Right(assigned, f"found by z3, {'with the fewest moves' if proved else FEWER}")


def _planned(question: Question, names: tuple[str, ...], case: Case, seconds: float) -> Planned:
    try:
        return plan(question, names, case, seconds)
    except ImportError:
        raise UserError(
            "constraints are solved with scipy, which is not installed",
            do="pip install 'groupcheck[assign]'",
        ) from None


def _z3() -> Any:
    try:
        import z3
    except ImportError:
        raise UserError(
            "constraints are solved with z3, which is not installed",
            do="pip install 'groupcheck[assign]'",
        ) from None
    return z3


class _Statement:
    """One variable for each partition and each of its subscribers. Valid is in the form; everything
    else can be taken back by its literal.
    """

    def __init__(self, z3: Any, question: Question, names: tuple[str, ...], case: Case) -> None:
        self.z3, self.question, self.case, self.group = z3, question, case, question.group
        self.x: dict[Partition, dict[str, Any]] = {}
        self.of: dict[str, list[Any]] = {member.id: [] for member in self.group.members}
        self.of_topic: dict[tuple[str, str], list[Any]] = defaultdict(list)
        for topic, number in every_partition(subscribed_sizes(self.group)):
            mine = {
                m.id: z3.Bool(f"{number} of {topic} to {m.id}")
                for m in self.group.members
                if topic in m.topics
            }
            self.x[topic, number] = mine
            for member, variable in mine.items():
                self.of[member].append(variable)
                self.of_topic[member, topic].append(variable)
        self.solver = z3.SolverFor("QF_FD")
        self.solver.set("cardinality.solver", True)
        self.solver.set("pb.solver", "solver")
        self.words: dict[str, str] = {}
        self.literals: list[Any] = []
        self.claimed = {p: m for p, m in claimants(self.group).items() if m in self.x.get(p, {})}
        self.waits = "complete" not in names and "complete later" in names
        claimed_by_some = {p for m in self.group.members for p in m.owned}
        for partition, mine in self.x.items():
            self.solver.add(self._at_most(mine.values(), 1))
            if not (self.waits and partition in claimed_by_some):
                self.solver.add(z3.Or(*mine.values()))
        for name in names:
            self._assume(f"{name}: {PROMISES[name].statement}", self._promise(name))
        for constraint in question.constraints:
            self._assume(constraint.words(), self._constraint(constraint))

    def check(self, until: float, literals: list[Any] | None = None) -> str:
        """`sat`, `unsat` or `unknown`."""
        left = int(1000 * (until - time.monotonic()))
        if left <= 0:
            return "unknown"
        self.solver.set("timeout", left)
        return str(self.solver.check(*(self.literals if literals is None else literals)))

    def core(self, until: float) -> tuple[str, ...]:
        """The words of what excludes each other. Each one in turn is taken away if the rest still
        excludes each other.
        """
        found = {str(literal) for literal in self.solver.unsat_core()}
        core = [literal for literal in self.literals if str(literal) in found]
        for literal in list(core):
            rest = [other for other in core if other is not literal]
            if self.check(until, rest) == "unsat":
                core = rest
        return tuple(self.words[str(literal)] for literal in core)

    def with_fewest_moves(self, until: float) -> tuple[Assigned, bool]:
        """The solution of the last check, made better as long as one with more kept is found; and
        whether that none is left is proved.
        """
        kept = [self.x[p][m] for p, m in self.claimed.items()]
        while True:
            model = self.solver.model()
            true = {
                m: frozenset(
                    p for p, mine in self.x.items() if m in mine and self.z3.is_true(model[mine[m]])
                )
                for m in self.of
            }
            count = sum(p in true[m] for p, m in self.claimed.items())
            if count == len(kept):
                return true, True
            self.solver.add(self._at_least(kept, count + 1))
            answer = self.check(until)
            if answer != "sat":
                return true, answer == "unsat"

    def _assume(self, words: str, statements: Iterable[Any]) -> None:
        literal = self.z3.Bool(f"assumption {len(self.literals)}")
        self.words[str(literal)] = words
        self.literals.append(literal)
        for statement in statements:
            self.solver.add(self.z3.Implies(literal, statement))

    def _at_most(self, variables: Iterable[Any], most: int) -> Any:
        pairs = [(variable, 1) for variable in variables]
        return self.z3.PbLe(pairs, most) if pairs else self.z3.BoolVal(most >= 0)

    def _at_least(self, variables: Iterable[Any], least: int) -> Any:
        pairs = [(variable, 1) for variable in variables]
        return self.z3.PbGe(pairs, least) if pairs else self.z3.BoolVal(least <= 0)

    def _between(self, variables: list[Any], least: int, most: int) -> Iterator[Any]:
        yield self._at_least(variables, least)
        yield self._at_most(variables, most)

    def _promise(self, name: str) -> Iterable[Any]:
        if name == "level":
            total, members = len(self.x), len(self.of)
            return [
                s
                for mine in self.of.values()
                for s in self._between(mine, total // members, -(-total // members))
            ]
        if name == "balanced":
            return self._balanced()
        if name == "locally balanced":
            return self._locally_balanced()
        if name == "balanced at rest":
            rest = self.z3.And(*(self.z3.Or(*mine.values()) for mine in self.x.values()))
            return [self.z3.Implies(rest, s) for s in self._locally_balanced()]
        if name == "balanced in topics":
            return self._balanced_in_topics()
        if name == "fewest moves":
            lost = sum(p in self.x for p in claimants(self.group)) - self.case.best.moves
            return [self._at_least([self.x[p][m] for p, m in self.claimed.items()], lost)]
        if name == "handed over":
            return self._handed_over()
        if name == "pointer":
            return self._exactly(round_robin(self.group))
        if name == "ranges" and ranges_count(self.group):
            return self._exactly(range_(self.group))
        return ()

    def _exactly(self, assigned: Assigned) -> Iterator[Any]:
        return (
            self.x[p][member] for member, partitions in assigned.items() for p in sorted(partitions)
        )

    def _balanced(self) -> Iterator[Any]:
        balance = balance_of(self.group, self.case.weights)
        for member, (least, most) in balance.room.items():
            yield from self._between(self.of[member], least, most)
        for partitions, members in balance.able:
            able = set(members)
            for partition in partitions:
                yield from (
                    self.z3.Not(variable)
                    for member, variable in self.x[partition].items()
                    if member not in able
                )

    def _balanced_in_topics(self) -> Iterator[Any]:
        sizes = subscribed_sizes(self.group)
        subscribers: dict[str, int] = {
            topic: sum(topic in m.topics for m in self.group.members) for topic in sizes
        }
        for (_, topic), mine in self.of_topic.items():
            yield from self._between(
                mine, sizes[topic] // subscribers[topic], -(-sizes[topic] // subscribers[topic])
            )

    def _locally_balanced(self) -> Iterator[Any]:
        without = {
            member: [self.z3.Not(variable) for variable in mine] for member, mine in self.of.items()
        }
        for member in self.group.members:
            for other in self.group.members:
                could = [
                    v
                    for topic in sorted(member.topics & other.topics)
                    for v in self.of_topic.get((member.id, topic), ())
                ]
                if could and other.id != member.id:
                    fewer = self._at_most(
                        [*self.of[member.id], *without[other.id]], 1 + len(without[other.id])
                    )
                    yield self.z3.Implies(self.z3.Or(*could), fewer)

    def _handed_over(self) -> Iterator[Any]:
        claims: Mapping[Partition, list[tuple[str, int]]] = defaultdict(list)
        for member in self.group.members:
            for partition in member.owned:
                claims[partition].append((member.id, member.generation))
        for partition, mine in self.x.items():
            newest = max((generation for _, generation in claims[partition]), default=0)
            for name, variable in mine.items():
                if claims[partition] and (name, newest) not in claims[partition]:
                    yield self.z3.Not(variable)

    def _constraint(self, given: Constraint) -> Iterable[Any]:
        if isinstance(given, Stays):
            return [
                self.x.get(p, {}).get(given.member, self.z3.BoolVal(False))
                for p in given.partitions
            ]
        if isinstance(given, Never):
            return [
                self.z3.Not(self.x[p][given.member])
                for p in given.partitions
                if given.member in self.x.get(p, {})
            ]
        if isinstance(given, Together):
            return self._together(given)
        if isinstance(given, Load):
            return self._load(given)
        return self._racks(given.most, given.topic)

    def _together(self, given: Together) -> Iterator[Any]:
        no = self.z3.BoolVal(False)
        for member in self.of:
            here = [self.x.get(p, {}).get(member, no) for p in given.partitions]
            if given.apart:
                yield self._at_most(here, 1)
            else:
                yield from (variable == here[0] for variable in here[1:])

    def _load(self, given: Load) -> Iterator[Any]:
        weights, most = given.whole()
        for member in given.members:
            pairs = [
                (v, weight)
                for topic, weight in weights.items()
                for v in self.of_topic.get((member, topic), ())
            ]
            if pairs:
                yield self.z3.PbLe(pairs, most)

    def _racks(self, most: int, topic: str | None) -> Iterator[Any]:
        used: dict[str, Any] = {}
        for member in self.group.members:
            rack = used.setdefault(
                member.rack or "no rack", self.z3.Bool(f"rack {len(used)} for {topic}")
            )
            mine = (
                self.of[member.id] if topic is None else self.of_topic.get((member.id, topic), [])
            )
            yield from (self.z3.Implies(variable, rack) for variable in mine)
        yield self._at_most(used.values(), most)
