"""A curve as a picture (PNG or SVG) or as one HTML page with the picture in it. Matplotlib is
imported here and nowhere else.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.show.files import write
from groupcheck.oracles.show.pages import render
from groupcheck.oracles.simulate.document import assumptions
from groupcheck.oracles.simulate.uses.curves import Answered
from groupcheck.oracles.simulate.uses.tables import cell, rows

KINDS = (".png", ".svg")


def needed(where: str) -> None:
    """Raises `UserError` where matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UserError(
            "matplotlib is not installed", where=where, do="pip install 'groupcheck[plot]'"
        ) from None


def kind(path: Path) -> str:
    """The kind of picture that a file's name asks for. Raises `UserError`."""
    if path.suffix.lower() not in KINDS:
        raise UserError(
            f"{path.name} is no name of a picture", where="--plot", do="end it with .png or .svg"
        )
    return path.suffix.lower()[1:]


def drawn(found: Answered, format: str) -> bytes:
    """The picture: one panel for each measure. Equal curves give equal bytes."""
    needed("a plot")
    from matplotlib.figure import Figure

    curve = found.curve
    with fixed():
        figure = Figure(figsize=(10, 3.2 * math.ceil(len(curve.measures) / 2)), layout="tight")
        for at, measure in enumerate(curve.measures):
            axes = figure.add_subplot(math.ceil(len(curve.measures) / 2), 2, at + 1)
            _panel(axes, found, measure)
        figure.suptitle(curve.title)
        return saved(figure, format)


def fixed() -> Any:
    """A context in which equal figures give equal SVG files, with texts as texts."""
    import matplotlib

    return matplotlib.rc_context({"svg.hashsalt": "groupcheck", "svg.fonttype": "none"})


def saved(figure: Any, format: str) -> bytes:
    """The bytes of a picture, without the date and the program's version."""
    out = io.BytesIO()
    metadata = {"Date": None} if format == "svg" else {"Software": None}
    figure.savefig(out, format=format, dpi=110, metadata=metadata)
    return out.getvalue()


def _panel(axes: Any, found: Answered, measure: str) -> None:
    points = found.curve.points
    for series in dict.fromkeys(point.series for point in points):
        places = [k for k, point in enumerate(points) if point.series == series]
        intervals = [found.interval(k, measure) for k in places]
        xs = [points[k].x for k in places]
        axes.plot(xs, [one.mean for one in intervals], marker="o", label=series)
        bounded = [(x, i) for x, i in zip(xs, intervals) if i.low is not None]
        if bounded:
            lows, highs = [i.low for _, i in bounded], [i.high for _, i in bounded]
            axes.fill_between([x for x, _ in bounded], lows, highs, alpha=0.2)
    axes.set_xlabel(found.curve.axis)
    axes.set_title(measure.replace("_", " "), fontsize=10)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()


def write_plot(found: Answered, path: Path) -> None:
    """Writes the picture whole or not at all. Raises `UserError`."""
    write(path, drawn(found, kind(path)))


def write_html(found: Answered, path: Path) -> None:
    """Writes one page with the picture, the figures and the assumptions; it loads nothing."""
    shown = ("series", "x", "measure", "mean", "low", "high")
    remark = (
        f"Seed {found.seed}, {found.replications} replications; low and high: 95 % t intervals."
    )
    cells = [[cell(row[name]) for name in shown] for row in rows(found)]
    first = found.curve.points[0].setup.stated
    assumed = ", ".join(f"{name}={value}" for name, value in assumptions(first).items())
    parts = [picture(drawn(found, "svg")), text(remark), table(shown, cells), text(assumed)]
    write(path, page(found.curve.title, parts))


Part = tuple[str, Any]
"""A part of a page: its kind, as `simulation.html` knows it, and what is in it."""


def picture(svg: bytes) -> Part:
    """A picture that matplotlib made, which has escaped the texts in it."""
    return "picture", re.sub(r"\A.*?(?=<svg)", "", svg.decode(), flags=re.S)


def text(words: str) -> Part:
    """A paragraph."""
    return "text", words


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Part:
    """A table with texts in its cells."""
    return "table", (head, rows)


def page(title: str, parts: Sequence[Part], figures: str = "left") -> str:
    """One page, which loads nothing. `figures`: where those of tables stand, left or right."""
    return render("simulation.html", title=title, parts=parts, figures=figures)
