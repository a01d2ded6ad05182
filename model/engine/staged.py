"""Explores a spec in stages: in plain Python at first, which answers small scopes at once, and with
compiled kernels where that is not enough. No state is explored twice.

Below `ENOUGH` transitions plain Python answers, whatever is compiled already, so that a small scope
has one answer. Kernels that are not compiled yet are compiled in another process while plain Python
goes on. Where there is no compiler, plain Python goes on to the end. So of a larger scope it may
depend on the machine whether symmetry was used, and which of several shortest paths is told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import attrs

from groupcheck.model.engine import compiler
from groupcheck.model.engine.errors import AsymmetryError
from groupcheck.model.engine.plain import plain_explore
from groupcheck.model.engine.plain.plain_explore import PlainRun, explore_all, explore_until
from groupcheck.model.engine.plain.plain_search import PlainSearch
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.symmetry import (
    NO_SYMMETRY,
    Symmetry,
    must_be_usable,
    symmetry_to_use,
)
from groupcheck.model.engine.verdict import Limits, Progress, Reduction, Verdict

if TYPE_CHECKING:
    from groupcheck.model.engine.fast.kernels.background import Background
    from groupcheck.model.engine.fast.kernels.compiled import Unit
    from groupcheck.model.engine.fast.search import Search

ENOUGH = 50_000  # transitions after which plain Python is too slow: about a second
MOST_STATES = 3_000_000  # that plain Python holds while kernels are compiled: a gigabyte
BETWEEN = 0.2  # seconds between two looks at the process that compiles


class Stages:
    """When a search in plain Python is to be left to the compiled one."""

    def __init__(self, symmetry: Symmetry) -> None:
        self.symmetry = symmetry
        self._background: Background | None = None
        self._looked = 0.0

    def leaves(self, search: PlainSearch, is_between: bool) -> bool:
        """Is it time? With a symmetry only between two levels."""
        if search.transitions < ENOUGH or (self.symmetry.groups and not is_between):
            return False
        if len(search.states) > MOST_STATES:
            return True
        if not is_between and time.perf_counter() - self._looked < BETWEEN:
            return False
        self._looked = time.perf_counter()
        return self._is_compiled(search)

    def _is_compiled(self, search: PlainSearch) -> bool:
        """Are the kernels there; or must they be compiled in this process?"""
        from groupcheck.model.engine.fast.kernels.background import can_compile, in_background
        from groupcheck.model.engine.fast.kernels.compiled import is_ready

        units = _units(search)
        if all(map(is_ready, units)) or not can_compile(units):
            return True
        if self._background is None or not {*units} <= {*self._background.units}:
            # Last the kernel for states of one more word: they grow with the values of their slots.
            wider = attrs.evolve(units[0], words=units[0].words + 1)
            self._background = in_background((*units, wider))
            return False
        return self._background.has_ended


def _units(search: PlainSearch) -> tuple[Unit, ...]:
    """The kernels that states as they are now need."""
    from groupcheck.model.engine.fast.kernels.compiled import PACKING, Unit
    from groupcheck.model.engine.fast.layout import arrange, width_of

    tabled = search.tabled
    words, _ = arrange([width_of(len(pool.values)) for pool in tabled.pools])
    return Unit(words, bool(tabled.see.urgent)), PACKING


def explore(
    spec: Spec,
    limits: Limits = Limits(),
    progress: Callable[[Progress], None] | None = None,
    *,
    workers: int = 1,
    checkpoint: str | FilePath | None = None,
    resume: str | FilePath | None = None,
    look: Callable[[Search], None] | None = None,
    liveness: bool = False,
    symmetry: bool | None = False,
    required: bool = False,
    goals: Sequence[str] = (),
) -> Verdict:
    """Explores every state of a spec, as `fast.explore.explore` does; the arguments are those of
    it. Where values hold indexes, and they are exchanged, plain Python goes on to the end. What it
    has not (checkpoints, promises about progress, a symmetry or a limit of memory that is asked
    for) is left to the compiled search at once. Raises `UserError` where that needs a compiler.
    """
    begun: PlainRun | None = None
    is_kept = checkpoint is not None or resume is not None
    is_bounded = limits.memory is not None and not limits.memory_of
    is_plain = not (is_kept or is_bounded or look is not None or liveness)
    used = symmetry_to_use(spec, symmetry) if is_plain else NO_SYMMETRY
    if compiler.missing():
        if is_kept or look is not None or (symmetry and not used.is_stored):
            compiler.must_be_installed()
        found = plain_explore.explore(
            spec,
            limits,
            progress,
            symmetry=symmetry,
            required=required,
            liveness=liveness,
            goals=goals,
        )
        # Where there is little to do, a compiler would not have helped.
        notes = compiler.notes() if found.transitions >= ENOUGH else ()
        return attrs.evolve(found, notes=(*found.notes, *notes))
    if used.is_stored:
        return _exchanged(spec, limits, progress, used, required, workers, goals)
    if is_plain and not symmetry:
        told = plain_explore.STORES_EVERY_STATE if used.groups else used
        leaves = Stages(used).leaves
        left = explore_until(spec, limits, progress, symmetry=told, goals=goals, leaves=leaves)
        if isinstance(left, Verdict):
            return left
        begun = left
    from groupcheck.model.engine.fast.explore import explore as explore_fast

    return explore_fast(
        spec,
        limits,
        progress,
        workers=workers,
        checkpoint=checkpoint,
        resume=resume,
        look=look,
        liveness=liveness,
        symmetry=symmetry,
        required=required,
        goals=goals,
        begun=begun,
    )


def _exchanged(
    spec: Spec,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
    symmetry: Symmetry,
    required: bool,
    workers: int,
    goals: Sequence[str],
) -> Verdict:
    """Explores with indexes that values hold exchanged; where that makes a difference, again
    without.
    """
    try:
        return explore_all(spec, limits, progress, symmetry=symmetry, goals=goals)
    except AsymmetryError as error:
        why = str(error)
    must_be_usable(spec, Symmetry((), (why,)), required)
    again = explore(spec, limits, progress, workers=workers, goals=goals)
    return attrs.evolve(again, symmetry=Reduction(False, why))
