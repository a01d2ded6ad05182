"""The search kernel: takes a stretch of the log, block by block, through the tables, and appends the new states.

For every state and table the row is looked up by the bits of its footprint. A row that Python has not filled yet is asked for once,
and the pair (state, table) put off; after Python has filled it, the kernel runs again over the pairs put off. Successors go to a
buffer, prefetching their place in the index; then they are inserted: the index holds places in the log (4 bytes, the spare high bits a
tag from the hash), and the log's own words decide equality. Predicates are looked up for new states only, and only those that read
a slot which the transition changed: the others had their say in the state before.

Urgent rules: the outcome says which of them may have become possible (`KIND_URGENT`); the kernel takes the first that has outcomes,
its branches wait on a stack. A pair with a row missing anywhere inside is put off as a whole and counted only when complete.

`make(W, urgent)` gives the kernel for states of W words; everything that depends on W unrolls.
"""

from __future__ import annotations

from collections.abc import Callable

from numba import njit
from numpy import uint64 as U

from groupcheck.model.engine.kernels import registers as r
from groupcheck.model.engine.kernels.intrinsics import (
    ALL,
    ALONE,
    FULL,
    ONE,
    gather,
    halves,
    home,
    mix,
    prefetch,
    quarters,
    trailing_zeros,
    words,
)

ZERO, TWO, THREE, FOUR = U(0), U(2), U(3), U(4)
SIX, SIXTY_THREE, WORD_BYTES, HALF_BYTES = U(6), U(63), U(8), U(4)
HASH_BASE, NOTHING, ASKED_FOR = U(r.HASHED), U(r.NOTHING), U(r.ASKED_FOR)
RETRY, CHECK, BACKWARD, RECHECK, REINDEX = U(r.RETRY), U(r.CHECK), U(r.BACKWARD), U(r.RECHECK), U(r.REINDEX)
LONGEST = U(r.LONGEST_CHAIN)


def make(W: int, urgent: bool) -> Callable[..., None]:
    """The search kernel for states of W words; with `urgent`, outcomes may start chains."""
    WW, STRIDE = U(W), U(W + 4)  # STRIDE: an entry of the stack: the state, what may be possible, predicates concerned, chain length, kind

    @njit(**ALONE)
    def ask(ctx, x, at, table, place, views):
        """Asks Python for the row of the state at x[at:]; False if there is no room to ask."""
        count = ctx[r.ASKED_COUNT]
        if count >= ctx[r.ASKED_SIZE]:
            return False
        asked = words(ctx[r.ASKED])
        masks = words(ctx[r.MASKS])
        extra = ctx[r.VIEW_WORDS]
        o = count * (WW + extra + TWO)
        for w in range(W):
            asked[o + U(w)] = x[at + U(w)] & masks[table * WW + U(w)]
        v = ZERO
        while v < extra:
            asked[o + WW + v] = words(ctx[r.VIEW_VALUES])[v] & words(ctx[r.VIEW_MASKS])[table * extra + v] if views else ZERO
            v += ONE
        asked[o + WW + extra] = table
        asked[o + WW + extra + ONE] = place
        ctx[r.ASKED_COUNT] = count + ONE
        return True

    @njit(**ALONE)
    def find(ctx, x, at, table, place, views):
        """The cell of a hashed table; a key that is not there is entered and asked for."""
        masks = words(ctx[r.MASKS])
        keys = words(ctx[r.HASH_KEYS])
        values = words(ctx[r.HASH_VALUES])
        extra = ctx[r.VIEW_WORDS] if views else ZERO
        view_masks, view_values = words(ctx[r.VIEW_MASKS]), words(ctx[r.VIEW_VALUES])
        h = table + ONE
        for w in range(W):
            h = mix(h ^ (x[at + U(w)] & masks[table * WW + U(w)]))
        v = ZERO
        while v < extra:
            h = mix(h ^ (view_values[v] & view_masks[table * extra + v]))
            v += ONE
        size = ctx[r.HASH_SIZE]
        slot = home(h, size)
        while values[slot] != ZERO:
            if values[slot] >> U(32) == table + ONE:
                k = slot * ctx[r.KEY_WORDS]
                same = True
                for w in range(W):
                    same = same and keys[k + U(w)] == x[at + U(w)] & masks[table * WW + U(w)]
                v = ZERO
                while v < extra:
                    same = same and keys[k + WW + v] == view_values[v] & view_masks[table * extra + v]
                    v += ONE
                if same:
                    return values[slot] & FULL
            slot += ONE
            if slot == size:
                slot = ZERO
        if not ask(ctx, x, at, table, place, views):
            return ZERO
        k = slot * ctx[r.KEY_WORDS]
        for w in range(W):
            keys[k + U(w)] = x[at + U(w)] & masks[table * WW + U(w)]
        v = ZERO
        while v < extra:
            keys[k + WW + v] = view_values[v] & view_masks[table * extra + v]
            v += ONE
        values[slot] = (table + ONE) << U(32) | ASKED_FOR
        ctx[r.HASH_COUNT] += ONE
        return ASKED_FOR

    @njit(**ALONE)
    def look(ctx, cells, masks, shifts, bases, x, at, table, place):
        """The cell for the state at x[at:] in a table over slots alone; asks where it is unknown."""
        cell = bases[table]
        if cell == HASH_BASE:
            return find(ctx, x, at, table, place, False)
        for w in range(W):
            cell += gather(x[at + U(w)], masks[table * WW + U(w)]) << shifts[table * WW + U(w)]
        e = U(cells[cell])
        if e == ZERO and ask(ctx, x, at, table, place, False):
            cells[cell] = 1
            return ASKED_FOR
        return e

    @njit(**ALONE)
    def open_of(x, at, guards, bits, first, end):
        """The tables (or urgent groups) that a guard lets through in this state, as bits."""
        out = ZERO
        while first < end:
            g = first * FOUR
            out |= bits[guards[g + THREE] + ((x[at + guards[g]] >> guards[g + ONE]) & guards[g + TWO])]
            first += ONE
        return out

    @njit(**ALONE)
    def hashed(ctx, buffer, hashes, k):
        """The hash of the successor at k, with its place in the index on its way to the cache."""
        h = mix(buffer[k * WW])
        for w in range(1, W):
            h = mix(h ^ buffer[k * WW + U(w)])
        hashes[k] = h
        prefetch(ctx[r.INDEX] + (home(h, ctx[r.INDEX_SLOTS]) * HALF_BYTES))

    @njit(**ALONE)
    def enabled(ctx, cells, masks, shifts, bases, current, possible, place):
        """The first urgent table with outcomes in the state `current`: (row or 0, table, what may still be possible, a row is missing)."""
        groups = words(ctx[r.URGENT_FIRST])
        possible &= words(ctx[r.URGENT_UNGUARDED])[0] | open_of(
            current, ZERO, words(ctx[r.GUARDS]), words(ctx[r.GUARD_BITS]), ctx[r.URGENT_GUARDS], ctx[r.URGENT_GUARDS_END]
        )
        while possible != ZERO:
            g = trailing_zeros(possible)
            table = groups[g]
            while table < groups[g + ONE]:
                e = look(ctx, cells, masks, shifts, bases, current, ZERO, table, place)
                if e < NOTHING:
                    return ZERO, table, possible, True
                if e != NOTHING:
                    return e, table, possible, False
                table += ONE
            possible &= possible - ONE
        return ZERO, ZERO, possible, False

    @njit(**ALONE)
    def chain(ctx, cells, masks, shifts, bases, sp, k, done, place):
        """Runs urgent rules from the states on the stack to rest: (successors, kinds noted, complete)."""
        stack, current, path, note = words(ctx[r.STACK]), words(ctx[r.CURRENT]), quarters(ctx[r.CHAIN]), quarters(ctx[r.DONE])
        outcomes, kinds = words(ctx[r.OUTCOMES]), quarters(ctx[r.OUTCOMES])
        buffer, hashes, needs = words(ctx[r.BUFFER]), words(ctx[r.HASHES]), words(ctx[r.NEEDS])
        complete = True
        while sp > ZERO:
            sp -= ONE
            o = sp * STRIDE
            for w in range(W):
                current[w] = stack[o + U(w)]
            need = stack[o + WW + ONE]
            length = stack[o + WW + TWO]
            path[length] = stack[o + WW + THREE]
            e, table, possible, missing = enabled(ctx, cells, masks, shifts, bases, current, stack[o + WW], place)
            if missing:
                complete = False
            elif e == ZERO:
                if k + ONE >= ctx[r.BUFFER_SIZE] or done + length + TWO >= ctx[r.DONE_SIZE]:
                    ctx[r.OVERFLOW] = ONE
                    return k, done, False
                for w in range(W):
                    buffer[k * WW + U(w)] = current[w]
                needs[k] = need
                hashed(ctx, buffer, hashes, k)
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
                    o = sp * STRIDE
                    for w in range(W):
                        stack[o + U(w)] = (current[w] & ~masks[table * WW + U(w)]) | outcomes[first + j * WW + U(w)]
                    stack[o + WW] = possible | words(ctx[r.KIND_URGENT])[kind]
                    stack[o + WW + ONE] = need | words(ctx[r.KIND_NEEDS])[kind]
                    stack[o + WW + TWO] = length + ONE
                    stack[o + WW + THREE] = kind
                    sp += ONE
                    j += ONE
        return k, done, complete

    @njit(**ALONE)
    def fire_chained(ctx, cells, masks, shifts, bases, x, at, table, e, k, place):
        """All outcomes of a row with their chains: (successors so far, complete). Counts nothing unless complete."""
        outcomes, kinds, urgent_after = words(ctx[r.OUTCOMES]), quarters(ctx[r.OUTCOMES]), words(ctx[r.KIND_URGENT])
        buffer, hashes, needs, stack = words(ctx[r.BUFFER]), words(ctx[r.HASHES]), words(ctx[r.NEEDS]), words(ctx[r.STACK])
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
                for w in range(W):
                    buffer[k * WW + U(w)] = (x[at + U(w)] & ~masks[table * WW + U(w)]) | outcomes[first + j * WW + U(w)]
                needs[k] = words(ctx[r.KIND_NEEDS])[kind]
                hashed(ctx, buffer, hashes, k)
                k += ONE
                note[done] = kind
                done += ONE
            else:
                for w in range(W):
                    stack[w] = (x[at + U(w)] & ~masks[table * WW + U(w)]) | outcomes[first + j * WW + U(w)]
                stack[WW] = possible
                stack[WW + ONE] = words(ctx[r.KIND_NEEDS])[kind]
                stack[WW + TWO] = ZERO
                stack[WW + THREE] = kind
                k, done, rested = chain(ctx, cells, masks, shifts, bases, ONE, k, done, place)
                complete = complete and rested
            j += ONE
        if not complete:
            return begun, False
        i = ZERO
        while i < done:
            fired[note[i]] += ONE
            i += ONE
        return k, True

    @njit(**ALONE)
    def fire_plain(ctx, cells, masks, shifts, bases, x, at, table, e, k, place):
        """All outcomes of a row, counted: (successors so far, True)."""
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
            fired[kind] += ONE
            for w in range(W):
                buffer[k * WW + U(w)] = (x[at + U(w)] & ~masks[table * WW + U(w)]) | outcomes[first + j * WW + U(w)]
            needs[k] = kind_needs[kind]
            hashed(ctx, buffer, hashes, k)
            k += ONE
            j += ONE
        return k, True

    fire = fire_chained if urgent else fire_plain

    @njit(**ALONE)
    def view_values(ctx, x, at, need, place):
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
                e = look(ctx, cells, masks, shifts, bases, x, at, first + v, place)
                if e < NOTHING:
                    complete = False
                else:
                    values[places[v * TWO]] |= (e - NOTHING) << places[v * TWO + ONE]
            v += ONE
        return complete

    @njit(**ALONE)
    def look_viewed(ctx, x, at, table, place):
        """The cell of a predicate over views (and slots)."""
        cell = words(ctx[r.BASES])[table]
        if cell == HASH_BASE:
            return find(ctx, x, at, table, place, True)
        for w in range(W):
            cell += gather(x[at + U(w)], words(ctx[r.MASKS])[table * WW + U(w)]) << words(ctx[r.SHIFTS])[table * WW + U(w)]
        extra = ctx[r.VIEW_WORDS]
        v = ZERO
        while v < extra:
            bits = gather(words(ctx[r.VIEW_VALUES])[v], words(ctx[r.VIEW_MASKS])[table * extra + v])
            cell += bits << words(ctx[r.VIEW_SHIFTS])[table * extra + v]
            v += ONE
        e = U(halves(ctx[r.CELLS])[cell])
        if e == ZERO and ask(ctx, x, at, table, place, True):
            halves(ctx[r.CELLS])[cell] = 1
            return ASKED_FOR
        return e

    @njit(**ALONE)
    def examine(ctx, x, place, need):
        """Looks the predicates in `need` up for a stored state, so that combinations not seen before are asked for."""
        at = place * WW
        cells, masks, shifts, bases = halves(ctx[r.CELLS]), words(ctx[r.MASKS]), words(ctx[r.SHIFTS]), words(ctx[r.BASES])
        firsts = words(ctx[r.PREDICATE_FIRST])
        complete = ctx[r.VIEW_COUNT] == ZERO or view_values(ctx, x, at, need, place)
        left = need if complete else ZERO
        while left != ZERO:
            b = trailing_zeros(left)
            table = firsts[b]
            while table < firsts[b + ONE]:
                if table < ctx[r.VIEWED_FROM]:
                    e = look(ctx, cells, masks, shifts, bases, x, at, table, place)
                else:
                    e = look_viewed(ctx, x, at, table, place)
                complete = complete and e != ZERO  # 0: there was no room to ask
                table += ONE
            left &= left - ONE
        if not complete:
            put_off = words(ctx[r.PUT_OFF])
            put_off[ctx[r.PUT_OFF_COUNT] * TWO] = place
            put_off[ctx[r.PUT_OFF_COUNT] * TWO + ONE] = need
            ctx[r.PUT_OFF_COUNT] += ONE

    @njit(**ALONE)
    def insert(ctx, log, index, slots, bits, buffer, hashes, needs, k, n):
        """The buffer into index and log: the number of states afterwards. A first pass loads the log entries that the index points to."""
        low = (ONE << bits) - ONE
        high = FULL & ~low
        live = ctx[r.LIVE]
        i = ZERO
        while i < k:
            p = U(index[home(hashes[i], slots)]) & low
            if p != ZERO:
                prefetch(ctx[r.LOG] + (p - ONE) * (WW * WORD_BYTES))
            i += ONE
        i = ZERO
        while i < k:
            at = home(hashes[i], slots)
            tag = hashes[i] & high
            while True:
                t = U(index[at])
                if t == ZERO:
                    index[at] = tag | (n + ONE)
                    for w in range(W):
                        log[n * WW + U(w)] = buffer[i * WW + U(w)]
                    if needs[i] & live:
                        examine(ctx, log, n, needs[i] & live)
                    n += ONE
                    break
                if t & high == tag:
                    p = ((t & low) - ONE) * WW
                    same = True
                    for w in range(W):
                        same = same and log[p + U(w)] == buffer[i * WW + U(w)]
                    if same:
                        break
                at += ONE
                if at == slots:
                    at = ZERO
            i += ONE
        return n

    @njit(**ALONE)
    def differs(x, at, buffer, begun, k):
        """Is one of the successors begun .. k-1 another state than x[at:]?"""
        while begun < k:
            for w in range(W):
                if buffer[begun * WW + U(w)] != x[at + U(w)]:
                    return True
            begun += ONE
        return False

    @njit(**ALONE)
    def expand(ctx, log, cells, masks, shifts, bases, place, chunk, open_, k):
        """The successors of one state through the tables in `open_` of one chunk: (successors so far, pairs put off)."""
        deferred = words(ctx[r.DEFERRED])
        at = place * WW
        put_off = ZERO
        while open_ != ZERO:
            table = (chunk << SIX) + trailing_zeros(open_)
            open_ &= open_ - ONE
            e = look(ctx, cells, masks, shifts, bases, log, at, table, place)
            if e == NOTHING:
                continue
            complete = e > NOTHING
            if complete:
                k, complete = fire(ctx, cells, masks, shifts, bases, log, at, table, e, k, place)
            if not complete:
                n = ctx[r.DEFERRED_COUNT]
                deferred[n * TWO] = place
                deferred[n * TWO + ONE] = table
                ctx[r.DEFERRED_COUNT] = n + ONE
                put_off += ONE
        return k, put_off

    @njit(**ALONE)
    def rests(ctx, mode, place, put_off):
        """Notes a state without successors; for sure, or to be checked when its missing rows are there."""
        if put_off == ZERO:
            words(ctx[r.QUIET])[ctx[r.QUIET_COUNT]] = place
            ctx[r.QUIET_COUNT] += ONE
        elif mode != CHECK:
            words(ctx[r.UNSURE])[ctx[r.UNSURE_COUNT]] = place
            ctx[r.UNSURE_COUNT] += ONE

    @njit(**ALONE)
    def block(ctx, s, hi, mode):
        """Expands states until the block is full: (next, successors)."""
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
                k, _ = expand(ctx, log, cells, masks, shifts, bases, listed[s * TWO], table >> SIX, ONE << (table & SIXTY_THREE), k)
            else:
                place = listed[s] if mode == CHECK else s
                begun = k
                put_off = ZERO
                chunk = ZERO
                while chunk < chunks:
                    open_ = unguarded[chunk] | open_of(log, place * WW, guards, bits, chunk_guards[chunk], chunk_guards[chunk + ONE])
                    k, more = expand(ctx, log, cells, masks, shifts, bases, place, chunk, open_, k)
                    put_off += more
                    chunk += ONE
                if not differs(log, place * WW, buffer, begun, k) and mode != BACKWARD:
                    rests(ctx, mode, place, put_off)
            s += ONE
            if mode == CHECK:
                k = ZERO
        return s, k

    @njit(**ALONE)
    def reaches(ctx, k):
        """Is the target among the k successors in the buffer?"""
        buffer, log, at = words(ctx[r.BUFFER]), words(ctx[r.LOG]), ctx[r.TARGET] * WW
        i = ZERO
        while i < k:
            same = True
            for w in range(W):
                same = same and buffer[i * WW + U(w)] == log[at + U(w)]
            if same:
                return True
            i += ONE
        return False

    @njit(**ALONE)
    def reindex(ctx, log, index, slots, bits, buffer, hashes, needs):
        """A new index from the log. The states are distinct, so inserting them again writes each into its own place."""
        done, n = ctx[r.FROM], ctx[r.TO]
        while done < n:
            k = ZERO
            while k < ctx[r.BLOCK] and done + k < n:
                for w in range(W):
                    buffer[k * WW + U(w)] = log[(done + k) * WW + U(w)]
                needs[k] = ZERO
                hashed(ctx, buffer, hashes, k)
                k += ONE
            done = insert(ctx, log, index, slots, bits, buffer, hashes, needs, k, done)

    def search(ctx):
        log, index, slots, bits = words(ctx[r.LOG]), halves(ctx[r.INDEX]), ctx[r.INDEX_SLOTS], ctx[r.TAG_BITS]
        buffer, hashes, needs = words(ctx[r.BUFFER]), words(ctx[r.HASHES]), words(ctx[r.NEEDS])
        n, s, hi, mode = ctx[r.STATES], ctx[r.FROM], ctx[r.TO], ctx[r.MODE]
        if mode == REINDEX:
            reindex(ctx, log, index, slots, bits, buffer, hashes, needs)
            return
        if mode == RECHECK:
            while s < hi:
                listed = words(ctx[r.LIST])
                examine(ctx, log, listed[s * TWO], listed[s * TWO + ONE] & ctx[r.LIVE])
                s += ONE
            return
        room, put_off_room = ctx[r.ROOM] - ctx[r.BUFFER_SIZE], ctx[r.PUT_OFF_SIZE] - ctx[r.BUFFER_SIZE]
        ctx[r.FOUND_AT] = ALL
        while s < hi and n < room and ctx[r.PUT_OFF_COUNT] < put_off_room and ctx[r.ENDLESS] == ZERO:
            before = s
            s, k = block(ctx, s, hi, mode)
            if s == before:
                break
            if mode == BACKWARD:
                if reaches(ctx, k):
                    ctx[r.FOUND_AT] = s - ONE
                    break
            elif mode != CHECK:
                ctx[r.TRANSITIONS] += k
                n = insert(ctx, log, index, slots, bits, buffer, hashes, needs, k, n)
        ctx[r.STATES] = n
        ctx[r.FROM] = s

    return search
