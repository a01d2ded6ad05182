"""Sequences of rebalances: members join, topics grow, subscriptions change, members leave, and each
round starts from the last one's outcome.

Under cooperation (KIP-429) a member keeps what it has while it joins; a round in which somebody
loses something is followed by another, until one comes to rest. An eager group needs one round for
each change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import evolve, frozen

from groupcheck.model.assignors import Group, Member, NoAssignment, Partitions
from groupcheck.oracles.assignment.handover import handed_over, moves
from groupcheck.oracles.assignment.validity import Assigned, Violation, complete, valid

ROUNDS = 5  # without another change two are enough: one that takes away, one that gives
Answer = Callable[[Group], Assigned | NoAssignment]


@frozen
class Round:
    """Who asked with which claims, and what they got."""

    group: Group
    given: Assigned | NoAssignment


@frozen
class Step:
    """What happened, and what there is then. `given`: what each round of it gave, if that is known;
    else the assignor is asked until one comes to rest.
    """

    words: str
    group: Group
    given: tuple[Assigned, ...] | None = None


@frozen
class Change:
    """One change and the rounds that follow it. `moves`: partitions that are another's in the end;
    `fewest`: those that had to be.
    """

    words: str
    rounds: tuple[Round, ...]
    at_rest: bool
    moves: int
    fewest: int


def life(group: Group) -> Iterator[Step]:
    """A sequence that a group without claims stands for, from change to change: what happened, and
    what there is then.

    Its members join one after the other; the first topic gets a partition more; the last member
    subscribes to all topics; the first leaves.
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
    owned: Mapping[str, Partitions] | None = None,
    generation: int = 0,
) -> Iterator[Change]:
    """Every step with its rounds; ends where the assignor throws.

    Claims in `steps` are not looked at: they follow from what was given, and at first from `owned`,
    of `generation`.
    """
    owned = dict(owned or {})
    for step in steps:
        rounds: list[Round] = []
        at_rest = False
        while len(rounds) < (ROUNDS if step.given is None else len(step.given)) and not (
            at_rest and step.given is None
        ):
            group = evolve(
                step.group,
                members=[_joining(m, owned, generation, cooperative) for m in step.group.members],
            )
            given = answer(group) if step.given is None else step.given[len(rounds)]
            rounds.append(Round(group, given))
            if isinstance(given, NoAssignment):
                break
            owned = {m.id: given.get(m.id, frozenset()) for m in group.members}
            at_rest = not cooperative or not any(m.owned - owned[m.id] for m in group.members)
            generation += 1
        moved, fewest = _moves(rounds)
        yield Change(step.words, tuple(rounds), at_rest, moved, fewest)
        if not rounds or isinstance(rounds[-1].given, NoAssignment):
            return


def _joining(
    member: Member, owned: Mapping[str, Partitions], generation: int, cooperative: bool
) -> Member:
    """As it joins: under cooperation it lets go of what it no longer subscribes to before
    (ConsumerCoordinator.onJoinPrepare).
    """
    if member.id not in owned:
        return evolve(member, owned=(), generation=-1)
    kept = (p for p in owned[member.id] if not cooperative or p[0] in member.topics)
    return evolve(member, owned=frozenset(kept), generation=generation)


def _moves(rounds: list[Round]) -> tuple[int, int]:
    from groupcheck.oracles.assignment.optimum import optimum

    first, last = rounds[0].group, rounds[-1].given
    if isinstance(last, NoAssignment):
        return 0, 0
    return len(moves(first, last)), optimum(first).moves


def restless(answer: Answer, group: Group, *, cooperative: bool) -> Iterator[Violation]:
    """How the life of a group breaks what each round of it promises: valid, complete at rest;
    cooperative: let go of first, and at rest in the end.
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
