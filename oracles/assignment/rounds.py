"""Sequences of rebalances: members join, topics grow, subscriptions change, members leave. Each
round starts from the outcome of the last one.

Under cooperation (KIP-429) a member keeps its partitions while it joins. A round in which somebody
loses something is followed by another one, until the group is at rest. An eager group needs one
round for each change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial

from attrs import define, evolve, field, frozen

from groupcheck.model.assignors import Assignment, Group, Member, NoAssignment, Partitions
from groupcheck.model.assignors.connect import Memory
from groupcheck.model.assignors.connect.partitions import led
from groupcheck.model.assignors.connect.values import DEFAULT_MAX_DELAY_MS
from groupcheck.oracles.assignment.handover import handed_over, moves
from groupcheck.oracles.assignment.optimum import optimum
from groupcheck.oracles.assignment.promises import (
    ASSIGNORS,
    COOPERATIVE,
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
    # In how many ms all join again because the leader delays something; 0: nothing is delayed.
    waits_ms: int = 0


@frozen
class Step:
    """One change of a sequence."""

    # What happened.
    words: str
    # The group after it. Its claims are not read.
    group: Group
    # What each round gave. None: the assignor is asked until the group is at rest.
    given: tuple[Assigned, ...] | None = None
    # How long after the step before it happened, in ms. None: once that had come to rest.
    after_ms: int | None = None


@define
class Leader:
    """The leader of a Connect cluster through a sequence of rounds: its memory, and its clock."""

    memory: Memory = field(factory=Memory)
    # scheduled.rebalance.max.delay.ms
    max_delay_ms: int = DEFAULT_MAX_DELAY_MS
    now_ms: int = 1

    def __call__(self, group: Group) -> Assignment:
        """Its next round. Raises `NoAssignment`."""
        given, self.memory = led(self.memory, group, self.now_ms, self.max_delay_ms)
        return given

    @property
    def waits_ms(self) -> int:
        """In how many ms all join again; 0: they do not because of a delay."""
        return self.memory.delay


@frozen(slots=False)
class Change:
    """One change and the rounds that follow it."""

    words: str
    rounds: tuple[Round, ...]
    # Nobody loses anything any more, and no delay runs, or the next change came before.
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
    leader: Leader | None = None,
) -> Iterator[Change]:
    """Every step with its rounds; ends if the assignor throws.

    Claims in `steps` are not read: they follow from what was given before, and at first from the
    claims of the group `before`. `leader`: the one that `answer` asks, if time counts; after a
    round that delays something the next one comes when the delay is over.
    """
    steps = tuple(steps)
    began_ms = leader.now_ms if leader else 0
    settled = before.members if before else ()
    owned: dict[str, Partitions] = {m.id: m.owned for m in settled if m.owned}
    generation = max((0, *(m.generation for m in settled)))
    for step, next_step in zip(steps, (*steps[1:], None)):
        rounds: list[Round] = []
        at_rest = False
        until_ms = None if next_step is None else next_step.after_ms
        for number in range(len(step.given or range(ROUNDS))):
            members = [_joining(m, owned, generation, cooperative) for m in step.group.members]
            group = evolve(step.group, members=members)
            given = step.given[number] if step.given else answer(group)
            rounds.append(Round(group, given, leader.waits_ms if leader and not step.given else 0))
            if isinstance(given, NoAssignment):
                yield Change(step.words, tuple(rounds), at_rest, 0)
                return
            owned = {m.id: given.get(m.id, frozenset()) for m in group.members}
            at_rest = not cooperative or not any(m.owned - owned[m.id] for m in group.members)
            generation += 1
            if leader and step.given is None:
                at_rest = not _goes_on(leader, at_rest, began_ms, until_ms)
            if at_rest and step.given is None:
                break
        if leader:
            began_ms = leader.now_ms = (
                leader.now_ms + 1 if until_ms is None else began_ms + until_ms
            )
        moved = len(moves(rounds[0].group, owned))
        yield Change(step.words, tuple(rounds), at_rest, moved)


def _goes_on(leader: Leader, at_rest: bool, began_ms: int, until_ms: int | None) -> bool:
    """Does another round follow before the next change, which comes `until_ms` after the begin of
    this one? Then it is time for that round.
    """
    if at_rest and not leader.waits_ms:
        return False
    next_ms = leader.now_ms + max(1, leader.waits_ms)
    if until_ms is not None and next_ms >= began_ms + until_ms:
        return False
    leader.now_ms = next_ms
    return True


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
    cooperative = like in COOPERATIVE
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
            cooperative=like in COOPERATIVE,
            before=first,
        )
        given = own.rounds[-1].given
        if not isinstance(given, NoAssignment) and not any(True for _ in valid(first, given)):
            yield len(lost(first, given))
