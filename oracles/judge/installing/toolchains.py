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


_VENV: Command = (sys.executable, "-m", "venv", "python")
_PIP: Command = ("./python/bin/python", "-m", "pip", "install", "--disable-pip-version-check")
_GO_BUILD: Command = ("go", "build", "-trimpath", "-buildvcs=false", "-o", "program", ".")
_NPM: Command = ("--ignore-scripts", "--no-audit", "--no-fund")
_CARGO: Command = ("cargo", "build", "--release")
_PROGRAM_ALONE: Command = ("sh", "-c", "mv target/release/program . && rm -r target")
_CC = """
if ! pkg-config --exists rdkafka; then echo "error: install librdkafka-dev"; exit 1; fi
cc -O2 -o program program.c $(pkg-config --cflags --libs rdkafka) -lpthread
"""

TOOLCHAINS: Mapping[str, Toolchain] = {
    "python": Toolchain(
        tools={},
        pinned=(_VENV, (*_PIP, "--require-hashes", "-r", "requirements.txt")),
        chosen=(_VENV, (*_PIP, "{package}=={version}")),
        command=("{home}/python/bin/python", "-E", "-s", "{home}/program.py"),  # its own packages
    ),
    "go": Toolchain(
        tools={"go": "install Go 1.26 or newer"},
        pinned=((*_GO_BUILD[:2], "-mod=readonly", *_GO_BUILD[2:]),),
        chosen=(("go", "get", "{package}@v{version}"), ("go", "mod", "tidy"), _GO_BUILD),
        command=("{home}/program",),
    ),
    "node": Toolchain(
        tools={"node": "install Node.js 18 or newer", "npm": "install npm"},
        pinned=(("npm", "ci", *_NPM),),
        chosen=(("npm", "install", *_NPM, "{package}@{version}"),),
        command=("{node}", "{home}/program.js"),
    ),
    "rust": Toolchain(
        tools={"cargo": "install Rust 1.95 or newer"},
        pinned=(
            ("cargo", "generate-lockfile"),
            (sys.executable, "lock.py"),
            (*_CARGO, "--locked"),
            _PROGRAM_ALONE,
        ),
        chosen=(("cargo", "add", "{package}@={version}"), _CARGO, _PROGRAM_ALONE),
        command=("{home}/program",),
    ),
    "c": Toolchain(
        tools={
            "cc": "install a C compiler",
            "pkg-config": "install pkg-config and librdkafka-dev",
        },
        pinned=(("sh", "-c", _CC),),
        chosen=(),
        command=("{home}/program",),
    ),
}
