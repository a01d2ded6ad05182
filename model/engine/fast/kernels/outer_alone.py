"""Compiles the functions inside a kernel only as parts of it.

numba optimises each function that a kernel calls, and makes it executable, before it compiles the
kernel, into which all of them are put and optimised again. That is half of the time: 26.1 against
13.9 seconds of CPU for one search unit, for object code of the same speed. What is replaced here
are internals of numba; where a version of it has others, functions are compiled as usual.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from numba.core import codegen, cpu

dynfunc: Any = importlib.import_module("numba._dynfunc")
_OPTIMIZE, _EXECUTABLE = "_optimize_final_module", "get_executable"


@contextlib.contextmanager
def outer_alone(outer: str) -> Iterator[None]:
    """While it is open, only the function of this name is optimised and made executable."""
    optimize = getattr(codegen.CPUCodeLibrary, _OPTIMIZE, None)
    executable = getattr(cpu.CPUContext, _EXECUTABLE, None)
    if optimize is None or executable is None:
        yield
        return

    def optimize_outer(self: Any) -> None:
        if outer in self.name:
            optimize(self)

    def outer_executable(self: Any, library: Any, fndesc: Any, env: Any) -> Any:
        if outer in library.name:
            return executable(self, library, fndesc, env)
        # Python's side of the function, without a place to jump to: nobody calls it from Python.
        name = fndesc.qualname.split(".")[-1]
        module = fndesc.lookup_module()
        return dynfunc.make_function(module, name, "", 0, env, (library,))

    setattr(codegen.CPUCodeLibrary, _OPTIMIZE, optimize_outer)
    setattr(cpu.CPUContext, _EXECUTABLE, outer_executable)
    try:
        yield
    finally:
        setattr(codegen.CPUCodeLibrary, _OPTIMIZE, optimize)
        setattr(cpu.CPUContext, _EXECUTABLE, executable)
