"""Where a distributed search keeps what it finds: immutable blocks of 64-bit words and small JSON
documents, under any URI.

A block is written under a temporary name and renamed, so that a writer that is killed leaves none;
its header holds a digest of itself and of every section, so that a torn or foreign file is never
mistaken for a block. Nothing in it is ever executed or unpickled.

Successors travel through this store, not through Spark's shuffle. Blocks are needed anyway, to
rebuild what an executor loses and to resume, and a shuffle would keep its files on the executor,
which may die.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

import numpy as np
from attrs import frozen

from groupcheck.model.engine.errors import (
    UserError,
    lacks_a_right,
    lacks_room,
    what_helps,
)
from groupcheck.model.engine.fast.shards.addresses import shown
from groupcheck.model.engine.fast.shards.filesystem import filesystem_of, plainly
from groupcheck.model.engine.fast.store import Words

MAGIC = b"groupcheck.block/2\n"
# Of successors of the classic group zstd leaves 0.34 of the bytes at its first level (280 MB/s, and
# 1 GB/s back), 0.30 at its third, LZ4 0.47 in half the time. The digests of fewer bytes save most
# of what zstd takes, and a store over a network is slower than either.
CODEC, LEVEL = "zstd", 1
MOST_HEADER = 1 << 26
DIGEST = 16
LONGEST_NAME = 200
PAUSES = (0.1, 0.4)  # seconds before a call that failed is made again
REMOVERS = 16  # threads that remove files
NAME = re.compile(r"(?:[\w-][\w.-]*/)*[\w-][\w.-]*", re.ASCII)


class StoreError(UserError):
    """The store cannot be read or written, or a block in it is missing, torn or of
    something else.
    """

    may_pass = False  # may the same call succeed the next time?


class UnwrittenError(StoreError):
    """The store cannot be written; what is in it may still be read."""


@frozen(eq=False)
class Block:
    """A block that was read."""

    header: dict[str, Any]
    # Those that were asked for.
    sections: list[Words]
    # Bytes that these take in the store.
    stored: int


def _passing(cause: Exception, error: StoreError) -> StoreError:
    """The error, with whether it may pass: where what failed is neither room nor a right."""
    error.may_pass = not (lacks_room(cause) or lacks_a_right(cause))
    return error


P = ParamSpec("P")
T = TypeVar("T")


def _repeated(call: Callable[P, T]) -> Callable[P, T]:
    """A call that is made again where its error may pass. Nothing is done twice by that: a block is
    written under a new temporary name each time.
    """

    @functools.wraps(call)
    def attempt(*args: P.args, **more: P.kwargs) -> T:
        for pause in PAUSES:
            try:
                return call(*args, **more)
            except StoreError as error:
                if not error.may_pass:
                    raise
                time.sleep(pause)
        return call(*args, **more)

    return attempt


def _digest(data: Any) -> str:
    return hashlib.blake2b(data, digest_size=DIGEST).hexdigest()


def _codec() -> Any:
    from pyarrow import Codec

    return Codec(CODEC, compression_level=LEVEL)


class Store:
    """A folder under a URI that pyarrow's filesystems open (`file:`, `s3:`, `hdfs:`, `gs:`), or a
    local path.
    """

    def __init__(self, uri: str, is_resumable: bool = False) -> None:
        """`is_resumable`: does the store hold a search that --resume goes on with? Raises
        `StoreError` for what is no place, and `UserError` where pyarrow is missing.
        """
        self.uri, self.address = shown(uri), uri  # `uri` is for people, without secrets
        self.is_resumable = is_resumable
        try:
            self._files, self._root = filesystem_of(uri)
        except OSError as error:
            raise StoreError(f"cannot be opened: {error}", where=self.uri) from None
        if not self._root.strip("/"):
            raise StoreError("cannot be opened: it names no folder", where=self.uri)

    # -- blocks

    def write(self, name: str, header: Mapping[str, Any], sections: Sequence[Words]) -> int:
        """Writes a block under a name that is its own; returns its bytes."""
        raw = [
            np.ascontiguousarray(section).view(np.uint8).reshape(-1).data for section in sections
        ]
        codec = _codec()
        parts = [codec.compress(section, asbytes=True) for section in raw]
        text = (
            json.dumps(
                {
                    **header,
                    "name": name,
                    "sizes": [len(p) for p in parts],
                    "lengths": [len(p) for p in raw],
                    "digests": [_digest(p) for p in parts],
                }
            ).encode()
            + b"\n"
        )
        head = MAGIC + text
        self._write(name, [head, _digest(head).encode() + b"\n", *parts])
        return len(head) + 2 * DIGEST + 1 + sum(len(p) for p in parts)

    @_repeated
    def read(self, name: str, wanted: Sequence[int] | None = None) -> Block:
        """Reads a block, or some of its sections alone. Raises `StoreError` if it is torn, or is
        another block than its name says.
        """
        with self._opened(name) as file:
            header, begin = self._header(file, name)
            if header["name"] != name:
                raise StoreError(
                    f"{name} holds what was written as {header['name'][:80]}",
                    where=self.uri,
                    do="start again with an empty --store",
                )
            sizes, digests, lengths = header["sizes"], header["digests"], header["lengths"]
            sections, stored, codec = [], 0, _codec()
            for k in range(len(sizes)) if wanted is None else wanted:
                file.seek(begin + sum(sizes[:k]))
                data = file.read(sizes[k])
                if len(data) != sizes[k] or _digest(data) != digests[k]:
                    raise self._torn(name)
                section = np.empty(lengths[k], np.uint8)  # writable, as what is decompressed is not
                section[:] = np.frombuffer(codec.decompress(data, lengths[k]), np.uint8)
                sections.append(section.view(np.uint64))
                stored += sizes[k]
            return Block(header, sections, stored)

    def _header(self, file: Any, name: str) -> tuple[dict[str, Any], int]:
        size = file.size()
        start = file.read(min(size, 1 << 16))
        while b"\n" not in start[len(MAGIC) :] and len(start) < min(size, MOST_HEADER):
            start += file.read(1 << 20)
        end = start.find(b"\n", len(MAGIC)) + 1
        while len(start) < min(size, end + 2 * DIGEST + 1):
            start += file.read(2 * DIGEST + 1)
        told = start[end : end + 2 * DIGEST].decode("ascii", "replace")
        if not start.startswith(MAGIC) or not end or told != _digest(start[:end]):
            raise self._torn(name)
        return json.loads(start[len(MAGIC) : end]), end + 2 * DIGEST + 1

    def _torn(self, name: str) -> StoreError:
        return StoreError(
            f"{name} is torn, or not a block of this version",
            where=self.uri,
            do="start again with an empty --store",
        )

    # -- documents

    def write_document(self, name: str, document: Mapping[str, Any]) -> None:
        """Writes JSON in one piece, in the place of what was there."""
        text = json.dumps(document).encode()
        self._write(
            name, [json.dumps({"name": name, "digest": _digest(text)}).encode() + b"\n", text]
        )

    @_repeated
    def read_document(self, name: str) -> dict[str, Any]:
        """Reads what `write_document` wrote. Raises `StoreError` if it is torn."""
        with self._opened(name) as file:
            head, _, text = file.read().partition(b"\n")
        try:
            told = json.loads(head)
            if (told["name"], told["digest"]) == (name, _digest(text)):
                return dict(json.loads(text))
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        raise self._torn(name)

    # -- files

    def must_be_writable(self) -> None:
        """Raises `StoreError` if the store takes no files."""
        name = f"tried-{uuid.uuid4().hex[:12]}"
        self._write(name, [b""])
        self.delete([name])

    def _path(self, name: str) -> str:
        """Where a file lies; a name that leads out of the store belongs to no store of ours."""
        if len(name) > LONGEST_NAME or not NAME.fullmatch(name):
            raise StoreError(f"{name[:80]!r} is not the name of a file in a store", where=self.uri)
        return f"{self._root}/{name}"

    @contextlib.contextmanager
    def _opened(self, name: str) -> Iterator[Any]:
        try:
            with self._files.open_input_file(self._path(name)) as file:
                yield file
        except FileNotFoundError:
            raise StoreError(
                f"{name} is missing", where=self.uri, do="start again with an empty --store"
            ) from None
        except (OSError, ValueError) as error:
            raise _passing(
                error,
                StoreError(
                    f"{name} cannot be read: {plainly(error, self.address)}", where=self.uri
                ),
            ) from None

    @_repeated
    def _write(self, name: str, parts: Sequence[Any]) -> None:
        temporary = f"{self._path(name)}.{uuid.uuid4().hex[:12]}.new"
        try:
            self._files.create_dir(temporary.rpartition("/")[0], recursive=True)
            with self._files.open_output_stream(temporary) as file:
                for part in parts:
                    file.write(part)
            self._files.move(temporary, self._path(name))
        except (OSError, ValueError) as error:
            with contextlib.suppress(OSError):
                self._files.delete_file(temporary)
            raise _passing(
                error,
                UnwrittenError(
                    f"{name} cannot be written: {plainly(error, self.address)}",
                    where=self.uri,
                    do=what_helps(error, "--resume" if self.is_resumable else ""),
                ),
            ) from None

    @_repeated
    def names(self, folder: str = "") -> list[str]:
        """All files in the store, or those in one of its folders. Raises `StoreError` if they
        cannot be listed.
        """
        from pyarrow import fs

        try:
            found = self._files.get_file_info(
                fs.FileSelector(
                    f"{self._root}/{folder}".rstrip("/"), recursive=True, allow_not_found=True
                )
            )
        except (OSError, ValueError) as error:
            raise _passing(
                error,
                StoreError(f"cannot be listed: {plainly(error, self.address)}", where=self.uri),
            ) from None
        return sorted(f.path[len(self._root) + 1 :] for f in found if f.type == fs.FileType.File)

    def delete(self, names: Sequence[str]) -> None:
        """Removes files. Those that are gone already are ignored."""

        def remove(path: str) -> None:
            with contextlib.suppress(OSError):
                self._files.delete_file(path)

        paths = [self._path(name) for name in names]
        if len(paths) < 2:
            for path in paths:
                remove(path)
            return
        # Side by side: the files of a level are some for each shard, and an object store takes
        # tens of milliseconds for each.
        with ThreadPoolExecutor(min(REMOVERS, len(paths))) as pool:
            list(pool.map(remove, paths))
