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


def walks_of(
    endless: bool, number: int | None, length: int | None, seed: int | None, workers: int
) -> Walks | None:
    """The random walks that are asked for, if any are: a number of them, or (`endless`) until
    nothing new comes. Raises `UserError` for numbers that are too small, and for a length or seed
    of nothing.
    """
    if endless and number is not None:
        raise UserError(
            "cannot be combined with --random-walks", where="--walks", do="leave out one of them"
        )
    for name, value, least in (
        ("random walks", number, 1),
        ("walk length", length, 1),
        ("seed", seed, 0),
    ):
        must_be_at_least(name, value, least)
        if value is not None and number is None and not endless:
            what, do = f"{name} is only for random walks", "add --walks or --random-walks N"
            raise UserError(what, do=do)
    if number is None and not endless:
        return None
    compiler.must_be_installed("--walks" if endless else "--random-walks")
    from groupcheck.model.engine.fast.walks import LENGTH, Walks

    return Walks(number, length or LENGTH, seed or 0, workers)


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
            "cannot be combined with --engine, --checkpoint, --resume, --store, --shards,"
            " --hand-over, --symmetry or --conformed",
            where=walks_named(walks),
            do="leave those out",
        )
    if limits.depth is not None:
        raise UserError(
            f"cannot be combined with {walks_named(walks)}",
            where="--max-depth",
            do="use --walk-length",
        )
    from groupcheck.model.engine.fast.walks import walk

    return walk(spec, walks, limits, progress)


def walks_named(walks: Walks | None) -> str:
    """The option that asks for walks."""
    return "--walks" if walks is not None and walks.number is None else "--random-walks"
