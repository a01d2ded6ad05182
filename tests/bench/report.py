"""The benchmark's table: rows of figures beside what we want to reach."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, field, frozen

SCHEMA = "groupcheck.bench/1"


@frozen
class Row:
    """One line. `figure` in `unit` ("x C loop", "B/state", "s", "times"), a median of `runs`;
    `target` as ("<=" or ">=", bound).
    """

    name: str
    figure: float
    unit: str
    runs: Sequence[float] = ()
    seconds: float | None = None
    target: tuple[str, float] | None = None

    @property
    def met(self) -> bool | None:
        """Is the target reached? None where there is none."""
        if self.target is None:
            return None
        sense, bound = self.target
        return self.figure <= bound if sense == "<=" else self.figure >= bound


@frozen
class Section:
    """A title and its rows."""

    title: str
    rows: Sequence[Row] = field(factory=list)


def text(section: Section) -> str:
    """The section as plain text, one line for each row."""
    lines = [section.title, f"  {'':52} {'CPU s':>8} {'figure':>8} {'':9} {'spread':>13}  target"]
    for row in section.rows:
        seconds = "" if row.seconds is None else f"{row.seconds:.2f}"
        spread = f"{min(row.runs):.2f}-{max(row.runs):.2f}" if len(row.runs) > 1 else ""
        wanted = (
            f"{row.target[0]} {row.target[1]:g}: {'reached' if row.met else 'MISSED'}"
            if row.target
            else ""
        )
        figure = f"{row.figure:8.2f} {row.unit:9}"
        lines.append(f"  {row.name:52} {seconds:>8} {figure} {spread:>13}  {wanted}".rstrip())
    return "\n".join(lines) + "\n"


def machine() -> dict[str, Any]:
    """What the figures were measured on, as far as it matters to them."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.partition(":")[2].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        model = names[0] if names else model
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def document(sections: Sequence[Section]) -> dict[str, Any]:
    """Everything, with each run, for `--json`."""
    shown = [
        {"title": s.title, "rows": [{**asdict(r), "met": r.met} for r in s.rows]} for s in sections
    ]
    return {"schema": SCHEMA, "machine": machine(), "sections": shown}
