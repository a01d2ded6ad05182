"""A part of a run as lines: the client's lane and the coordinator's, what repeats folded."""

from __future__ import annotations

from collections.abc import Mapping

from groupcheck.model.protocol.codes import name_of
from groupcheck.oracles.judge.client import events
from groupcheck.oracles.judge.client.events import Delivered
from groupcheck.oracles.judge.client.record import (
    App,
    Asked,
    Closed,
    Ended,
    Event,
    Moved,
    Record,
    Stopping,
    Told,
)
from groupcheck.oracles.judge.client.rules.rule import named
from groupcheck.oracles.judge.report.schedules import Line

CLIENT, APPLICATION = "client", "application"
BEFORE_S = 0.7
# Requests that say nothing about the group.
QUIET = ("ApiVersions", "Metadata", "ListOffsets", "OffsetFetch", "InitProducerId")
MOST_LINES = 60


def transcript(record: Record, begins: float, ends: float) -> tuple[Line, ...]:
    """The lines from shortly before `begins` to `ends` (seconds of the record), at most
    `MOST_LINES`, the last ones. Of heartbeats, fetches and records that the application gets only
    those that differ from the ones before, and the last one.
    """
    asked = {event.number: event for event in record.events if isinstance(event, Asked)}
    some = [event for event in record.events if begins - BEFORE_S <= event.at <= ends]
    lines, before = list[Line](), dict[str, str]()
    for event in some:
        line = _line(event, asked)
        kind = _repeats(event)
        if line is not None and (before.get(kind) != line.text or event is some[-1]):
            lines.append(line)
            if kind:
                before[kind] = line.text
    return tuple(lines[-MOST_LINES:])


def _repeats(event: Event) -> str:
    """A name for what comes again and again; empty for what always tells something."""
    if isinstance(event, Asked) and event.api in ("Fetch", "Heartbeat"):
        return event.api
    if isinstance(event, App) and isinstance(event.said, Delivered):
        return f"records {event.said.partition}"
    return ""


def _line(event: Event, asked: Mapping[int, Asked]) -> Line | None:
    at = f"{event.at:.2f} s"
    if isinstance(event, Asked):
        quiet = event.api in QUIET or (event.api == "Fetch" and not event.offsets)
        return None if quiet else Line("asks", CLIENT, _request(event), event.number)
    if isinstance(event, Told):
        request = asked.get(event.number)
        if request is None or request.api in (*QUIET, "Fetch"):
            return None
        if request.api == "Heartbeat" and not event.error:
            return None
        return Line("answers", CLIENT, _answer(request, event), event.number)
    if isinstance(event, App):
        text = _said(event.said)
        return Line("waits", APPLICATION, f"its application: {text}") if text else None
    if isinstance(event, Moved):
        return Line("waits", "", f"at {at}: {event.words}")
    if isinstance(event, Stopping):
        return Line("waits", "", f"at {at}: it is told to close")
    if isinstance(event, Ended):
        code = "it does not end" if event.code is None else f"it ends with {event.code}"
        return Line("waits", "", f"at {at}: {code}")
    if isinstance(event, Closed) and event.cut:
        return Line("waits", "", f"at {at}: its connection is cut")
    return None


def _request(asked: Asked) -> str:
    parts = [asked.api]
    if asked.api in ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit"):
        parts.append(f"as {asked.member or 'nobody'}")
    if asked.api in ("SyncGroup", "Heartbeat", "OffsetCommit"):
        parts.append(f"generation {asked.generation}")
    if asked.instance and asked.api == "JoinGroup":
        parts.append(f"instance {asked.instance}")
    if asked.offsets:
        many = {f"{topic}-{number}": o for (topic, number), o in sorted(asked.offsets.items())}
        shown = [f"{p} {o}" if asked.api == "OffsetCommit" else p for p, o in many.items()]
        parts.append(", ".join(shown[:6]))
    if asked.plan:
        shares = "; ".join(f"{m}: {named(s or frozenset())}" for m, s in asked.plan.items())
        parts.append(f"plan {shares}"[:200])
    return " ".join(parts)


def _answer(asked: Asked, told: Told) -> str:
    if told.error:
        given = f", id {told.member}" if asked.api == "JoinGroup" and told.error == 79 else ""
        return f"{asked.api} {name_of(told.error)}{given}"
    if asked.api == "JoinGroup":
        return f"JoinGroup, generation {told.generation}" + (", it leads" if told.seats else "")
    if asked.api == "SyncGroup":
        return f"SyncGroup, share {named(told.share)}"
    return asked.api


def _said(said: events.Event) -> str:
    match said:
        case events.Assigned():
            return f"assigned {named(said.partitions)}"
        case events.Revoked():
            return f"revoked {named(said.partitions)}"
        case events.Lost():
            return f"lost {named(said.partitions)}"
        case events.Failed():
            return f"{'fatal error' if said.fatal else 'error'} {said.error[:80]}"
        case events.CommitFailed():
            return f"a commit failed: {said.error[:80]}"
        case Delivered():
            return f"gets records of {named({said.partition})}"
        case events.Closed():
            return "closed"
    return ""
