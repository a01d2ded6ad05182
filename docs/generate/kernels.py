"""Compiles the kernels that a wheel brings, for every processor from a baseline on.

    NUMBA_CPU_NAME=x86-64-v2 NUMBA_CPU_FEATURES= python docs/generate/kernels.py FOLDER

x86-64-v2 are the processors since 2009; elsewhere `generic`. The units are those of states of up to
four words with urgent rules, of up to two without, and all of packing and graphs.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from groupcheck.model.engine.fast.kernels import compiled, processor, shipped
from groupcheck.model.engine.fast.kernels.compiled import GRAPH, PACKING, Objects, Unit

UNITS = (*(Unit(n, True) for n in (1, 2, 3, 4)), Unit(1), Unit(2), PACKING, GRAPH)


def write(folder: Path, units: Mapping[str, Objects], name: str) -> None:
    """Writes object code by the names of its units, compiled for the processor of a name, with the
    manifest that says where it fits.
    """
    folder.mkdir(parents=True, exist_ok=True)
    digests = {}
    for unit, objects in units.items():
        kept = io.BytesIO()
        np.savez_compressed(kept, **{s: np.frombuffer(code, np.uint8) for s, code in objects})
        (folder / f"{unit}.o").write_bytes(kept.getvalue())
        digests[f"{unit}.o"] = hashlib.sha256(kept.getvalue()).hexdigest()
    told = {**shipped.fitting(compiled.SOURCES_AT_START, name), "files": digests}
    (folder / shipped.MANIFEST).write_text(json.dumps(told, indent=1) + "\n")


def main() -> None:
    if processor.name() not in shipped.NEEDED or processor.features():
        sys.exit(f"NUMBA_CPU_NAME is none of {', '.join(shipped.NEEDED)}, without features")
    units = {unit.name: compiled.compile_unit(unit) for unit in UNITS}
    write(Path(sys.argv[1]), units, processor.name())


if __name__ == "__main__":
    main()
