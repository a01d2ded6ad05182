"""The resident memory of this process."""

from __future__ import annotations

import os
from functools import cache

import psutil


@cache
def process(pid: int) -> psutil.Process:
    """Made once for each process, forked ones too: to make it costs more than to ask it."""
    return psutil.Process(pid)


def resident_bytes() -> int:
    """Resident memory of this process, in bytes."""
    return int(process(os.getpid()).memory_info().rss)
