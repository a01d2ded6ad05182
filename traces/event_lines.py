"""groupcheck's own format of events, for clients whose logs groupcheck does not read: one JSON
object a line. The JSON Schema `event.json` (groupcheck.event/1) says what each field means.

    {"schema": "groupcheck.event/1", "time": "2026-11-23T10:00:00Z", "group": "orders",
     "client": "c-1", "event": "joined", "generation": 5}

Each event is a statement of the vocabulary that all libraries share (sentences/kinds.toml), so that
it leads to the same causes as the sentence of a library. A line that is not as the schema says is
counted and shown with what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from attrs import Factory, define, evolve

from groupcheck.model.engine.verdict import UNKNOWN
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.errors import errors, names_by_number
from groupcheck.traces.clients.said import TEXT_CHARS, Said
from groupcheck.traces.formats import EVENTS
from groupcheck.traces.reading import SAMPLE_CHARS, SAMPLES, Notes, Source
from groupcheck.traces.report import FileReport
from groupcheck.traces.timestamps import from_number, parse_time

SCHEMA = "groupcheck.event/1"
NEEDLES = (b"groupcheck.event/",)
NOT_JUDGED = "events of clients are not judged against the model; see the causes"
MOST_MEMBERS = 10_000
MOST_PARTITIONS = 10_000
MOST_CHARS = 2_000
"""Of a text in an event."""

SAME = """
started subscribed joining rejoin_requested id_given joined leading synced assigned revoked lost
rebalancing left closed heartbeat poll_expired poll_resumed session_timed_out generation_reset
join_failed sync_failed heartbeat_failed commit_failed commit_refused request_sent request_answered
request_retried request_timed_out coordinator_query coordinator_found coordinator_lost
coordinator_unavailable coordinator_loading disconnected fatal offset_found offset_missing
offset_reset offset_out_of_range callback_failed handler_slow handler_failed handler_retries
assign_misused subscription_changed partitions_changed topic_unknown setting_refused
""".split()
"""Events with the name of the statement that they make."""
OWN = {
    "commit": ("committed",),
    "settings": ("setting",),
    "coordinator_changed": ("coordinator_lost", "coordinator_found"),
    "error": (),
    "poll": (),
    "processing_started": (),
    "processing_ended": (),
}
"""Events of other names, with the statements that they always make."""
KINDS: Mapping[str, tuple[str, ...]] = {**{name: (name,) for name in SAME}, **OWN}

_TEXT, _NUMBER, _WHOLE, _FLAG = "a string", "a number", "a whole number", "true or false"
_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    _TEXT: lambda v: isinstance(v, str),
    _NUMBER: lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    _WHOLE: lambda v: isinstance(v, int) and not isinstance(v, bool) and abs(v) < 1 << 63,
    _FLAG: lambda v: isinstance(v, bool),
    "a string or a number": lambda v: isinstance(v, str | int | float) and not isinstance(v, bool),
    "a string or a whole number": lambda v: isinstance(v, str | int) and not isinstance(v, bool),
    "an array of strings": lambda v: isinstance(v, list) and all(isinstance(x, str) for x in v),
    "an object": lambda v: isinstance(v, dict),
}
FIELDS = {
    "schema": _TEXT,
    "event": _TEXT,
    "time": "a string or a number",
    "group": _TEXT,
    "member": _TEXT,
    "client": _TEXT,
    "instance": _TEXT,
    "process": _TEXT,
    "library": _TEXT,
    "generation": _WHOLE,
    "partitions": "an array of strings",
    "whole": _FLAG,
    "partition": _TEXT,
    "offset": _WHOLE,
    "topic": _TEXT,
    "before": _WHOLE,
    "now": _WHOLE,
    "error": "a string or a whole number",
    "reason": _TEXT,
    "api": _TEXT,
    "version": _TEXT,
    "coordinator": _WHOLE,
    "limit_ms": _WHOLE,
    "excess_ms": _WHOLE,
    "delay_ms": _WHOLE,
    "duration_ms": _WHOLE,
    "settings": "an object",
    "extra": "an object",
}
"""Every field of an event, and what its value has to be."""
QUIET = {"rejoin_requested", "request_answered", "request_sent"}
"""Events whose error, if they have one, is told again by another event."""
_RENAMED = {"limit_ms": "limit", "excess_ms": "excess", "delay_ms": "delay", "now": "topics",
            "coordinator": "broker"}  # fmt: skip
_PLAIN = ("generation", "whole", "partition", "offset", "topic", "before", "reason", "api",
          "version")  # fmt: skip
POLL_LIMIT = "max.poll.interval.ms"


class BadEvent(ValueError):
    """A line that is not as the schema says; the text says what is wrong."""


@cache
def _error_names() -> Mapping[str, str]:
    """However libraries print an error -> its name in the protocol."""
    return {text: name for name, error in errors().items() for text in error.printed(name)}


def error_name(value: str | int) -> str:
    """The protocol's name of an error; the text itself if it is none of Kafka's."""
    if isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 9:
        value = int(value)
    if isinstance(value, int):
        return names_by_number().get(str(value), str(value))
    return _error_names().get(value, value[:MOST_CHARS])


def event_of(line: str) -> dict[str, Any]:
    """The event in a line, whatever stands around it. Raises `BadEvent`."""
    try:
        found, _ = json.JSONDecoder().raw_decode(line, line.index("{"))
    except (ValueError, RecursionError):
        raise BadEvent("is no JSON object") from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise BadEvent(f"its schema is not {SCHEMA}")
    for name, value in found.items():
        wanted = FIELDS.get(name)
        if wanted is None:
            raise BadEvent(f"there is no field {name[:60]!r} (fields of your own go into `extra`)")
        if not _CHECKS[wanted](value):
            raise BadEvent(f"the field {name!r} is not {wanted}")
    if found.get("event") not in KINDS:
        raise BadEvent(f"there is no event {str(found.get('event'))[:60]!r}")
    needed = {"error": "error", "settings": "settings"}.get(found["event"])
    if needed and needed not in found:
        raise BadEvent(f"an event {found['event']!r} needs the field {needed!r}")
    if "time" in found and _time(found["time"]) is None:
        raise BadEvent("the field 'time' is no time")
    return found


def _time(value: str | float) -> int | None:
    if isinstance(value, str):
        return parse_time(value[:100])
    return from_number(float(value)) if abs(value) < 1e20 else None


def _fields(event: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the statements that an event makes."""
    out = {name: event[name] for name in _PLAIN if name in event}
    out |= {to: event[name] for name, to in _RENAMED.items() if name in event}
    if "partitions" in event:
        out["partitions"] = ", ".join(event["partitions"][:MOST_PARTITIONS])
    if "duration_ms" in event:
        out["rtt" if event["event"] == "request_answered" else "duration"] = event["duration_ms"]
    if "error" in event:
        out["error"] = error_name(event["error"])
    for name, value in event.get("settings", {}).items():
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            number = isinstance(value, str) and value.isdecimal() and len(value) < 19
            out[f"setting_{name[:200].replace('.', '__')}"] = int(value) if number else value
    return {k: v[:MOST_CHARS] if isinstance(v, str) and k != "partitions" else v
            for k, v in out.items()}  # fmt: skip


def _kinds(event: Mapping[str, Any], error: str) -> tuple[str, ...]:
    """What an event says, and what its error says besides: a heartbeat that failed with
    UNKNOWN_MEMBER_ID says that the member is not known.
    """
    known = errors().get(error)
    if known is None:
        return KINDS[event["event"]] or (("detail",) if event["event"] == "error" else ())
    said = tuple(known.turns.get(kind, kind) for kind in KINDS[event["event"]])
    if not known.kind or event["event"] in QUIET:
        return said or ("detail",)
    return tuple(dict.fromkeys((*said, known.kind)))


@define
class Poller:
    """When a member calls poll() and handles records."""

    limit: int | None = None
    # What the application does since when: the event that began it, and its name.
    busy: Said | None = None
    doing: str = ""
    polls: int = 0
    # The library said itself that poll() was late.
    told: bool = False


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

    def statements(self, lines: Iterable[tuple[int, str]]) -> Iterator[Said]:
        """What the lines, as (number, text), say."""
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

    def _event(self, number: int, line: str, event: Mapping[str, Any]) -> Iterator[Said]:
        fields = _fields(event)
        time = _time(event["time"]) if "time" in event else None
        said = Said(
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
        for kind in _kinds(event, str(fields.get("error", ""))):
            yield evolve(said, kind=kind)

    def _polls(self, event: str, said: Said) -> Iterator[Said]:
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
            poller.told = True
        elif event in ("poll", "processing_started", "processing_ended", "closed", "left"):
            yield from self._late(poller, said.time)
            poller.busy = None if event in ("closed", "left") else said
            poller.doing, poller.told = event, False
            poller.polls += event == "poll"

    def _late(self, poller: Poller, now: int | None) -> Iterator[Said]:
        """A poll that has not come in time by `now`."""
        since, limit = poller.busy, poller.limit
        if since is None or since.time is None or now is None or limit is None or poller.told:
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
    """Adds what the events of a log say to `evidence`, and reports about them; None if it has none.
    `group`: only about this one.
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
