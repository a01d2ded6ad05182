"""The promises of assignors, by name. Each promise can be asked of an assignment, and each of
Kafka's assignors makes some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import islice

from attrs import evolve, field, frozen

from groupcheck.model.assignors import (
    Assignment,
    Group,
    NoAssignment,
    connect_tasks,
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
from groupcheck.oracles.assignment.shares import (
    as_even,
    co_partitioned,
    contiguous,
    fair_shares,
    lost,
    lost_words,
)
from groupcheck.oracles.assignment.validity import Assigned, Violation, complete, named, valid

Solve = Callable[[Group], Assignment]
ASSIGNORS: Mapping[str, Solve] = {
    "range": range_,
    "roundrobin": round_robin,
    "sticky": sticky,
    "cooperative-sticky": cooperative_sticky,
    "uniform": uniform,
    "server-range": server_range,
    "connect": connect_tasks,
}
COOPERATIVE = ("cooperative-sticky", "connect")
"""Assignors whose members keep what they have while they join: what moves waits for a round."""
ALIKE = ("connect",)
"""Assignors whose members all subscribe to the same topics."""


def answer(solve: Solve, group: Group) -> Assignment | NoAssignment:
    """The answer of an assignor, or the reason why it throws."""
    try:
        return solve(group)
    except NoAssignment as thrown:
        return thrown


def thrown(reason: str) -> NoAssignment:
    """`java.lang.IllegalStateException: no more members` as an answer."""
    name, _, why = reason.partition(":")
    return NoAssignment(name.rpartition(".")[2], why.strip())


@lru_cache(maxsize=1_000)
def own_answer(like: str, group: Group) -> Assigned | None:
    """The answer of Kafka's own assignor; None if it throws or its answer is invalid."""
    given = answer(ASSIGNORS[like], group)
    if isinstance(given, NoAssignment) or any(True for _ in valid(group, given)):
        return None
    return given


def variants(group: Group) -> tuple[Group, ...]:
    """The group, also with its members in the opposite order, and without racks: what Kafka's own
    assignor does in any of them is a matter of chance, or of whether racks are read.
    """
    turned = evolve(group, members=group.members[::-1])
    if not group.racks:
        return group, turned
    return (
        group,
        turned,
        *(
            evolve(g, racks=(), members=[evolve(m, rack=None) for m in g.members])
            for g in (group, turned)
        ),
    )


MOVES_NAMED = 4  # moves that a violation names
MOST_TOLD = 1_000  # violations of one promise


@frozen(slots=False)
class Case:
    """An assignment that is to be judged."""

    group: Group
    assigned: Assigned
    # Member -> weight; a member that is left out weighs 1.
    weights: Mapping[str, Fraction] = field(factory=dict)
    # The optimum, if it is known already.
    known: Optimum | None = None
    # Members that are drained: they get nothing, and balance does not count them.
    drained: frozenset[str] = frozenset()
    # The assignor of Kafka with which some promises compare. None: there is none to compare with.
    like: str | None = None

    @cached_property
    def best(self) -> Optimum:
        """The balanced complete assignment with the fewest moves."""
        return self.known or optimum(self.open, self.weights)

    @cached_property
    def open(self) -> Group:
        """The group without the subscriptions of drained members. They keep topics to which nobody
        else subscribes, so that these do not count as unsubscribed.
        """
        if not self.drained:
            return self.group
        others = frozenset[str]().union(
            *(m.topics for m in self.group.members if m.id not in self.drained)
        )
        return evolve(
            self.group,
            members=[
                evolve(m, topics=m.topics - others) if m.id in self.drained else m
                for m in self.group.members
            ],
        )

    @cached_property
    def own(self) -> Assigned | None:
        """The answer of Kafka's assignor; None if it throws or its answer is invalid."""
        return None if self.like is None else own_answer(self.like, self.group)

    @property
    def sizes(self) -> dict[str, int]:
        """How many partitions each member has."""
        return {member.id: len(self.assigned.get(member.id, ())) for member in self.group.members}

    @cached_property
    def waiting(self) -> list[tuple[str, int]]:
        """Partitions that nobody has, though somebody subscribes to their topic."""
        given = frozenset[tuple[str, int]]().union(*self.assigned.values())
        return [p for p in every_partition(subscribed_sizes(self.group)) if p not in given]


@frozen
class Promise:
    """One thing that can be asked of an assignment."""

    statement: str
    # How an assignment breaks it; empty if it does not.
    broken: Callable[[Case], Iterable[Violation]]
    # The promises without which this one means nothing.
    needs: tuple[str, ...] = ("valid", "complete")
    # It describes what Kafka's class does, and not what an assignor like it has to do.
    exact: bool = False
    # The groups for which the assignors that make it (`MADE`) make it.
    made_for: Callable[[Group], bool] = lambda group: True


def judged(case: Case, names: Iterable[str]) -> Iterator[tuple[str, list[Violation] | None]]:
    """Each promise with at most `MOST_TOLD + 1` violations, or None where a promise that it needs
    is broken. Every violation has the name of its promise.
    """
    broken: dict[str, list[Violation]] = {}

    def violations(name: str) -> list[Violation]:
        if name not in broken:
            found = islice(PROMISES[name].broken(case), MOST_TOLD + 1)
            broken[name] = [evolve(violation, promise=name) for violation in found]
        return broken[name]

    for name in names:
        yield name, None if any(map(violations, PROMISES[name].needs)) else violations(name)


def _balanced(case: Case) -> Iterator[Violation]:
    sizes, best = case.sizes, case.best.sizes
    if unevenness(sizes, case.weights) == unevenness(best, case.weights):
        return
    if not case.weights:
        yield from balanced(case.open, case.assigned)
        return
    weight = {member: case.weights.get(member, Fraction(1)) for member in sizes}

    def too_many(member: str) -> tuple[Fraction, str]:
        return (sizes[member] - best[member]) / weight[member], member

    told = (
        f"{m} (weight {float(weight[m]):g}) has {sizes[m]}, best would be {best[m]}"
        for m in (max(sizes, key=too_many), min(sizes, key=too_many))
    )
    yield Violation("balanced", "; ".join(told))


def _fewest_moves(case: Case) -> Iterator[Violation]:
    moved = moves(case.group, case.assigned)
    if moved and len(moved) > case.best.moves:
        told = [
            f"{named(p)} from {frm} to {to}" for p, (frm, to) in islice(moved.items(), MOVES_NAMED)
        ]
        told += [f"and {len(moved) - MOVES_NAMED:,} more"] if len(moved) > MOVES_NAMED else []
        what = "partition moves" if len(moved) == 1 else "partitions move"
        yield Violation(
            "fewest moves",
            f"{len(moved)} {what} ({', '.join(told)}) where {case.best.moves or 'none'} would do",
        )


def _at_rest(case: Case) -> Iterator[Violation]:
    """If nothing waits to be handed over, no further round will come. Then the assignment has to be
    as balanced as sticky's.
    """
    if not case.waiting:
        yield from locally_balanced(case.open, case.assigned)


def _sticks(case: Case) -> Iterator[Violation]:
    """An assignment that breaks this loses more claims than the optimum, which is at least as
    balanced, and more than Kafka's own.
    """
    gone = lost(case.group, case.assigned)
    if not gone:
        return
    kafkas = None if case.like is None else own_losses(case.like, case.group)
    if (kafkas is not None and len(gone) <= kafkas) or len(gone) <= case.best.moves:
        return
    claims = len({p for member in case.group.members for p in member.owned})
    own = "" if kafkas is None else f"Kafka's own loses {kafkas or 'none'}, and "
    yield Violation(
        "sticks",
        f"{len(gone)} of {claims} claimed partitions are lost"
        f" ({lost_words(case.group, case.assigned, gone)}) where {own}"
        f"{case.best.moves or 'none'} would do for balance",
    )


def own_losses(like: str, group: Group) -> int | None:
    """The most claimed partitions that Kafka's own assignor loses in a variant of the group; None
    if it throws or its answer is invalid in each.
    """
    answers = [own_answer(like, one) for one in variants(group)]
    return max((len(lost(group, given)) for given in answers if given is not None), default=None)


def _ranges(case: Case) -> Iterator[Violation]:
    """The quotas and the order of RangeAssignor. Where racks count it gives up the order for
    nearness (KIP-881).
    """
    if not ranges_count(case.group):
        return
    right = range_(case.open)
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
    """Are ranges in order? Racks may break them up."""
    return not (
        any(member.rack for member in group.members) and any(any(of) for _, of in group.racks)
    )


def _numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "nothing"


def _pointer(case: Case) -> Iterator[Violation]:
    """One pointer goes round the members over all partitions of all topics (RoundRobinAssignor). If
    a partition went elsewhere, the pointer goes on from there.
    """
    members = sorted(case.open.members, key=instance_first)
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
            back = number == 0 and has == first
            why = f"the pointer is set back at {topic}" if back else "the pointer leaps"
            yield Violation(
                "pointer",
                f"{why}: {named(partition)} goes to {has}, and it is {due}'s turn",
                ((has, partition),),
            )
        at = (place[has] + 1) % len(members)


def subscriptions_equal(group: Group) -> bool:
    """Do all members subscribe to the same topics?"""
    return len({member.topics for member in group.members}) == 1


def keeps_most(group: Group) -> bool:
    """Does Kafka's sticky need the fewest moves? It does if all members subscribe to the same
    topics, racks do not count, and claims are in order.

    For other groups it promises no optimum (KIP-54) and does not always reach it: if subscriptions
    differ, it tries one exchange after the other; nearness counts more than stickiness; and it
    gives a partition to anybody if two claim it in one generation or if the claim does not fit.
    """
    return claims_in_order(group) and subscriptions_equal(group) and ranges_count(group)


def claims_in_order(group: Group) -> bool:
    """Does every claimed partition exist, is none claimed twice in one generation, and does each
    member tell the generation of its claim?
    """
    sizes = dict(group.topics)
    claims = [(m.generation, p) for m in group.members for p in m.owned]
    return (
        all(m.told in (None, m.generation) for m in group.members if m.owned)
        and all(number < sizes.get(topic, 0) for _, (topic, number) in claims)
        and len(claims) == len(set(claims))
    )


PROMISES: Mapping[str, Promise] = {
    "valid": Promise(
        "Only members get partitions, only such as exist and as they subscribe to, and none goes to"
        " two.",
        lambda case: valid(case.group, case.assigned),
        needs=(),
    ),
    "complete": Promise(
        "Every partition of a subscribed topic is somebody's.",
        lambda case: complete(case.group, case.assigned),
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
        lambda case: balanced_in_topics(case.open, case.assigned),
    ),
    "ranges": Promise(
        "Of each topic, every subscriber has its range, in order, the first ones one more.",
        _ranges,
        exact=True,
    ),
    "level": Promise(
        "No member has two partitions more than another.",
        lambda case: level(case.open, case.assigned),
        made_for=subscriptions_equal,
    ),
    "pointer": Promise(
        "Partitions go round the members in turn, over all topics.", _pointer, exact=True
    ),
    "locally balanced": Promise(
        "No single partition could go to a member that would still have fewer (KIP-54).",
        lambda case: locally_balanced(case.open, case.assigned),
    ),
    "balanced": Promise("The sum of size² / weight is as small as it can be.", _balanced),
    "fewest moves": Promise(
        "No more partitions move than balance needs.", _fewest_moves, made_for=keeps_most
    ),
    "handed over": Promise(
        "Nobody gets what another has not let go of (KIP-429).",
        lambda case: handed_over(case.group, case.assigned),
        needs=(),
    ),
    "balanced at rest": Promise(
        "Where nothing waits to be handed over, it is locally balanced.", _at_rest, needs=("valid",)
    ),
    "contiguous": Promise(
        "Of each topic, a member's partitions follow each other (RangeAssignor; not where racks"
        " count, KIP-881).",
        lambda case: contiguous(case.group, case.assigned),
        made_for=ranges_count,
    ),
    "co-partitioned": Promise(
        "Of topics with the same subscribers and as many partitions, a member gets the same numbers"
        " (RangeAssignor).",
        lambda case: co_partitioned(case.group, case.assigned),
    ),
    "fair shares": Promise(
        "No member has more than its shares of its topics, rounded up, unless Kafka's own gives as"
        " many to some member.",
        lambda case: fair_shares(case.group, case.assigned, case.own),
        made_for=lambda group: not subscriptions_equal(group),
    ),
    "as even": Promise(
        "It is locally balanced, or at least as even as Kafka's own answer.",
        lambda case: as_even(case.group, case.assigned, case.own),
        made_for=lambda group: not subscriptions_equal(group),
    ),
    "sticks": Promise(
        "No more claimed partitions are lost than Kafka's own assignor loses, or than the balanced"
        " assignment with the fewest moves (KIP-54).",
        _sticks,
        needs=("valid", "complete later"),
        made_for=claims_in_order,
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
    "connect": ("valid", "complete later", "handed over", "balanced at rest"),
}
"""What each of Kafka's assignors promises. None: what is asked if no assignor is named."""


BESIDE: Mapping[str | None, tuple[str, ...]] = {
    "range": ("contiguous", "co-partitioned"),
    "roundrobin": ("fair shares",),
    "sticky": ("sticks",),
    "cooperative-sticky": ("sticks",),
    "uniform": ("as even", "sticks"),
    "server-range": ("contiguous", "co-partitioned"),
    "connect": ("sticks",),
}
"""What is asked of other people's assignors besides (`MADE`), and of an assignment if the user
names it. For an answer of Kafka's own it follows from exact promises, or compares it with itself.
"""


OTHERS: Mapping[str, str] = {
    "answers": "The assignor gives an assignment, and does not throw.",
    "at rest": "After each change the group comes to rest: nobody loses anything any more"
    " (KIP-429).",
}
"""Promises that one assignment alone cannot break: name -> statement."""


def statement(name: str) -> str:
    """The promise in one sentence."""
    return PROMISES[name].statement if name in PROMISES else OTHERS[name]


def promised(assignor: str | None, group: Group, constrained: bool = False) -> tuple[str, ...]:
    """The promises that are judged unless the user says otherwise. `constrained`: the user adds
    constraints or weights, which may cost moves.
    """
    return tuple(
        name
        for name in MADE[assignor]
        if PROMISES[name].made_for(group) and not (constrained and name == "fewest moves")
    )
