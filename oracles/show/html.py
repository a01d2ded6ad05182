"""A report as HTML with inline SVG: one file, no script, no network; every text is escaped by the
templates.
"""

from __future__ import annotations

import hashlib

from groupcheck.oracles.explain.explanation import Explanation, without_subject
from groupcheck.oracles.show.pages import render
from groupcheck.oracles.show.report import Report
from groupcheck.oracles.show.swimlane import draw


def page(report: Report) -> str:
    """A whole page."""
    return _render("page.html", report)


def fragment(report: Report) -> str:
    """The same as one `<div>` with its style, for a notebook."""
    return _render("fragment.html", report)


def image(told: Explanation) -> str:
    """The swim-lane alone, as an SVG file for a README or a ticket."""
    return render("image.svg", told=told, picture=draw(told.story), name="g") + "\n"


def _render(template: str, report: Report) -> str:
    pictures = [draw(told.story) for told in report.explanations]
    name = (
        "g"
        + hashlib.sha256(repr(report.explanations).encode(errors="backslashreplace")).hexdigest()[
            :8
        ]
    )  # ids of two reports on one page differ
    return render(
        template, report=report, pictures=pictures, name=name, without_subject=without_subject
    )
