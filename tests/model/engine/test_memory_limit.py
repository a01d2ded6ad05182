"""A limit of memory is of the whole process, and is kept: the search ends before it passes it."""

import json
import mmap
import re
import subprocess
import sys

import pytest
from small_group import small_group

from groupcheck.model.engine import Limits, UserError
from groupcheck.model.engine import resident as of_process
from groupcheck.model.engine.fast import explore, memory
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.memory import MIB, RESERVE, Watch, foreseen, hash_growth, widening
from groupcheck.model.engine.fast.search import Search
from groupcheck.oracles.command_line import cli

SPEC = small_group(2, 2, 4, 2, 1)
CHILD = """
import re, sys
from pathlib import Path
from groupcheck.oracles.command_line.cli import run
code = run(sys.argv[1:])
status = Path("/proc/self/status").read_text()
print(code, re.search(r"VmHWM:\\s+(\\d+)", status)[1], file=sys.stderr)
"""


def peak(*options: str) -> tuple[int, int, dict]:
    """Exit code, the most bytes that were resident, and the document of a check in a process of its
    own.
    """
    asked = ["check", "classic", "--members", "3", "--any-faults", "2", "--json", *options]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *asked], capture_output=True, text=True, timeout=300
    )
    code, most = done.stderr.split()[-2:]
    return int(code), int(most) * 1024, json.loads(done.stdout)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_process_never_takes_more_than_its_limit(workers):
    peak("--max-states", "1")  # compiles the kernels, which takes more
    code, most, document = peak("--max-memory", "140M", "--workers", workers)
    assert code == 3
    assert document["reason"].startswith("stopped at the limit of 146,800,640 bytes of memory in")
    assert most <= 140 * MIB


@pytest.mark.parametrize(("room", "taken"), [(30, 24), (23, 12), (7, 6)])
def test_for_the_answer_is_put_aside_what_the_address_space_has(monkeypatch, room, taken):
    mapped, real = [], mmap.mmap

    def within(number: int, size: int) -> mmap.mmap:
        if size > room * MIB:
            raise OSError
        mapped.append(size)
        return real(number, mmap.PAGESIZE)

    monkeypatch.setattr(of_process, "has_limited_address_space", lambda: True)
    monkeypatch.setattr(of_process.mmap, "mmap", within)
    with of_process.Spare():
        assert mapped == [taken * MIB]


@pytest.fixture
def resident(monkeypatch):
    """The resident bytes that the system tells, as the test wants them."""
    told = [0]
    monkeypatch.setattr(memory, "resident_bytes", lambda: told[0])
    monkeypatch.setattr(memory, "peak_bytes", lambda: 0)
    return told


def begun(spec=SPEC) -> Search:
    search = Search(spec)
    search.begin()
    return search


def test_a_limit_below_the_need_of_the_start_is_refused_with_one_that_serves(resident):
    resident[0] = 90 * MIB
    with pytest.raises(UserError, match="less than the start of this run takes") as refused:
        explore.explore(SPEC, Limits(memory=40 * MIB))
    enough = int(re.search(r"give (\d+)M or more", str(refused.value))[1])
    assert explore.explore(SPEC, Limits(memory=enough * MIB)).states > 1


def test_the_command_line_refuses_it_with_exit_code_2(capsys):
    assert cli.run(["check", "classic", "--max-memory", "1M"]) == 2
    assert "--max-memory: 1,048,576 bytes are less than the start" in capsys.readouterr().err


def test_a_search_stops_while_what_comes_next_still_fits(resident):
    """The system tells of the same memory all the time: what stops it is foreseen alone."""
    resident[0] = 90 * MIB
    watch = Watch(begun(), 0)
    watch.begin(None, True)
    least = watch.needed()
    found = explore.explore(SPEC, Limits(memory=least))
    assert found.verdict == "unknown"
    assert "bytes of memory" in found.reason
    assert 1 < found.states < 114_418
    assert explore.explore(SPEC, Limits(memory=least + 256 * MIB)).verdict == "holds"


def test_wider_fields_are_foreseen_with_the_tables_that_they_need():
    search = begun()
    search.stretch_alone(0, 1)
    packed, states = search.packed, search.log.states
    assert widening(packed, states) == 0
    for pool in search.pools:
        for value in range(1 << 12):
            pool.number(("another", value))
    told = widening(packed, states)
    of_longer_states = widening(packed, states + 1_000_000) - told
    assert foreseen(search) >= told
    words, outcomes = packed.words, packed.get(r.OUTCOMES_USED)
    packed.fit(search.log.memory)
    assert of_longer_states == 8 * (packed.words - words) * 1_000_000 > 0
    tables = sum(packed.arrays[k].nbytes for k in (r.CELLS, r.HASH, r.KEYED))
    assert told >= tables + 8 * (packed.words - words) * states + 4 * outcomes


@pytest.mark.parametrize(
    ("is_keyed", "count", "rows"),
    [(True, r.KEYED_COUNT, r.KEYED), (False, r.HASH_COUNT, r.HASH)],
)
def test_a_larger_hash_is_foreseen_before_it_is_made(is_keyed, count, rows):
    search = begun()
    packed = search.packed
    packed.is_hashed[0], packed.is_keyed[0] = True, is_keyed
    most = max(packed.get(r.KEYED_SIZE), packed.get(r.HASH_SIZE))
    while not hash_growth(packed) and packed.registers[count] <= most:
        packed.registers[count] += 1
    before, told = packed.arrays[rows].nbytes, foreseen(search)
    packed.ensure_hash_room(2 * packed.get(r.ASKED_SIZE))
    assert before < packed.arrays[rows].nbytes <= told


def test_what_was_not_foreseen_is_expected_again_twice_over(resident):
    resident[0] = 90 * MIB
    watch = Watch(begun(), 0)
    watch.begin(None, True)
    before = watch.needed()
    resident[0] += 7 * MIB + watch.soon
    assert watch.needed() == before + watch.soon + 3 * 7 * MIB
    assert watch.needed() - resident[0] - watch.soon == 2 * 7 * MIB + RESERVE
