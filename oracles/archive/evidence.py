"""Parsed lines as rows of the table `events`."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import attrs

from groupcheck.oracles.archive.rows import Row
from groupcheck.traces.events import Event
from groupcheck.traces.exchanges import Exchange

TEXT_CHARS = 500
_OWN = {"line", "time", "broker", "group", "member", "generation", "code", "api", "answered", "size"}
_START = datetime(1970, 1, 1)
_MEMBERS = ("member", "leader", "old")
"""Where an event names the member that it is about."""


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any], ...]:
    """(name, default) of what goes into `detail`."""
    return tuple((f.name, f.default) for f in attrs.fields(kind) if f.name not in _OWN)


@cache
def _member_field(kind: Any) -> str | None:
    names = {f.name for f in attrs.fields(kind)}
    return next((name for name in _MEMBERS if name in names), None)


def event_row(event: Event | Exchange, text: str, path: str) -> Row:
    """One line's row."""
    kind: Any = type(event)
    field = _member_field(kind)
    row: Row = {"file": path, "group": event.group, "line": event.line, "generation": getattr(event, "generation", None)}
    row["member"] = (getattr(event, field) or None) if field else None
    detail = {name: value for name, default in _fields(kind) if (value := getattr(event, name)) != default}
    row["detail"] = json.dumps(detail, default=_plain, ensure_ascii=False) if detail else None
    if isinstance(event, Exchange):
        row |= {"coordinator": None, "time": _time(event.answered), "kind": event.api, "code": event.code, "text": None}
    else:
        row |= {"coordinator": event.broker, "time": _time(event.time), "kind": kind.__name__, "code": None, "text": text[:TEXT_CHARS]}
    return row


def _time(ms: int | None) -> datetime | None:
    try:
        return None if ms is None else _START + timedelta(milliseconds=ms)
    except OverflowError:
        return None


def modified(ns: int) -> datetime | None:
    """When a file was written, in UTC and whole milliseconds; None for years that no calendar has."""
    return _time(ns // 1_000_000)


def _plain(value: Any) -> Any:
    """What JSON does not know: bytes as base64, attrs values field by field."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if attrs.has(type(value)):
        return attrs.asdict(value, recurse=False)
    return str(value) if not isinstance(value, set | frozenset) else sorted(value)
