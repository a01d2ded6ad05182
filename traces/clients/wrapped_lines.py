"""Lines that were broken in two when they were pasted, inside of the brackets at their end: what
stands in the brackets (a reason, the logger) goes on in the line behind.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator

from groupcheck.traces.lines.rests import MOST_PARTS, may_be_rest

MARKS = ("[GroupCoordinator ", "[GroupMetadataManager ", "[Consumer ")
_NO_REST = re.compile(r"\s|[\[{]")
"""Records of many loggers begin with a bracket, and what is indented has a layout of its own."""
_LEFT, _RIGHT = re.compile(r"[\w.$-]*\Z"), re.compile(r"[\w.$-]*")
_ID = re.compile(r"[\w.-]*[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LOGGER = re.compile(r"(?:[a-z]\w*\.){2,20}[\w$]*\Z")


def joined(lines: Iterable[tuple[int, str]], words: Container[str]) -> Iterator[tuple[int, str]]:
    """The lines, as (number, text); one whose brackets end in the lines behind it, with these.
    `words`: words of sentences, which a break may go through.
    """
    held: tuple[int, str] | None = None
    parts = 0
    for number, line in lines:
        if held is not None:
            first, text = held
            goes_on = number == first + parts and not _NO_REST.match(line)
            if goes_on and may_be_rest(line):
                whole = text + _between(text, line, words) + line
                if not _is_open(whole):
                    yield first, whole
                    held = None
                elif parts < MOST_PARTS:
                    held, parts = (first, whole), parts + 1
                else:
                    yield first, whole
                    held = None
                continue
            yield held
            held = None
        if "(" in line and _is_open(line) and any(mark in line for mark in MARKS):
            held, parts = (number, line), 1
        else:
            yield number, line
    if held is not None:
        yield held


def _is_open(line: str) -> bool:
    return line.count("(") > line.count(")")


def _between(left: str, right: str, words: Container[str]) -> str:
    """What stood where the line was broken: nothing inside of a word, else a blank."""
    before, after = _LEFT.search(left), _RIGHT.match(right)
    if before is None or after is None or not before[0] or not after[0]:
        return "" if left.endswith("(") or right.startswith(")") else " "
    word = before[0] + after[0]
    id = _ID.fullmatch(word) and not (_ID.fullmatch(after[0]) and before[0] in words)
    inside = id or _LOGGER.match(before[0])
    known = word in words and not (before[0] in words and after[0] in words)
    return "" if inside or known else " "
