"""The first line of a comparison's report."""

from __future__ import annotations

from rich.text import Text

COLOUR = {"agrees": "bold green", "differs": "bold red", "unknown": "bold yellow"}


def headline(verdict: str, title: str, why: str) -> Text:
    """The verdict, what was compared with what, and the reason of the verdict, if there is one."""
    parts = ((verdict, COLOUR[verdict]), (title, "bold"), (why, ""))
    return Text("  ").join(Text(text, style) for text, style in parts if text)
