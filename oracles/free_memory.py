"""How much memory a run may take when nobody says: an exploration that outgrows the machine must
end with `unknown`, not be killed.
"""

from __future__ import annotations

import re
from pathlib import Path

SHARE = 0.8  # of what is free
UNLIMITED = 1 << 60  # what version 1 of cgroups writes for "no limit" is above this


def most_memory(root: Path = Path("/")) -> int | None:
    """Bytes: four fifths of what is free on this machine or in this container; None where nothing
    tells (no Linux).
    """
    free = [
        _available(root / "proc/meminfo"),
        _left(root / "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        _left(
            root / "sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ]
    known = [size for size in free if size is not None]
    return int(min(known) * SHARE) if known else None


def _available(meminfo: Path) -> int | None:
    match = re.search(r"^MemAvailable:\s+(\d+) kB", _read(meminfo), re.M)
    return int(match[1]) * 1024 if match else None


def _left(group: Path, limit: str, used: str, cache: str) -> int | None:
    """What a container has left; file cache that would give way does not count as used."""
    most, now = _read(group / limit).strip(), _read(group / used).strip()
    if not most.isdecimal() or not now.isdecimal() or int(most) >= UNLIMITED:
        return None
    giving = re.search(rf"^{cache} (\d+)$", _read(group / "memory.stat"), re.M)
    return max(0, int(most) - int(now) + (int(giving[1]) if giving else 0))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
