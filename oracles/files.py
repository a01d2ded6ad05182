"""Writing answers to files: refused before a long run rather than after it, and never half written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from groupcheck.model.engine import UserError


def writable(path: Path, option: str) -> None:
    """Raises `UserError` if a file could not be written there later."""
    where = option
    if path.is_dir():
        raise UserError(f"{path} is a directory", where=where, do="name a file")
    if not path.parent.is_dir():
        raise UserError(f"there is no directory {path.parent}", where=where)
    try:
        if path.exists():
            with path.open("ab"):
                return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".groupcheck-")
        os.close(handle)
        Path(name).unlink()
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}", where=where) from None


def write(path: Path, text: str) -> None:
    """Writes a file whole or not at all (pipes and devices are written to directly). Raises `UserError` where it cannot."""
    path = path.resolve()
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".groupcheck-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask)
        Path(name).replace(path)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
