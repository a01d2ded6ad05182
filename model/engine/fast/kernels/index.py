"""The index: is a state new? Two kinds, and none ever loses a state to a hash.

Of wide states the index holds places in the log (4 bytes, the spare high bits a tag from the hash),
and the log's own words decide equality. A state of one word is scattered reversibly; its upper bits
choose a bucket of eight numbers, and where the rest of it fits into 32 bits that remainder stands
there for the whole state: one look into memory decides (Cleary 1984, Compact hash tables using
bidirectional linear probing; Geldenhuys and Valmari 2003, A nearly memory-optimal data structure
for sets and mappings, use it for state spaces). States that find their bucket full, some 4 % of a
full index, and those whose remainder is 0, which stands for a free place, are in an index of places
beside it.
"""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.intrinsics import (
    ALL,
    FULL,
    ONE,
    alone,
    claimed,
    halves,
    home,
    inside,
    lanes_with,
    mix,
    prefetch,
    quarters,
    scattered,
    trailing_zeros,
    words,
)

ZERO, FIVE, HALF, WORD, WORD_BYTES, INDEX_BYTES = U(0), U(5), U(32), U(64), U(8), U(4)
KNOWN, ENTERED, FULL_BUCKET = U(0), U(1), U(2)
NOWHERE = U(r.NOWHERE)


@inside
def bucket_of(ctx, h):
    """The address of the bucket that a scattered state belongs to."""
    return ctx[r.BUCKETS] + ((h >> (WORD - ctx[r.BUCKET_BITS])) << FIVE)


@inside
def load_place(ctx, h):
    """Starts loading the slot of the index of places where a hash is looked for first."""
    prefetch(ctx[r.INDEX] + (home(h, ctx[r.INDEX_SLOTS]) * INDEX_BYTES))


@inside
def hashed(wide, ctx, buffer, hashes, k):
    """Notes the hash of the successor at k, and starts loading the bucket that it belongs to."""
    if len(wide) == 1:
        h = scattered(buffer[k], ctx[r.UNUSED_BITS])
        if ctx[r.BUCKETS] != ZERO:
            prefetch(bucket_of(ctx, h))
    else:
        W = U(len(wide))
        h = mix(buffer[k * W])
        for w in range(1, len(wide)):
            h = mix(h ^ buffer[k * W + U(w)])
    hashes[k] = h


@inside
def hashed_ahead(wide, ctx, buffer, hashes, k):
    """The same, and starts loading the place where the index is looked at first, of whatever kind
    it is.
    """
    hashed(wide, ctx, buffer, hashes, k)
    if len(wide) > 1 or ctx[r.BUCKETS] == ZERO:
        load_place(ctx, hashes[k])


@inside
def sift(wide, ctx, buffer, hashes, needs, k):
    """Drops successors that were met a moment ago, and starts loading the index for the others: how
    many are left.

    The sieve holds states themselves, so nothing new is ever dropped: what stands in it is in the
    log, or further up in this buffer.
    """
    W = U(len(wide))
    sieve, shift = words(ctx[r.SIEVE]), ctx[r.SIEVE_SHIFT]
    kept, i = ZERO, ZERO
    while i < k:
        h = hashes[i]
        at = (h >> shift) * W
        same = True
        for w in range(len(wide)):
            same = same and sieve[at + U(w)] == buffer[i * W + U(w)]
        if not same:
            for w in range(len(wide)):
                y = buffer[i * W + U(w)]
                sieve[at + U(w)] = y
                buffer[kept * W + U(w)] = y
            hashes[kept] = h
            needs[kept] = needs[i]
            load_place(ctx, h)
            kept += ONE
        i += ONE
    return kept


@inside
def load_compared(wide, ctx, hashes, k):
    """Starts loading the log entries that the index points to for the k successors."""
    W = U(len(wide))
    index, slots, low = halves(ctx[r.INDEX]), ctx[r.INDEX_SLOTS], (ONE << ctx[r.TAG_BITS]) - ONE
    i = ZERO
    while i < k:
        p = U(index[home(hashes[i], slots)]) & low
        if p != ZERO:
            prefetch(ctx[r.LOG] + (p - ONE) * (W * WORD_BYTES))
        i += ONE


@inside
def free_slot(wide, ctx, log, buffer, h, i):
    """The slot of the index of places that the state at i of the buffer, with hash h, would take;
    ALL if the state is there.
    """
    W = U(len(wide))
    index, slots, low = halves(ctx[r.INDEX]), ctx[r.INDEX_SLOTS], (ONE << ctx[r.TAG_BITS]) - ONE
    high = FULL & ~low
    tag = h & high
    at = home(h, slots)
    while True:
        t = U(index[at])
        if t == ZERO:
            return at
        if t & high == tag:
            p = ((t & low) - ONE) * W
            same = True
            for w in range(len(wide)):
                same = same and log[p + U(w)] == buffer[i * W + U(w)]
            if same:
                return ALL
        at += ONE
        if at == slots:
            at = ZERO


@inside
def place_of(wide, ctx, log, buffer, h, i):
    """The place of the state at i of the buffer, with hash h, by the index of places; NOWHERE if it
    is not in the log.
    """
    W = U(len(wide))
    index, slots, low = halves(ctx[r.INDEX]), ctx[r.INDEX_SLOTS], (ONE << ctx[r.TAG_BITS]) - ONE
    tag = h & FULL & ~low
    at = home(h, slots)
    while True:
        t = U(index[at])
        if t == ZERO:
            return NOWHERE
        if t & FULL & ~low == tag:
            p = ((t & low) - ONE) * W
            same = True
            for w in range(len(wide)):
                same = same and log[p + U(w)] == buffer[i * W + U(w)]
            if same:
                return (t & low) - ONE
        at += ONE
        if at == slots:
            at = ZERO


@alone
def link(wide, ctx, log, buffer, hashes, needs, k):
    """Notes the k successors in the buffer as edges: their places, and what stands in `needs`."""
    targets, classes, n = halves(ctx[r.EDGES]), quarters(ctx[r.EDGE_CLASSES]), ctx[r.EDGE_COUNT]
    i = ZERO
    while i < k:
        load_place(ctx, hashes[i])
        i += ONE
    load_compared(wide, ctx, hashes, k)
    i = ZERO
    while i < k:
        targets[n] = place_of(wide, ctx, log, buffer, hashes[i], i)
        classes[n] = needs[i]
        n += ONE
        i += ONE
    ctx[r.EDGE_COUNT] = n


@inside
def slot_entry(ctx, h, n):
    """What stands in the index of places for the state with hash h at place n of the log."""
    return (h & FULL & ~((ONE << ctx[r.TAG_BITS]) - ONE)) | (n + ONE)


@inside
def take_slot(ctx, at, h, n):
    """A slot of the index of places for the state with hash h at place n of the log."""
    halves(ctx[r.INDEX])[at] = slot_entry(ctx, h, n)


@inside
def takes_slot(wide, ctx, log, buffer, h, i, n, at):
    """Enters the state at i of the buffer, with hash h, which stands at place n of the log by now,
    into the index of places, at a slot that was free; False if another thread has entered it.

    A thread writes a state before its place, and claims the slot in one step. One that finds the
    slot claimed compares its state with what stands there now, and goes on to the next free one.
    """
    if ctx[r.SHARED] == ZERO:
        take_slot(ctx, at, h, n)
        return True
    entry = slot_entry(ctx, h, n)
    while at != ALL and not claimed(ctx[r.INDEX] + at * INDEX_BYTES, entry):
        at = free_slot(wide, ctx, log, buffer, h, i)
    return at != ALL


@alone
def relocate(wide, ctx, log, buffer, hashes):
    """States of the log to places that are free: LIST holds pairs of places (from, to)."""
    W = U(len(wide))
    pairs, low = words(ctx[r.LIST]), (ONE << ctx[r.TAG_BITS]) - ONE
    index, slots, i = halves(ctx[r.INDEX]), ctx[r.INDEX_SLOTS], ctx[r.FROM]
    while i < ctx[r.TO]:
        before, after = pairs[i + i], pairs[i + i + ONE]
        for w in range(len(wide)):
            buffer[U(w)] = log[before * W + U(w)]
            log[after * W + U(w)] = buffer[U(w)]
        hashed(wide, ctx, buffer, hashes, ZERO)
        h, has_place = hashes[ZERO], True
        if len(wide) == 1 and ctx[r.BUCKETS] != ZERO:
            remainder = (h << ctx[r.BUCKET_BITS]) >> HALF
            has_place = remainder == ZERO or lanes_with(bucket_of(ctx, h), remainder) == ZERO
            h = mix(h)
        if has_place:
            at = home(h, slots)
            while U(index[at]) & low != before + ONE:
                at += ONE
                if at == slots:
                    at = ZERO
            take_slot(ctx, at, h, after)
        i += ONE
    ctx[r.FROM] = i


@inside
def enter_bucket(ctx, h):
    """The state with hash h into its bucket: KNOWN if it is there, ENTERED, or FULL_BUCKET.

    Threads fill a bucket from its first place on, each place once, and a number that stands there
    never changes: of two threads that enter the same state, one claims the place, and the other
    finds the state there.
    """
    bucket, remainder = bucket_of(ctx, h), (h << ctx[r.BUCKET_BITS]) >> HALF
    while remainder != ZERO:
        if lanes_with(bucket, remainder) != ZERO:
            return KNOWN
        free = lanes_with(bucket, ZERO)
        if free == ZERO:
            break
        place = trailing_zeros(free)
        if ctx[r.SHARED] == ZERO:
            halves(bucket)[place] = remainder
            return ENTERED
        if claimed(bucket + place * INDEX_BYTES, remainder):
            return ENTERED
    return FULL_BUCKET


@alone
def take_free_slot(ctx, h, n):
    """The first free slot of the index of places for the state with hash h at place n, which
    differs from all there.
    """
    index, slots = halves(ctx[r.INDEX]), ctx[r.INDEX_SLOTS]
    at = home(h, slots)
    while index[at] != ZERO:
        at += ONE
        if at == slots:
            at = ZERO
    take_slot(ctx, at, h, n)


@inside
def enter(wide, ctx, h, n):
    """The state with hash h, at place n of the log, into the index; it differs from all there."""
    if len(wide) == 1 and ctx[r.BUCKETS] != ZERO:
        bucket, remainder = bucket_of(ctx, h), (h << ctx[r.BUCKET_BITS]) >> HALF
        free = lanes_with(bucket, ZERO)
        if remainder != ZERO and free != ZERO:
            halves(bucket)[trailing_zeros(free)] = remainder
            return
        ctx[r.CROWDED] += ONE
        h = mix(h)
    take_free_slot(ctx, h, n)


@alone
def reindex(wide, ctx, log, buffer, hashes):
    """The states of the log, from FROM to TO, into an index that is empty so far; FROM says how far
    there was room for crowded ones.
    """
    W = U(len(wide))
    done, n = ctx[r.FROM], ctx[r.TO]
    while done < n and ctx[r.CROWDED] + ctx[r.BLOCK] <= ctx[r.CROWDED_ROOM]:
        k = ZERO
        while k < ctx[r.BLOCK] and done + k < n:
            for w in range(len(wide)):
                buffer[k * W + U(w)] = log[(done + k) * W + U(w)]
            hashed_ahead(wide, ctx, buffer, hashes, k)
            k += ONE
        i = ZERO
        while i < k:
            enter(wide, ctx, hashes[i], done + i)
            i += ONE
        done += k
    ctx[r.FROM] = done
