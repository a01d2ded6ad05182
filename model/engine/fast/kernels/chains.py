"""Expanding many states at once, where steps are chains of urgent rules.

A chain is a sequence of look-ups of which each needs the answer of the one before, in tables that
do not lie in the nearest cache. So some hundred chains advance side by side, round by round: each
round works out where the next row of every chain is and starts loading it, then reads what has come
in the meantime. The steps of all chains are kept as a forest (ITEMS); when none can go on, the
forest is walked in the order in which one chain after the other would have been run.

What needs a missing row, or does not fit, is put off as a pair (state, table), for `firing.py`.
"""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.index import hashed
from groupcheck.model.engine.fast.kernels.intrinsics import (
    ONE,
    alone,
    halves,
    inside,
    prefetch,
    quarters,
    trailing_zeros,
    words,
)
from groupcheck.model.engine.fast.kernels.lookup import open_among, open_of, read_cell, where
from groupcheck.model.engine.fast.kernels.orbits import stand
from groupcheck.model.engine.fast.kernels.walks import is_directed, may_fire, unequal

ZERO, TWO, THREE, FOUR, FIVE, SIX, EIGHT = U(0), U(2), U(3), U(4), U(5), U(6), U(8)
HALF, LOW = U(32), U(0xFFFFFFFF)
WALKING = U(1 << 63)  # beside the pair of an item: a walk goes on
LISTED = U(r.LISTED)
NOTHING, NO_TABLE = U(r.NOTHING), U(0xFFFFFFFF)
DIRECTED_AT_REST = U(r.DIRECTED_AT_REST)
# Of a pair: the place of its state, its table, where its row is (then the row), its first item,
# how many items it has, is it put off?
PAIR = U(r.PAIR_WORDS)
# Of an item, after the words of its state: urgent tables that may be possible; predicates to be
# looked at; kind, pair, and whether a walk goes on; first child and number of children; the table
# that is looked up; where its row is (then the row).
ITEM = U(r.ITEM_WORDS)


@inside
def pair_of(word):
    """The pair of an item, by the word that holds it."""
    return (word & ~WALKING) >> HALF


@inside
def open_pairs(wide, ctx, mode, s, hi, most):
    """The pairs (state, open table) for states from `s` on; starts loading their cells: (next
    state, pairs). States are added while there are fewer than `most` pairs.
    """
    W = U(len(wide))
    log, masks, shifts, bases = (
        words(ctx[r.LOG]),
        words(ctx[r.MASKS]),
        words(ctx[r.SHIFTS]),
        words(ctx[r.BASES]),
    )
    unguarded, chunk_guards = words(ctx[r.UNGUARDED]), words(ctx[r.CHUNK_GUARDS])
    guards, bits = words(ctx[r.GUARDS]), words(ctx[r.GUARD_BITS])
    pairs, listed, chunks = words(ctx[r.PAIRS]), words(ctx[r.LIST]), ctx[r.CHUNKS]
    n = ZERO
    while s < hi and n < most:
        place = listed[s] if mode == LISTED else s
        at = place * W
        chunk = ZERO
        while chunk < chunks:
            open_ = unguarded[chunk] | open_of(
                log, at, guards, bits, chunk_guards[chunk], chunk_guards[chunk + ONE]
            )
            while open_ != ZERO:
                table = (chunk << SIX) + trailing_zeros(open_)
                open_ &= open_ - ONE
                p = n * PAIR
                pairs[p] = place
                pairs[p + ONE] = table
                pairs[p + TWO] = where(wide, ctx, masks, shifts, bases, log, at, table)
                pairs[p + FOUR] = ZERO
                pairs[p + FIVE] = ZERO
                n += ONE
            chunk += ONE
        s += ONE
    return s, n


@inside
def read_rows(wide, ctx, n):
    """Reads the cells of n pairs, and starts loading their rows. Pairs without outcomes are
    dropped: the number of pairs left.
    """
    W = U(len(wide))
    pairs, log, rows = words(ctx[r.PAIRS]), words(ctx[r.LOG]), ctx[r.OUTCOMES]
    bases = words(ctx[r.BASES])
    kept, i = ZERO, ZERO
    while i < n:
        p = i * PAIR
        place, table = pairs[p], pairs[p + ONE]
        e = read_cell(wide, ctx, bases, log, place * W, table, place, pairs[p + TWO])
        if e != NOTHING:
            q = kept * PAIR
            pairs[q] = place
            pairs[q + ONE] = table
            pairs[q + TWO] = e
            pairs[q + FOUR] = ZERO
            pairs[q + FIVE] = ZERO
            if e > NOTHING:
                prefetch(rows + e * EIGHT)
            else:
                pairs[q + FIVE] = ONE
            kept += ONE
        i += ONE
    return kept


@inside
def fire(wide, ctx, x, at, table, e, possible, need, items, used, pair, going, to):
    """The outcomes of a row as items from `used` on, in the state at x[at:]; those that may not be
    at rest are added to the list `going`: (items, length of the list). `pair`: with WALKING.
    """
    W = U(len(wide))
    outcomes, kinds, masks = words(ctx[r.OUTCOMES]), quarters(ctx[r.OUTCOMES]), words(ctx[r.MASKS])
    urgent_after, kind_needs = words(ctx[r.KIND_URGENT]), words(ctx[r.KIND_NEEDS])
    c = U(kinds[e * FOUR])
    first = e + ((c + FOUR) >> TWO)
    j = ZERO
    while j < c:
        kind = U(kinds[e * FOUR + ONE + j])
        o = used * (W + ITEM)
        for w in range(len(wide)):
            items[o + U(w)] = (x[at + U(w)] & ~masks[table * W + U(w)]) | outcomes[
                first + j * W + U(w)
            ]
        after = possible | urgent_after[kind]
        items[o + W] = after
        items[o + W + ONE] = need | kind_needs[kind]
        items[o + W + TWO] = kind | pair << HALF
        items[o + W + THREE] = ZERO
        items[o + W + FOUR] = NO_TABLE
        if after != ZERO:
            going[to] = used
            to += ONE
        used += ONE
        j += ONE
    return used, to


@inside
def begin(wide, ctx, n):
    """Fires the rows of n pairs: (items, those that may not be at rest, was there no room)."""
    W = U(len(wide))
    pairs, log, kinds = words(ctx[r.PAIRS]), words(ctx[r.LOG]), quarters(ctx[r.OUTCOMES])
    items, going, size = words(ctx[r.ITEMS]), words(ctx[r.GOING]), ctx[r.ITEMS_SIZE]
    used, to, full = ZERO, ZERO, False
    i = ZERO
    while i < n:
        p = i * PAIR
        e = pairs[p + TWO]
        if e > NOTHING:
            c = U(kinds[e * FOUR])
            if used + c > size:
                pairs[p + FIVE] = ONE
                full = True
            else:
                pairs[p + THREE] = used
                pairs[p + FOUR] = c
                used, to = fire(
                    wide,
                    ctx,
                    log,
                    pairs[p] * W,
                    pairs[p + ONE],
                    e,
                    ZERO,
                    ZERO,
                    items,
                    used,
                    i,
                    going,
                    to,
                )
        i += ONE
    return used, to, full


@inside
def look_ahead(wide, ctx, n):
    """For n items that may not be at rest: which table is looked up next; starts loading its cell.
    Drops items at rest from the list: the length that is left.
    """
    W = U(len(wide))
    masks, shifts, bases = words(ctx[r.MASKS]), words(ctx[r.SHIFTS]), words(ctx[r.BASES])
    groups, unguarded = words(ctx[r.URGENT_FIRST]), words(ctx[r.URGENT_UNGUARDED])
    guards, bits = words(ctx[r.GUARDS]), words(ctx[r.GUARD_BITS])
    first_guard, end_guard = ctx[r.URGENT_GUARDS], ctx[r.URGENT_GUARDS_END]
    items, going = words(ctx[r.ITEMS]), words(ctx[r.GOING])
    kept, i = ZERO, ZERO
    while i < n:
        item = going[i]
        o = item * (W + ITEM)
        table = items[o + W + FOUR]
        if table == NO_TABLE:
            possible = items[o + W]
            possible = possible & unguarded[0] | open_among(
                possible, items, o, guards, bits, first_guard, end_guard
            )
            items[o + W] = possible
            if possible == ZERO:
                i += ONE
                continue
            table = groups[trailing_zeros(possible)]
            items[o + W + FOUR] = table
        items[o + W + FIVE] = where(wide, ctx, masks, shifts, bases, items, o, table)
        going[kept] = item
        kept += ONE
        i += ONE
    return kept


@alone
def bears(wide, ctx, items, o, table, place):
    """Under symmetry: may this urgent table fire in the item at `o`? Notes whether a walk goes on
    after it.
    """
    at = o + U(len(wide))
    may, is_walking = may_fire(
        wide,
        ctx,
        halves(ctx[r.CELLS]),
        words(ctx[r.MASKS]),
        words(ctx[r.SHIFTS]),
        words(ctx[r.BASES]),
        items,
        o,
        table,
        items[at],
        items[at + TWO] >= WALKING,
        place,
    )
    items[at + TWO] = (items[at + TWO] & ~WALKING) | (WALKING if is_walking else ZERO)
    return may


@inside
def read_ahead(wide, ctx, n):
    """Reads the cells of n items. The list keeps those whose table had nothing, and which have
    another one to try; those with a row go to another list: the lengths of both.
    """
    W = U(len(wide))
    groups, rows, bases = words(ctx[r.URGENT_FIRST]), ctx[r.OUTCOMES], words(ctx[r.BASES])
    items, going, firing, pairs = (
        words(ctx[r.ITEMS]),
        words(ctx[r.GOING]),
        words(ctx[r.FIRING]),
        words(ctx[r.PAIRS]),
    )
    is_permuted = ctx[r.URGENT_IS] != ZERO
    kept, to, i = ZERO, ZERO, ZERO
    while i < n:
        item = going[i]
        o = item * (W + ITEM)
        table = items[o + W + FOUR]
        pair = pair_of(items[o + W + TWO]) * PAIR
        e = read_cell(wide, ctx, bases, items, o, table, pairs[pair], items[o + W + FIVE])
        if e > NOTHING and is_permuted and not bears(wide, ctx, items, o, table, pairs[pair]):
            e = ZERO
        if e > NOTHING:
            prefetch(rows + e * EIGHT)
            items[o + W + FIVE] = e
            firing[to] = item
            to += ONE
        elif e == NOTHING:
            possible = items[o + W]
            table += ONE
            if table == groups[trailing_zeros(possible) + ONE]:
                possible &= possible - ONE
                items[o + W] = possible
                if possible != ZERO:
                    table = groups[trailing_zeros(possible)]
            if possible != ZERO:
                items[o + W + FOUR] = table
                going[kept] = item
                kept += ONE
        else:
            pairs[pair + FIVE] = ONE
        i += ONE
    return kept, to


@inside
def run_chains(wide, ctx, used, n):
    """Lets n items go on until all are at rest or put off; True if there was no room for some."""
    W = U(len(wide))
    items, going, firing, pairs = (
        words(ctx[r.ITEMS]),
        words(ctx[r.GOING]),
        words(ctx[r.FIRING]),
        words(ctx[r.PAIRS]),
    )
    kinds, size = quarters(ctx[r.OUTCOMES]), ctx[r.ITEMS_SIZE]
    full = False
    while n != ZERO:
        n = look_ahead(wide, ctx, n)
        n, m = read_ahead(wide, ctx, n)
        i = ZERO
        while i < m:
            o = firing[i] * (W + ITEM)
            pair, e = items[o + W + TWO] >> HALF, items[o + W + FIVE]  # the pair with WALKING
            c = U(kinds[e * FOUR])
            if used + c > size:
                pairs[pair_of(items[o + W + TWO]) * PAIR + FIVE] = ONE
                full = True
            else:
                items[o + W + THREE] = used << HALF | c
                used, n = fire(
                    wide,
                    ctx,
                    items,
                    o,
                    items[o + W + FOUR],
                    e,
                    items[o + W],
                    items[o + W + ONE],
                    items,
                    used,
                    pair,
                    going,
                    n,
                )
            i += ONE
    return full


@inside
def harvest(wide, ctx, root, k, place):
    """The states at rest below an item, with their chains counted, to the buffer: successors so
    far. `place`: of the state before them.
    """
    W = U(len(wide))
    items, stack = words(ctx[r.ITEMS]), words(ctx[r.GOING])
    path, fired = quarters(ctx[r.CHAIN]), words(ctx[r.FIRED])
    buffer, hashes, needs = words(ctx[r.BUFFER]), words(ctx[r.HASHES]), words(ctx[r.NEEDS])
    log, weight, is_directing = words(ctx[r.LOG]), ctx[r.WEIGHT], ctx[r.DIRECTING_COUNT] != ZERO
    stack[0] = root
    sp = ONE
    while sp > ZERO:
        sp -= ONE
        top = stack[sp]
        length = top >> HALF
        o = (top & LOW) * (W + ITEM)
        path[length] = items[o + W + TWO]
        children = items[o + W + THREE]
        c = children & LOW
        if c == ZERO:
            for w in range(len(wide)):
                buffer[k * W + U(w)] = items[o + U(w)]
            needs[k] = items[o + W + ONE]
            if is_directing and is_directed(ctx, items, o):
                unequal(ctx, DIRECTED_AT_REST, ctx[r.TABLES])
            stand(wide, ctx, log, buffer, k, place)
            hashed(wide, ctx, buffer, hashes, k)
            k += ONE
            i = ZERO
            while i <= length:
                fired[path[i]] += weight
                i += ONE
        else:
            child, end = children >> HALF, (children >> HALF) + c
            while child < end:
                stack[sp] = child | (length + ONE) << HALF
                sp += ONE
                child += ONE
    return k


@alone
def expand_chained(wide, ctx, mode, s, hi, most):
    """Expands states from `s` on, some at once: (next state, pairs, was there no room)."""
    s, n = open_pairs(wide, ctx, mode, s, hi, most)
    n = read_rows(wide, ctx, n)
    used, going, full = begin(wide, ctx, n)
    more = run_chains(wide, ctx, used, going)
    return s, n, full or more


@alone
def gather_pair(wide, ctx, p, k):
    """The successors of a pair that is complete, to the buffer: successors so far."""
    pairs = words(ctx[r.PAIRS])
    item = pairs[p * PAIR + THREE]
    end = item + pairs[p * PAIR + FOUR]
    while item < end:
        k = harvest(wide, ctx, item, k, pairs[p * PAIR])
        item += ONE
    return k
