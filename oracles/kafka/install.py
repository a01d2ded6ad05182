"""Builds a program of ours against Kafka with Maven on first use, into a cache folder; later uses
need neither Maven nor the network.

The folder's name holds the Kafka version and a hash of the sources, so a new groupcheck builds anew
and several versions live side by side. It appears whole or not at all; two processes that need it
at once build it once.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.kafka.versions import known

GOALS = ("compiler:compile", "jar:jar", "dependency:copy-dependencies")
NEEDED = (
    "install a JDK 17 or newer and Maven (on Debian: apt-get install default-jdk-headless maven)"
)
BUILD_S = 600.0


@frozen
class Program:
    """A Maven module that a Kafka version is compiled into. `title` is what messages call it,
    `place` its folder in the cache.
    """

    title: str
    sources: Path
    jar: str
    place: str


DRIVER = Program(
    "the driver of Kafka's coordinator", Path(__file__).parent / "driver", "driver.jar", "kafka"
)


def tell(message: str) -> None:
    """Progress, on stderr."""
    print(message, file=sys.stderr, flush=True)


def classpath(version: str, say: Callable[[str], None] = tell, program: Program = DRIVER) -> str:
    """A program's class path for a Kafka version, built now if it was not yet. Raises `UserError`
    where that cannot be done.
    """
    home = folder(known(version), program)
    if not home.is_dir():
        tools(program)
        with locked(home, program):
            if not home.is_dir():
                _build(version, home, say, program)
    return f"{home / program.jar}{os.pathsep}{home / 'jars' / '*'}"


def java(program: Program = DRIVER) -> str:
    """The Java launcher: of JAVA_HOME, or on the path."""
    return _tool("java", f"{program.title} runs on Java")


def tools(program: Program = DRIVER) -> tuple[str, str]:
    """Maven and the Java compiler; a `UserError` names what is missing and what to install."""
    return _tool("mvn", f"{program.title} is built with Maven"), _tool(
        "javac", f"{program.title} is compiled"
    )


def _tool(name: str, why: str) -> str:
    given = os.environ.get("JAVA_HOME")
    at_home = Path(given, "bin", name) if given and name != "mvn" else None
    found = str(at_home) if at_home and at_home.is_file() else shutil.which(name)
    if found is None:
        raise UserError(f"there is no {name}: {why}", do=NEEDED)
    return found


def folder(version: str, program: Program = DRIVER) -> Path:
    """Where the program for that version is, or will be."""
    digest = hashlib.sha256()
    for path in sorted(p for p in program.sources.rglob("*") if p.is_file()):
        digest.update(f"{path.relative_to(program.sources)}\0".encode() + path.read_bytes() + b"\0")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "groupcheck" / program.place / f"{version}-{digest.hexdigest()[:16]}"


@contextmanager
def locked(home: Path, program: Program = DRIVER) -> Iterator[None]:
    """Only one process at a time; the lock falls with its process."""
    try:
        import fcntl
    except ImportError:
        raise UserError(f"{program.title} runs on Linux and macOS only") from None
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        file = (home.parent / f"{home.name}.lock").open("w")
    except OSError as error:
        raise UserError(
            f"cannot write to the cache {home.parent}: {error.strerror}",
            do="set XDG_CACHE_HOME to a folder of yours",
        ) from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(version: str, home: Path, say: Callable[[str], None], program: Program) -> None:
    say(f"building {program.title} for Kafka {version} with Maven (first use only, some 20 s)")
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".building-") as place:
        shutil.copytree(program.sources, place, dirs_exist_ok=True)
        jars, log = Path(place, "built", "jars"), home.parent / f"{home.name}.log"
        options = [f"-Dkafka={version}", f"-DoutputDirectory={jars}", "-DincludeScope=runtime"]
        command = [tools()[0], "--batch-mode", "--no-transfer-progress", *options, *GOALS]
        # Maven lives for seconds: the first compiler alone halves its time.
        environment = os.environ | {
            "MAVEN_OPTS": f"-XX:TieredStopAtLevel=1 {os.environ.get('MAVEN_OPTS', '')}"
        }
        with log.open("wb") as output:
            try:
                ended = subprocess.run(
                    command,
                    cwd=place,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    timeout=BUILD_S,
                )
            except subprocess.TimeoutExpired:
                raise UserError(
                    f"Maven did not end within {BUILD_S:.0f} s", where=str(log)
                ) from None
        if ended.returncode:
            raise UserError(
                _why(log.read_text(errors="replace"), program),
                where=str(log),
                do="Maven needs the network on first use, and a JDK 17 or newer",
            )
        shutil.copy(Path(place, "target", program.jar), jars.parent)
        jars.parent.replace(home)
        log.unlink()


def _why(log: str, program: Program) -> str:
    errors = [
        line.removeprefix("[ERROR]").strip()
        for line in log.splitlines()
        if line.startswith("[ERROR]")
    ]
    first = next(filter(None, errors), "it said nothing")
    return f"Maven could not build {program.title}: {first[:300]}"
