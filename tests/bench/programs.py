"""Who takes part: groupcheck, the C loop and Spin. Each is called here, and its counts are compared
with the pinned ones.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import promela
from attrs import frozen
from measured import Failed, Run, run

HERE = Path(__file__).parent
OPTIMISED = ("-O3", "-march=native")
# Exact search without partial-order reduction, which would visit fewer states than the others, and
# without checks that cost time.
SPIN = ("-w", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK", "-DMEMLIM=16000")


@frozen
class Counts:
    """The initial state is a state, but no transition."""

    states: int
    transitions: int


def checked(one: Run, found: Counts, expected: Counts, who: str) -> Run:
    """The run, if it counted right."""
    if found != expected:
        raise Failed(
            f"{who} counts {found.states:,} states and {found.transitions:,} transitions, pinned"
            f" are {expected}"
        )
    return one


def groupcheck(expected: Counts, *arguments: object, extra: Mapping[str, str] | None = None) -> Run:
    """A whole run in a process of its own: interpreter, imports, compiled code loaded, tabulation,
    exploration, invariants.
    """
    one = run([sys.executable, HERE / "ours.py", *map(str, arguments)], extra)
    if one.answer["verdict"] == "violated":
        raise Failed("groupcheck says violated")
    return checked(
        one, Counts(one.answer["states"], one.answer["transitions"]), expected, "groupcheck"
    )


@frozen
class Cliff:
    """A protocol of `cliffs.py`, at some size."""

    name: str
    sizes: tuple[int, ...]
    expected: Counts

    def __call__(self, who: str) -> Run:
        """`who`: ours or plain."""
        one = run([sys.executable, HERE / "cliffs.py", self.name, who, *map(str, self.sizes)])
        found = Counts(one.answer["states"], one.answer["transitions"])
        return checked(one, found, self.expected, f"{who} on {self.name}")


@frozen
class TableLoop:
    """The compiled C loop and the tables for one scope. `log2_slots`: places in its set of visited
    states.
    """

    program: Path
    tables: Path
    log2_slots: int
    expected: Counts

    def __call__(self) -> Run:
        one = run([self.program, self.tables, str(self.log2_slots)])
        return checked(
            one,
            Counts(one.answer["states"], one.answer["transitions"]),
            self.expected,
            "the C loop",
        )


@frozen
class Spin:
    """Spin's verifier for one scope of the small group: depth-first, its fastest exact search."""

    program: Path
    log2_slots: int
    expected: Counts

    def __call__(self) -> Run:
        """States without successors are no errors here (-E: the scope has such ends); Spin counts
        the initial state as a transition.
        """
        one = run([self.program, "-m10000", f"-w{self.log2_slots}", "-E", "-n"])
        stored, moved = (
            re.search(r"(\d+) states, stored", one.said),
            re.search(r"(\d+) transitions", one.said),
        )
        if not stored or not moved:
            raise Failed(f"Spin gave no counts: {one.said[-400:]}")
        return checked(one, Counts(int(stored[1]), int(moved[1]) - 1), self.expected, "Spin")


def _built(command: Sequence[str | Path], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))}: {done.stdout[-400:]}{done.stderr[-400:]}")


def table_loop(folder: Path, scope: Sequence[int], log2_slots: int, expected: Counts) -> TableLoop:
    """Compiles the loop and lets a run of groupcheck write its tables, which take some 10 MB."""
    program, tables = folder / "table_loop", folder / f"tables_{'_'.join(map(str, scope))}"
    _built(["gcc", *OPTIMISED, "-o", program, HERE / "table_loop.c"], folder)
    groupcheck(expected, "--tables", tables, "small_group", *scope)
    return TableLoop(program, tables, log2_slots, expected)


def spin(folder: Path, scope: Sequence[int], log2_slots: int, expected: Counts) -> Spin:
    """Generates the model, and compiles Spin's verifier for it. Without -o2 Spin would merge states
    that the others tell apart.
    """
    place = folder / f"spin_{'_'.join(map(str, scope))}"
    place.mkdir()
    (place / "model.pml").write_text(promela.Group(*scope).text())
    _built(["spin", "-o2", "-a", "model.pml"], place)
    _built(["gcc", *OPTIMISED, *SPIN, "-o", "pan", "pan.c"], place)
    return Spin(place / "pan", log2_slots, expected)
