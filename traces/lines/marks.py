"""Marks that people, browsers and editors put into a line when they paste it: HTML, bold type,
typographic quotes.
"""

from __future__ import annotations

import html
import re

_ENTITY = re.compile(r"&(?:quot|lt|gt|amp|apos|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,4});")
_TAG = re.compile(
    r"</?(?:a|b|i|p|u|em|br|hr|div|pre|code|span|strong|mark|font|td|tr|th|li|tt)"
    r"(?:\s[^<>]{0,300})?/?>",
    re.IGNORECASE,
)
_TYPOGRAPHIC = str.maketrans(
    {
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "\u2018": "'",
        "\u2019": "'",
        "\u2013": "-",
        "\u2014": "-",
        "\u00a0": " ",
        "\u202f": " ",
        "\u2026": "...",
    }
)


_WORD = r"[<\[({](?:redacted|masked|hidden|removed|anonymi[sz]ed)[>\])}]"
"""Only in brackets: a group or a client may be called `hidden`."""
_MASK = re.compile(rf"\*+|x{{3,}}-(?:x+-?)+|{_WORD}", re.I)
_HAS_MASK = re.compile(rf"\*{{3}}|\bx{{3,}}-x|{_WORD}", re.I)


def is_mask(name: str) -> bool:
    """Does it stand for any name that somebody did not want to show?"""
    return _MASK.fullmatch(name) is not None


def has_mask(line: str) -> bool:
    """Does a mask stand in the line?"""
    return _HAS_MASK.search(line) is not None


def without_html(line: str, between: str = "") -> str:
    """The line without tags, and with the characters that entities stand for. `between` stands
    where a tag stood.
    """
    if "<" in line:
        line = _TAG.sub(between, line)
    if "&" in line:
        line = _ENTITY.sub(lambda found: html.unescape(found[0]), line)
    return line


def without_bold(line: str, between: str = "") -> str:
    """The line without the asterisks of bold type in Markdown."""
    return line.replace("**", between)


def plain_typography(line: str) -> str:
    """The line with the quotes, dashes and blanks that a keyboard has."""
    return line if line.isascii() else line.translate(_TYPOGRAPHIC)
