"""Address space of a search: where it is limited, and what a search that is over gives back."""

import gc
import subprocess
import sys

import psutil
import pytest
from small_group import small_group

from groupcheck.model.engine.fast.explore import explore

CODE = """
import resource
import numpy as np
from groupcheck.model.engine.fast.store import Reserved

used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 30), resource.RLIM_INFINITY))
several = [Reserved(1 << 36) for _ in range(8)]
assert all(len(one.words) >= 1 << 20 for one in several)
np.zeros(1 << 27, np.uint8)
first = several[0]
first.words[-1] = 7
at = len(first.words) - 1
first.ensure(at + 2)
assert len(first.words) > at + 1 and first.words[at] == 7
"""


def test_several_searches_fit_into_a_limited_address_space_and_grow_there():
    assert subprocess.run([sys.executable, "-c", CODE], timeout=120, check=False).returncode == 0


@pytest.mark.night
def test_a_search_gives_its_address_space_back_before_the_collector_comes():
    spec, me = small_group(2, 2, 2, 1, 1), psutil.Process()
    explore(spec)
    gc.disable()
    try:
        before = me.memory_info().vms
        explore(spec)
        assert me.memory_info().vms - before < 1 << 32
    finally:
        gc.enable()
