"""Where blocks and tables lie: a folder here, or any URI that Arrow knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from groupcheck.model.engine.errors import UserError
from groupcheck.model.engine.fast.shards.addresses import is_uri, without_secrets


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
    if not is_uri(uri):
        return fs.LocalFileSystem(), str(Path(uri).absolute())
    try:
        filesystem, path = fs.FileSystem.from_uri(uri)
        return filesystem, str(path)
    except (ValueError, NotImplementedError, OSError) as error:
        why = plainly(error, uri)
    raise OSError(why)  # out here: the library's own error may hold the URI's secrets


def plainly(error: Exception, uri: str = "") -> str:
    """An error of a file system in one line, without the library's own prefixes and what may be
    secret in the URI.
    """
    text = " ".join(str(error).split()).rpartition("Detail: ")[2]
    return without_secrets(text, uri)[:300] or type(error).__name__
