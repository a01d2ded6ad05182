"""The folder in which groupcheck keeps code that it executes: object code of kernels, and the jars
of `groupcheck.oracles.kafka`. What lies there runs with the user's rights, so it must belong to
this user alone.

numba compiles kernels once; a run loads them through llvmlite and never imports numba. The key is
source, versions and processor; a torn or foreign file is compiled again.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from groupcheck.model.engine.errors import UserError

VARIABLE = "GROUPCHECK_CACHE_DIR"
REMEDY = f"set {VARIABLE} to a folder of yours that nobody else can write to"


def cache_directory() -> Path:
    """The cache folder without symlinks, made now if it is not there: `GROUPCHECK_CACHE_DIR`, else
    `groupcheck` in `XDG_CACHE_HOME` or in `~/.cache`. Raises `UserError` where it cannot be made or
    where another user could change what stands in it.
    """
    chosen = os.environ.get(VARIABLE)
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
        base = (Path(chosen) if chosen else Path(home, "groupcheck")).absolute()
        for folder in (*reversed(base.parents), base):
            folder.mkdir(exist_ok=True, mode=0o700)
        refuse_exposed(base)
        return base.resolve(strict=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: no home directory, a loop of symlinks
        why = error.strerror if isinstance(error, OSError) else str(error)
        where = chosen or "the cache folder"
        raise UserError(f"cannot write to {where}: {why}", do=REMEDY) from None


def refuse_exposed(path: Path) -> None:
    """Raises `UserError` if another user than root could change what is found at `path`: it must
    belong to this user and be writable by nobody else, and so must every folder on the way. A
    folder on the way may also be root's, or be sticky as /tmp is: nobody can replace what stands
    in it and belongs to others. Raises `OSError` where there is nothing.
    """
    if not hasattr(os, "getuid"):  # Windows: the user's profile is the user's
        return
    given, real, user = path.absolute(), path.resolve(strict=True), os.getuid()
    for part in (*reversed(given.parents), given, *reversed(real.parents), real):
        status = part.lstat()
        if status.st_uid != user and (status.st_uid != 0 or part == real):
            owner = status.st_uid
            or_else = f", or run as that user (in a container: --user {owner})"
            raise _exposed(path, f"{part} belongs to another user (id {owner})", REMEDY + or_else)
        shared = status.st_mode & 0o022 and not stat.S_ISLNK(status.st_mode)
        if shared and (part == real or not status.st_mode & stat.S_ISVTX):
            raise _exposed(path, f"other users can write to {part}")


def _exposed(path: Path, why: str, do: str = REMEDY) -> UserError:
    return UserError(f"nothing is executed from {path}: {why}", do=do)


def why_not_kept() -> str:
    """Why object code is not kept, and what to do about it."""
    try:
        folder = cache_directory()
    except UserError as error:
        return str(error)
    return f"{folder} takes no new file ({REMEDY})"
