"""Where an archive lies: a folder, or any URI that Arrow knows (file, s3, gs, hdfs); files are
moved into place whole.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import define, field

from groupcheck.model.engine import UserError
from groupcheck.model.engine.fast.shards.addresses import shown
from groupcheck.model.engine.fast.shards.filesystem import filesystem_of, plainly

HIDDEN = "_unfinished"
"""Readers of Parquet pass over this folder: its name begins with an underscore."""


@define
class Place:
    """A folder on some file system; names are relative to it. Made anew from its URI wherever it is
    needed.
    """

    uri: str
    fs: Any = field(init=False)
    root: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        try:
            self.fs, self.root = filesystem_of(self.uri)
        except OSError as error:
            why = f"{shown(self.uri)[:200]!r} is no place for an archive: {error}"
            raise UserError(
                why, where="--out", do="a folder, or file://, s3://, gs://, hdfs://"
            ) from None

    @property
    def local(self) -> bool:
        return bool(self.fs.type_name == "local")

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def prepare(self, folders: list[str]) -> None:
        """Makes the folders. Raises `UserError` where nothing can be written."""
        try:
            for folder in folders:
                self.fs.create_dir(self.path(folder), recursive=True)
            with self.fs.open_output_stream(self.path(f"{HIDDEN}/probe")) as probe:
                probe.write(b"groupcheck")
            self.remove(f"{HIDDEN}/probe")
        except OSError as error:
            why = f"cannot write to {shown(self.uri)}: {plainly(error, self.uri)}"
            raise UserError(why, where="--out", do="name a place that can be written to") from None

    def read(self, name: str) -> bytes | None:
        """A file's content, None if there is none. Raises `UserError` if it cannot be read."""
        try:
            with self.fs.open_input_stream(self.path(name)) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UserError(
                f"cannot read {name}: {plainly(error, self.uri)}", where=shown(self.uri)
            ) from None

    def write(self, name: str, content: bytes) -> None:
        """Writes a file whole or not at all."""
        aside = f"{HIDDEN}/{Path(name).name}"
        with self.fs.open_output_stream(self.path(aside)) as stream:
            stream.write(content)
        self.move(aside, name)

    def exists(self, name: str) -> bool:
        from pyarrow import fs

        return bool(self.fs.get_file_info(self.path(name)).type != fs.FileType.NotFound)

    def move(self, old: str, new: str) -> None:
        self.fs.move(self.path(old), self.path(new))

    def remove(self, name: str) -> None:
        """Removes a file, which may be gone already."""
        with contextlib.suppress(FileNotFoundError):
            self.fs.delete_file(self.path(name))

    def names(self, folder: str) -> list[str]:
        """Files directly inside a folder."""
        from pyarrow import fs

        found = self.fs.get_file_info(fs.FileSelector(self.path(folder), allow_not_found=True))
        return sorted(
            f"{folder}/{info.base_name}" for info in found if info.type == fs.FileType.File
        )


@contextlib.contextmanager
def alone(place: Place) -> Iterator[None]:
    """Holds the archive for one run at a time; a killed run lets go by itself. Elsewhere than on a
    local disk it is for the user to see to.

    Raises `UserError` if another run holds it.
    """
    if not place.local:
        yield
        return
    import fcntl

    held = os.open(place.path("_lock"), os.O_CREAT | os.O_RDWR, 0o644)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(
                "another run writes to this archive", where=shown(place.uri), do="wait for its end"
            ) from None
        yield
    finally:
        os.close(held)
