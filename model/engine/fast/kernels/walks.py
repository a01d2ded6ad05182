"""Urgent rules under symmetry: does it show which index comes first?

Urgent rules apply first index first, and a walk visits one index after the other. Every time that
one fires in a search with symmetry, `may_fire` looks whether the order of indexes could show.
`symmetry_of` (engine/symmetry.py) says what is looked at, and why that is enough.
"""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.intrinsics import (
    ONE,
    alone,
    mix,
    quarters,
    trailing_zeros,
    words,
)
from groupcheck.model.engine.fast.kernels.lookup import look, open_of
from groupcheck.model.engine.fast.kernels.orbits import sort_blocks

ZERO, TWO, THREE, FOUR, WORD = U(0), U(2), U(3), U(4), U(64)
NOTHING = U(r.NOTHING)
LAST_RULE = U(r.WALK_RULES_TOLD - 1)
LOCAL, VISIT = U(r.LOCAL), U(r.VISIT)
TWO_AT_ONCE, IN_A_WALK, ORDER_SHOWS, TOO_MANY_ENDS = (
    U(r.TWO_AT_ONCE),
    U(r.IN_A_WALK),
    U(r.ORDER_SHOWS),
    U(r.TOO_MANY_ENDS),
)


@alone
def unequal(ctx, why, table):
    """Notes that permutations make a difference."""
    ctx[r.UNEQUAL] = why
    ctx[r.UNEQUAL_AT] = table


@alone
def is_directed(ctx, x, at):
    """Does a slot of the state at x[at:] name some of the indexes, but not all?"""
    slots, directed = words(ctx[r.DIRECTING]), words(ctx[r.DIRECTED])
    i = ZERO
    while i < ctx[r.DIRECTING_COUNT]:
        f = i * FOUR
        value = (x[at + slots[f]] >> slots[f + ONE]) & slots[f + TWO]
        if directed[slots[f + THREE] + value] != ZERO:
            return True
        i += ONE
    return False


@alone
def permute(ctx, x, at, order, is_back):
    """Puts at index i the block of index ORDERS[order + i], or the other way round."""
    fields, blocks, orders = words(ctx[r.BLOCKS]), words(ctx[r.SORTED]), words(ctx[r.ORDERS])
    o = ctx[r.WALK_BLOCKS]
    n, parts = fields[o], fields[o + ONE]
    o += TWO
    p = ZERO
    while p < n * parts:
        f = o + p * THREE
        blocks[p] = (x[at + fields[f]] >> fields[f + ONE]) & fields[f + TWO]
        p += ONE
    i = ZERO
    while i < n:
        j = orders[order + i]
        here, there = (j, i) if is_back else (i, j)
        p = ZERO
        while p < parts:
            f = o + (here * parts + p) * THREE
            w = at + fields[f]
            mask = fields[f + TWO] << fields[f + ONE]
            x[w] = (x[w] & ~mask) | (blocks[there * parts + p] << fields[f + ONE])
            p += ONE
        i += ONE


@alone
def visit(wide, ctx, cells, masks, shifts, bases, memory, at, place):
    """The visit that is due in the state at memory[at:]: (row; 0 if there is none, which of the
    walk tables, a row is missing). Notes the rules that it has asked.
    """
    size = words(ctx[r.BLOCKS])[ctx[r.WALK_BLOCKS]]
    tables, bits = words(ctx[r.WALK_TABLES]), words(ctx[r.URGENT_BIT])
    possible = words(ctx[r.URGENT_UNGUARDED])[0] | open_of(
        memory,
        at,
        words(ctx[r.GUARDS]),
        words(ctx[r.GUARD_BITS]),
        ctx[r.URGENT_GUARDS],
        ctx[r.URGENT_GUARDS_END],
    )
    i = ZERO
    while i < ctx[r.WALK_COUNT]:
        table = tables[i * TWO]
        if (possible >> bits[table - ctx[r.TABLES]]) & ONE:
            ctx[r.WALK_RULES] |= ONE << min(i // size, LAST_RULE)
            e = look(wide, ctx, cells, masks, shifts, bases, memory, at, table, place)
            if e < NOTHING:
                return ZERO, i, True
            if e != NOTHING:
                return e, i, False
        i += ONE
    return ZERO, i, False


@alone
def ends_of(wide, ctx, cells, masks, shifts, bases, memory, to, place):
    """All ends of the walk from the state at memory[W:], and what fired on the way to each, into
    memory[to:]: (how many, complete).
    """
    W = U(len(wide))
    kinds, outcomes, labels = (
        quarters(ctx[r.OUTCOMES]),
        words(ctx[r.OUTCOMES]),
        words(ctx[r.KIND_LABELS]),
    )
    tables, stack, now = words(ctx[r.WALK_TABLES]), TWO * W, W
    n, sp, complete = ZERO, ONE, True
    for w in range(len(wide)):
        memory[stack + U(w)] = memory[W + U(w)]
    memory[stack + W] = memory[stack + W + ONE] = ZERO
    while sp > ZERO:
        sp -= ONE
        o = stack + sp * (W + TWO)
        visited, fired = memory[o + W], memory[o + W + ONE]
        for w in range(len(wide)):
            memory[now + U(w)] = memory[o + U(w)]
        e, t, missing = ZERO, ZERO, False
        if is_directed(ctx, memory, now):
            e, t, missing = visit(wide, ctx, cells, masks, shifts, bases, memory, now, place)
        if missing:
            complete = False
            continue
        if e == ZERO:
            if n >= ctx[r.WALK_SIZE]:
                unequal(ctx, TOO_MANY_ENDS, tables[ZERO])
                return n, False
            for w in range(len(wide)):
                memory[to + n * (W + ONE) + U(w)] = memory[now + U(w)]
            memory[to + n * (W + ONE) + W] = fired
            n += ONE
            continue
        table, index = tables[t * TWO], tables[t * TWO + ONE]
        c = U(kinds[e * FOUR])
        if sp + c > ctx[r.WALK_SIZE]:
            unequal(ctx, TOO_MANY_ENDS, table)
            return n, False
        if (visited >> index) & ONE:
            unequal(ctx, ORDER_SHOWS, table)
            return n, False
        first = e + ((c + FOUR) >> TWO)
        j = ZERO
        while j < c:
            label = labels[U(kinds[e * FOUR + ONE + j])]
            o = stack + sp * (W + TWO)
            for w in range(len(wide)):
                memory[o + U(w)] = (memory[now + U(w)] & ~masks[table * W + U(w)]) | outcomes[
                    first + j * W + U(w)
                ]
            memory[o + W] = visited | (ONE << index)
            memory[o + W + ONE] = fired + mix(label + ONE)  # whatever the order in which they fire
            sp += ONE
            j += ONE
    return n, complete


@alone
def sort_ends(memory, at, n, width):
    """Sorts n records of so many words, by the distance that halves (Shell)."""
    gap = n >> ONE
    while gap > ZERO:
        i = gap
        while i < n:
            j = i
            while j >= gap:
                a, b = at + (j - gap) * width, at + j * width
                w = ZERO
                while w + ONE < width and memory[a + w] == memory[b + w]:
                    w += ONE
                if memory[a + w] <= memory[b + w]:
                    break
                w = ZERO
                while w < width:
                    memory[a + w], memory[b + w] = memory[b + w], memory[a + w]
                    w += ONE
                j -= gap
            i += ONE
        gap >>= ONE


@alone
def add_reads(wide, ctx, own):
    """Walks that begin with the value of WALK_READS[own:] read what the rules in WALK_RULES read.
    Those that were found to have no order before did not read what is added now.
    """
    W = U(len(wide))
    reads, masks, rules = words(ctx[r.WALK_READS]), words(ctx[r.WALK_MASKS]), ctx[r.WALK_RULES]
    while rules != ZERO:
        rule = trailing_zeros(rules)
        rules &= rules - ONE
        for w in range(len(wide)):
            reads[own + U(w)] |= masks[rule * W + U(w)]


@alone
def has_no_order(wide, ctx, cells, masks, shifts, bases, x, at, place):
    """Does a walk from the state at x[at:] come to the same ends in whatever order it visits the
    indexes? False where that is not known yet, too.
    """
    W = U(len(wide))
    memory, known, reads, slots = (
        words(ctx[r.WALK_PATHS]),
        words(ctx[r.KNOWN_WALKS]),
        words(ctx[r.WALK_READS]),
        words(ctx[r.DIRECTING]),
    )
    own = ((x[at + slots[ZERO]] >> slots[ONE]) & slots[TWO]) * W
    for w in range(len(wide)):
        memory[U(w)] = x[at + U(w)] & reads[own + U(w)]
    sort_blocks(ctx, memory, ZERO)
    h = ONE
    for w in range(len(wide)):
        h = mix(h ^ memory[U(w)])
    slot = (h >> (WORD - ctx[r.KNOWN_BITS])) * (W + ONE)
    same = known[slot + W] != ZERO
    for w in range(len(wide)):
        same = same and known[slot + U(w)] == memory[U(w)]
    if same:
        return True
    width, size = W + ONE, ctx[r.WALK_SIZE]
    ours = TWO * W + size * (W + TWO)
    ctx[r.WALK_RULES] = ZERO
    theirs = ours + size * width
    for w in range(len(wide)):
        memory[W + U(w)] = x[at + U(w)]
    n, complete = ends_of(wide, ctx, cells, masks, shifts, bases, memory, ours, place)
    sort_ends(memory, ours, n, width)
    count = words(ctx[r.BLOCKS])[ctx[r.WALK_BLOCKS]]
    order = count  # after the order that changes nothing
    while order < ctx[r.ORDER_COUNT] * count and ctx[r.UNEQUAL] == ZERO:
        for w in range(len(wide)):
            memory[W + U(w)] = x[at + U(w)]
        permute(ctx, memory, W, order, False)
        m, whole = ends_of(wide, ctx, cells, masks, shifts, bases, memory, theirs, place)
        complete = complete and whole
        if complete:
            i = ZERO
            while i < m:
                permute(ctx, memory, theirs + i * width, order, True)
                i += ONE
            sort_ends(memory, theirs, m, width)
            equal, i = m == n, ZERO
            while equal and i < n * width:
                equal = memory[ours + i] == memory[theirs + i]
                i += ONE
            if not equal:
                unequal(ctx, ORDER_SHOWS, words(ctx[r.WALK_TABLES])[ZERO])
        order += count
    if not complete or ctx[r.UNEQUAL] != ZERO:
        return False
    add_reads(wide, ctx, own)
    for w in range(len(wide)):
        known[slot + U(w)] = x[at + U(w)] & reads[own + U(w)]
    sort_blocks(ctx, known, slot)
    known[slot + W] = ONE
    return True


@alone
def may_fire(wide, ctx, cells, masks, shifts, bases, x, at, table, possible, is_walking, place):
    """Before an urgent row fires in the state at x[at:]: (it may, whether a walk goes on after it).
    It may not where permutations make a difference, or where a row is missing that would tell.
    """
    own = table - ctx[r.TABLES]
    kind = words(ctx[r.URGENT_IS])[own]
    if kind == LOCAL:
        return True, is_walking
    directed = is_directed(ctx, x, at)
    if directed and kind != VISIT:
        unequal(ctx, IN_A_WALK, table)
        return False, False
    if possible & words(ctx[r.SIBLING_BITS])[own] != ZERO:
        bits, last, other = words(ctx[r.URGENT_BIT]), words(ctx[r.LAST_SIBLING])[own], table + ONE
        while other <= last:
            if (possible >> bits[other - ctx[r.TABLES]]) & ONE:
                e = look(wide, ctx, cells, masks, shifts, bases, x, at, other, place)
                if e < NOTHING:
                    return False, False
                if e != NOTHING:
                    unequal(ctx, TWO_AT_ONCE, table)
                    return False, False
            other += ONE
    if directed and not is_walking:
        return has_no_order(wide, ctx, cells, masks, shifts, bases, x, at, place), True
    return True, directed
