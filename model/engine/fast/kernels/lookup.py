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
    prefetch,
    publish,
    words,
)

ZERO, TWO, THREE, FOUR, FIVE, EIGHT, SIXTEEN, HALF = (
    U(0),
    U(2),
    U(3),
    U(4),
    U(5),
    U(8),
    U(16),
    U(32),
)
HASH_BASE, DENSE_END, ASKED_FOR = U(r.HASHED), U(r.DENSE_END), U(r.ASKED_FOR)


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


@inside
def slot_of(wide, ctx, masks, x, at, table, views):
    """The slot of the hash where the row of the state at x[at:] is looked for first."""
    W = U(len(wide))
    extra = ctx[r.VIEW_WORDS] if views else ZERO
    h = table + ONE
    for w in range(len(wide)):
        h = mix(h ^ (x[at + U(w)] & masks[table * W + U(w)]))
    v = ZERO
    while v < extra:
        h = mix(h ^ (words(ctx[r.VIEW_VALUES])[v] & words(ctx[r.VIEW_MASKS])[table * extra + v]))
        v += ONE
    return home(h, ctx[r.HASH_SIZE])


@alone
def find(wide, ctx, x, at, table, place, views, slot):
    """The cell of a hashed table, looked for from a slot on; a key that is not there is entered
    and asked for.
    """
    W = U(len(wide))
    masks = words(ctx[r.MASKS])
    rows, stride = words(ctx[r.HASH]), ctx[r.KEY_WORDS] + ONE
    extra = ctx[r.VIEW_WORDS] if views else ZERO
    view_masks, view_values = words(ctx[r.VIEW_MASKS]), words(ctx[r.VIEW_VALUES])
    size = ctx[r.HASH_SIZE]
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
    publish(ctx[r.HASH] + slot * stride * EIGHT, (table + ONE) << HALF | ASKED_FOR)
    ctx[r.HASH_COUNT] += ONE
    return ASKED_FOR


@alone
def find_keyed(wide, ctx, x, at, table, place, views, key):
    """The cell of a row by its key; a key that is not there is entered and asked for."""
    rows, size = words(ctx[r.KEYED]), ctx[r.KEYED_SIZE]
    slot = home(mix(key), size)
    while rows[slot * TWO] != key:
        if rows[slot * TWO] == ZERO:
            if not ask(wide, ctx, x, at, table, place, views):
                return ZERO
            rows[slot * TWO + ONE] = ASKED_FOR
            publish(ctx[r.KEYED] + slot * SIXTEEN, key)
            ctx[r.KEYED_COUNT] += ONE
            return ASKED_FOR
        slot += ONE
        if slot == size:
            slot = ZERO
    return rows[slot * TWO + ONE]


@inside
def where(wide, ctx, masks, shifts, bases, x, at, table):
    """Where the cell for the state at x[at:] in a table over slots is: its number, or the key of
    the row, or for words of a state the slot of the hash where they are looked for first. Starts
    loading it.
    """
    W = U(len(wide))
    cell = bases[table]
    if cell == HASH_BASE:
        slot = slot_of(wide, ctx, masks, x, at, table, False)
        prefetch(ctx[r.HASH] + slot * (ctx[r.KEY_WORDS] + ONE) * EIGHT)
        return slot
    for w in range(len(wide)):
        cell += gather(x[at + U(w)], masks[table * W + U(w)]) << shifts[table * W + U(w)]
    if cell < DENSE_END:
        prefetch(ctx[r.CELLS] + cell * FOUR)
    else:
        prefetch(ctx[r.KEYED] + home(mix(cell), ctx[r.KEYED_SIZE]) * SIXTEEN)
    return cell


@inside
def read_cell(wide, ctx, bases, x, at, table, place, found):
    """The cell that `where` has found; asks where it is unknown."""
    if found < DENSE_END:
        if bases[table] == HASH_BASE:
            return find(wide, ctx, x, at, table, place, False, found)
        e = U(halves(ctx[r.CELLS])[found])
        if e == ZERO and ask(wide, ctx, x, at, table, place, False):
            halves(ctx[r.CELLS])[found] = 1
            return ASKED_FOR
        return e
    return find_keyed(wide, ctx, x, at, table, place, False, found)


@inside
def look(wide, ctx, cells, masks, shifts, bases, x, at, table, place):
    """The cell for the state at x[at:] in a table over slots alone; asks where it is unknown."""
    W = U(len(wide))
    cell = bases[table]
    if cell == HASH_BASE:
        slot = slot_of(wide, ctx, masks, x, at, table, False)
        return find(wide, ctx, x, at, table, place, False, slot)
    for w in range(len(wide)):
        cell += gather(x[at + U(w)], masks[table * W + U(w)]) << shifts[table * W + U(w)]
    if cell >= DENSE_END:
        return find_keyed(wide, ctx, x, at, table, place, False, cell)
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
        slot = slot_of(wide, ctx, words(ctx[r.MASKS]), x, at, table, True)
        return find(wide, ctx, x, at, table, place, True, slot)
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
    if cell >= DENSE_END:
        return find_keyed(wide, ctx, x, at, table, place, True, cell)
    e = U(halves(ctx[r.CELLS])[cell])
    if e == ZERO and ask(wide, ctx, x, at, table, place, True):
        halves(ctx[r.CELLS])[cell] = 1
        return ASKED_FOR
    return e


@inside
def open_of(x, at, guards, bits, first, end):
    """The tables that a guard lets through in this state, as bits."""
    out = ZERO
    while first < end:
        g = first * FIVE
        out |= bits[guards[g + THREE] + ((x[at + guards[g]] >> guards[g + ONE]) & guards[g + TWO])]
        if out == ALL:
            break  # also keeps the compiler from gathering several at once, which takes longer
        first += ONE
    return out


@inside
def open_among(possible, x, at, guards, bits, first, end):
    """The same for urgent groups, of which only some are possible: guards that open none of them
    are not looked at.
    """
    out = ZERO
    while first < end:
        g = first * FIVE
        if guards[g + FOUR] & possible != ZERO:
            out |= bits[
                guards[g + THREE] + ((x[at + guards[g]] >> guards[g + ONE]) & guards[g + TWO])
            ]
        first += ONE
    return out & possible
