"""The member's rows and schedules in words."""

from __future__ import annotations

from typing import Any

import attrs

from groupcheck.model.protocol.classic.client import NOTHING, Client
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.messages import NO_ID, JoinGroup, SyncGroup
from groupcheck.oracles.conform.member import changing_shown
from groupcheck.oracles.conform.member.changing import ChangingRow
from groupcheck.oracles.conform.member.commit_styles import StyleRow
from groupcheck.oracles.conform.member.member_memory import During, Failure, Input, Memory
from groupcheck.oracles.conform.member.moves import name_of
from groupcheck.oracles.conform.member.tour import AnyRow, Difference
from groupcheck.oracles.kafka.client import Look, Thrown
from groupcheck.oracles.kafka.client_commands import Command, as_json
from groupcheck.oracles.kafka.schedule import LostSchedule
from groupcheck.oracles.printable import printable

FIELDS = attrs.fields(Client)


def kind_of(row: AnyRow) -> str:
    """`SyncGroup` for an answer to a SyncGroup, else what happens."""
    if isinstance(row, ChangingRow):
        return changing_shown.kind_of(row)
    if isinstance(row, StyleRow):
        return row.kind
    given = row.given
    if given.does is not None:
        during = given.during != During.NOTHING
        return given.does.value + (f", callbacks: {given.during.value}" if during else "")
    return type(row.before.flight[0].request).__name__


def row_shown(row: AnyRow) -> tuple[str, str]:
    """The event, and the member's memory before it, each in a line."""
    if isinstance(row, ChangingRow):
        return changing_shown.row_shown(row)
    if isinstance(row, StyleRow):
        return row.given, memory_shown(row.before)
    return input_shown(row.before, row.given), memory_shown(row.before)


def input_shown(m: Memory, given: Input) -> str:
    """`JoinGroup is answered 0: generation 1, id c-0`."""
    if given.during != During.NOTHING:
        asks = given.during in (During.COMMITS, During.BEATS)
        answer = f", answered {given.code}" if asks else ""
        return f"{given.does}; its callbacks: {given.during}{answer}"
    if given.does is not None:
        return given.does.value + (f": {given.offset}" if given.offset else "")
    request = m.flight[0].request
    words = f"{type(request).__name__} is answered {given.code}"
    if isinstance(request, JoinGroup) and given.id != NO_ID:
        told = [f"id {name_of(given.id)}"]
        if given.code == NONE:
            told = [f"generation {given.generation}", *told]
        return f"{words}: {', '.join(told)}" + (", it leads" if given.leads else "")
    if isinstance(request, SyncGroup) and given.code == NONE:
        shares = [f"p{p}" for p in range(30) if given.share >> p & 1]
        return f"{words}: {', '.join(shares) or 'no partition'}"
    return words


def memory_shown(m: Memory) -> str:
    """The member in one line, without what has its default."""
    words = [
        f"{f.name} {getattr(m.client, f.name)!s}"
        for f in FIELDS
        if getattr(m.client, f.name) != f.default and f.name != "state"
        if not (f.name == "granted" and m.client.granted == NOTHING)
    ]
    flight = ", ".join(repr(s.request) + (" (awaited)" if s.awaited else "") for s in m.flight)
    extra = [
        *([] if m.known else ["does not know its coordinator"]),
        *([] if m.failed == Failure.NOTHING else [f"{m.failed.value} has failed"]),
        *(["paused"] if m.paused else []),
        *(["fenced"] if m.fenced else []),
        *([f"in flight {flight}"] if flight else []),
    ]
    return ", ".join([str(m.client.state), *words, *extra])


def transcript(d: Difference) -> list[str]:
    """The schedule to the row, a line for each command, and the looks at the row."""
    probe = d.row.probe
    led = [f"{k:3}  {client_command_text(c)}" for k, c in enumerate(probe.standing.commands, 1)]
    if isinstance(d.seen, LostSchedule):
        return [
            *led,
            *(f"   > {client_command_text(c)}" for c in probe.row),
            printable(d.seen.reason),
        ]
    out = [*led, f"     = {look_shown(d.seen.before)}"]
    for k, (command, look, thrown) in enumerate(d.seen.steps, len(led) + 1):
        out += [
            f"{k:3}  {client_command_text(command)}{_thrown(thrown)}",
            f"     = {look_shown(look)}",
        ]
    return out


def _thrown(thrown: Thrown | None) -> str:
    return f"  -> throws {thrown.type}" if thrown else ""


def client_command_text(command: Command) -> str:
    """`answer JoinGroup errorCode=25`."""
    fields: dict[str, Any] = as_json(command)
    name = fields.pop("op")
    data = fields.pop("data", {})
    api = fields.pop("api", "")
    words = [f"{key}={value}" for key, value in (fields | data).items()]
    return " ".join(filter(None, [name, api, *words]))


def look_shown(look: Look) -> str:
    """The real member in one line."""
    sent = " ".join(s.api for s in look.sent)
    calls = " ".join(
        c.call + "".join(f" {t}-{p}" for t, p in sorted(c.partitions)) for c in look.calls
    )
    owned = " ".join(f"{t}-{p}" for t, p in sorted(look.owned))
    words = [
        f"{look.state}, generation {look.generation}, id {look.member or 'none'}",
        *(["rejoins"] if look.rejoin else []),
        *(["prepares"] if look.prepare else []),
        *([] if look.coordinator else ["does not know its coordinator"]),
        *([f"owns {owned}"] if owned else []),
        *([f"in flight {sent}"] if sent else []),
        *([f"calls {calls}"] if calls else []),
    ]
    return ", ".join(words)
