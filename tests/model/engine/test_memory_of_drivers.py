"""A distributed search ends before the driver and all that it started take more than the limit, and
goes on later from its store.
"""

import os
import subprocess
import sys

import pytest
from in_process import InProcess
from small_group import small_group

from groupcheck.model.engine import Limits
from groupcheck.model.engine.fast import explore, memory
from groupcheck.model.engine.fast.memory import MIB, family_bytes
from groupcheck.model.engine.fast.shards import distribute

SPEC = small_group(2, 2, 2, 1, 1)
# More than is asked for: what others share with this process meanwhile counts for less.
HOLDER = "import sys; held = bytearray(b'x') * (80 << 20); print(flush=True); sys.stdin.read()"


@pytest.fixture(autouse=True)
def local_disk(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path_factory.mktemp("local")))


def test_a_driver_at_its_limit_ends_with_unknown_and_the_store_goes_on(monkeypatch, tmp_path):
    looks = []

    def growing():
        looks.append(len(looks) << 40)
        return looks[-1]

    monkeypatch.setattr(memory, "GLANCE", 0.0)
    monkeypatch.setattr(memory, "family_bytes", growing)
    limits = Limits(memory=1 << 43, memory_of="four fifths of what its cgroup had left")
    store = str(tmp_path / "store")
    stopped = distribute.distribute(SPEC, InProcess(2), store, limits, widest=20)
    assert stopped.verdict == "unknown"
    assert stopped.reason.startswith(
        "stopped at the limit of 8,796,093,022,208 bytes of memory"
        " (four fifths of what its cgroup had left) in level"
    )
    assert "--resume" in stopped.reason
    assert len(looks) == 10
    found = distribute.distribute(SPEC, InProcess(2), store, resume=True)
    expected = explore.explore(SPEC)
    assert 0 < stopped.states < found.states
    assert (found.verdict, found.states, found.transitions, found.rules) == (
        expected.verdict,
        expected.states,
        expected.transitions,
        expected.rules,
    )


def test_without_a_limit_nobody_looks(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "family_bytes", lambda: pytest.fail("looked"))
    store = str(tmp_path / "store")
    assert distribute.distribute(SPEC, InProcess(2), store, widest=20).states > 20


def test_what_a_process_that_was_started_holds_counts():
    before = family_bytes()
    command = [sys.executable, "-c", HOLDER]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        assert family_bytes() >= before + 64 * MIB
    finally:
        child.communicate()


def test_what_a_forked_child_shares_counts_once():
    held = bytearray(b"x") * (128 * MIB)
    before = family_bytes()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    try:
        assert family_bytes() < before + len(held) // 2
    finally:
        os.close(reader)
        os.close(writer)
        os.waitpid(child, 0)
