"""What can be set of a coordinator that is served."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from groupcheck.model.engine import UserError
from groupcheck.model.mutations import Mutation, all_mutations
from groupcheck.oracles.coordinator.model import STRANGER, every_served
from groupcheck.oracles.wire.cluster import MOST_PARTITIONS, MOST_TOPICS, NAME

LONGEST_MS = 1_800_000
MOST_NODES = 9
MOST_RECORDS = 1_000_000  # of all partitions together


@frozen(kw_only=True)
class Settings:
    """Raises `UserError` for what does not fit."""

    # Topic -> number of its partitions.
    topics: Mapping[str, int] = field(factory=lambda: {"test": 4})
    # Records in each partition of these topics, from the beginning on.
    records: int = 0
    nodes: int = 1
    # The port of the first node, the others have the next ones; 0: any.
    port: int = 0
    # The shortest and the longest session timeout that a member may ask for (Kafka: 6000 and
    # 1800000).
    min_session_ms: int = 1
    max_session_ms: int = LONGEST_MS
    # group.initial.rebalance.delay.ms (Kafka: 3000).
    delay_ms: int = 0
    # group.max.size; a group of the model has no more members.
    max_size: int = STRANGER
    # How long a coordinator that has moved loads its groups.
    load_ms: int = 0
    # Partitions of a topic that somebody asks for and that does not exist; 0: none is made.
    new_partitions: int = 1
    mutation: str | None = None

    def __attrs_post_init__(self) -> None:
        _within("--nodes", self.nodes, 1, MOST_NODES)
        _within("--port", self.port, 0, 65_535 - self.nodes)
        _within("--min-session", self.min_session_ms, 1, LONGEST_MS)
        _within("--max-session", self.max_session_ms, self.min_session_ms, LONGEST_MS)
        _within("--initial-delay", self.delay_ms, 0, LONGEST_MS)
        _within("--loading", self.load_ms, 0, LONGEST_MS)
        _within("--max-size", self.max_size, 1, STRANGER)
        _within("--records", self.records, 0, MOST_RECORDS // max(1, sum(self.topics.values())))
        _within("--topic", len(self.topics), 0, MOST_TOPICS)
        for topic, partitions in self.topics.items():
            if not NAME.fullmatch(topic):
                raise UserError(f"{topic[:40]!r} cannot be the name of a topic", where="--topic")
            _within(f"--topic {topic}", partitions, 1, MOST_PARTITIONS)

    @property
    def configs(self) -> Mapping[str, str]:
        """As Kafka's properties."""
        return {
            "group.initial.rebalance.delay.ms": str(self.delay_ms),
            "group.max.session.timeout.ms": str(self.max_session_ms),
            "group.max.size": str(self.max_size),
            "group.min.session.timeout.ms": str(self.min_session_ms),
        }


def _within(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UserError(f"{value} is not from {least} to {most}", where=what)


def mutation_named(name: str | None) -> Mutation | None:
    """The known bug to be served. Raises `UserError` if there is none of this name, or if it is no
    bug of the coordinator that is served.
    """
    if name is None:
        return None
    there = {m.id: m for m in every_served()}
    if name not in there:
        known = any(m.id == name for m in all_mutations())
        why = "is no bug of the coordinator that is served" if known else "is no known bug"
        do = "see groupcheck coordinator --list"
        raise UserError(f"{name[:80]} {why}", where="--mutation", do=do)
    return there[name]
