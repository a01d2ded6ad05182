"""The bounds of a run of a streams group."""

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
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, MENDED
from groupcheck.model.protocol.consumer.scope import FAULTS as OF_CONSUMERS
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.streams.releases import STREAMS_RELEASES, StreamsRelease
from groupcheck.model.protocol.streams.tasks import MOST

FAULTS: Mapping[str, str] = {
    "crash": (
        "A member's thread dies without a word; another one with a member id of its own takes its"
        " place in the same process."
    ),
    "close": "A member closes: its last heartbeat leaves, and it does not wait for the answer.",
    "lose_request": OF_CONSUMERS["lose_request"],
    "lose_response": OF_CONSUMERS["lose_response"],
    "append_failure": OF_CONSUMERS["append_failure"],
    "session_timeout": OF_CONSUMERS["session_timeout"],
    "rebalance_timeout": OF_CONSUMERS["rebalance_timeout"],
    "fail_over": OF_CONSUMERS["fail_over"],
    "metadata": (
        "A topic of the topology is created, deleted, or gets a partition more than its changelog."
    ),
    "shutdown": "A member asks with its heartbeat that the whole application stops.",
}
ASSIGNORS: Mapping[str, str] = {
    "any": (
        "Every assignment is a choice that gives each task to one member, and its standbys to as"
        " many other processes as they are, or as there are."
    ),
}
VERSIONS = tuple(STREAMS_RELEASES)


@frozen
class StreamsScope:
    """The bounds of a run, and the readings."""

    LACKS: ClassVar[Mapping[str, str]] = {
        "subscription": "all members of a streams group run one topology",
        "poll_timeout": "max.poll.interval.ms is not modelled for members of streams groups",
    }
    MORE: ClassVar[Mapping[str, str]] = {}

    members: int = bound(2, "Threads that may be members.", between(1, 8))
    processes: int | None = bound(
        None,
        "Processes that they run in: member i in process i modulo this. If not given: each has its"
        " own, or, without standbys, all the same, which makes no difference then.",
        optional(between(1, 8)),
    )
    tasks: int = bound(2, "Tasks of the topology, which has one subtopology.", between(1, MOST))
    standbys: int = bound(0, "group.streams.num.standby.replicas.", between(0, 3))
    stateful: bool = bound(
        False, "Have the tasks a store with a changelog topic? With standbys they have.", TRUTH
    )
    topologies: int = bound(
        1,
        "Epochs of topologies: with 2, a member may join with the former topology or the next one.",
        between(1, 2),
    )
    max_size: int | None = bound(
        None,
        "group.streams.max.size. If not given: nobody is turned away.",
        optional(between(1, 8)),
    )
    kafka: str = bound(
        "4.3.1", f"The version of Kafka: one of {', '.join(VERSIONS)}.", one_of(VERSIONS)
    )
    assignor: str = bound("any", "How targets are made.", one_of((*ASSIGNORS,)))
    delay: bool = bound(
        False,
        "Is there an initial rebalance delay (group.streams.initial.rebalance.delay.ms)? Otherwise"
        " it is 0.",
        TRUTH,
    )
    interval: bool = bound(
        False, "Is there an assignment interval (Kafka 4.3 and newer)? Otherwise it is 0.", TRUTH
    )
    requests: str = bound(
        "members",
        "Who sends heartbeats. `members`: the members; `anybody`: each heartbeat that any client"
        " could send may come at any time, and there are no members.",
        one_of(("members", "anybody")),
    )
    offsets: bool = bound(
        False,
        "Where anybody sends heartbeats: commits and fetches of offsets, too. (Members of the model"
        " commit nothing.)",
        TRUTH,
    )
    k14: str = bound(
        MENDED,
        "`as_kafka`: a leave or a timeout whose append fails takes the other timers of the member"
        " with it. `mended`: it does not.",
        one_of((MENDED, AS_KAFKA)),
    )
    k19: str = bound(
        MENDED,
        "`as_kafka`: a heartbeat whose append fails switches the rebalance timer off all the same."
        " `mended`: it does not.",
        one_of((MENDED, AS_KAFKA)),
    )
    k20: str = bound(
        MENDED,
        "`as_kafka`: a heartbeat whose append fails switches the rebalance timer on all the same."
        " `mended`: it does not.",
        one_of((MENDED, AS_KAFKA)),
    )
    undo: str = bound(
        MENDED,
        "`as_kafka`: an append that fails does not take back which processes have which standby."
        " `mended`: it does.",
        one_of((MENDED, AS_KAFKA)),
    )
    repeats: str = bound(
        MENDED,
        "`as_kafka`: an answer has the member's tasks if it joins, or if they have just changed, so"
        " that what was in an answer that is lost is never said again. `mended`: also if the"
        " heartbeat names other tasks than these.",
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

    # What the rules that streams groups have in common with consumer groups ask of a scope.
    wire: ClassVar[str] = "collapsed"
    static_members: ClassVar[int] = 0

    def __attrs_post_init__(self) -> None:
        check_faults(self.faults, self.any_faults, FAULTS, self.LACKS)
        check_interval(self.kafka, asked=self.interval, there=self.release.interval)
        if self.offsets and self.requests != "anybody":
            raise ScopeError(
                "offsets are committed only where anybody sends requests",
                where="scope",
                do="take requests=anybody with it",
            )
        plans = (self.members << (self.members if self.standbys else 0)) ** self.tasks
        if plans > MOST_OUTCOMES:
            raise ScopeError(
                f"assignor {self.assignor} looks at {plans:,} plans, more than {MOST_OUTCOMES:,}",
                where="scope",
                do="take fewer tasks or members",
            )

    @property
    def release(self) -> StreamsRelease:
        """The rules of this Kafka."""
        return STREAMS_RELEASES[self.kafka]

    @property
    def homes(self) -> int:
        """How many processes."""
        return self.processes or (self.members if self.standbys else 1)

    @property
    def has_changelog(self) -> bool:
        """Is there a changelog topic?"""
        return self.stateful or self.standbys > 0

    @property
    def recalls(self) -> bool:
        """May a member join again while its former tasks are kept in memory?"""
        return self.release.recalls and self.interval

    @property
    def tracks_sets(self) -> bool:
        """Is it kept which processes Kafka takes for those that have a standby?"""
        return self.undo == AS_KAFKA and self.standbys > 0

    @property
    def budget(self) -> Budget:
        if self.any_faults is not None:
            return Budget(any=self.any_faults)
        return Budget(tuple((name, n) for name, n in self.faults if n))
