"""Memory of a search where address space is limited."""

import subprocess
import sys

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
