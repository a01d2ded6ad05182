"""Schedules on the real coordinator as lines that can be read: what it was told, and what it
answered.
"""

from __future__ import annotations

import json
from typing import Any

import attrs

from groupcheck.oracles.kafka.answers import Answer, JoinAnswer, LeaveAnswer, SyncAnswer
from groupcheck.oracles.kafka.commands import Command, Look, ReadLog, encoded
from groupcheck.oracles.kafka.memory import ClassicMemory, Memory
from groupcheck.oracles.kafka.schedule import LostSchedule, Step, Transcript
from groupcheck.oracles.printable import printable


def lines(result: Transcript | LostSchedule) -> list[str]:
    """One line for each command with the answers that it brought, and one for each look at the
    memory.
    """
    if isinstance(result, LostSchedule):
        return [f"{k:3}  {command_text(c)}" for k, c in enumerate(result.schedule.commands, 1)] + [
            printable(str(result))
        ]
    out = []
    for step in result.steps:
        if isinstance(step.command, Look) and step.memory is not None:
            out.append(f"     {seen(step.memory)}")
        elif not isinstance(step.command, ReadLog | Look):
            out.append(_line(step))
    return out


def _line(step: Step) -> str:
    if step.refused:
        return (
            f"{step.number:3}  {command_text(step.command)}  -> refused: {printable(step.refused)}"
        )
    given = [answered(number, answer, number == step.number) for number, answer in step.answered]
    return f"{step.number:3}  {command_text(step.command)}" + (
        f"  -> {'; '.join(given)}" if given else ""
    )


def command_text(command: Command) -> str:
    """`JoinGroup member=m1 ownedGeneration=0`."""
    fields: dict[str, Any] = json.loads(encoded(command))
    name = fields.pop("op")
    return " ".join([name, *(f"{key}={_short(value)}" for key, value in fields.items())])


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def answered(number: int, answer: Answer, own: bool) -> str:
    """`0, generation 1, leader m2`; an answer to an earlier request names it."""
    code = (
        answer.members[0]
        if isinstance(answer, LeaveAnswer) and not answer.error and answer.members
        else answer.error
    )
    words = [str(code)]
    if isinstance(answer, JoinAnswer) and not answer.error:
        words.append(f"generation {answer.generation}, leader {answer.leader}")
        if answer.members:
            words.append("members " + " ".join(sorted(m.member for m in answer.members)))
    if isinstance(answer, JoinAnswer) and answer.error == 79:
        words.append(f"id {answer.member}")
    if isinstance(answer, SyncAnswer) and not answer.error:
        words.append("assigned " + _assigned(answer.assigned))
    return ("" if own else f"request {number}: ") + ", ".join(words)


def _assigned(given: Any) -> str:
    if not isinstance(given, frozenset) or not given:
        return "nothing" if not given else str(given)
    return " ".join(f"{topic}-{number}" for topic, number in sorted(given))


def seen(memory: Memory) -> str:
    """The group in one line: state, generation, leader, members (j, s: its JoinGroup, SyncGroup is
    parked), ids handed out, timers.
    """
    if not isinstance(memory, ClassicMemory):
        return f"= {type(memory).__name__}"
    members = [
        m.member + (" (j)" if m.awaiting_join else " (s)" if m.awaiting_sync else "")
        for m in memory.members
    ]
    timers = [
        t.key
        for t in memory.timers
        if t.key.startswith(("join-", "sync-", "heartbeat-", "append-"))
    ]
    words = [
        f"= {memory.state}, generation {memory.generation}, leader {memory.leader or 'none'}",
        "members " + (" ".join(members) or "none"),
        *(["ids handed out " + " ".join(memory.pending_join)] if memory.pending_join else []),
        *(["owe SyncGroup " + " ".join(memory.pending_sync)] if memory.pending_sync else []),
        "timers " + (" ".join(timers) or "none"),
    ]
    return ", ".join(words)


def model_seen(core: Any, seats: Any) -> str:
    """The model's memory in one line, without what has its default."""
    known = [f"{me}.{id}: {_fields(seat)}" for me, some in enumerate(seats) for id, seat in some]
    return f"{core.phase}, {_fields(core, ('phase', 'keeps'))}" + (
        f"; {'; '.join(known)}" if known else ""
    )


def _fields(value: Any, without: tuple[str, ...] = ()) -> str:
    shown = [
        f"{a.name} {getattr(value, a.name)}"
        for a in attrs.fields(type(value))
        if a.name not in without and (a.name == "generation" or getattr(value, a.name) != a.default)
    ]
    return ", ".join(shown) or "known"
