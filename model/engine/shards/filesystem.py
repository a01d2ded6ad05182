"""Where blocks and tables lie: a folder here, or any URI that Arrow knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from groupcheck.model.engine.errors import UserError


def filesystem_of(uri: str) -> tuple[Any, str]:
    """(Arrow's file system, the path in it) of a URI (`file:`, `s3:`, `gs:`, `hdfs:`), or of a path
    here, which is made absolute.

    Raises `UserError` where pyarrow is missing, and `OSError` for what is no URI or leads nowhere.
    """
    try:
        from pyarrow import fs
    except ImportError:
        raise UserError(
            "pyarrow is not installed", where="--spark", do="pip install 'groupcheck[spark]'"
        ) from None
    if "://" not in uri and not uri.startswith("file:"):
        return fs.LocalFileSystem(), str(Path(uri).absolute())
    try:
        filesystem, path = fs.FileSystem.from_uri(uri)
    except (ValueError, NotImplementedError) as error:
        raise OSError(plainly(error)) from None
    return filesystem, str(path)


def plainly(error: Exception) -> str:
    """An error of a file system in one line, without the library's own prefixes."""
    return " ".join(str(error).split()).rpartition("Detail: ")[2][:300] or type(error).__name__
