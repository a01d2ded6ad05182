"""A path told for people: lanes, lines, messages, notes, bars and the broken fact, whatever they
are shown with.

A variant turns a `Path` into a `Story`; texts, pictures and tables are made of nothing else, so
they serve every protocol.

Time is counted in steps: step 0 is the initial state, step k the k-th transition, and state k the
state after it. Inside one step the order of `Story.events` is the order in which they happen (a
request before its answer). Every text is plain; whoever shows it escapes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from attrs import field, frozen


def _all(values: Sequence[object]) -> tuple[object, ...]:
    return tuple(values)


@frozen
class Lane:
    """One vertical lane."""

    # How the others refer to it.
    name: str
    # What is shown.
    title: str
    # The index of its array slots; None: not a member.
    me: int | None = None


@frozen
class Line:
    """One step in words."""

    step: int
    # Whose step it is.
    lane: str
    # A whole sentence with its subject, such as "member 2 sends JoinGroup and is parked".
    words: str
    # Short texts such as "generation 1 -> 2".
    changes: tuple[str, ...] = ()
    # False: routine (a heartbeat that changes nothing), in the table but not in the prose.
    telling: bool = True
    # Whose step it is, in words; empty: the title of the lane.
    who: str = ""


@frozen
class Message:
    """An arrow between lanes."""

    # The step that sends it.
    step: int
    source: str
    target: str
    text: str
    # The step at whose beginning it arrives; None: it arrives in the step that sends it.
    until: int | None = None
    # It never arrives.
    lost: bool = False


@frozen
class Note:
    """Something that happens in one lane."""

    step: int
    lane: str
    text: str
    # "timer": one that fired; "fault": what the scope's budget allows.
    kind: Literal["event", "timer", "fault"] = "event"


@frozen
class Span:
    """A bar along a lane."""

    lane: str
    # The steps in which it begins (0: it is there from the beginning) and ends (None: it lasts to
    # the end of the picture).
    since: int
    until: int | None
    # The partition or the state. The same partition has the same text in every lane.
    text: str
    # "owns": a member owns, or believes that it owns, a partition; "stale": it still believes so,
    # but its generation is over; "phase": a state, such as the coordinator's.
    kind: Literal["owns", "stale", "phase"] = "owns"


@frozen
class Era:
    """A line across all lanes at the end of a step."""

    step: int
    # Such as "generation 2".
    text: str


@frozen
class Mark:
    """The broken fact, or the goal that is met."""

    step: int
    # In which lanes it is marked; empty: in all.
    lanes: tuple[str, ...]
    text: str
    is_met: bool = False


@frozen
class Story:
    """The events along a path, for every way of showing it."""

    lanes: tuple[Lane, ...] = field(converter=_all)
    # One for each step, in order.
    lines: tuple[Line, ...] = field(converter=_all)
    events: tuple[Message | Note, ...] = field(default=(), converter=_all)
    spans: tuple[Span, ...] = field(default=(), converter=_all)
    eras: tuple[Era, ...] = field(default=(), converter=_all)
    marks: tuple[Mark, ...] = field(default=(), converter=_all)
    # The initial state as `slot: value`; empty where every path begins with the same one.
    start: tuple[str, ...] = field(default=(), converter=_all)

    def lane(self, name: str) -> Lane:
        """The lane of this name, which exists."""
        return next(lane for lane in self.lanes if lane.name == name)
