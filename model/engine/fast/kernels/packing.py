"""Kernels that write rows into the tables, and move the log, the outcomes and the tables when
fields grow wider.
"""

from __future__ import annotations

from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.intrinsics import (
    FULL,
    ONE,
    alone,
    halves,
    home,
    mix,
    publish,
    publish_half,
    quarters,
    words,
)

ZERO, TWO, FOUR, FIVE, SIX, EIGHT, SIXTEEN = U(0), U(2), U(4), U(5), U(6), U(8), U(16)
DENSE_END = U(r.DENSE_END)
START, NOTHING, HASH_BASE = U(r.OUTCOMES_START), U(r.NOTHING), U(r.HASHED)
DIRECT = U(1 << 63)  # in place of a number of outcomes: the cell's value itself


@alone
def key_words(ctx, table):
    return ctx[r.KEY_WORDS] if table >= ctx[r.VIEWED_FROM] else ctx[r.WORDS]


@alone
def put_keyed(ctx, key, value):
    """Sets the cell of a row that is found by its key."""
    rows, size = words(ctx[r.KEYED]), ctx[r.KEYED_SIZE]
    slot = home(mix(key), size)
    while rows[slot * TWO] != ZERO and rows[slot * TWO] != key:
        slot += ONE
        if slot == size:
            slot = ZERO
    if rows[slot * TWO] == ZERO:
        ctx[r.KEYED_COUNT] += ONE
    publish(ctx[r.KEYED] + slot * SIXTEEN + EIGHT, value)
    publish(ctx[r.KEYED] + slot * SIXTEEN, key)


@alone
def unfold(ctx, key, inputs, ids):
    """The ids of the inputs of a row from its key; its table."""
    table = (key >> ctx[r.KEY_BITS]) - ONE
    firsts = words(ctx[r.INPUT_FIRST])
    first, i = firsts[table], ZERO
    while first + i < firsts[table + ONE]:
        o = (first + i) * FOUR
        ids[i] = (key >> inputs[o + U(3)]) & inputs[o + TWO]
        i += ONE
    return table


@alone
def put(ctx, table, ids, value):
    """Sets the cell of a table for the ids of its inputs."""
    inputs, firsts, base = (
        words(ctx[r.INPUTS]),
        words(ctx[r.INPUT_FIRST]),
        words(ctx[r.BASES])[table],
    )
    first, count = firsts[table], firsts[table + ONE] - firsts[table]
    i = ZERO
    if base != HASH_BASE:
        while i < count:
            base += ids[i] << inputs[(first + i) * FOUR + U(3)]
            i += ONE
        if base < DENSE_END:
            publish_half(ctx[r.CELLS] + base * FOUR, value)
        else:
            put_keyed(ctx, base, value)
        return
    key, rows = words(ctx[r.SCRATCH]), words(ctx[r.HASH])
    used, stride, size = key_words(ctx, table), ctx[r.KEY_WORDS] + ONE, ctx[r.HASH_SIZE]
    while i < ctx[r.KEY_WORDS]:
        key[i] = ZERO
        i += ONE
    i = ZERO
    while i < count:
        o = (first + i) * FOUR
        key[inputs[o]] |= ids[i] << inputs[o + ONE]
        i += ONE
    h = table + ONE
    i = ZERO
    while i < used:
        h = mix(h ^ key[i])
        i += ONE
    slot = home(h, size)
    while rows[slot * stride] != ZERO:
        same = rows[slot * stride] >> U(32) == table + ONE
        i = ZERO
        while i < used:
            same = same and rows[slot * stride + ONE + i] == key[i]
            i += ONE
        if same:
            break
        slot += ONE
        if slot == size:
            slot = ZERO
    if rows[slot * stride] == ZERO:
        ctx[r.HASH_COUNT] += ONE
    i = ZERO
    while i < ctx[r.KEY_WORDS]:
        rows[slot * stride + ONE + i] = key[i]
        i += ONE
    publish(ctx[r.HASH] + slot * stride * EIGHT, (table + ONE) << U(32) | value)


def write_rows(ctx):
    """The rows on the tape into outcomes and cells. A row: table, number of outcomes, ids of the
    inputs, then label and ids of each outcome.

    A row of outcomes in memory: 16-bit numbers (how many, then the kind of each) filled up to whole
    words, then the packed outcomes. The kind says the label and which inputs changed (bit i % 6 for
    input i).
    """
    tape, tape_end, labels = words(ctx[r.TAPE]), ctx[r.TAPE_LENGTH], ctx[r.LABELS]
    outcomes, kinds, kind_bases = (
        words(ctx[r.OUTCOMES]),
        quarters(ctx[r.OUTCOMES]),
        words(ctx[r.KIND_BASES]),
    )
    inputs, firsts, n_words = words(ctx[r.INPUTS]), words(ctx[r.INPUT_FIRST]), ctx[r.WORDS]
    at = ctx[r.OUTCOMES_USED]
    t = ZERO
    while t < tape_end:
        table, count = tape[t], tape[t + ONE]
        first, width = firsts[table], firsts[table + ONE] - firsts[table]
        ids = ctx[r.TAPE] + (t + TWO) * U(8)
        t += TWO + width
        if count & DIRECT:
            put(ctx, table, words(ids), count & FULL)
            continue
        if count == ZERO:
            put(ctx, table, words(ids), NOTHING)
            continue
        kinds[at * FOUR] = count
        o = at + ((count + FOUR) >> TWO)
        j = ZERO
        while j < count:
            changed, w = ZERO, ZERO
            while w < n_words:
                outcomes[o + w] = ZERO
                w += ONE
            i = ZERO
            while i < width:
                new = tape[t + ONE + i]
                f = (first + i) * FOUR
                outcomes[o + inputs[f]] |= new << inputs[f + ONE]
                if new != words(ids)[i]:
                    changed |= ONE << (i % SIX)
                i += ONE
            kinds[at * FOUR + ONE + j] = kind_bases[table * labels + tape[t]] + changed
            t += ONE + width
            o += n_words
            j += ONE
        put(ctx, table, words(ids), at)  # other threads read the row from here on
        at = o
    ctx[r.OUTCOMES_USED] = at


@alone
def move_fields(source, at, target, to, fields, count, n_words, scratch):
    """One packed state or outcome from its old fields to its new ones; source and target may be the
    same memory.
    """
    w = ZERO
    while w < n_words:
        scratch[w] = ZERO
        w += ONE
    i = ZERO
    while i < count:
        f = i * FIVE
        scratch[fields[f + U(3)]] |= (
            (source[at + fields[f]] >> fields[f + ONE]) & fields[f + TWO]
        ) << fields[f + FOUR]
        i += ONE
    w = ZERO
    while w < n_words:
        target[to + w] = scratch[w]
        w += ONE


def repack_log(ctx):
    """All states of the log, from the last to the first: a state may take more words
    than before.
    """
    log, fields, scratch = words(ctx[r.LOG]), words(ctx[r.FIELDS]), words(ctx[r.SCRATCH])
    old, new, count = ctx[r.OLD_WORDS], ctx[r.WORDS], ctx[r.FIELD_COUNT]
    i = ctx[r.STATES]
    while i > ZERO:
        i -= ONE
        move_fields(log, i * old, log, i * new, fields, count, new, scratch)


def repack_outcomes(ctx):
    """All rows of outcomes from SOURCE to OUTCOMES (which may be the same memory); MOVED_TO[old
    start] = new start.
    """
    source, source_kinds = words(ctx[r.SOURCE]), quarters(ctx[r.SOURCE])
    target, target_kinds, moved = (
        words(ctx[r.OUTCOMES]),
        quarters(ctx[r.OUTCOMES]),
        halves(ctx[r.MOVED_TO]),
    )
    fields, scratch, count = words(ctx[r.FIELDS]), words(ctx[r.SCRATCH]), ctx[r.FIELD_COUNT]
    old, new, end = ctx[r.OLD_WORDS], ctx[r.WORDS], ctx[r.OUTCOMES_USED]
    at, to = START, START
    while at < end:
        c = U(source_kinds[at * FOUR])
        head = (c + FOUR) >> TWO
        if ctx[r.MOVED_TO] != ZERO:
            moved[at] = to
        j = ZERO
        while j <= c:
            target_kinds[to * FOUR + j] = source_kinds[at * FOUR + j]
            j += ONE
        at += head
        to += head
        j = ZERO
        while j < c:
            move_fields(source, at, target, to, fields, count, new, scratch)
            at += old
            to += new
            j += ONE
    ctx[r.OUTCOMES_USED] = to


@alone
def moved_value(ctx, value):
    return (
        U(halves(ctx[r.MOVED_TO])[value]) if value >= START and ctx[r.MOVED_TO] != ZERO else value
    )


def respread(ctx):
    """All filled cells of the old tables into the new ones; cells only asked for are dropped.
    TABLES counts the tables with outcomes.
    """
    cells, bases, inputs = (
        halves(ctx[r.OLD_CELLS]),
        words(ctx[r.OLD_BASES]),
        words(ctx[r.OLD_INPUTS]),
    )
    firsts, ids = words(ctx[r.INPUT_FIRST]), words(ctx[r.SCRATCH] + U(8) * ctx[r.KEY_WORDS])
    table = ZERO
    while table < ctx[r.TO]:
        first, width = firsts[table], firsts[table + ONE] - firsts[table]
        bits, i = ZERO, ZERO
        while i < width:
            ids[i] = inputs[(first + i) * FOUR + TWO]
            bits += inputs[(first + i) * FOUR + TWO] << inputs[(first + i) * FOUR + U(3)]
            i += ONE
        if bases[table] < DENSE_END:
            c = ZERO
            while c <= bits:
                value = U(cells[bases[table] + c])
                if value >= NOTHING:
                    i = ZERO
                    while i < width:
                        o = (first + i) * FOUR
                        ids[i] = (c >> inputs[o + U(3)]) & inputs[o + TWO]
                        i += ONE
                    put(ctx, table, ids, moved_value(ctx, value) if table < ctx[r.FROM] else value)
                c += ONE
        table += ONE
    rows = words(ctx[r.OLD_KEYED])
    slot = ZERO
    while slot < ctx[r.OLD_KEYED_SIZE]:
        value = rows[slot * TWO + ONE]
        if value >= NOTHING:
            table = unfold(ctx, rows[slot * TWO], inputs, ids)
            put(ctx, table, ids, moved_value(ctx, value) if table < ctx[r.FROM] else value)
        slot += ONE
    rows, stride = words(ctx[r.OLD_HASH]), ctx[r.OLD_KEY_WORDS] + ONE
    slot = ZERO
    while slot < ctx[r.OLD_HASH_SIZE]:
        value = rows[slot * stride] & FULL
        if value >= NOTHING:
            table = (rows[slot * stride] >> U(32)) - ONE
            first, i = firsts[table], ZERO
            while first + i < firsts[table + ONE]:
                o = (first + i) * FOUR
                ids[i] = (rows[slot * stride + ONE + inputs[o]] >> inputs[o + ONE]) & inputs[
                    o + TWO
                ]
                i += ONE
            put(ctx, table, ids, moved_value(ctx, value) if table < ctx[r.FROM] else value)
        slot += ONE


@alone
def dump_row(ctx, table, ids, value, to):
    """One row onto the tape: where the next one goes."""
    tape, inputs, firsts = words(ctx[r.TAPE]), words(ctx[r.INPUTS]), words(ctx[r.INPUT_FIRST])
    outcomes, kinds, labels = (
        words(ctx[r.OUTCOMES]),
        quarters(ctx[r.OUTCOMES]),
        words(ctx[r.KIND_LABELS]),
    )
    first, width = firsts[table], firsts[table + ONE] - firsts[table]
    count = U(kinds[value * FOUR]) if value >= START else ZERO
    tape[to], tape[to + ONE] = table, count
    to += TWO
    i = ZERO
    while i < width:
        tape[to + i] = ids[i]
        i += ONE
    to += width
    o = value + ((count + FOUR) >> TWO)
    j = ZERO
    while j < count:
        tape[to] = labels[kinds[value * FOUR + ONE + j]]
        i = ZERO
        while i < width:
            f = (first + i) * FOUR
            tape[to + ONE + i] = (outcomes[o + inputs[f]] >> inputs[f + ONE]) & inputs[f + TWO]
            i += ONE
        to += ONE + width
        o += ctx[r.WORDS]
        j += ONE
    return to


def dump_rows(ctx):
    """All filled rows of the rule tables (TO of them) onto a tape that `write_rows` understands."""
    cells, bases, inputs = halves(ctx[r.CELLS]), words(ctx[r.BASES]), words(ctx[r.INPUTS])
    firsts, ids = words(ctx[r.INPUT_FIRST]), words(ctx[r.SCRATCH])
    to, table = ZERO, ZERO
    while table < ctx[r.TO]:
        first, width = firsts[table], firsts[table + ONE] - firsts[table]
        last, i = ZERO, ZERO
        while i < width:
            last += inputs[(first + i) * FOUR + TWO] << inputs[(first + i) * FOUR + U(3)]
            i += ONE
        c = ZERO
        while bases[table] < DENSE_END and c <= last:
            value = U(cells[bases[table] + c])
            if value >= NOTHING:
                i = ZERO
                while i < width:
                    o = (first + i) * FOUR
                    ids[i] = (c >> inputs[o + U(3)]) & inputs[o + TWO]
                    i += ONE
                to = dump_row(ctx, table, ids, value, to)
            c += ONE
        table += ONE
    rows = words(ctx[r.KEYED])
    slot = ZERO
    while slot < ctx[r.KEYED_SIZE]:
        key, value = rows[slot * TWO], rows[slot * TWO + ONE]
        if value >= NOTHING and (key >> ctx[r.KEY_BITS]) - ONE < ctx[r.TO]:
            table = unfold(ctx, key, inputs, ids)
            to = dump_row(ctx, table, ids, value, to)
        slot += ONE
    rows, stride = words(ctx[r.HASH]), ctx[r.KEY_WORDS] + ONE
    slot = ZERO
    while slot < ctx[r.HASH_SIZE]:
        value = rows[slot * stride] & FULL
        table = (rows[slot * stride] >> U(32)) - ONE
        if value >= NOTHING and table < ctx[r.TO]:
            i = ZERO
            while firsts[table] + i < firsts[table + ONE]:
                o = (firsts[table] + i) * FOUR
                ids[i] = (rows[slot * stride + ONE + inputs[o]] >> inputs[o + ONE]) & inputs[
                    o + TWO
                ]
                i += ONE
            to = dump_row(ctx, table, ids, value, to)
        slot += ONE
    ctx[r.TAPE_LENGTH] = to


def deal(ctx):
    """Deals states to shards: TO states at SOURCE, into LOG shard by shard. LIST: states of each
    shard (kept), then where its next one goes.

    A state's shard depends on the numbers of its values alone, not on where their fields stand:
    fields grow wider during a search.
    """
    source, target, fields, n_fields = (
        words(ctx[r.SOURCE]),
        words(ctx[r.LOG]),
        words(ctx[r.FIELDS]),
        ctx[r.FIELD_COUNT],
    )
    counts, shards, owners, n_words, n = (
        words(ctx[r.LIST]),
        ctx[r.INDEX_SLOTS],
        halves(ctx[r.INDEX]),
        ctx[r.WORDS],
        ctx[r.TO],
    )
    i = ZERO
    while i < n:
        h = ZERO
        f = ZERO
        while f < n_fields:
            o = f * FIVE
            number = (source[i * n_words + fields[o]] >> fields[o + ONE]) & fields[o + TWO]
            h += mix(((f + ONE) << U(40)) + number)
            f += ONE
        owner = home(mix(h), shards)
        owners[i] = owner
        counts[owner] += ONE
        i += ONE
    begin = ZERO
    s = ZERO
    while s < shards:
        counts[shards + s] = begin
        begin += counts[s]
        s += ONE
    i = ZERO
    while i < n:
        s = U(owners[i])
        to = counts[shards + s]
        counts[shards + s] = to + ONE
        w = ZERO
        while w < n_words:
            target[to * n_words + w] = source[i * n_words + w]
            w += ONE
        i += ONE
