"""What the picture of any spec shows between its lanes and along them: arrows for messages, bars
for phases.

A message is what a rule puts where nothing was: a value in a slot or field that may begin empty
(`None`, `""`, `()`, `frozenset()`), an element of a set or tuple that may begin empty, and in a
slot of `Spec.channels` whatever differs from how it begins. A step takes a message if it removes
it, or if the same outcome is impossible without it: the rule is called once more for each message
that it could have read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, Flag
from typing import Any

import attrs
from attrs import Factory, define, evolve, field, frozen

from groupcheck.model.engine import Spec
from groupcheck.model.engine.binding import Instance
from groupcheck.model.engine.element import Element
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Firing, Path
from groupcheck.model.protocol.story import Lane, Message, Note, Span
from groupcheck.oracles.printable import brief, in_order, printable

MOST_READ = 64  # messages of one place that a step is tried without; the others count as unread
NEVER: tuple[Any, ...] = (None, "", (), frozenset())


@frozen
class Unit:
    """One message in a place of the state."""

    # Of the class that the place holds; empty: the place itself.
    field: str
    item: Any
    # Among equal elements of a tuple; -1: the field holds this and no more.
    number: int = -1


@frozen
class Put:
    """Where a message comes from."""

    step: int
    lane: str
    # Which rule of the step, counted from 0.
    link: int


@define
class Exchange:
    """Follows a path and collects its messages."""

    see: Semantics
    lanes: tuple[Lane, ...]
    # The messages that are there: by place and unit.
    there: dict[tuple[int, Unit], Put | None] = Factory(dict)
    # Who has read one that is still there.
    read: set[tuple[int, Unit, str]] = Factory(set)
    # What one arrow carries, by its ends; and messages that nobody takes, by their origin.
    found: dict[Message, list[tuple[int, str]]] = Factory(dict)
    waiting: dict[Note, list[tuple[int, str]]] = Factory(dict)
    # Of each place how its value may begin.
    begins: list[list[Any]] = field(init=False)
    names: dict[int, str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        spec = self.see.spec
        self.begins = [[*spec.initial_values(slot)] for slot, _ in self.see.places]
        self.names = _names(spec, self.lanes)

    # -- what is there

    def is_channel(self, place: int) -> bool:
        return self.see.places[place][0] in self.see.spec.channels

    def lane(self, place: int) -> str:
        """The lane of a place: of its index, or what is shared."""
        index = self.see.places[place][1]
        return next((x.name for x in self.lanes if x.me == index), self.lanes[-1].name)

    def units(self, place: int, value: Any) -> list[Unit]:
        """The messages in a value."""
        found = []
        for name, now, begins in _parts(value, self.begins[place]):
            if self.is_channel(place):
                is_there = not _is_in(now, (*begins, *NEVER))
            else:
                is_there = any(_is_in(b, NEVER) for b in begins) and not _is_in(now, NEVER)
            if not is_there:
                continue
            if type(now) is frozenset:
                found += [Unit(name, item, 0) for item in in_order(now)]
            elif type(now) is tuple:
                count = Counter[Any]()
                for item in now:
                    found.append(Unit(name, item, count[item]))
                    count[item] += 1
            else:
                found.append(Unit(name, now))
        return found

    # -- steps

    def begin(self, state: State) -> None:
        for k, value in enumerate(state):
            self.there |= {(k, unit): None for unit in self.units(k, value)}

    def fire(self, number: int, link: int, firing: Firing, lane: str, state: State) -> State:
        """One outcome of a rule: the state after it."""
        instance = self.see.instance(firing.name.partition(":")[0], firing.me, firing.others)
        args = [state[k] for k in instance.where]
        name, values = self.see.call(instance, args)[firing.choice]
        only_channels = all(map(self.is_channel, instance.where))
        put = Put(number, lane, link)
        for at, k in enumerate(instance.where):
            old, new = self.units(k, args[at]), self.units(k, values[at])
            replaced = {u.field for u in new if u.number < 0 and u not in old}
            if self.is_channel(k) or self.lane(k) != lane or self._is_foreign(k, old, lane):
                rest = [u for u in old if u in new or u.field in replaced]
                for unit in rest[:MOST_READ]:
                    if self._is_read(instance, args, at, unit, (name, values)):
                        self._take(k, unit, put)
            for unit in old:
                if unit not in new:
                    self._remove(k, unit, put, unit.field in replaced, only_channels)
            self.there |= {(k, u): put for u in new if u not in old}
        after = list(state)
        for k, value in zip(instance.where, values):
            after[k] = value
        return tuple(after)

    def _is_foreign(self, place: int, units: Sequence[Unit], lane: str) -> bool:
        """Did somebody else put one of these messages?"""
        puts = (self.there.get((place, unit)) for unit in units)
        return any(put is not None and put.lane != lane for put in puts)

    def _is_read(
        self, i: Instance, args: Sequence[Any], at: int, unit: Unit, outcome: tuple[str, Any]
    ) -> bool:
        """Has the rule no such outcome, this place apart, where the message is not there?"""
        k = i.where[at]

        def others(values: Sequence[Any]) -> list[Any]:
            return [v for n, v in enumerate(values) if n != at]

        try:
            less = [*args]
            less[at] = _without(args[at], unit, self.begins[k])
            found = self.see.call(i, less)
        except Exception:
            return True  # a rule, or a class, that cannot do without it
        name, values = outcome
        return not any(n == name and others(v) == others(values) for n, v in found)

    def _take(self, k: int, unit: Unit, by: Put) -> None:
        """`by` reads or removes the message."""
        origin, lane = self.there.get((k, unit)), self.lane(k)
        if (k, unit, by.lane) in self.read:
            return
        self.read.add((k, unit, by.lane))
        if self.is_channel(k) or lane == by.lane:
            if origin is not None and origin.lane != by.lane:
                self._arrow(k, unit, origin, by.lane, by.step)
        elif origin is None or origin.lane != by.lane:
            self._arrow(k, unit, Put(by.step, lane, by.link), by.lane, None)

    def _remove(self, k: int, unit: Unit, by: Put, replaced: bool, only_channels: bool) -> None:
        origin = self.there.get((k, unit))
        has_readers = any((k, unit, lane.name) in self.read for lane in self.lanes)
        if self.is_channel(k):
            is_lost = only_channels or (origin is not None and origin.lane == by.lane)
            if origin is not None and is_lost and not has_readers:
                self._lose(k, unit, origin)
            elif not is_lost:
                self._take(k, unit, by)
        elif not replaced:
            self._take(k, unit, by)
        if not self.is_channel(k):
            self._deliver(k, unit)
        self._forget(k, unit)

    def _forget(self, k: int, unit: Unit) -> None:
        self.there.pop((k, unit), None)
        self.read -= {(k, unit, lane.name) for lane in self.lanes}

    def _lose(self, k: int, unit: Unit, origin: Put) -> None:
        towards = [self.lane(k), self.lanes[-1].name, self.lanes[0].name]
        if target := next((name for name in towards if name != origin.lane), ""):
            lost = Message(origin.step, origin.lane, target, str(origin.link), None, True)
            self.found.setdefault(lost, []).append(self.words(k, unit, origin.lane))

    def _deliver(self, k: int, unit: Unit) -> None:
        """An arrow for what was put into somebody's slot and not read there."""
        origin, lane = self.there.get((k, unit)), self.lane(k)
        if origin is not None and origin.lane != lane and (k, unit, lane) not in self.read:
            self._arrow(k, unit, origin, lane, None)

    def finish(self) -> None:
        """What is left at the end of the path."""
        for (k, unit), origin in self.there.items():
            if not self.is_channel(k):
                self._deliver(k, unit)
            elif origin and not any((k, unit, lane.name) in self.read for lane in self.lanes):
                note = Note(origin.step, origin.lane, str(origin.link))
                self.waiting.setdefault(note, []).append(self.words(k, unit, origin.lane))

    # -- how it is told

    def _arrow(self, k: int, unit: Unit, origin: Put, target: str, until: int | None) -> None:
        late = until if until is not None and until > origin.step else None
        ends = Message(origin.step, origin.lane, target, str(origin.link), late)
        self.found.setdefault(ends, []).append(self.words(k, unit, origin.lane))

    def words(self, k: int, unit: Unit, lane: str) -> tuple[int, str]:
        """`decision: committed`, with its rank among the fields of the place. The name of a class
        says enough, and so does that of the field where a sender leaves its own.
        """
        own = [name for begins in self.begins[k] for name, _, _ in _parts(begins, [begins])]
        rank = own.index(unit.field) if unit.field in own else 0
        name = printable((unit.field or self.see.places[k][0]).replace("_", " ").strip())
        value = brief(unit.item, named=lambda n: self.names.get(n, str(n)))
        if isinstance(unit.item, Element):
            return rank, name if value == self._title(lane) else f"{name}: {value}"
        return rank, value if attrs.has(type(unit.item)) else f"{name}: {value}"

    def _title(self, lane: str) -> str:
        return next(x.title for x in self.lanes if x.name == lane)

    def events(self) -> list[Message | Note]:
        """Every arrow, and a note for what nobody takes."""
        arrows = [evolve(m, text=_listed(told)) for m, told in self.found.items()]
        notes = [
            evolve(note, text=f"on its way: {_listed(told)}") for note, told in self.waiting.items()
        ]
        return [*arrows, *notes]


def _listed(told: Sequence[tuple[int, str]]) -> str:
    """What one arrow carries, in the order of the fields."""
    return ", ".join(dict.fromkeys(words for _, words in sorted(told)))


def _names(spec: Spec, lanes: Sequence[Lane]) -> dict[int, str]:
    """What elements are called: where all arrays have one size, an index says which one it is."""
    sizes = {slot.size for slot in spec.slots.values() if slot.size is not None}
    return {x.me: x.title for x in lanes if x.me is not None} if len(sizes) == 1 else {}


def _is_in(value: Any, values: Sequence[Any]) -> bool:
    return any(type(value) is type(v) and value == v for v in values)


def _parts(value: Any, begins: Sequence[Any]) -> Iterator[tuple[str, Any, list[Any]]]:
    """The fields of a value with how they may begin; the value itself if it is of no class, or of
    another one than any that its place begins with.
    """
    alike = [b for b in begins if type(b) is type(value)]
    if alike and attrs.has(type(value)) and not isinstance(value, Element):
        for f in attrs.fields(type(value)):
            if f.init:
                yield f.name, getattr(value, f.name), [getattr(b, f.name) for b in alike]
    else:
        yield "", value, [*begins]


def _without(value: Any, unit: Unit, begins: Sequence[Any]) -> Any:
    """The value without a message."""
    old = getattr(value, unit.field) if unit.field else value
    new: Any
    if unit.number < 0:
        firsts = [getattr(b, unit.field, None) if unit.field else b for b in begins]
        new = next((b for b in firsts if _is_in(b, NEVER)), firsts[0])
    elif type(old) is frozenset:
        new = old - {unit.item}
    else:
        at = [k for k, item in enumerate(old) if item == unit.item][unit.number]
        new = (*old[:at], *old[at + 1 :])
    if not unit.field:
        return new
    argument = attrs.fields_dict(type(value))[unit.field].alias or unit.field
    return evolve(value, **{argument: new})


def exchanged(
    see: Semantics, path: Path, lanes: tuple[Lane, ...], who: Mapping[Firing, str]
) -> list[Message | Note]:
    """The messages along a path, and notes about those that nobody takes. `who`: the lane of each
    firing.
    """
    exchange = _followed(see, path, lanes, who)
    exchange.finish()
    return exchange.events()


def _followed(
    see: Semantics, path: Path, lanes: tuple[Lane, ...], who: Mapping[Firing, str]
) -> Exchange:
    exchange = Exchange(see, lanes)
    exchange.begin(path.initial)
    state = path.initial
    for number, step in enumerate(path.steps, 1):
        for link, firing in enumerate((step.firing, *step.urgent)):
            state = exchange.fire(number, link, firing, who[firing], state)
    return exchange


@frozen
class Waiting:
    """A message that is on its way at the end of a path, or that others may still read."""

    # The lane that put it there, or the lane where it is, if it was there from the beginning.
    lane: str
    # The place where it is; and the index of that, if it is an element of an array.
    slot: str
    me: int | None
    words: str
    # The step that put it there; 0: it was there from the beginning.
    step: int
    # The lanes that have read it.
    read: tuple[str, ...]


def waiting(
    see: Semantics, path: Path, lanes: tuple[Lane, ...], who: Mapping[Firing, str]
) -> list[Waiting]:
    """The messages at the end of a path; `who` as of `exchanged`."""
    exchange, found = _followed(see, path, lanes, who), list[Waiting]()
    for (k, unit), origin in exchange.there.items():
        lane = exchange.lane(k) if origin is None else origin.lane
        if origin is None or (not exchange.is_channel(k) and lane == exchange.lane(k)):
            continue  # it is no message that somebody has sent
        read = tuple(x.name for x in lanes if (k, unit, x.name) in exchange.read)
        _, words = exchange.words(k, unit, lane)
        slot, me = see.places[k]
        found.append(Waiting(lane, slot, me, words, origin.step, read))
    return found


def phases(spec: Spec, path: Path, lanes: Sequence[Lane]) -> Iterator[Span]:
    """A bar along each lane for the first slot or field there that is an enumeration or a text, or
    that holds values of several classes.
    """
    for lane in lanes:
        own = [
            k for k, (slot, me) in enumerate(path.places)
            if me == lane.me and slot not in spec.channels
        ]  # fmt: skip
        if (at := next(((k, n) for k in own for n in _phase(spec, path, k)), None)) is None:
            continue
        said = [_phase_words(state[at[0]], at[1]) for state in path.states]
        since = 0
        for step in range(1, len(said) + 1):
            if step == len(said) or said[step] != said[since]:
                until = None if step == len(said) else step
                yield Span(lane.name, since, until, said[since], "phase")
                since = step


def _phase(spec: Spec, path: Path, place: int) -> Iterator[str]:
    """The fields of a place that may be its phase; empty: the value itself."""
    value = path.initial[place]
    if len(spec.slots[path.places[place][0]].kinds) > 1:
        yield ""
    elif attrs.has(type(value)) and not isinstance(value, Element):
        names = [f.name for f in attrs.fields(type(value))]
        yield from (name for name in names if _is_phase(getattr(value, name)))
    elif _is_phase(value):
        yield ""


def _is_phase(value: Any) -> bool:
    return (isinstance(value, Enum) and not isinstance(value, Flag)) or (
        isinstance(value, str) and value != ""
    )


def _phase_words(value: Any, name: str) -> str:
    value = getattr(value, name) if name else value
    is_class = attrs.has(type(value)) and not isinstance(value, Enum | Element)
    return type(value).__name__ if is_class else brief(value)
