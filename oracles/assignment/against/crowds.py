"""Groups that are drawn at random in addition to the small ones of Hypothesis (`groups`): larger
groups like those in production, and small ones in which something is missing.

A larger group has 5 to 12 members and at least one topic of 11 or more partitions. Ids have the
form that brokers give (client id and UUID) or short ones; members are dynamic, static or mixed; all
subscribe to the same, or not; some groups have racks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from random import Random
from uuid import UUID

from attrs import evolve

from groupcheck.model.assignors import Group, Member, Partition
from groupcheck.model.assignors.group import every_partition

MEMBERS = (5, 12)
LARGE, SMALL = (11, 18), (1, 10)  # partitions of a topic: of one topic at least, and of the others
TOPICS = ("orders", "orders.v2", "payments-eu", "stock_levels", "clicks")
RACKS = ("eu-1a", "eu-1b", "eu-1c")
GONE = "deleted"  # a topic that does not exist

Owners = Mapping[Partition, str]


def crowd(random: Random) -> Group:
    """A larger group whose members were never assigned anything."""
    sizes = _sizes(random)
    members = _members(random, sorted(sizes))
    if random.random() > 0.25:
        return Group(sizes, members)
    near = RACKS[: random.randint(2, len(RACKS))]
    racks = {
        topic: [random.sample(near, random.randint(1, len(near))) for _ in range(size)]
        for topic, size in sizes.items()
    }
    placed = [evolve(m, rack=random.choice((None, *near, *near))) for m in members]
    return Group(sizes, placed, racks)


def settled_crowd(random: Random) -> Group:
    """A larger group in which most members claim what they were assigned in the last generation;
    some members are new, some have left, and some partitions were nobody's.
    """
    group = crowd(random)
    generation = random.randint(1, 60)
    before = random.sample(group.members, random.randint(2, len(group.members)))
    owners = _dealt(random, group, before, leave=random.choice((0.0, 0.1, 0.3)))
    return _claimed(group, {generation: owners})


def stale_crowd(random: Random) -> Group:
    """The same, but a third of the members missed the last generation: they claim what they had in
    an older one, whatever was done with it since, and may no longer subscribe to it.
    """
    group = crowd(random)
    generation = random.randint(2, 60)
    late = random.sample(group.members, len(group.members) // 3)
    rest = [member for member in group.members if member not in late]
    older = _dealt(random, group, late, leave=0.3, subscribed=random.random() < 0.5)
    return _claimed(
        group,
        {
            generation - random.randint(1, generation - 1): older,
            generation: _dealt(random, group, rest, leave=0.1),
        },
    )


def odd(random: Random) -> Group:
    """One to five members. Topics may have no partitions, or not exist although somebody subscribes
    to them; members may subscribe to nothing.
    """
    sizes = {topic: random.choice((0, 1, 2, 3)) for topic in "tuv"[: random.randint(0, 3)]}
    every = [*sizes, GONE]
    members = []
    for name in "ABCDE"[: random.randint(1, 5)]:
        topics = [topic for topic in every if random.random() < 0.6]
        instance = f"i{name}" if random.random() < 0.2 else None
        members.append(Member(name, topics, instance=instance))
    return Group(sizes, members)


def odd_settled(random: Random) -> Group:
    """The same with claims of the last generation, also of a topic that was deleted since."""
    group = odd(random)
    there = Group([*group.topics, (GONE, 2)], group.members)
    return _claimed(group, {1: _dealt(random, there, group.members, leave=0.3)})


def _sizes(random: Random) -> dict[str, int]:
    """Sizes of topics; in half of the groups two topics have the same size."""
    topics = random.sample(TOPICS, random.randint(1, 4))
    sizes = {topic: random.randint(*SMALL) for topic in topics}
    sizes[topics[0]] = random.randint(*LARGE)
    if len(topics) > 1 and random.random() < 0.5:
        sizes[topics[1]] = sizes[topics[0]]
    return sizes


def _members(random: Random, topics: Sequence[str]) -> list[Member]:
    count = random.randint(*MEMBERS)
    same = random.random() < 0.5
    static = random.choice((0.0, 0.0, 0.5, 1.0))
    hosts = random.sample(range(100), count)
    members = []
    for number, host in enumerate(hosts, 1):
        wanted = topics if same else random.sample(topics, random.randint(1, len(topics)))
        members.append(
            Member(
                _id(random, number),
                wanted,
                instance=f"host-{host}" if random.random() < static else None,
            )
        )
    return random.sample(members, count)


def _id(random: Random, number: int) -> str:
    """`consumer-billing-3-6f1c...`, as a broker makes it of a client id, or a short one."""
    if random.random() < 0.3:
        return f"c{number}"
    unique = UUID(int=random.getrandbits(128), version=4)
    return f"consumer-billing-{number}-{unique}"


def _dealt(
    random: Random,
    group: Group,
    members: Collection[Member],
    *,
    leave: float,
    subscribed: bool = True,
) -> dict[Partition, str]:
    """An assignment to these members: evenly, or as it comes. `leave`: the share of partitions that
    are nobody's; `subscribed`: only partitions of topics to which the owner subscribes.
    """
    load = {member.id: 0 for member in members}
    even = random.random() < 0.6
    owners = {}
    for partition in every_partition(dict(group.topics)):
        able = [m.id for m in members if not subscribed or partition[0] in m.topics]
        if able and random.random() >= leave:
            owner = min(able, key=load.__getitem__) if even else random.choice(able)
            load[owner] += 1
            owners[partition] = owner
    return owners


def _claimed(group: Group, of_generation: Mapping[int, Owners]) -> Group:
    """The group with these claims; a member without any was never assigned anything."""
    members = {member.id: member for member in group.members}
    for generation, owners in of_generation.items():
        for owner in dict.fromkeys(owners.values()):
            owned = frozenset(p for p, member in owners.items() if member == owner)
            members[owner] = evolve(members[owner], owned=owned, generation=generation)
    return evolve(group, members=members.values())


DRAWS: Mapping[str, Callable[[Random], Group]] = {
    "odd": odd,
    "odd_settled": odd_settled,
    "crowd": crowd,
    "settled_crowd": settled_crowd,
    "stale_crowd": stale_crowd,
}
"""Kind of group -> draws one."""


def at_random(kind: str, count: int, seed: int) -> Iterator[Group]:
    """So many groups of a kind. The same seed gives the same ones, and more of them begin with
    fewer.
    """
    random = Random(f"{kind} {seed}")
    for _ in range(count):
        yield DRAWS[kind](random)
