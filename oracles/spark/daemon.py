"""The process from which Spark forks its Python workers: everything slow is imported before the
first fork, and frozen against collection.
"""

from __future__ import annotations

import gc

import pyarrow.fs  # noqa: F401
from pyspark.daemon import manager

import groupcheck.model.engine.fast.explore  # noqa: F401 - what a sweep runs on executors
from groupcheck.model.engine.fast.shards.working import warm

if __name__ == "__main__":
    warm()
    gc.collect()
    gc.freeze()
    manager()
