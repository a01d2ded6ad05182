"""The process from which Spark forks its Python workers: everything slow is imported before the first fork, and frozen against collection."""

from __future__ import annotations

import gc

import pyarrow.fs  # noqa: F401
from pyspark.daemon import manager

import groupcheck.model.engine.explore
import groupcheck.model.engine.shards.working  # noqa: F401
from groupcheck.model.engine.kernels.compiled import PACKING, Unit, is_ready, load

KERNELS = (PACKING, Unit(1, True), Unit(2, True), Unit(3, True))  # what the classic variant runs on

if __name__ == "__main__":
    for unit in KERNELS:
        if is_ready(unit):  # or the first task compiles it
            load(unit)
    gc.collect()
    gc.freeze()
    manager()
