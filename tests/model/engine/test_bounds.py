"""Kernels write only where they may: the room in the log ends where the log ends, and the checks of
bounds, which are on in the tests, name what was left.
"""

import sys

import numpy as np
import pytest
from small_group import small_group

from groupcheck.model.engine import Limits, Spec, invariant, rule, single
from groupcheck.model.engine.fast import bounds, explore, search, store, stored_log, threads
from groupcheck.model.engine.fast.disk_log import DiskWords
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.store import Reserved

SPEC = small_group(2, 2, 4, 2, 1)
COUNTS = (114_418, 356_815)


@rule
def spread(cell):
    if cell == 0:
        yield 1
        yield 2
        yield 3


@pytest.fixture
def fan():
    """A search through one state with three successors, which have none."""
    search = Search(Spec("fan", {"cell": single(0)}, [spread]))
    search.begin()
    assert search.stretch(0, 1) == 1
    return search


def test_an_array_shorter_than_its_register_says_is_named_before_the_kernel_runs(fan):
    fan.packed.hold(r.QUIET, np.zeros(2, np.uint64))
    with pytest.raises(AssertionError, match=r"QUIET holds 2, its registers say 65536"):
        fan.stretch(1, 4)


def test_a_write_behind_the_end_of_an_array_is_named_after_the_kernel_ran(fan, monkeypatch):
    fan.packed.hold(r.QUIET, np.zeros(2, np.uint64))
    monkeypatch.delitem(bounds.SEARCH, r.QUIET)
    with pytest.raises(AssertionError, match=r"search wrote behind the end of QUIET"):
        fan.stretch(1, 4)


def test_a_write_behind_the_end_of_the_log_is_named(monkeypatch):
    search = Search(Spec("fan", {"cell": single(0)}, [spread]))
    short = Reserved(2)
    short.words[:] = search.log.memory.words[:2]
    search.log.memory = short
    search.log.reindex(1 << 15)

    def by_the_index_alone():
        search.packed.point(r.LOG, search.log.memory)
        search.registers[r.ROOM] = search.log.index_room

    monkeypatch.setattr(search.log, "make_room", by_the_index_alone)
    with pytest.raises(AssertionError, match=r"LOG is 4, its bound 2"):
        search.stretch(0, 1)


def test_a_count_beyond_its_bound_is_named(fan):
    after = fan.registers.copy()
    bounds.check_after("search", after, fan.packed.arrays, fan.packed.reserved)
    after[r.UNSURE_COUNT] = 65_537
    with pytest.raises(AssertionError, match=r"search: UNSURE_COUNT is 65537, its bound 65536"):
        bounds.check_after("search", after, fan.packed.arrays, fan.packed.reserved)


def test_a_write_behind_words_that_grow_is_named(fan):
    fan.packed.reserved[r.OUTCOMES].fence[-1] ^= np.uint64(1)
    with pytest.raises(AssertionError, match=r"search wrote behind the end of OUTCOMES"):
        fan.stretch(1, 4)


@pytest.fixture
def folded(tmp_path, monkeypatch):
    """A search through few states with an index of keys."""
    monkeypatch.setattr(stored_log, "FOLD_FROM", 1)

    def new_log(packed):
        return stored_log.StoredLog(packed, DiskWords(tmp_path, 1 << 22))

    search = Search(Spec("fan", {"cell": single(0)}, [spread]), new_log=new_log)
    search.begin()
    assert search.stretch(0, 1) == 1 and search.log.folding is not None
    return search


@pytest.mark.parametrize(("name", "size", "said"), [("FOLDED", 15, 16), ("FOLD_COUNTS", 1, 2)])
def test_an_array_of_an_index_of_keys_is_as_long_as_its_registers_say(folded, name, size, said):
    folded.packed.hold(getattr(r, name), np.zeros(size, np.uint64))
    folded.registers[r.FOLD_NODE_COUNT] = 2
    with pytest.raises(AssertionError, match=f"{name} holds {size}, its registers say {said}"):
        folded.stretch(1, 4)


@pytest.mark.parametrize("name", ["FOLDED", "FOLD_COUNTS", "FOLD_CELLS"])
def test_a_write_behind_an_array_of_an_index_of_keys_is_named(folded, name):
    array = folded.packed.arrays[getattr(r, name)]
    bounds._fences[id(array)][1][0] ^= 1
    with pytest.raises(AssertionError, match=f"search wrote behind the end of {name}"):
        folded.stretch(1, 4)


def test_where_a_fence_begins_inside_a_word_a_changed_byte_is_seen():
    array = bounds.fenced(r.DONE, np.zeros(7, np.uint16))
    assert bounds._is_whole(array)
    array.base.view(np.uint8)[int(array.ctypes.data) - int(array.base.ctypes.data) + 14] ^= 1
    assert not bounds._is_whole(array)


def test_a_fence_ends_with_its_array_and_no_python_runs_then():
    """A Ctrl-C while Python ran there would be lost, and the fence would stay."""
    array, calls = bounds.fenced(r.DONE, np.zeros(7, np.uint16)), []
    key = id(array)
    assert key in bounds._fences
    sys.setprofile(lambda _, event, argument: calls.append(event))
    del array
    sys.setprofile(None)
    assert key not in bounds._fences
    assert "call" not in calls


@pytest.fixture
def short(monkeypatch):
    """Address space is limited: logs and outcomes begin with 32 KiB."""
    monkeypatch.setattr(store, "has_limited_address_space", lambda: True)
    monkeypatch.setattr(store, "FIRST", 1 << 12)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_log_that_moves_as_it_grows_loses_no_state(short, monkeypatch, workers):
    monkeypatch.setattr(threads, "WORTH", 2)
    monkeypatch.setattr(search, "cores", lambda: 2)
    verdict = explore.explore(SPEC, workers=workers)
    assert (verdict.verdict, verdict.states, verdict.transitions) == ("holds", *COUNTS)


def test_room_ends_where_what_is_kept_beside_the_log_ends(short):
    log = Search(SPEC).log
    log._needs = Reserved(1 << 12)
    log.make_room()
    assert int(log.registers[r.ROOM]) == len(log._needs.words)


def test_words_keep_what_they_hold_when_there_is_no_room_for_more(short, monkeypatch):
    words = Reserved(1 << 30)
    words.words[:] = 7
    with pytest.raises(MemoryError):
        words.ensure(1 << 58)
    assert (words.words == 7).all()
    assert len(words.words) == 1 << 12
    held = words.words  # somebody holds a view: the words are copied
    words.ensure(1 << 13)
    words.words[0] = 8
    assert (held == 7).all()
    assert (words.words[1 : 1 << 12] == 7).all()


def test_a_search_whose_log_cannot_grow_says_unknown_and_what_it_reached(monkeypatch):
    ensure = Reserved.ensure

    def scarce(self, count):
        if count > 40_000:
            raise MemoryError
        ensure(self, count)

    monkeypatch.setattr(Reserved, "ensure", scarce)
    verdict = explore.explore(SPEC)
    assert verdict.verdict == "unknown"
    assert f"for more than {verdict.states:,} states in level {verdict.depth + 1}" in verdict.reason
    assert "states were not expanded yet" in verdict.reason
    assert 10_000 < verdict.states < 40_000


def test_a_search_that_finds_no_memory_to_begin_says_unknown(monkeypatch):
    def none(spec, symmetry, **more):
        raise MemoryError

    monkeypatch.setattr(explore, "Search", none)
    verdict = explore.explore(SPEC)
    assert (verdict.verdict, verdict.states) == ("unknown", 0)
    assert verdict.reason == "stopped: the system gave no memory for the search"


def test_memory_that_runs_out_inside_a_rule_is_no_fault_of_the_rule():
    @rule
    def step(cell):
        if cell == 5:
            raise MemoryError
        yield cell + 1

    verdict = explore.explore(Spec("steps", {"cell": single(0)}, [step]))
    assert (verdict.verdict, verdict.states) == ("unknown", 6)
    assert verdict.reason.startswith("stopped: the system gave no memory for more than 6 states")


@invariant
def low(cell):
    return cell < 3


def test_what_was_violated_before_memory_ran_out_stays_violated(monkeypatch):
    def after_a_violation(search, first):
        if search.findings.wrong:
            raise MemoryError

    monkeypatch.setattr(Search, "look_at_whole_states", after_a_violation)
    verdict = explore.explore(
        Spec("fan", {"cell": single(0)}, [spread], invariants=[low]), Limits()
    )
    assert verdict.verdict == "violated"
    assert [v.invariant for v in verdict.violations] == ["low"]
    assert verdict.reason.startswith("stopped: the system gave no memory")


def test_no_search_runs_on_tables_that_were_left_half_changed(fan):
    with pytest.raises(MemoryError), fan.packed.changing():
        raise MemoryError
    with pytest.raises(MemoryError, match="memory ran out while the tables were changed"):
        fan.stretch(1, 4)
