"""What an assignor promises, by name: each promise can be asked of an assignment, and each of
Kafka's assignors has some by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from itertools import islice

from attrs import field, frozen

from groupcheck.model.assignors import (
    Assignment,
    Group,
    cooperative_sticky,
    range_,
    round_robin,
    server_range,
    sticky,
    uniform,
)
from groupcheck.model.assignors.group import every_partition, instance_first, subscribed_sizes
from groupcheck.oracles.assignment.balance import (
    balanced,
    balanced_in_topics,
    level,
    locally_balanced,
)
from groupcheck.oracles.assignment.handover import handed_over, moves
from groupcheck.oracles.assignment.optimum import Optimum, optimum, unevenness
from groupcheck.oracles.assignment.validity import Assigned, Violation, complete, named, valid

ASSIGNORS: Mapping[str, Callable[[Group], Assignment]] = {
    "range": range_,
    "roundrobin": round_robin,
    "sticky": sticky,
    "cooperative-sticky": cooperative_sticky,
    "uniform": uniform,
    "server-range": server_range,
}
FEW = 4  # moves told


@frozen(slots=False)
class Case:
    """An assignment to be judged. `best` is `known`, or is found when it is first asked for."""

    group: Group
    assigned: Assigned
    weights: Mapping[str, Fraction] = field(factory=dict)
    known: Optimum | None = None

    @cached_property
    def best(self) -> Optimum:
        """The balanced complete assignment with the fewest moves."""
        return self.known or optimum(self.group, self.weights)

    @property
    def sizes(self) -> dict[str, int]:
        """How many partitions each member has."""
        return {member.id: len(self.assigned.get(member.id, ())) for member in self.group.members}

    @cached_property
    def waiting(self) -> list[tuple[str, int]]:
        """Partitions that are nobody's, though somebody subscribes."""
        given = frozenset[tuple[str, int]]().union(*self.assigned.values())
        return [p for p in every_partition(subscribed_sizes(self.group)) if p not in given]


@frozen
class Promise:
    """`needs`: the promises without which this one means nothing. `exact`: not what an assignor
    like Kafka's promises, but what Kafka's class does.
    """

    statement: str
    broken: Callable[[Case], Iterable[Violation]]
    needs: tuple[str, ...] = ("valid", "complete")
    exact: bool = False


def _balanced(case: Case) -> Iterator[Violation]:
    sizes, best = case.sizes, case.best.sizes
    if unevenness(sizes, case.weights) == unevenness(best, case.weights):
        return
    if not case.weights:
        yield from balanced(case.group, case.assigned)
        return
    much = max(sizes, key=lambda m: ((sizes[m] - best[m]) / case.weights.get(m, Fraction(1)), m))
    little = min(sizes, key=lambda m: ((sizes[m] - best[m]) / case.weights.get(m, Fraction(1)), m))
    told = (
        f"{m} (weight {float(case.weights.get(m, Fraction(1))):g}) has {sizes[m]}, best would be"
        f" {best[m]}"
        for m in (much, little)
    )
    yield Violation("balanced", "; ".join(told))


def _fewest_moves(case: Case) -> Iterator[Violation]:
    moved = moves(case.group, case.assigned)
    if moved and len(moved) > case.best.moves:
        told = [f"{named(p)} from {frm} to {to}" for p, (frm, to) in islice(moved.items(), FEW)]
        told += [f"and {len(moved) - FEW:,} more"] if len(moved) > FEW else []
        what = "partition moves" if len(moved) == 1 else "partitions move"
        yield Violation(
            "fewest moves",
            f"{len(moved)} {what} ({', '.join(told)}) where {case.best.moves or 'none'} would do",
        )


def _at_rest(case: Case) -> Iterator[Violation]:
    """Nothing waits to be handed over, so that no further round will come: it has to be as balanced
    as sticky's.
    """
    if not case.waiting:
        yield from locally_balanced(case.group, case.assigned)


def _ranges(case: Case) -> Iterator[Violation]:
    """The quotas and the order of RangeAssignor, where racks are not looked at (KIP-881 gives up
    the order for nearness).
    """
    if not ranges_count(case.group):
        return
    right = range_(case.group)
    for topic, _ in case.group.topics:
        for member in case.group.members:
            has, due = (
                sorted(n for t, n in given.get(member.id, ()) if t == topic)
                for given in (case.assigned, right)
            )
            if has != due:
                places = tuple((member.id, (topic, number)) for number in has if number not in due)
                yield Violation(
                    "ranges",
                    f"of {topic}, {member.id} has {_numbers(has)}; its range is {_numbers(due)}",
                    places,
                )


def ranges_count(group: Group) -> bool:
    """Whether ranges are in order: racks may break them up."""
    return not (
        any(member.rack for member in group.members) and any(any(of) for _, of in group.racks)
    )


def _numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) if numbers else "nothing"


def _pointer(case: Case) -> Iterator[Violation]:
    """One pointer goes round the members over all partitions of all topics (RoundRobinAssignor).
    After a step aside it goes on from there.
    """
    members = sorted(case.group.members, key=instance_first)
    place = {member.id: k for k, member in enumerate(members)}
    owner = {p: member for member, partitions in case.assigned.items() for p in partitions}
    at = 0
    for partition in every_partition(subscribed_sizes(case.group)):
        topic, number = partition
        while topic not in members[at].topics:
            at = (at + 1) % len(members)
        due, has = members[at].id, owner[partition]
        if has != due:
            first = next(m.id for m in members if topic in m.topics)
            why = (
                f"the pointer is set back at {topic}"
                if number == 0 and has == first
                else "the pointer leaps"
            )
            yield Violation(
                "pointer",
                f"{why}: {named(partition)} goes to {has}, and it is {due}'s turn",
                ((has, partition),),
            )
        at = (place[has] + 1) % len(members)


PROMISES: Mapping[str, Promise] = {
    "valid": Promise(
        "Only members get partitions, only such as exist and as they subscribe to, and none goes to"
        " two.",
        lambda case: valid(case.group, case.assigned),
        needs=(),
    ),
    "complete": Promise(
        "Every partition of a subscribed topic is somebody's.",
        lambda c: complete(c.group, c.assigned),
        needs=(),
    ),
    "complete later": Promise(
        "Every partition of a subscribed topic is somebody's, or waits one round for its owner to"
        " let go (KIP-429).",
        lambda case: complete(case.group, case.assigned, may_wait=True),
        needs=(),
    ),
    "balanced in topics": Promise(
        "Of each topic, no subscriber has two more than another.",
        lambda case: balanced_in_topics(case.group, case.assigned),
    ),
    "ranges": Promise(
        "Of each topic, every subscriber has its range, in order, the first ones one more.",
        _ranges,
        exact=True,
    ),
    "level": Promise(
        "No member has two partitions more than another.",
        lambda case: level(case.group, case.assigned),
    ),
    "pointer": Promise(
        "Partitions go round the members in turn, over all topics.", _pointer, exact=True
    ),
    "locally balanced": Promise(
        "No single partition could go to a member that would still have fewer (KIP-54).",
        lambda c: locally_balanced(c.group, c.assigned),
    ),
    "balanced": Promise("The sum of size² / weight is as small as it can be.", _balanced),
    "fewest moves": Promise("No more partitions move than balance needs.", _fewest_moves),
    "handed over": Promise(
        "Nobody gets what another has not let go of (KIP-429).",
        lambda case: handed_over(case.group, case.assigned),
        needs=(),
    ),
    "balanced at rest": Promise(
        "Where nothing waits to be handed over, it is locally balanced.", _at_rest, needs=("valid",)
    ),
}


MADE: Mapping[str | None, tuple[str, ...]] = {
    None: ("valid", "complete", "balanced"),
    "range": ("valid", "complete", "balanced in topics", "ranges"),
    "roundrobin": ("valid", "complete", "level", "pointer"),
    "sticky": ("valid", "complete", "locally balanced", "fewest moves"),
    "cooperative-sticky": ("valid", "complete later", "handed over", "balanced at rest"),
    "uniform": ("valid", "complete", "level"),
    "server-range": ("valid", "complete", "balanced in topics"),
}
"""What each of Kafka's assignors promises; None: what is asked where no assignor is named."""


def promised(assignor: str | None, group: Group, constrained: bool = False) -> tuple[str, ...]:
    """What is judged unless the user says otherwise. `constrained`: with constraints of its own,
    which may cost moves.
    """
    not_here = set() if len({member.topics for member in group.members}) == 1 else {"level"}
    if constrained or not keeps_most(group):
        not_here.add("fewest moves")
    return tuple(name for name in MADE[assignor] if name not in not_here)


def keeps_most(group: Group) -> bool:
    """Whether Kafka's sticky comes out with the fewest moves: all subscribe to the same, racks do
    not count, and claims are in order.

    Elsewhere it promises no optimum (KIP-54), and does not always reach it: where subscriptions
    differ it tries one exchange after the other; nearness goes before stickiness; and it gives to
    anybody what two claim of one generation, or who claims what there is not.
    """
    sizes, claimed = dict(group.topics), set[tuple[int, tuple[str, int]]]()
    for member in group.members:
        for partition in member.owned:
            if member.told not in (None, member.generation) or partition[1] >= sizes.get(
                partition[0], 0
            ):
                return False
            if (member.generation, partition) in claimed:
                return False
            claimed.add((member.generation, partition))
    return len({member.topics for member in group.members}) == 1 and ranges_count(group)
