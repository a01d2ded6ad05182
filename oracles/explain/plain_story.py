"""The story of a path of any spec: a lane for each index of the arrays, one for what they share,
and each rule's own first sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from groupcheck.model.engine import Spec
from groupcheck.model.engine.binding import indexing
from groupcheck.model.engine.signature import EVERY, parted
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.verdict import Firing, Path, Step
from groupcheck.model.protocol.story import Lane, Line, Message, Note, Story
from groupcheck.oracles.explain.own_messages import Waiting, exchanged, phases, waiting
from groupcheck.oracles.printable import brief, changes, place, sentence

SHARED = "shared"
MOST_CHANGES = 8  # in one row of the table; the JSON document has them all


Tell = Callable[[Step, Mapping[str, Any], Mapping[str, Any]], str]


def plain_story(spec: Spec, path: Path, tell: Tell | None = None) -> Story:
    """`tell(step, before, after)` gives the words of a step, the rules' docstrings if it is None
    (states as mappings of slot to value).

    Lanes `<array> 0`, `<array> 1` ... (named after the array with the most reading), a lane
    `shared`, one note for each step; without `tell` the messages and phases of `own_messages`, too.
    """
    lanes = plain_lanes(spec)
    docs = {r.name: sentence(r.doc) for r in spec.rules}
    before = path.initial
    lines, notes = [], list[Message | Note]()
    see = Semantics(spec)
    named = see.named
    for number, step in enumerate(path.steps, 1):
        lane, who = _actor(spec, lanes, step.firing)
        words = (
            tell(step, named(before), named(step.state))
            if tell
            else f"{who}{_with(step)}: {_words(step, docs)}"
        )
        told = change_words(path, before, step)
        lines.append(Line(number, lane.name, words, told, who="" if tell else who))
        notes.append(Note(number, lane.name, step.firing.name.replace("_", " ").replace(":", ": ")))
        before = step.state
    if tell:
        return Story(lanes, lines, notes)
    events = [*notes, *exchanged(see, path, lanes, _actors(spec, lanes, path))]
    events.sort(key=lambda event: event.step)  # those of one step stay in their order
    return Story(lanes, lines, events, [*phases(spec, path, lanes)], start=start_words(path))


def messages_at_the_end(see: Semantics, path: Path) -> list[Waiting]:
    """The messages of a protocol of one's own that are on their way where a path ends."""
    lanes = plain_lanes(see.spec)
    return waiting(see, path, lanes, _actors(see.spec, lanes, path))


def _actors(spec: Spec, lanes: Sequence[Lane], path: Path) -> dict[Firing, str]:
    """The lane of each firing of a path."""
    every = [f for step in path.steps for f in (step.firing, *step.urgent)]
    return {firing: _actor(spec, lanes, firing)[0].name for firing in every}


def start_words(path: Path) -> tuple[str, ...]:
    """The initial state, a line for each slot; one for an array whose elements are all equal:
    `node[:]: idle`.
    """
    arrays: dict[str, list[tuple[str, str]]] = {}
    for (slot, index), value in zip(path.places, path.initial, strict=True):
        arrays.setdefault(slot, []).append((place(slot, index), brief(value)))
    told = []
    for slot, elements in arrays.items():
        values = {value for _, value in elements}
        if len(elements) > 1 and len(values) == 1:
            told.append(f"{slot}[:]: {elements[0][1]}")
        else:
            told += [f"{name}: {value}" for name, value in elements]
    return _few(told)


def plain_lanes(spec: Spec) -> tuple[Lane, ...]:
    """One lane for each index of the largest array (named after the first such slot), then one for
    single slots. Channels have none where something else is there to act.
    """
    arrays = _rather([n for n, slot in spec.slots.items() if slot.size is not None], spec)
    sizes = {n: spec.slots[n].size or 0 for n in arrays}
    lanes = []
    if sizes:
        most = max(sizes.values())
        name = next(n for n, size in sizes.items() if size == most)
        lanes = [Lane(f"{name} {i}", f"{name.replace('_', ' ')} {i}", i) for i in range(most)]
    singles = [n for n, slot in spec.slots.items() if slot.size is None]
    among = any({*rule.slots} <= {*spec.channels} for rule in spec.rules)
    if not lanes or among or not {*singles} <= {*spec.channels}:
        lanes.append(Lane(SHARED, ", ".join(_rather(singles, spec))))
    return tuple(lanes)


def _rather(slots: list[str], spec: Spec) -> list[str]:
    """These slots without the channels, if any are left."""
    return [slot for slot in slots if slot not in spec.channels] or slots


def _actor(spec: Spec, lanes: Sequence[Lane], firing: Firing) -> tuple[Lane, str]:
    """The lane of a step, and whose step it is: the element at its index, or the single slots; in
    both cases among those that the rule reads, and rather those that are no channels.
    """
    rule = next(r for r in spec.rules if r.name == firing.name.partition(":")[0])
    acting = _rather([slot for slot, _ in rule.places], spec)
    if firing.me is None:
        return lanes[-1], ", ".join(dict.fromkeys(acting))
    variable = next(iter(indexing(spec, rule).sizes))
    own = [
        slot
        for slot, index in rule.places
        if slot in acting
        and spec.slots[slot].size is not None
        and index != EVERY
        and parted(index or rule.own)[0] == variable
    ] or acting
    longest = sum(lane.me is not None for lane in lanes)
    is_there = any(spec.slots[slot].size == longest for slot in own)
    lane = next((x for x in lanes if x.me == firing.me and is_there), lanes[-1])
    titles = [f"{slot.replace('_', ' ')} {firing.me}" for slot in own]
    return lane, lane.title if lane.title in titles else titles[0]


def _with(step: Step) -> str:
    """The other indexes of a rule that has several."""
    others = " and ".join(map(str, step.firing.others))
    return f" with {others}" if others else ""


def _words(step: Step, docs: dict[str, str]) -> str:
    texts = []
    for firing in (step.firing, *step.urgent):
        rule, _, label = firing.name.partition(":")
        text = docs.get(rule) or rule.replace("_", " ")
        texts.append(f"{text} ({label.replace('_', ' ')})" if label else text)
    return "; ".join(texts)


def change_words(path: Path, before: tuple[object, ...], step: Step) -> tuple[str, ...]:
    """The changes of a step, as `client[0].phase: joining -> stable`; the rest counted where there
    is much.
    """
    told = []
    for (slot, index), old, new in zip(path.places, before, step.state):
        told += [
            f"{name}: {brief(a)} -> {brief(b)}"
            for name, a, b in changes(place(slot, index), old, new)
        ]
    return _few(told)


def _few(told: list[str]) -> tuple[str, ...]:
    if len(told) <= MOST_CHANGES:
        return tuple(told)
    return (*told[: MOST_CHANGES - 1], f"and {len(told) - MOST_CHANGES + 1} more")
