"""Reads a log for statements about groups: those of clients, and those of brokers."""

from __future__ import annotations

from attrs import evolve, frozen

from groupcheck.model.engine.verdict import UNKNOWN
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.log import ClientLog
from groupcheck.traces.clients.who import BROKER, JAVA
from groupcheck.traces.reading import Notes, Source
from groupcheck.traces.report import FileReport

FORMATS = {JAVA: "java-client"}
"""The name of a library's format, where it is not that of the library."""
NOT_JUDGED = "lines of clients are not judged against the model; see the causes"


@frozen
class Heard:
    """The statements of one log."""

    evidence: Evidence
    # The report about its clients; None if no line is of a client.
    report: FileReport | None


def heard(source: Source, group: str | None, without: tuple[bytes, ...]) -> Heard:
    """What the lines of a log say. `group`: only about this one; `without`: marks of lines that
    only another parser understands.
    """
    notes, log, evidence = Notes(), ClientLog(), Evidence()
    broker = 0
    for said in log.statements(source.lines(notes, without=without)):
        broker += said.library == BROKER
        if group is None or said.group in ("", group):
            evidence.add(evolve(said, log=source.name))
    clients = [name for name, _ in log.libraries.most_common() if name != BROKER]
    understood = log.understood - broker
    if not clients and understood <= 0:
        return Heard(evidence, None)
    name = clients[0] if clients else "client"
    return Heard(
        evidence,
        FileReport(
            path=source.name,
            format=FORMATS.get(name, name),
            verdict=UNKNOWN,
            reason=NOT_JUDGED,
            lines=notes.lines,
            understood=understood,
            foreign=notes.lines - understood - log.strange,
            strange=log.strange,
            samples=tuple(log.samples),
            files=tuple(notes.parts),
        ),
    )
