"""What members do where records are fetched in batches (`batches` says how)."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.masks import numbers
from groupcheck.model.protocol.share_partition.batches import (
    ACCEPT,
    REJECT,
    RELEASE,
    Asked,
    BrokenError,
    Fetching,
    RefusedError,
    acknowledged,
    asked,
)
from groupcheck.model.protocol.share_partition.partition import Holder, Partition, Reader, known
from groupcheck.model.protocol.share_partition.scope import AS_KAFKA, SharePartitionScope

Fetched = Iterator[tuple[str, Partition, Holder, Reader, Budget]]


def _fetched(fetching: Fetching, holder: Holder, reader: Reader, budget: Budget) -> Fetched:
    holder = known(holder, fetching.part)
    fetching.run()
    mask, part = fetching.acquired, fetching.part
    if not mask:
        return
    owner = evolve(holder, acquired=holder.acquired | mask)
    seen = part
    for n in numbers(mask):
        seen = seen.with_record(n, evolve(part.records[n], seen=True))
    yield "delivered", seen, owner, evolve(reader, has=reader.has | mask), budget
    if budget.allows("lose_response"):
        yield "lost", part, owner, reader, budget.spend("lose_response")


@rule("delivered", "lost")
def fetch_batches(
    part: Partition, holder: Holder, reader: Reader, budget: Budget, scope: SharePartitionScope
) -> Fetched:
    """A member fetches as many records as there are (share.acquire.mode batch_optimized). Records
    that were delivered often come in small numbers, for their last time alone.
    """
    every = Fetching(part, scope, most=scope.records, strict=False)
    yield from _fetched(every, holder, reader, budget)


@rule("delivered", "lost")
def fetch_one_batch(
    part: Partition, holder: Holder, reader: Reader, budget: Budget, scope: SharePartitionScope
) -> Fetched:
    """A member fetches one record, and is given all that are in the batch with it."""
    one = Fetching(part, scope, most=1, strict=False)
    yield from _fetched(one, holder, reader, budget)


@rule("delivered", "lost")
def fetch_one_record(
    part: Partition, holder: Holder, reader: Reader, budget: Budget, scope: SharePartitionScope
) -> Fetched:
    """A member fetches one record, and is given no more (share.acquire.mode record_limit)."""
    one = Fetching(part, scope, most=1, strict=True)
    yield from _fetched(one, holder, reader, budget)


# Outcome -> the type of the first record, and of the others, if it is another.
KINDS = {
    "accept": (ACCEPT, None),
    "release": (RELEASE, None),
    "reject": (REJECT, None),
    "mixed": (ACCEPT, RELEASE),
}


@rule(*KINDS, "refused", "mixed_refused", "passed", "broken", when=lambda reader: reader.has != 0)
def acknowledge_in_batches(
    part: Partition, holder: Holder, reader: Reader, scope: SharePartitionScope
) -> Iterator[tuple[str, Partition, Holder, Reader]]:
    """A member acknowledges one record, or all that it has, in one request that counts as a whole:
    it accepts, releases or rejects all of them, or accepts the first and releases the others
    (mixed). Offsets without a record are gaps, which are archived. Refused, passed (K33): as
    in `acknowledge_record`. Broken (NPE): Kafka's leader dereferences null, because the request
    begins before the start offset, and the leader has no batch there.
    """
    holder = known(holder, part)
    alone = [1 << n for n in numbers(reader.has) if n != scope.missing and 1 << n != reader.has]
    for mask in (reader.has, *alone):
        after = evolve(reader, has=reader.has & ~mask)
        for label, (kind, rest) in KINDS.items():
            if rest is not None and mask & (mask - 1) == 0:
                continue
            said, moved, owner = _answered(part, holder, asked(mask, kind, scope, rest), scope)
            if said == "passed":
                after = evolve(after, accepted=after.accepted | mask)
            if said == "well":
                yield label, moved, owner, after
            elif label == "mixed" and said == "refused":
                yield "mixed_refused", moved, owner, after
            elif label == "accept":
                yield said, moved, owner, after


def _answered(
    part: Partition, holder: Holder, request: list[Asked], scope: SharePartitionScope
) -> tuple[str, Partition, Holder]:
    """What comes of a request: "well" once it is written, "refused", "passed" or "broken"."""
    if request[0].first < part.start and scope.k33 != AS_KAFKA:
        return "refused", part, holder
    try:
        after, moved = acknowledged(part, holder, request, scope)
    except RefusedError as refused:
        return "refused", refused.part, holder
    except BrokenError:
        return "broken", part, holder
    if not moved:
        return "passed", part, holder
    mask = sum(1 << n for n in moved)
    accepts = sum(1 << n for n, kind in moved.items() if kind == ACCEPT)
    several = (mask,) if mask & (mask - 1) else ()
    owner = evolve(
        holder,
        acquired=holder.acquired & ~mask,
        moving=holder.moving | mask,
        accepts=holder.accepts | accepts,
        together=tuple(sorted((*holder.together, *several))),
    )
    return "well", after, owner


BATCH_RULES = (fetch_batches, fetch_one_batch, fetch_one_record, acknowledge_in_batches)
