"""Steps of the partitioner in words, and a path as a `Story`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from groupcheck.model.engine.verdict import Path, Step
from groupcheck.model.protocol.story import Lane, Line, Message, Note, Span, Story

PRODUCER = "producer"
State = Mapping[str, Any]
# Outcome -> what happens to partition {p}; {other}: the one that is chosen.
WORDS = {
    "choose": "the producer chooses {p}",
    "append_record:into_batch": (
        "the producer appends a record to the batch of {p}, which has {open} now"
    ),
    "append_record:new_batch": "the producer begins a batch of {p}",
    "on_new_batch": "the producer needs a new batch, leaves {p} and chooses {other}",
    "leave_partition": "the producer has sent enough to {p} and leaves it",
    "drain_batch:full": "the broker of {p} takes a full batch",
    "drain_batch:linger": "linger.ms is over, and the broker of {p} takes a batch that is not full",
    "slow_broker": "the broker of {p} becomes slow",
}
ARROWS = {"append_record:into_batch": "record", "append_record:new_batch": "record, new batch"}
NOTES = {
    "choose": "chosen",
    "on_new_batch": "left",
    "leave_partition": "left",
    "drain_batch:full": "full batch sent",
    "drain_batch:linger": "small batch sent",
    "slow_broker": "becomes slow",
}


def tell(step: Step, before: State, after: State) -> str:
    """One sentence for a step; `before` and `after` map slots to values (arrays: tuples)."""
    me = step.firing.me
    assert me is not None
    chosen = next((f"p{i}" for i, part in enumerate(after["part"]) if part.sticky), "")
    told = WORDS[step.firing.name]
    return told.format(p=f"p{me}", other=chosen, open=after["part"][me].open)


def story_of(path: Path) -> Story:
    """The story of a path: the producer, and a lane for each partition."""
    states = [_named(path, state) for state in path.states]
    parts = range(len(states[0]["part"]))
    lanes = (Lane(PRODUCER, PRODUCER), *(Lane(f"p{i}", f"partition p{i}", i) for i in parts))
    lines: list[Line] = []
    events: list[Message | Note] = []
    for number, step in enumerate(path.steps, 1):
        before, after = states[number - 1], states[number]
        name, lane = step.firing.name, f"p{step.firing.me}"
        words = tell(step, before, after)
        whose = PRODUCER if words.startswith("the producer") else lane
        lines.append(Line(number, whose, words, tuple(_changes(before, after))))
        if name in ARROWS:
            events.append(Message(number, PRODUCER, lane, ARROWS[name]))
        else:
            events.append(Note(number, lane, NOTES[name], _kind(name)))
    return Story(lanes, lines, events, [span for i in parts for span in _stays(states, i)])


def _kind(name: str) -> Any:
    return {"slow_broker": "fault", "drain_batch:linger": "timer"}.get(name, "event")


def _named(path: Path, state: tuple[Any, ...]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for (name, index), value in zip(path.places, state, strict=True):
        out[name] = value if index is None else (*out.get(name, ()), value)
    return out


def _changes(before: State, after: State) -> Iterator[str]:
    for i, (a, b) in enumerate(zip(before["part"], after["part"], strict=True)):
        if b.stays > a.stays:
            yield f"p{i} records {a.got} -> {b.got}, left {a.stays} -> {b.stays} times"


def _stays(states: list[dict[str, Any]], i: int) -> Iterator[Span]:
    """The spans in which partition i is sticky."""
    since = 0
    for sticky, run in groupby(state["part"][i].sticky for state in states):
        until = since + len(list(run))
        if sticky:
            yield Span(f"p{i}", since, until if until < len(states) else None, "sticky", "phase")
        since = until
