"""The page of `explore`: one file with its style, its script and what it has to know at first. The
page's policy names the digest of the script, so that a browser runs nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from groupcheck.oracles.explore.exports import KINDS
from groupcheck.oracles.printable import as_json
from groupcheck.oracles.show.pages import render


@cache
def script() -> str:
    """The script of the page."""
    folder = files("groupcheck.oracles") / "templates"
    return (folder / "explore.js").read_text(encoding="utf-8")


def page(first: dict[str, Any]) -> str:
    """The whole page. `first`: what `Desk.first` says."""
    text = script()
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return render(
        "explore.html",
        first=first,
        data=Markup(as_json(first).replace("<", "\\u003c")),
        exports=[
            *((ending.removeprefix("."), kind.words) for ending, kind in KINDS.items()),
            ("commands", "command lines"),
        ],
        script=Markup(text),
        digest=digest,
    )
