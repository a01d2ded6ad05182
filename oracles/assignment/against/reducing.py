"""Reduces groups: finds the smallest group that has a property, one from which nothing can be left
out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from string import ascii_uppercase

from attrs import evolve

from groupcheck.model.assignors import Group, Member, Partition
from groupcheck.model.assignors.group import NO_GENERATION, every_partition
from groupcheck.oracles.assignment.groups import size

TOPICS = "tuvwxyz"
TRIED = 4  # groups that are reduced
MOST_FOR_PAIRS = 60  # things of a group: more, and it is not tried to leave out two at once

Wanted = Callable[[Group], bool]


def minimal(
    groups: Iterable[Group], wanted: Wanted, unusual: Callable[[Group], frozenset[str]]
) -> Group | None:
    """The smallest group that is wanted, or None if none of `groups` is.

    A result may only have circumstances of the wanted group that has fewest. The few smallest
    groups within these are reduced until nothing more can be left out, and the smallest result
    until no two things can be left out together (unless it is large). This gives simpler groups in
    less time than Hypothesis' own shrinking, which knows only what was drawn and in what order.
    """
    met = [group for group in groups if wanted(group)]
    if not met:
        return None
    least = min(map(unusual, met), key=lambda why: (len(why), sorted(why)))

    def plain(group: Group) -> bool:
        return wanted(group) and unusual(group) <= least

    candidates = sorted(filter(plain, met), key=size)[:TRIED]
    coarse = (reduced(group, plain, _much_smaller) for group in candidates)
    smallest = min((reduced(group, plain, smaller) for group in coarse), key=size)
    few = sum(1 for _ in islice(smaller(smallest), MOST_FOR_PAIRS)) < MOST_FOR_PAIRS
    return reduced(smallest, plain, smaller_by_two) if few else smallest


def reduced(group: Group, wanted: Wanted, less: Callable[[Group], Iterator[Group]]) -> Group:
    """The group made smaller, as long as a smaller one is wanted."""
    while True:
        found = next((g for g in less(group) if wanted(g)), None)
        if found is None:
            return group
        group = found


def _much_smaller(group: Group) -> Iterator[Group]:
    """Groups that have much less: some of the members, a topic, half of a topic's partitions, all
    racks, instance ids or claims.
    """
    members, sizes = group.members, dict(group.topics)
    each = len(members) // 2
    while each > 1:
        for start in range(0, len(members), each):
            yield evolve(group, members=members[:start] + members[start + each :])
        each //= 2
    for topic, count in sizes.items():
        if len(sizes) > 1:
            yield _resized(group, topic, 0)
        if count > 2:
            yield _resized(group, topic, count // 2)
    if group.racks:
        yield evolve(group, members=[evolve(m, rack=None) for m in members], racks=())
    if any(m.instance for m in members):
        yield evolve(group, members=[evolve(m, instance=None) for m in members])
    if sum(bool(m.owned) for m in members) > 1:
        yield evolve(group, members=[_claiming(m, frozenset()) for m in members])
        for n, member in enumerate(members):
            if len(member.owned) > 1:
                yield _with(group, n, _claiming(member, frozenset()))


def _resized(group: Group, topic: str, count: int) -> Group:
    """The group with so many partitions of the topic; with 0 the topic is gone. Claims of topics
    that no member subscribes to afterwards go, too.
    """
    sizes = {t: count if t == topic else size for t, size in group.topics if t != topic or count}
    racks = {t: of_topic[:count] if t == topic else of_topic for t, of_topic in group.racks}
    members = [
        _claiming(
            evolve(m, topics=m.topics if count else m.topics - {topic}),
            frozenset(p for p in m.owned if p[0] != topic or p[1] < count),
        )
        for m in group.members
    ]
    return Group(sizes, members, {t: of_topic for t, of_topic in racks.items() if t in sizes})


def smaller_by_two(group: Group) -> Iterator[Group]:
    """All groups that have one or two things less."""
    seen = {group}
    for one in smaller(group):
        yield one
        for two in smaller(one):
            if two not in seen:
                seen.add(two)
                yield two


def smaller(group: Group) -> Iterator[Group]:
    """All groups that have one thing less: a member, a partition, an empty topic, a subscription, a
    claim, an instance id, a rack, a gap in the names.
    """
    members, sizes = group.members, dict(group.topics)
    if len(members) > 1:
        yield from (
            evolve(group, members=members[:n] + members[n + 1 :]) for n in range(len(members))
        )
    yield from (_resized(group, topic, 0) for topic, count in sizes.items() if not count)
    idle = sum(not m.topics for m in members)
    for partition in every_partition(sizes):
        fewer = _without(group, partition)
        if sum(not m.topics for m in fewer.members) <= idle:
            yield fewer
    if group.racks:
        yield evolve(group, racks=())
    for n, member in enumerate(members):
        yield from (_with(group, n, one) for one in _lesser(member))
    for named in _named_anew(group):
        if named == group:
            return
        yield named


def _with(group: Group, place: int, member: Member) -> Group:
    members = group.members
    return evolve(group, members=(*members[:place], member, *members[place + 1 :]))


def _without(group: Group, gone: Partition) -> Group:
    """The group after one partition is gone. The numbers behind it move up, to leave no gap; a
    topic's last partition takes the topic with it.
    """
    topic, number = gone
    sizes = {t: size - (t == topic) for t, size in group.topics if t != topic or size > 1}
    members = [
        _claiming(
            evolve(m, topics=m.topics if topic in sizes else m.topics - {topic}),
            frozenset((t, n - (t == topic and n > number)) for t, n in m.owned if (t, n) != gone),
        )
        for m in group.members
    ]
    racks = {
        t: of_topic[:number] + of_topic[number + 1 :] if t == topic else of_topic
        for t, of_topic in group.racks
        if t in sizes
    }
    return Group(sizes, members, racks)


def _named_anew(group: Group) -> Iterator[Group]:
    """The simplest names first: members A, B, ... and topics t, u, ... without gaps. Then such that
    static members are in another order by instance id, that members stay in the order of their ids,
    or that they keep their ids.
    """
    every = dict(group.topics)
    for member in group.members:
        every |= dict.fromkeys(member.topics | {topic for topic, _ in member.owned}, 0)
    if len(every) > len(TOPICS):
        return
    topics = dict(zip(sorted(every), TOPICS))
    names = ascii_uppercase[: len(group.members)]
    plain = Group(
        {topics[topic]: number for topic, number in group.topics},
        [
            evolve(
                m,
                topics=[topics[t] for t in m.topics],
                owned=[(topics[t], n) for t, n in m.owned],
            )
            for m in group.members
        ],
        {topics[topic]: of_topic for topic, of_topic in group.racks},
    )
    by_id = [sorted(m.id for m in group.members).index(m.id) for m in group.members]
    for instances in (names, names[::-1], None):
        yield evolve(
            plain,
            members=[
                evolve(m, id=name, instance=m.instance and f"i{instances[n]}")
                if instances
                else evolve(m, id=name)
                for n, (name, m) in enumerate(zip(names, plain.members))
            ],
        )
    yield evolve(plain, members=[evolve(m, id=names[k]) for k, m in zip(by_id, plain.members)])
    yield plain


def _lesser(member: Member) -> Iterator[Member]:
    if member.instance is not None:
        yield evolve(member, instance=None)
    if member.told is not None:
        yield evolve(member, told=None)
    if member.rack is not None:
        yield evolve(member, rack=None)
    if len(member.topics) > 1:
        yield from (
            evolve(member, topics=member.topics - {topic}) for topic in sorted(member.topics)
        )
    yield from (_claiming(member, member.owned - {p}) for p in sorted(member.owned))


def _claiming(member: Member, owned: frozenset[Partition]) -> Member:
    """With these claims of the same generation; without any it was never assigned anything."""
    return evolve(member, owned=owned, generation=member.generation if owned else NO_GENERATION)
