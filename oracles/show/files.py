"""Writing answers to files: refused before a long run rather than after it, and never
half written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from groupcheck.model.engine import UserError
from groupcheck.oracles.printable import printable


def writable(path: Path, option: str, *, read: Sequence[Path] = (), table: bool = False) -> None:
    """Raises `UserError` if a file could not be written there later, or is one of those that are
    `read`; a `table` is no pipe or device.
    """
    not_read(path, option, read)
    try:
        if path.is_dir():
            raise UserError(f"{path} is a directory", where=option, do="name a file")
        if not path.parent.is_dir():
            raise UserError(f"there is no directory {path.parent}", where=option)
        if _ordinary(path):
            with whole(path) as new:
                new.unlink()
        elif table:
            raise UserError(f"{path} is not an ordinary file", where=option, do="name one")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}", where=option) from None


def not_read(path: Path, option: str, read: Sequence[Path]) -> None:
    """Raises `UserError` if a file that would be written is one of those that are read, by whatever
    name.
    """
    if any(path.exists() and one.exists() and one.samefile(path) for one in read):
        raise UserError(
            f"{path} is also an input and would be overwritten",
            where=option,
            do="name another file",
        )


def _ordinary(path: Path) -> bool:
    """False for a pipe or device, which is opened once, when there is something to write."""
    return path.is_file() or not path.exists()


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A new file beside the one that is wanted (where a link leads), to replace it at the end if
    still there; never left behind.
    """
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    new = target.with_name(f".groupcheck-{secrets.token_hex(8)}")
    new.touch(exist_ok=False)
    try:
        yield new
        if new.exists():
            if target.exists():
                shutil.copymode(target, new)
            new.replace(target)
    finally:
        new.unlink(missing_ok=True)


def write(path: Path, text: str) -> None:
    """Writes a file whole or not at all (pipes and devices are written to directly). Raises
    `UserError` where it cannot.
    """
    try:
        if not _ordinary(path):
            path.write_text(text, encoding="utf-8")
            return
        with whole(path) as new:
            new.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None


def written(path: Path, text: str) -> None:
    """Writes a file and says so."""
    write(path, text)
    print(f"groupcheck: wrote {printable(str(path))}", file=sys.stderr)
