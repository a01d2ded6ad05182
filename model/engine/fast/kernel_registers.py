"""The registers of the kernels, and the arrays that they point to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupcheck.model.engine.fast import bounds
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.kernels.compiled import PACKING, Kernel, load
from groupcheck.model.engine.fast.store import CHECKED, Reserved, address


class KernelRegisters:
    """Registers, each a number or an address. What they point to is kept alive here."""

    def __init__(self) -> None:
        self.registers = np.zeros(r.COUNT, np.uint64)
        self.arrays: dict[int, NDArray[Any]] = {}
        # The same, where it grows.
        self.reserved: dict[int, Reserved] = {}

    def hold(self, register: int, array: NDArray[Any]) -> NDArray[Any]:
        """Points a register to an array and keeps the array."""
        array = bounds.fenced(register, array)
        self.arrays[register] = array
        self.registers[register] = address(array) if array.size else 0
        return array

    def hold_all(self, arrays: Mapping[int, NDArray[Any]]) -> None:
        """The same for several registers."""
        for register, array in arrays.items():
            self.hold(register, array)

    def set(self, numbers: Mapping[int, int]) -> None:
        """Writes numbers into registers."""
        for register, number in numbers.items():
            self.registers[register] = number

    def point(self, register: int, memory: Reserved | None) -> None:
        """Points a register to words that grow; to nothing if there are none."""
        if memory is None:
            self.reserved.pop(register, None)
            self.registers[register] = 0
        else:
            self.reserved[register] = memory
            self.registers[register] = memory.address

    def get(self, register: int) -> int:
        return int(self.registers[register])

    def kernel(self, name: str) -> None:
        self._call(name, load(PACKING)[name])

    def _call(self, name: str, kernel: Kernel) -> None:
        if CHECKED:
            bounds.check_before(name, self.registers, self.arrays)
        kernel(address(self.registers))
        if CHECKED:
            bounds.check_after(name, self.registers, self.arrays, self.reserved)
