"""Logs of groupcheck's own events: statements about members, and their calls of poll()."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import Factory, define, evolve

from groupcheck.model.engine.verdict import UNKNOWN
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.statement import TEXT_CHARS, Statement
from groupcheck.traces.event_lines.event import (
    MOST_CHARS,
    BadEvent,
    event_of,
    event_time,
    statement_fields,
    statement_kinds,
)
from groupcheck.traces.findings.report import FileReport
from groupcheck.traces.formats import EVENTS
from groupcheck.traces.reading import SAMPLE_CHARS, SAMPLES, Notes, Source

NEEDLES = (b"groupcheck.event/",)
NOT_JUDGED = "events of clients are not judged against the model"
MOST_MEMBERS = 10_000
POLL_LIMIT = "max.poll.interval.ms"


@define
class Poller:
    """When a member calls poll() and handles records."""

    limit: int | None = None
    # What the application does since when: the event that began it, and its name.
    busy: Statement | None = None
    doing: str = ""
    polls: int = 0
    # The library said itself that poll() was late.
    reported: bool = False


@define
class EventLog:
    """The statements of one log of events, and how its lines were understood."""

    name: str = ""
    understood: int = 0
    strange: int = 0
    # (number, text) of the first lines that are no events, with what is wrong.
    samples: list[tuple[int, str]] = Factory(list)
    _pollers: dict[tuple[str, str], Poller] = Factory(dict)
    _last: int | None = None

    def statements(self, lines: Iterable[tuple[int, str]]) -> Iterator[Statement]:
        """The statements of lines, as (number, text)."""
        for number, line in lines:
            try:
                event = event_of(line)
            except BadEvent as e:
                self.strange += 1
                if len(self.samples) < SAMPLES:
                    self.samples.append((number, f"{e}: {line.strip()}"[:SAMPLE_CHARS]))
                continue
            self.understood += 1
            yield from self._event(number, line, event)
        for poller in self._pollers.values():
            yield from self._late(poller, self._last)

    def _event(self, number: int, line: str, event: Mapping[str, Any]) -> Iterator[Statement]:
        fields = statement_fields(event)
        time = event_time(event["time"]) if "time" in event else None
        said = Statement(
            kind="detail",
            line=number,
            text=line.strip()[:TEXT_CHARS],
            time=time,
            library=event.get("library", "")[:MOST_CHARS],
            log=self.name,
            process=event.get("process", "")[:MOST_CHARS],
            group=event.get("group", "")[:MOST_CHARS],
            client=event.get("client", "")[:MOST_CHARS],
            member=event.get("member", "")[:MOST_CHARS],
            instance=event.get("instance", "")[:MOST_CHARS],
            fields=fields,
        )
        self._last = time if time is not None else self._last
        yield from self._polls(event["event"], said)
        for kind in statement_kinds(event, str(fields.get("error", ""))):
            yield evolve(said, kind=kind)

    def _polls(self, event: str, said: Statement) -> Iterator[Statement]:
        """Follows the calls of poll(). What takes longer than the limit that the client printed is
        a poll that timed out, even if the library says nothing of it.
        """
        key = (said.group, said.who)
        poller = self._pollers.get(key)
        if poller is None:
            if len(self._pollers) >= MOST_MEMBERS:
                return
            poller = self._pollers[key] = Poller()
        limit = said.fields.get(f"setting_{POLL_LIMIT.replace('.', '__')}")
        if isinstance(limit, int):
            poller.limit = limit
        if event == "poll_expired":
            poller.reported = True
        elif event in ("poll", "processing_started", "processing_ended", "closed", "left"):
            yield from self._late(poller, said.time)
            poller.busy = None if event in ("closed", "left") else said
            poller.doing, poller.reported = event, False
            poller.polls += event == "poll"

    def _late(self, poller: Poller, now: int | None) -> Iterator[Statement]:
        """A poll that has not come in time by `now`."""
        since, limit = poller.busy, poller.limit
        if since is None or since.time is None or now is None or limit is None or poller.reported:
            return
        if poller.doing != "processing_started" and poller.polls < 2:
            return  # the application does not report its calls of poll()
        held = now - since.time
        if limit < held:
            at = since.time + limit
            yield evolve(
                since, kind="poll_expired", time=at, fields={"limit": limit, "excess": held - limit}
            )


def hear_events(source: Source, evidence: Evidence, group: str | None) -> FileReport | None:
    """Adds the statements of a log of events to `evidence`, and reports about them; None if it has
    none. `group`: only about this one.
    """
    notes, log = Notes(), EventLog(source.name)
    for said in log.statements(source.lines(notes, NEEDLES)):
        if group is None or said.group in ("", group):
            evidence.add(said)
    if not log.understood and not log.strange:
        return None
    return FileReport(
        path=source.name,
        format=EVENTS,
        verdict=UNKNOWN,
        reason=NOT_JUDGED,
        lines=notes.lines,
        understood=log.understood,
        foreign=notes.lines - log.understood - log.strange,
        strange=log.strange,
        samples=tuple(log.samples),
        files=tuple(notes.parts),
    )
