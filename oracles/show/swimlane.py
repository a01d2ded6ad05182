"""Where everything of a `Story` stands in its picture: lanes side by side, time downwards, shapes
with coordinates and nothing else.

Texts are only measured here, by a mean width of letters; they are escaped where the shapes are
written as SVG (`templates/swimlane.svg`).
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import Factory, define, frozen

from groupcheck.model.protocol.story import Mark, Message, Note, Span, Story

LETTER = 6.1  # mean width of a letter at 11 px, in px
GUTTER = 34.0  # step numbers
ROW = 20.0  # one event
PAD = 9.0  # between steps
TOP = 44.0  # the lanes' names
LEAST, WIDEST = 128.0, 250.0  # a lane
NARROW = 110.0  # a lane on a phone, where two members and the coordinator fit side by side
LINE = 11.0  # a second line of text, in narrow lanes
BAR = 7.0  # an ownership bar, and the distance between two
HUES = 8  # colours of partitions, in the style sheet
SHADES = 8  # colours of phases
BESIDE = 0.8  # of a lane's width, for the text where a slanted arrow starts
REPEAT = 10  # steps after which the lanes' names are written again


@frozen
class Shape:
    """One thing drawn."""

    # "line" or "arrow" (from x, y to x2, y2), "box" (at x, y, of width x2 and height y2), "text"
    # (at x, y).
    kind: str
    # The class in the style sheet.
    style: str
    x: float
    y: float
    x2: float = 0.0
    y2: float = 0.0
    # What is written, and all of it where `text` had to be cut.
    text: str = ""
    full: str = ""


@frozen
class Picture:
    """The shapes from back to front, and the size they need in px."""

    width: float
    height: float
    shapes: tuple[Shape, ...]


@frozen
class Band:
    """The height that one step takes."""

    # Its events begin here, one row each.
    top: float
    # Bars begin and end here.
    settle: float
    bottom: float


@define
class _Layout:
    story: Story
    lane_width: float
    # The height of one event.
    row: float
    x: dict[str, float] = Factory(dict)
    bands: list[Band] = Factory(list)
    headers: list[float] = Factory(list)
    height: float = 0.0


def draw(story: Story, widest: float = WIDEST) -> Picture:
    """The picture of a story, with lanes of at most this width. Deterministic: the same story gives
    the same shapes.
    """
    layout = _arranged(story, widest)
    shapes = [
        *_backs(layout),
        *_lanes(layout),
        *_bars(layout),
        *_events(layout),
        *_fronts(layout),
    ]
    width = GUTTER + layout.lane_width * len(story.lanes) + 8
    return Picture(round(width, 1), round(layout.height, 1), tuple(shapes))


def _arranged(story: Story, widest: float) -> _Layout:
    """Lanes get their places, steps their bands."""
    row = ROW + LINE if widest < LEAST else ROW
    layout = _Layout(story, min(widest, _lane_width(story)), row)
    for k, lane in enumerate(story.lanes):
        layout.x[lane.name] = GUTTER + layout.lane_width * (k + 0.5)
    y = TOP
    layout.headers.append(24.0)
    for step in range(len(story.lines) + 1):
        if step and step % REPEAT == 0:
            layout.headers.append(y + 14)
            y += 22
        rows = max(1 if step else 0, sum(1 for e in story.events if e.step == step))
        labels = any(s.since == step for s in story.spans)
        settle = y + (PAD if step else 0) + rows * row + 2
        bottom = (
            settle
            + (ROW - 4 if labels else 4)
            + row * sum(1 for m in story.marks if m.step == step)
        )
        layout.bands.append(Band(y, settle, bottom))
        y = bottom
    layout.headers.append(y + 20)
    layout.height = y + 32
    return layout


def _lane_width(story: Story) -> float:
    """Wide enough for most arrows' texts between neighbours, the lanes' names and notes."""
    order = {lane.name: k for k, lane in enumerate(story.lanes)}
    needed = [len(lane.title) * 7.5 + 16 for lane in story.lanes]
    for event in story.events:
        if isinstance(event, Message):
            apart = abs(order[event.source] - order[event.target]) or 1
            if event.until is not None and event.until > event.step:
                needed.append((len(event.text) * LETTER + 8) / BESIDE)
            needed.append((len(event.text) * LETTER + 36) / apart)
        else:
            needed.append(len(event.text) * LETTER + 46)
    return min(WIDEST, max([LEAST, *needed]))


def _cut(text: str, room: float) -> str:
    most = max(3, int(room / LETTER))
    return text if len(text) <= most else text[: most - 1] + "…"


def _text(style: str, x: float, y: float, text: str, room: float) -> Shape:
    short = _cut(text, room)
    return Shape(
        "text", style, round(x, 1), round(y, 1), text=short, full=text if short != text else ""
    )


def _lines(layout: _Layout, text: str, room: float) -> list[str]:
    """The text in one line, or in two where lanes are narrow."""
    begin = text[: int(room / LETTER) + 1].rpartition(" ")[0]
    if layout.row == ROW or len(text) * LETTER <= room or not begin:
        return [_cut(text, room)]
    return [begin, _cut(text[len(begin) + 1 :], room)]


def _texts(
    layout: _Layout, style: str, x: float, y: float, text: str, room: float
) -> Iterator[Shape]:
    """A text whose last line stands at y."""
    lines = _lines(layout, text, room)
    full = text if lines[-1].endswith("…") else ""
    for above, line in enumerate(reversed(lines)):
        at = round(y - above * LINE, 1)
        yield Shape("text", style, round(x, 1), at, text=line, full=full)


def _band(layout: _Layout, step: int) -> Band:
    return layout.bands[min(max(step, 0), len(layout.bands) - 1)]


def _backs(layout: _Layout) -> Iterator[Shape]:
    """Behind everything: every other step shaded, the step that breaks a promise in red, the one
    that meets a goal in green, step numbers.
    """
    width = GUTTER + layout.lane_width * len(layout.story.lanes)
    marked = {m.step: "met" if m.is_met else "broken" for m in layout.story.marks}
    for step, band in enumerate(layout.bands):
        if step in marked:
            yield Shape("box", marked[step], 2, band.top + 1, width, band.bottom - band.top - 2)
        elif step % 2:
            yield Shape("box", "shade", 2, band.top, width, band.bottom - band.top)
        if step:
            yield Shape("text", "number", GUTTER - 10, band.top + PAD + 13, text=str(step))


def _lanes(layout: _Layout) -> Iterator[Shape]:
    for lane in layout.story.lanes:
        x = layout.x[lane.name]
        yield Shape("line", "lane", x, 32, x, layout.height - 32)


def _bars(layout: _Layout) -> Iterator[Shape]:
    """Ownership to the right of the lane, one column for each thing owned; phases on the lane
    itself; a label where they begin.
    """
    owned = sorted({s.text for s in layout.story.spans if s.kind != "phase"})
    phases = list(dict.fromkeys(s.text for s in layout.story.spans if s.kind == "phase"))
    pitch = min(BAR + 2, (layout.lane_width / 2 - 16) / max(1, len(owned)))
    starts: dict[tuple[str, int], list[Span]] = {}
    for span in layout.story.spans:
        x = layout.x[span.lane]
        top = _band(layout, span.since).settle if span.since else layout.bands[0].top
        bottom = layout.height - 34 if span.until is None else _band(layout, span.until).settle
        height = round(max(3.0, bottom - top), 1)
        if span.kind == "phase":
            yield Shape(
                "box",
                f"phase shade{phases.index(span.text) % SHADES}",
                x - 4,
                top,
                8,
                height,
                full=span.text,
            )
        else:
            column = owned.index(span.text)
            left, width = round(x + 8 + column * pitch, 1), round(pitch * BAR / (BAR + 2), 1)
            yield Shape(
                "box", f"{span.kind} hue{column % HUES}", left, top, width, height, full=span.text
            )
        starts.setdefault((span.lane, span.since), []).append(span)
    for (lane, step), spans in starts.items():
        right = 10 + pitch * len(owned) if any(s.kind != "phase" for s in spans) else 8
        y = _band(layout, step).settle + 11
        yield _text(
            "label",
            layout.x[lane] + right,
            y,
            ", ".join(dict.fromkeys(s.text for s in spans)),
            layout.lane_width * 0.85 - right,
        )


def _events(layout: _Layout) -> Iterator[Shape]:
    row: dict[int, int] = {}
    for event in layout.story.events:
        k = row[event.step] = row.get(event.step, -1) + 1
        y = _band(layout, event.step).top + PAD + (k + 1) * layout.row - 6
        if isinstance(event, Message):
            yield from _message(layout, event, y)
        else:
            yield from _note(layout, event, y)


def _message(layout: _Layout, message: Message, y: float) -> Iterator[Shape]:
    x, x2 = layout.x[message.source], layout.x[message.target]
    way = 1 if x2 >= x else -1
    style = "message"
    y2 = y
    if message.lost:
        x2 = x + (x2 - x) * 0.62
        style = "message lost"
    elif message.until is not None and message.until > message.step:
        y2 = _band(layout, message.until).top + 4
        style = "message late"
    yield Shape("line" if message.lost else "arrow", style, x + 5 * way, y, x2 - 5 * way, y2)
    if message.lost:
        yield Shape("text", "cross", x2, y + 4.5, text="✕")
    room = abs(layout.x[message.target] - x) - (16 if layout.row == ROW else 0)
    if y2 != y:  # a slanted arrow: its text stands where it starts
        yield from _texts(
            layout,
            "said begin" if way > 0 else "said end",
            x + 9 * way,
            y - 4,
            message.text,
            min(room, layout.lane_width * BESIDE),
        )
    else:
        middle = (x + layout.x[message.target]) / 2
        yield from _texts(layout, "said", middle, y - 4, message.text, max(room, 40))


def _note(layout: _Layout, note: Note, y: float) -> Iterator[Shape]:
    x = layout.x[note.lane]
    lines = _lines(layout, note.text, layout.lane_width - (22 if layout.row == ROW else 14))
    width = max(map(len, lines)) * LETTER + 14
    top = y - 12 - LINE * (len(lines) - 1)
    yield Shape(
        "box",
        f"note {note.kind}",
        round(x - width / 2, 1),
        top,
        round(width, 1),
        y + 4 - top,
        full=note.text if lines[-1].endswith("…") else "",
    )
    for k, line in enumerate(lines):
        yield Shape("text", f"noted {note.kind}", x, top + 12 + k * LINE, text=line)


def _fronts(layout: _Layout) -> Iterator[Shape]:
    """Before everything: the lanes' names, generations, and the broken fact."""
    for lane in layout.story.lanes:
        for k, y in enumerate(layout.headers):
            strong = k in (0, len(layout.headers) - 1)
            yield _text(
                "title" if strong else "title again",
                layout.x[lane.name],
                y,
                lane.title,
                layout.lane_width * 0.8,
            )
    width = GUTTER + layout.lane_width * len(layout.story.lanes)
    for era in layout.story.eras:
        y = _band(layout, era.step).bottom
        yield Shape("line", "era", GUTTER - 4, y, width, y)
        yield _text("era", width - 4, y - 3, era.text, layout.lane_width)
    drawn: dict[int, int] = {}
    for mark in layout.story.marks:
        yield from _mark(layout, mark, drawn.get(mark.step, 0), width)
        drawn[mark.step] = drawn.get(mark.step, 0) + 1


def _mark(layout: _Layout, mark: Mark, above: int, width: float) -> Iterator[Shape]:
    band, met = _band(layout, mark.step), " met" if mark.is_met else ""
    for name in mark.lanes or tuple(layout.x):
        sign = "✓" if mark.is_met else "✕"
        yield Shape("text", f"cross{met}", layout.x[name], band.settle + 4, text=sign)
    y = band.bottom - 6 - above * layout.row
    yield from _texts(layout, f"fact{met}", GUTTER + 2, y, mark.text, (width - GUTTER) * 0.95)
