"""The truth about a recorded scenario: what was done, what each program saw, and the facts that
follow from both and from the request log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from groupcheck.oracles.record import answers, beliefs
from groupcheck.oracles.record.answers import Exchange
from groupcheck.oracles.record.scenario import Scenario
from groupcheck.oracles.record.stage import BEGINS, OVER

Event = Mapping[str, Any]
WIDE = 140


@frozen
class Program:
    """A member's process: how it was started, and its events."""

    kind: str
    options: Mapping[str, Any]
    program: Mapping[str, Any]
    events: Sequence[Event]


@frozen
class Played:
    """The data that a scenario leaves behind, apart from logs. Times are Unix ms."""

    name: str
    scenario: Scenario
    kafka: str
    group: str
    # Topic -> partitions at the beginning.
    topics: Mapping[str, int]
    settings: Mapping[str, str]
    actions: Sequence[Event]
    programs: Mapping[str, Program]
    from_ms: int
    to_ms: int


def truth(
    played: Played, requests: Iterable[str], broker: Iterable[str], ids: Mapping[str, str]
) -> dict[str, Any]:
    """The whole document. `requests`, `broker`: the selected lines; `ids`: from topic to id."""
    found, lines = list(answers.exchanges(requests)), list(broker)
    runs = {run: p.events for run, p in played.programs.items()}
    spans = {
        run: beliefs.owned(run, events, played.actions, played.to_ms)
        for run, events in runs.items()
    }
    stopped = {run: beliefs.frozen_times(run, played.actions, played.to_ms) for run in runs}
    consumed = {run: beliefs.consumed(events) for run, events in runs.items()}
    clients = {
        run: {
            "kind": p.kind,
            "client_id": run,
            "group": played.group,
            "topics": list(played.topics),
            "options": dict(p.options),
            "program": dict(p.program),
            "member_ids": answers.member_ids(found, run),
            "owned": spans[run],
            "stopped": stopped[run],
            "events": [event for event in p.events if event["ev"] != "consumed"],
            "consumed": consumed[run],
        }
        for run, p in played.programs.items()
    }
    return {
        "name": played.name,
        "what": played.scenario.doc,
        "cause": _cause(played),
        "versions": (
            {"broker": f"Apache Kafka {played.kafka} (KRaft, one node)"}
            | {p.kind.split()[0]: p.kind for p in played.programs.values()}
        ),
        "from_ms": played.from_ms,
        "to_ms": played.to_ms,
        "clock": "UTC; all processes on one host",
        "topics": dict(played.topics),
        "topic_ids": {topic: id for topic, id in ids.items() if topic in played.topics},
        "broker_options": {
            name: value for name, value in played.settings.items() if name.startswith("group.")
        },
        "actions": list(played.actions),
        "clients": clients,
        "facts": _facts(found, lines, spans, stopped, consumed, ids),
    }


def _cause(played: Played) -> dict[str, Any] | None:
    """The fault, with its members and its time; None if nothing was."""
    scenario = played.scenario
    if not scenario.cause:
        return None
    begun = [a["t"] for a in played.actions if a["do"] == BEGINS]
    over = [a["t"] for a in played.actions if a["do"] == OVER]
    return {
        "kind": scenario.cause,
        "or": list(scenario.also),
        "who": list(scenario.who),
        "from_ms": begun[0] if begun else None,
        "to_ms": over[-1] if over else None,
    }


def _facts(
    found: Sequence[Exchange],
    lines: Sequence[str],
    spans: Mapping[str, Sequence[beliefs.Owned]],
    stopped: Mapping[str, Sequence[tuple[int, int]]],
    consumed: Mapping[str, Sequence[beliefs.Consumed]],
    ids: Mapping[str, str],
) -> dict[str, Any]:
    back, foreign = answers.commits(found, spans, {id: topic for topic, id in ids.items()})
    return {
        "requests": answers.counted(found),
        "error_answers": answers.refused(found),
        "generations": answers.generations(found),
        "epochs": answers.epochs(found),
        "rebalance_starts": answers.rebalance_starts(lines),
        "two_owners": beliefs.two_owners(spans, stopped),
        "processed_twice": beliefs.processed_twice(consumed),
        "committed_offset_went_back": back,
        "commit_accepted_from_non_owner": foreign,
    }


def as_lines(value: Any, indent: int = 0) -> str:
    """JSON in which what belongs together is on one line: events, intervals, generations."""
    flat = json.dumps(value)
    record = isinstance(value, dict) and ("t" in value or "generation" in value)
    if record or not isinstance(value, dict | list | tuple) or len(flat) + indent < WIDE:
        return flat
    pad, end = " " * (indent + 1), " " * indent
    if isinstance(value, dict):
        inside = [f"{json.dumps(name)}: {as_lines(v, indent + 1)}" for name, v in value.items()]
    else:
        inside = [as_lines(item, indent + 1) for item in value]
    return flat[0] + "\n" + ",\n".join(pad + line for line in inside) + f"\n{end}{flat[-1]}"
