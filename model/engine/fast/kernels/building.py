"""Compiles kernels with numba. Imported only when their object code is not in the cache."""

from __future__ import annotations

from collections.abc import Sequence

from numba import types
from numpy import uint64 as U

from groupcheck.model.engine.fast.kernels import graph, packing
from groupcheck.model.engine.fast.kernels.intrinsics import alone_for
from groupcheck.model.engine.fast.kernels.search import search

_SIGNATURE = types.void(types.CPointer(types.uint64))


def build_search(n_words: int, urgent: bool) -> list[tuple[str, bytes]]:
    """Symbol and object code of the search kernel for states of so many words, with chains of
    urgent rules or without.
    """
    wide, chained = (U(0),) * n_words, (U(0),) * urgent

    def search_kernel(ctx):
        search(wide, chained, ctx)

    return [alone_for(_SIGNATURE, search_kernel)]


def build(what: str, names: Sequence[str]) -> list[tuple[str, bytes]]:
    """Symbols and object code of kernels of packing, or of graphs."""
    of = {"packing": packing, "graph": graph}[what]
    return [alone_for(_SIGNATURE, getattr(of, name)) for name in names]
