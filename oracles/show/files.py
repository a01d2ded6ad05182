"""Writing answers to files, each whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from groupcheck.model.engine import UserError
from groupcheck.oracles.printable import printable


def not_read(outputs: Mapping[str, Path | None], read: Sequence[Path]) -> None:
    """Raises `UserError` if a file that is to be written is one of the inputs (`read`), or that of
    another output, by whatever name. `outputs`: option -> file, if it was given.
    """
    taken: dict[str, str] = {}  # where a file lies -> the option that names it
    for option, path in outputs.items():
        if path is None or (path.exists() and not path.is_file()):
            continue  # a pipe or a device takes everything
        if any(path.exists() and one.exists() and one.samefile(path) for one in read):
            raise UserError(
                f"{path} is also an input and would be overwritten",
                where=option,
                do="name another file",
            )
        if (other := taken.setdefault(os.path.realpath(path), option)) != option:
            raise UserError(
                f"{path} is also the file of {other}", where=option, do="name another file"
            )


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """The path to write to: a new file, which replaces the target at the end (where a link leads);
    if the target is a pipe or a device, the target itself.
    """
    if path.exists() and not path.is_file():
        yield path  # a pipe may have no other name than one like /dev/stdout
        return
    target = Path(os.path.realpath(path))
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".groupcheck-") as folder:
        new = Path(folder, target.name)
        yield new
        if target.exists():
            shutil.copymode(target, new)
        new.replace(target)


def write(path: Path, text: str) -> None:
    """Writes a file. Raises `UserError` if it cannot."""
    try:
        with whole(path) as new:
            new.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


def written(path: Path, text: str) -> None:
    """Writes a file and says so."""
    write(path, text)
    print(f"groupcheck: wrote {printable(str(path))}", file=sys.stderr)
