"""A path of the classic protocol as a `Story`: members and coordinator as lanes, messages,
ownership, generations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, TypeVar

from groupcheck.model.engine.verdict import Firing, Path, Step
from groupcheck.model.protocol.classic.features.progress.generations import absolute
from groupcheck.model.protocol.classic.group import is_member
from groupcheck.model.protocol.classic.step_words import (
    COORDINATOR,
    REQUESTS,
    THE_COORDINATOR,
    THE_FORMER,
    Words,
    member,
    sent,
)
from groupcheck.model.protocol.codes import name_of
from groupcheck.model.protocol.story import Era, Lane, Line, Message, Note, Span, Story

V = TypeVar("V")
Current = Callable[[Mapping[str, Any], int], bool]  # of a state by slot, and a member's index
ROUTINE = {"send_heartbeat": "heartbeat_answer:well", "fetch_offset": None}
LOST = {  # requests that are sent and never arrive
    "lose_request:commit": "OffsetCommit",
    "lose_request:sync": "SyncGroup",
    "lose_request:async": "OffsetCommit",
    "leave:unheard": "LeaveGroup",
    "close:unheard": "LeaveGroup",
    "poll_timeout:unheard": "LeaveGroup",
}
# Rule -> the code with which requests that wait are answered, where it is not 27.
WAITING_CODE = {"append_failed": 15, "fail_over": 16, "former_learns": 16}
ANSWERS = {
    "join_answer": "JoinGroup",
    "sync_answer": "SyncGroup",
    "heartbeat_answer": "Heartbeat",
    "commit_answer": "OffsetCommit",
    "txn_answer": "TxnOffsetCommit",
    "fetch_answer": "OffsetFetch",
}


def story(path: Path, words: Words, current: Current | None = None) -> Story:
    """The story of a path, without the promise that breaks at its end. `current`: is a member's
    generation the one that it should be? By default it is the group's.
    """
    path = absolute(path)
    states = [_named(path, s) for s in path.states]
    members = range(len(states[0]["client"]))
    lanes = (Lane(COORDINATOR, "coordinator"), *(Lane(member(i), member(i), i) for i in members))
    lines, events, eras = [], [], []
    listed = _listed(states)
    for number, step in enumerate(path.steps, 1):
        before, after = states[number - 1], states[number]
        lines.append(_line(number, step, before, after, words, listed))
        events += list(_events(number, step, path, after, words))
        if after["core"].generation > before["core"].generation:
            eras.append(Era(number, f"generation {after['core'].generation}"))
    phases = _runs([_phase(s["core"]) for s in states])
    spans = [Span(COORDINATOR, since, until, phase, "phase") for since, until, phase in phases]
    spans += [span for i in members for span in _owned(states, i, current or _current, words)]
    return Story(lanes, lines, events, spans, eras)


def _named(path: Path, state: tuple[Any, ...]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for (name, index), value in zip(path.places, state, strict=True):
        out[name] = value if index is None else (*out.get(name, ()), value)
    return out


def _line(
    number: int,
    step: Step,
    before: dict[str, Any],
    after: dict[str, Any],
    words: Words,
    listed: Sequence[str],
) -> Line:
    lane = _lane(step, words)
    rule = step.firing.name.partition(":")[0]
    dull = rule in ROUTINE and (
        ROUTINE[rule] is None or ROUTINE[rule] in [u.name for u in step.urgent]
    )
    dull = dull and not words.eventful.intersection(u.name for u in step.urgent)
    return Line(
        number,
        lane,
        words.tell(step, before, after),
        tuple(_changes(before, after, words, listed)),
        not dull,
    )


def _lane(step: Step, words: Words) -> str:
    """The lane of a step: its member's, or the coordinator's."""
    who = words.subject(step.firing)
    coordinator = who in (THE_COORDINATOR, THE_FORMER) or step.firing.name in words.others
    return COORDINATOR if coordinator else who


def _changes(
    before: dict[str, Any], after: dict[str, Any], words: Words, listed: Sequence[str]
) -> Iterator[str]:
    old, new = before["core"], after["core"]
    if _phase(old) != _phase(new):
        yield f"group {_phase(old)} -> {_phase(new)}"
    if old.generation != new.generation:
        yield f"generation {old.generation} -> {new.generation}"
    led, leads = _leader(before), _leader(after)
    if led is not None and leads not in (led, None):
        yield f"leader {member(led)} -> {member(leads)}"
    voted = getattr(new, "assignor", None)
    if listed and voted not in (None, getattr(old, "assignor", None)):
        yield f"assignor {listed[voted]}"
    for i, (a, b) in enumerate(zip(before["client"], after["client"], strict=True)):
        if a.state != b.state:
            yield f"{member(i)} {a.state} -> {b.state}"
        if a.owned != b.owned:
            yield f"{member(i)} owns {_set(a.owned, words)} -> {_set(b.owned, words)}"
    for name in ("committed", "processed") if "offsets" in before else ():
        if getattr(before["offsets"], name) != getattr(after["offsets"], name):
            yield f"{name} {getattr(before['offsets'], name)} -> {getattr(after['offsets'], name)}"


def _leader(state: Mapping[str, Any]) -> int | None:
    """The process whose id leads the group; the first one is the first that joined."""
    leading = (
        i for i, seats in enumerate(state["seats"]) if getattr(seats, "leader", None) is not None
    )
    return next(leading, None)


def _listed(states: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The assignors that members list, in the order in which the group numbers them; nothing where
    all list the same one, or where the path does not show all of them.
    """
    seats = (one for state in states for one in state["seats"])
    names = tuple(sorted({name for one in seats for name in getattr(one, "listed", ())}))
    return names if len(names) == len(getattr(states[0]["core"], "support", ())) else ()


def _phase(core: Any) -> str:
    return "not loaded" if getattr(core, "loading", False) else str(core.phase)


def _set(mask: int, words: Words) -> str:
    items = (f"{words.item}{k}" for k in range(mask.bit_length()) if mask >> k & 1)
    return "{" + ", ".join(items) + "}"


def _events(
    number: int, step: Step, path: Path, after: dict[str, Any], words: Words
) -> Iterator[Message | Note]:
    rule = step.firing.name.partition(":")[0]
    lane = _lane(step, words)
    if rule in words.notes:
        whom = f" of {member(step.firing.me)}" if step.firing.name in words.to_member else ""
        yield Note(number, lane, rule.replace("_", " ") + whom, words.notes[rule])
    if rule == "delay_request":
        yield Message(
            number, lane, COORDINATOR, sent(step, after), _arrival(path, number, step.firing.me)
        )
    if step.firing.name in LOST:
        yield Message(number, lane, COORDINATOR, LOST[step.firing.name], lost=True)
    code: int | None = WAITING_CODE.get(rule, 27)
    for firing in step.urgent:
        yield from _messages(number, step, firing, code, after, words)
        code = words.code(firing.name) if words.answers(firing.name) else code


def _messages(
    number: int, step: Step, firing: Firing, code: int | None, after: dict[str, Any], words: Words
) -> Iterator[Message]:
    """The arrows of one urgent outcome. `code`: the coordinator's last answer in this step."""
    handler, _, label = firing.name.partition(":")
    if handler not in REQUESTS and handler not in ANSWERS:
        return
    who = member(firing.me)
    if handler in REQUESTS:
        if step.firing.name != "late_request":
            yield Message(number, who, COORDINATOR, REQUESTS[handler])
        answer = words.code(firing.name)
        if answer is not None and step.firing.name in (
            "lose_response",
            "close:heard",
            "leave:heard",
        ):
            yield Message(
                number, COORDINATOR, who, f"{REQUESTS[handler]}: {name_of(answer)}", lost=True
            )
    else:
        text = f"{ANSWERS[handler]}: {name_of(code if code is not None else 0)}"
        if label == "joined":
            text = f"JoinGroup: generation {after['client'][firing.me].generation}"
        elif label == "assigned":
            text = f"SyncGroup: {_set(after['client'][firing.me].owned, words)}"
        yield Message(number, COORDINATOR, who, text)


def _arrival(path: Path, number: int, me: int | None) -> int | None:
    """The step in which a request that is held up arrives; None if it never does."""
    later = enumerate(path.steps[number:], number + 1)
    return next(
        (
            k
            for k, step in later
            if step.firing == Firing("late_request", step.firing.me, 0) and step.firing.me == me
        ),
        None,
    )


def _owned(states: list[dict[str, Any]], i: int, current: Current, words: Words) -> Iterator[Span]:
    """For each partition, the spans in which member i owns it, and those in which it only believes
    so.
    """
    bits = max(s["client"][i].owned for s in states).bit_length()
    for p in range(bits):
        kinds: list[Literal["owns", "stale"] | None] = [
            None if not s["client"][i].owned >> p & 1 else "owns" if current(s, i) else "stale"
            for s in states
        ]
        for since, until, kind in _runs(kinds):
            if kind:
                yield Span(member(i), since, until, f"{words.item}{p}", kind)


def _current(state: Mapping[str, Any], i: int) -> bool:
    client = state["client"][i]
    return bool(
        is_member(state["seats"][i][client.id]) and client.generation == state["core"].generation
    )


def _runs(values: list[V]) -> Iterator[tuple[int, int | None, V]]:
    """Runs of equal values: the step in which each begins (0 for the first), the step in which it
    ends (None for the last), and the value. One that begins in state k begins in step k.
    """
    since = 0
    for value, run in groupby(values):
        until = since + len(list(run))
        yield since, until if until < len(values) else None, value
        since = until
