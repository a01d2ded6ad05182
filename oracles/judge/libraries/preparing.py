"""Installs a client library with its adapter, and says how the program is started."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import field, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.installing.installing import installed
from groupcheck.oracles.judge.libraries.catalogue import ADAPTERS, JAVA, Library, libraries
from groupcheck.oracles.kafka import install, versions
from groupcheck.oracles.show import terminal

OLDER = ("3.7.1", "3.4.0", "3.3.1", "3.2.1", "2.8.1", "2.8.0", "2.4.0")
"""Releases of the Java consumer, besides those that are driven, that the adapter is built with."""
CONSUMER = install.Program(
    "the consumer that is judged",
    ADAPTERS / "java",
    "consumer.jar",
    "judge-java",
    versions=(*versions.VERSIONS, *OLDER),
)
# Short lives: the first compiler alone, one collector thread, little memory.
OPTIONS = (
    "-Xmx150m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-Duser.timezone=UTC",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
)


@frozen
class Program:
    """A program under test; `judge/client/events.py` says what it is told and tells."""

    library: Library
    version: str
    command: tuple[str, ...]
    # Variables besides those of the contract.
    environment: Mapping[str, str] = field(factory=dict)


def prepare(asked: str, say: Callable[[str], None] = terminal.say) -> Program:
    """The adapter of a library, NAME or NAME==VERSION; it is installed on first use. Raises
    `UserError` if there is no such library or version, or if it cannot be installed.
    """
    name, _, version = asked.partition("==")
    library = libraries().get(name)
    if library is None:
        raise UserError(
            f"there is no adapter for {name[:60]!r}",
            where="--library",
            do=f"choose one of {', '.join(libraries())}, or judge a program of your own"
            " (`-- COMMAND`)",
        )
    chosen = version if "==" in asked else library.version
    if library.language == JAVA:
        versions.known(chosen, CONSUMER.versions, "--library")
        jars = install.classpath(chosen, say, CONSUMER)
        launch = (*install.launcher(CONSUMER), *OPTIONS, "-cp", jars)
        return Program(library, chosen, (*launch, "groupcheck.judge.Consumer"))
    return Program(library, chosen, installed(library.recipe, chosen, say))
