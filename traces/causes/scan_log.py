"""Reads a log for statements about groups: those of clients, and those of brokers."""

from __future__ import annotations

from groupcheck.model.engine.verdict import UNKNOWN
from groupcheck.traces.causes.evidence import NO_GROUP, Evidence
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import BROKER, JAVA
from groupcheck.traces.findings.report import FileReport
from groupcheck.traces.reading import Notes, Source

FORMATS = {JAVA: "java-client"}
"""The name of a library's format, where it is not that of the library."""
NOT_JUDGED = "no line of a broker to judge"


def scan_log(
    source: Source, evidence: Evidence, group: str | None, without: tuple[bytes, ...]
) -> FileReport | None:
    """Adds what the lines of a log say to `evidence`, and reports about its clients; None if no
    line is of a client: what loggers that brokers and clients share print in a broker's log is the
    broker's. `group`: only about this one; `without`: marks of lines that only another
    parser understands.
    """
    notes, log, brokers, last = Notes(), ClientLog(name=source.name), 0, 0
    for said in log.statements(source.lines(notes, without=without)):
        if said.library == BROKER and said.line != last:
            brokers, last = brokers + 1, said.line
        if group is None or said.group in ("", group):
            evidence.add(said)
    if evidence.groups.keys() == {NO_GROUP} and len(log.unsaid) == 1 and group is None:
        ((name, line),) = log.unsaid.items()  # who says all that is known has this name
        evidence.add(Statement(kind="detail", line=line, text="", log=source.name, group=name))
    evidence.stories.not_understood[source.name] = log.strange_last
    clients = [name for name, _ in log.libraries.most_common() if name != BROKER]
    understood = log.understood - brokers
    if (not clients and not understood) or (log.brokers_own and not log.named):
        return None
    name = clients[0] if clients else "client"
    return FileReport(
        path=source.name,
        format=FORMATS.get(name, name),
        verdict=UNKNOWN,
        reason=NOT_JUDGED,
        lines=notes.lines,
        understood=understood,
        foreign=notes.lines - understood - log.strange,
        strange=log.strange,
        samples=tuple(log.samples),
        notes=source.notes,
        files=tuple(notes.parts),
    )
