"""Checks that kernels write only where they may. Kernels are compiled code that writes through
addresses; nothing else would notice that one left its array.

Only where GROUPCHECK_CHECK_BOUNDS is set (the tests set it): then every array that a kernel writes
is as long as its register says before each call, every count is within its bound after the call,
and the painted words behind each array (its fence) are as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.store import CHECKED, FENCE, PAINT, Reserved, Words, aligned_zeros

Arrays = Mapping[int, NDArray[Any]]
Sizes = dict[int, Callable[[list[int]], int]]
PAINTED = np.full(FENCE + 1, PAINT, np.uint64).tobytes()
# The bytes of a fence behind an array of so many bytes more than whole words.
FENCES = [PAINTED[more:][: 8 * FENCE] for more in range(8)]
# Of each array with a fence, by its id: the array, the fence, and how it was painted. Numpy takes
# many times as long to say where an array is, and the fences are compared after every call.
_fences: dict[int, tuple[ref[NDArray[Any]], memoryview, bytes]] = {}
NAMES: dict[int, str] = {}
for _name, _value in vars(r).items():
    if _name.isupper():
        NAMES.setdefault(_value, _name)  # registers come first, then modes and other numbers

# of each array how many elements a kernel may write, from the registers
MOVING: Sizes = {r.SCRATCH: lambda n: n[r.KEY_WORDS] + 1}  # of kernels that move log and outcomes
WRITING: Sizes = {
    **MOVING,
    r.HASH: lambda n: n[r.HASH_SIZE] * (n[r.KEY_WORDS] + 1),
    r.KEYED: lambda n: 2 * n[r.KEYED_SIZE],
}
SEARCH: Sizes = {
    **WRITING,
    r.BUFFER: lambda n: n[r.BUFFER_SIZE] * n[r.WORDS],
    r.HASHES: lambda n: n[r.BUFFER_SIZE],
    r.NEEDS: lambda n: n[r.BUFFER_SIZE],
    r.SIEVE: lambda n: n[r.WORDS] << (64 - n[r.SIEVE_SHIFT]),
    r.INDEX: lambda n: n[r.INDEX_SLOTS],
    r.ASKED: lambda n: n[r.ASKED_SIZE] * (n[r.WORDS] + n[r.VIEW_WORDS] + 2),
    r.DEFERRED: lambda n: 2 * n[r.DEFERRED_SIZE],
    r.QUIET: lambda n: n[r.QUIET_SIZE],
    r.UNSURE: lambda n: n[r.DEFERRED_SIZE],  # each of these states has put off a pair, too
    r.PUT_OFF: lambda n: 2 * n[r.PUT_OFF_SIZE],
    r.STACK: lambda n: n[r.STACK_SIZE] * (n[r.WORDS] + 4),
    r.CURRENT: lambda n: n[r.WORDS],
    r.CHAIN: lambda n: r.LONGEST_CHAIN + 1,
    r.DONE: lambda n: n[r.DONE_SIZE],
    r.PAIRS: lambda n: (n[r.AT_ONCE] + n[r.TABLES]) * r.PAIR_WORDS,
    r.ITEMS: lambda n: n[r.ITEMS_SIZE] * (n[r.WORDS] + r.ITEM_WORDS),
    r.FRESH: lambda n: 2 * n[r.BUFFER_SIZE],
    r.LOOKS: lambda n: n[r.LOOKS_SIZE],
    r.GOING: lambda n: n[r.ITEMS_SIZE],
    r.FIRING: lambda n: n[r.ITEMS_SIZE],
    r.VIEW_VALUES: lambda n: n[r.VIEW_WORDS],
    r.DEGREES: lambda n: n[r.TO],
    r.FOLLOWED: lambda n: n[r.FOLLOWED_SIZE] * (n[r.WORDS] + 1),
    r.LEVELS: lambda n: n[r.LEVEL_SIZE],
    r.WALK_PATHS: lambda n: 2 * n[r.WORDS] + n[r.WALK_SIZE] * (3 * n[r.WORDS] + 4),
    r.KNOWN_WALKS: lambda n: (n[r.WORDS] + 1) << n[r.KNOWN_BITS],
    r.WALK_READS: lambda n: n[r.WORDS],
    r.CROWD: lambda n: n[r.CROWD_SIZE],
    # of an index of keys, which there is where there are lines; `spread_lines` takes a whole line
    r.FOLDED: lambda n: max(r.LANES, n[r.WORDS] + n[r.FOLD_NODE_COUNT]) if n[r.LINES] else 0,
    r.FOLD_COUNTS: lambda n: n[r.FOLD_NODE_COUNT] if n[r.LINES] else 0,
}
WRITTEN = frozenset({*SEARCH, r.CELLS, r.FIRED, r.TAPE, r.MOVED_TO, r.SORTED, r.FOLD_CELLS})
COUNTS = {
    r.ASKED_COUNT: r.ASKED_SIZE,
    r.DEFERRED_COUNT: r.DEFERRED_SIZE,
    r.QUIET_COUNT: r.QUIET_SIZE,
    r.UNSURE_COUNT: r.DEFERRED_SIZE,
    r.PUT_OFF_COUNT: r.PUT_OFF_SIZE,
    r.CROWDED: r.CROWDED_ROOM,
    r.HASH_COUNT: r.HASH_SIZE,
    r.LEVEL_COUNT: r.LEVEL_SIZE,
    r.EDGE_COUNT: r.EDGE_ROOM,
    r.FOLLOWED_COUNT: r.FOLLOWED_SIZE,
    r.KEYED_COUNT: r.KEYED_SIZE,
}


def fenced(register: int, array: NDArray[Any]) -> NDArray[Any]:
    """A copy with a fence behind it; the array itself where bounds are not checked, where no kernel
    writes it, or where it lies in a file.
    """
    if not CHECKED or register not in WRITTEN or not array.size or isinstance(array, np.memmap):
        return array
    size = array.nbytes
    room = aligned_zeros(size // 8 + 1 + FENCE, np.uint64)
    room[size // 8 :] = PAINT
    octets = room.view(np.uint8)
    inside = octets[:size].view(array.dtype).reshape(array.shape)
    inside[...] = array
    key = id(inside)
    fence = octets.data[size : size + 8 * FENCE]
    # No Python runs in this callback: a Ctrl-C there would be lost, and the fence would stay.
    _fences[key] = (ref(inside, partial(_fences.pop, key)), fence, FENCES[size % 8])
    return inside


def _is_whole(array: NDArray[Any]) -> bool:
    """Is the fence behind an array as it was painted?"""
    known = _fences.get(id(array))
    assert known and known[0]() is array, "an array without a fence"
    _, fence, painted = known
    return fence.tobytes() == painted


def check_before(kernel: str, registers: Words, arrays: Arrays) -> None:
    """Each array is at least as long as the registers say."""
    n = registers.tolist()
    sizes = {"search": SEARCH, "write_rows": WRITING, "respread": WRITING}.get(kernel, MOVING)
    for register, size in sizes.items():
        if register in arrays:
            held, said = arrays[register].size, size(n)
            assert held >= said, f"{NAMES[register]} holds {held}, its registers say {said}"


def check_after(
    kernel: str, registers: Words, arrays: Arrays, reserved: Mapping[int, Reserved]
) -> None:
    """All counts are within their bounds, and all fences whole."""
    n = registers.tolist()
    if kernel == "search":
        for count, most in COUNTS.items():
            _at_most(kernel, count, n[count], n[most])
        if n[r.MODE] in (r.EXPAND, r.LISTED, r.RETRY, r.TAKE_IN):
            _at_most(kernel, r.STATES, n[r.STATES], n[r.ROOM])
    if r.TAPE in arrays:
        _at_most(kernel, r.TAPE_LENGTH, n[r.TAPE_LENGTH], arrays[r.TAPE].size)
    used = {
        r.LOG: n[r.STATES] * n[r.WORDS],
        r.NEED_LOG: n[r.STATES],
        r.OUTCOMES: n[r.OUTCOMES_USED],
        r.LINES: n[r.LINE_COUNT] * r.LINE_BYTES // 8,
        r.EDGES: n[r.EDGE_COUNT] // 2,
        r.EDGE_CLASSES: n[r.EDGE_COUNT] // 4,
    }
    whole = {
        k: _is_whole(arrays[k])
        for k in WRITTEN & arrays.keys()
        if arrays[k].size and not isinstance(arrays[k], np.memmap)
    }
    for register, memory in reserved.items():
        _at_most(kernel, register, used[register], len(memory.words))
        whole[register] = memory.fence.tobytes() in (b"", FENCES[0])
    for register, is_whole in whole.items():
        assert is_whole, f"{kernel} wrote behind the end of {NAMES[register]}"


def _at_most(kernel: str, register: int, count: int, most: int) -> None:
    assert count <= most, f"{kernel}: {NAMES[register]} is {count}, its bound {most}"
