"""Looking a state up in the tables: the cell of its row, dense or by hash; where it is unknown,
Python is asked for the row.

Functions of this package are generic in the words of a state: `wide` is a tuple with one element
for each word, so its length is known when numba compiles, and loops over the words unroll.
"""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.intrinsics import (
    ALL,
    FULL,
    ONE,
    alone,
    gather,
    halves,
    home,
    inside,
    mix,
    words,
)

ZERO, TWO, THREE, FOUR, HALF = U(0), U(2), U(3), U(4), U(32)
HASH_BASE, ASKED_FOR = U(r.HASHED), U(r.ASKED_FOR)


@alone
def ask(wide, ctx, x, at, table, place, views):
    """Asks Python for the row of the state at x[at:]; False if there is no room to ask."""
    W = U(len(wide))
    count = ctx[r.ASKED_COUNT]
    if count >= ctx[r.ASKED_SIZE]:
        return False
    asked = words(ctx[r.ASKED])
    masks = words(ctx[r.MASKS])
    extra = ctx[r.VIEW_WORDS]
    o = count * (W + extra + TWO)
    for w in range(len(wide)):
        asked[o + U(w)] = x[at + U(w)] & masks[table * W + U(w)]
    v = ZERO
    while v < extra:
        asked[o + W + v] = (
            words(ctx[r.VIEW_VALUES])[v] & words(ctx[r.VIEW_MASKS])[table * extra + v]
            if views
            else ZERO
        )
        v += ONE
    asked[o + W + extra] = table
    asked[o + W + extra + ONE] = place
    ctx[r.ASKED_COUNT] = count + ONE
    return True


@alone
def find(wide, ctx, x, at, table, place, views):
    """The cell of a hashed table; a key that is not there is entered and asked for."""
    W = U(len(wide))
    masks = words(ctx[r.MASKS])
    rows, stride = words(ctx[r.HASH]), ctx[r.KEY_WORDS] + ONE
    extra = ctx[r.VIEW_WORDS] if views else ZERO
    view_masks, view_values = words(ctx[r.VIEW_MASKS]), words(ctx[r.VIEW_VALUES])
    h = table + ONE
    for w in range(len(wide)):
        h = mix(h ^ (x[at + U(w)] & masks[table * W + U(w)]))
    v = ZERO
    while v < extra:
        h = mix(h ^ (view_values[v] & view_masks[table * extra + v]))
        v += ONE
    size = ctx[r.HASH_SIZE]
    slot = home(h, size)
    while rows[slot * stride] != ZERO:
        value = rows[slot * stride]
        if value >> HALF == table + ONE:
            k = slot * stride + ONE
            same = True
            for w in range(len(wide)):
                same = same and rows[k + U(w)] == x[at + U(w)] & masks[table * W + U(w)]
            v = ZERO
            while v < extra:
                same = same and rows[k + W + v] == view_values[v] & view_masks[table * extra + v]
                v += ONE
            if same:
                return value & FULL
        slot += ONE
        if slot == size:
            slot = ZERO
    if not ask(wide, ctx, x, at, table, place, views):
        return ZERO
    k = slot * stride + ONE
    for w in range(len(wide)):
        rows[k + U(w)] = x[at + U(w)] & masks[table * W + U(w)]
    v = ZERO
    while v < extra:
        rows[k + W + v] = view_values[v] & view_masks[table * extra + v]
        v += ONE
    rows[slot * stride] = (table + ONE) << HALF | ASKED_FOR
    ctx[r.HASH_COUNT] += ONE
    return ASKED_FOR


@inside
def look(wide, ctx, cells, masks, shifts, bases, x, at, table, place):
    """The cell for the state at x[at:] in a table over slots alone; asks where it is unknown."""
    W = U(len(wide))
    cell = bases[table]
    if cell == HASH_BASE:
        return find(wide, ctx, x, at, table, place, False)
    for w in range(len(wide)):
        cell += gather(x[at + U(w)], masks[table * W + U(w)]) << shifts[table * W + U(w)]
    e = U(cells[cell])
    if e == ZERO and ask(wide, ctx, x, at, table, place, False):
        cells[cell] = 1
        return ASKED_FOR
    return e


@alone
def look_viewed(wide, ctx, x, at, table, place):
    """The cell of a predicate over views (and slots)."""
    W = U(len(wide))
    cell = words(ctx[r.BASES])[table]
    if cell == HASH_BASE:
        return find(wide, ctx, x, at, table, place, True)
    for w in range(len(wide)):
        cell += (
            gather(x[at + U(w)], words(ctx[r.MASKS])[table * W + U(w)])
            << words(ctx[r.SHIFTS])[table * W + U(w)]
        )
    extra = ctx[r.VIEW_WORDS]
    v = ZERO
    while v < extra:
        bits = gather(words(ctx[r.VIEW_VALUES])[v], words(ctx[r.VIEW_MASKS])[table * extra + v])
        cell += bits << words(ctx[r.VIEW_SHIFTS])[table * extra + v]
        v += ONE
    e = U(halves(ctx[r.CELLS])[cell])
    if e == ZERO and ask(wide, ctx, x, at, table, place, True):
        halves(ctx[r.CELLS])[cell] = 1
        return ASKED_FOR
    return e


@inside
def open_of(x, at, guards, bits, first, end):
    """The tables (or urgent groups) that a guard lets through in this state, as bits."""
    out = ZERO
    while first < end:
        g = first * FOUR
        out |= bits[guards[g + THREE] + ((x[at + guards[g]] >> guards[g + ONE]) & guards[g + TWO])]
        if out == ALL:
            break  # also keeps the compiler from gathering several at once, which takes longer
        first += ONE
    return out
