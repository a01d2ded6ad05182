"""Templates of log lines, matched in linear time from left to right.

A template is the sentence of a log call with its arguments in braces: `Stabilized group {group}
generation {generation:int}`. Free text may contain anything (group and member ids may have spaces,
commas and parentheses), so it ends at the first occurrence of the literal text that follows it; the
end of the template is anchored at the end of the line. There is no backtracking over free text: the
literal text between two free fields is searched once, from the end of the one before, so a hostile
line costs no more than a friendly one of the same length.

A template that is compiled with `whole=False` is looked for anywhere in a line: log lines that
people paste have frames around them and are cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from attrs import frozen

Fields = dict[str, Any]
Spans = dict[str, tuple[int, int]]
"""Field -> where it begins and ends in a line."""
Converter = Callable[[str], Any]

_PARTITION = r"[\w.\-]{1,249}-\d{1,9}"
CONSTRAINED: Mapping[str, str] = {
    "int": r"-?\d{1,18}",
    "state": r"(?:Empty|PreparingRebalance|CompletingRebalance|AwaitingSync|Stable|Dead)",
    "word": r"[A-Za-z_]+",
    "number": r"-?\d{1,18}(?:\.\d{1,9})?",
    # "t-0, t-1" or "[t-0, t-1]", may be empty; with the blank before
    "partitions": rf" ?\[?(?:{_PARTITION}(?:, ?{_PARTITION})*)?\]?",
    "token": r"[^\s,;()\[\]{}\"']{1,300}",
}
_FIELD = re.compile(r"\{(\w+)(?::(\w+))?\}")


@frozen
class _Anchor:
    """Literal text with constrained fields in it."""

    # The free field before it; None at the beginning of the line.
    before: str | None
    regex: str
    names: tuple[str, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is first needed: few of all templates are, in one run."""
        return re.compile(self.regex)


@frozen
class Template:
    """A compiled template."""

    text: str
    # The literal text with which it begins.
    opening: str
    # Field -> kind of its value.
    kinds: Mapping[str, str]
    anchors: tuple[_Anchor, ...]
    # The free field at the end, if there is one.
    last: str | None
    # It must match the line from its beginning to its end.
    whole: bool = True
    # The longest literal text in it, which every line has that it matches.
    longest: str = ""

    def match(self, line: str) -> dict[str, str] | None:
        """The text of every field, or None. A free field is never empty, except the last one."""
        located = self.locate(line)
        return None if located is None else {name: line[a:b] for name, (a, b) in located[2].items()}

    def locate(self, line: str) -> tuple[int, int, Spans] | None:
        """Where the text and its fields begin and end, or None."""
        begin = at = 0
        found: Spans = {}
        for anchor in self.anchors:
            if anchor.before is None:
                find = anchor.pattern.match if self.whole else anchor.pattern.search
                hit = find(line, at)
            else:
                hit = anchor.pattern.search(line, at + 1)
            if hit is None:
                return None
            if anchor.before is None:
                begin = hit.start()
            if anchor.before is not None:
                found[anchor.before] = at, hit.start()
            for name in anchor.names:
                found[name] = hit.span(name)
            at = hit.end()
        if self.last is not None:
            found[self.last], at = (at, len(line)), len(line)
        elif self.whole and at != len(line):
            return None
        return begin, at, found


def _pieces(text: str) -> Iterator[tuple[str, str, str]]:
    """(literal, field, kind) in order; the last one with an empty field if the template ends with
    literal text.
    """
    at = 0
    for m in _FIELD.finditer(text):
        yield text[at : m.start()], m[1], m[2] or "text"
        at = m.end()
    if at < len(text):
        yield text[at:], "", ""


def compile_template(text: str, whole: bool = True) -> Template:
    """Compiles `text`. Two free fields must have literal text between them."""
    anchors: list[_Anchor] = []
    kinds: dict[str, str] = {}
    before: str | None = None
    regex, names = "", []
    for literal, name, kind in _pieces(text):
        regex += re.escape(literal)
        if not name:
            continue
        assert name not in kinds, text
        kinds[name] = kind
        if kind in CONSTRAINED:
            regex += f"(?P<{name}>{CONSTRAINED[kind]})"
            names.append(name)
            continue
        assert regex or (before is None and not anchors), f"two free fields touch in {text!r}"
        if regex:
            anchors.append(_Anchor(before, regex, tuple(names)))
        regex, names, before = "", [], name
    if regex:
        end = r"\Z" if whole else ""
        anchors.append(_Anchor(before, regex + end, tuple(names)))
        before = None
    opening = text.split("{", 1)[0]
    longest = max((literal for literal, _, _ in _pieces(text)), key=len)
    return Template(text, opening, kinds, tuple(anchors), before, whole, longest)
