"""Steps of a share partition in words, and a path as a `Story`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from groupcheck.model.engine.verdict import Path, Step
from groupcheck.model.protocol.masks import numbers
from groupcheck.model.protocol.story import Lane, Line, Message, Note, Span, Story

LEADER = "leader"
State = Mapping[str, Any]
# Outcome -> what happens to member {m}.
WORDS: Mapping[str, str] = {
    "acquire_records:delivered": "{m} fetches and acquires a record",
    "acquire_records:lost": "{m} fetches and acquires a record, but the answer is lost",
    "acknowledge_record:accept": "{m} accepts a record",
    "acknowledge_record:release": "{m} releases a record",
    "acknowledge_record:reject": "{m} rejects a record",
    "acknowledge_record:refused": "{m} acknowledges a record that it has not, and is refused",
    "acknowledge_record:passed": "{m} accepts a finished record, and is told that all is well",
    "acknowledge_batches:accepted": "{m} accepts all records that it has",
    "acknowledge_batches:refused": "{m} accepts more than is its own, and none of it counts",
    "fetch_batches:delivered": "{m} fetches records, and acquires them as a batch",
    "fetch_batches:lost": "{m} fetches and acquires records, but the answer is lost",
    "fetch_one_batch:delivered": "{m} fetches a record, and acquires all of its batch",
    "fetch_one_batch:lost": "{m} fetches a record and acquires its batch, but the answer is lost",
    "fetch_one_record:delivered": "{m} fetches one record of a batch, and acquires no more",
    "fetch_one_record:lost": "{m} fetches one record of a batch, but the answer is lost",
    "acknowledge_in_batches:accept": "{m} accepts {ns}",
    "acknowledge_in_batches:release": "{m} releases {ns}",
    "acknowledge_in_batches:reject": "{m} rejects {ns}",
    "acknowledge_in_batches:mixed": "{m} accepts the first of {ns}, and releases the others",
    "acknowledge_in_batches:refused": "{m} accepts {ns}, not all its own, and none of it counts",
    "acknowledge_in_batches:mixed_refused": (
        "{m} accepts the first of {ns} and releases the others, not all its own, and none counts"
    ),
    "acknowledge_in_batches:passed": "{m} accepts {ns}, finished by now, and is told all is well",
    "acknowledge_in_batches:broken": (
        "{m} accepts {ns}, which begin before the start offset, and the leader fails"
    ),
    "write_ends:stored": "the leader has written what {m} acknowledged",
    "write_ends:failed": "the leader cannot write what {m} acknowledged",
    "write_ends:unanswered": "the leader does not hear that what {m} acknowledged is written",
    "lock_runs_out:released": "the leader releases what {m} has under a lock that has run out",
    "lock_runs_out:unwritten": (
        "the leader releases what {m} has under a lock that has run out, and cannot write that"
    ),
    "lock_runs_out:in_a_write": "a lock of {m} runs out during a write",
    "session_ends": "the leader releases all records of {m}, whose session has ended",
    "leader_changes:unwritten": "another broker leads the partition",
    "leader_changes:written": "another broker leads the partition, and the last write is there",
}
REQUESTS = {
    "acquire_records": "ShareFetch",
    "acknowledge_record": "ShareAcknowledge",
    "acknowledge_batches": "ShareAcknowledge",
    "acknowledge_in_batches": "ShareAcknowledge",
    "fetch_batches": "ShareFetch",
    "fetch_one_batch": "ShareFetch",
    "fetch_one_record": "ShareFetch",
}
KINDS: Mapping[str, Any] = {
    "lock_runs_out": "timer",
    "session_ends": "fault",
    "leader_changes": "fault",
}


def tell(step: Step, before: State, after: State) -> str:
    """One sentence for a step; `before` and `after` map slots to values (arrays: tuples)."""
    me = step.firing.me
    ns = "" if me is None else _records(before["reader"][me].has & ~after["reader"][me].has)
    return WORDS[step.firing.name].format(m=f"m{me}", ns=ns)


def _records(mask: int) -> str:
    return " and ".join(f"r{n}" for n in numbers(mask))


def story_of(path: Path) -> Story:
    """The story of a path: the leader, and a lane for each member."""
    states = [_named(path, state) for state in path.states]
    members = range(len(states[0]["reader"]))
    lanes = (Lane(LEADER, LEADER), *(Lane(f"m{i}", f"m{i}", i) for i in members))
    lines: list[Line] = []
    events: list[Message | Note] = []
    for number, step in enumerate(path.steps, 1):
        before, after = states[number - 1], states[number]
        rule = step.firing.name.partition(":")[0]
        who = f"m{step.firing.me}" if rule in REQUESTS else LEADER
        lines.append(Line(number, who, tell(step, before, after), tuple(_changes(before, after))))
        if rule in REQUESTS:
            events.append(Message(number, who, LEADER, REQUESTS[rule]))
        else:
            events.append(Note(number, LEADER, rule.replace("_", " "), KINDS.get(rule, "event")))
    return Story(lanes, lines, events, [span for i in members for span in _held(states, i)])


def _named(path: Path, state: tuple[Any, ...]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for (name, index), value in zip(path.places, state, strict=True):
        out[name] = value if index is None else (*out.get(name, ()), value)
    return out


def _changes(before: State, after: State) -> Iterator[str]:
    old, new = before["part"], after["part"]
    for n, (a, b) in enumerate(zip(old.records, new.records, strict=True)):
        if (a.state, a.count) != (b.state, b.count):
            yield (f"r{n} {a.state.name.lower()} ({a.count}) -> {b.state.name.lower()} ({b.count})")
    if old.start != new.start:
        yield f"start offset {old.start} -> {new.start}"


def _held(states: list[dict[str, Any]], i: int) -> Iterator[Span]:
    """The spans in which a member has a record."""
    every = 0
    for state in states:
        every |= state["reader"][i].has
    for n in numbers(every):
        since = 0
        for has, run in groupby(bool(state["reader"][i].has >> n & 1) for state in states):
            until = since + len(list(run))
            if has:
                yield Span(f"m{i}", since, until if until < len(states) else None, f"r{n}", "owns")
            since = until
