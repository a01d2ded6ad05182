"""How much memory a run may take: what is free on the machine or in the container, whichever is
less.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from groupcheck.oracles.free_memory import most_memory

GIB = 2**30


def machine(root: Path, **files: object) -> Path:
    """A tree with these files under it; `__` stands for a slash."""
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("memory_", "memory.")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root


def test_a_machine_gives_four_fifths_of_what_is_available(tmp_path):
    assert (
        most_memory(
            machine(tmp_path, proc__meminfo=f"MemTotal: 99 kB\nMemAvailable:   {10 * 2**20} kB")
        )
        == 8 * GIB
    )


def test_a_container_gives_four_fifths_of_what_it_has_left_when_its_cache_gives_way(tmp_path):
    root = machine(
        tmp_path,
        proc__meminfo=f"MemAvailable: {100 * 2**20} kB",
        sys__fs__cgroup__memory_max=10 * GIB,
        sys__fs__cgroup__memory_current=8 * GIB,
        sys__fs__cgroup__memory_stat=f"anon 5\ninactive_file {3 * GIB}",
    )
    assert most_memory(root) == 4 * GIB


def test_version_1_of_cgroups_counts_too_unless_it_sets_no_limit(tmp_path):
    files = {
        "sys__fs__cgroup__memory__memory_limit_in_bytes": 5 * GIB,
        "sys__fs__cgroup__memory__memory_usage_in_bytes": 0,
    }
    assert most_memory(machine(tmp_path, **files)) == 4 * GIB
    machine(tmp_path, sys__fs__cgroup__memory__memory_limit_in_bytes=9223372036854771712)
    assert most_memory(tmp_path) is None


@pytest.mark.parametrize("text", ["max", "", "-5", "many"])
def test_a_container_without_a_limit_sets_none(tmp_path, text):
    assert (
        most_memory(
            machine(tmp_path, sys__fs__cgroup__memory_max=text, sys__fs__cgroup__memory_current=5)
        )
        is None
    )


def test_where_nothing_tells_there_is_no_limit(tmp_path):
    assert most_memory(tmp_path) is None
