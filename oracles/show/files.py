"""Writing answers to files: refused before a long run rather than after it, and never
half written.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from groupcheck.model.engine import UserError
from groupcheck.oracles.printable import printable


def writable(path: Path, option: str, *, read: Sequence[Path] = (), table: bool = False) -> None:
    """Raises `UserError` if a file could not be written there later, or is one of those that are
    `read`; a `table` is no pipe or device.
    """
    try:
        kind = _kind(path)
        if stat.S_ISDIR(kind):
            raise UserError(f"{path} is a directory", where=option, do="name a file")
        if kind and not stat.S_ISREG(kind):
            if table or stat.S_ISSOCK(kind):
                raise UserError(f"{path} is not an ordinary file", where=option, do="name one")
            if not os.access(path, os.W_OK):
                raise UserError(f"cannot write {path}: it is read-only", where=option)
            return  # a pipe or device is opened once, when there is something to write
        not_read(path, option, read)
        if not path.parent.is_dir():
            raise UserError(f"there is no directory {path.parent}", where=option)
        if kind:
            with path.open("ab"):
                pass
        with whole(path) as new:
            new.unlink()
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


def _kind(path: Path) -> int:
    """The mode of what is there, 0 if nothing is."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return 0


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A new file beside the one that is wanted (where a link leads), to replace it at the end if
    still there; never left behind.
    """
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".groupcheck-")
    os.close(handle)
    new = Path(name)
    try:
        yield new
        if new.exists():
            new.chmod(_kind(target) & 0o777 or 0o666 & ~_mask())
            new.replace(target)
    finally:
        new.unlink(missing_ok=True)


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write(path: Path, text: str) -> None:
    """Writes a file whole or not at all (pipes and devices are written to directly). Raises
    `UserError` where it cannot.
    """
    try:
        kind = _kind(path)
        if kind and not stat.S_ISREG(kind):
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
