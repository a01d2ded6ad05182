"""Statements of clients as groupcheck's own events, and logs of known causes to make them of."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.event_lines.event import SCHEMA, BadEvent, event_of
from groupcheck.traces.lines.timestamps import FIRST_DATED

FOLDER = Path(__file__).parents[1] / "data/causes"
CASES = [
    case
    for file in ("java", "librdkafka", "others")
    for case in tomllib.loads((FOLDER / f"{file}.toml").read_text(encoding="utf-8"))["case"]
]
BACK = {"limit": "limit_ms", "excess": "excess_ms", "delay": "delay_ms", "broker": "coordinator",
        "topics": "now", "rtt": "duration_ms", "duration": "duration_ms"}  # fmt: skip


def line(event: str, **fields: Any) -> str:
    return json.dumps({"schema": SCHEMA, "event": event, **fields})


def as_event(s: Statement) -> str | None:
    """The event that says the same; None if the format has no room for it."""
    name = {"committed": "commit", "setting": "settings"}.get(s.kind, s.kind)
    fields: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for key, value in s.fields.items():
        if key.startswith("setting_"):
            settings[key.removeprefix("setting_").replace("__", ".")] = value
        elif key == "partitions":
            fields[key] = str(value).split(", ")
        elif key == "of":
            continue
        else:
            fields[BACK.get(key, key)] = value
    if settings:
        fields["settings"] = settings
    fields |= {k: v for k in ("group", "client", "member", "instance", "process", "library")
               if (v := getattr(s, k))}  # fmt: skip
    if s.time is not None:
        fields["time"] = s.time if s.time > FIRST_DATED else s.time + FIRST_DATED
    text = line(name, **fields)
    try:
        event_of(text)
    except BadEvent:
        return None
    return text
