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
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from groupcheck.traces.clients.errors import errors, names_by_number
from groupcheck.traces.lines.timestamps import from_number, parse_time

SCHEMA = "groupcheck.event/1"
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
    "delivered": (),
    "processing_started": (),
    "processing_ended": (),
}
"""Events of other names, with the statements that they always make."""
KINDS: Mapping[str, tuple[str, ...]] = {**{name: (name,) for name in SAME}, **OWN}
NEEDED: Mapping[str, tuple[str, ...]] = {
    "error": ("error",),
    "settings": ("settings",),
    "delivered": ("partition", "offset"),
}
"""Event -> the fields that it must have."""
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
    "an object of whole numbers": lambda v: (
        isinstance(v, dict) and all(_CHECKS[_WHOLE](x) for x in v.values())
    ),
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
    "last": _WHOLE,
    "offsets": "an object of whole numbers",
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


class BadEvent(ValueError):
    """A line that is not as the schema says; the text says what is wrong."""


@cache
def error_names() -> Mapping[str, str]:
    """However libraries print an error -> its name in the protocol."""
    return {text: name for name, error in errors().items() for text in error.every_text(name)}


def error_name(value: str | int) -> str:
    """The protocol's name of an error; the text itself if it is none of Kafka's."""
    if isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 9:
        value = int(value)
    if isinstance(value, int):
        return names_by_number().get(str(value), str(value))
    return error_names().get(value, value[:MOST_CHARS])


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
    for needed in NEEDED.get(found["event"], ()):
        if needed not in found:
            raise BadEvent(f"an event {found['event']!r} needs the field {needed!r}")
    if "time" in found and event_time(found["time"]) is None:
        raise BadEvent("the field 'time' is no time")
    return found


def event_time(value: str | float) -> int | None:
    """The value of the field `time` in ms since 1970; None if it is no time."""
    if isinstance(value, str):
        return parse_time(value[:100])
    return from_number(float(value)) if abs(value) < 1e20 else None


def statement_fields(event: Mapping[str, Any]) -> dict[str, Any]:
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


def statement_kinds(event: Mapping[str, Any], error: str) -> tuple[str, ...]:
    """The kinds of the statements that an event makes, with those that its error adds: a heartbeat
    that failed with UNKNOWN_MEMBER_ID says that the member is not known.
    """
    known = errors().get(error)
    if known is None:
        return KINDS[event["event"]] or (("detail",) if event["event"] == "error" else ())
    said = tuple(known.turns.get(kind, kind) for kind in KINDS[event["event"]])
    if not known.kind or event["event"] in QUIET:
        return said or ("detail",)
    return tuple(dict.fromkeys((*said, known.kind)))
