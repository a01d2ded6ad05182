"""The states that one shard owns: log and index in files of the executor's own disk, so that all
its processes share them.

They are only a cache of the store's blocks: a marker says what they hold, it is taken away before
they are changed, and without it (or with another run's, or one of fewer levels) they are made again
from the blocks.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from attrs import asdict, define, frozen

from groupcheck.model.engine.fast.checkpoint import structured
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.log import FIRST_SLOTS, Log, Slots
from groupcheck.model.engine.fast.shards.replica import Replica
from groupcheck.model.engine.fast.shards.store import Store
from groupcheck.model.engine.fast.store import Reserved, Words, allocate

MARKER = "holds.json"
FIRST_WORDS = 1 << 27  # of address space: a file can be mapped anew, larger, without a copy


@frozen
class Piece:
    """A block of a shard's states."""

    name: str
    # The level of its states.
    level: int
    # How many there are.
    states: int


@frozen
class ShardMarker:
    """The description of the files of a shard: the content of the marker."""

    # The blocks whose states are in the log, in their order.
    pieces: list[str]
    # How many states that are.
    states: int
    # The layout of the states.
    widths: list[int]
    # Of the index: its length, the slots in which a state is looked for first, and how many states
    # found no room there.
    size: int
    slots: int
    crowded: int


def states_in(store: Store, piece: Piece, replica: Replica) -> Words:
    """The states of a block, states x words, in the layout of today."""
    block = store.read(piece.name)
    return replica.packed.in_layout(block.sections[0], block.header["widths"])


def local_folder() -> Path:
    """Where executors keep what can be made again: Spark's own folder for that, which vanishes with
    the application.
    """
    given = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return Path(given) if given else Path(tempfile.gettempdir()) / f"groupcheck-{os.getuid()}"


@define
class Owned:
    """A shard's log."""

    log: Log
    folder: Path
    # How many states it had at the end of the level before the one in hand.
    states: int
    # Was it made again from blocks?
    rebuilt: bool = False

    def keep(self, replica: Replica, pieces: Sequence[Piece], states: int) -> None:
        """Says that the files now hold these blocks' states."""
        held = ShardMarker(
            [p.name for p in pieces],
            states,
            replica.packed.state_widths,
            self.log.size,
            self.log.slots,
            replica.packed.get(r.CROWDED),
        )
        temporary = self.folder / f"{MARKER}.new"
        temporary.write_text(json.dumps(asdict(held)))
        temporary.replace(self.folder / MARKER)


def _index_in(folder: Path, size: int) -> Slots:
    for old in folder.glob("index-*"):
        old.unlink()
    allocate(folder / f"index-{size}", 4 * size)
    return _index_of(folder, size)


def _index_of(folder: Path, size: int) -> Slots:
    return np.memmap(folder / f"index-{size}", np.uint32, "r+", shape=(size,))


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[Path]:
    """The folder, or a new one where another process works in it (an attempt that Spark has given
    up, or a second one of the same task).
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            apart = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
            try:
                yield apart
            finally:
                shutil.rmtree(apart, ignore_errors=True)
            return
        yield folder


@contextlib.contextmanager
def owned(
    replica: Replica, store: Store, run: str, shard: int, pieces: Sequence[Piece]
) -> Iterator[Owned]:
    """The log of a shard with the states of these blocks, in their order, in hand; from the cache
    where it holds them.
    """
    with _locked(local_folder() / f"groupcheck-{run}" / f"shard-{shard}") as folder:
        states = sum(p.states for p in pieces)
        held = _held(folder, replica, [p.name for p in pieces], states)
        (folder / MARKER).unlink(missing_ok=True)
        log = Log(
            replica.packed,
            Reserved(FIRST_WORDS, folder / "log"),
            lambda size: _index_in(folder, size),
        )
        replica.log = log
        replica.registers[r.CROWDED] = 0
        replica.registers[r.STATES] = states
        replica.clear_sieve()
        if held is None:
            _fill(log, replica, store, pieces)
        if held and held.states == states and _fits(log, folder, held):
            log.use_index(_index_of(folder, held.size), held.slots, held.crowded)
        else:
            log.reindex(log.slots_for(states))
        yield Owned(log, folder, states, held is None)


def _held(folder: Path, replica: Replica, names: list[str], states: int) -> ShardMarker | None:
    """The description of the files, if they begin with these blocks' states in today's layout."""
    try:
        held = structured(json.loads((folder / MARKER).read_text()), ShardMarker)
    except (OSError, ValueError):
        return None
    begins = held.pieces[: len(names)] == names and held.states >= states
    return held if begins and held.widths == replica.packed.state_widths else None


def _fits(log: Log, folder: Path, held: ShardMarker) -> bool:
    """Is there a file that can be this index?"""
    file = folder / f"index-{held.size}"
    is_whole = file.is_file() and file.stat().st_size == 4 * held.size
    return (
        is_whole
        and FIRST_SLOTS <= held.slots <= held.size
        and 0 <= held.crowded <= held.size - held.slots
        and (held.slots < held.size) == log.holds_remainders(held.slots)
    )


def _fill(log: Log, replica: Replica, store: Store, pieces: Sequence[Piece]) -> None:
    """The log's words from the store's blocks."""
    w = replica.packed.words
    at = 0
    for piece in pieces:
        states = states_in(store, piece, replica)
        assert len(states) == piece.states, (
            f"{piece.name} holds {len(states)} states, not {piece.states}"
        )
        log.memory.ensure((at + len(states) + 1) * w)
        log.memory.words[at * w : (at + len(states)) * w] = states.reshape(-1)
        at += len(states)
    replica.packed.point(r.LOG, log.memory)
