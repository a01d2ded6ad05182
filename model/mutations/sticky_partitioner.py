"""Bugs of partitioners that deal records without keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.family import PARTITIONER
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.sticky_partitioner import rules
from groupcheck.model.protocol.transform import rewritten


def _in_the_middle(rule: Rule) -> Rule:
    """Any record may make the producer choose another partition."""

    def call(producer: Any, old: Any, new: Any, scope: Any) -> Iterator[Any]:
        yield from rule.call(evolve(producer, fresh=False), evolve(old, open=0), new, scope)

    def open_kept(producer: Any, old: Any, new: Any, scope: Any) -> Iterator[Any]:
        for after, leaves, chosen in call(producer, old, new, scope):
            yield after, evolve(leaves, open=old.open), chosen

    return rewritten(rule, open_kept)


def _both_stay(rule: Rule) -> Rule:
    def call(producer: Any, old: Any, new: Any, scope: Any) -> Iterator[Any]:
        for after, leaves, chosen in rule.call(producer, old, new, scope):
            yield after, evolve(leaves, sticky=True), chosen

    return rewritten(rule, call)


def _to_any(rule: Rule) -> Rule:
    """Records go to any partition."""

    def call(producer: Any, part: Any, scope: Any) -> Iterator[Any]:
        there = evolve(part, sticky=True)
        if producer.choosing:
            return
        for label, after, filled in rule.call(evolve(producer, fresh=True), there, scope):
            yield label, after, evolve(filled, sticky=part.sticky)

    return attrs.evolve(rewritten(rule, call), guard=None)


def _takes_early(rule: Rule) -> Rule:
    """The sender takes a batch before linger.ms is over."""

    def call(part: Any, scope: Any) -> Iterator[Any]:
        yield from rule.call(part, attrs.evolve(scope, linger=1))

    return rewritten(rule, call)


def _measures_batches(rule: Rule) -> Rule:
    """The partition is left with each batch, as in KIP-480."""

    def call(producer: Any, part: Any, scope: Any) -> Iterator[Any]:
        if producer.produced and rules.closed(part, scope):
            yield evolve(producer, choosing=True, produced=0), rules.left(part, producer)

    return rewritten(rule, call)


def _forgets(rule: Rule) -> Rule:
    """Does not count the bytes that were sent before the partition changed."""

    def call(producer: Any, old: Any, new: Any, scope: Any) -> Iterator[Any]:
        for after, leaves, chosen in rule.call(producer, old, new, scope):
            yield after, evolve(leaves, got=old.got), chosen

    return rewritten(rule, call)


def _bug(
    id: str,
    invariant: str,
    title: str,
    doc: str,
    rule: Rule,
    twist: Callable[[Rule], Rule],
    ticket: str = SEEDED,
    **scope: Any,
) -> Mutation:
    return Mutation(
        id=id,
        ticket=ticket,
        title=title,
        family=PARTITIONER,
        invariant=invariant,
        doc=doc,
        scope=scope,
        twists={rule.name: twist},
    )


MUTATIONS = (
    _bug(
        "leaves_open_batch",
        "changes_between_batches",
        "The producer chooses another partition while its batch has room.",
        "onNewBatch belongs between two batches. Seeded: it may be called at any record.",
        rules.on_new_batch,
        _in_the_middle,
        linger=3,
    ),
    _bug(
        "old_partition_stays_sticky",
        "one_sticky_partition",
        "A partition is chosen, and the one before stays sticky.",
        "nextPartition replaces the cached partition. Seeded: it adds one.",
        rules.on_new_batch,
        _both_stay,
    ),
    _bug(
        "records_go_anywhere",
        "one_open_batch",
        "Records without a key go to any partition, each into a batch of its own.",
        "The partitioner before KIP-480. Seeded: the sticky partition is not asked for.",
        rules.append_record,
        _to_any,
        linger=3,
        ticket="KIP-480",
    ),
    _bug(
        "batch_taken_early",
        "even_among_fast_brokers",
        "The sender takes batches before linger.ms is over, of one partition more than of another.",
        "Seeded: a batch may be taken as soon as it has a record.",
        rules.drain_batch,
        _takes_early,
        linger=2,
    ),
    _bug(
        "batches_counted_for_bytes",
        "stays_are_measured",
        "The producer leaves a partition with each batch that is sent.",
        (
            "KIP-480 chose another partition with each new batch, so that partitions of fast"
            " brokers, which take small batches, got less. Seeded: so does the partitioner of"
            " KIP-794."
        ),
        rules.leave_partition,
        _measures_batches,
        ticket="KAFKA-10888",
        partitioner="built_in",
    ),
    _bug(
        "records_of_a_stay_forgotten",
        "records_are_counted",
        "What a partition got before it was left is not counted.",
        "Seeded, to show that the count is looked at.",
        rules.on_new_batch,
        _forgets,
    ),
)
