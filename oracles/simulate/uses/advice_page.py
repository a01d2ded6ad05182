"""Advice as one HTML page: all that the terminal shows, and the picture. It loads nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from groupcheck.oracles.show.files import write
from groupcheck.oracles.simulate.uses.advice import Advice
from groupcheck.oracles.simulate.uses.advice_document import (
    EVENTS_TOLD,
    alternatives_table,
    assumed,
    cost_told,
    events_table,
    named,
    sentences,
    told,
)
from groupcheck.oracles.simulate.uses.advice_plot import drawn

STYLE = (
    "body{font-family:sans-serif;margin:2em}td,th{padding:0 1em;text-align:right}"
    "td:first-child,th:first-child{text-align:left;white-space:pre}svg{max-width:100%;height:auto}"
)


def write_html(advice: Advice, path: Path) -> None:
    """Writes the page; every text is escaped. Raises `UserError`."""
    mine = advice.recommended.alternative
    title = escape(f"Recommended: {named(mine)}")
    settings = "\n".join(f"{name}={value}" for name, value in mine.settings.items())
    picture = re.sub(r"\A.*?(?=<svg)", "", drawn(advice, "svg").decode(), flags=re.S)
    body = [
        f"<h1>{title}</h1>",
        *_paragraphs([told(advice)]),
        f"<pre>{escape(settings)}</pre>",
        picture,
        *_paragraphs([cost_told(advice)]),
        _table(*alternatives_table(advice)),
        *_paragraphs([EVENTS_TOLD]),
        _table(*events_table(advice)),
        *_paragraphs([*sentences(advice), assumed(advice)]),
    ]
    write(
        path,
        f"<!doctype html>\n<html lang='en'><meta charset='utf-8'><title>{title}</title>\n"
        f"<style>{STYLE}</style>\n" + "\n".join(body) + "\n</html>\n",
    )


def _paragraphs(texts: Sequence[str]) -> list[str]:
    return [f"<p>{escape(text)}</p>" for text in texts]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><tr>{head}</tr>\n{body}</table>"
