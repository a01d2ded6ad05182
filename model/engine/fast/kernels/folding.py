"""The index of a search whose log lies on disk: is a state new, without a look at the log?

A state is folded into a key of one word. Two of its fields, of which few combinations occur,
become the number of their combination, two such numbers become one again, and so on (the tree
compression of LTSmin, Laarman, van de Pol and Weber 2011, for as many fields as pay). What is left
stands side by side in the key. Numbers are given in the order in which combinations are met, and
never change; so two states have the same key only if they are the same.

Keys are scattered reversibly. The quotient by a constant chooses a line of 16 numbers of 32 bits,
one cache line, and the remainder stands there for the whole state. States that find their line full
stand in a hash table of whole keys beside it. Lines keep the order of scattered keys, so an index
grows in place, by an eighth at a time, from its last line to its first.
"""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.intrinsics import (
    ONE,
    alone,
    claimed,
    claimed_word,
    fetched,
    halves,
    inside,
    lanes_with,
    mix,
    prefetch,
    scattered,
    trailing_zeros,
    words,
)

ZERO, TWO, FOUR, SIX, EIGHT = U(0), U(2), U(4), U(6), U(8)
HALF_LINE, LANES = U(32), U(r.LANES)
KNOWN, ENTERED = U(0), U(1)
NODE, ROOT = U(r.NODE_WORDS), U(r.ROOT_WORDS)


@inside
def folded(wide, ctx, states, i):
    """The scattered key of the state at i, and whether it has one: a combination may be one more
    than there are numbers for.
    """
    W = U(len(wide))
    x, nodes, cells = words(ctx[r.FOLDED]), words(ctx[r.FOLD_NODES]), halves(ctx[r.FOLD_CELLS])
    for w in range(len(wide)):
        x[U(w)] = states[i * W + U(w)]
    n, count, at = ZERO, ctx[r.FOLD_NODE_COUNT], ZERO
    while n < count:
        left = (x[nodes[at]] >> nodes[at + U(1)]) & nodes[at + U(2)]
        right = (x[nodes[at + U(3)]] >> nodes[at + U(4)]) & nodes[at + U(5)]
        cell = nodes[at + U(8)] + ((left << nodes[at + U(6)]) | right)
        number = U(cells[cell])
        while number == ZERO:
            fresh = fetched(ctx[r.FOLD_COUNTS] + (n << U(3)), ONE)
            if fresh >= nodes[at + U(7)]:
                ctx[r.OUTGROWN] = n + ONE
                return ZERO, False
            claimed(ctx[r.FOLD_CELLS] + cell * FOUR, fresh + ONE)
            number = U(cells[cell])
        x[W + n] = number - ONE
        n += ONE
        at += NODE
    roots, key = words(ctx[r.FOLD_ROOTS]), ZERO
    n, at = ZERO, ZERO
    while n < ctx[r.FOLD_ROOT_COUNT]:
        key |= ((x[roots[at]] >> roots[at + U(1)]) & roots[at + U(2)]) << roots[at + U(3)]
        n += ONE
        at += ROOT
    return scattered(key, ctx[r.UNUSED_BITS]) >> ctx[r.UNUSED_BITS], True


@inside
def fold_all(wide, ctx, states, keys, k):
    """The keys of k states; starts loading their lines. False if one has no key."""
    i = ZERO
    while i < k:
        key, has_key = folded(wide, ctx, states, i)
        if not has_key:
            return False
        keys[i] = key
        prefetch(ctx[r.LINES] + ((key // ctx[r.LINE_WIDTH]) << SIX))
        i += ONE
    return True


@inside
def enter_line(ctx, key):
    """A key into its line, or into the table beside it: KNOWN if it is there, or ENTERED.

    Threads fill a line from its first lane on, and what stands in a lane never changes. Who finds
    a line full has compared all that is in it.
    """
    number = key // ctx[r.LINE_WIDTH]
    line, rest = ctx[r.LINES] + (number << SIX), key - number * ctx[r.LINE_WIDTH] + ONE
    while True:
        low, high = lanes_with(line, rest), lanes_with(line + HALF_LINE, rest)
        if low | high != ZERO:
            return KNOWN
        free = lanes_with(line, ZERO) | (lanes_with(line + HALF_LINE, ZERO) << EIGHT)
        if free == ZERO:
            break
        if claimed(line + trailing_zeros(free) * FOUR, rest):
            return ENTERED
    crowd, size = words(ctx[r.CROWD]), ctx[r.CROWD_SIZE]
    at = ((mix(key) >> HALF_LINE) * size) >> HALF_LINE
    while True:
        met = crowd[at]
        if met == key + ONE:
            return KNOWN
        if met == ZERO:
            if claimed_word(ctx[r.CROWD] + (at << U(3)), key + ONE):
                ctx[r.CROWDED] += ONE
                return ENTERED
        else:
            at += ONE
            if at == size:
                at = ZERO


@alone
def enter_keys(ctx):
    """Keys of a list, from FROM to TO, into the index; none of them is there."""
    keys, i = words(ctx[r.LIST]), ctx[r.FROM]
    while i < ctx[r.TO]:
        enter_line(ctx, keys[i] - ONE)
        i += ONE
    ctx[r.FROM] = i


@alone
def spread_lines(ctx):
    """All lines to a larger number of them, in place, from the last to the first: no number moves
    to a lower line. TO lines of width OLD_LINE_WIDTH become LINE_COUNT of width LINE_WIDTH.
    """
    taken, n = words(ctx[r.FOLDED]), ctx[r.TO]
    while n > ZERO:
        n -= ONE
        lanes = halves(ctx[r.LINES] + (n << SIX))
        first, count = n * ctx[r.OLD_LINE_WIDTH], ZERO
        while count < LANES and lanes[count] != ZERO:
            taken[count] = first + U(lanes[count]) - ONE
            lanes[count] = 0
            count += ONE
        i = ZERO
        while i < count:
            enter_line(ctx, taken[i])
            i += ONE


@alone
def reindex_folded(wide, ctx, log, buffer, keys):
    """The states of the log, from FROM to TO, into an index of keys. FROM says how far there was
    room, and OUTGROWN whether a state had no key.
    """
    W = U(len(wide))
    done, n = ctx[r.FROM], ctx[r.TO]
    while done < n and ctx[r.CROWDED] + ctx[r.BLOCK] <= ctx[r.CROWDED_ROOM]:
        k = ZERO
        while k < ctx[r.BLOCK] and done + k < n:
            for w in range(len(wide)):
                buffer[k * W + U(w)] = log[(done + k) * W + U(w)]
            k += ONE
        if not fold_all(wide, ctx, buffer, keys, k):
            break
        i = ZERO
        while i < k:
            enter_line(ctx, keys[i])
            i += ONE
        done += k
    ctx[r.FROM] = done
