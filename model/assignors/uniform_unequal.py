"""`UniformAssignor` where subscriptions differ (UniformHeterogeneousAssignmentBuilder)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from groupcheck.model.assignors.group import Member, Partition
from groupcheck.model.assignors.hash_order import topic_id
from groupcheck.model.assignors.load import Load

ROUNDS = 16


def level(members: list[Member], sizes: Mapping[str, int]) -> dict[str, set[Partition]]:
    """Targets to which their member still subscribes are kept; what is free goes to the least
    loaded subscribers; then each topic is levelled among its subscribers.

    Topics with the most partitions for each subscriber come first, then those with fewer
    subscribers, then by id. Ties between members are broken by their place in `members`. Levelling
    ends when no topic has changed for a whole round, or after sixteen rounds.
    """
    if not sizes:
        return {}
    levelling = _Levelling(members, sizes)
    levelling.give_away()
    levelling.level()
    given: dict[str, set[Partition]] = {member.id: set() for member in members}
    for partition, owner in levelling.owner.items():
        given[members[owner].id].add(partition)
    return given


class _Levelling:
    """The assignment while it is made. Members are numbered by their places; `load[i]` is how many
    partitions the i-th member has.
    """

    def __init__(self, members: list[Member], sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.subscribers = {
            topic: [i for i, member in enumerate(members) if topic in member.topics]
            for topic in sizes
        }
        kept = [
            {p for p in member.owned if p[0] in member.topics and p[0] in sizes}
            for member in members
        ]
        self.load = [len(partitions) for partitions in kept]
        self.owner: dict[Partition, int] = {
            partition: i for i, partitions in enumerate(kept) for partition in partitions
        }

    def _in_order(self, topics: Iterable[str]) -> list[str]:
        def place(topic: str) -> tuple[float, int, tuple[int, int]]:
            count = len(self.subscribers[topic])
            return -self.sizes[topic] / count, count, topic_id(topic)

        return sorted(topics, key=place)

    def _own(self, partition: Partition, member: int) -> None:
        if partition in self.owner:
            self.load[self.owner[partition]] -= 1
        self.owner[partition] = member
        self.load[member] += 1

    def give_away(self) -> None:
        """assignRemainingPartitions."""
        free = {
            topic: [n for n in range(size) if (topic, n) not in self.owner]
            for topic, size in self.sizes.items()
        }
        for topic in self._in_order(topic for topic in free if free[topic]):
            load = Load(self.load, self.subscribers[topic])
            for number in free[topic]:
                self._own((topic, number), load.least())

    def level(self) -> None:
        """balanceTopics: a topic with one subscriber cannot be levelled."""
        topics = self._in_order(
            topic for topic, members in self.subscribers.items() if len(members) > 1
        )
        last = None
        for _ in range(ROUNDS):
            for topic in topics:
                if topic == last:
                    return
                if self._level_topic(topic) or last is None:
                    last = topic

    def _level_topic(self, topic: str) -> bool:
        """balanceTopic: moves partitions from the most loaded subscribers that have some of the
        topic to the least loaded. True if anything moved.
        """
        load = Load(self.load, self.subscribers[topic])
        if load.difference <= 1:
            return False
        left: dict[int, list[int]] = {}
        for number in range(self.sizes[topic]):
            left.setdefault(self.owner[topic, number], []).append(number)
        moved = False
        while not load.even():
            giver = load.most(left)
            if giver is None:
                break
            number = left[giver].pop()
            taker = load.least()
            if load.even():
                break
            self._own((topic, number), taker)
            moved = True
        return moved
