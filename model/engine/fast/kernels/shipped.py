"""Kernels that come with a wheel: object code for every processor from a baseline on, which
`make release` has compiled (docs/generate/kernels.py). They are loaded as those of the cache are,
by llvmlite, and only where all fits: the sources, the versions of numba and llvmlite, the system,
the processor, and the digest of each file. Otherwise kernels are compiled, as in a checkout.

The cache comes first: what was compiled for this very processor is faster.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

FOLDER = Path(__file__).parent / "shipped"
MANIFEST = "kernels.json"
# What LLVM lets code use on these processors.
NEEDED = {
    "x86-64-v2": ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    "generic": (),
}


def fitting(sources: bytes, processor: str) -> dict[str, Any]:
    """What a manifest says of kernels of these sources for a processor, made and loaded here."""
    return {
        "sources": sources.hex(),
        "versions": {name: version(name) for name in ("numba", "llvmlite")},
        "system": str(llvm.get_default_triple()),
        "processor": processor,
    }


@functools.cache
def _manifest(folder: Path, sources: bytes) -> Mapping[str, str]:
    """The digests of the files in a folder; none if what is there does not fit."""
    try:
        told = json.loads((folder / MANIFEST).read_bytes())
        files, processor = told.pop("files"), told["processor"]
        fits = told == fitting(sources, processor)
    except (OSError, ValueError, KeyError, PackageNotFoundError):
        return {}
    here = llvm.get_host_cpu_features()
    return files if fits and all(map(here.get, NEEDED.get(processor, ("?",)))) else {}


def read(unit: str, sources: bytes) -> bytes | None:
    """The file with a unit's object code; None if there is none that fits and is whole. `sources`:
    the digest of the kernels' sources.
    """
    digest = _manifest(FOLDER, sources).get(f"{unit}.o")
    if digest is None:
        return None
    try:
        code = (FOLDER / f"{unit}.o").read_bytes()
    except OSError:
        return None
    return code if hashlib.sha256(code).hexdigest() == digest else None
