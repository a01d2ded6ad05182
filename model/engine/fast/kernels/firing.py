"""Firing a row: its outcomes as successors in the buffer, after the urgent rules that they make
possible.

The kind of an outcome says which urgent tables may have become possible (`KIND_URGENT`); the first
with outcomes is applied, its branches wait on a stack. A row that is missing anywhere inside puts
the whole pair (state, table) off; it is counted only when complete.
"""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.index import hashed
from groupcheck.model.engine.fast.kernels.intrinsics import (
    ONE,
    alone,
    inside,
    quarters,
    trailing_zeros,
    words,
)
from groupcheck.model.engine.fast.kernels.lookup import look, open_among
from groupcheck.model.engine.fast.kernels.orbits import stand
from groupcheck.model.engine.fast.kernels.walks import is_directed, may_fire, unequal

ZERO, TWO, THREE, FOUR = U(0), U(2), U(3), U(4)
WALKING = U(1 << 32)  # beside the length of a chain: a walk goes on
DIRECTED_AT_REST = U(r.DIRECTED_AT_REST)
NOTHING, LONGEST = U(r.NOTHING), U(r.LONGEST_CHAIN)


@alone
def enabled(wide, ctx, cells, masks, shifts, bases, current, possible, is_walking, place):
    """The first urgent table with outcomes in the state `current`: (row or 0, table, what may still
    be possible, a row is missing, a walk goes on after it). Where permutations make a difference,
    the row counts as missing, too.
    """
    groups = words(ctx[r.URGENT_FIRST])
    possible = possible & words(ctx[r.URGENT_UNGUARDED])[0] | open_among(
        possible,
        current,
        ZERO,
        words(ctx[r.GUARDS]),
        words(ctx[r.GUARD_BITS]),
        ctx[r.URGENT_GUARDS],
        ctx[r.URGENT_GUARDS_END],
    )
    while possible != ZERO:
        g = trailing_zeros(possible)
        table = groups[g]
        while table < groups[g + ONE]:
            e = look(wide, ctx, cells, masks, shifts, bases, current, ZERO, table, place)
            if e < NOTHING:
                return ZERO, table, possible, True, False
            if e != NOTHING:
                fine = True
                if ctx[r.URGENT_IS] != ZERO:
                    fine, is_walking = may_fire(
                        wide, ctx, cells, masks, shifts, bases, current, ZERO, table, possible,
                        is_walking, place,
                    )  # fmt: skip
                return e, table, possible, not fine, is_walking
            table += ONE
        possible &= possible - ONE
    if ctx[r.DIRECTING_COUNT] != ZERO and is_directed(ctx, current, ZERO):
        unequal(ctx, DIRECTED_AT_REST, ctx[r.TABLES])
        return ZERO, ZERO, possible, True, False
    return ZERO, ZERO, possible, False, False


@alone
def chain(wide, ctx, cells, masks, shifts, bases, sp, k, done, place):
    """Runs urgent rules from the states on the stack to rest: (successors, kinds noted,
    complete).
    """
    W = U(len(wide))
    stack, current, path, note = (
        words(ctx[r.STACK]),
        words(ctx[r.CURRENT]),
        quarters(ctx[r.CHAIN]),
        quarters(ctx[r.DONE]),
    )
    outcomes, kinds = words(ctx[r.OUTCOMES]), quarters(ctx[r.OUTCOMES])
    buffer, hashes, needs = words(ctx[r.BUFFER]), words(ctx[r.HASHES]), words(ctx[r.NEEDS])
    complete = True
    while sp > ZERO:
        sp -= ONE
        o = sp * (W + FOUR)
        for w in range(len(wide)):
            current[w] = stack[o + U(w)]
        need = stack[o + W + ONE]
        length, is_walking = stack[o + W + TWO] & (WALKING - ONE), stack[o + W + TWO] >= WALKING
        path[length] = stack[o + W + THREE]
        e, table, possible, missing, is_walking = enabled(
            wide, ctx, cells, masks, shifts, bases, current, stack[o + W], is_walking, place
        )
        if missing:
            complete = False
        elif e == ZERO:
            if k + ONE >= ctx[r.BUFFER_SIZE] or done + length + TWO >= ctx[r.DONE_SIZE]:
                ctx[r.OVERFLOW] = ONE
                return k, done, False
            for w in range(len(wide)):
                buffer[k * W + U(w)] = current[w]
            needs[k] = need
            stand(wide, ctx, words(ctx[r.LOG]), buffer, k, place)
            hashed(wide, ctx, buffer, hashes, k)
            k += ONE
            i = ZERO
            while i <= length:
                note[done] = path[i]
                done += ONE
                i += ONE
        else:
            c = U(kinds[e * FOUR])
            if length >= LONGEST:
                ctx[r.ENDLESS] = place + ONE
                return k, done, False
            if sp + c >= ctx[r.STACK_SIZE]:
                ctx[r.OVERFLOW] = ONE
                return k, done, False
            first = e + ((c + FOUR) >> TWO)
            j = ZERO
            while j < c:
                kind = U(kinds[e * FOUR + ONE + j])
                o = sp * (W + FOUR)
                for w in range(len(wide)):
                    stack[o + U(w)] = (current[w] & ~masks[table * W + U(w)]) | outcomes[
                        first + j * W + U(w)
                    ]
                stack[o + W] = possible | words(ctx[r.KIND_URGENT])[kind]
                stack[o + W + ONE] = need | words(ctx[r.KIND_NEEDS])[kind]
                stack[o + W + TWO] = (length + ONE) | (WALKING if is_walking else ZERO)
                stack[o + W + THREE] = kind
                sp += ONE
                j += ONE
    return k, done, complete


@alone
def fire_chained(wide, ctx, cells, masks, shifts, bases, x, at, table, e, k, place):
    """All outcomes of a row with their chains: (successors so far, complete). Counts nothing unless
    complete.
    """
    W = U(len(wide))
    outcomes, kinds, urgent_after = (
        words(ctx[r.OUTCOMES]),
        quarters(ctx[r.OUTCOMES]),
        words(ctx[r.KIND_URGENT]),
    )
    buffer, hashes, needs, stack = (
        words(ctx[r.BUFFER]),
        words(ctx[r.HASHES]),
        words(ctx[r.NEEDS]),
        words(ctx[r.STACK]),
    )
    note, fired = quarters(ctx[r.DONE]), words(ctx[r.FIRED])
    c = U(kinds[e * FOUR])
    first = e + ((c + FOUR) >> TWO)
    begun, done, complete = k, ZERO, True
    j = ZERO
    while j < c:
        kind = U(kinds[e * FOUR + ONE + j])
        if k + ONE >= ctx[r.BUFFER_SIZE] or done + ONE >= ctx[r.DONE_SIZE]:
            ctx[r.OVERFLOW] = ONE
            return begun, False
        possible = urgent_after[kind]
        if possible == ZERO:
            for w in range(len(wide)):
                buffer[k * W + U(w)] = (x[at + U(w)] & ~masks[table * W + U(w)]) | outcomes[
                    first + j * W + U(w)
                ]
            needs[k] = words(ctx[r.KIND_NEEDS])[kind]
            stand(wide, ctx, x, buffer, k, place)
            hashed(wide, ctx, buffer, hashes, k)
            k += ONE
            note[done] = kind
            done += ONE
        else:
            for w in range(len(wide)):
                stack[w] = (x[at + U(w)] & ~masks[table * W + U(w)]) | outcomes[
                    first + j * W + U(w)
                ]
            stack[W] = possible
            stack[W + ONE] = words(ctx[r.KIND_NEEDS])[kind]
            stack[W + TWO] = ZERO
            stack[W + THREE] = kind
            k, done, rested = chain(wide, ctx, cells, masks, shifts, bases, ONE, k, done, place)
            complete = complete and rested
        j += ONE
    if not complete:
        return begun, False
    i = ZERO
    while i < done:
        fired[note[i]] += ctx[r.WEIGHT]
        i += ONE
    return k, True


@inside
def fire_plain(wide, ctx, cells, masks, shifts, bases, x, at, table, e, k, place):
    """All outcomes of a row, counted: (successors so far, True)."""
    W = U(len(wide))
    outcomes, kinds, kind_needs, fired = (
        words(ctx[r.OUTCOMES]),
        quarters(ctx[r.OUTCOMES]),
        words(ctx[r.KIND_NEEDS]),
        words(ctx[r.FIRED]),
    )
    buffer, hashes, needs = words(ctx[r.BUFFER]), words(ctx[r.HASHES]), words(ctx[r.NEEDS])
    c = U(kinds[e * FOUR])
    first = e + ((c + FOUR) >> TWO)
    j = ZERO
    while j < c:
        kind = U(kinds[e * FOUR + ONE + j])
        fired[kind] += ctx[r.WEIGHT]
        for w in range(len(wide)):
            buffer[k * W + U(w)] = (x[at + U(w)] & ~masks[table * W + U(w)]) | outcomes[
                first + j * W + U(w)
            ]
        needs[k] = kind_needs[kind]
        stand(wide, ctx, x, buffer, k, place)
        hashed(wide, ctx, buffer, hashes, k)
        k += ONE
        j += ONE
    return k, True
