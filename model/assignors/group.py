"""The values that an assignor takes and returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import field, frozen

NO_GENERATION = -1

Partition = tuple[str, int]
"""Topic and number."""

Partitions = frozenset[Partition]

Assignment = dict[str, Partitions]
"""What each member gets; every member of the group is a key."""

Racks = tuple[tuple[str, tuple[frozenset[str], ...]], ...]


class NoAssignment(Exception):
    """Kafka's class throws for this input."""

    def __init__(self, thrown: str, why: str, traceback: str = "") -> None:
        # The name of the Java exception, without its package, and its message.
        self.thrown, self.why = thrown, why
        # Of the assignor's own code, as Python prints it; empty if it is not known.
        self.traceback = traceback
        super().__init__(f"{thrown}: {why}")


def partitions(given: Mapping[str, Iterable[int]] | Iterable[Partition]) -> Partitions:
    """`Partitions` from {"t": [0, 1]} or from pairs."""
    if isinstance(given, frozenset):
        return given
    if isinstance(given, Mapping):
        return frozenset((topic, number) for topic, numbers in given.items() for number in numbers)
    return frozenset(given)


def _names(given: Iterable[str]) -> frozenset[str]:
    return frozenset(given)


def _members(given: Iterable[Member]) -> tuple[Member, ...]:
    return tuple(given)


def _sizes(given: Mapping[str, int] | Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(given.items() if isinstance(given, Mapping) else given))


def _racks(given: Mapping[str, Iterable[Iterable[str]]] | Racks) -> Racks:
    pairs = given.items() if isinstance(given, Mapping) else given
    return tuple(
        sorted((topic, tuple(map(frozenset, of_partitions))) for topic, of_partitions in pairs)
    )


@frozen
class Member:
    """A member as its assignor sees it."""

    id: str
    # What it subscribes to.
    topics: frozenset[str] = field(converter=_names)
    # What it claims from before; for the coordinator's assignors its last target.
    owned: Partitions = field(default=frozenset(), converter=partitions)
    # The generation of that claim, as the member's own assignor writes it (the sticky assignors'
    # user data). -1: no such claim was ever made.
    generation: int = NO_GENERATION
    # The generation in the subscription itself (`ConsumerProtocolSubscription` version 2, KIP-792),
    # if it is another one. -1: the client sends none.
    told: int | None = None
    # Its `group.instance.id`, if it is a static member.
    instance: str | None = None
    rack: str | None = None

    @property
    def in_subscription(self) -> int:
        """The generation in the subscription's own field."""
        return self.generation if self.told is None else self.told


@frozen
class Group:
    """Topics and members."""

    # Name and number of partitions, sorted.
    topics: tuple[tuple[str, int], ...] = field(converter=_sizes)
    # In the order in which the assignor's map gives them. A real leader's map is a `HashMap` of
    # member ids (`hash_order.by_text` gives its order).
    members: tuple[Member, ...] = field(converter=_members)
    # For each topic the racks of each partition's replicas. A topic that is left out has none.
    racks: Racks = field(default=(), converter=_racks)


def subscribed_sizes(group: Group) -> dict[str, int]:
    """The topics that somebody subscribes to and that have partitions, by name, with their sizes
    (AbstractPartitionAssignor.assign).
    """
    wanted: set[str] = set()
    for member in group.members:
        wanted |= member.topics
    return {topic: size for topic, size in group.topics if size > 0 and topic in wanted}


def every_partition(sizes: Mapping[str, int]) -> list[Partition]:
    """All partitions of these topics, topic by topic in the mapping's order."""
    return [(topic, number) for topic, size in sizes.items() for number in range(size)]


def instance_first(member: Member) -> tuple[bool, str]:
    """Sorts static members by their instance id before dynamic ones by their member id
    (AbstractPartitionAssignor.MemberInfo, KIP-345).
    """
    return (member.instance is None, member.id if member.instance is None else member.instance)
