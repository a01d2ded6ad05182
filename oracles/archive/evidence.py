"""Parsed lines as rows of the table `events`."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from operator import attrgetter
from typing import Any

import attrs
from attrs import frozen

from groupcheck.traces.exchanges.exchange import Exchange
from groupcheck.traces.story.events import Event

TEXT_CHARS = 500
_OWN = {
    "line",
    "time",
    "broker",
    "group",
    "member",
    "generation",
    "code",
    "api",
    "answered",
    "size",
}
_MEMBERS = ("member", "leader", "old")
"""Where an event names the member that it is about."""
_NOTHING = "__class__"
"""Asked for where an event has no such field."""


@frozen
class _Shape:
    """How to get all that one kind of event says at once."""

    # Event -> its member, its generation, and then the value of each of `names`.
    values: Callable[[Any], tuple[Any, ...]]
    # Its other fields, and their defaults.
    names: tuple[str, ...]
    defaults: tuple[Any, ...]


@cache
def _shape(kind: Any) -> _Shape:
    fields = {f.name: f.default for f in attrs.fields(kind)}
    member = next((name for name in _MEMBERS if name in fields), None)
    names = tuple(name for name in fields if name not in _OWN and name != member)
    wanted = (member or _NOTHING, "generation" if "generation" in fields else _NOTHING, *names)
    return _Shape(attrgetter(*wanted), names, tuple(fields[name] for name in names))


def event_row(event: Event | Exchange, text: str, path: str) -> tuple[Any, ...]:
    """One line's row, in the order of the columns; its time as milliseconds, which is quicker than
    a date.
    """
    kind: Any = type(event)
    shape = _shape(kind)
    member, generation, *values = shape.values(event)
    if values == [*shape.defaults]:
        told = None
    else:
        told = _JSON(
            {
                name: v
                for name, v, default in zip(shape.names, values, shape.defaults)
                if v != default
            }
        )
    member = member if isinstance(member, str) and member else None
    generation = generation if isinstance(generation, int) else None
    if isinstance(event, Exchange):
        return (
            path,
            event.group,
            None,
            event.line,
            event.answered,
            event.api,
            member,
            generation,
            event.code,
            told,
            None,
        )
    return (
        path,
        event.group,
        event.broker,
        event.line,
        event.time,
        kind.__name__,
        member,
        generation,
        None,
        told,
        text[:TEXT_CHARS],
    )


def modified(ns: int) -> datetime | None:
    """When a file was written, in UTC and whole milliseconds; None beyond the calendar's years."""
    try:
        return datetime(1970, 1, 1) + timedelta(milliseconds=ns // 1_000_000)
    except OverflowError:
        return None


def _plain(value: Any) -> Any:
    """A plain form for values that JSON does not know: bytes as base64, attrs values field by
    field.
    """
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if attrs.has(type(value)):
        return attrs.asdict(value, recurse=False)
    return str(value) if not isinstance(value, set | frozenset) else sorted(value)


_JSON = json.JSONEncoder(default=_plain).encode
