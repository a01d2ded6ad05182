"""Compiled kernels, kept as object code in the user's cache directory.

numba compiles a kernel the first time (some seconds); its object code is stored under a digest of
everything that it depends on: the source of the kernels, the versions of numba and llvmlite, the
processor. Later runs load it with llvmlite alone in a few milliseconds: importing numba would take
as long as exploring a million states. A wheel may bring some units (`shipped.py`). A file that is
torn, foreign or stale is never loaded: its name or its checksum does not fit. Without a cache
folder of the user's own (`engine/cache.py`) the kernels are compiled in every process.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import io
import os
import pkgutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np
from attrs import frozen

from groupcheck.model.engine.errors import UserError
from groupcheck.model.engine.fast.cache import cache_directory, refuse_exposed
from groupcheck.model.engine.fast.compiling import compiling
from groupcheck.model.engine.fast.kernels import processor, shipped
from groupcheck.model.engine.fast.store import expect_space

# bytes of address space: LLVM aborts the process where it gets no memory (measured: 320 MiB, 8 MiB)
TO_COMPILE, TO_LINK = 512 << 20, 32 << 20

Kernel = Callable[[int], None]
Objects = list[tuple[str, bytes]]  # symbol and object code of each kernel
_SOURCES = (
    "building.py",
    "chains.py",
    "compiled.py",
    "examining.py",
    "firing.py",
    "folding.py",
    "graph.py",
    "index.py",
    "inserting.py",
    "intrinsics.py",
    "lookup.py",
    "orbits.py",
    "outer_alone.py",
    "packing.py",
    "processor.py",
    "registers.py",
    "search.py",
    "walks.py",
)
_PACKING = ("write_rows", "dump_rows", "repack_log", "repack_outcomes", "respread", "deal")
_GRAPH = ("components",)
_loaded: dict[str, dict[str, Kernel]] = {}
_engines: list[Any] = []  # they own the code that kernels point to


@frozen
class Unit:
    """The kernels that are compiled together: a search kernel, all packing kernels, or those of
    graphs.
    """

    # Words of a state; 0: no search kernel.
    words: int
    # Does the search kernel run urgent rules?
    urgent: bool = False
    # The kernels, if they are others than that of a search, and what they are called together.
    kernels: tuple[str, ...] = ("search",)
    what: str = "search"

    @property
    def name(self) -> str:
        return f"search{self.words}{'u' * self.urgent}" if self.words else self.what

    @classmethod
    def named(cls, words: int, urgent: bool, what: str) -> Unit:
        """The unit with these numbers; `what` finds those that are no search."""
        return next(
            (u for u in (PACKING, GRAPH) if not words and u.what == what), cls(words, urgent)
        )


PACKING = Unit(0, kernels=_PACKING, what="packing")
GRAPH = Unit(0, kernels=_GRAPH, what="graph")


def _sources() -> bytes:
    read = [
        pkgutil.get_data(__package__, name) or b"" for name in _SOURCES
    ]  # from a folder or out of a zip
    assert all(read), "the sources of the kernels cannot be read"
    return hashlib.blake2b(b"\0".join(read)).digest()


SOURCES_AT_START = _sources()


@functools.cache
def _dependencies() -> bytes:
    """Everything besides its name that the object code of a unit depends on."""
    numba = importlib.util.find_spec("numba")
    if numba is None or numba.origin is None:
        raise ModuleNotFoundError("numba is not installed", name="numba")
    version = (Path(numba.origin).parent / "_version.py").read_bytes()
    machine = (
        llvmlite.__version__,
        processor.name(),
        processor.features(),
        *sys.version_info[:2],
    )
    parts = [SOURCES_AT_START, version, repr(machine).encode()]
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).digest()


def _file(unit: Unit) -> Path | None:
    """The file of the unit's object code; None if there is no folder that is safe to load from."""
    digest = hashlib.blake2b(unit.name.encode() + _dependencies(), digest_size=12).hexdigest()
    try:
        return cache_directory() / f"{unit.name}-{digest}.o"
    except UserError:
        return None


def _read(file: Path) -> Objects | None:
    """The object code of a cached unit; None if it is not there, torn, or somebody else's."""
    try:
        refuse_exposed(file)
        return _objects(file)
    except (OSError, UserError, ValueError, EOFError, zipfile.BadZipFile):
        return None


def _objects(file: Path | io.BytesIO) -> Objects:
    with np.load(file, allow_pickle=False) as kept:
        return [(symbol, kept[symbol].tobytes()) for symbol in kept.files]


def _there(unit: Unit, file: Path | None) -> Objects | None:
    """The object code of a unit from the cache or the wheel; None if it must be compiled."""
    kept = _read(file) if file else None
    if kept is None and (brought := shipped.read(unit.name, SOURCES_AT_START)) is not None:
        kept = _objects(io.BytesIO(brought))
    return kept


def _write(file: Path, objects: Objects) -> None:
    """Atomically; a full or read-only disk costs the cache, not the run."""
    kept: dict[str, Any] = {symbol: np.frombuffer(code, np.uint8) for symbol, code in objects}
    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".o")
        try:
            with os.fdopen(handle, "wb") as out:
                np.savez(out, **kept)
            Path(temporary).replace(file)
        finally:  # of a disk that is full nothing stays behind
            Path(temporary).unlink(missing_ok=True)


@contextlib.contextmanager
def _alone(file: Path | None) -> Iterator[None]:
    """Lets one of the processes that need a unit compile it; the others wait."""
    if file is None or not _takes_files(file.parent):
        yield
        return
    import fcntl

    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):  # of a full disk: then both compile
            lock = held.enter_context(file.with_suffix(".lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def compile_unit(unit: Unit) -> Objects:
    """Object code of a unit, from numba."""
    expect_space(TO_COMPILE)
    from groupcheck.model.engine.fast.kernels import building

    if unit.words:
        return building.build_search(unit.words, unit.urgent)
    return building.build(unit.what, unit.kernels)


def _link(objects: Objects) -> list[Kernel]:
    expect_space(TO_LINK)
    if not _engines:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    engine = llvm.create_mcjit_compiler(
        llvm.parse_assembly(""), llvm.Target.from_default_triple().create_target_machine()
    )
    for _, code in objects:
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return [_callable(engine.get_function_address(symbol)) for symbol, _ in objects]


def _callable(address: int) -> Kernel:
    """numba's convention: (where to put the result, where to put an exception, arguments) ->
    status. Releases the interpreter's lock.
    """
    native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
        address
    )
    result, error = ctypes.c_uint64(), ctypes.c_uint64()

    def kernel(registers: int) -> None:
        status = native(ctypes.addressof(result), ctypes.addressof(error), registers)
        assert status in (0, -2), f"a kernel ended with status {status}"  # -2: returned None

    return kernel


def is_ready(unit: Unit) -> bool:
    """Can it be loaded without compiling?"""
    if unit.name in _loaded:
        return True
    return _there(unit, _file(unit)) is not None


def _takes_files(folder: Path) -> bool:
    effective = os.access in os.supports_effective_ids
    return os.access(folder, os.W_OK, effective_ids=effective)


def _made(unit: Unit, file: Path | None) -> Objects:
    """Compiles a unit, and keeps it in a file."""
    objects = compile_unit(unit)
    if file and _sources() == SOURCES_AT_START:  # else this code is of neither version
        _write(file, objects)
    return objects


def is_kept(unit: Unit) -> bool:
    """Is there a folder in which its object code is kept, for other processes, too?"""
    file = _file(unit)
    return file is not None and _takes_files(file.parent)


def load(unit: Unit) -> dict[str, Kernel]:
    """The kernels of a unit by name, from this process, the cache, or the compiler."""
    if unit.name not in _loaded:
        file = _file(unit)
        objects = _there(unit, file)
        if objects is None:
            keeps = file is not None and _takes_files(file.parent)
            compiling.announce(file.parent if file and keeps else None)
            began = time.perf_counter()
            with _alone(file):
                objects = (_read(file) if file else None) or _made(unit, file)
            compiling.seconds += time.perf_counter() - began
        _loaded[unit.name] = dict(zip(unit.kernels, _link(objects), strict=True))
    return _loaded[unit.name]
