"""How much memory a run may take: what is left on the machine, in the process's cgroups or below
its own limits, whichever is least.
"""

import resource
from pathlib import Path

import psutil
import pytest

from groupcheck.model.engine import Limits
from groupcheck.oracles.check import free_memory
from groupcheck.oracles.check.free_memory import Bound, bounded, bounds_here, cgroups

GIB = 2**30
V2 = "30 29 0:26 {top} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "35 31 0:32 {top} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
V1_CPU = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"


def machine(root: Path, cgroup: str, mounts: str, groups: dict[str, dict[str, object]]) -> Path:
    """A tree with what a process sees of its cgroups: `groups` maps folders below /sys/fs/cgroup to
    their files.
    """
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(cgroup)
    (root / "proc/self/mountinfo").write_text(mounts)
    for group, files in groups.items():
        folder = root / "sys/fs/cgroup" / group
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / f"memory.{name}").write_text(f"{text}\n")
    return root


def left(root: Path) -> list[int]:
    return [bound.left for bound in cgroups(root)]


def v2(limit: object, used: int, **more: object) -> dict[str, object]:
    return {"max": limit, "high": "max", "current": used, **more}


def v1(limit: object, used: int, cache: int = 0) -> dict[str, object]:
    return {
        "limit_in_bytes": limit,
        "usage_in_bytes": used,
        "stat": f"inactive_file 7\ntotal_inactive_file {cache}",
    }


def test_the_process_s_own_cgroup_counts_not_only_the_root(tmp_path):
    """`systemd-run -p MemoryMax`: the limit stands two levels below the root, which has none."""
    groups = {"": {}, "a.slice": v2("max", 9 * GIB), "a.slice/run.scope": v2(5 * GIB, GIB)}
    root = machine(tmp_path, "0::/a.slice/run.scope\n", V2.format(top="/"), groups)
    assert left(root) == [4 * GIB]


def test_a_limit_above_the_process_s_cgroup_counts_with_what_its_neighbours_take(tmp_path):
    groups = {"job": v2(8 * GIB, 7 * GIB), "job/step": v2(6 * GIB, GIB)}
    root = machine(tmp_path, "0::/job/step\n", V2.format(top="/"), groups)
    assert sorted(left(root)) == [GIB, 5 * GIB]


def test_memory_high_slows_a_group_down_so_it_counts_as_a_limit(tmp_path):
    groups = {"job": v2(8 * GIB, GIB, high=3 * GIB)}
    assert left(machine(tmp_path, "0::/job\n", V2.format(top="/"), groups)) == [2 * GIB]


def test_cache_that_would_give_way_does_not_count_as_used(tmp_path):
    groups = {"job": v2(10 * GIB, 8 * GIB, stat=f"anon 5\ninactive_file {3 * GIB}")}
    assert left(machine(tmp_path, "0::/job\n", V2.format(top="/"), groups)) == [5 * GIB]


def test_version_1_is_read_for_the_memory_controller_alone(tmp_path):
    groups = {
        "memory/slurm/job": v1(5 * GIB, 2 * GIB, cache=GIB),
        "memory/slurm": v1(9223372036854771712, 2 * GIB),
        "cpu,cpuacct/other": v1(GIB, 0),
    }
    of_process = "9:name=systemd:/\n4:memory:/slurm/job\n1:cpu,cpuacct:/other\n0::/\n"
    root = machine(tmp_path, of_process, V1_CPU + V1.format(top="/"), groups)
    assert left(root) == [4 * GIB]


def test_both_versions_count_where_both_are_mounted(tmp_path):
    unified = V2.format(top="/").replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
    groups = {"memory/job": v1(5 * GIB, 0), "unified/job": v2(3 * GIB, 0)}
    root = machine(tmp_path, "4:memory:/job\n0::/job\n", V1.format(top="/") + unified, groups)
    assert sorted(left(root)) == [3 * GIB, 5 * GIB]


@pytest.mark.parametrize("seen", ["/docker/abc", "/../../docker/abc", "/"])
def test_a_container_that_sees_only_its_own_group_reads_it_at_the_mount(tmp_path, seen):
    mounts = V1.format(top="/docker/abc" if seen != "/" else "/")
    root = machine(tmp_path, f"4:memory:{seen}\n", mounts, {"memory": v1(2 * GIB, GIB)})
    assert left(root) == [GIB]


@pytest.mark.parametrize("text", ["max", "", "-5", "many", str(1 << 62)])
def test_a_cgroup_without_a_limit_bounds_nothing(tmp_path, text):
    groups = {"job": v2(text, 5)}
    assert left(machine(tmp_path, "0::/job\n", V2.format(top="/"), groups)) == []


def test_more_use_than_the_limit_leaves_nothing(tmp_path):
    groups = {"job": v2(GIB, 2 * GIB)}
    assert left(machine(tmp_path, "0::/job\n", V2.format(top="/"), groups)) == [0]


def test_where_nothing_tells_of_cgroups_none_bounds(tmp_path):
    assert left(tmp_path) == []


def test_the_least_that_is_left_is_shared_by_the_checks_that_run_at_once(monkeypatch):
    monkeypatch.setattr(free_memory, "resident_bytes", lambda: GIB)
    bounds = [Bound(100 * GIB, "this machine"), Bound(10 * GIB, "its cgroup")]
    assert bounded(Limits(states=7), bounds) == Limits(
        states=7, memory=9 * GIB, memory_of="four fifths of what its cgroup had left"
    )
    assert bounded(Limits(), bounds, slots=4).memory == 3 * GIB


def test_a_limit_that_the_user_gave_stays():
    assert bounded(Limits(memory=5), [Bound(GIB, "address space")]) == Limits(memory=5)
    assert bounded(Limits(memory=5), []) == Limits(memory=5)


def test_a_limit_above_what_the_address_space_has_left_gives_way_to_it(monkeypatch):
    monkeypatch.setattr(free_memory, "resident_bytes", lambda: GIB)
    assert bounded(Limits(memory=9 * GIB), [Bound(5 * GIB, "address space")]) == Limits(
        memory=5 * GIB, memory_of="four fifths of what address space had left"
    )


def test_a_limit_on_the_address_space_counts():
    before = resource.getrlimit(resource.RLIMIT_AS)
    assert "ulimit -v" not in str(bounds_here())
    taken = psutil.Process().memory_info().vms  # other tests may have reserved a lot
    resource.setrlimit(resource.RLIMIT_AS, (taken + 64 * GIB, before[1]))
    try:
        bound = next(bound for bound in bounds_here() if "ulimit -v" in bound.whose)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert 0 < bound.left <= 64 * GIB
