"""A curve as a picture (PNG or SVG) or as one HTML page with the picture in it. Matplotlib is
imported here and nowhere else.
"""

from __future__ import annotations

import io
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.show.files import write
from groupcheck.oracles.show.pages import render
from groupcheck.oracles.simulate import view
from groupcheck.oracles.simulate.document import assumptions, listed
from groupcheck.oracles.simulate.uses.curves import CurveResult, question
from groupcheck.oracles.simulate.view import MEASURED, Unit, duration
from groupcheck.traces.phrases import plural

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


def possible(plot: Path | None, html: Path | None) -> None:
    """Raises `UserError` where a picture or a page cannot be drawn, before anything runs."""
    if plot is not None:
        kind(plot)
        needed("--plot")
    if html is not None:
        needed("--html")


def drawn(found: CurveResult, format: str) -> bytes:
    """The picture: one panel for each measure. Equal curves give equal bytes."""
    needed("a plot")
    from matplotlib.figure import Figure

    curve = found.curve
    shown = [measure for measure in curve.measures if not _is_zero(found, measure)]
    with fixed():
        rows = math.ceil(max(len(shown), 1) / 2)
        figure = Figure(figsize=(10, 3.2 * rows), layout="tight")
        for at, measure in enumerate(shown):
            _panel(figure.add_subplot(rows, min(len(shown), 2), at + 1), found, measure)
        figure.suptitle(curve.title)
        return saved(figure, format)


def _is_zero(found: CurveResult, measure: str) -> bool:
    """Is there nothing to see? All points are 0, or have not ended."""
    means = [found.interval(k, measure).mean for k in found.places(measure)]
    return not any(math.isfinite(mean) and mean for mean in means)


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


def _panel(axes: Any, found: CurveResult, measure: str) -> None:
    points = found.curve.points
    words, unit_of = MEASURED[measure]
    means = [found.interval(k, measure).mean for k in found.places(measure)]
    unit = unit_of(max(mean for mean in means if math.isfinite(mean)))
    along = axis_unit(found)
    for series in dict.fromkeys(points[k].series for k in found.places(measure)):
        places = [k for k in found.places(measure) if points[k].series == series]
        intervals = [found.interval(k, measure) for k in places]
        xs = [points[k].x / along.divisor for k in places]
        axes.plot(xs, [one.mean / unit.divisor for one in intervals], marker="o", label=series)
        bounded = [
            (x, one.low / unit.divisor, one.high / unit.divisor)
            for x, one in zip(xs, intervals)
            if one.low is not None and one.high is not None
        ]
        if bounded:
            axes.fill_between(*zip(*bounded), alpha=0.2)
    axes.set_xlabel(with_unit(found.curve.axis, along))
    axes.set_title(with_unit(words, unit), fontsize=10)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()


def axis_unit(found: CurveResult) -> Unit:
    """The unit of a curve's axis: that of its largest value, if they are times."""
    if not question(found.curve.name).unit:
        return Unit("", digits=1)
    return duration(max(point.x for point in found.curve.points))


def with_unit(words: str, unit: Unit) -> str:
    """A name with the unit of its figures."""
    return f"{words} ({unit.name})" if unit.name else words


def write_plot(found: CurveResult, path: Path) -> None:
    """Writes the picture whole or not at all. Raises `UserError`."""
    write(path, drawn(found, kind(path)))


def write_html(found: CurveResult, path: Path) -> None:
    """Writes one page with the picture, the figures and the assumptions; it loads nothing."""
    first = found.curve.points[0].setup.stated
    parts = [
        picture(drawn(found, "svg")),
        text(
            f"Seed {found.seed}, {plural(found.replications, 'replication')}; in brackets: 95 % t"
            " intervals."
        ),
        table(*figures(found), "right"),
        assumed(assumptions(first)),
    ]
    says = found.reason or conclusion(found)
    write(path, page(found.curve.title, says, parts, unknown=bool(found.reason)))


def figures(found: CurveResult) -> tuple[list[str], list[list[str]]]:
    """The heads of a curve's table, and a row for each point."""
    curve = found.curve
    heads = ["", curve.axis, *(MEASURED[measure][0] for measure in curve.measures)]
    along = axis_unit(found)
    return heads, [
        [
            point.series,
            f"{point.x / along.divisor:g} {along.name}".rstrip(),
            *(
                view.cell(found.interval(k, m), MEASURED[m][1]) if point.answers(m) else "-"
                for m in curve.measures
            ),
        ]
        for k, point in enumerate(curve.points)
    ]


def conclusion(found: CurveResult) -> str:
    """The first measure of a curve at the ends of each line, in one sentence. If the curve has a
    cost, a second sentence tells it at both ends, and a third the step that gains most.
    """
    first = found.curve.measures[0]
    costs = [m for m in found.curve.measures if not found.places(first, m)]
    gained = [_gained(found, first, cost) for cost in costs]
    return " ".join(
        [*(_ends(found, measure) for measure in (first, *costs)), *filter(None, gained)]
    )


def _gained(found: CurveResult, measure: str, cost: str) -> str:
    """The step of the axis at which a measure falls by the largest factor, and what it costs there;
    empty where it falls nowhere. What may be 0 already, by its interval, is not known to fall.
    """
    xs = [found.curve.points[k].x for k in found.places(measure)]
    (_, unit_of), (cost_words, cost_unit) = MEASURED[measure], MEASURED[cost]
    means, costs = ([found.interval(k, m).mean for k in found.places(m)] for m in (measure, cost))
    falls = [
        (before / after if after else math.inf, k)
        for k, (before, after) in enumerate(itertools.pairwise(means))
        if before > after and found.interval(found.places(measure)[k], measure).low != 0
    ]
    if not falls:
        return ""
    factor, k = max(falls)
    times = "to none" if math.isinf(factor) else f"{factor:.1f} times fewer"
    return (
        f"Most is gained from {xs[k]:g} to {xs[k + 1]:g}: {unit_of(means[k])(means[k])} to"
        f" {unit_of(means[k + 1])(means[k + 1])} ({times}), {cost_words}"
        f" {cost_unit(costs[k])(costs[k])} to {cost_unit(costs[k + 1])(costs[k + 1])}."
    )


def _ends(found: CurveResult, measure: str) -> str:
    """A measure at both ends of each line of the curve, in one sentence."""
    curve, along = found.curve, axis_unit(found)
    words, unit_of = MEASURED[measure]
    told = []
    for series in dict.fromkeys(curve.points[k].series for k in found.places(measure)):
        mine = [k for k in found.places(measure) if curve.points[k].series == series]
        ends = [mine[0]] if len(mine) == 1 else [mine[0], mine[-1]]
        parts = [
            f"{unit_of(mean)(mean)} at {curve.points[k].x / along.divisor:g} {along.name}".rstrip()
            for k in ends
            for mean in [found.interval(k, measure).mean]
        ]
        told.append(f"{series} {' and '.join(parts)}")
    return f"{words[0].upper()}{words[1:]}: {'; '.join(told)}."


Part = tuple[str, Any]
"""A part of a page: its kind, as `simulation.html` knows it, and what is in it."""


def picture(svg: bytes) -> Part:
    """A picture that matplotlib made, which has escaped the texts in it."""
    return "picture", re.sub(r"\A.*?(?=<svg)", "", svg.decode(), flags=re.S)


def text(words: str) -> Part:
    """A paragraph."""
    return "text", words


def assumed(values: Mapping[str, float | str]) -> Part:
    """Assumptions by name, which people fold out."""
    return "assumptions", listed(values)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], align: str = "left") -> Part:
    """A table with texts in its cells. `align`: where all but the first stand, left or right."""
    return "table", (head, rows, align)


def page(title: str, conclusion: str, parts: Sequence[Part], *, unknown: bool = False) -> str:
    """One page, which loads nothing and begins with a sentence of conclusion."""
    return render(
        "simulation.html", title=title, conclusion=conclusion, parts=parts, unknown=unknown
    )
