"""Sequences of rebalances: members join, topics grow, subscriptions change, members leave. Each
round starts from the outcome of the last one.

Under cooperation (KIP-429) a member keeps its partitions while it joins. A round in which somebody
loses something is followed by another one, until the group is at rest. An eager group needs one
round for each change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial

from attrs import evolve, frozen

from groupcheck.model.assignors import Group, Member, NoAssignment, Partitions
from groupcheck.oracles.assignment.handover import handed_over, moves
from groupcheck.oracles.assignment.optimum import optimum
from groupcheck.oracles.assignment.promises import (
    ASSIGNORS,
    PROMISES,
    Case,
    claims_in_order,
    judged,
    variants,
)
from groupcheck.oracles.assignment.promises import answer as kafka_answer
from groupcheck.oracles.assignment.shares import lost, lost_words
from groupcheck.oracles.assignment.validity import Assigned, Violation, complete, valid

ROUNDS = 5  # two are enough for one change: one round that takes away, one that gives
Answer = Callable[[Group], Assigned | NoAssignment]


@frozen
class Round:
    """One round of a rebalance."""

    # The members with their claims.
    group: Group
    # What they got.
    given: Assigned | NoAssignment


@frozen
class Step:
    """One change of a sequence."""

    # What happened.
    words: str
    # The group after it. Its claims are not read.
    group: Group
    # What each round gave. None: the assignor is asked until the group is at rest.
    given: tuple[Assigned, ...] | None = None


@frozen(slots=False)
class Change:
    """One change and the rounds that follow it."""

    words: str
    rounds: tuple[Round, ...]
    # Nobody loses anything any more.
    at_rest: bool
    # Partitions that another member has in the end.
    moves: int

    @cached_property
    def fewest(self) -> int:
        """The moves that a balanced assignment needs; 0 if the assignor threw."""
        if isinstance(self.rounds[-1].given, NoAssignment):
            return 0
        return optimum(self.rounds[0].group).moves


def life(group: Group) -> Iterator[Step]:
    """A sequence of changes in the life of a group without claims.

    Its members join one after the other (more than four in three steps); the first topic gets one
    more partition; the last member subscribes to all topics; the first one leaves; the last one is
    restarted, which gives it another id.
    """
    members = group.members
    each = 1 if len(members) <= 4 else -(-len(members) // 3)
    for n in range(0, len(members), each):
        joining = ", ".join(member.id for member in members[n : n + each])
        words = f"{joining} join{'s' * (each == 1)}"
        yield Step(words, evolve(group, members=members[: n + each]))
    if not members or not group.topics:
        return
    (topic, size), *others = group.topics
    grown = evolve(group, topics=[(topic, size + 1), *others])
    yield Step(f"{topic} grows to {size + 1} partitions", grown)
    last = evolve(members[-1], topics=[name for name, _ in group.topics])
    changed = evolve(grown, members=[*members[:-1], last])
    if last != members[-1]:
        yield Step(f"{last.id} subscribes to all", changed)
    if len(members) > 1:
        left = evolve(changed, members=changed.members[1:])
        yield Step(f"{members[0].id} leaves", left)
    if len(members) > 2:
        again = evolve(last, id=f"{last.id}-again")
        restarted = evolve(left, members=[*left.members[:-1], again])
        yield Step(f"{last.id} is restarted", restarted)


def follow(
    answer: Answer,
    steps: Iterable[Step],
    *,
    cooperative: bool,
    before: Group | None = None,
) -> Iterator[Change]:
    """Every step with its rounds; ends if the assignor throws.

    Claims in `steps` are not read: they follow from what was given before, and at first from the
    claims of the group `before`.
    """
    settled = before.members if before else ()
    owned: dict[str, Partitions] = {m.id: m.owned for m in settled if m.owned}
    generation = max((0, *(m.generation for m in settled)))
    for step in steps:
        rounds: list[Round] = []
        at_rest = False
        for number in range(len(step.given or range(ROUNDS))):
            members = [_joining(m, owned, generation, cooperative) for m in step.group.members]
            group = evolve(step.group, members=members)
            given = step.given[number] if step.given else answer(group)
            rounds.append(Round(group, given))
            if isinstance(given, NoAssignment):
                yield Change(step.words, tuple(rounds), at_rest, 0)
                return
            owned = {m.id: given.get(m.id, frozenset()) for m in group.members}
            at_rest = not cooperative or not any(m.owned - owned[m.id] for m in group.members)
            generation += 1
            if at_rest and step.given is None:
                break
        moved = len(moves(rounds[0].group, owned))
        yield Change(step.words, tuple(rounds), at_rest, moved)


def _joining(
    member: Member, owned: Mapping[str, Partitions], generation: int, cooperative: bool
) -> Member:
    """The member as it joins. Under cooperation it first lets go of what it no longer subscribes to
    (ConsumerCoordinator.onJoinPrepare).
    """
    if member.id not in owned:
        return evolve(member, owned=(), generation=-1)
    kept = (p for p in owned[member.id] if not cooperative or p[0] in member.topics)
    return evolve(member, owned=frozenset(kept), generation=generation)


def restless(answer: Answer, group: Group, like: str) -> Iterator[Violation]:
    """How the life of a group breaks what an assignor like Kafka's of that name keeps in it.

    Each round is valid, and complete if the group is at rest. Under cooperation, nothing is handed
    over before its owner let go of it, and the group comes to rest. At rest the group is balanced
    as that assignor promises, and from the beginning of a change to its end no more partitions are
    lost than Kafka's own assignor loses, or than balance needs. Each violation has the rounds of
    its change.
    """
    cooperative = like == "cooperative-sticky"
    for change in follow(answer, life(group), cooperative=cooperative):
        rounds = tuple((one.group, one.given) for one in change.rounds)
        for n, one in enumerate(change.rounds, 1):
            where = f"{change.words}, round {n}"
            if isinstance(one.given, NoAssignment):
                words = f"{where}: throws {one.given}"
                traceback = one.given.traceback
                yield Violation("sequence", words, traceback=traceback, rounds=rounds[:n])
                return
            wrong = [
                *valid(one.group, one.given),
                *(handed_over(one.group, one.given) if cooperative else ()),
            ]
            if n == len(change.rounds) and change.at_rest:
                wrong += _at_rest_wrong(change, one.group, one.given, like)
            for violation in wrong[:1]:
                yield Violation("sequence", f"{where}: {violation.words}", rounds=rounds[:n])
                return
        if not change.at_rest:
            words = f"{change.words}: not at rest after {len(change.rounds)} rounds"
            yield Violation("sequence", words, rounds=rounds)
            return


def _at_rest_wrong(change: Change, group: Group, given: Assigned, like: str) -> Iterator[Violation]:
    """The faults at the end of a change."""
    yield from complete(group, given)
    case = Case(group, given, like=like)
    for promise in AT_REST[like]:
        if PROMISES[promise].made_for(group):
            for _, violations in judged(case, [promise]):
                yield from violations or ()
    first = change.rounds[0].group
    gone = lost(first, given)
    if not gone or not claims_in_order(first):
        return
    own = max(_own_losses(change, like), default=None)
    if own is None or len(gone) <= max(own, change.fewest):
        return
    claims = sum(len(member.owned) for member in first.members)
    yield Violation(
        "sticks",
        f"{len(gone)} of {claims} claimed partitions are lost ({lost_words(first, given, gone)})"
        f" where Kafka's own loses {own or 'none'}, and"
        f" {change.fewest or 'none'} would do for balance",
    )


AT_REST = {
    "sticky": ("locally balanced",),
    "cooperative-sticky": ("locally balanced",),
    "uniform": ("level", "as even"),
}


def _own_losses(change: Change, like: str) -> Iterator[int]:
    """How many claimed partitions Kafka's own assignor would have lost from the beginning of the
    change to its end, in each variant of the group in which it does not throw and is valid.
    """
    for first in variants(change.rounds[0].group):
        (own,) = follow(
            partial(kafka_answer, ASSIGNORS[like]),
            [Step(change.words, first)],
            cooperative=like == "cooperative-sticky",
            before=first,
        )
        given = own.rounds[-1].given
        if not isinstance(given, NoAssignment) and not any(True for _ in valid(first, given)):
            yield len(lost(first, given))
