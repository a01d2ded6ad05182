"""The search kernel: takes a stretch of the log, block by block, through the tables, and appends
the new states.

For every state and table the row is looked up by the bits of its footprint. A row that Python has
not filled yet is asked for once, and the pair (state, table) put off; after Python has filled it,
the kernel runs again over the pairs put off. Successors go to a buffer, prefetching their place in
the index (`index.py`); then they are inserted. Predicates are looked up for new states only, and
only those that read a slot which the transition changed: the others had their say in the state
before.
"""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.chains import FIVE, PAIR, expand_chained, gather_pair
from groupcheck.model.engine.fast.kernels.examining import examine_all
from groupcheck.model.engine.fast.kernels.firing import fire_chained, fire_plain
from groupcheck.model.engine.fast.kernels.folding import (
    enter_keys,
    reindex_folded,
    spread_lines,
)
from groupcheck.model.engine.fast.kernels.index import (
    hashed_ahead,
    link,
    reindex,
    relocate,
    sift,
)
from groupcheck.model.engine.fast.kernels.inserting import insert, insert_folded
from groupcheck.model.engine.fast.kernels.intrinsics import (
    ALL,
    ONE,
    alone,
    halves,
    inside,
    trailing_zeros,
    words,
)
from groupcheck.model.engine.fast.kernels.lookup import look, open_of
from groupcheck.model.engine.fast.kernels.orbits import weigh

ZERO, TWO, SIX, SIXTY_THREE = U(0), U(2), U(6), U(63)
NOTHING = U(r.NOTHING)
NEXT_PLACE, STOP = U(r.NEXT_PLACE), U(r.STOP)
OPEN = U(r.OPEN)
(
    EXPAND,
    RETRY,
    CHECK,
    BACKWARD,
    RECHECK,
    REINDEX,
    TAKE_IN,
    LISTED,
    LINK,
    FOLLOW,
    RELOCATE,
    EDGES_OF,
    SPREAD_LINES,
    ENTER_KEYS,
) = (
    U(r.EXPAND),
    U(r.RETRY),
    U(r.CHECK),
    U(r.BACKWARD),
    U(r.RECHECK),
    U(r.REINDEX),
    U(r.TAKE_IN),
    U(r.LISTED),
    U(r.LINK),
    U(r.FOLLOW),
    U(r.RELOCATE),
    U(r.EDGES_OF),
    U(r.SPREAD_LINES),
    U(r.ENTER_KEYS),
)


@alone
def differs(wide, x, at, buffer, begun, k):
    """Is one of the successors begun .. k-1 another state than x[at:]?"""
    W = U(len(wide))
    while begun < k:
        for w in range(len(wide)):
            if buffer[begun * W + U(w)] != x[at + U(w)]:
                return True
        begun += ONE
    return False


@inside
def moves(wide, ctx, log, at, buffer, begun, k):
    """Does the state at log[at:] have another one among its successors begun .. k-1? Under
    symmetry these stand for their orbits by now.
    """
    if ctx[r.BLOCKS] != ZERO:
        return ctx[r.MOVED] != ZERO
    return differs(wide, log, at, buffer, begun, k)


@inside
def expand(wide, chained, ctx, log, cells, masks, shifts, bases, place, chunk, open_, k):
    """The successors of one state through the tables in `open_` of one chunk: (successors so far,
    pairs put off).
    """
    W = U(len(wide))
    deferred = words(ctx[r.DEFERRED])
    at = place * W
    put_off = ZERO
    while open_ != ZERO:
        table = (chunk << SIX) + trailing_zeros(open_)
        open_ &= open_ - ONE
        e = look(wide, ctx, cells, masks, shifts, bases, log, at, table, place)
        if e == NOTHING:
            continue
        complete = e > NOTHING
        if complete:
            if len(chained) == 0:
                k, complete = fire_plain(
                    wide, ctx, cells, masks, shifts, bases, log, at, table, e, k, place
                )
            else:
                k, complete = fire_chained(
                    wide, ctx, cells, masks, shifts, bases, log, at, table, e, k, place
                )
        if not complete:
            n = ctx[r.DEFERRED_COUNT]
            deferred[n * TWO] = place
            deferred[n * TWO + ONE] = table
            ctx[r.DEFERRED_COUNT] = n + ONE
            put_off += ONE
    return k, put_off


@alone
def rests(wide, ctx, mode, place, put_off):
    """Notes a state without successors; for sure, or to be checked when its missing
    rows are there.
    """
    if put_off == ZERO:
        words(ctx[r.QUIET])[ctx[r.QUIET_COUNT]] = place
        ctx[r.QUIET_COUNT] += ONE
    elif mode != CHECK:
        words(ctx[r.UNSURE])[ctx[r.UNSURE_COUNT]] = place
        ctx[r.UNSURE_COUNT] += ONE


@inside
def block(wide, chained, ctx, s, hi, mode):
    """Expands states until the block is full: (next, successors)."""
    W = U(len(wide))
    log, cells, masks, shifts, bases = (
        words(ctx[r.LOG]),
        halves(ctx[r.CELLS]),
        words(ctx[r.MASKS]),
        words(ctx[r.SHIFTS]),
        words(ctx[r.BASES]),
    )
    buffer, listed, unguarded, chunk_guards = (
        words(ctx[r.BUFFER]),
        words(ctx[r.LIST]),
        words(ctx[r.UNGUARDED]),
        words(ctx[r.CHUNK_GUARDS]),
    )
    guards, bits = words(ctx[r.GUARDS]), words(ctx[r.GUARD_BITS])
    limit, tables, chunks = ctx[r.BLOCK], ctx[r.TABLES], ctx[r.CHUNKS]
    k = ZERO
    while (
        s < hi
        and k < limit
        and ctx[r.DEFERRED_COUNT] + tables < ctx[r.DEFERRED_SIZE]
        and ctx[r.QUIET_COUNT] < ctx[r.QUIET_SIZE]
    ):
        begun = k
        if mode == RETRY:
            place = listed[s * TWO]
        else:
            place = listed[s] if mode in (CHECK, LISTED, FOLLOW, EDGES_OF) else s
        if ctx[r.BLOCKS] != ZERO:
            weigh(wide, ctx, log, place)
        if mode == RETRY:
            table = listed[s * TWO + ONE]
            open_ = ONE << (table & SIXTY_THREE)
            k, _ = expand(
                wide, chained, ctx, log, cells, masks, shifts, bases, place, table >> SIX, open_, k
            )
        else:
            put_off = ZERO
            chunk = ZERO
            while chunk < chunks:
                open_ = unguarded[chunk] | open_of(
                    log, place * W, guards, bits, chunk_guards[chunk], chunk_guards[chunk + ONE]
                )
                k, more = expand(
                    wide, chained, ctx, log, cells, masks, shifts, bases, place, chunk, open_, k
                )
                put_off += more
                chunk += ONE
            if mode in (LINK, EDGES_OF):
                halves(ctx[r.DEGREES])[s] = k - begun if put_off == ZERO else OPEN
                k = k if put_off == ZERO else begun
            elif mode in (BACKWARD, FOLLOW):
                pass
            elif not moves(wide, ctx, log, place * W, buffer, begun, k):
                rests(wide, ctx, mode, place, put_off)
        if ctx[r.BLOCKS] != ZERO:
            ctx[r.WEIGHED] += (k - begun) * ctx[r.WEIGHT]
        s += ONE
        if mode == CHECK:
            k = ZERO
    return s, k


@inside
def block_of_chains(wide, ctx, s, hi, mode):
    """The same where steps are chains: many states at once."""
    W = U(len(wide))
    log, pairs, deferred, buffer = (
        words(ctx[r.LOG]),
        words(ctx[r.PAIRS]),
        words(ctx[r.DEFERRED]),
        words(ctx[r.BUFFER]),
    )
    listed, tables = words(ctx[r.LIST]), ctx[r.TABLES]
    k = ZERO
    while (
        s < hi
        and k < ctx[r.BLOCK]
        and ctx[r.DEFERRED_COUNT] + ctx[r.AT_ONCE] + tables < ctx[r.DEFERRED_SIZE]
        and ctx[r.QUIET_COUNT] + ctx[r.AT_ONCE] < ctx[r.QUIET_SIZE]
    ):
        i = s
        s, n, full = expand_chained(wide, ctx, mode, s, min(hi, s + ctx[r.AT_ONCE]), ctx[r.AT_ONCE])
        p = ZERO
        while i < s:
            place = listed[i] if mode == LISTED else i
            begun, put_off = k, ZERO
            if ctx[r.BLOCKS] != ZERO:
                weigh(wide, ctx, log, place)
            while p < n and pairs[p * PAIR] == place:
                if pairs[p * PAIR + FIVE] == ZERO:
                    k = gather_pair(wide, ctx, p, k)
                else:
                    d = ctx[r.DEFERRED_COUNT]
                    deferred[d * TWO] = place
                    deferred[d * TWO + ONE] = pairs[p * PAIR + ONE]
                    ctx[r.DEFERRED_COUNT] = d + ONE
                    put_off += ONE
                p += ONE
            if not moves(wide, ctx, log, place * W, buffer, begun, k):
                rests(wide, ctx, mode, place, put_off)
            if ctx[r.BLOCKS] != ZERO:
                ctx[r.WEIGHED] += (k - begun) * ctx[r.WEIGHT]
            i += ONE
        if full and ctx[r.AT_ONCE] > ONE:
            ctx[r.AT_ONCE] >>= ONE
    return s, k


@alone
def reaches(wide, ctx, k):
    """Is the target among the k successors in the buffer?"""
    W = U(len(wide))
    buffer, log, at = words(ctx[r.BUFFER]), words(ctx[r.LOG]), ctx[r.TARGET] * W
    i = ZERO
    while i < k:
        same = True
        for w in range(len(wide)):
            same = same and buffer[i * W + U(w)] == log[at + U(w)]
        if same:
            return True
        i += ONE
    return False


@alone
def list_steps(wide, ctx, k, place):
    """Lists the k successors in the buffer with the place of the state that they follow; False if
    there is no room.
    """
    W = U(len(wide))
    buffer, listed, n = words(ctx[r.BUFFER]), words(ctx[r.FOLLOWED]), ctx[r.FOLLOWED_COUNT]
    if n + k > ctx[r.FOLLOWED_SIZE]:
        return False
    i = ZERO
    while i < k:
        for w in range(len(wide)):
            listed[(n + i) * (W + ONE) + U(w)] = buffer[i * W + U(w)]
        listed[(n + i) * (W + ONE) + W] = place
        i += ONE
    ctx[r.FOLLOWED_COUNT] = n + k
    return True


@alone
def received(wide, ctx, s, hi):
    """States from a list into the buffer, with the predicates to be looked at from another
    (SOURCE): (next, states).
    """
    W = U(len(wide))
    listed_needs = words(ctx[r.SOURCE])
    listed, buffer, hashes, needs = (
        words(ctx[r.LIST]),
        words(ctx[r.BUFFER]),
        words(ctx[r.HASHES]),
        words(ctx[r.NEEDS]),
    )
    k = ZERO
    while s < hi and k < ctx[r.BLOCK]:
        for w in range(len(wide)):
            buffer[k * W + U(w)] = listed[s * W + U(w)]
        hashed_ahead(wide, ctx, buffer, hashes, k)
        needs[k] = listed_needs[s]
        k += ONE
        s += ONE
    return s, k


@alone
def level_after(ctx, s, hi, n):
    """The end of the level in hand. Where all its states are expanded, nothing was asked, and every
    state has a successor, the next level is begun: it ends at n, the states of the log.
    """
    noted = ctx[r.DEFERRED_COUNT] | ctx[r.ASKED_COUNT] | ctx[r.PUT_OFF_COUNT]
    noted |= ctx[r.QUIET_COUNT] | ctx[r.UNSURE_COUNT] | ctx[r.OVERFLOW] | ctx[r.ENDLESS]
    noted |= ctx[r.UNEQUAL] | ctx[r.LEFT_OVER]
    count = ctx[r.LEVEL_COUNT]
    if s < hi or n == hi or noted != ZERO or n > ctx[r.LEVEL_STOP] or count == ctx[r.LEVEL_SIZE]:
        return hi
    words(ctx[r.LEVELS])[count] = n
    ctx[r.LEVEL_COUNT] = count + ONE
    return n


@inside
def may_go_on(ctx, n, size, room):
    """Has the log room for so many more states, and may this thread go on?"""
    if ctx[r.SHARED] == ZERO:
        return n + size < room
    shared = words(ctx[r.SHARED])
    return shared[NEXT_PLACE] + size < room and shared[STOP] == ZERO


@inside
def index_changed(wide, ctx, mode, log, buffer, hashes):
    """Carries out a mode that is about the index alone; False if this is none."""
    if mode == SPREAD_LINES:
        spread_lines(ctx)
    elif mode == ENTER_KEYS:
        enter_keys(ctx)
    elif mode == REINDEX and ctx[r.LINES] != ZERO:
        reindex_folded(wide, ctx, log, buffer, hashes)
    elif mode == REINDEX:
        reindex(wide, ctx, log, buffer, hashes)
    elif mode == RELOCATE:
        relocate(wide, ctx, log, buffer, hashes)
    else:
        return False
    return True


@alone
def search(wide, chained, ctx):
    log = words(ctx[r.LOG])
    buffer, hashes, needs = words(ctx[r.BUFFER]), words(ctx[r.HASHES]), words(ctx[r.NEEDS])
    n, s, hi, mode = ctx[r.STATES], ctx[r.FROM], ctx[r.TO], ctx[r.MODE]
    if index_changed(wide, ctx, mode, log, buffer, hashes):
        return
    if mode == RECHECK:
        examine_all(wide, ctx, log, words(ctx[r.LIST] + s * U(16)), hi - s)
        return
    size = ctx[r.BUFFER_SIZE]
    room, crowded_room, put_off_room = ctx[r.ROOM], ctx[r.CROWDED_ROOM], ctx[r.PUT_OFF_SIZE]
    if mode in (BACKWARD, CHECK, LINK, FOLLOW, EDGES_OF):  # they append nothing
        room, crowded_room, put_off_room = ALL, ALL, ALL
    ctx[r.FOUND_AT] = ALL
    while (
        s < hi
        and may_go_on(ctx, n, size, room)
        and ctx[r.CROWDED] + size < crowded_room
        and ctx[r.PUT_OFF_COUNT] + size < put_off_room
        and ctx[r.ENDLESS] == ZERO
        and (mode not in (LINK, EDGES_OF) or ctx[r.EDGE_COUNT] + size <= ctx[r.EDGE_ROOM])
        and ctx[r.UNEQUAL] == ZERO
        and ctx[r.LEFT_OVER] == ZERO
    ):
        before = s
        ctx[r.WEIGHED] = ZERO
        if mode == TAKE_IN:
            s, k = received(wide, ctx, s, hi)
        elif len(chained) > 0 and mode in (EXPAND, LISTED):
            s, k = block_of_chains(wide, ctx, s, hi, mode)
        else:
            s, k = block(wide, chained, ctx, s, hi, mode)
        if s == before:
            break
        if mode == BACKWARD:
            if reaches(wide, ctx, k):
                ctx[r.FOUND_AT] = s - ONE
                break
        elif mode in (LINK, EDGES_OF):
            link(wide, ctx, log, buffer, hashes, needs, k)
        elif mode == FOLLOW:
            if not list_steps(wide, ctx, k, words(ctx[r.LIST])[s - ONE]):
                s = before
                break
        elif mode != CHECK:
            if mode != TAKE_IN:
                ctx[r.TRANSITIONS] += ctx[r.WEIGHED] if ctx[r.BLOCKS] != ZERO else k
                if len(wide) > 1 or ctx[r.BUCKETS] == ZERO:
                    k = sift(wide, ctx, buffer, hashes, needs, k)
            if ctx[r.LINES] != ZERO:
                n = insert_folded(wide, ctx, log, buffer, hashes, needs, k, n)
            else:
                n = insert(wide, ctx, log, buffer, hashes, needs, k, n)
            if ctx[r.FRESH_COUNT] != ZERO:
                examine_all(wide, ctx, log, words(ctx[r.FRESH]), ctx[r.FRESH_COUNT])
                ctx[r.FRESH_COUNT] = ZERO
            hi = level_after(ctx, s, hi, n)
    ctx[r.STATES] = n
    ctx[r.FROM] = s
