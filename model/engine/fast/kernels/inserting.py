"""Successors in the buffer, into index and log: those that are new."""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.folding import enter_line, fold_all
from groupcheck.model.engine.fast.kernels.index import (
    ENTERED,
    FULL_BUCKET,
    enter_bucket,
    free_slot,
    load_compared,
    load_place,
    takes_slot,
)
from groupcheck.model.engine.fast.kernels.intrinsics import ALL, ONE, fetched, inside, mix, words

ZERO, TWO = U(0), U(2)
SEGMENT = U(r.SEGMENT)


@inside
def write(wide, ctx, log, buffer, i, n):
    """The state at i of the buffer to the log, at place n: (n, but a later place where the segment
    of this thread is full).
    """
    W = U(len(wide))
    if n == ctx[r.SEGMENT_END]:
        n = fetched(ctx[r.SHARED], SEGMENT)
        ctx[r.SEGMENT_END] = n + SEGMENT
    for w in range(len(wide)):
        log[n * W + U(w)] = buffer[i * W + U(w)]
    return n


@inside
def note_new(ctx, n, need):
    """A state at place n of the log is new."""
    if need & ctx[r.LIVE]:
        fresh = words(ctx[r.FRESH])
        fresh[ctx[r.FRESH_COUNT] * TWO] = n
        fresh[ctx[r.FRESH_COUNT] * TWO + ONE] = need
        ctx[r.FRESH_COUNT] += ONE
    if ctx[r.NEED_LOG] != ZERO:
        words(ctx[r.NEED_LOG])[n] = need


@inside
def insert_in_buckets(wide, ctx, log, buffer, hashes, needs, k, n):
    """The buffer into buckets and log: the number of states afterwards, and how many found their
    bucket full; these stand in front now.
    """
    full, i = ZERO, ZERO
    while i < k:
        h = hashes[i]
        met = enter_bucket(ctx, h)
        if met == ENTERED:
            n = write(wide, ctx, log, buffer, i, n)
            note_new(ctx, n, needs[i])
            n += ONE
        elif met == FULL_BUCKET:
            h = mix(h)  # apart from its bucket's others
            buffer[full], hashes[full], needs[full] = buffer[i], h, needs[i]
            load_place(ctx, h)
            full += ONE
        i += ONE
    return n, full


@inside
def insert(wide, ctx, log, buffer, hashes, needs, k, n):
    """The buffer into index and log: the number of states afterwards."""
    if len(wide) == 1 and ctx[r.BUCKETS] != ZERO:
        n, k = insert_in_buckets(wide, ctx, log, buffer, hashes, needs, k, n)
    load_compared(wide, ctx, hashes, k)
    entered, i = ZERO, ZERO
    while i < k:
        at = free_slot(wide, ctx, log, buffer, hashes[i], i)
        if at != ALL:
            n = write(wide, ctx, log, buffer, i, n)
            if takes_slot(wide, ctx, log, buffer, hashes[i], i, n, at):
                note_new(ctx, n, needs[i])
                n += ONE
                entered += ONE
        i += ONE
    if len(wide) == 1 and ctx[r.BUCKETS] != ZERO:
        ctx[r.CROWDED] += entered
    return n


@inside
def insert_folded(wide, ctx, log, buffer, hashes, needs, k, n):
    """The same where the index holds keys. Where a state has none, nothing is entered: the whole
    buffer is left over.
    """
    if not fold_all(wide, ctx, buffer, hashes, k):
        ctx[r.LEFT_OVER] = k
        return n
    i = ZERO
    while i < k:
        if enter_line(ctx, hashes[i]) == ENTERED:
            n = write(wide, ctx, log, buffer, i, n)
            note_new(ctx, n, needs[i])
            n += ONE
        i += ONE
    return n
