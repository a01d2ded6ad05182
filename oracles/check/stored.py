"""What a search whose log lies on disk (`--store DIR`) cannot do."""

from __future__ import annotations

from pathlib import Path

from groupcheck.model.engine import compiler
from groupcheck.model.engine.errors import UserError
from groupcheck.oracles.explain.subject import Subject


def must_be_storable(
    store: str,
    about: Subject,
    engine: str,
    checkpoint: str | Path | None,
    resume: str | Path | None,
    conformed: bool,
) -> None:
    """Raises `UserError` for what a search with its log on disk cannot do."""
    for name, given, why, do in (
        ("--engine", engine != "fast", "only the fast engine has a store", "leave it out"),
        (
            "--checkpoint",
            checkpoint is not None,
            "a store is a checkpoint, too",
            f"leave it out; --store {store} --resume {store} goes on",
        ),
        (
            "--progress",
            about.progress,
            "promises about progress are judged on the graph of all states, which is in memory",
            "leave out --store",
        ),
        ("--conformed", conformed, "looks at all states in memory", "leave out --store"),
    ):
        if given:
            raise UserError(f"cannot be combined with --store: {why}", where=name, do=do)
    if resume is not None and Path(resume).resolve() != Path(store).resolve():
        raise UserError(
            "names another folder than --store: a search goes on in the store where it was begun",
            where="--resume",
            do=f"name one folder twice: --store {resume} --resume {resume}",
        )
    compiler.must_be_installed("--store")
