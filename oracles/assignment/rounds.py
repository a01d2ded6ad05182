"""Sequences of rebalances: members join, topics grow, subscriptions change, members leave. Each
round starts from the outcome of the last one.

Under cooperation (KIP-429) a member keeps its partitions while it joins. A round in which somebody
loses something is followed by another one, until the group is at rest. An eager group needs one
round for each change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import evolve, frozen

from groupcheck.model.assignors import Group, Member, NoAssignment, Partitions
from groupcheck.oracles.assignment.handover import handed_over, moves
from groupcheck.oracles.assignment.optimum import optimum
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


@frozen
class Change:
    """One change and the rounds that follow it."""

    words: str
    rounds: tuple[Round, ...]
    # Nobody loses anything any more.
    at_rest: bool
    # Partitions that another member has in the end.
    moves: int
    # The moves that a balanced assignment needs.
    fewest: int


def life(group: Group) -> Iterator[Step]:
    """A sequence of changes in the life of a group without claims.

    Its members join one after the other; the first topic gets one more partition; the last member
    subscribes to all topics; the first one leaves.
    """
    members = group.members
    for n in range(1, len(members) + 1):
        yield Step(f"{members[n - 1].id} joins", evolve(group, members=members[:n]))
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
        yield Step(f"{members[0].id} leaves", evolve(changed, members=changed.members[1:]))


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
                yield Change(step.words, tuple(rounds), at_rest, 0, 0)
                return
            owned = {m.id: given.get(m.id, frozenset()) for m in group.members}
            at_rest = not cooperative or not any(m.owned - owned[m.id] for m in group.members)
            generation += 1
            if at_rest and step.given is None:
                break
        first = rounds[0].group
        moved = len(moves(first, owned))
        yield Change(step.words, tuple(rounds), at_rest, moved, optimum(first).moves)


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


def restless(answer: Answer, group: Group, *, cooperative: bool = False) -> Iterator[Violation]:
    """How the life of a group breaks what each round has to keep. Each is valid, and complete if
    the group is at rest. Under cooperation, nothing is handed over before its owner let go of it,
    and the group comes to rest.
    """
    for change in follow(answer, life(group), cooperative=cooperative):
        for n, one in enumerate(change.rounds, 1):
            where = f"{change.words}, round {n}"
            if isinstance(one.given, NoAssignment):
                yield Violation(
                    "sequence", f"{where}: throws {one.given}", traceback=one.given.traceback
                )
                return
            wrong = [
                *valid(one.group, one.given),
                *(handed_over(one.group, one.given) if cooperative else ()),
            ]
            if n == len(change.rounds) and change.at_rest:
                wrong += complete(one.group, one.given)
            yield from (
                Violation("sequence", f"{where}: {violation.words}") for violation in wrong[:1]
            )
        if not change.at_rest:
            yield Violation(
                "sequence", f"{change.words}: not at rest after {len(change.rounds)} rounds"
            )
            return
