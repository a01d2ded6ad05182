"""What a search over the executors of a cluster (`--spark MASTER`) cannot do, and what no other
search can. What depends on the spec and its limits is in `distribute.must_be_spreadable`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from groupcheck.model.engine.errors import UserError
from groupcheck.oracles.check.walks import walks_named
from groupcheck.oracles.explain.subject import Subject

if TYPE_CHECKING:
    from groupcheck.model.engine.fast.walks import Walks

GRAPH = "--progress, which needs the graph of all states in one process"
ONE_OF_THEM = "leave one of them out"


@attrs.frozen
class Spreading:
    """How to spread a search over a cluster."""

    # as Spark takes it; None: the search runs in this process alone
    master: str | None = None
    # the URI of the folder for states
    store: str | None = None
    # None: one for each core
    shards: int | None = None
    # the width of a level from which the search is spread
    hand_over: int | None = None


def must_be_for_executors(
    about: Subject, walks: Walks | None, conformed: bool, is_default: bool
) -> None:
    """Raises `UserError` for what executors cannot do. `is_default`: the options of a search in one
    process have their defaults.
    """
    for given, what, why, do in (
        (
            about.progress,
            GRAPH,
            "",
            "leave out --spark, and take a machine with memory for that graph",
        ),
        (
            walks is not None,
            walks_named(walks),
            ": walks keep no states, so there is nothing to spread",
            "leave out --spark; --workers goes walks on all cores of a machine, and another"
            " --seed other ones on each",
        ),
        (
            conformed,
            "--conformed",
            ", which looks at all states in this process",
            ONE_OF_THEM,
        ),
        (
            not is_default,
            "--engine, --workers or --checkpoint",
            ": executors run the compiled engine, one shard a core, and the store keeps the search",
            "leave those out; --shards says how many parts there are",
        ),
    ):
        if given:
            raise UserError(f"cannot be combined with {what}{why}", where="--spark", do=do)


def must_be_local(
    spread: Spreading, checkpoint: str | Path | None, resume: str | Path | None
) -> None:
    """Raises `UserError` for options that belong to a search on a cluster."""
    for name, given in (
        ("--shards", spread.shards),
        ("--hand-over", spread.hand_over),
    ):
        if given is not None:
            raise UserError(
                "is only for a search on a cluster", where=name, do="add --spark MASTER"
            )
    for name, place in (
        ("--resume", resume),
        ("--checkpoint", checkpoint),
        ("--store", spread.store),
    ):
        if place is not None and re.match(r"[\w+.-]{2,}:/", str(place)):
            raise UserError(
                "is the address of a store, not a local directory",
                where=name,
                do="such a store is only for a search on a cluster: add --spark MASTER",
            )
