"""Manifests: how far each driver of a search came, and how one driver takes over from another.

Object stores cannot compare and swap, so safety rests on four rules:

1. Every driver that begins or resumes is a run of its own. It writes only files whose names carry
   its run, among them its manifest, so no driver ever overwrites another's file.
2. A driver that resumes first registers: it copies the furthest manifest under its own run. Then it
   reads that manifest again, and starts over if it has changed meanwhile.
3. After each manifest a driver lists the runs. If there is one that it did not know when it
   registered, it stops. Only if there is none does it delete files: its own successors of the level
   before, which its new manifest does not need.
4. Blocks of states and updates are never deleted. Successors of other runs are deleted only when
   the search is finished, because a finished manifest needs none and is preferred to all others.

By rules 2 and 3 either the older driver sees the registration and deletes nothing any more, or the
newer one sees the older one's new manifest and goes on from that. So the furthest manifest in a
store always has all its files. This needs a store that shows a file as soon as it is written.

Why: an older driver writes its manifest (W) and then looks for runs (L); a newer one registers (R)
and then reads again (V). If L sees R, the older one deletes nothing more. Otherwise L comes before
R, so W comes before V, and the newer one sees that the manifest has changed. Two drivers that
register at once see each other, and both stop. A driver that is killed between R and V leaves a
copy that may lack files, but then its original is further, and the furthest counts. A driver that
loses a file to a finished search gets an error, and the next `--resume` gets the answer. A lease
would not do: it fails when its holder was only slow.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import asdict, evolve, frozen

from groupcheck.model.engine.errors import CheckpointError, UserError
from groupcheck.model.engine.fast.checkpoint import Numbers, fitting, same_model, structured
from groupcheck.model.engine.fast.identity import SYMMETRY, Identity
from groupcheck.model.engine.fast.shards.cpu import Cpu
from groupcheck.model.engine.fast.shards.cpu import in_words as cpu_in_words
from groupcheck.model.engine.fast.shards.owned import Piece
from groupcheck.model.engine.fast.shards.store import Store, StoreError

FORMAT = "groupcheck.shards/4"
FOLDER = "manifests"
RUN = re.compile(r"[0-9a-f]{12}", re.ASCII)
SUCCESSORS = re.compile(r"[0-9a-f]{12}/level-\d{5}/(?:dealt|left)-[\w.-]+", re.ASCII)
OURS = re.compile(r"[0-9a-f]{12}/|manifests/|drivers/", re.ASCII)
UNFINISHED = re.compile(r"(?:[0-9a-f]{12}|manifests|drivers)/[\w./-]+\.[0-9a-f]{12}\.new", re.ASCII)


@frozen
class LevelCost:
    """The cost of one level."""

    level: int
    # New states.
    states: int
    seconds: float
    # The new states of the largest shard, divided by the mean of all shards.
    skew: float
    # Bytes that executors read and wrote.
    read: int
    written: int
    # How many times executors went on with what they had left.
    rounds: int
    # How many shards were made again from blocks.
    rebuilt: int


@frozen
class Manifest:
    """A search at the end of its last complete level, as it is kept. Fields without a comment are
    those of `Spread`.
    """

    format: str
    # None: the store is temporary, and no search goes on from it.
    identity: Identity | None
    run: str
    shards: int
    level: int
    numbers: Numbers
    # Calls of rules so far.
    calls: int
    # See `Findings.wrong`.
    wrong: dict[str, tuple[int, int, str]]
    witness: dict[str, tuple[int, list[int]]]
    met: dict[str, tuple[int, list[int]]]
    pieces: list[list[Piece]]
    incoming: list[str] | None
    updates: list[str]
    finished: bool
    seconds: float
    memory: int
    counted: int
    cpu: Cpu
    costs: list[LevelCost]


def new_run() -> str:
    """A name for a driver's run."""
    return uuid.uuid4().hex[:12]


def name_of(run: str) -> str:
    """The name of a run's manifest."""
    return f"{FOLDER}/{run}.json"


def runs_in(store: Store) -> set[str]:
    """The runs that have a manifest."""
    names = [name.removeprefix(f"{FOLDER}/").removesuffix(".json") for name in store.names(FOLDER)]
    return {name for name in names if RUN.fullmatch(name)}


def must_be_new(store: Store) -> None:
    """Raises `UserError` if the store holds a search."""
    if runs_in(store):
        raise UserError(
            "holds a search already",
            where=store.uri,
            do="go on with it (--resume), or choose another --store",
        )


def keep(store: Store, manifest: Manifest, known: set[str]) -> None:
    """Writes a run's manifest. Raises `StoreError` if the store does not show it, and `UserError`
    if a run that is not among the `known` ones has registered meanwhile; then nothing may be
    deleted any more.
    """
    store.write_document(name_of(manifest.run), asdict(manifest))
    runs = runs_in(store)
    if manifest.run not in runs:
        raise StoreError(
            "does not show the manifest that was just written",
            where=store.uri,
            do="use a store that shows files as soon as they are written",
        )
    if runs - known - {manifest.run}:
        raise UserError(
            "another driver has taken over this search",
            where=store.uri,
            do="let that one end; if it has ended, --resume",
        )


def read(store: Store, run: str) -> Manifest:
    """A run's manifest. Raises `StoreError` for one that is torn or missing, `CheckpointError` for
    one that is forged or of another version.
    """
    told = store.read_document(name_of(run))
    if told.get("format") != FORMAT:
        raise other_version(store)
    with fitting(store.uri):
        manifest = structured(told, Manifest)
        assert manifest.run == run, "the run is not the one in the file's name"
        assert len(manifest.pieces) == manifest.shards > 0, "shards"
    return manifest


def other_version(store: Store) -> CheckpointError:
    """The error for a store that another version wrote."""
    return CheckpointError(
        "is of another version of groupcheck",
        where=store.uri,
        do="start again with an empty --store",
    )


def take_over(ours: Identity, store: Store) -> tuple[Manifest, set[str]]:
    """Registers a new run that goes on from the furthest manifest of this spec: its own manifest,
    and the runs that were there before it. Raises `StoreError` if the store holds no search, and
    `CheckpointError` if another version wrote it.
    """
    known, run = runs_in(store), new_run()
    if not known:
        if "manifest.json" in store.names():
            raise other_version(store)
        raise StoreError("holds no search", where=store.uri, do="leave out --resume")
    is_settled = False
    while not is_settled:
        furthest = _furthest(ours, store, known)
        manifest = evolve(furthest, run=run)
        keep(store, manifest, known)
        is_settled = read(store, furthest.run) == furthest
    store.delete([name for name in store.names() if UNFINISHED.fullmatch(name)])
    return manifest, known


def has_symmetry(store: Store) -> bool:
    """Is a search in the store one with symmetry? Raises as `read` does."""
    told = [read(store, run).identity for run in sorted(runs_in(store))]
    return any(SYMMETRY in identity.values for identity in told if identity)


def clear(store: Store) -> None:
    """Removes the searches in a store that have turned out to be of no use."""
    store.delete([name for name in store.names() if OURS.match(name)])


def _furthest(ours: Identity, store: Store, runs: set[str]) -> Manifest:
    there = [read(store, run) for run in sorted(runs)]
    same = [m for m in there if m.identity == ours]
    if not same:
        same_model(there[0].identity, ours, store.uri)
    return max(same, key=lambda m: (m.finished, m.level))


def distribution(
    costs: Sequence[LevelCost], sizes: Sequence[int], store: str, retries: int, cpu: Cpu
) -> Mapping[str, Any]:
    """As plain JSON. `sizes`: states of each shard; `store`: its URI as it may be shown."""
    return {
        "shards": len(sizes),
        "store": store,
        "handed_over_at_level": costs[0].level if costs else None,
        "states_per_shard": list(sizes),
        "skew": max(sizes) * len(sizes) / max(1, sum(sizes)),
        "retries": retries,
        "bytes_exchanged": sum(c.written for c in costs),
        "cpu": cpu.document(),
        "levels": [asdict(c) for c in costs],
    }


def in_words(spread: Mapping[str, Any]) -> str:
    """The same in words."""
    levels = spread["levels"]
    if not levels:
        return f"{spread['shards']} shards, no level was completed over them"
    seconds = sum(c["seconds"] for c in levels)
    rate = sum(c["states"] for c in levels) / max(seconds, 1e-3)
    return (
        f"from level {spread['handed_over_at_level']} on over {spread['shards']} shards"
        f" (skew {spread['skew']:.2f}): {rate:,.0f} states/s,"
        f" {spread['bytes_exchanged'] / 2**20:,.0f} MiB written, {spread['retries']} calls"
        f" repeated, longest level {max(c['seconds'] for c in levels):.1f} s;"
        f" {cpu_in_words(spread['cpu'])}"
    )
