"""A report as HTML with inline SVG: one file, no script, no network; every text is escaped by the templates."""

from __future__ import annotations

import hashlib
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from groupcheck import __version__
from groupcheck.oracles.explain import Explanation, without_subject
from groupcheck.oracles.printable import printable
from groupcheck.oracles.report import Report
from groupcheck.oracles.swimlane import draw


@cache
def _templates() -> Environment:
    loader = PackageLoader("groupcheck.oracles", "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"printable": printable, "without_subject": without_subject}
    return environment


def page(report: Report) -> str:
    """A whole page."""
    return _render("page.html", report)


def fragment(report: Report) -> str:
    """The same as one `<div>` with its style, for a notebook."""
    return _render("fragment.html", report)


def image(told: Explanation) -> str:
    """The swim-lane alone, as an SVG file for a README or a ticket."""
    picture = draw(told.story)
    return _templates().get_template("image.svg").render(told=told, picture=picture, name="g") + "\n"


def _render(template: str, report: Report) -> str:
    pictures = [draw(told.story) for told in report.explanations]
    name = (
        "g" + hashlib.sha256(repr(report.explanations).encode(errors="backslashreplace")).hexdigest()[:8]
    )  # ids of two reports on one page differ
    return _templates().get_template(template).render(report=report, pictures=pictures, name=name, version=__version__)
