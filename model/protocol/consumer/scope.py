"""The bounds of a run, and how Kafka's weak points are read.

Kafka does not keep some of what the protocol promises. Each such point is a field, named after its
ticket or finding: `mended` is the reading with which the promises hold, `as_kafka` what Kafka does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

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
from groupcheck.model.protocol.consumer.java_releases import JavaRelease, java_release
from groupcheck.model.protocol.consumer.releases import RELEASES, Release
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, Budget

FAULTS: Mapping[str, str] = {
    "crash": CLASSIC_FAULTS["crash"],
    "close": "A member closes: it gives up its partitions, and its last heartbeat leaves.",
    "poll_timeout": (
        "max.poll.interval.ms passes while the application is busy: the member leaves, and holds"
        " its partitions until the next poll."
    ),
    "unsubscribe": "The application of one of Java's members unsubscribes.",
    "callback_failure": "A callback of the rebalance listener of one of Java's members throws.",
    "lose_request": "A heartbeat never reaches the coordinator; the next one carries everything.",
    "lose_response": "The coordinator handles a heartbeat, but its answer is lost.",
    "append_failure": (
        "The records of a request or of a timer cannot be appended: all is as before, but for"
        " what was done to timers meanwhile."
    ),
    "session_timeout": (
        "The coordinator hears nothing from a member for its session timeout and removes it. A"
        " process that was only paused wakes as a zombie."
    ),
    "rebalance_timeout": (
        "The coordinator waits no longer for a member to give up partitions, and removes it."
    ),
    "fail_over": "The coordinator moves to another broker, which starts its timers anew.",
    "subscription": "A member subscribes to other topics.",
    "metadata": "A topic gets its last partition.",
    "delay_request": (
        "A heartbeat is held up on a connection that the member gives up; it arrives later."
        " Kafka does not number heartbeats, so this breaks what it promises (K17, K18); it is not"
        " among any faults."
    ),
    "delay_commit": (
        "A commit is held up on a connection that the member gives up; it arrives later (with"
        " offsets)."
    ),
}
ASSIGNORS: Mapping[str, str] = {
    "any": "Every assignment is a choice that gives each partition to one subscriber of its topic.",
    "sticky": "Every choice among the even assignments that move the fewest partitions.",
    "uniform": "Kafka's UniformAssignor, by the ids of members.",
    "range": "Kafka's RangeAssignor, by the ids of members.",
    "named": "UniformAssignor or RangeAssignor, whichever most members name; else the first.",
}
MENDED, AS_KAFKA = "mended", "as_kafka"
# Fields that only Java's members look at.
OF_JAVA = ("auto_commit", "k16", "k23", "k25", "k28")


def finding(told: str) -> Any:
    """A field for a point at which Kafka is weak. `told`: what Kafka does."""
    doc = f"`as_kafka`: {told} `mended`: it does not."
    return bound(MENDED, doc, one_of((MENDED, AS_KAFKA)))


@frozen
class ConsumerScope:
    """The bounds of a run, and the readings."""

    LACKS: ClassVar[Mapping[str, str]] = {}
    MORE: ClassVar[Mapping[str, str]] = {}
    # Faults that `any_faults` does not spend, because no promise is made of what follows.
    APART: ClassVar[tuple[str, ...]] = ("delay_request",)

    members: int = bound(2, "Processes that may be members.", between(1, 8))
    topics: int = bound(1, "Topics.", between(1, 4))
    partitions: int = bound(2, "Partitions of each topic.", between(1, 8))
    static_members: int = bound(
        0, "How many processes, the first ones, have a group.instance.id.", between(0, 8)
    )
    max_size: int | None = bound(
        None,
        "group.consumer.max.size. If not given: nobody is turned away.",
        optional(between(1, 8)),
    )
    kafka: str = bound(
        "4.3.1", f"The version of Kafka: one of {', '.join(RELEASES)}.", one_of((*RELEASES,))
    )
    assignor: str = bound("any", "How targets are made.", one_of((*ASSIGNORS,)))
    patterns: bool = bound(
        False, "May members subscribe by a regular expression, which means all topics?", TRUTH
    )
    regexes: int = bound(
        0,
        "How many regular expressions there are that are resolved in the background, in steps of"
        " their own: the first one means all topics, the second one the last topic. Members may"
        " subscribe by them; leave `patterns` out.",
        between(0, 2),
    )
    restricted: bool = bound(
        False, "May the first process not describe the last topic (with regexes)?", TRUTH
    )
    assignment_epochs: bool = bound(
        False, "Is it kept which partitions a member was given at its epoch (KIP-1251)?", TRUTH
    )
    offsets: bool = bound(
        False,
        "Are offsets of one partition committed and fetched? It implies assignment_epochs.",
        TRUTH,
    )
    transactions: bool = bound(
        False, "Are offsets committed in transactions (with offsets)?", TRUTH
    )
    expiry: bool = bound(
        False, "Do offsets expire, and with the last one an empty group (with offsets)?", TRUTH
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
    wire: str = bound(
        "collapsed",
        "`collapsed`: a heartbeat and its answer are one step; `explicit`: each is a step.",
        one_of(("collapsed", "explicit")),
    )
    java: bool = bound(
        False,
        "Are members Java's, with two threads? Otherwise they are simple ones.",
        TRUTH,
    )
    auto_commit: bool = bound(
        False,
        "enable.auto.commit of Java's members, or of simple ones with offsets: a commit goes before"
        " a rebalance.",
        TRUTH,
    )
    callbacks: str = bound(
        "instant",
        "`instant`: a member takes a new assignment in one step (Java's has no rebalance"
        " listener); `phased`: it revokes and assigns in steps of their own.",
        one_of(("instant", "phased")),
    )
    resends: bool = bound(
        True,
        "Do simple members say everything again after an error, as Java's do? Otherwise they go on"
        " with heartbeats that say nothing new.",
        TRUTH,
    )
    sessions_heal: bool = bound(
        True,
        "May members whose joins are refused wait for the end of their sessions (only with"
        " --progress)? Otherwise each promise has to hold before that.",
        TRUTH,
    )
    k1: str = finding(
        "a member reports what it had before an assignment that it is just taking, and a full"
        " heartbeat acknowledges a revocation that did not happen."
    )
    k1_prime: str = finding(
        "a full heartbeat that is under way does not say what the member takes meanwhile."
    )
    k3: str = finding(
        "a static member whose answer to its join is lost is told that another one has its"
        " instance (111), and fails for good."
    )
    k14: str = finding("a leave whose append fails takes the timers of the member with it.")
    k16: str = finding(
        "an assignment that waits for the application is applied although the member was fenced."
    )
    k17: str = finding(
        "a join that comes late, over a former connection, acknowledges what was revoked since."
    )
    k18: str = finding(
        "a heartbeat that is no join and comes late, over a former connection, counts like any"
        " other, although its member no longer hears the answer."
    )
    k19: str = finding("an acknowledgement whose append fails stops the rebalance timer.")
    k20: str = finding("a revocation whose append fails starts the rebalance timer.")
    k22: str = finding(
        "a member that joins by names under an id or instance that has subscribed by a pattern"
        " keeps the pattern, and is given what it does not read."
    )
    k23: str = finding(
        "the answer to a heartbeat that was sent before the poll timer ran out is followed."
    )
    k24: str = finding(
        "where two assignors are named equally often, heartbeats that change nothing rebalance the"
        " group (Kafka 4.4)."
    )
    k25: str = finding(
        "unsubscribe() returns when the member is fenced, although its callback has not run: it"
        " runs in a later poll, and ends the next subscription."
    )
    k26: str = finding(
        "what a static member keeps while it is away counts as given at epoch 0, so a commit of"
        " its from before the last owner counts again (KIP-1251, Kafka 4.3)."
    )
    k27: str = finding(
        "a commit with the epoch of its member's record counts, whether the member owns the"
        " partition or not."
    )
    k28: str = finding(
        "a member that has left because its application did not poll in time, or that is fenced,"
        " commits without an epoch, which counts in a group that is empty."
    )
    k32: str = finding(
        "an offset expires as soon as its group is empty, if it was committed long ago. KIP-211"
        " keeps it until the group has been empty for so long."
    )
    k34: str = finding(
        "a regular expression means for all its members what the one may describe whose heartbeat"
        " had it resolved last."
    )
    k35: str = finding(
        "a member that joins by a regular expression which is not resolved yet, into a group that"
        " needs another target, counts there as one that subscribes to what another one does (with"
        " assignor any or sticky)."
    )
    kafka_20641: str = finding("a static member that leaves while it revokes stays UNREVOKED.")
    faults: tuple[tuple[str, int], ...] = field(
        default=(),
        converter=fault_counts,
        metadata={"doc": "Which faults may happen, and how often each."},
    )
    any_faults: int | None = bound(
        None,
        "Any N of all faults (but for delay_request) instead of named ones.",
        optional(between(0, 100)),
    )

    def __attrs_post_init__(self) -> None:
        check_faults(self.faults, self.any_faults, {**FAULTS, **self.MORE}, self.LACKS)
        if self.static_members > self.members:
            raise ScopeError(
                f"static_members is {self.static_members}, more than there are members",
                where="scope",
            )
        if self.java and self.requests == "anybody":
            raise ScopeError(
                "requests anybody leave no place for Java's members",
                where="scope",
                do="take requests=members, or leave out java",
            )
        if self.java and not self.resends:
            raise ScopeError(
                "Java's members say everything again after an error",
                where="scope",
                do="leave out java, or resends",
            )
        for name in OF_JAVA:
            if name == "auto_commit" and self.offsets:
                continue
            if not self.java and getattr(self, name) not in (False, MENDED):
                raise ScopeError(
                    f"{name} is about Java's members, and there are none",
                    where="scope",
                    do="add java=True",
                )
        self._check_offsets()
        self._check_regexes()
        check_interval(self.kafka, asked=self.interval, there=self.release.interval)
        plans = self.members ** (self.topics * self.partitions)
        if self.assignor in ("any", "sticky") and plans > MOST_OUTCOMES:
            raise ScopeError(
                f"assignor {self.assignor} looks at {plans:,} plans, more than {MOST_OUTCOMES:,}",
                where="scope",
                do="take fewer partitions, or assignor uniform",
            )

    def _check_offsets(self) -> None:
        for name in ("transactions", "expiry"):
            if getattr(self, name) and not self.offsets:
                raise ScopeError(f"{name} needs offsets", where="scope", do="add offsets=True")
        if self.transactions and (self.java or self.auto_commit):
            raise ScopeError(
                "with transactions, members are simple ones without auto_commit",
                where="scope",
                do="leave out " + ("java" if self.java else "auto_commit"),
            )

    def _check_regexes(self) -> None:
        if not self.regexes:
            if self.restricted:
                raise ScopeError("restricted needs regexes", where="scope", do="add regexes=1")
            return
        for name, there in (
            ("java", self.java),
            ("interval", self.interval),
            ("offsets", self.offsets),
            ("assignor named", self.assignor == "named"),
        ):
            if there:
                raise ScopeError(
                    f"regexes are not combined with {name}",
                    where="scope",
                    do=f"leave out {name} or regexes",
                )

    @property
    def release(self) -> Release:
        """The rules of this Kafka."""
        return RELEASES[self.kafka]

    @property
    def java_release(self) -> JavaRelease:
        """How Java's member of this Kafka goes about it."""
        return java_release(self.kafka)

    @property
    def matches(self) -> bool:
        """May members subscribe by regular expressions?"""
        return self.patterns or self.regexes > 0

    @property
    def keeps_epochs(self) -> bool:
        """Is it kept which partitions a member was given at its epoch?"""
        return self.assignment_epochs or self.offsets

    @property
    def members_commit(self) -> bool:
        """Are there members that commit?"""
        return self.offsets and self.requests == "members"

    @property
    def members_use_transactions(self) -> bool:
        """Are there members that commit in transactions?"""
        return self.transactions and self.requests == "members"

    @property
    def listens(self) -> bool:
        """Do Java's members have a rebalance listener?"""
        return self.callbacks == "phased"

    @property
    def budget(self) -> Budget:
        if self.any_faults is not None:
            return Budget(any=self.any_faults, lacks=self.APART)
        return Budget(tuple((name, n) for name, n in self.faults if n))

    @property
    def everything(self) -> int:
        """All partitions, as a bit mask."""
        return (1 << (self.topics * self.partitions)) - 1

    def topic(self, number: int) -> int:
        """The partitions of a topic."""
        return ((1 << self.partitions) - 1) << (number * self.partitions)

    def meaning(self, regex: int) -> int:
        """The partitions that the topics may have which a regular expression matches."""
        return self.everything if regex == 1 else self.topic(self.topics - 1)

    @property
    def at_first(self) -> int:
        """The partitions that exist from the beginning."""
        if self.budget.allows("metadata"):
            return self.everything >> 1
        return self.everything

    @property
    def subscriptions(self) -> tuple[int, ...]:
        """Every choice of topics, as the partitions that they may have; at least one topic."""
        return tuple(
            sum(self.topic(t) for t in range(self.topics) if chosen >> t & 1)
            for chosen in range(1, 1 << self.topics)
        )
