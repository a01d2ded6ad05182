"""Which symmetry a search uses."""

from __future__ import annotations

from pathlib import Path

from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.symmetry import (
    ON_PROGRESS,
    Symmetry,
    on_orbits,
    symmetry_of,
    symmetry_to_use,
)

IN_PLAIN_PYTHON = Symmetry(
    (),
    (
        "stored elements are exchanged by a search in plain Python alone (leave out what needs the"
        " compiled one: checkpoints)",
    ),
)


def symmetry_here(
    spec: Spec, asked: bool | None, each_state: bool, liveness: bool, resume: str | Path | None
) -> Symmetry:
    """The symmetry to search with. `asked`: None leaves the choice to the search that `resume`
    continues, and where there is none, to the number of permutations. `each_state`: each state is
    looked at by itself. Raises `CheckpointError` for a checkpoint that cannot be read.
    """
    is_resumed = asked is None and resume is not None
    of_runs = liveness and on_orbits(spec)
    found = symmetry_of(spec, of_runs) if is_resumed else symmetry_to_use(spec, asked, of_runs)
    if found.groups and is_resumed and resume is not None:
        # Not before it is needed: numpy takes as long as a small search.
        from groupcheck.model.engine.fast.checkpoint import has_symmetry

        if not has_symmetry(resume):
            return Symmetry((), ("the checkpoint is of a search without it",))
    if found.groups and liveness and not of_runs:
        return ON_PROGRESS
    if found.is_stored:
        return IN_PLAIN_PYTHON
    if found.groups and each_state:
        return Symmetry((), ("each state is looked at by itself (leave out --conformed)",))
    return found
