"""Random walks in place of a search: what is asked for, and what does not go with it."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING

from groupcheck.model.engine import Limits, Spec, UserError, compiler
from groupcheck.model.engine.verdict import Progress, Verdict

if TYPE_CHECKING:
    from groupcheck.model.engine.fast.walks import Walks


def must_be_at_least(name: str, value: object, least: int) -> None:
    """Raises `UserError` for what is neither None nor a whole number from `least` on."""
    if value is None or (
        isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
    ):
        return
    raise UserError(f"{name} is {value!r}, not {least} or more")


def walks_of(number: int | None, length: int | None, seed: int | None) -> Walks | None:
    """The random walks that are asked for, if any are. Raises `UserError` for numbers that are too
    small, and for a length or seed of nothing.
    """
    for name, value, least in (
        ("random walks", number, 1),
        ("walk length", length, 1),
        ("seed", seed, 0),
    ):
        must_be_at_least(name, value, least)
        if value is not None and number is None:
            raise UserError(f"{name} is only for random walks", do="add --random-walks N")
    if number is None:
        return None
    compiler.must_be_installed("--random-walks")
    from groupcheck.model.engine.fast.walks import LENGTH, Walks

    return Walks(number, length or LENGTH, seed or 0)


def walked(
    spec: Spec,
    walks: Walks,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
    searching: bool,
) -> Verdict:
    """Goes the walks. `searching`: was something asked for that belongs to a search? Raises
    `UserError` then.
    """
    if searching:
        raise UserError(
            "cannot be combined with --engine, --workers, --checkpoint, --resume, --spark,"
            " --symmetry or --conformed",
            where="--random-walks",
            do="leave those out",
        )
    if limits.depth is not None:
        raise UserError(
            "cannot be combined with --random-walks", where="--max-depth", do="use --walk-length"
        )
    from groupcheck.model.engine.fast.walks import walk

    return walk(spec, walks, limits, progress)
