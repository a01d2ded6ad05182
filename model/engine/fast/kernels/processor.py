"""The processor that kernels are compiled for: this one, or the one that numba is told of by
`NUMBA_CPU_NAME` and `NUMBA_CPU_FEATURES`. Object code for `generic` runs on every processor of the
platform, so that it can be moved to another machine, as in the image of a container.
"""

from __future__ import annotations

import os

import llvmlite.binding as llvm

ANY = "generic"


def name() -> str:
    """As LLVM calls it."""
    return os.environ.get("NUMBA_CPU_NAME") or str(llvm.get_host_cpu_name())


def features() -> str:
    """Its features that kernels may use, as numba reads them: `+bmi2,-avx512f`."""
    told = os.environ.get("NUMBA_CPU_FEATURES")
    if told is not None or name() == ANY:
        return told or ""
    return str(llvm.get_host_cpu_features().flatten())
