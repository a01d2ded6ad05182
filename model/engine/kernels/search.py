"""The search kernel: takes a stretch of the log, block by block, through the tables, and appends the new states.

For every state and table the row is looked up by the bits of its footprint. A row that Python has not filled yet is asked for once,
and the pair (state, table) put off; after Python has filled it, the kernel runs again over the pairs put off. Successors go to a
buffer, prefetching their place in the index; then they are inserted: the index holds places in the log (4 bytes, the spare high bits a
tag from the hash), and the log's own words decide equality. Predicates are looked up for new states only, and only those that read
a slot which the transition changed: the others had their say in the state before.
"""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.kernels import registers as r
from groupcheck.model.engine.kernels.firing import fire_chained, fire_plain, hashed
from groupcheck.model.engine.kernels.intrinsics import ALL, FULL, ONE, alone, halves, home, inside, prefetch, trailing_zeros, words
from groupcheck.model.engine.kernels.lookup import look, look_viewed, open_of

ZERO, TWO, SIX, SIXTY_THREE, WORD_BYTES, INDEX_BYTES = U(0), U(2), U(6), U(63), U(8), U(4)
NOTHING = U(r.NOTHING)
RETRY, CHECK, BACKWARD, RECHECK, REINDEX, TAKE_IN = U(r.RETRY), U(r.CHECK), U(r.BACKWARD), U(r.RECHECK), U(r.REINDEX), U(r.TAKE_IN)


@alone
def view_values(wide, ctx, x, at, need, place):
    """Looks up the views that the predicates in `need` read; False where a row is missing."""
    view_needs, first, values = words(ctx[r.VIEW_NEEDS]), ctx[r.VIEW_FIRST], words(ctx[r.VIEW_VALUES])
    places = words(ctx[r.VIEW_PLACES])
    cells, masks, shifts, bases = halves(ctx[r.CELLS]), words(ctx[r.MASKS]), words(ctx[r.SHIFTS]), words(ctx[r.BASES])
    wanted = ZERO
    while need != ZERO:
        wanted |= view_needs[trailing_zeros(need)]
        need &= need - ONE
    v = ZERO
    while v < ctx[r.VIEW_WORDS]:
        values[v] = ZERO
        v += ONE
    complete = True
    v = ZERO
    while v < ctx[r.VIEW_COUNT]:
        if (wanted >> (v & SIXTY_THREE)) & ONE:
            e = look(wide, ctx, cells, masks, shifts, bases, x, at, first + v, place)
            if e < NOTHING:
                complete = False
            else:
                values[places[v * TWO]] |= (e - NOTHING) << places[v * TWO + ONE]
        v += ONE
    return complete


@alone
def examine(wide, ctx, x, place, need):
    """Looks the predicates in `need` up for a stored state, so that combinations not seen before are asked for."""
    W = U(len(wide))
    at = place * W
    cells, masks, shifts, bases = halves(ctx[r.CELLS]), words(ctx[r.MASKS]), words(ctx[r.SHIFTS]), words(ctx[r.BASES])
    firsts = words(ctx[r.PREDICATE_FIRST])
    complete = ctx[r.VIEW_COUNT] == ZERO or view_values(wide, ctx, x, at, need, place)
    left = need if complete else ZERO
    while left != ZERO:
        b = trailing_zeros(left)
        table = firsts[b]
        while table < firsts[b + ONE]:
            if table < ctx[r.VIEWED_FROM]:
                e = look(wide, ctx, cells, masks, shifts, bases, x, at, table, place)
            else:
                e = look_viewed(wide, ctx, x, at, table, place)
            complete = complete and e != ZERO  # 0: there was no room to ask
            table += ONE
        left &= left - ONE
    if not complete:
        put_off = words(ctx[r.PUT_OFF])
        put_off[ctx[r.PUT_OFF_COUNT] * TWO] = place
        put_off[ctx[r.PUT_OFF_COUNT] * TWO + ONE] = need
        ctx[r.PUT_OFF_COUNT] += ONE


@inside
def sift(wide, ctx, buffer, hashes, needs, k):
    """Drops successors that were met a moment ago, and starts loading the index for the others: how many are left.

    The sieve holds states themselves, so nothing new is ever dropped: what stands in it is in the log, or further up in this buffer.
    """
    W = U(len(wide))
    sieve, shift = words(ctx[r.SIEVE]), ctx[r.SIEVE_SHIFT]
    index, slots = ctx[r.INDEX], ctx[r.INDEX_SLOTS]
    kept, i = ZERO, ZERO
    while i < k:
        h = hashes[i]
        at = (h >> shift) * W
        same = True
        for w in range(len(wide)):
            same = same and sieve[at + U(w)] == buffer[i * W + U(w)]
        if not same:
            for w in range(len(wide)):
                y = buffer[i * W + U(w)]
                sieve[at + U(w)] = y
                buffer[kept * W + U(w)] = y
            hashes[kept] = h
            needs[kept] = needs[i]
            prefetch(index + (home(h, slots) * INDEX_BYTES))
            kept += ONE
        i += ONE
    return kept


@inside
def insert(wide, ctx, log, index, slots, bits, buffer, hashes, needs, k, n):
    """The buffer into index and log: the number of states afterwards. A first pass loads the log entries that the index points to."""
    W = U(len(wide))
    low = (ONE << bits) - ONE
    high = FULL & ~low
    live, need_log = ctx[r.LIVE], ctx[r.NEED_LOG]
    i = ZERO
    while i < k:
        p = U(index[home(hashes[i], slots)]) & low
        if p != ZERO:
            prefetch(ctx[r.LOG] + (p - ONE) * (W * WORD_BYTES))
        i += ONE
    i = ZERO
    while i < k:
        at = home(hashes[i], slots)
        tag = hashes[i] & high
        while True:
            t = U(index[at])
            if t == ZERO:
                index[at] = tag | (n + ONE)
                for w in range(len(wide)):
                    log[n * W + U(w)] = buffer[i * W + U(w)]
                if needs[i] & live:
                    examine(wide, ctx, log, n, needs[i] & live)
                if need_log != ZERO:
                    words(need_log)[n] = needs[i]
                n += ONE
                break
            if t & high == tag:
                p = ((t & low) - ONE) * W
                same = True
                for w in range(len(wide)):
                    same = same and log[p + U(w)] == buffer[i * W + U(w)]
                if same:
                    break
            at += ONE
            if at == slots:
                at = ZERO
        i += ONE
    return n


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
def expand(wide, chained, ctx, log, cells, masks, shifts, bases, place, chunk, open_, k):
    """The successors of one state through the tables in `open_` of one chunk: (successors so far, pairs put off)."""
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
                k, complete = fire_plain(wide, ctx, cells, masks, shifts, bases, log, at, table, e, k, place)
            else:
                k, complete = fire_chained(wide, ctx, cells, masks, shifts, bases, log, at, table, e, k, place)
        if not complete:
            n = ctx[r.DEFERRED_COUNT]
            deferred[n * TWO] = place
            deferred[n * TWO + ONE] = table
            ctx[r.DEFERRED_COUNT] = n + ONE
            put_off += ONE
    return k, put_off


@alone
def rests(wide, ctx, mode, place, put_off):
    """Notes a state without successors; for sure, or to be checked when its missing rows are there."""
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
    while s < hi and k < limit and ctx[r.DEFERRED_COUNT] + tables < ctx[r.DEFERRED_SIZE] and ctx[r.QUIET_COUNT] < ctx[r.QUIET_SIZE]:
        if mode == RETRY:
            table = listed[s * TWO + ONE]
            k, _ = expand(
                wide, chained, ctx, log, cells, masks, shifts, bases, listed[s * TWO], table >> SIX, ONE << (table & SIXTY_THREE), k
            )
        else:
            place = listed[s] if mode == CHECK else s
            begun = k
            put_off = ZERO
            chunk = ZERO
            while chunk < chunks:
                open_ = unguarded[chunk] | open_of(log, place * W, guards, bits, chunk_guards[chunk], chunk_guards[chunk + ONE])
                k, more = expand(wide, chained, ctx, log, cells, masks, shifts, bases, place, chunk, open_, k)
                put_off += more
                chunk += ONE
            if not differs(wide, log, place * W, buffer, begun, k) and mode != BACKWARD:
                rests(wide, ctx, mode, place, put_off)
        s += ONE
        if mode == CHECK:
            k = ZERO
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
def reindex(wide, ctx, log, index, slots, bits, buffer, hashes):
    """A new index from the log. Its states are distinct, so each takes the first free slot, and none needs to be compared."""
    W = U(len(wide))
    high = FULL & ~((ONE << bits) - ONE)
    done, n = ctx[r.FROM], ctx[r.TO]
    while done < n:
        k = ZERO
        while k < ctx[r.BLOCK] and done + k < n:
            for w in range(len(wide)):
                buffer[k * W + U(w)] = log[(done + k) * W + U(w)]
            hashed(wide, ctx, buffer, hashes, k)
            prefetch(ctx[r.INDEX] + (home(hashes[k], slots) * INDEX_BYTES))
            k += ONE
        i = ZERO
        while i < k:
            at = home(hashes[i], slots)
            while index[at] != ZERO:
                at += ONE
                if at == slots:
                    at = ZERO
            index[at] = (hashes[i] & high) | (done + i + ONE)
            i += ONE
        done += k


@alone
def received(wide, ctx, s, hi):
    """States from a list into the buffer, with the predicates to be looked at from another (SOURCE): (next, states)."""
    W = U(len(wide))
    listed_needs = words(ctx[r.SOURCE])
    listed, buffer, hashes, needs = words(ctx[r.LIST]), words(ctx[r.BUFFER]), words(ctx[r.HASHES]), words(ctx[r.NEEDS])
    k = ZERO
    while s < hi and k < ctx[r.BLOCK]:
        for w in range(len(wide)):
            buffer[k * W + U(w)] = listed[s * W + U(w)]
        hashed(wide, ctx, buffer, hashes, k)
        needs[k] = listed_needs[s]
        prefetch(ctx[r.INDEX] + (home(hashes[k], ctx[r.INDEX_SLOTS]) * INDEX_BYTES))
        k += ONE
        s += ONE
    return s, k


@alone
def search(wide, chained, ctx):
    log, index, slots, bits = words(ctx[r.LOG]), halves(ctx[r.INDEX]), ctx[r.INDEX_SLOTS], ctx[r.TAG_BITS]
    buffer, hashes, needs = words(ctx[r.BUFFER]), words(ctx[r.HASHES]), words(ctx[r.NEEDS])
    n, s, hi, mode = ctx[r.STATES], ctx[r.FROM], ctx[r.TO], ctx[r.MODE]
    if mode == REINDEX:
        reindex(wide, ctx, log, index, slots, bits, buffer, hashes)
        return
    if mode == RECHECK:
        while s < hi:
            listed = words(ctx[r.LIST])
            examine(wide, ctx, log, listed[s * TWO], listed[s * TWO + ONE] & ctx[r.LIVE])
            s += ONE
        return
    room, put_off_room = ctx[r.ROOM] - ctx[r.BUFFER_SIZE], ctx[r.PUT_OFF_SIZE] - ctx[r.BUFFER_SIZE]
    ctx[r.FOUND_AT] = ALL
    while s < hi and n < room and ctx[r.PUT_OFF_COUNT] < put_off_room and ctx[r.ENDLESS] == ZERO:
        before = s
        if mode == TAKE_IN:
            s, k = received(wide, ctx, s, hi)
        else:
            s, k = block(wide, chained, ctx, s, hi, mode)
        if s == before:
            break
        if mode == BACKWARD:
            if reaches(wide, ctx, k):
                ctx[r.FOUND_AT] = s - ONE
                break
        elif mode != CHECK:
            if mode != TAKE_IN:
                ctx[r.TRANSITIONS] += k
                k = sift(wide, ctx, buffer, hashes, needs, k)
            n = insert(wide, ctx, log, index, slots, bits, buffer, hashes, needs, k, n)
    ctx[r.STATES] = n
    ctx[r.FROM] = s
