"""A feature of a classic group with `offsets`: `__consumer_offsets` has replicas and is compacted,
as far as a committed offset can be lost by that, or a deleted one come back.

The leader of the partition is the coordinator. Of the others one matters, the slowest (`Copy`).

    append          The leader's record of the offset, or its tombstone. It is answered once all
                    in-sync replicas have it (acks=-1), so in the same step.
    replica_lags    A fault: the replica is out of the in-sync replicas (replica.lag.time.max.ms).
                    Commits are answered without it (min.insync.replicas is 1).
    catch_up        It has fetched the rest of the leader's log, and is in sync again.
    clean_tombstone The log cleaner removes a tombstone, and the older records of its key. What was
                    removed is never fetched: a replica that has an older record keeps it.
    fail_over       An in-sync replica is elected and loads what its own log has.

Two settings keep that safe. unclean.leader.election.enable is off: only an in-sync replica is
elected. And delete.retention.ms (24 hours) is longer than any replica lags, so that it has seen a
tombstone before that is removed; the guard of `clean_tombstone` says so. Both are bugs here: what
happens where a cluster is set up otherwise.

What it leaves out: the group's other records, which the replica has as the leader has them (an
unclean election loses them, too: protocol.md C9); a second replica that lags; the records of open
transactions. A coordinator that loads for longer than delete.retention.ms, and has read the older
record before the tombstone is removed, sees what the lagging replica sees.

Kafka: CoordinatorPartitionWriter, CoordinatorLoaderImpl.doLoad, LogCleaner (Cleaner.
shouldRetainRecord), Partition.maybeShrinkIsr, TopicConfig.DELETE_RETENTION_MS_CONFIG.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from attrs import frozen

from groupcheck.model.engine import Spec, evolve, rule, single, urgent
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import failover
from groupcheck.model.protocol.classic.feature import CHANGE_THE_BASE, Feature
from groupcheck.model.protocol.classic.features.full_offsets.kept import NO_OFFSET, OffsetStore
from groupcheck.model.protocol.classic.features.full_offsets.scope import FullOffsetsScope
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.mutation import Mutation
from groupcheck.model.protocol.transform import own, rebuilt, rewritten

FAMILY = Family("replicated offsets", base="classic+offsets+replicas")

MORE: Mapping[str, str] = {
    "replica_lags": (
        "A replica of the group's partition of __consumer_offsets falls behind and is no longer in"
        " sync; it catches up later."
    ),
}
CLUSTER = "a broker"


@frozen(slots=False)
class ReplicasScope(FullOffsetsScope):
    """The bounds of a run in which a replica lags."""

    MORE: ClassVar[Mapping[str, str]] = {**FullOffsetsScope.MORE, **MORE}


@frozen
class Copy:
    """The slowest replica, and what compaction has left of the key in the leader's log."""

    in_sync: bool = True
    # What a load of its log would find; NO_OFFSET: nothing, or a tombstone.
    held: int = NO_OFFSET
    # The same of the leader's log.
    led: int = NO_OFFSET
    # The last record of the key in the leader's log is a tombstone, and still there.
    tombstone: bool = False


@urgent
def append(offsets: OffsetStore, copy: Copy) -> Iterator[tuple[OffsetStore, Copy]]:
    """The record is in the logs of all in-sync replicas before anybody hears of it."""
    led = offsets.logged
    if led != copy.led:
        held = led if copy.in_sync else copy.held
        yield offsets, evolve(copy, led=led, held=held, tombstone=led == NO_OFFSET)


@rule(when=lambda budget: budget.allows("replica_lags"))
def replica_lags(copy: Copy, budget: Budget) -> Iterator[tuple[Copy, Budget]]:
    """The replica is too slow, and no longer in sync."""
    if copy.in_sync:
        yield evolve(copy, in_sync=False), budget.spend("replica_lags")


@rule(when=lambda copy: not copy.in_sync)
def catch_up(copy: Copy) -> Iterator[Copy]:
    """The replica has fetched what is left in the leader's log."""
    there = copy.tombstone or copy.led != NO_OFFSET
    yield evolve(copy, in_sync=True, held=copy.led if there else copy.held)


@rule(when=lambda copy: copy.tombstone)
def clean_tombstone(copy: Copy) -> Iterator[Copy]:
    """delete.retention.ms has passed, and the log cleaner removes the tombstone. By then every
    replica has seen it.
    """
    if copy.held == NO_OFFSET:
        yield evolve(copy, tombstone=False)


@cache
def electing(fail_over: Rule) -> Rule:
    """The new coordinator may be the slowest replica, if it is in sync: it loads its own log."""
    slots = (*fail_over.slots, "copy")

    def call(*given: Any) -> Iterator[Any]:
        mine, copy, scope = given[: len(fail_over.slots)], given[len(fail_over.slots)], given[-1]
        for outcome in fail_over.call(*mine, *((scope,) if fail_over.takes_scope else ())):
            after = dict(zip(fail_over.slots, outcome, strict=True))
            yield (*after.values(), copy)
            if copy.in_sync and copy.held != copy.led:
                yield (*{**after, "offsets": loaded(after["offsets"], copy)}.values(), copy)

    return rewritten(fail_over, call, *slots, takes_scope=True)


def loaded(offsets: OffsetStore, copy: Copy) -> OffsetStore:
    """What the replica has, which leads from now on. (`append` brings the others to it.)"""
    there = offsets.there or copy.held != NO_OFFSET
    return evolve(offsets, committed=copy.held, logged=copy.held, there=there)


def replicas(spec: Spec) -> Spec:
    """The feature: the log has replicas and is compacted."""
    return rebuilt(
        spec,
        [electing(own(spec, failover.fail_over))],
        (append, replica_lags, catch_up, clean_tombstone),
        copy=single(Copy()),
    )


WORDS = Words(
    does={
        "replica_lags": "falls behind with its replica, which is no longer in sync",
        "catch_up": "has caught up, and its replica is in sync again",
        "clean_tombstone": "cleans its log: the tombstone of the offset is gone",
    },
    hears={"append": ""},
    notes={"replica_lags": "fault", "catch_up": "event", "clean_tombstone": "timer"},
    others=dict.fromkeys(("replica_lags", "catch_up", "clean_tombstone"), CLUSTER),
)


# -- How it can be wrong


def _any_replica(rule: Rule) -> Rule:
    at = rule.slots.index("copy")

    def call(*given: Any) -> Iterator[Any]:
        copy = given[at]
        there = evolve(copy, in_sync=True)
        for outcome in rule.call(*given[:at], there, *given[at + 1 :]):
            yield tuple([copy if value is there else value for value in outcome])

    return rewritten(rule, call)


def _whenever(rule: Rule) -> Rule:
    def call(copy: Copy) -> Iterator[Copy]:
        yield evolve(copy, tombstone=False)

    return rewritten(rule, call)


BUGS = (
    Mutation(
        id="unclean_election",
        ticket="unclean.leader.election.enable=true",
        title="A replica that is out of sync is elected, and commits that were answered are gone.",
        family=FAMILY,
        invariant="commits_survive_fail_overs",
        doc=(
            "With unclean.leader.election.enable, a replica that is not in sync leads the partition"
            " if no other one is alive. What was committed without it is lost: the group goes back"
            " to an older offset, or to where auto.offset.reset says."
        ),
        scope={"members": 1, "generations": 1, "faults": {"replica_lags": 1, "fail_over": 1}},
        twists={failover.fail_over.name: _any_replica},
    ),
    Mutation(
        id="tombstone_cleaned_too_early",
        ticket="delete.retention.ms",
        title="A tombstone is removed before a slow replica has seen it: the offset comes back.",
        family=FAMILY,
        invariant="in_sync_replicas_agree",
        doc=(
            "delete.retention.ms is shorter than a replica lags, or a coordinator loads. What was"
            " removed cannot be fetched, so the replica is in sync and has the deleted offset; when"
            " it is elected, the group starts there."
        ),
        scope={
            "members": 1,
            "generations": 2,
            "faults": {"replica_lags": 1, "session_timeout": 1, "expire_offsets": 1},
        },
        twists={clean_tombstone.name: _whenever},
    ),
)

# -- The feature

FEATURE = Feature(
    name="replicas",
    title="offsets with replicas and compaction",
    doc=(
        "The group's partition of __consumer_offsets has a replica that may lag, and is compacted:"
        " what an election loses, and what a tombstone that was removed brings back"
        " (unclean.leader.election.enable, delete.retention.ms)."
    ),
    change=replicas,
    over=("offsets",),
    after=(*CHANGE_THE_BASE, "unsubscribe", "first_lookup", "heartbeats"),
    scope_type=ReplicasScope,
    families=(FAMILY,),
    words=WORDS,
    no_progress="nobody says that a replica catches up in the end",
    shows=(
        {
            "members": 1,
            "generations": 2,
            "faults": {"replica_lags": 1, "session_timeout": 1, "expire_offsets": 1},
        },
        {"members": 1, "generations": 1, "faults": {"replica_lags": 1, "fail_over": 1}},
    ),
    real="",
    unreal="replication is below the coordinator, which is that of `offsets`; compare that",
    executed=(),
    conformed=(),
    bugs=BUGS,
)
