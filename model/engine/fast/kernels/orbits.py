"""Symmetry in the search: each successor becomes the state that stands for its orbit, and counts as
often as its predecessor's orbit has states.

A block is what a state says of one index. The state that stands for an orbit is the one whose
blocks ascend, so it is found by sorting.
"""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.intrinsics import ONE, alone, inside, words

ZERO, TWO, THREE = U(0), U(2), U(3)


@inside
def _is_less(blocks, i, j, parts):
    """Is block i less than block j?"""
    p = ZERO
    while p < parts:
        a, b = blocks[i * parts + p], blocks[j * parts + p]
        if a != b:
            return a < b
        p += ONE
    return False


@alone
def sort_blocks(ctx, x, at):
    """Sorts the blocks of the state at x[at:]. The array of blocks holds of each group: indexes,
    parts, then word, shift and mask of each part of each block.
    """
    fields, blocks = words(ctx[r.BLOCKS]), words(ctx[r.SORTED])
    group, o = ZERO, ZERO
    while group < ctx[r.BLOCK_GROUPS]:
        n, parts = fields[o], fields[o + ONE]
        o += TWO
        has_moved, i = False, ZERO
        while i < n:
            p = i * parts
            while p < (i + ONE) * parts:
                f = o + p * THREE
                blocks[p] = (x[at + fields[f]] >> fields[f + ONE]) & fields[f + TWO]
                p += ONE
            j = i
            while j > ZERO and _is_less(blocks, j, j - ONE, parts):
                p = ZERO
                while p < parts:
                    a, b = j * parts + p, (j - ONE) * parts + p
                    blocks[a], blocks[b] = blocks[b], blocks[a]
                    p += ONE
                has_moved = True
                j -= ONE
            i += ONE
        if has_moved:
            p = ZERO
            while p < n * parts:
                f = o + p * THREE
                w = at + fields[f]
                mask = fields[f + TWO] << fields[f + ONE]
                x[w] = (x[w] & ~mask) | (blocks[p] << fields[f + ONE])
                p += ONE
        o += n * parts * THREE
        group += ONE


@alone
def orbit(ctx, x, at):
    """How many states the orbit of the state at x[at:] has, whose blocks ascend. ORBITS holds that
    number of each group for each set of blocks that equal the next one.
    """
    fields, sizes = words(ctx[r.BLOCKS]), words(ctx[r.ORBITS])
    group, o, first, many = ZERO, ZERO, ZERO, ONE
    while group < ctx[r.BLOCK_GROUPS]:
        n, parts = fields[o], fields[o + ONE]
        o += TWO
        equal, i = ZERO, ONE
        while i < n:
            same, p = True, i * parts
            while same and p < (i + ONE) * parts:
                f, g = o + p * THREE, o + (p - parts) * THREE
                a = (x[at + fields[f]] >> fields[f + ONE]) & fields[f + TWO]
                b = (x[at + fields[g]] >> fields[g + ONE]) & fields[g + TWO]
                same = a == b
                p += ONE
            if same:
                equal |= ONE << (i - ONE)
            i += ONE
        many *= sizes[first + equal]
        first += ONE << (n - ONE)
        o += n * parts * THREE
        group += ONE
    return many


@alone
def weigh(wide, ctx, log, place):
    """Before the state at a place is expanded."""
    ctx[r.WEIGHT] = orbit(ctx, log, place * U(len(wide)))
    ctx[r.MOVED] = ZERO


@alone
def _stand(wide, ctx, log, buffer, k, place):
    W = U(len(wide))
    for w in range(len(wide)):
        if buffer[k * W + U(w)] != log[place * W + U(w)]:
            ctx[r.MOVED] = ONE
    sort_blocks(ctx, buffer, k * W)


@inside
def stand(wide, ctx, log, buffer, k, place):
    """The successor at k of the buffer, of the state at a place, becomes the one that stands for
    its orbit.
    """
    if ctx[r.BLOCKS] != ZERO:
        _stand(wide, ctx, log, buffer, k, place)
