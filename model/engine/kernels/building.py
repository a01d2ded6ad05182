"""Compiles kernels with numba. Imported only when their object code is not in the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numba import njit, types

from groupcheck.model.engine.kernels import packing, search
from groupcheck.model.engine.kernels.intrinsics import ALONE

_njit: Any = njit  # its types leave out the options that drop the wrappers
_types: Any = types
_SIGNATURE = _types.void(_types.CPointer(_types.uint64))


def _built(function: Callable[..., None]) -> tuple[str, bytes]:
    compiled = next(iter(_njit(_SIGNATURE, **ALONE)(function).overloads.values()))
    return compiled.fndesc.llvm_func_name, compiled.library._get_compiled_object()


def build_search(words: int, urgent: bool) -> list[tuple[str, bytes]]:
    """Symbol and object code of the search kernel for states of so many words."""
    return [_built(search.make(words, urgent))]


def build_packing(names: Sequence[str]) -> list[tuple[str, bytes]]:
    """Symbols and object code of packing kernels."""
    return [_built(getattr(packing, name)) for name in names]
