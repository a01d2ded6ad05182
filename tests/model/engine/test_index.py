"""No state is lost to the index and none is taken twice, whatever form the index has and however
its states crowd.
"""

from __future__ import annotations

import numpy as np
import pytest

from groupcheck.model.engine import Limits, Spec, array, rule
from groupcheck.model.engine.fast import folding, log, stored_log
from groupcheck.model.engine.fast.disk_log import DiskWords
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.fast.kernels import intrinsics
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.log import BUCKET, CROWDED, FIRST_SLOTS, Log
from groupcheck.model.engine.fast.loop import Loop
from groupcheck.model.engine.fast.packed import Packed
from groupcheck.model.engine.fast.shape import Shape
from groupcheck.model.engine.fast.store import Reserved, address, aligned_zeros
from groupcheck.model.engine.fast.stored_log import StoredLog


class Wide:
    """Places with as many values as their widths hold, and no guards."""

    def __init__(self, widths):
        self.widths = widths

    def counts(self):
        return [1 << w for w in self.widths]

    def refresh(self):
        pass

    def open_tables(self, column, first):
        return []


def loop_of(*widths):
    """A search without rules over states whose places have these widths."""
    shape = Shape(
        "numbers", len(widths), 0, (), 0, 0, 0, 0, 0, (), (), (), (), (), (0,), ((), ()), ()
    )
    packed = Packed(shape, Wide(widths))
    return Loop(packed, Log(packed, Reserved(1 << 22)))


def take_in(loop, states):
    """Enters states, as the search enters successors."""
    w = loop.packed.words
    states = np.ascontiguousarray(states, np.uint64).reshape(-1, w)
    needs = np.zeros(len(states), np.uint64)
    loop.registers[r.SOURCE] = address(needs)
    done = 0
    while done < len(states):
        loop.run(r.TAKE_IN, done, len(states), states)
        assert int(loop.registers[r.FROM]) > done
        done = int(loop.registers[r.FROM])


def held(loop):
    return loop.log.packed_states(0, loop.log.states).tolist()


def distinct(states):
    return list(dict.fromkeys(map(tuple, states.tolist())))


def scattered(states, bits):
    """States of so many bits as the kernels scatter them: the upper bits choose a bucket."""
    return intrinsics.scattered.py_func(states.copy(), np.uint64(64 - bits))


def test_the_kernel_stops_where_the_log_is_full_though_the_index_has_room():
    loop, states = loop_of(20, 23), np.arange(1, 1 << 18, dtype=np.uint64)
    loop.log.memory = Reserved(1 << 15)
    loop.log.reindex(1 << 20)
    needs = np.zeros_like(states)
    loop.registers[r.SOURCE] = address(needs)
    loop.run(r.TAKE_IN, 0, len(states), states)
    assert 0 < loop.log.states < len(loop.log.memory.words) == 1 << 15
    take_in(loop, states)
    assert sorted(held(loop)) == states.reshape(-1, 1).tolist()


@pytest.mark.parametrize("bits", [9, 16])
def test_scattering_a_word_loses_nothing(bits):
    everything = np.arange(1 << bits, dtype=np.uint64)
    answers = scattered(everything, bits)
    assert len(set(answers.tolist())) == 1 << bits
    assert not (answers & np.uint64((1 << (64 - bits)) - 1)).any()


@pytest.mark.parametrize(
    ("widths", "forms"),
    [
        ((20, 23), {True}),  # every index holds remainders
        # First places, then remainders, as it grows.
        pytest.param((20, 27), {False, True}, marks=pytest.mark.night),
        # 64 bits: only places.
        pytest.param((32, 32), {False}, marks=pytest.mark.night),
        ((40, 40), {False}),  # two words
    ],
)
def test_each_state_is_entered_once(widths, forms):
    loop = loop_of(*widths)
    dice = np.random.default_rng(7)
    few, all_, met = [1 << min(w, 9) for w in widths], [], set()
    for _ in range(8):
        near = np.stack([dice.integers(0, n, 20_000, np.uint64) for n in few], axis=1)
        far = np.stack([dice.integers(0, 1 << w, 20_000, np.uint64) for w in widths], axis=1)
        ids = np.concatenate([near, far, near[::7], far[::7]])
        dice.shuffle(ids)
        states = np.zeros((len(ids), loop.packed.words), np.uint64)
        for k, f in enumerate(loop.packed.fields):
            states[:, f.word] |= ids[:, k] << np.uint64(f.shift)
        take_in(loop, states)
        all_.append(states)
        met.add(loop.packed.get(r.BUCKETS) != 0)
    assert sorted(held(loop)) == sorted(list(s) for s in distinct(np.concatenate(all_)))
    assert met == forms
    loop.log.reindex(loop.log.slots)
    before = loop.log.states
    take_in(loop, np.concatenate(all_))
    assert loop.log.states == before  # the index made anew from the log knows every one


@pytest.mark.parametrize(
    ("widths", "is_folded"),
    [
        ((10, 10, 10), True),
        ((9, 9, 9, 13, 14), True),
        ((7, 1, 7, 5, 7, 8, 8, 7, 8, 8), False),  # ten fields that do not depend on each other
    ],
)
def test_each_state_is_entered_once_into_an_index_of_keys(tmp_path, monkeypatch, widths, is_folded):
    """So many states that the index grows; the last field follows from the first one."""
    monkeypatch.setattr(stored_log, "FOLD_FROM", 1_000)
    monkeypatch.setattr(stored_log, "CHEAP_LINES", 0)
    loop = loop_of(*widths)
    loop.log = StoredLog(loop.packed, DiskWords(tmp_path, 1 << 22))
    dice, all_, counts = np.random.default_rng(7), [], set()
    for most in (40, 3, 7, 1_000):
        ids = [dice.integers(0, min(most, 1 << w), 30_000, np.uint64) for w in widths]
        ids[-1] = (ids[0] * np.uint64(3)) & np.uint64((1 << widths[-1]) - 1)
        states = np.zeros((30_000, loop.packed.words), np.uint64)
        for column, f in zip(ids, loop.packed.fields):
            states[:, f.word] |= column << np.uint64(f.shift)
        take_in(loop, states)
        loop.enter_left_over()
        all_.append(states)
        counts.add(loop.packed.get(r.LINE_COUNT))
    assert not loop.left_over and (loop.log.folding is not None) == is_folded
    assert sorted(held(loop)) == sorted(list(s) for s in distinct(np.concatenate(all_)))
    if is_folded:
        assert len(counts) > 1
    before = loop.log.states
    take_in(loop, np.concatenate(all_))
    assert loop.log.states == before


@pytest.mark.parametrize(
    ("most_width", "most_cell_bits", "had_keys"),
    [
        (10_000, 14, False),  # with bits to spare some tables are too large, and are given up
        (500, 22, True),  # a node meets more combinations than it has numbers for
    ],
    ids=["as it is tried", "later"],
)
def test_where_keys_turn_out_not_to_fit_there_is_an_index_of_places_again(
    tmp_path, monkeypatch, most_width, most_cell_bits, had_keys
):
    """States whose fields follow from each other by twos, at first from few values."""
    monkeypatch.setattr(stored_log, "FOLD_FROM", 1_000)
    monkeypatch.setattr(stored_log, "MOST_WIDTH", most_width)
    monkeypatch.setattr(folding, "MOST_CELL_BITS", most_cell_bits)
    unfold, index_for, refused = StoredLog._unfold, StoredLog._index_for, []

    def unfolding(self):
        refused.append(self.slots == 0)  # the index before was one of keys
        unfold(self)

    def indexing(self, states):
        index_for(self, states)
        assert self.packed.get(r.LINES) or self.packed.get(r.INDEX)  # a kernel would crash

    monkeypatch.setattr(StoredLog, "_unfold", unfolding)
    monkeypatch.setattr(StoredLog, "_index_for", indexing)
    loop = loop_of(*[7] * 6)
    loop.log = StoredLog(loop.packed, DiskWords(tmp_path, 1 << 22))
    dice, all_ = np.random.default_rng(7), []
    for most in (20, 20, 20, 128, 128):
        ids = dice.integers(0, most, (6, 8_000), np.uint64)
        ids[1::2] = (3 * ids[::2] + ids[1::2] % 2 * np.array([[1], [1], [0]], np.uint64)) % 128
        states = np.zeros((8_000, loop.packed.words), np.uint64)
        for column, f in zip(ids, loop.packed.fields):
            states[:, f.word] |= column << np.uint64(f.shift)
        take_in(loop, states)
        loop.enter_left_over()
        all_.append(states)
    assert refused and refused[0] == had_keys
    assert loop.log.folding is None and not loop.left_over
    assert sorted(held(loop)) == sorted(list(s) for s in distinct(np.concatenate(all_)))


def crowd(bits, buckets):
    """Many states of one bucket, and of its neighbour."""
    states = np.arange(1 << 20, dtype=np.uint64)
    return states[scattered(states, bits) >> np.uint64(64 - buckets.bit_length() + 1) < 300]


def test_states_that_find_their_bucket_full_are_kept_and_known_and_room_is_made_for_them():
    loop = loop_of(20, 20)
    states = crowd(40, FIRST_SLOTS // BUCKET)
    assert len(states) > 20 * 300 * BUCKET  # far more than these buckets hold
    take_in(loop, np.concatenate([states, states[::-1]]))
    assert sorted(s for (s,) in held(loop)) == states.tolist()
    assert (
        loop.packed.get(r.CROWDED) > loop.log.slots // CROWDED
    )  # more than an index has room for, if its states do not crowd


def test_the_state_whose_remainder_is_zero_is_a_state_like_others():
    loop = loop_of(20, 20)
    take_in(loop, np.zeros(3, np.uint64))
    assert held(loop) == [[0]]
    assert loop.packed.get(r.CROWDED) == 1


@rule
def flip(switch):
    yield 1 - switch


@pytest.mark.parametrize("least_bits", [1, log.LEAST_REMAINDER])
def test_a_model_that_reaches_nearly_every_combination_of_bits_is_continued(
    tmp_path, monkeypatch, least_bits
):
    """Few bits remain beside the bucket's number, so that many states have the remainder 0, and an
    index made at once must hold them all.
    """
    monkeypatch.setattr(log, "LEAST_REMAINDER", least_bits)
    switches = Spec("switches", {"switch": array(17, 0)}, [flip])
    assert explore(switches, Limits(states=118_000), checkpoint=tmp_path).verdict == "unknown"
    whole = explore(switches, resume=tmp_path)
    assert (whole.states, whole.transitions) == (1 << 17, 17 << 17)


def test_an_index_that_has_just_been_made_is_not_made_again(monkeypatch):
    """Some crowded states: more than fit with a buffer beside them where they did when there were
    none.
    """
    loop, made = loop_of(20, 20), []
    monkeypatch.setattr(
        loop.log, "_new_index", lambda size: made.append(size) or aligned_zeros(size, np.uint32)
    )
    dice = np.random.default_rng(7)
    for _ in range(150):
        take_in(loop, dice.integers(0, 1 << 40, 2_300, np.uint64))
    assert loop.log.states > 340_000
    assert len(made) <= 6
