"""A template of `oracles/templates` filled in. Jinja is imported here and nowhere else, and this
only by what draws a page.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from groupcheck import __version__
from groupcheck.oracles.printable import printable


@cache
def _templates() -> Environment:
    loader = PackageLoader("groupcheck.oracles", "templates")
    return Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )


PAGE, FRAGMENT = "frame.html", "fragment.html"  # a whole page, or one `<div>` for a notebook


def render(template: str, layout: str = PAGE, **values: Any) -> str:
    """The text of a template, a file's name, with `values` and groupcheck's `version`, laid out as
    a page.

    Every value is made printable and escaped; a name that is not among the values is an error
    (`jinja2.UndefinedError`) and not an empty text.
    """
    return _templates().get_template(template).render(values, layout=layout, version=__version__)
