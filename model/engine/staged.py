"""Explores a spec in stages: in plain Python at first, which answers small scopes at once, and with
compiled kernels where that is not enough. No state is explored twice.

Below `ENOUGH` transitions plain Python answers, whatever is compiled already, so that a small scope
has one answer; but where `--max-memory` is less than twice what the process takes, kernels search
from there on. Kernels that are not compiled yet are compiled in another process while plain Python
goes on. Where there is no compiler, plain Python goes on to the end. So of a larger scope it may
depend on the machine whether symmetry was used, and which of several shortest paths is told.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from groupcheck.model.engine import compiler
from groupcheck.model.engine.errors import AsymmetryError, CheckpointError
from groupcheck.model.engine.options import Options
from groupcheck.model.engine.plain import plain_explore
from groupcheck.model.engine.plain.plain_explore import PlainRun
from groupcheck.model.engine.plain.plain_search import PlainSearch
from groupcheck.model.engine.resident import resident_bytes, too_little
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.symmetry import Symmetry, must_be_usable, symmetry_to_use
from groupcheck.model.engine.verdict import Limits, Progress, Reduction, Verdict

if TYPE_CHECKING:
    from groupcheck.model.engine.fast.kernels.background import Background
    from groupcheck.model.engine.fast.kernels.compiled import Unit

ENOUGH = 50_000  # transitions after which plain Python is too slow: about a second
MOST_STATES = 3_000_000  # that plain Python holds while kernels are compiled: a gigabyte
BETWEEN = 0.2  # seconds between two looks at the process that compiles
LIBRARIES = 60 << 20  # bytes that the compiled search loads: numpy and llvmlite (measured)


class Stages:
    """When a search in plain Python is to be left to the compiled one."""

    def __init__(
        self, symmetry: Symmetry, limits: Limits = Limits(), options: Options | None = None
    ) -> None:
        """`symmetry`: that of the compiled search."""
        self.limits, self.options = limits, options or Options()
        # With a symmetry or a checkpoint it is left between two levels alone.
        self.is_of_levels = bool(symmetry.groups) or self.options.checkpoint is not None
        self._background: Background | None = None
        self._looked = 0.0

    def leaves(self, search: PlainSearch, is_between: bool) -> bool:
        """Is it time?"""
        memory, is_asked = self.limits.memory, not self.limits.memory_of
        is_little = search.transitions < ENOUGH
        if (self.is_of_levels and not is_between) or (is_little and not (memory and is_asked)):
            return False
        if len(search.states) > MOST_STATES:
            return True
        if not is_between and time.perf_counter() - self._looked < BETWEEN:
            return False
        self._looked = time.perf_counter()
        # Kernels take less than half of it; but what plain Python has taken does not all come back.
        taken = resident_bytes() + (0 if "numpy" in sys.modules else LIBRARIES)
        is_tight = memory is not None and taken > memory // 2
        if is_little and not is_tight:
            return False
        if self._is_compiled(search):
            return True
        if is_tight and self._background is not None:
            self._background.wait()  # to compile here would take memory
        return is_tight

    def _is_compiled(self, search: PlainSearch) -> bool:
        """Are the kernels there; or must they be compiled in this process?"""
        from groupcheck.model.engine.fast.kernels.background import can_compile, in_background
        from groupcheck.model.engine.fast.kernels.compiled import is_ready

        units = _units(search, self.options.liveness)
        if all(map(is_ready, units)) or not can_compile(units):
            return True
        if self._background is None or not {*units} <= {*self._background.units}:
            # Last the kernel for states of one more word: they grow with the values of their slots.
            wider = attrs.evolve(units[0], words=units[0].words + 1)
            self._background = in_background((*units, wider))
            return False
        return self._background.has_ended


def _units(search: PlainSearch, liveness: bool) -> tuple[Unit, ...]:
    """The kernels that states as they are now need; `liveness`: and their graph."""
    from groupcheck.model.engine.fast.kernels.compiled import GRAPH, PACKING, Unit
    from groupcheck.model.engine.fast.layout import arrange, width_of

    tabled = search.tabled
    words, _ = arrange([width_of(len(pool.values)) for pool in tabled.pools])
    unit = Unit(words, bool(tabled.see.urgent))
    return (unit, PACKING, GRAPH) if liveness else (unit, PACKING)


def explore(
    spec: Spec,
    limits: Limits = Limits(),
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Verdict:
    """Explores every state of a spec; `options`: fields of `Options`. See `searched`."""
    return searched(spec, limits, progress, Options(**options))


def searched(
    spec: Spec, limits: Limits, progress: Callable[[Progress], None] | None, options: Options
) -> Verdict:
    """Explores every state of a spec, as `fast.explore.searched` does. Where values hold indexes,
    and they are exchanged, plain Python goes on to the end. Raises `UserError` for what needs a
    compiler where none is.
    """
    if compiler.missing():
        return _without_compiler(spec, limits, progress, options)
    used = symmetry_to_use(spec, options.symmetry)
    begun = None
    if options.resume is None:
        is_whole = options.checkpoint is not None or options.look is not None or options.liveness
        if used.is_stored and not is_whole:
            return _exchanged(spec, limits, progress, options, used)
        left = None if options.stored else _begun(spec, limits, progress, options)
        if isinstance(left, Verdict):
            return left
        begun = left
    from groupcheck.model.engine.fast.explore import searched as searched_fast

    return searched_fast(spec, limits, progress, options, begun)


def _begun(
    spec: Spec, limits: Limits, progress: Callable[[Progress], None] | None, options: Options
) -> Verdict | PlainRun:
    """Begins in plain Python. A checkpoint is written where the search ends there."""
    from groupcheck.model.engine.fast.symmetry_choice import symmetry_here

    used = symmetry_here(spec, options.symmetry, options.look is not None, options.liveness, None)
    must_be_usable(spec, used, options.required)
    explored = functools.partial(
        plain_explore.explore_until,
        spec,
        limits,
        progress,
        options,
        symmetry=plain_explore.storing_every_state(used) if used.groups else used,
        leaves=Stages(used, limits, options).leaves,
    )
    if limits.memory is not None and not limits.memory_of and resident_bytes() > limits.memory:
        raise too_little(limits.memory, resident_bytes())
    if options.checkpoint is None:
        return explored()
    # Not before it is needed: numpy takes as long as a small search.
    from groupcheck.model.engine.fast import checkpoint
    from groupcheck.model.engine.fast.identity import identity

    with checkpoint.kept_in(options.checkpoint, None) as folder:
        assert folder is not None
        saver = checkpoint.PlainSaver(folder, identity(spec))
        left = explored(complete=saver.note)
        if isinstance(left, Verdict):
            try:
                saver.save()
            except CheckpointError as error:
                return attrs.evolve(left, unsaved=error)
        return left


def _without_compiler(
    spec: Spec, limits: Limits, progress: Callable[[Progress], None] | None, options: Options
) -> Verdict:
    """Explores in plain Python, to the end."""
    is_kept = options.checkpoint is not None or options.resume is not None
    symmetric = options.symmetry and not symmetry_to_use(spec, True).is_stored
    if is_kept or symmetric:
        compiler.must_be_installed()
    found = plain_explore.searched(spec, limits, progress, options)
    # Where there is little to do, a compiler would not have helped.
    is_told = found.transitions >= ENOUGH or options.workers > 1
    notes = compiler.notes(options.workers) if is_told else ()
    return attrs.evolve(found, notes=(*found.notes, *notes))


def _exchanged(
    spec: Spec,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
    options: Options,
    symmetry: Symmetry,
) -> Verdict:
    """Explores with indexes that values hold exchanged; where that makes a difference, again
    without.
    """
    try:
        return plain_explore.explore_all(spec, limits, progress, options, symmetry)
    except AsymmetryError as error:
        why = str(error)
    must_be_usable(spec, Symmetry((), (why,)), options.required)
    again = searched(spec, limits, progress, attrs.evolve(options, symmetry=False))
    return attrs.evolve(again, symmetry=Reduction(False, why))
