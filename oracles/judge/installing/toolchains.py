"""How a program in each language is fetched and built in a folder that has its sources, and how it
is started there. A package has the version that the folder's own lock names, or another one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from attrs import frozen

Command = tuple[str, ...]


@frozen
class Toolchain:
    """Words with {package}, {version} and {home} get these; a word that begins with ./ is a path in
    the folder.
    """

    # What has to be installed: program -> advice.
    tools: Mapping[str, str]
    # What fetches and builds the versions of the lock.
    pinned: tuple[Command, ...]
    # The same for another version of the package; empty: there is no choice.
    chosen: tuple[Command, ...]
    # What starts the program.
    command: Command
    # The lock, which names every version.
    lock: str


_VENV: Command = (sys.executable, "-m", "venv", "python")
_PIP: Command = ("./python/bin/python", "-m", "pip", "install", "--disable-pip-version-check")
_GO_BUILD: Command = ("go", "build", "-trimpath", "-buildvcs=false", "-o", "program", ".")
_NPM: Command = ("--ignore-scripts", "--no-audit", "--no-fund")

TOOLCHAINS: Mapping[str, Toolchain] = {
    "python": Toolchain(
        tools={},
        pinned=(_VENV, (*_PIP, "--require-hashes", "-r", "requirements.txt")),
        chosen=(_VENV, (*_PIP, "{package}=={version}")),
        command=("{home}/python/bin/python", "{home}/program.py"),
        lock="requirements.txt",
    ),
    "go": Toolchain(
        tools={"go": "install Go 1.26 or newer"},
        pinned=((*_GO_BUILD[:2], "-mod=readonly", *_GO_BUILD[2:]),),
        chosen=(("go", "get", "{package}@v{version}"), ("go", "mod", "tidy"), _GO_BUILD),
        command=("{home}/program",),
        lock="go.sum",
    ),
    "node": Toolchain(
        tools={"node": "install Node.js 18 or newer", "npm": "install npm"},
        pinned=(("npm", "ci", *_NPM),),
        chosen=(("npm", "install", *_NPM, "{package}@{version}"),),
        command=("{node}", "{home}/program.js"),
        lock="package-lock.json",
    ),
    "rust": Toolchain(
        tools={"cargo": "install Rust 1.95 or newer"},
        pinned=(("cargo", "build", "--release"),),
        chosen=(("cargo", "add", "{package}@={version}"), ("cargo", "build", "--release")),
        command=("{home}/target/release/program",),
        lock="Cargo.toml",
    ),
    "c": Toolchain(
        tools={
            "cc": "install a C compiler",
            "pkg-config": "install pkg-config",
        },
        pinned=(("sh", "-c", "cc -O2 -Wall -o program program.c $(pkg-config --libs rdkafka)"),),
        chosen=(),
        command=("{home}/program",),
        lock="",
    ),
}
