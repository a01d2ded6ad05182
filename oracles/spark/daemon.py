"""The process from which Spark forks its Python workers: everything slow is imported before the first fork, and frozen against collection."""

from __future__ import annotations

import gc

import pyarrow  # noqa: F401
from pyspark.daemon import manager

import groupcheck.model.engine.explore  # noqa: F401

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    manager()
