"""A build of Kafka that is not a release: the jars of a folder, and the driver compiled against
them.

The folder is an unpacked release (or its `libs`), or a checkout in which Gradle has built jars.
What its jars do not hold (Jackson, a logger that says nothing) comes from the pinned jars of a
release; of Kafka itself nothing does. Nobody pins the jars of the folder: their code runs with the
user's rights.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.install import DRIVER
from groupcheck.oracles.kafka.pins import Digests, digest
from groupcheck.oracles.kafka.versions import VERSIONS, known, number, older_than_known
from groupcheck.oracles.processes.supervisor import temporary_folder
from groupcheck.oracles.show import build_types, terminal

# Where jars are, below the folder that was given; the first place with any is taken.
PLACES = (("*.jar",), ("libs/*.jar",), ("*/build/libs/*.jar", "*/*/build/libs/*.jar"))
THIRD_PARTY = "core/build/dependant-libs-*/*.jar"  # what `./gradlew jar` copies there
WITHOUT_CODE = re.compile(r"-(test|tests|test-fixtures|sources|javadoc|scaladoc)\.jar$")
ARTIFACT = re.compile(r"(.+?)-\d")
# What the driver needs: the name of a jar without its version -> the Gradle project that makes it.
PROJECTS = {
    "kafka-clients": ":clients",
    "kafka-group-coordinator": ":group-coordinator",
    "kafka-group-coordinator-api": ":group-coordinator:group-coordinator-api",
    "kafka-coordinator-common": ":coordinator-common",
    "kafka-server-common": ":server-common",
    "kafka-metadata": ":metadata",
    "kafka-storage": ":storage",
    "kafka-storage-api": ":storage:storage-api",
    "kafka-raft": ":raft",
}
# The jar of the clients, by whatever name: it has both, and the first one names the version.
INFO = "kafka/kafka-version.properties"
CONSUMER = "org/apache/kafka/clients/consumer/KafkaConsumer.class"
PLAIN = re.compile(r"[\w.+-]{1,60}", re.ASCII)
# Loggers: the pinned one says nothing, and the coordinator is several times slower with another.
LOGGERS = (
    "org/slf4j/impl/StaticLoggerBinder.class",
    "META-INF/services/org.slf4j.spi.SLF4JServiceProvider",
)
COMPILED_S = 300.0
SHOWN = 3  # errors of javac, for each source of the driver
LAYOUT = (
    "name the libs folder of an unpacked release, or a checkout in which `./gradlew jar` has run"
)


@frozen
class OwnBuild:
    """A build with the driver that was compiled against it."""

    # As the jar of the clients says, such as 4.5.0-SNAPSHOT.
    version: str
    commit: str
    # The release with which it is compared.
    release: str
    # The source of the driver that compiles, named after the first release that it serves.
    shim: str
    # The jars of Kafka itself.
    jars: Digests
    classpath: str

    @property
    def title(self) -> str:
        """The name that tells the build from the release of the same number."""
        return f"build {self.version}"

    def shown(self) -> build_types.Build:
        """The field `build` of a document."""
        return build_types.Build(
            version=self.version,
            commit=self.commit,
            release=self.release,
            driver=self.shim,
            jars=[build_types.Jar(name=name, sha256=one) for name, one in self.jars.items()],
        )

    def summary(self) -> str:
        """One line about it for people."""
        jars = f"{len(self.jars)} jars of Kafka {self.version}, commit {self.commit}"
        return f"{jars}; the driver's source for {served(self.shim)} compiles"


@frozen
class Jar:
    """A jar, and which files it holds."""

    path: Path
    files: frozenset[str]

    @property
    def artifact(self) -> str:
        found = ARTIFACT.match(self.path.name)
        return found[1] if found else self.path.stem

    @property
    def version(self) -> str:
        return self.path.stem.removeprefix(self.artifact).removeprefix("-")

    @property
    def of_kafka(self) -> bool:
        return any(name.startswith("org/apache/kafka/") for name in self.files)


@contextmanager
def own_build(
    folder: Path, release: str | None = None, say: Callable[[str], None] = terminal.say
) -> Iterator[OwnBuild]:
    """The build in a folder, and the driver compiled against it as long as the context lasts.
    `release`: the one with which it is compared, in place of the nearest. Raises `UserError` if the
    jars are not those of a Kafka that the driver knows, or no source of the driver compiles.
    """
    wanted = release and known(release)
    jars = jars_in(folder)
    version, commit = identity(jars, folder)
    missing = missing_in(jars)
    fallback = install.classpath(wanted or nearest(version, VERSIONS), say).split(os.pathsep)
    of_release, *others = fallback  # the driver that is compiled against the release
    others = [path for path in others if not Path(path).name.startswith("kafka-")]
    path = os.pathsep.join([*(str(jar.path) for jar in jars), *others])
    home = Path(of_release).parent.parent
    say(f"compiling the driver against {folder}, whose code it runs with your rights")
    with temporary_folder(".building-", home) as place:
        failures = {}
        for shim in DRIVER.shims:
            classes, failed = compiled(shim, path, place / shim)
            if not failed:
                of_kafka = {jar.path.name: digest(jar.path) for jar in jars if jar.of_kafka}
                yield OwnBuild(
                    version,
                    commit,
                    wanted or nearest(version, releases_of(shim) or VERSIONS),
                    shim,
                    of_kafka,
                    os.pathsep.join([str(classes), path]),
                )
                return
            failures[shim] = failed
    raise _no_source(folder, home, version, missing, failures)


def jars_in(folder: Path) -> list[Jar]:
    """The jars on the class path of a build: those that the driver needs, then others that may hold
    copies of their classes, each sorted by name. Raises `UserError` if there are none, if one
    cannot be read, or if there are two of one part of Kafka.
    """
    where = "--jars"
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise UserError(f"{folder} {what}", where=where, do=LAYOUT)
    home = folder.resolve()
    if os.pathsep in str(home):
        raise UserError(
            f"Java cannot have {os.pathsep!r} in a class path: {home}", where=where, do="move it"
        )
    found = next(filter(None, (_matching(home, patterns) for patterns in PLACES)), [])
    if not found:
        raise UserError(f"there are no jars in {folder}", where=where, do=LAYOUT)
    names = {path.name for path in found}
    found += [path for path in _matching(home, (THIRD_PARTY,)) if path.name not in names]
    jars = [jar for path in found if not (jar := _read(path)).files.intersection(LOGGERS)]
    parts: dict[str, Path] = {}
    for jar in jars:
        other = parts.setdefault(jar.artifact, jar.path) if jar.of_kafka else jar.path
        if other != jar.path:
            raise UserError(
                f"there are two jars of {jar.artifact}: {other} and {jar.path}",
                where=where,
                do="remove the older one",
            )
    versions = {jar.version: jar.path.name for jar in jars if jar.artifact in PROJECTS}
    if len(versions) > 1:
        raise UserError(
            f"these jars are of several versions: {', '.join(versions.values())}",
            where=str(folder),
            do="build all of them anew",
        )
    return sorted(jars, key=lambda jar: jar.artifact not in PROJECTS)


def _matching(home: Path, patterns: Sequence[str]) -> list[Path]:
    found = (path for pattern in patterns for path in home.glob(pattern))
    return sorted(
        (p for p in found if p.is_file() and not WITHOUT_CODE.search(p.name)), key=lambda p: p.name
    )


def _read(path: Path) -> Jar:
    try:
        with zipfile.ZipFile(path) as opened:
            return Jar(path, frozenset(opened.namelist()))
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise UserError(f"it is not a jar: {error}", where=str(path), do="build it anew") from None


def identity(jars: Sequence[Jar], folder: Path) -> tuple[str, str]:
    """The version and the commit that the jar of Kafka's clients names. Raises `UserError` if there
    is no such jar, or if it is of a version before the first one that is known.
    """
    clients = next((jar for jar in jars if {INFO, CONSUMER} <= jar.files), None)
    if clients is None:
        raise UserError(
            f"none of the {len(jars):,} jars in {folder} is that of Kafka's clients (kafka-clients-"
            "VERSION.jar)",
            where="--jars",
            do=LAYOUT,
        )
    with zipfile.ZipFile(clients.path) as opened:
        text = opened.read(INFO)[:1000].decode(errors="replace")
    told = dict(line.strip().partition("=")[::2] for line in text.splitlines())
    version = told.get("version", "")
    if not PLAIN.fullmatch(version) or not number(version):
        raise UserError(
            f"its {INFO} names no version of Kafka", where=str(clients.path), do="build it anew"
        )
    if older_than_known(version):
        raise UserError(
            f"these are jars of Kafka {version}, and the driver knows {VERSIONS[-1]} and later",
            where=str(folder),
            do="take jars of a later version",
        )
    commit = told.get("commitId", "")
    return version, commit if PLAIN.fullmatch(commit) else "unknown"


def missing_in(jars: Sequence[Jar]) -> list[str]:
    """The names of the jars that are not there. Kafka may have merged or renamed some since: so
    this explains a failure, and is none by itself.
    """
    there = {jar.artifact for jar in jars}
    return [name for name in PROJECTS if name not in there]


def nearest(version: str, releases: Sequence[str]) -> str:
    """The newest of these releases (newest first) that is not newer than the build, of which a
    snapshot counts as its release; else the oldest.
    """
    wanted = (*number(version), 0, 0)[:3]
    return next((known for known in releases if number(known) <= wanted), releases[-1])


def releases_of(shim: str) -> tuple[str, ...]:
    """The releases that a source of the driver serves, newest first; none if the source is for one
    that is to come.
    """
    newer = [number(other) for other in DRIVER.shims if number(other) > number(shim)]
    return tuple(
        release
        for release in VERSIONS
        if number(shim) <= number(release) and not any(n <= number(release) for n in newer)
    )


def served(shim: str) -> str:
    """Those releases, in words."""
    newest = next(iter(DRIVER.shims))
    return (
        f"Kafka {shim} and later" if shim == newest else f"Kafka {shim} to {releases_of(shim)[0]}"
    )


def compiled(shim: str, classpath: str, place: Path) -> tuple[Path, str]:
    """The folder with the driver's classes, and what javac said if it failed; else empty. Raises
    `UserError` if javac takes too long.
    """
    DRIVER.sources_for(shim, place)
    classes = place / "classes"
    sources = [str(p.relative_to(place)) for p in sorted((place / "src").rglob("*.java"))]
    _, javac = install.tools(DRIVER)
    try:
        ended = subprocess.run(
            [
                *(javac, "-J-Duser.language=en", "-J-XX:TieredStopAtLevel=1", "-encoding", "UTF-8"),
                *("-proc:none", "-nowarn", "-cp", classpath, "-d", str(classes), *sources),
            ],
            cwd=place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMPILED_S,
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"javac did not end within {COMPILED_S:.0f} s", where="--jars") from None
    return classes, ended.stderr if ended.returncode else ""


def _no_source(
    folder: Path, home: Path, version: str, missing: Sequence[str], failures: Mapping[str, str]
) -> UserError:
    """The message for the case that no source of the driver compiles."""
    if missing:
        tasks = " ".join(f"{PROJECTS[name]}:jar" for name in missing)
        return UserError(
            f"jars of Kafka {version} are missing: {', '.join(f'{m}-*.jar' for m in missing)}",
            where=str(folder),
            do=f"./gradlew {tasks}",
        )
    with tempfile.NamedTemporaryFile(
        "w", dir=home, prefix="javac-", suffix=".log", delete=False
    ) as log:
        log.write("".join(f"{served(shim)}\n\n{said}\n" for shim, said in failures.items()))
    tried = "; ".join(f"that for {served(shim)}: {_first(said)}" for shim, said in failures.items())
    return UserError(
        f"no source of the driver compiles against these jars of Kafka {version}: {tried}",
        where=log.name,
        do="add a source for them to oracles/kafka/driver/shims, see docs/howto/trunk.md",
    )


def _first(said: str) -> str:
    """The first errors of javac on one line, each with the name that it does not know."""
    errors = re.findall(
        r"^(?:\S*/)?(\S+: error: .*)((?:\n(?!\S+: error: ).*)*)", said, re.MULTILINE
    )
    short = []
    for error, rest in errors[:SHOWN]:
        symbol = re.search(r"^ *symbol: +(.*)", rest, re.MULTILINE)
        short.append(f"{error[:200]}{f' ({symbol[1][:200]})' if symbol else ''}")
    return ", ".join(short) or said.strip().partition("\n")[0][:200] or "javac said nothing"
