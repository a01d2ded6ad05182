"""A path told for people: lanes, lines, messages, notes, bars and the broken fact, with no word of
how they are shown.

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
    """One vertical lane. `name` is how the others refer to it, `title` is shown, `me` the index of
    its array slots (None: not a member).
    """

    name: str
    title: str
    me: int | None = None


@frozen
class Line:
    """One step in words: `words` is a whole sentence with its subject, e.g. "member 2 sends
    JoinGroup and is parked".

    `lane`: whose step it is. `changes`: short texts such as "generation 1 -> 2". `telling` False:
    routine (a heartbeat that changes nothing), in the table but not in the paragraph. `when`: a
    time stamp, where a log gave one.
    """

    step: int
    lane: str
    words: str
    changes: tuple[str, ...] = ()
    telling: bool = True
    when: str = ""


@frozen
class Message:
    """An arrow between lanes, sent in `step`; it arrives in the same step, or at the beginning of
    step `until`; `lost`: never.
    """

    step: int
    source: str
    target: str
    text: str
    until: int | None = None
    lost: bool = False


@frozen
class Note:
    """Something that happens in one lane: `kind` "event", "timer" (it fired) or "fault" (what the
    scope's budget allows).
    """

    step: int
    lane: str
    text: str
    kind: Literal["event", "timer", "fault"] = "event"


@frozen
class Span:
    """A bar along a lane from step `since` (0: from the beginning) to step `until` in which it ends
    (None: to the end of the picture).

    `kind`: "owns" (a member owns, or believes to own, what `text` names: one span for each
    partition, the same text for the same partition in every lane), "stale" (it still believes so,
    but its generation is over), "phase" (a state, e.g. of the coordinator).
    """

    lane: str
    since: int
    until: int | None
    text: str
    kind: Literal["owns", "stale", "phase"] = "owns"


@frozen
class Era:
    """A line across all lanes at the end of `step`: "generation 2"."""

    step: int
    text: str


@frozen
class Mark:
    """The broken fact: in which step, in which lanes (empty: all), and what it is."""

    step: int
    lanes: tuple[str, ...]
    text: str


@frozen
class Story:
    """What happened along a path, for every way of showing it. `lines` has one entry for each step,
    in order; `prose` may be empty.
    """

    title: str
    lanes: tuple[Lane, ...] = field(converter=_all)
    lines: tuple[Line, ...] = field(converter=_all)
    events: tuple[Message | Note, ...] = field(default=(), converter=_all)
    spans: tuple[Span, ...] = field(default=(), converter=_all)
    eras: tuple[Era, ...] = field(default=(), converter=_all)
    marks: tuple[Mark, ...] = field(default=(), converter=_all)
    prose: str = ""

    def lane(self, name: str) -> Lane:
        """The lane of this name. Raises `KeyError` where there is none."""
        for lane in self.lanes:
            if lane.name == name:
                return lane
        raise KeyError(name)
