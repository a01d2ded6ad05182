"""A state as a picture: cards with fields, messages as arrows, faults left. Data alone; a page
draws it, and every text in it is plain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec
from groupcheck.model.engine.element import Element
from groupcheck.model.engine.step import State
from groupcheck.model.protocol.codes import name_of
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.story import Lane
from groupcheck.oracles.explain.own_messages import Waiting
from groupcheck.oracles.explore.field_notes import Note, class_note, field_notes
from groupcheck.oracles.printable import brief, place, printable

DEEPEST = 3  # values inside values that have rows of their own
LONGEST = 300  # characters of a value
OF_COORDINATOR = ("seat", "seats")  # arrays that are the coordinator's memory of each member
# Bit masks whose comments do not say so.
MASKS = "assigned current granted held holds owned revoking share subscribed target topics".split()
# Fields that matter most -> the words before them.
SUMMED_UP = {
    "phase": "", "state": "", "generation": "generation", "epoch": "epoch", "owned": "owns",
    "holds": "owns", "position": "at",
}  # fmt: skip
NOTHING = ("", "none", "{}")
HIDDEN = ("walk",)  # at rest between steps
SENT, RECEIVED = "sent", "received"


@frozen
class Row:
    """A field of a card."""

    name: str
    value: str
    note: str = ""
    source: str = ""
    # The value before the last step, if that has changed it.
    was: str | None = None
    # It has its default, and the last step has not changed it.
    is_quiet: bool = False
    inner: tuple[Row, ...] = ()


@frozen
class Card:
    """The value of a slot, or of one element of an array."""

    # As in `client[0]`.
    name: str
    # What its class is.
    note: str
    source: str
    rows: tuple[Row, ...]
    is_changed: bool


@frozen
class Arrow:
    """A message between a member and the coordinator that has not arrived."""

    # SENT by the member, or RECEIVED by it.
    way: str
    # Such as `JoinGroup`; its fields; and where it is: `parked`, `queue`, `late`, and in words.
    text: str
    fields: tuple[tuple[str, str], ...]
    place: str
    where: str
    is_new: bool


@frozen
class Column:
    """All of one index of the arrays."""

    title: str
    cards: tuple[Card, ...]
    arrows: tuple[Arrow, ...] = ()
    # What the coordinator remembers of it.
    seats: tuple[Card, ...] = ()
    # The fields that matter most, in few words.
    summary: tuple[str, ...] = ()


@frozen
class Picture:
    """A state."""

    # Of what is single: the coordinator, the log.
    title: str
    cards: tuple[Card, ...]
    columns: tuple[Column, ...]
    # Fault -> how often it may still happen; `any` for any of them. None: the protocol has none.
    faults: Mapping[str, int] | None
    # As of a column.
    summary: tuple[str, ...] = ()
    # Messages of a protocol of one's own that nobody in a column has sent.
    messages: tuple[Arrow, ...] = ()


def picture(
    spec: Spec,
    state: State,
    before: State | None,
    lanes: Sequence[Lane],
    waiting: Sequence[Waiting] = (),
    steps: int = 0,
) -> Picture:
    """The picture of a state. `before`: the state before the last step, with which it is compared.
    `lanes`: of a story of this spec, for the names of members. `waiting`: the messages of a
    protocol of one's own, after so many `steps`.
    """
    single, faults = list[Card](), None
    columns: dict[int, dict[str, list[Any]]] = {}
    for k, (slot, index) in enumerate(spec.places):
        value, old = state[k], None if before is None else before[k]
        if isinstance(value, Budget):
            faults = {"any": value.any} if value.any else dict(value.left)
        elif slot not in HIDDEN:
            was = value if before is None else old
            shown = _card(place(slot, index), value, was)
            if index is None:
                single.append(shown)
                continue
            there = columns.setdefault(index, {"cards": [], "seats": [], "arrows": []})
            there["seats" if slot in OF_COORDINATOR else "cards"].append(shown)
            there["arrows"] += arrows(value, was)
    messages = list[Arrow]()
    for index, arrow in _of_own(waiting, lanes, steps):
        (messages if index not in columns else columns[index]["arrows"]).append(arrow)
    made = {k: Column("", *(tuple(there[x]) for x in PARTS)) for k, there in columns.items()}
    titles = {lane.me: lane.title for lane in lanes if lane.me is not None}
    shared = next((lane.title for lane in lanes if lane.me is None), "")
    return Picture(
        printable(shared),
        tuple(single),
        tuple(
            attrs.evolve(
                column, title=printable(titles.get(k, str(k))), summary=_summary(column.cards)
            )
            for k, column in sorted(made.items())
        ),
        faults,
        _summary(single),
        tuple(messages),
    )


def _of_own(
    waiting: Sequence[Waiting], lanes: Sequence[Lane], steps: int
) -> Iterator[tuple[int | None, Arrow]]:
    """The messages of a protocol of one's own: the column where each is drawn, None for what is
    shared. A message in a channel stands at its sender, another one at whom it is for.
    """
    indexes, titles = {x.name: x.me for x in lanes}, {x.name: x.title for x in lanes}
    for w in waiting:
        sender = titles.get(w.lane, w.lane)
        read = ", ".join(titles.get(name, name) for name in w.read)
        where = f"read by {read}" if read else ""
        if w.me is None:
            way, index = SENT, indexes.get(w.lane)
        else:
            way, index, where = RECEIVED, w.me, f"from {sender}"
        text, _, value = w.words.partition(": ")
        fields = tuple(("", printable(x)) for x in (value, "read" if read else "") if x)
        new = w.step == steps
        yield index, Arrow(way, printable(text), fields, w.slot, printable(where), new)


def _summary(cards: Sequence[Card]) -> tuple[str, ...]:
    """The fields of cards that matter most, where they say something."""
    said = {row.name: row.value for card in reversed(cards) for row in card.rows}
    return tuple(
        f"{words} {said[name]}".strip()
        for name, words in SUMMED_UP.items()
        if name in said and said[name] not in NOTHING
    )


PARTS = ("cards", "arrows", "seats")


def _card(name: str, value: Any, was: Any) -> Card:
    note = class_note(type(value)) if attrs.has(type(value)) else Note()
    if attrs.has(type(value)) and not isinstance(value, Element):
        rows = tuple(_rows(value, was, 1))
    else:
        rows = (_row("value", value, was, Note(), 1, attrs.NOTHING),)
    return Card(name, printable(note.text), printable(note.source), rows, value != was)


def _rows(value: Any, was: Any, depth: int) -> Iterator[Row]:
    """The fields of an attrs value; those of the value before it, if that was of its class."""
    notes = field_notes(type(value))
    for f in attrs.fields(type(value)):
        now = getattr(value, f.name)
        old = getattr(was, f.name) if type(was) is type(value) else now
        yield _row(f.name, now, old, notes.get(f.name, Note()), depth, f.default)


def _row(name: str, value: Any, was: Any, note: Note, depth: int, default: Any) -> Row:
    changed = value != was
    inner = tuple(_inner(value, was, depth + 1)) if depth < DEEPEST else ()
    if not note.text and (attrs.has(type(value)) or isinstance(value, Enum)):
        note = class_note(type(value))
    shown = _value(name, value, note.text, default)
    return Row(
        name.replace("_", " "),
        shown if not inner else type(value).__name__ if attrs.has(type(value)) else "",
        printable(note.text),
        printable(note.source),
        _value(name, was, note.text, default) if changed else None,
        # An arrow shows a message.
        _is_message(value) or (value == default and not changed),
        inner,
    )


def _inner(value: Any, was: Any, depth: int) -> Iterator[Row]:
    """The rows inside a value: fields of an attrs value, and elements of a tuple of such, or of
    pairs of a number and such.
    """
    if isinstance(value, Element):
        return
    if attrs.has(type(value)):
        yield from _rows(value, was, depth)
    elif isinstance(value, tuple) and value:
        olds = dict(_elements(was)) if isinstance(was, tuple) else {}
        for name, one in _elements(value):
            if not attrs.has(type(one)) or isinstance(one, Element):
                return
            # What was not there is new as a whole: its fields are not compared.
            old = olds.get(name, one)
            note = Note() if name in olds else Note("It was not there before.")
            made = _row(name, one, old, note, depth, attrs.NOTHING)
            yield made if name in olds else attrs.evolve(made, was="")


def _elements(value: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    for k, one in enumerate(value):
        if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], int):
            yield f"id {one[0]}", one[1]
        else:
            yield str(k), one


def _value(name: str, value: Any, note: str, default: Any) -> str:
    """A value for people: partitions by their names, codes of errors by theirs."""
    if isinstance(value, int) and type(value) is int:
        if value == -1 and default == -1:
            return "none"
        if value >= 0 and ("bit mask" in note or name in MASKS):
            letter = "p" if "partition" in note.lower() else "t" if "topic" in note else ""
            items = [f"{letter}{k}" for k in range(value.bit_length()) if value >> k & 1]
            return "{" + ", ".join(items) + "}"
        if name in ("code", "failed") and value:
            return name_of(value)
    return brief(value, LONGEST)


def arrows(value: Any, was: Any) -> list[Arrow]:
    """The messages in a value: what classes of a module `messages` are held by its fields. `was`:
    the value before the last step.
    """
    if not attrs.has(type(value)) or isinstance(value, Element):
        return []
    found = []
    notes = field_notes(type(value))
    for f in attrs.fields(type(value)):
        now = getattr(value, f.name)
        old = getattr(was, f.name) if type(was) is type(value) else None
        olds = old if isinstance(old, tuple) else (old,)
        for one in now if isinstance(now, tuple) else (now,):
            if _is_message(one):
                way = RECEIVED if type(one).__name__.endswith(("Answer", "Told")) else SENT
                meant = field_notes(type(one))
                told = tuple(
                    (x.name, _value(x.name, v, meant.get(x.name, Note()).text, x.default))
                    for x in attrs.fields(type(one))
                    if (v := getattr(one, x.name)) != x.default
                )
                where = printable(notes.get(f.name, Note(f.name)).text)
                found.append(Arrow(way, type(one).__name__, told, f.name, where, one not in olds))
    return found


def _is_message(value: Any) -> bool:
    kind = type(value)
    return attrs.has(kind) and kind.__module__.endswith(".messages") and kind.__name__ != "Link"
