"""A curve as a picture (PNG or SVG) or as one HTML page with the picture in it. Matplotlib is
imported here and nowhere else.
"""

from __future__ import annotations

import io
import math
import re
from html import escape
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.show.files import whole, write
from groupcheck.oracles.simulate.uses.curves import Answered
from groupcheck.oracles.simulate.uses.tables import document

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
    import matplotlib
    from matplotlib.figure import Figure

    curve = found.curve
    with matplotlib.rc_context({"svg.hashsalt": "groupcheck", "svg.fonttype": "none"}):
        figure = Figure(figsize=(10, 3.2 * math.ceil(len(curve.measures) / 2)), layout="tight")
        for at, measure in enumerate(curve.measures):
            axes = figure.add_subplot(math.ceil(len(curve.measures) / 2), 2, at + 1)
            _panel(axes, found, measure)
        figure.suptitle(curve.title)
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
            lows = [max(i.low or 0.0, 0.0) for _, i in bounded]
            axes.fill_between(
                [x for x, _ in bounded], lows, [i.high for _, i in bounded], alpha=0.2
            )
    axes.set_xlabel(found.curve.axis)
    axes.set_title(measure.replace("_", " "), fontsize=10)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()


def write_plot(found: Answered, path: Path) -> None:
    """Writes the picture whole or not at all. Raises `UserError`."""
    data = drawn(found, kind(path))
    try:
        with whole(path) as new:
            new.write_bytes(data)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


def write_html(found: Answered, path: Path) -> None:
    """Writes one page with the picture, the figures and the assumptions; it loads nothing."""
    told = document(found)
    svg = re.sub(r"\A.*?(?=<svg)", "", drawn(found, "svg").decode(), flags=re.S)
    shown = ("series", "x", "measure", "mean", "low", "high")
    head = "".join(f"<th>{name}</th>" for name in shown)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(row[name]))}</td>" for name in shown) + "</tr>\n"
        for row in told["points"]
    )
    assumed = ", ".join(f"{name}={value}" for name, value in told["assumptions"].items())
    title = escape(told["title"])
    write(
        path,
        f"<!doctype html>\n<html lang='en'><meta charset='utf-8'><title>{title}</title>\n"
        f"<style>body{{font-family:sans-serif;margin:2em}}td,th{{padding:0 1em;text-align:left}}"
        f"svg{{max-width:100%;height:auto}}</style>\n<h1>{title}</h1>\n{svg}\n"
        f"<p>Seed {found.seed}, {found.replications} replications; low and high: 95 % t intervals."
        f"</p>\n<table><tr>{head}</tr>\n{body}</table>\n<p>{escape(assumed)}</p>\n</html>\n",
    )


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:,.6g}" if isinstance(value, float) else str(value)
