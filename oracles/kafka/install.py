"""Builds one of the project's Java programs against Kafka with Maven on first use, into a cache
folder. Later uses need neither Maven nor the network.

The folder's name has the Kafka version and a hash of the sources, so a new groupcheck builds again
and several versions exist side by side. The folder appears whole or not at all, and two processes
that need it at the same time build it once. Each time before Java starts, only this user may be
able to change the folder, and every jar in it must be the pinned one (`pins.py`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.errors import what_helps
from groupcheck.model.engine.fast.cache import REMEDY, cache_directory, refuse_exposed
from groupcheck.oracles.kafka.pins import BUILT, PINS, checked, digest, pinned
from groupcheck.oracles.kafka.versions import VERSIONS, known, number
from groupcheck.oracles.processes.supervisor import temporary_folder
from groupcheck.oracles.show import terminal

GOALS = ("compiler:compile", "jar:jar", "dependency:copy-dependencies")
NEEDED = (
    "install a JDK 17 or newer and Maven (on Debian: apt-get install default-jdk-headless maven)"
)
FETCHED = "Maven fetched this: look at its mirrors and at its local repository, ~/.m2"
BUILD_S = 600.0
ON_STDERR = ("-XX:+DisplayVMOutputToStderr", "-Xlog:all=off:stdout", "-Xlog:all=warning:stderr")


@frozen
class Program:
    """A Maven module that is compiled against a Kafka version."""

    # What messages call it.
    title: str
    sources: Path
    jar: str
    # Its folder in the cache.
    place: str
    # The file with the digests of the jars that it needs.
    pins: Path = PINS
    # The versions of Kafka with which it works.
    versions: tuple[str, ...] = VERSIONS

    @property
    def shims(self) -> dict[str, Path]:
        """Sources that differ between releases, beside `src`: the first release of a folder, which
        is its name, and the folder. The newest comes first. A release has each file from the newest
        folder that is not too new for it, so a folder holds only what changed.
        """
        folders = sorted((self.sources / "shims").glob("[0-9]*"), key=lambda p: number(p.name))
        return {folder.name: folder for folder in reversed(folders)}

    def sources_for(self, version: str, place: Path) -> None:
        """Copies the sources that this version is compiled with."""
        shutil.copytree(self.sources, place, dirs_exist_ok=True)
        for first, folder in reversed(self.shims.items()):
            if number(first) <= number(version):
                shutil.copytree(folder, place / "src", dirs_exist_ok=True)


DRIVER = Program(
    "the driver of Kafka's coordinator", Path(__file__).parent / "driver", "driver.jar", "kafka"
)


def classpath(
    version: str, say: Callable[[str], None] = terminal.say, program: Program = DRIVER
) -> str:
    """A program's class path for a Kafka version; builds the program if that was not done yet.
    Raises `UserError` if it cannot be built, or if a jar is not the pinned one.
    """
    home = folder(known(version, program.versions), program)
    wanted = pinned(program.jar, version, program.pins)
    if not home.exists():
        tools(program)
        with locked(home, program):
            if not home.exists():
                say(f"building {program.title} for Kafka {version} (first use only, some 20 s)")
                try:
                    with built(version, program, home) as new:
                        checked(new, program.jar, wanted, FETCHED)
                        new.replace(home)
                except OSError as error:
                    why = f"{program.title} cannot be built: {error}"
                    raise UserError(why, where=str(home), do=what_helps(error, "")) from None
    return os.pathsep.join(map(str, checked(home, program.jar, wanted)))


def java(program: Program = DRIVER) -> str:
    """The Java launcher, from JAVA_HOME or the path."""
    return _tool("java", f"{program.title} runs on Java")


def launcher(program: Program = DRIVER) -> tuple[str, ...]:
    """The beginning of a command that starts Java and reads its stdout: what the virtual machine
    itself says (a warning, or what JAVA_TOOL_OPTIONS asks for) goes to stderr.
    """
    return (java(program), *ON_STDERR)


def tools(program: Program = DRIVER) -> tuple[str, str]:
    """Maven and the Java compiler; a `UserError` says what is missing and what to install."""
    maven = _tool("mvn", f"{program.title} is built with Maven")
    return maven, _tool("javac", f"{program.title} is compiled")


def _tool(name: str, why: str) -> str:
    given = os.environ.get("JAVA_HOME")
    at_home = Path(given, "bin", name) if given and name != "mvn" else None
    found = str(at_home) if at_home and at_home.is_file() else shutil.which(name)
    if found is None:
        raise UserError(f"{name} is not installed: {why}", do=NEEDED)
    return found


def folder(version: str, program: Program = DRIVER) -> Path:
    """Where the program for that version is, or will be. Raises `UserError` if there is no cache
    folder from which programs can be executed.
    """
    sources = hashlib.sha256()
    for path in sorted(p for p in program.sources.rglob("*") if p.is_file()):
        sources.update(
            f"{path.relative_to(program.sources)}\0".encode() + path.read_bytes() + b"\0"
        )
    return cache_directory() / program.place / f"{version}-{sources.hexdigest()[:16]}"


def locked(home: Path, program: Program = DRIVER) -> AbstractContextManager[None]:
    """Lets one process at a time build the program; see `locked_folder`."""
    return locked_folder(home, program.title)


@contextmanager
def locked_folder(home: Path, title: str) -> Iterator[None]:
    """Lets one process in at a time that makes this folder of the cache; the lock ends with its
    process. `title`: what messages call what stands there. Raises `UserError` on another system
    than Linux or macOS, or if the cache cannot be written to.
    """
    try:
        import fcntl
    except ImportError:
        raise UserError(f"{title} runs on Linux and macOS only") from None
    try:
        home.parent.mkdir(exist_ok=True, mode=0o700)
        refuse_exposed(home.parent)
        file = (home.parent / f"{home.name}.lock").open("w")
    except OSError as error:
        raise UserError(
            f"cannot write to the cache {home.parent}: {error.strerror}", do=REMEDY
        ) from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def built(
    version: str, program: Program, home: Path, options: Sequence[str] = ()
) -> Iterator[Path]:
    """Compiles the program and fetches what it needs with Maven, into a temporary folder beside
    `home` that also gets the digest of the program's own jar. `options` are Maven's. What was
    fetched is not compared with the pins.
    """
    with temporary_folder(".building-", home.parent) as place:
        program.sources_for(version, place)
        new, log = place / "built", home.parent / f"{home.name}.log"
        new.mkdir(mode=0o700)
        (place / ".mvn").mkdir()  # or Maven takes extensions from the next one further up
        told = [f"-Dkafka={version}", f"-DoutputDirectory={new / 'jars'}", *options]
        _maven([*told, "-DincludeScope=runtime", *GOALS], place, log, program)
        shutil.copy(place / "target" / program.jar, new)
        (new / BUILT).write_text(digest(new / program.jar))
        for path in new.rglob("*"):
            path.chmod(path.stat().st_mode & ~0o022)
        yield new
        log.unlink()


def _maven(arguments: Sequence[str], place: Path, log: Path, program: Program) -> None:
    """Runs Maven in a folder. A file that does not have its published checksum ends the run."""
    command = [tools(program)[0], "--batch-mode", "--no-transfer-progress", "--strict-checksums"]
    # Maven lives for seconds: the first compiler alone halves its time.
    quick = f"-XX:TieredStopAtLevel=1 {os.environ.get('MAVEN_OPTS', '')}"
    with log.open("wb") as output:
        try:
            ended = subprocess.run(
                [*command, *arguments],
                cwd=place,
                env=os.environ | {"MAVEN_OPTS": quick},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=BUILD_S,
            )
        except subprocess.TimeoutExpired:
            raise UserError(f"Maven did not end within {BUILD_S:.0f} s", where=str(log)) from None
    if ended.returncode:
        raise UserError(
            _why(log.read_text(errors="replace"), program),
            where=str(log),
            do="Maven needs the network on first use, and a JDK 17 or newer",
        )


def _why(log: str, program: Program) -> str:
    errors = (line.partition("[ERROR]")[2].strip() for line in log.splitlines())
    first = next(filter(None, errors), "it said nothing")
    return f"Maven could not build {program.title}: {first[:300]}"
