"""Which jars may run: `jars.json` pins the digest of everything that Maven fetches for each Kafka
version, and the files are compared with it before Java starts. `.ci/pin-jars` rewrites it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from groupcheck.model.engine import UserError
from groupcheck.model.engine.fast.cache import refuse_exposed

PINS = Path(__file__).with_name("jars.json")
REBUILD = "remove this folder; the next run builds it again"
BUILT = "built.sha256"  # the digest of the jar that was compiled here, beside it

Digests = Mapping[str, str]  # name of a jar -> SHA-256, in hexadecimal


def pinned(jar: str, version: str, pins: Path = PINS) -> Digests:
    """The jars that `jar` (driver.jar or recorder.jar) needs on a Kafka version."""
    known = json.loads(pins.read_text())
    return {name: known["digests"][name] for name in known["jars"][jar][version]}


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checked(home: Path, jar: str, wanted: Digests, do: str = REBUILD) -> list[Path]:
    """The files of a built program in the order of its class path: `jar`, then everything that was
    fetched. Raises `UserError`, which says what to `do`, unless they are exactly the files that
    were built and pinned, and only this user can change them.
    """
    try:
        own = {jar: (home / BUILT).read_text()}
        there = {path.name for path in (home / "jars").iterdir()}
        for name in sorted(there ^ wanted.keys()):
            raise _wrong(home, do, f"{name} is {'not pinned' if name in there else 'missing'}")
        paths = [home / jar, *(home / "jars" / name for name in wanted)]
        for path, right in zip(paths, [*own.values(), *wanted.values()], strict=True):
            refuse_exposed(path)
            if digest(path) != right:
                what = "was built here" if path.name == jar else "is pinned"
                raise _wrong(
                    home, do, f"{path.name} is not the file that {what}: its digest differs"
                )
    except OSError as error:
        raise _wrong(home, do, f"{error.filename} cannot be read: {error.strerror}") from None
    return paths


def _wrong(home: Path, do: str, why: str) -> UserError:
    return UserError(f"no Java is started: {why}", where=str(home), do=do)
