"""The engines by name, and those of them that are plain Python."""

from __future__ import annotations

from collections.abc import Callable

from groupcheck.model.engine import Limits, UserError
from groupcheck.model.engine.verdict import Progress, Verdict
from groupcheck.oracles.explain.subject import Subject

ENGINES = ("fast", "plain", "reference")


def in_plain_python(
    about: Subject,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
    engine: str,
    symmetry: bool | None,
    is_more: bool,
) -> Verdict:
    """Explores with an engine in plain Python. `is_more`: was something asked for that it has
    not? Raises `UserError` then.
    """
    from groupcheck.model.engine import reference
    from groupcheck.model.engine.plain import plain_explore

    spec, liveness, goals = about.spec, about.progress, about.goals
    if is_more:
        what = f"the {engine} engine has no workers or checkpoints"
        raise UserError(what, do=f"leave out --engine {engine}")
    if engine == "reference":
        if limits.memory is not None:
            what = "the reference engine has no limit of memory"
            raise UserError(what, do="leave out --engine reference")
        is_asked = bool(symmetry)
        return reference.explore(
            spec,
            limits,
            progress,
            symmetry=is_asked,
            required=is_asked,
            liveness=liveness,
            goals=goals,
        )
    return plain_explore.explore(
        spec,
        limits,
        progress,
        liveness=liveness,
        goals=goals,
        symmetry=symmetry,
        required=bool(symmetry),
    )
