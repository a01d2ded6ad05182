"""Takes off what shippers wrap around a program's own line: JSON records, container and journal
prefixes, colours.

Nothing is assumed about the user's log pattern: the coordinator's own marker (`[GroupCoordinator
1]: `) is looked for, what stands before it is only searched for a timestamp, and a logger in
parentheses at the end is cut off.
"""

from __future__ import annotations

import json
import re
from typing import Any

from attrs import frozen

from groupcheck.traces.lines.timestamps import from_number, parse_time

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_LOGGER = re.compile(
    r"[ \t]*\((?:"
    r"kafka\.coordinator\.[\w.$]{1,200}(?::\d{1,6})?"
    r"|org\.apache\.kafka\.[\w.$]{1,200}(?::\d{1,6})?"
    r"|Group\w{1,60}"
    r"|\w?(?:\.\w){1,8}\.\w{1,60}"
    r")\)"
    r"(?:[ \t]*\[[^\[\]]{1,200}\])?\Z"
)
_MESSAGE_KEYS = (
    "message",
    "msg",
    "log",
    "MESSAGE",
    "_msg",
    "text",
    "textPayload",
    "line",
    "body",
    "_raw",
)
_TIME_KEYS = (
    "@timestamp",
    "timestamp",
    "time",
    "ts",
    "timeMillis",
    "instant",
    "__REALTIME_TIMESTAMP",
    "_time",
    "datetime",
    "date",
)
_INSIDE_KEYS = ("_source", "event", "jsonPayload", "log", "fields", "result", "record")
_JSON_CAP = 1 << 20


@frozen
class InnerLine:
    """A line without its wrapping."""

    # The program's own line.
    line: str
    # The shipper's timestamp in ms, if there is one.
    time: int | None = None


def unwrap(line: str) -> InnerLine:
    """Takes off a JSON record and colours; any other line is returned as it is."""
    if "\x1b" in line:
        line = _COLOUR.sub("", line)
    at = line.find("{")
    if 0 <= at < 200 and line.rstrip()[-1:] == "}" and len(line) < _JSON_CAP and '"' in line:
        record = _json(line[at:])
        if record is not None:
            inside = _inside(record, 0)
            if inside is not None:
                return inside
    return InnerLine(line)


def _json(text: str) -> dict[str, Any] | None:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _inside(record: dict[str, Any], depth: int) -> InnerLine | None:
    time = _time(record)
    for key in _MESSAGE_KEYS:
        value = record.get(key)
        if isinstance(value, str) and value:
            inner = _json(value) if value.lstrip()[:1] == "{" and depth < 3 else None
            found = _inside(inner, depth + 1) if inner else None
            if found is not None:
                return InnerLine(found.line, found.time if found.time is not None else time)
            return InnerLine(" ".join(value.split("\n")).rstrip(), time)
    if depth < 3:
        for key in _INSIDE_KEYS:
            value = record.get(key)
            if isinstance(value, dict):
                found = _inside(value, depth + 1)
                if found is not None:
                    return InnerLine(found.line, found.time if found.time is not None else time)
    return None


def _time(record: dict[str, Any]) -> int | None:
    for key in _TIME_KEYS:
        value = record.get(key)
        if isinstance(value, dict) and isinstance(value.get("epochSecond"), int):
            nanos = value.get("nanoOfSecond")
            return from_number(
                value["epochSecond"] * 1000 + (nanos // 1_000_000 if isinstance(nanos, int) else 0)
            )
        if isinstance(value, str):
            try:
                return from_number(float(value))
            except ValueError:
                return parse_time(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return from_number(float(value))
    return None


@frozen
class CoordinatorSentence:
    """A line of a coordinator."""

    text: str
    time: int | None
    # The broker whose coordinator wrote it.
    broker: int | None
    # The new coordinator wrote it.
    java: bool
    # The partition of `__consumer_offsets`, if the line names it.
    partition: int | None = None


MARKER = re.compile(
    r"\[GroupCoordinator (?:(?P<scala>\d{1,10})\]: |id=(?P<java>\d{1,10})(?: topic=\S{1,249}"
    r" partition=(?P<partition>\d{1,10}))?\] )"
    r"|\[GroupMetadataManager brokerId=(?P<manager>\d{1,10})\]:? "
    r"|\[Group Metadata Manager on Broker (?P<old>\d{1,10})\]: "
)
_BARE = re.compile(
    r"\b(?P<level>TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b[^A-Za-z\[]{0,20}"
    r"(?P<text>(?:Static member MemberMetadata\(|Loaded member MemberMetadata\(|Group leader"
    r" \[|given member\.id |Static member \S|Request memberId=)"
    r".*)"
)


def coordinator_sentence(line: str) -> CoordinatorSentence | None:
    """The coordinator's sentence in a line, or None if no coordinator wrote it."""
    wrapped = unwrap(line)
    text = wrapped.line
    marker = MARKER.search(text)
    if marker is not None:
        start, before = marker.end(), text[: marker.start()]
        java = marker["java"] is not None
        number = marker["scala"] or marker["java"] or marker["manager"] or marker["old"]
        broker: int | None = int(number)
        partition = int(marker["partition"]) if marker["partition"] else None
    else:
        bare = _BARE.search(text)
        if bare is None:
            return None
        start, before = bare.start("text"), text[: bare.start()]
        java, broker, partition = False, None, None
    said = _cut(text[start:], before)
    time = parse_time(before[-200:])
    return CoordinatorSentence(
        said, wrapped.time if time is None else time, broker, java, partition
    )


def _cut(said: str, before: str) -> str:
    """Cuts off the logger, blanks, and the quote of a CSV column at the end."""
    said = said.rstrip()
    if said[-1:] == '"' and before.count('"') % 2:
        said = said[:-1].replace('""', '"').rstrip()
    logger = _LOGGER.search(said, max(0, len(said) - 500))
    return said[: logger.start()] if logger else said
