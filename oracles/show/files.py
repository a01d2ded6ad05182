"""Writing answers to files, each whole or not at all: the one place where a file that an option
names is opened.

A file is written beside its target and then renamed, so that the target is the old one until the
new one is whole; a link stays, and what it leads to is replaced. What is no ordinary file (a pipe,
a device, a descriptor such as /dev/stdout) is written to, and never removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from groupcheck.model.engine import UserError
from groupcheck.oracles.show.terminal import say

MOST_LINKS = 40  # as Linux follows
_DESCRIPTOR = re.compile(r"/(?:dev|proc/(?:self|thread-self))/fd/([0-9]{1,9})")


def not_read(outputs: Mapping[str, Path | None], read: Sequence[Path]) -> None:
    """Raises `UserError` if a file that is to be written is one of the inputs (`read`), or that of
    another output, by whatever name. `outputs`: option -> file, if it was given.
    """
    taken: dict[str, str] = {}  # where a file lies -> the option that names it
    for option, path in outputs.items():
        if path is None or not is_replaced(path):
            continue  # a pipe or a device takes everything
        if any(_same(one, path) for one in read):
            raise UserError(
                f"{path} is also an input and would be overwritten",
                where=option,
                do="name another file",
            )
        if (other := taken.setdefault(os.path.realpath(path), option)) != option:
            raise UserError(
                f"{path} is also the file of {other}", where=option, do="name another file"
            )


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return False


def is_replaced(path: Path) -> bool:
    """Is an ordinary file meant, which a new one replaces? False: what is there (a pipe, a device,
    a descriptor, a folder) stays.
    """
    return _descriptor(path) is None and (path.is_file() or not path.exists())


def target(path: Path) -> Path:
    """Where the file lies that `path` means: where links lead. Raises `OSError` if they lead in a
    circle.
    """
    found = Path(os.path.realpath(path))
    if found.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return found


@contextlib.contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """The file to write bytes to: a new one, which replaces the target at the end; if that is a
    pipe, a device or a descriptor, the target itself. Raises `UserError` if it cannot be written.

    It is no path, because a library that is given one may remove it when it fails.
    """
    try:
        if is_replaced(path):
            with _beside(target(path)) as file:
                yield file
        else:
            with _opened(path) as file:
                yield file
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


@contextlib.contextmanager
def _beside(old: Path) -> Iterator[BinaryIO]:
    """A new file, which takes the name and the rights of `old` once it is whole."""
    with tempfile.TemporaryDirectory(dir=old.parent, prefix=".groupcheck-") as folder:
        new = Path(folder, old.name)
        with new.open("xb") as file:
            yield file
        if old.exists():
            shutil.copymode(old, new)
        new.replace(old)


def _opened(path: Path) -> BinaryIO:
    """A place that is no ordinary file, opened to be written to."""
    if (number := _descriptor(path)) is not None:
        if sys.stdout is not None:
            sys.stdout.flush()  # what was printed before stands before it
        # By its number: opened by its name, an ordinary file would be cut, and begin at 0 again.
        return os.fdopen(number, "wb", closefd=False)
    if path.is_fifo():
        try:
            handle = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            say(f"waiting for a reader of the pipe {path}")
        else:
            os.set_blocking(handle, True)
            return os.fdopen(handle, "wb")
    return path.open("wb")


def _descriptor(path: Path) -> int | None:
    """The number of the open file of this process that `path` means by a name such as /dev/stdout
    or /dev/fd/3; None if it means something else.
    """
    at = path.absolute()
    for _ in range(MOST_LINKS):
        at = Path(os.path.normpath(at))
        if found := _DESCRIPTOR.fullmatch(str(at)):
            return int(found[1])
        if not at.is_symlink():
            return None
        at = at.parent / at.readlink()
    return None


def write(path: Path, content: str | bytes) -> None:
    """Writes a file, a text as UTF-8. What UTF-8 does not have, half of a surrogate pair, is
    written as an escape. Raises `UserError` if the file cannot be written.
    """
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    with whole(path) as file:
        file.write(data)


def written(path: Path, content: str | bytes) -> None:
    """Writes a file and says so."""
    write(path, content)
    say(f"wrote {path}")
