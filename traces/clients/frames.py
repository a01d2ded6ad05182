"""Takes off what people, shippers and terminals put around a client's line, as far as it stands in
the way of its words: colours, escapes of JSON, HTML entities, typographic quotes, runs of blanks.

The line that a report quotes stays as it is in the log.
"""

from __future__ import annotations

import html
import re

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_ENTITY = re.compile(r"&(?:quot|lt|gt|amp|apos|nbsp|#\d{1,5});")
_TAG = re.compile(r"</?(?:b|i|p|em|br|div|pre|code|span|strong)(?: [^<>]{0,200})?/?>", re.I)
_TYPOGRAPHIC = str.maketrans(
    {
        "“": '"',
        "”": '"',
        "„": '"',
        "‘": "'",
        "’": "'",
        "–": "-",
        "—": "-",
        "\u00a0": " ",
        "…": "...",
    }
)
_ESCAPED = re.compile(r"\\([nrt\"/])")
_PROCESS = re.compile(
    r"\A[ \t>#*`]{0,20}(?P<name>[A-Za-z][\w.-]{0,80}?)[ \t]{0,40}\| "  # docker compose
)


def plain(line: str) -> str:
    """The words of the line, with single blanks between them."""
    if "\x1b" in line:
        line = _COLOUR.sub("", line)
    if "&" in line:
        line = _ENTITY.sub(lambda m: html.unescape(m[0]), line)
    if "<" in line:
        line = _TAG.sub(" ", line)
    if "\\" in line:
        line = _ESCAPED.sub(lambda m: '"' if m[1] == '"' else "/" if m[1] == "/" else " ", line)
    if not line.isascii():
        line = line.translate(_TYPOGRAPHIC)
    return " ".join(line.replace("**", " ").split())


def process_of(line: str) -> str:
    """The service that a prefix of docker compose names; empty if there is none."""
    found = _PROCESS.match(line)
    return found["name"] if found else ""
