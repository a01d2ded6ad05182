"""A report as HTML with inline SVG: one file, no script, no network; every text is escaped by the
templates.
"""

from __future__ import annotations

import hashlib

from groupcheck.model.protocol.story import Story
from groupcheck.oracles.explain.explanation import KNOWN, Explanation, rows
from groupcheck.oracles.show.pages import FRAGMENT, PAGE, render
from groupcheck.oracles.show.report import Report
from groupcheck.oracles.show.swimlane import NARROW, draw


def page(report: Report) -> str:
    """A whole page."""
    return _render(PAGE, report)


def fragment(report: Report) -> str:
    """The same as one `<div>` with its style, for a notebook."""
    return _render(FRAGMENT, report)


def image(told: Explanation) -> str:
    """The swim-lane alone, as an SVG file for a README or a ticket."""
    return render("image.svg", told=told, picture=draw(told.story), name="g") + "\n"


def story_image(story: Story, headline: str) -> str:
    """The swim-lane of a story that is no path of a model, as an SVG file."""
    told = {"headline": headline}
    return render("image.svg", told=told, picture=draw(story), name="g") + "\n"


def _render(layout: str, report: Report) -> str:
    told = report.explanations
    # For a wide screen and for a phone; the style sheet shows one of them.
    pictures = [{"wide": draw(one.story), "narrow": draw(one.story, NARROW)} for one in told]
    # The ids of two reports on one page differ.
    digest = hashlib.sha256(repr(told).encode(errors="backslashreplace")).hexdigest()
    return render(
        "report.html",
        layout,
        report=report,
        pictures=pictures,
        name=f"g{digest[:8]}",
        rows=rows,
        known=KNOWN,
    )
