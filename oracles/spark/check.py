"""`groupcheck check --spark`: one search over Spark's executors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from groupcheck.model.engine import Limits, Spec, UserError
from groupcheck.model.engine.fast.shards.distribute import distribute, must_be_spreadable
from groupcheck.model.engine.fast.shards.manifests import must_be_new
from groupcheck.model.engine.fast.shards.store import Store
from groupcheck.model.engine.verdict import Progress, Verdict
from groupcheck.oracles.processes.supervisor import temporary_folder
from groupcheck.oracles.spark.executors import Executors
from groupcheck.oracles.spark.session import OnDemand, checked_master, is_local, needed


def explore(
    spec: Spec,
    master: str,
    limits: Limits,
    progress: Callable[[Progress], None] | None = None,
    *,
    store: str | None = None,
    resume: str | None = None,
    shards: int | None = None,
    hand_over: int | None = None,
    symmetry: bool | None = None,
    goals: Sequence[str] = (),
) -> Verdict:
    """Explores a spec on a Spark master, to the same answer as in one process.

    `store`: a URI that every executor reaches; a temporary folder for a local master if left out.
    `resume`: such a URI, to go on from. `hand_over`: `widest` of `distribute`.
    `symmetry`, `goals`: as in one process. Raises `UserError`.
    """
    must_be_spreadable(spec, limits)  # `distribute` asks again, when a store may be written to
    checked_master(master)
    needed()
    if store and resume and store != resume:
        raise UserError(
            "a search goes on in the store that it was begun in", where="--store", do="leave it out"
        )
    if not (store or resume or is_local(master)):
        raise UserError(
            f"executors of {master} need a store that they all reach",
            where="--spark",
            do="name one with --store URI",
        )
    if store and not resume:  # before the work begins nothing is lost
        new = Store(store)
        must_be_new(new)
        new.must_be_writable()
    with _store(store or resume) as uri, OnDemand(master) as spark:
        cluster = Executors(spark, shards)
        return distribute(
            spec,
            cluster,
            uri,
            limits,
            progress,
            shards=shards,
            widest=hand_over,
            resume=resume is not None,
            lasting=bool(store or resume),
            symmetry=symmetry,
            required=bool(symmetry),
            goals=goals,
        )


@contextlib.contextmanager
def _store(uri: str | None) -> Iterator[str]:
    if uri:
        yield uri
        return
    with temporary_folder("groupcheck-store-") as place:
        yield str(place)
