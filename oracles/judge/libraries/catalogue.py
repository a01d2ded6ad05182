"""The client libraries that have an adapter. An adapter is a folder of `adapters`, found by itself:
`library.toml`, the consumer (`program.py`, `main.go` ...) and the lock of its language. What the
adapters of one language share is in `languages`, and lies beside the consumer when it is built.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.installing.installing import Recipe
from groupcheck.oracles.judge.installing.toolchains import TOOLCHAINS

ADAPTERS = Path(__file__).parent / "adapters"
LANGUAGES = Path(__file__).parent / "languages"
JAVA = "java"
ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative")
LACKS: Mapping[str, str] = {
    "static": "static members: group.instance.id",
    "range": "the range assignor",
    "cooperative": "an assignor with cooperative rebalances",
    "assigned": "events `assigned`",
    "revoked": "events `revoked`",
    "lost": "events `lost`",
    "commit": "events `commit`: of the library's own commits that succeeded",
    "commit_failed": "events `commit_failed`: of the library's own commits that failed",
    "fatal": "events `fatal`: errors after which an application has to stop",
}
"""What a library can lack -> what that is. `static` and `cooperative` settings are not played then;
the test of the adapters does not wait for events that are lacking.
"""


@frozen(kw_only=True)
class Library:
    # As `--library` names it.
    name: str
    # A toolchain, or java.
    language: str
    # What its language's registry calls it.
    package: str
    # The one that its lock pins.
    version: str
    # Those that it has, by the names of the contract; the first is its own default here.
    assignors: tuple[str, ...]
    # What makes it quick besides the timers of the contract, and what cannot be made quick.
    settings: Mapping[str, str]
    # Name in `LACKS` -> how it shows.
    lacks: Mapping[str, str]
    # Its folder.
    folder: Path

    @property
    def recipe(self) -> Recipe:
        """How it is installed. Not for Java, which Maven builds."""
        shared = LANGUAGES / self.language
        sources = (self.folder, shared) if shared.is_dir() else (self.folder,)
        return Recipe(self.name, self.language, self.package, self.version, sources)


@cache
def libraries() -> Mapping[str, Library]:
    """Every library by its name. Raises `UserError` for a `library.toml` that is not as it should
    be.
    """
    found = [read(path) for path in sorted(ADAPTERS.glob("*/library.toml"))]
    return {library.name: library for library in found}


def read(path: Path) -> Library:
    """One library. Raises `UserError` if its `library.toml` is not as it should be."""
    try:
        told = tomllib.loads(path.read_text("utf-8"))
        library = Library(
            **{k: v for k, v in told.items() if k != "assignors"},
            assignors=tuple(told["assignors"]),
            folder=path.parent,
        )
        problem = _problem(library)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
        problem = f"{error}"
    if problem:
        raise UserError(f"no adapter: {problem}", where=str(path))
    return library


def _problem(library: Library) -> str:
    texts: Mapping[str, Any] = {
        name: getattr(library, name) for name in ("name", "language", "package", "version")
    }
    if wrong := [name for name, value in texts.items() if not isinstance(value, str)]:
        return f"{wrong[0]} is no text"
    if library.language not in (*TOOLCHAINS, JAVA):
        return f"there is no language {library.language!r}"
    for name, known in (("assignors", ASSIGNORS), ("lacks", LACKS)):
        if foreign := [str(one) for one in getattr(library, name) if one not in known]:
            return f"{name}: {foreign[0]!r} is none of {', '.join(known)}"
    if not library.assignors:
        return "it has no assignor"
    for name in ("range", "cooperative"):
        if (name in library.assignors) == (name in library.lacks):
            return f"{name} must stand either among assignors or in lacks"
    return ""
