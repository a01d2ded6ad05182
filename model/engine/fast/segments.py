"""The folder of a checkpoint: immutable segments of numbers, and a small manifest that lists them.

Each save appends one segment with what is new and then replaces the manifest in one step. A run
that is killed leaves the manifest before, and at most one segment that no manifest lists; the next
run removes it. A lock that ends with its process keeps a second run out. Digests show files that
are torn or mixed up; they are no protection against somebody who forges files.

A save appends, because writing everything each time takes several times as long. A search that is
killed again and again makes progress if it completes and saves one level between two kills.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import socket
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from attrs import define, field, frozen
from attrs.validators import deep_iterable, ge, matches_re, max_len, min_len
from numpy.typing import NDArray

from groupcheck.model.engine.errors import CheckpointError, what_helps
from groupcheck.model.engine.fast.store import Words

FILE = "groupcheck.checkpoint"
FOLDER = "groupcheck.segments"
LOCK = "groupcheck.lock"
MAGIC = b"groupcheck.checkpoint/3\n"
STORE_MAGIC = b"groupcheck.store/1\n"  # of a folder that holds the log of the search, too
OUR_NAME = re.compile(r"groupcheck\.[a-z]+(-[0-9a-f]{12}|\.new)?", re.ASCII)
MOST_HEADER = 1 << 26
PIECE = 1 << 20
LOG_NAME = re.compile(r"groupcheck\.log-[0-9a-f]{12}", re.ASCII)  # in a store
NAME = re.compile(r"\d{5}-[0-9a-f]{12}", re.ASCII)
_locked: set[Path] = set()  # by this process: a lock of the system does not keep its owner out


@frozen
class Segment:
    """A file of 64-bit words: origins, then rows, then states."""

    name: str = field(validator=matches_re(NAME))
    # Of all that is in it.
    digest: str
    # How many words of origins, rows and states there are.
    sizes: list[int] = field(
        validator=[min_len(3), max_len(3), deep_iterable(member_validator=ge(0))]
    )
    # The widths of the fields of its states, one for each place.
    widths: list[int]


@define
class Folder:
    """A folder that this process alone writes to."""

    path: Path
    # Those that its manifest lists, and one that the next manifest will list.
    segments: list[Segment] = field(factory=list)

    # The log that the manifest names, in a store, and where the run has moved it since.
    logs: set[str] = field(factory=set)

    def clear(self) -> None:
        """Removes what killed runs left: segments and logs that the manifest does not list, and
        halves of manifests.
        """
        listed = {segment.name for segment in self.segments}
        self.clear_logs()
        for file in (*(self.path / FOLDER).glob("*"), *self.path.glob(f"{FILE}*.new")):
            if file.suffix == ".new" or (NAME.fullmatch(file.name) and file.name not in listed):
                file.unlink(missing_ok=True)

    def clear_logs(self) -> None:
        """Removes logs that are no longer needed."""
        for file in self.path.glob("groupcheck.log-*"):
            if LOG_NAME.fullmatch(file.name) and file.name not in self.logs:
                file.unlink(missing_ok=True)

    def start_again(self) -> None:
        """Removes the checkpoint, for a search that begins anew. Raises `CheckpointError`."""
        self.segments, self.logs = [], set()
        with self.writing():
            (self.path / FILE).unlink(missing_ok=True)
            self.clear()

    def append(self, arrays: Sequence[NDArray[Any]], widths: list[int]) -> None:
        """Writes a segment; the next manifest lists it. Raises `CheckpointError`."""
        name = f"{len(self.segments):05}-{uuid.uuid4().hex[:12]}"
        digest = hashlib.blake2b(digest_size=32)
        with self.writing():
            (self.path / FOLDER).mkdir(exist_ok=True)
            with (self.path / FOLDER / name).open("xb") as file:
                for array in arrays:
                    digest.update(_bytes(array))
                    file.write(_bytes(array))
                _to_disk(file)
        sizes = [len(array) for array in arrays]
        self.segments.append(Segment(name, digest.hexdigest(), sizes, widths))

    def keep(self, manifest: dict[str, Any]) -> None:
        """Replaces the manifest, which lists all segments. Raises `CheckpointError`."""
        magic = STORE_MAGIC if manifest.get("log") else MAGIC
        text = magic + json.dumps(manifest).encode() + b"\n"
        temporary = self.path / f"{FILE}.new"
        with self.writing():
            with temporary.open("wb") as file:
                file.write(text + hashlib.blake2b(text).hexdigest().encode() + b"\n")
                _to_disk(file)
            temporary.replace(self.path / FILE)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Raises `CheckpointError` for what cannot be written in the block."""
        try:
            yield
        except OSError as error:
            raise cannot_write(self.path, error) from error


def cannot_write(path: Path, error: OSError) -> CheckpointError:
    """The error about a folder, or a file in it, that the system did not let us write."""
    resume = goes_on_with(path) if (path / FILE).exists() else ""
    text = f"cannot be written: {error.strerror or error}"
    return CheckpointError(text, where=str(path), do=what_helps(error, resume))


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _bytes(array: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).view(np.uint8).data


@contextlib.contextmanager
def held(path: Path, resumed: bool, stored: bool = False) -> Iterator[Folder]:
    """The folder, for this process alone. `resumed`: does the search go on from what is there?
    `stored`: the log lies there, too. Raises `CheckpointError` where another run writes, or has
    written without being resumed, and for a store where the folder holds something else.
    """
    try:
        if stored:
            _must_be_ours(path)
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / LOCK).resolve()
        if lock in _locked:
            raise _is_in_use(path, lock)
        file = lock.open("ab", buffering=0)  # so that nothing is left to be written at the end
    except OSError as error:
        raise cannot_write(path, error) from error
    with file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise _is_in_use(path, lock) from None
        if (path / FILE).exists() and not resumed:
            raise CheckpointError(
                f"holds a {what_is_kept(path)} already",
                where=str(path),
                do=f"go on with it ({goes_on_with(path)}), or choose another folder",
            )
        _locked.add(lock)
        try:
            folder = Folder(path)
            with folder.writing():
                file.truncate(0)
                file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
            if not resumed:
                folder.clear()
            yield folder
        finally:
            _locked.discard(lock)


def _must_be_ours(path: Path) -> None:
    """Raises `CheckpointError` where a folder holds files of others."""
    if path.is_dir():
        others = sorted(file.name for file in path.iterdir() if not OUR_NAME.fullmatch(file.name))
        if others:
            what = f"holds something else ({others[0]}), and a store has a folder for itself"
            raise CheckpointError(what, where=str(path), do="name an empty folder, or a new one")


def what_is_kept(path: Path) -> str:
    """What a folder holds, in a word: a store, or a checkpoint."""
    with contextlib.suppress(OSError), (path / FILE).open("rb") as file:
        return "store" if file.readline(len(MAGIC)) == STORE_MAGIC else "checkpoint"
    return "checkpoint"


def goes_on_with(path: Path) -> str:
    """The options that go on with what a folder holds; `--resume` alone is for a checkpoint."""
    store = f"--store {path} " if what_is_kept(path) == "store" else ""
    return f"{store}--resume {path}"


def _is_in_use(path: Path, lock: Path) -> CheckpointError:
    try:
        holder = lock.read_text(errors="replace")[:100] if lock not in _locked else "this process"
    except OSError:
        holder = "another process"
    return CheckpointError(
        f"another run keeps its checkpoints there ({holder})",
        where=str(path),
        do="wait until it ends, or choose another folder",
    )


def read_manifest(path: Path) -> object:
    """The manifest in a folder, as plain JSON. Raises `CheckpointError` where it is missing, torn
    or of another version.
    """
    where = str(path / FILE)
    try:
        with (path / FILE).open("rb") as file:
            magic, text, told = (
                file.readline(len(MAGIC)),
                file.readline(MOST_HEADER),
                file.read(200),
            )
    except OSError as error:
        raise CheckpointError(f"cannot be read: {error.strerror or error}", where=where) from error
    if magic not in (MAGIC, STORE_MAGIC):
        raise CheckpointError(
            "is not a checkpoint of this version of groupcheck", where=where, do="start again"
        )
    if told != hashlib.blake2b(magic + text).hexdigest().encode() + b"\n":
        raise torn(where)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise torn(where) from None


def read(path: Path, segment: Segment) -> list[Words]:
    """Origins, rows and states of a segment. Raises `CheckpointError` where it is missing or
    torn.
    """
    file = path / FOLDER / segment.name
    digest = hashlib.blake2b(digest_size=32)
    arrays = []
    try:
        with file.open("rb") as opened:
            if os.fstat(opened.fileno()).st_size != 8 * sum(segment.sizes):
                raise torn(str(file))
            for size in segment.sizes:
                array = np.zeros(size, np.uint64)
                view = _bytes(array)
                for at in range(0, 8 * size, PIECE):
                    piece = view[at : at + PIECE]
                    if opened.readinto(piece) != len(piece):
                        raise torn(str(file))
                    digest.update(piece)
                arrays.append(array)
    except OSError as error:
        raise CheckpointError(
            f"cannot be read: {error.strerror or error}", where=str(file)
        ) from error
    if digest.hexdigest() != segment.digest:
        raise torn(str(file))
    return arrays


def torn(where: str) -> CheckpointError:
    return CheckpointError(
        "is torn, or not a checkpoint", where=where, do="use an older copy, or start again"
    )
