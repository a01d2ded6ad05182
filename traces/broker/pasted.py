"""A coordinator's line as people paste it: in a table, in bold, as HTML, quoted, with columns
behind it, without its marker. Each of its readings takes off more than the one before; the first
that a version of Kafka is known to print counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import evolve

from groupcheck.traces.lines.envelope import CoordinatorSentence, coordinator_sentence
from groupcheck.traces.lines.marks import plain_typography, without_bold, without_html
from groupcheck.traces.lines.timestamps import parse_time

BEGINNINGS = (
    "Preparing to rebalance group ",
    "Stabilized group ",
    "Assignment received from leader ",
    "Dynamic Member with unknown member id joins group ",
    "Dynamic member with unknown member id joins group ",
    "Dynamic member with member id ",
    "Pending dynamic member with id ",
    "Unloading group metadata for ",
    "Loading group metadata for ",
)
"""Sentences of a coordinator that nothing else prints, so that they need no marker."""
_BARE = re.compile(
    "(?:" + "|".join(map(re.escape, BEGINNINGS)) + r"|Group \S+ with generation \d+ is now empty"
    r"|Member \S+ in group \S+ has (?:failed|left)"
    r"|\[Group \S+\] (?:Member|Dynamic|Static|Computed|Assigned|Bumped)\b"
    r"|\[GroupId[ =][^\]\s]{1,249}\](?:\[MemberId [^\]\s]{1,300}\])? [A-Z])"
)
_EMPHASIS = re.compile(r"__(?=[\[\]A-Z])|(?<=[\]a-z)])__|`")
_ESCAPE = re.compile(r"\\([\[\]_*<>\"'/()-])")
_LOGGER = re.compile(
    r"\s{0,20}[(\[{<](?:kafka\.coordinator|org\.apache\.kafka|k\.c\.g|o\.a\.k)\.[\w.$]{1,200}(?::\d+)?"
    r"[)\]}>]"
)
_COLUMN = re.compile(r"\t|\s\|(?=\s|\Z)|\"(?=\s*(?:[,;|\]}]|\Z))|\s{3,}|\s\[[^\[\]]{0,200}\]\Z|</")
_AFTER = " \t|\"'*_,;>"
_MOST_COLUMNS = 8


def readings(line: str) -> Iterator[CoordinatorSentence]:
    """The possible readings of the line, from the one that takes least of it for wrapping on."""
    line = _unmarked(line)
    as_it_is = coordinator_sentence(line)
    if as_it_is is not None:
        yield as_it_is
        yield from _shorter(as_it_is)
    clean = _clean(line)
    if clean != line:
        sentence = coordinator_sentence(clean)
        if sentence is not None:
            yield sentence
            yield from _shorter(sentence)
    if as_it_is is None:
        bare = _BARE.search(clean)
        if bare is not None:
            before = clean[: bare.start()]
            time = parse_time(before[-200:])
            for java in (False, True):
                sentence = CoordinatorSentence(clean[bare.start() :].strip(), time, None, java)
                yield sentence
                yield from _shorter(sentence)


def _unmarked(line: str) -> str:
    """The line without HTML and without bold type, which no line has of itself."""
    return without_bold(without_html(line))


def _clean(line: str) -> str:
    """The line without other marks of Markdown, which may also be part of a name."""
    if "\\" in line:
        line = _ESCAPE.sub(r"\1", line)
    return _EMPHASIS.sub("", plain_typography(line))


def _shorter(sentence: CoordinatorSentence) -> Iterator[CoordinatorSentence]:
    """The sentence without its logger and what follows it, or without the last columns."""
    text = sentence.text
    logger = _LOGGER.search(text)
    if logger is not None:
        yield evolve(sentence, text=text[: logger.start()].rstrip(_AFTER))
    if text.rstrip(_AFTER) != text:
        yield evolve(sentence, text=text.rstrip(_AFTER))
    ends = [m.start() for m in _COLUMN.finditer(text)]
    for end in reversed(ends[:_MOST_COLUMNS]):
        yield evolve(sentence, text=text[:end].rstrip(_AFTER))
