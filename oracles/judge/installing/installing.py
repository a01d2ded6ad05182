"""Fetches and builds a program on first use, into a folder of the cache that appears whole or not
at all. Its name has the version and a digest of the sources, so changed sources are built again.
"""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.errors import what_helps
from groupcheck.model.engine.fast.cache import cache_directory, refuse_exposed
from groupcheck.oracles.judge.installing.toolchains import TOOLCHAINS, Command, Toolchain
from groupcheck.oracles.kafka.install import locked_folder
from groupcheck.oracles.processes.supervisor import temporary_folder
from groupcheck.oracles.show import terminal

PLACE = "judge"
INSTALL_S = 1800.0  # of each step; a slow machine compiles a client in Rust for minutes
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]{0,60}")
_SAYS_WHY = re.compile(r"error|not (found|available|created)|no such|cannot|failed", re.IGNORECASE)


@frozen
class Recipe:
    """A program to install."""

    # What messages call it, and its folder in the cache.
    name: str
    language: str
    # What its language's registry calls the package whose version is chosen.
    package: str
    # The version that its lock names.
    pinned: str
    # Folders whose files are its sources; they lie side by side in the folder of the cache.
    sources: tuple[Path, ...]

    @property
    def toolchain(self) -> Toolchain:
        return TOOLCHAINS[self.language]

    def files(self) -> Mapping[str, Path]:
        """Every source by its path in the folder."""
        found = {
            str(path.relative_to(folder)): path
            for folder in self.sources
            for path in sorted(folder.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
        return dict(sorted(found.items()))


def installed(
    recipe: Recipe, version: str | None = None, say: Callable[[str], None] = terminal.say
) -> Command:
    """The command that starts the program; it is installed if that was not done yet. `version`: of
    its package, if not the pinned one. Raises `UserError` if a tool is missing, if there is no such
    version, or if it cannot be built.
    """
    chosen = None if version in (None, recipe.pinned) else version
    if chosen is not None:
        _refuse(recipe, chosen)
    home = _folder(recipe, version or recipe.pinned)
    if not home.exists():
        _tools(recipe)
        with locked_folder(home, recipe.name):
            if not home.exists():
                say(f"installing {recipe.name} {version or recipe.pinned} (first use only)")
                try:
                    _install(recipe, chosen, home)
                except OSError as error:
                    why = f"{recipe.name} cannot be installed: {error}"
                    raise UserError(why, where=str(home), do=what_helps(error, "")) from None
    refuse_exposed(home)
    words = {"home": str(home), "node": str(_node(home))}
    return tuple(word.format_map(words) for word in recipe.toolchain.command)


def _refuse(recipe: Recipe, version: str) -> None:
    """Raises `UserError` for what cannot be the version of its package."""
    if not recipe.toolchain.chosen:
        raise UserError(
            f"{recipe.name} is the version that this system has",
            where=f"{recipe.name}=={version[:60]}",
            do="leave the version out",
        )
    if not _VERSION.fullmatch(version):
        raise UserError(
            f"{version[:60]!r} is no version of {recipe.name}",
            do=f"write {recipe.name}=={recipe.pinned}, for example",
        )


def _folder(recipe: Recipe, version: str) -> Path:
    """Where the program is, or will be."""
    steps = str((recipe.toolchain.pinned, recipe.toolchain.chosen))
    # Every environment of one Python may use it.
    steps = steps.replace(sys.executable, sys.base_prefix)
    sources = hashlib.sha256(f"{steps} {platform.machine()}\0".encode())
    for name, path in recipe.files().items():
        sources.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    place = recipe.name.replace("@", "").replace("/", "-")
    return cache_directory() / PLACE / f"{place}-{version}-{sources.hexdigest()[:16]}"


def _node(home: Path) -> Path | str:
    """The Node.js that came with the package, or the system's."""
    own = sorted(home.glob("node_modules/node-*/bin/node"))
    return own[0] if own else shutil.which("node") or "node"


def _tools(recipe: Recipe) -> None:
    for tool, advice in recipe.toolchain.tools.items():
        if shutil.which(tool) is None:
            raise UserError(f"{tool} is not installed: {recipe.name} needs it", do=advice)


def _install(recipe: Recipe, chosen: str | None, home: Path) -> None:
    """Builds it beside its place, and moves it there when all is done."""
    toolchain = recipe.toolchain
    steps = toolchain.pinned if chosen is None else toolchain.chosen
    words = {"package": recipe.package, "version": chosen or recipe.pinned}
    log = home.parent / f"{home.name}.log"
    with temporary_folder(".building-", home.parent) as place:
        new = place / "built"
        new.mkdir(mode=0o700)
        for name, path in recipe.files().items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, new / name)
        with log.open("wb") as output:
            for step in steps:
                first, *rest = (word.format_map(words) for word in step)
                program = str(new / first[2:]) if first.startswith("./") else first
                _run(recipe, (program, *rest), new, log, output.fileno())
        new.replace(home)
    log.unlink()


def _run(recipe: Recipe, command: Command, place: Path, log: Path, output: int) -> None:
    try:
        ended = subprocess.run(
            command,
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            timeout=INSTALL_S,
        )
    except subprocess.TimeoutExpired:
        raise UserError(
            f"{Path(command[0]).name} did not install {recipe.name} within {INSTALL_S:.0f} s",
            where=str(log),
        ) from None
    if ended.returncode:
        lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "it said nothing")
        why = next(filter(_SAYS_WHY.search, lines), last)
        raise UserError(
            f"{recipe.name} cannot be installed: {why[:300]}",
            where=str(log),
            do="the first use needs the network and a version that exists",
        )
