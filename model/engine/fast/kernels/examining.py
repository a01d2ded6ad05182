"""Looking predicates up for stored states, so that combinations of values that were not seen before
are asked for.

Predicates read views, and these read slots. The cells of all views and predicates over slots that
some states need are loaded side by side; then they are read.
"""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.intrinsics import (
    ONE,
    alone,
    halves,
    inside,
    trailing_zeros,
    words,
)
from groupcheck.model.engine.fast.kernels.lookup import look, look_viewed, read_cell, where

ZERO, TWO, SIXTY_FOUR = U(0), U(2), U(64)
NOTHING = U(r.NOTHING)


@inside
def views_of(ctx, need):
    """The views that the predicates in `need` read, as bits (view v at bit v % 64)."""
    view_needs, wanted = words(ctx[r.VIEW_NEEDS]), ZERO
    while need != ZERO and ctx[r.VIEW_COUNT] != ZERO:
        wanted |= view_needs[trailing_zeros(need)]
        need &= need - ONE
    return wanted


@inside
def load_ahead(wide, ctx, x, place, need, f):
    """Where the cells are that the predicates in `need` read for the state at a place, in LOOKS
    from `f` on; starts loading them. Returns where the next ones go.
    """
    W = U(len(wide))
    masks, shifts, bases = words(ctx[r.MASKS]), words(ctx[r.SHIFTS]), words(ctx[r.BASES])
    looks, firsts = words(ctx[r.LOOKS]), words(ctx[r.PREDICATE_FIRST])
    wanted = views_of(ctx, need)
    while wanted != ZERO:
        v = trailing_zeros(wanted)
        wanted &= wanted - ONE
        while v < ctx[r.VIEW_COUNT]:
            looks[f] = where(wide, ctx, masks, shifts, bases, x, place * W, ctx[r.VIEW_FIRST] + v)
            f += ONE
            v += SIXTY_FOUR
    while need != ZERO:
        b = trailing_zeros(need)
        need &= need - ONE
        table = firsts[b]
        while table < firsts[b + ONE] and table < ctx[r.VIEWED_FROM]:
            looks[f] = where(wide, ctx, masks, shifts, bases, x, place * W, table)
            f += ONE
            table += ONE
    return f


@inside
def view_values(wide, ctx, x, place, wanted, f):
    """Reads the views in `wanted`: (where the next cell is noted, are all rows there)."""
    W = U(len(wide))
    bases, values, places = (
        words(ctx[r.BASES]),
        words(ctx[r.VIEW_VALUES]),
        words(ctx[r.VIEW_PLACES]),
    )
    looks, first, complete = words(ctx[r.LOOKS]), ctx[r.VIEW_FIRST], True
    v = ZERO
    while v < ctx[r.VIEW_WORDS]:
        values[v] = ZERO
        v += ONE
    while wanted != ZERO:
        v = trailing_zeros(wanted)
        wanted &= wanted - ONE
        while v < ctx[r.VIEW_COUNT]:
            e = read_cell(wide, ctx, bases, x, place * W, first + v, place, looks[f])
            if e < NOTHING:
                complete = False
            else:
                values[places[v * TWO]] |= (e - NOTHING) << places[v * TWO + ONE]
            f += ONE
            v += SIXTY_FOUR
    return f, complete


@inside
def examine(wide, ctx, x, place, need, f):
    """Reads what `load_ahead` has started to load. Where a view is missing, the state is put off.
    Returns where the cells of the next state are noted.
    """
    W = U(len(wide))
    at = place * W
    bases, looks, firsts = words(ctx[r.BASES]), words(ctx[r.LOOKS]), words(ctx[r.PREDICATE_FIRST])
    f, viewed = view_values(wide, ctx, x, place, views_of(ctx, need), f)
    complete = viewed
    left = need
    while left != ZERO:
        b = trailing_zeros(left)
        left &= left - ONE
        table = firsts[b]
        while table < firsts[b + ONE]:
            if table < ctx[r.VIEWED_FROM]:
                e = read_cell(wide, ctx, bases, x, at, table, place, looks[f])
                f += ONE
                complete = complete and e != ZERO  # 0: there was no room to ask
            elif viewed:
                complete = look_viewed(wide, ctx, x, at, table, place) != ZERO and complete
            table += ONE
    if not complete:
        put_off(ctx, place, need)
    return f


@inside
def examine_slots(wide, ctx, x, place, need):
    """The same at once, where predicates read slots alone: their tables are few, and near."""
    W = U(len(wide))
    cells, masks, shifts, bases = (
        halves(ctx[r.CELLS]),
        words(ctx[r.MASKS]),
        words(ctx[r.SHIFTS]),
        words(ctx[r.BASES]),
    )
    firsts, complete, left = words(ctx[r.PREDICATE_FIRST]), True, need
    while left != ZERO:
        b = trailing_zeros(left)
        left &= left - ONE
        table = firsts[b]
        while table < firsts[b + ONE]:
            e = look(wide, ctx, cells, masks, shifts, bases, x, place * W, table, place)
            complete = complete and e != ZERO  # 0: there was no room to ask
            table += ONE
    if not complete:
        put_off(ctx, place, need)


@alone
def put_off(ctx, place, need):
    """Notes a state whose predicates could not all be looked at."""
    pairs = words(ctx[r.PUT_OFF])
    pairs[ctx[r.PUT_OFF_COUNT] * TWO] = place
    pairs[ctx[r.PUT_OFF_COUNT] * TWO + ONE] = need
    ctx[r.PUT_OFF_COUNT] += ONE


@alone
def examine_all(wide, ctx, x, listed, n):
    """Looks predicates up for n states. `listed`: the place of each, and the predicates that it
    needs.
    """
    most = ctx[r.LOOKS_SIZE] - (ctx[r.VIEWED_FROM] - ctx[r.VIEW_FIRST])
    live = ctx[r.LIVE]
    done = ZERO
    while done < n and ctx[r.VIEW_COUNT] == ZERO:
        examine_slots(wide, ctx, x, listed[done * TWO], listed[done * TWO + ONE] & live)
        done += ONE
    while done < n:
        end, f = done, ZERO
        while end < n and f <= most:
            f = load_ahead(wide, ctx, x, listed[end * TWO], listed[end * TWO + ONE] & live, f)
            end += ONE
        f = ZERO
        while done < end:
            f = examine(wide, ctx, x, listed[done * TWO], listed[done * TWO + ONE] & live, f)
            done += ONE
