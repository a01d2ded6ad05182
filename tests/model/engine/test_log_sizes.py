"""How large log and index are: room for what the next call of a kernel may add, and no index that
is larger than it must be.
"""

import numpy as np
import pytest
from test_index import loop_of

from groupcheck.model.engine.fast import log as logs
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.log import FIRST_SLOTS, LOAD, MOST_STATES, Log
from groupcheck.model.engine.fast.store import Reserved

BUFFER = 1_000


def log_of(*widths, words=1 << 20, **more):
    """A log of states of these widths, with a small buffer."""
    packed = loop_of(*widths).packed
    packed.registers[r.BUFFER_SIZE] = BUFFER
    packed.registers[r.STATES] = packed.registers[r.CROWDED] = 0
    return Log(packed, Reserved(words), **more)


@pytest.mark.parametrize(
    ("states", "slots"),
    [
        (0, 1 << 15),
        (22_936, 1 << 15),  # 0.7 of 1 << 15 is 22,937.6
        (22_937, 1 << 17),
        (91_750, 1 << 19),
        (5_872_024, 1 << 23),
        (5_872_025, 1 << 24),
        (11_744_051, 1 << 25),
    ],
)
def test_an_index_grows_fourfold_while_it_is_small_and_then_twofold(states, slots):
    assert log_of(32, 32).slots_for(states) == slots


def test_an_index_grows_twofold_where_memory_is_short_and_never_shrinks():
    log = log_of(27, 27)
    log.is_thrifty = True
    assert [log.slots_for(n) for n in (22_937, 5_000_000)] == [1 << 16, 1 << 23]
    log.slots = 1 << 20
    assert log.slots_for(1) == 1 << 20
    log.is_thrifty, log._is_short = False, True
    assert log.slots_for(1_000_000) == 1 << 21


@pytest.mark.parametrize(("bits", "slots"), [(19, 1 << 14), (20, 1 << 15), (44, 1 << 15)])
def test_an_index_holds_remainders_of_8_to_32_bits_of_states_of_one_word(bits, slots):
    """A slot tells what the number of its bucket, one of `slots / 8`, does not."""
    log = log_of(bits - 10, 10)
    assert log.holds_remainders(slots) == (8 <= bits - (slots.bit_length() - 4) <= 32)
    assert log.holds_remainders(1 << (bits - 8 + 3))
    assert not log.holds_remainders(1 << (bits - 7 + 3))
    if bits > 32:
        assert log.holds_remainders(1 << (bits - 32 + 3))
        assert not log.holds_remainders(1 << (bits - 33 + 3))
    assert not log_of(40, 40).holds_remainders(1 << 20)


def test_an_index_of_remainders_has_a_sixteenth_more_for_states_that_crowd():
    log = log_of(20, 20)
    assert log.size_for(1 << 20) == (1 << 20) + (1 << 16)
    assert log_of(32, 32).size_for(1 << 20) == 1 << 20


def test_an_index_is_crowded_when_two_buffers_of_crowded_states_no_longer_fit():
    log = log_of(20, 20)
    log.registers[r.CROWDED_ROOM] = 5 * BUFFER
    log.registers[r.CROWDED] = 3 * BUFFER
    assert not log.is_crowded
    log.registers[r.CROWDED] += 1
    assert log.is_crowded


def test_room_is_made_for_what_is_asked_two_buffers_and_two_states(monkeypatch):
    log, asked = log_of(40, 40, keeps_needs=True), []
    monkeypatch.setattr(log.memory, "ensure", lambda words: asked.append(words))
    monkeypatch.setattr(log._needs, "ensure", lambda states: asked.append(2 * states))
    log.append([1, 2])
    assert asked == [2 * 1]
    log.make_room(states=500)
    log.make_room()
    assert asked[1:] == [2 * (1 + 500 + 2 * BUFFER + 2)] * 2 + [2 * (1 + 2 * BUFFER + 2)] * 2


def test_a_kernel_stops_at_the_smallest_of_index_log_and_needs():
    log = log_of(40, 40, words=1 << 12, keeps_needs=True)
    log.use_index(np.zeros(1 << 15, np.uint32), 1 << 15)
    words = len(log.memory.words)
    assert int(log.registers[r.ROOM]) == words // 2
    log._needs = Reserved(100)
    log._bound()
    assert int(log.registers[r.ROOM]) == len(log._needs.words) < words // 2
    log._needs, log.index_room = None, 7
    log._bound()
    assert int(log.registers[r.ROOM]) == 7


def test_an_index_of_places_is_full_at_seven_tenths_and_at_the_most_states():
    log = log_of(40, 40)
    log.use_index(np.zeros(1 << 15, np.uint32), 1 << 15)
    assert (log.size, log.slots, log.index_room) == (1 << 15, 1 << 15, 22_937)
    told = [log.packed.get(k) for k in (r.INDEX_SLOTS, r.CROWDED, r.BUCKETS, r.BUCKET_BITS)]
    assert told == [1 << 15, 0, 0, 0]
    assert log.packed.get(r.TAG_BITS) == (22_937).bit_length()
    assert log.packed.get(r.CROWDED_ROOM) == MOST_STATES
    assert log.packed.get(r.UNUSED_BITS) == 0


def test_an_index_of_remainders_begins_with_buckets_and_ends_with_crowded_places():
    log = log_of(20, 20)
    index = log.packed.hold(r.INDEX, np.zeros((1 << 15) + 1_000, np.uint32))
    log.use_index(index, 1 << 15, crowded=3)
    index = log.packed.arrays[r.INDEX]
    assert (log.packed.get(r.INDEX_SLOTS), log.packed.get(r.CROWDED)) == (1_000, 3)
    assert log.packed.get(r.BUCKETS) == index.ctypes.data
    assert log.packed.get(r.INDEX) == index.ctypes.data + 4 * (1 << 15)
    assert log.packed.get(r.BUCKET_BITS) == 12  # 1 << 15 slots, 8 a bucket
    assert log.packed.get(r.CROWDED_ROOM) == int(1_000 * LOAD)
    assert log.packed.get(r.UNUSED_BITS) == 64 - 40


def test_a_log_is_full_four_buffers_before_places_need_more_than_32_bits():
    log = log_of(20, 20)
    log.registers[r.STATES] = MOST_STATES - 4 * BUFFER - 1
    assert not log.is_full
    log.registers[r.STATES] += 1
    assert log.is_full


def test_bytes_are_those_of_the_states_and_of_what_the_index_grows_by():
    log = log_of(40, 40)
    log.registers[r.STATES], log.size, log.slots = 300, 1 << 15, 1 << 15
    assert log.bytes == 8 * 2 * 300
    most = int((1 << 15) * LOAD) - 1 - 300 - 4 * BUFFER
    assert log.bytes_soon(most) == 0
    assert log.bytes_soon(most + 1) == 4 * ((1 << 17) - (1 << 15))


def test_states_are_read_where_they_were_written():
    log = log_of(40, 20, 30)
    ids = [[7, 5, 1], [1 << 39, 1, 0], [3, 1 << 19, (1 << 30) - 1]]
    assert log.packed.fields[1].shift
    for state in ids:
        log.append(state)
    assert [log.ids(place) for place in range(3)] == ids
    assert log.packed_states(1, 3).tolist() == [log.packed.pack(state) for state in ids[1:]]
    assert log.chosen(np.array([2, 0], np.uint64)).tolist() == [
        log.packed.pack(ids[2]),
        log.packed.pack(ids[0]),
    ]
    log.levels = [0, 1, 3]
    assert [log.level_of(place) for place in range(4)] == [0, 1, 1, 2]


def test_what_must_be_looked_at_is_read_for_the_states_asked_for():
    log = log_of(20, 20, keeps_needs=True)
    log._needs.words[:4] = [9, 1, 2, 3]
    assert log.needs(1, 3).tolist() == [1, 2]


def test_a_new_log_is_empty_and_makes_an_index_of_its_own_where_none_is_given(monkeypatch):
    monkeypatch.setattr(logs, "MOST_WORDS", 1 << 12)
    log = Log(loop_of(20, 20).packed)
    assert (log.levels, log.size, log.slots, log.index_room) == ([0], 0, 0, 0)
    assert log.registers[r.LOG] == log.memory.address
    assert log._needs is None
    log.reindex(1 << 15)
    assert len(log.packed.arrays[r.INDEX]) == log.size == log.size_for(1 << 15)


@pytest.mark.parametrize(
    ("bits", "slots"),
    [(52, 1 << 23), (53, 1 << 24), (54, 1 << 25), (55, 1 << 23)],  # 55: 1 << 26 would be needed
)
def test_an_index_grows_at_once_to_where_it_holds_remainders_if_that_is_at_most_worth_slots(
    bits, slots
):
    log = log_of(bits - 27, 27)
    assert log.packed.state_bits == bits
    assert log.slots_for(5_000_000) == slots
    assert log.holds_remainders(slots) == (bits < 55)


def test_a_new_index_has_room_for_twice_the_states_that_crowd():
    """Else it would have to be made again after every few of them."""
    log, slots = log_of(20, 20), FIRST_SLOTS
    log.registers[r.CROWDED] = 100_000
    assert int((log.size_for(slots) - slots) * LOAD) == 2 * 100_000 + 4 * BUFFER


def test_a_kernel_is_shown_log_and_needs_and_an_index_that_is_made_only_where_it_must_be():
    held, log = [], log_of(20, 20, keeps_needs=True)
    make = log._new_index

    def noted(size):
        held.append(log.packed.arrays[r.INDEX].size)
        return make(size)

    log._new_index = noted
    log.registers[r.LOG] = log.registers[r.NEED_LOG] = 0
    log.make_room()
    assert (log.registers[r.LOG], log.registers[r.NEED_LOG]) == (
        log.memory.address,
        log._needs.address,
    )
    assert log.registers[r.ROOM] == log.index_room == int(FIRST_SLOTS * LOAD)
    log.registers[r.ROOM] = 0
    log.make_room()
    assert len(held) == 1
    assert log.registers[r.ROOM] == log.index_room
    log.registers[r.CROWDED] = log.registers[r.CROWDED_ROOM]
    log.make_room()
    log.make_room(states=FIRST_SLOTS)
    assert held == [0, 0, 0]  # the old index was given back before the new one was made
