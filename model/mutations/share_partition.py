"""Mistakes that the leader of a share partition (KIP-932) could make, seeded."""

from __future__ import annotations

from groupcheck.model.engine import evolve
from groupcheck.model.mutations.twists import Values, after, reads
from groupcheck.model.protocol.family import SHARE_PARTITION
from groupcheck.model.protocol.masks import numbers
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.share_partition import batch_rules, rules
from groupcheck.model.protocol.share_partition.partition import Delivery
from groupcheck.model.protocol.share_partition.scope import AS_KAFKA


def _keeps_the_lock(before: Values, label: str, after: Values) -> Values:
    """The record is available, and still its former holder's."""
    return {"holder": before["holder"]} if label == "released" else {}


def _tells_before_it_is_written(before: Values, label: str, after: Values) -> Values:
    reader, holder = after["reader"], after["holder"]
    return {"reader": evolve(reader, accepted=reader.accepted | holder.accepts)}


def _forgets_what_was_written(before: Values, label: str, after: Values) -> Values:
    """The state of a record is not read."""
    part = after["part"]
    records = tuple(
        evolve(r, state=Delivery.AVAILABLE, count=0) if r.state == Delivery.ACKNOWLEDGED else r
        for r in part.records
    )
    return {"part": evolve(part, records=records, start=0, stored_start=0)}


def _passes_what_is_not_finished(before: Values, label: str, after: Values) -> Values:
    part = after["part"]
    return {"part": evolve(part, start=len(part.records))} if label == "stored" else {}


def _gives_up_at_once(before: Values, label: str, after: Values) -> Values:
    if label != "released":
        return {}
    part = after["part"]
    changed = tuple(
        evolve(new, state=Delivery.ARCHIVED, stored=Delivery.ARCHIVED)
        if new.state == Delivery.AVAILABLE and old.state == Delivery.ACQUIRED
        else new
        for old, new in zip(before["part"].records, part.records)
    )
    return {"part": evolve(part, records=changed)}


def _counts_what_is_late(before: Values, label: str, after: Values) -> Values:
    """Of a record that is acknowledged by now."""
    lost = before["reader"].has & ~after["reader"].has
    record = after["part"].records[lost.bit_length() - 1]
    if label != "refused" or record.state != Delivery.ACKNOWLEDGED or record.moving:
        return {}
    return {"reader": evolve(after["reader"], accepted=after["reader"].accepted | lost)}


def _keeps_what_is_released(before: Values, label: str, after: Values) -> Values:
    """What a member has released counts as acknowledged."""
    if label != "release":
        return {}
    part = after["part"]
    records = tuple(
        evolve(new, state=Delivery.ACKNOWLEDGED) if new != old else new
        for old, new in zip(before["part"].records, part.records)
    )
    return {"part": evolve(part, records=records)}


def _takes_the_batch(before: Values, label: str, after: Values) -> Values:
    """One record is accepted, and all of its batch counts as acknowledged."""
    had, has = before["reader"].has, after["reader"].has
    if label != "accept" or not has:
        return {}
    part = after["part"]
    (number,) = numbers(had & ~has)
    records = tuple(
        evolve(r, state=Delivery.ACKNOWLEDGED, moving=True)
        if before["part"].together(number) >> n & 1
        else r
        for n, r in enumerate(part.records)
    )
    return {"part": evolve(part, records=records)}


def _frees_the_batch(before: Values, label: str, after: Values) -> Values:
    """All that is left of a batch is released with the first lock of it that runs out."""
    part = after["part"]
    if label != "released" or not part.batches:
        return {}
    records = tuple(
        evolve(r, state=Delivery.AVAILABLE) if r.state == Delivery.ACKNOWLEDGED else r
        for r in part.records[part.start :]
    )
    return {"part": evolve(part, records=(*part.records[: part.start], *records))}


MUTATIONS = (
    Mutation(
        id="share_release_is_accepted",
        ticket=SEEDED,
        title="A record that a member releases counts as acknowledged.",
        family=SHARE_PARTITION,
        invariant="acknowledged_was_accepted",
        doc="Seeded: the type of the acknowledgement is not looked at.",
        scope={"members": 1},
        twists=after(rules.acknowledge_record, change=_keeps_what_is_released),
    ),
    Mutation(
        id="share_part_takes_the_batch",
        ticket=SEEDED,
        title="Who accepts one record of a batch accepts all of it.",
        family=SHARE_PARTITION,
        invariant="acknowledged_was_accepted",
        doc="Seeded: the batch is not told apart, so its one state is changed for all records.",
        scope={"members": 1, "records": 2, "batch": 2},
        twists=after(batch_rules.acknowledge_in_batches, change=_takes_the_batch),
    ),
    Mutation(
        id="share_lock_frees_the_batch",
        ticket=SEEDED,
        title="A lock that runs out frees records of the batch that are acknowledged.",
        family=SHARE_PARTITION,
        invariant="acknowledged_is_kept",
        doc="Seeded: the lock of a batch is kept when its records are told apart.",
        scope={"members": 1, "records": 2, "batch": 2},
        twists=after(rules.lock_runs_out, change=_frees_the_batch),
    ),
    Mutation(
        id="share_passed_accept_is_well",
        ticket="K33",
        title="A member is told that its acceptance counts, and the record is given up.",
        family=SHARE_PARTITION,
        invariant="acknowledged_is_kept",
        doc=(
            "The leader ignores acknowledgements of records that its start offset has passed, and"
            " answers them without an error. So a member whose lock has run out is told that all is"
            " well, although the record is archived, or another member has accepted it since."
            " Reading: `k33=as_kafka`."
        ),
        scope={"members": 1, "max_delivery": 1},
        twists=reads(rules.acknowledge_record, k33=AS_KAFKA),
    ),
    Mutation(
        id="share_late_accept_counts",
        ticket=SEEDED,
        title="A late acceptance of an acknowledged record counts, too.",
        family=SHARE_PARTITION,
        invariant="record_is_acknowledged_once",
        doc="Seeded: the answer says well, because the record is acknowledged, whoever did it.",
        scope={"members": 2},
        twists=after(rules.acknowledge_record, change=_counts_what_is_late),
    ),
    Mutation(
        id="share_lock_is_kept",
        ticket=SEEDED,
        title="A record whose lock has run out still counts as its former holder's.",
        family=SHARE_PARTITION,
        invariant="record_has_one_holder",
        doc="Seeded: the record becomes available, and the member id in it stays.",
        scope={"members": 2},
        twists=after(rules.lock_runs_out, change=_keeps_the_lock),
    ),
    Mutation(
        id="share_acknowledged_is_not_read",
        ticket=SEEDED,
        title="A new leader delivers acknowledged records again.",
        family=SHARE_PARTITION,
        invariant="acknowledged_is_kept",
        doc="Seeded: the next leader reads no states of records from the persister.",
        scope={"members": 1, "faults": {"fail_over": 1}},
        twists=after(rules.leader_changes, change=_forgets_what_was_written),
    ),
    Mutation(
        id="share_accept_is_told_early",
        ticket=SEEDED,
        title="A member is told that its acceptance counts before it is written.",
        family=SHARE_PARTITION,
        invariant="acknowledged_is_kept",
        doc="Seeded: the answer does not wait for the persister.",
        scope={"members": 1},
        twists=after(rules.acknowledge_record, change=_tells_before_it_is_written),
    ),
    Mutation(
        id="share_start_passes_records",
        ticket=SEEDED,
        title="The start offset passes records that are not finished.",
        family=SHARE_PARTITION,
        invariant="start_passes_finished_records",
        doc="Seeded: the start offset goes to the end of the batch when one record is written.",
        scope={"members": 1, "records": 2},
        twists=after(rules.write_ends, change=_passes_what_is_not_finished),
    ),
    Mutation(
        id="share_limit_is_ignored",
        ticket=SEEDED,
        title="A record is delivered without end.",
        family=SHARE_PARTITION,
        invariant="count_is_limited",
        doc="Seeded: a record whose lock runs out is not compared with the limit.",
        scope={"members": 1, "max_delivery": 1},
        twists=reads(rules.lock_runs_out, max_delivery=2),
    ),
    Mutation(
        id="share_record_is_given_up_at_once",
        ticket=SEEDED,
        title="A record is archived when its lock runs out for the first time.",
        family=SHARE_PARTITION,
        invariant="archived_at_the_limit",
        doc="Seeded: what should be available again is archived.",
        scope={"members": 1},
        twists=after(rules.lock_runs_out, change=_gives_up_at_once),
    ),
)
