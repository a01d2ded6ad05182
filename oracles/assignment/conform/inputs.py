"""The inputs for Kafka's assignors and groupcheck's: all groups within small bounds, and larger
ones at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations, islice, permutations, product, repeat
from random import Random

from attrs import frozen

from groupcheck.model.assignors import Group, Member, Partition
from groupcheck.model.assignors.group import NO_GENERATION, every_partition

IDS = ("A", "B", "C", "D")
SUBSCRIPTIONS = ((), ("t",), ("u",), ("t", "u"))
RACKS = (None, "r1", "r2")
TWO_RACKS = "choices of 2 racks or none for members and replicas"
MEMBERS = 3
SIMPLE = ("range", "roundrobin", "server-range")
STICKY = ("sticky", "cooperative-sticky")


Frame = tuple[dict[str, int], dict[str, list[tuple[str, ...]]], list[list[Member]]]
"""Topics, racks of their partitions, and for each member all forms that it may have."""


@frozen
class Family:
    """Inputs of one kind."""

    # Which inputs, in words.
    bound: str
    # Makes them anew at each call.
    frames: Callable[[], Iterator[Frame]]

    def groups(self, every: int = 1) -> Iterator[Group]:
        """All inputs, or one of every so many."""
        chosen = islice(
            chain.from_iterable(zip(repeat(frame), product(*frame[2])) for frame in self.frames()),
            0,
            None,
            every,
        )
        return (Group(sizes, members, racks) for (sizes, racks, _), members in chosen)


def families(assignor: str, members: int = MEMBERS) -> tuple[Family, ...]:
    """All inputs of an assignor with at most so many members (of `IDS`), in families that each have
    a bound.
    """
    counts, fewer = range(1, members + 1), range(1, min(members, 2) + 1)
    if assignor in STICKY:
        return (
            _family("in order", counts, 3, "claims of 2 generations", lambda: claimed(counts)),
            _family(
                "backwards",
                counts,
                2,
                "claims of 2 generations",
                lambda: claimed(counts, most=2, backwards=True),
            ),
            _family(
                "in every order",
                fewer,
                2,
                "claims of 2 generations or none, the generation told by the subscription or not,"
                " and of a partition more than there is",
                lambda: strangely_claimed(fewer),
            ),
            _family(
                "in order",
                fewer,
                2,
                f"claims of one generation, {TWO_RACKS}",
                lambda: racked(fewer, 2, claims=True),
            ),
        )
    if assignor not in SIMPLE:
        return (_family("in order", counts, 4, "last targets", lambda: targeted(counts)),)
    simple = _family("in every order", counts, 4, "instance ids", lambda: unclaimed(counts))
    return (
        (simple, _family("in order", counts, 3, TWO_RACKS, lambda: racked(counts, 3)))
        if assignor == "range"
        else (simple,)
    )


def _family(
    order: str, counts: range, partitions: int, what: str, frames: Callable[[], Iterator[Frame]]
) -> Family:
    up_to = f"1 to {counts[-1]} members {order}" if len(counts) > 1 else "1 member"
    return Family(
        f"{up_to}, 2 topics of {partitions} partitions in all: all subscriptions, all {what}",
        frames,
    )


def topic_sizes(most: int) -> Iterator[dict[str, int]]:
    """Topic t has at least one partition; topic u has any number, and does not exist if it has
    none; at most so many partitions in all.
    """
    for total in range(1, most + 1):
        for t in range(total, 0, -1):
            yield {"t": t, "u": total - t} if t < total else {"t": t}


def subsets(partitions: Sequence[Partition]) -> list[tuple[Partition, ...]]:
    """Smallest first."""
    return [
        chosen for size in range(len(partitions) + 1) for chosen in combinations(partitions, size)
    ]


def unclaimed(counts: Iterable[int]) -> Iterator[Frame]:
    for sizes, count in product(topic_sizes(4), counts):
        for order, instances in product(permutations(IDS[:count]), _instances(count)):
            yield (
                sizes,
                {},
                [
                    [Member(name, topics, instance=instance) for topics in SUBSCRIPTIONS]
                    for name, instance in zip(order, instances)
                ],
            )


def _instances(count: int) -> list[tuple[str | None, ...]]:
    """Every choice of static members with every order of their instance ids."""
    found = []
    for static in product((False, True), repeat=count):
        for ids in permutations(("x", "y", "z", "w")[: sum(static)]):
            waiting = iter(ids)
            found.append(tuple(next(waiting) if one else None for one in static))
    return found


def claimed(counts: Iterable[int], *, most: int = 3, backwards: bool = False) -> Iterator[Frame]:
    """A member is new, or claims any partitions (also of topics that it no longer subscribes to) of
    generation 1 or 2.
    """
    for sizes, count in product(topic_sizes(most), counts):
        claims = [((), NO_GENERATION), *product(subsets(every_partition(sizes)), (1, 2))]
        names = IDS[:count][::-1] if backwards else IDS[:count]
        yield (
            sizes,
            {},
            [
                [Member(name, topics, *claim) for topics, claim in product(SUBSCRIPTIONS, claims)]
                for name in names
            ],
        )


def strangely_claimed(counts: Iterable[int]) -> Iterator[Frame]:
    """Claims of old clients, and of topics that were deleted and created again."""
    for sizes, count in product(topic_sizes(2), counts):
        owned = subsets([*every_partition(sizes), ("t", sizes["t"])])
        claims = [
            (o, generation, told)
            for o, generation, told in product(owned, (1, 2), (None, NO_GENERATION))
        ]
        claims += [(o, NO_GENERATION, None) for o in owned]
        for order in permutations(IDS[:count]):
            yield (
                sizes,
                {},
                [
                    [
                        Member(name, topics, *claim)
                        for topics, claim in product(SUBSCRIPTIONS, claims)
                    ]
                    for name in order
                ],
            )


def racked(counts: Iterable[int], most: int, *, claims: bool = False) -> Iterator[Frame]:
    """Racks for all; a member is new or, with `claims`, claims any partitions of generation 1."""
    for sizes, count in product(topic_sizes(most), counts):
        partitions = every_partition(sizes)
        states = [((), NO_GENERATION), *((owned, 1) for owned in subsets(partitions) if claims)]
        choices = [
            [
                Member(name, topics, *state, rack=rack)
                for topics, state, rack in product(SUBSCRIPTIONS, states, RACKS)
            ]
            for name in IDS[:count]
        ]
        for racks in product(((), ("r1",), ("r2",), ("r1", "r2")), repeat=len(partitions)):
            of_partition = dict(zip(partitions, racks))
            yield (
                sizes,
                {
                    topic: [of_partition[topic, number] for number in range(size)]
                    for topic, size in sizes.items()
                },
                choices,
            )


def targeted(counts: Iterable[int]) -> Iterator[Frame]:
    """The coordinator's last targets: each partition belonged to nobody or to one member, which may
    no longer subscribe to it.
    """
    for sizes, count in product(topic_sizes(4), counts):
        partitions = every_partition(sizes)
        for owners in product((None, *IDS[:count]), repeat=len(partitions)):
            choices = []
            for name in IDS[:count]:
                owned = [p for p, owner in zip(partitions, owners) if owner == name]
                choices.append([Member(name, topics, owned) for topics in SUBSCRIPTIONS])
            yield sizes, {}, choices


def random_groups(assignor: str, count: int, seed: int) -> Iterator[Group]:
    """Larger groups: up to 14 members, 5 topics of 30 partitions, racks, ids in Kafka's form,
    claims of up to 4 generations.
    """
    random = Random(f"{assignor} {seed}")
    for _ in range(count):
        yield _random_group(random, server=assignor in ("uniform", "server-range"))


def _random_group(random: Random, *, server: bool) -> Group:
    most = random.choice((3, 8, 30))
    sizes = {
        random.choice((name, f"{name}{random.randrange(100)}")): random.randint(1, most)
        for name in "abcde"[: random.randint(1, 5)]
    }
    ids = _random_ids(random)
    owned = _random_claims(random, list(every_partition(sizes)), ids, server=server)
    racks = ("r1", "r2", "r3")[: random.randint(1, 3)] if random.random() < 0.3 else ()
    alike = [topic for topic in sizes if random.random() < 0.8] if random.random() < 0.4 else None
    newest, old_clients = random.randint(1, 4), random.random() < 0.2
    members = []
    for number, name in enumerate(ids):
        topics = [topic for topic in (*sizes, "elsewhere") if random.random() < 0.6]
        if alike is not None and random.random() < 0.97:
            topics = alike
        if not server and random.random() < 0.02:
            owned[name].add((random.choice(list(sizes)), 50))
        instance = f"{random.randrange(4)}-{number}" if random.random() < 0.3 else None
        generation = newest if random.random() < 0.7 else random.randint(NO_GENERATION, newest)
        told = (
            random.choice((None, NO_GENERATION, random.randint(1, newest))) if old_clients else None
        )
        members.append(
            Member(
                name,
                topics,
                owned[name],
                generation,
                told,
                instance,
                random.choice((None, *racks)) if racks else None,
            )
        )
    of_topics = {
        t: [[r for r in racks if random.random() < 0.6] for _ in range(size)]
        for t, size in sizes.items()
        if random.random() < 0.9
    }
    return Group(sizes, members, of_topics if racks else {})


def _random_ids(random: Random) -> list[str]:
    ids = []
    for number in range(random.randint(1, random.choice((3, 6, 14)))):
        ids.append(
            random.choice(
                (
                    f"c{number}",
                    f"consumer-g-{number}-{random.getrandbits(128):032x}",
                    f"m{random.getrandbits(20)}-{number}",
                )
            )
        )
    random.shuffle(ids)
    return ids


def _random_claims(
    random: Random, partitions: list[Partition], ids: Sequence[str], *, server: bool
) -> dict[str, set[Partition]]:
    """A coordinator's targets never overlap; clients' claims may."""
    owned: dict[str, set[Partition]] = {name: set() for name in ids}
    twice = 0.0 if server else random.choice((0.0, 0.1, 0.5))
    if random.random() < 0.8:
        for partition in partitions:
            if random.random() < 0.85:
                owned[random.choice(ids)].add(partition)
            if random.random() < twice:
                owned[random.choice(ids)].add(partition)
    if random.random() < 0.1:
        owned[random.choice(ids)].add(("gone", 0))
    return owned
