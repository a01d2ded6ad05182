"""Parsed lines as rows of the table `events`."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import attrs

from groupcheck.traces.events import Event
from groupcheck.traces.exchanges import Exchange

TEXT_CHARS = 500
_OWN = {"line", "time", "broker", "group", "member", "generation", "code", "api", "answered", "size"}
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


def event_row(event: Event | Exchange, text: str, path: str) -> tuple[Any, ...]:
    """One line's row, in the order of the columns; its time as milliseconds, which is quicker than a date."""
    kind: Any = type(event)
    field = _member_field(kind)
    member = (getattr(event, field) or None) if field else None
    generation = getattr(event, "generation", None)
    detail = {name: value for name, default in _fields(kind) if (value := getattr(event, name)) != default}
    told = _JSON(detail) if detail else None
    if isinstance(event, Exchange):
        return path, event.group, None, event.line, event.answered, event.api, member, generation, event.code, told, None
    return path, event.group, event.broker, event.line, event.time, kind.__name__, member, generation, None, told, text[:TEXT_CHARS]


def modified(ns: int) -> datetime | None:
    """When a file was written, in UTC and whole milliseconds; None for years that no calendar has."""
    try:
        return datetime(1970, 1, 1) + timedelta(milliseconds=ns // 1_000_000)
    except OverflowError:
        return None


def _plain(value: Any) -> Any:
    """What JSON does not know: bytes as base64, attrs values field by field."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if attrs.has(type(value)):
        return attrs.asdict(value, recurse=False)
    return str(value) if not isinstance(value, set | frozenset) else sorted(value)


_JSON = json.JSONEncoder(default=_plain, ensure_ascii=False).encode
