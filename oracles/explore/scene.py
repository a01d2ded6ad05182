"""A state as a drawn scene: the coordinator in the middle with its members as seats, the members
around it, and messages on their way as arrows. Shapes with coordinates, as in a swim-lane; a page
draws them, and every text is plain.

It shows what matters most, and says of each part in words what it shows, for those who do not see
it. The cards of `picture` have every field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import define, field, frozen

from groupcheck.oracles.explore.picture import RECEIVED, Arrow, Column, Picture
from groupcheck.oracles.explore.scene_words import (
    BoxText,
    Line,
    of_card,
    of_coordinator,
    of_faults,
    of_member,
    of_seat,
)
from groupcheck.oracles.show.swimlane import HUES, LETTER, Shape

TEXT, HEAD, EDGE = 15.0, 20.0, 8.0  # px: a line of text, a title, the space inside a box
CHIP = 22.0  # px: a partition
BETWEEN = 12.0  # px between two rows
MARGIN = 2.0  # px around the scene, for the lines of its boxes
ARROW = 46.0  # px: an arrow with three lines of text
BOLD, SMALLER = 0.86, 1.1  # letters in a line, of those in the usual letters
FEWEST = 5  # letters of a text that is cut


@frozen
class Sizes:
    """The widths of a scene, in px."""

    # A member's box, the arrows beside it, and the coordinator's box.
    member: float
    arrows: float
    middle: float
    # Members stand on both sides of the coordinator.
    both: bool

    @property
    def width(self) -> float:
        """Of the whole scene."""
        return (self.member + self.arrows) * (2 if self.both else 1) + self.middle + 2 * MARGIN


WIDE = Sizes(150, 98, 220, both=True)
NARROW = Sizes(124, 84, 148, both=False)


@frozen
class Part:
    """A part of the scene that can be read by itself."""

    # "coordinator", "member", "seat", "message" or "place".
    kind: str
    # What it shows, in words.
    label: str
    # The card that has all of its fields; empty: none has.
    card: str
    is_changed: bool
    shapes: tuple[Shape, ...]


@frozen
class Scene:
    """The parts from back to front, and the size that they need in px."""

    width: float
    height: float
    parts: tuple[Part, ...]


def scene(shown: Picture, sizes: Sizes = WIDE) -> Scene:
    """The scene of a state."""
    return _Layout(shown, sizes).drawn()


@define
class _Layout:
    shown: Picture
    sizes: Sizes
    parts: list[Part] = field(factory=list)

    def drawn(self) -> Scene:
        s, columns = self.sizes, self.shown.columns
        sides = 2 if s.both and len(columns) > 1 else 1
        left = MARGIN + (s.member + s.arrows if s.both else 0.0)
        top = MARGIN
        said = of_coordinator(self.shown)
        head = self._height(said, s.middle - 2 * EDGE)
        y = top + head
        for k in range(0, len(columns), sides):
            y = self._row(columns[k : k + sides], left, y)
        bottom = max(y, top + head) + EDGE
        middle = self._box("coordinator", said, left, top, s.middle, bottom - top, "middle")
        self.parts.insert(0, middle)
        for said in self._places():
            height = self._height(said, s.middle - 2 * EDGE)
            place = self._box("place", said, left, bottom + BETWEEN, s.middle, height, "place")
            self.parts.append(place)
            bottom += BETWEEN + height
        return Scene(round(s.width, 1), round(bottom + 2, 1), tuple(self.parts))

    def _places(self) -> Iterator[BoxText]:
        """Single slots beside the coordinator that say something, such as committed offsets; and
        the budget of faults.
        """
        for card in self.shown.cards[1:]:
            said = of_card(card)
            if said.lines or said.chips:
                yield said
        if self.shown.faults:
            yield of_faults(self.shown.faults)

    def _row(self, columns: Sequence[Column], left: float, y: float) -> float:
        """One member on each side, with its seat; returns where the next row begins."""
        s = self.sizes
        heights = []
        for k, column in enumerate(columns):
            is_left = s.both and k == 0
            member, seats = of_member(column), [of_seat(c, column.title) for c in column.seats]
            seat = seats[0] if seats else None
            width = s.middle / 2 - EDGE if s.both else s.middle - 2 * EDGE
            x = left + (EDGE / 2 if is_left else s.middle / 2 + EDGE / 2)
            x = x if s.both else left + EDGE
            tall = self._height(member, s.member - 2 * EDGE)
            tall = max(tall, ARROW * len(column.arrows) + EDGE)
            at = MARGIN if is_left else left + s.middle + s.arrows
            self.parts.append(self._box("member", member, at, y, s.member, tall, "member"))
            heights.append(tall)
            if seat is not None:
                tall = self._height(seat, width - EDGE)
                self.parts.append(self._box("seat", seat, x, y, width, tall, "seat"))
                heights.append(tall)
            self._messages(column, is_left, left, y)
        return y + max(heights) + BETWEEN

    def _messages(self, column: Column, is_left: bool, left: float, y: float) -> None:
        s = self.sizes
        near = MARGIN + s.member if is_left else left + s.middle + s.arrows
        far = left if is_left else left + s.middle
        for k, arrow in enumerate(column.arrows):
            at = y + EDGE + ARROW * k + TEXT
            ends = (far, near) if arrow.way == RECEIVED else (near, far)
            style = "message late" if arrow.place in ("queue", "late") else "message"
            fields = ", ".join(f"{n} {v}".strip() for n, v in arrow.fields)
            words = _of_arrow(arrow, column.title, self.shown.title)
            x, room = (near + far) / 2, s.arrows - 8
            shapes = [
                Shape("arrow", style, ends[0], at, ends[1], at),
                Shape("text", "said", x, at - 4, text=_cut(arrow.text, room), full=words),
            ]
            for line, text in enumerate(_wrapped(fields or arrow.place, room * SMALLER)[:2]):
                shapes.append(Shape("text", "small", x, at + 11 + 11 * line, text=text, full=words))
            self.parts.append(Part("message", words, "", arrow.is_new, tuple(shapes)))

    # -- boxes

    def _height(self, said: BoxText, room: float) -> float:
        lines = sum(len(_lines(line, room)) for line in said.lines)
        title = len(_wrapped(said.title, room * BOLD))
        chips = sum(CHIP - 2 for c in said.chips)
        return HEAD + TEXT * (title - 1) + TEXT * lines + chips + EDGE

    def _box(
        self, kind: str, said: BoxText, x: float, y: float, width: float, height: float, style: str
    ) -> Part:
        changed = " changed" if said.is_changed else ""
        room = width - 2 * EDGE if kind != "seat" else width - EDGE
        shapes = [Shape("box", f"{style}{changed}", x, y, width, height, full=said.words)]
        middle, at = x + width / 2, y + TEXT
        for text in _wrapped(said.title, room * BOLD):
            shapes.append(Shape("text", "title", middle, at, text=text, full=said.words))
            at += TEXT
        for line in said.lines:
            for text in _lines(line, room):
                mark = "said changed" if line.is_changed else "said"
                shapes.append(Shape("text", mark, middle, at, text=text, full=line.full))
                at += TEXT
        for chips in said.chips:
            shapes += _chips(chips.partitions, chips.style, middle, at - 10, room)
            at += CHIP - 2
        return Part(kind, said.words, said.card, said.is_changed, tuple(shapes))


def _chips(
    partitions: Sequence[int], style: str, middle: float, y: float, room: float
) -> Iterator[Shape]:
    """Partitions as coloured squares with their names, as many as there is room for."""
    fit = max(1, int(room // (CHIP + 2)))
    some = partitions[:fit]
    x = middle - (CHIP + 2) * len(some) / 2
    for p in some:
        yield Shape("box", f"{style} hue{p % HUES}", x, y, CHIP, 15)
        last = p is some[-1] and len(partitions) > fit
        yield Shape("text", f"chip {style}", x + CHIP / 2, y + 11.5, text="…" if last else f"p{p}")
        x += CHIP + 2


def _of_arrow(arrow: Arrow, member: str, middle: str) -> str:
    """A message in words."""
    middle = middle or "shared"
    ends = (middle, member) if arrow.way == RECEIVED else (member, middle)
    fields = ", ".join(f"{name} {value}".strip() for name, value in arrow.fields)
    more = f": {fields}" if fields else ""
    new = ", new in this step" if arrow.is_new else ""
    return f"{arrow.text} from {ends[0]} to {ends[1]}, {arrow.place}{new}{more}. {arrow.where}"


def _lines(line: Line, room: float) -> list[str]:
    """A line of a box in lines that fit. What has changed is bold, and so wider."""
    return _wrapped(line.text, room * BOLD if line.is_changed else room)


def _cut(text: str, room: float) -> str:
    most = max(FEWEST, int(room / LETTER))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _wrapped(text: str, room: float) -> list[str]:
    """A text in lines of this width, in px; at most three."""
    most, lines = max(FEWEST, int(room / LETTER)), [""]
    for word in text.replace("_", "_\u200b").split(" "):
        pieces = word.split("\u200b")
        for k, piece in enumerate(pieces):
            glue = "" if k or not lines[-1] else " "
            if len(lines[-1]) + len(glue) + len(piece) > most and lines[-1]:
                lines.append("")
                glue = ""
            lines[-1] += glue + piece
    if len(lines) > 3:
        lines = [*lines[:2], f"{lines[2]}…"]
    return [_cut(line, room) for line in lines]
