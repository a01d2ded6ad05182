"""The bounds of a run of a share group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen
from attrs.validators import optional

from groupcheck.model.engine import ScopeError
from groupcheck.model.engine.step import MOST_OUTCOMES
from groupcheck.model.protocol.bounds import (
    TRUTH,
    between,
    bound,
    check_faults,
    check_interval,
    fault_counts,
    one_of,
)
from groupcheck.model.protocol.consumer.releases import RELEASES, Release
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, MENDED
from groupcheck.model.protocol.consumer.scope import FAULTS as OF_CONSUMERS
from groupcheck.model.protocol.faults import Budget

FAULTS: Mapping[str, str] = {
    "crash": OF_CONSUMERS["crash"],
    "close": "A member closes: its last heartbeat leaves, and it does not wait for the answer.",
    "lose_request": OF_CONSUMERS["lose_request"],
    "lose_response": OF_CONSUMERS["lose_response"],
    "append_failure": OF_CONSUMERS["append_failure"],
    "session_timeout": OF_CONSUMERS["session_timeout"],
    "fail_over": (
        "The coordinator moves to another broker, which starts its timers anew; what the persister"
        " answers to the former one is lost."
    ),
    "initialization_failure": "The persister cannot initialize partitions.",
    "subscription": OF_CONSUMERS["subscription"],
    "metadata": OF_CONSUMERS["metadata"],
}
ASSIGNORS: Mapping[str, str] = {
    "any": "Every assignment is a choice that gives each partition to some of its subscribers.",
    "simple": (
        "Those among them that Kafka's SimpleAssignor may make: no member has more than its share,"
        " and no partition more members than are needed for that."
    ),
}
# The versions in which share groups are production-ready.
VERSIONS = tuple(v for v in RELEASES if v not in ("4.0.0", "4.1.1"))


@frozen
class ShareScope:
    """The bounds of a run, and the readings."""

    LACKS: ClassVar[Mapping[str, str]] = {
        "rebalance_timeout": "nobody waits for a member of a share group to revoke",
        "poll_timeout": "max.poll.interval.ms is not modelled for members of share groups",
    }
    MORE: ClassVar[Mapping[str, str]] = {}

    members: int = bound(2, "Processes that may be members.", between(1, 8))
    topics: int = bound(1, "Topics.", between(1, 4))
    partitions: int = bound(2, "Partitions of each topic.", between(1, 8))
    max_size: int | None = bound(
        None,
        "group.share.max.size. If not given: nobody is turned away.",
        optional(between(1, 8)),
    )
    kafka: str = bound(
        "4.3.1", f"The version of Kafka: one of {', '.join(VERSIONS)}.", one_of(VERSIONS)
    )
    assignor: str = bound("any", "How targets are made.", one_of((*ASSIGNORS,)))
    interval: bool = bound(
        False, "Is there an assignment interval (Kafka 4.3 and newer)? Otherwise it is 0.", TRUTH
    )
    requests: str = bound(
        "members",
        "Who sends heartbeats. `members`: the members; `anybody`: each heartbeat that any client"
        " could send may come at any time, and there are no members.",
        one_of(("members", "anybody")),
    )
    k14: str = bound(
        MENDED,
        "`as_kafka`: a leave whose append fails takes the session timer of the member with it."
        " `mended`: it does not.",
        one_of((MENDED, AS_KAFKA)),
    )
    faults: tuple[tuple[str, int], ...] = field(
        default=(),
        converter=fault_counts,
        metadata={"doc": "Which faults may happen, and how often each."},
    )
    any_faults: int | None = bound(
        None, "Any N of all faults instead of named ones.", optional(between(0, 100))
    )

    # What the rules that share groups have in common with consumer groups ask of a scope.
    wire: ClassVar[str] = "collapsed"
    static_members: ClassVar[int] = 0

    def __attrs_post_init__(self) -> None:
        check_faults(self.faults, self.any_faults, FAULTS, self.LACKS)
        check_interval(self.kafka, asked=self.interval, there=self.release.interval)
        plans = ((1 << self.members) - 1) ** (self.topics * self.partitions)
        if plans > MOST_OUTCOMES:
            raise ScopeError(
                f"assignor {self.assignor} looks at {plans:,} plans, more than {MOST_OUTCOMES:,}",
                where="scope",
                do="take fewer partitions or members",
            )

    @property
    def release(self) -> Release:
        """The rules of this Kafka."""
        return RELEASES[self.kafka]

    @property
    def budget(self) -> Budget:
        if self.any_faults is not None:
            return Budget(any=self.any_faults)
        return Budget(tuple((name, n) for name, n in self.faults if n))

    @property
    def everything(self) -> int:
        """All partitions, as a bit mask."""
        return (1 << (self.topics * self.partitions)) - 1

    def topic(self, number: int) -> int:
        """The partitions of a topic."""
        return ((1 << self.partitions) - 1) << (number * self.partitions)

    def topics_with(self, readers: tuple[int, ...]) -> int:
        """The partitions of the topics that somebody subscribes to."""
        return sum(self.topic(t) for t, n in enumerate(readers) if n)

    @property
    def at_first(self) -> int:
        """The partitions that exist from the beginning."""
        return self.everything >> 1 if self.budget.allows("metadata") else self.everything

    @property
    def subscriptions(self) -> tuple[int, ...]:
        """Every choice of topics, as the partitions that they may have; at least one topic."""
        return tuple(
            sum(self.topic(t) for t in range(self.topics) if chosen >> t & 1)
            for chosen in range(1, 1 << self.topics)
        )
