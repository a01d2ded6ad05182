"""How much memory a run may take when nobody says: an exploration that outgrows its cgroup or the
machine must end with `unknown`, not be killed.

`psutil` is imported late: it is compiled, and is not in a browser tab.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import attrs

from groupcheck.model.engine import Limits, UserError
from groupcheck.model.engine.resident import IN_A_TAB, resident_bytes

SHARE = 0.8  # of what is left
UNLIMITED = 1 << 60  # what version 1 of cgroups writes for "no limit" is above this


@attrs.frozen
class Bound:
    """So many bytes may be taken yet; `whose` limit that is, in words."""

    left: int
    whose: str


def bounded(limits: Limits, bounds: Sequence[Bound] | None = None, slots: int = 1) -> Limits:
    """The limits, with one of memory where there is none: four fifths of what is left, divided by
    the checks that run at once. A limit that somebody asked for gives way to what `ulimit` leaves
    alone: a process at the edge of its address space does not fail, it crawls from one small gap
    of its heap to the next, for minutes. `bounds`: what bounds this process, in place of a look.

    Raises `UserError` in a browser tab if a limit was asked for: it does not tell what is taken.
    """
    is_asked = limits.memory is not None
    if IN_A_TAB and is_asked:
        what = "a browser tab does not tell how much memory is taken"
        raise UserError(what, where="--max-memory", do="give --max-states")
    if IN_A_TAB:
        return limits
    if bounds is None:
        bounds = own_limits() if is_asked else bounds_here()
    least = min(bounds, key=lambda bound: bound.left, default=None)
    if least is None:
        return limits
    most = resident_bytes() + int(least.left * SHARE / slots)
    if limits.memory is not None and limits.memory <= most:
        return limits
    share = "four fifths" if slots == 1 else f"a share (of {slots}) of four fifths"
    return attrs.evolve(limits, memory=most, memory_of=f"{share} of what {least.whose} had left")


def bounds_here() -> list[Bound]:
    """All that bounds this process: the machine, its cgroups, its own limits (`ulimit`)."""
    import psutil

    machine = Bound(psutil.virtual_memory().available, "this machine")
    return [machine, *cgroups(), *own_limits()]


def own_limits() -> list[Bound]:
    """The memory that `ulimit -v` and `ulimit -d` leave."""
    import psutil

    process = psutil.Process()
    if not hasattr(process, "rlimit"):  # not Linux
        return []
    taken = process.memory_info()
    return [
        Bound(max(0, soft - used), f"the limit on its {what}")
        for limit, used, what in (
            (psutil.RLIMIT_AS, taken.vms, "address space (ulimit -v)"),
            (psutil.RLIMIT_DATA, taken.data, "data (ulimit -d)"),
        )
        if (soft := process.rlimit(limit)[0]) != psutil.RLIM_INFINITY
    ]


def cgroups(root: Path = Path("/")) -> list[Bound]:
    """The memory that the process's cgroups leave, versions 1 and 2: its own and all above it."""
    bounds = []
    for group, limits, used, cache in _groups(root):
        known = [int(text) for name in limits if (text := _read(group / name).strip()).isdecimal()]
        now = _read(group / used).strip()
        if not known or min(known) >= UNLIMITED or not now.isdecimal():
            continue
        giving = re.search(rf"^{cache} (\d+)$", _read(group / "memory.stat"), re.M)
        # file cache that would give way does not count as used
        left = min(known) - int(now) + (int(giving[1]) if giving else 0)
        bounds.append(Bound(max(0, left), "its cgroup"))
    return bounds


def _groups(root: Path) -> Iterator[tuple[Path, tuple[str, ...], str, str]]:
    """Folders of the process's cgroups up to the mount, with the names of the files for the limits
    and the use, and that of the cache in `memory.stat`.
    """
    paths = re.findall(r"^\d+:([^:\n]*):(.+)$", _read(root / "proc/self/cgroup"), re.M)
    for line in _read(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = (*after.split(), "", "", "")[:3]
        files: tuple[tuple[str, ...], str, str]
        if kind == "cgroup2":
            mine = ""
            files = ("memory.max", "memory.high"), "memory.current", "inactive_file"
        elif kind == "cgroup" and "memory" in options.split(","):
            mine = "memory"
            files = ("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        top, mount = before.split()[3:5]
        for controllers, path in paths:
            if mine in controllers.split(","):
                inside = _inside(path, top)
                for part in (inside, *inside.parents):
                    yield root / mount.lstrip("/") / part, *files


def _inside(path: str, top: str) -> PurePosixPath:
    """Where a cgroup lies under a mount that shows the hierarchy from `top` on: the mount itself
    where a container sees no more than that.
    """
    group = PurePosixPath(path)
    if ".." in group.parts or not group.is_relative_to(top):
        return PurePosixPath(".")
    return group.relative_to(top)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
