"""A broker for as long as it is needed. It starts faster from the second time on, and ends with
everything that was started beside it.

A broker spends most of its start on loading classes. The first use of a version stores them in an
archive of the Java machine (dynamic class data sharing, JEP 350), beside the jars in the cache. A
Java that cannot use the archive starts as it would without it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.processes.supervisor import temporary_folder
from groupcheck.oracles.record.broker import RECORDER, Broker
from groupcheck.oracles.record.processes import Interrupts, Processes

ARCHIVING_S = 120.0
Say = Callable[[str], None]


@frozen
class Running:
    broker: Broker
    # Everything that was started for it.
    processes: Processes
    # Its folder.
    place: Path


@contextmanager
def running(
    version: str, settings: Mapping[str, str], say: Say, proxy_port: int | None = None
) -> Iterator[Running]:
    """A broker of that Kafka version, with a listener behind a proxy if there is one. Raises
    `UserError` if it does not start.
    """
    with (
        Interrupts() as interrupts,
        temporary_folder("groupcheck-broker-") as place,
        Processes(interrupts) as processes,
    ):
        install.java(RECORDER)
        install.classpath(version, say, RECORDER)
        options = sharing(version, processes, say)
        began = time.monotonic()
        broker = Broker(place, version, settings, processes, say, options, proxy_port)
        say(f"starting a broker of Kafka {version}")
        broker.start()
        say(f"it serves on {broker.address} after {time.monotonic() - began:.1f} s")
        yield Running(broker, processes, place)


def sharing(version: str, processes: Processes, say: Say) -> tuple[str, ...]:
    """The option with which Java takes the classes from the archive, which is created now if it
    does not exist. Empty if it cannot be created.
    """
    home = install.folder(version, RECORDER)
    archive = home / f"classes-{_machine()}.jsa"
    if not archive.exists():
        with install.locked(home, RECORDER):
            if not archive.exists():
                say("keeping the broker's classes for quicker starts (first use only, some 10 s)")
                _keep(version, archive, processes)
    return (f"-XX:SharedArchiveFile={archive}",) if archive.stat().st_size else ()


def _machine() -> str:
    """A name for the Java machine, because an archive belongs to one."""
    java = Path(install.java(RECORDER)).resolve()
    about = java.stat()
    return hashlib.sha256(f"{java} {about.st_size} {about.st_mtime_ns}".encode()).hexdigest()[:12]


def _keep(version: str, archive: Path, processes: Processes) -> None:
    """Runs a broker once and has Java store the classes that it loads. An empty file says that this
    Java cannot.
    """
    with temporary_folder(".keeping-", archive.parent) as place:
        written = place / "classes.jsa"
        try:
            broker = Broker(
                place,
                version,
                {},
                processes,
                lambda message: None,
                (f"-XX:ArchiveClassesAtExit={written}",),
            )
            broker.start()
            for words in (("topic", "t", 1), ("feed", "t"), ("group", "g")):
                broker.ask(*words)
            broker.leave(ARCHIVING_S)
        except UserError:  # without this option it may start all the same
            processes.end_all()
        if not written.is_file():
            written.write_bytes(b"")
        written.replace(archive)
