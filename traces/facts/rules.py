"""What each kind of fact is: tables of `derived/*.toml`, and of a user's own file of causes.

    [[derived]]
    kind = "join_loop"
    sort = "repeats"
    of = ["joining"]
    at_least = 5
    every = 6000
    fields = { per_minute = "rate", repeats = "n" }
    text = "{subject} joins {per_minute:,} times a minute ({repeats:,} times)"

This finds each process that joins five times or more, at most six seconds apart on average. `sort`
says what is looked for:

- `changed`: the `value` of two statements one after the other differs; `went_back`: it is lower.
- `repeats`: so many statements in a run, evenly spaced (`even`), with the same `same`.
- `stands_still`: for `lasts` ms after a statement none of `ends` follows.
- `shared`: statements with so many different `value`s within `within` ms.

A table of another sort that has neither `value` nor `ends` counts statements, as `repeats` does.

A kind without `of` is found by Python (`traces/causes`); its table says how it is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any, Literal

from attrs import Factory, frozen

from groupcheck.traces.facts.needs import Need, read_tables
from groupcheck.traces.lines.timestamps import show_span

Sort = Literal["went_back", "stands_still", "repeats", "shared", "changed", "steps"]
SORTS: Mapping[Sort, str] = {
    "went_back": "went back",
    "stands_still": "stands still",
    "repeats": "repeats",
    "shared": "shared",
    "changed": "changed",
    "steps": "shown",
}
"""The word for each, the most telling first."""
Per = Literal["process", "partition", "broker", "group", "all groups"]


@frozen
class Rule:
    """One kind of fact."""

    # A kind of statement (sentences/kinds.toml): the fact is one, and causes may ask for it.
    kind: str
    sort: Sort
    # For whom it is computed: a process, a partition in one log, ...
    per: Per = "process"
    # The statements that are looked at; none for a kind that Python finds.
    of: tuple[Need, ...] = ()
    # Of these, not the ones that fit one of these.
    but: tuple[Need, ...] = ()
    # Fields that divide them further: `.kind`, `*` for all fields. With `in_a_row`, a statement
    # of another kind or with other fields ends the run.
    same: tuple[str, ...] = ()
    in_a_row: bool = False
    # The field whose values are compared or counted, and one of which `also` tells how many there
    # are.
    value: str = ""
    also: str = ""
    # So many statements (`repeats`) or different values (`shared`) at least.
    at_least: int = 2
    # From the first to the last in ms, at least and at most; on average between two of them; and
    # the longest between two in a row. Statements without times fit if `timeless` says so.
    least_span: int | None = None
    most_span: int | None = None
    every: int | None = None
    pause: int | None = None
    timeless: bool = True
    # The time between two is nearly the same each time.
    even: bool = False
    # `shared`: ms in which they lie.
    within: int = 0
    # `changed`: by so much at least, where it is a number; only upwards.
    least_step: int = 1
    up: bool = False
    # `stands_still`: what ends it, and how long it lasts at least.
    ends: tuple[Need, ...] = ()
    lasts: int = 0
    # What begins everything anew for the same subject.
    without: tuple[Need, ...] = ()
    # Where the subject says this anywhere, it is no such fact.
    never: tuple[Need, ...] = ()
    # What must stand between the first and the last, or before the first, whoever says it.
    between: tuple[Need, ...] = ()
    follows: tuple[Need, ...] = ()
    # It is followed while lines are read, in every line, and not in those that were kept.
    stream: bool = False
    # Field -> what it gets: a value of the run (n, span, rate, period, setting, distinct, also,
    # names, before, now, after, lasted, open, subject), a field of the statement, or `=text`.
    fields: Mapping[str, str] = Factory(dict)
    # The statement that it quotes, whose fields it has besides if `copies` says so.
    quotes: Literal["first", "last", "all"] = "last"
    copies: bool = False
    # A group with such a fact is in trouble.
    alarm: bool = False
    # Nothing shows that a group with such a fact is calm.
    unsettles: bool = False
    # What it says, as a part of a sentence; each part between bars is left out where a field of it
    # is missing. Empty for facts that only causes use.
    text: str = ""

    @property
    def search(self) -> Sort:
        """How it is looked for: a statement that tells a fact by itself is a run of its own."""
        alone = not (self.value or self.ends or self.sort == "shared")
        return "repeats" if alone else self.sort


class _Words(Formatter):
    """Writes `{after:span}` as a duration and `{name:,}` with commas if it is a number."""

    def format_field(self, value: Any, spec: str) -> str:
        if spec == "if":  # the part stands there if the field does
            return ""
        if spec == "span":
            return show_span(value) if isinstance(value, int | float) else str(value)
        return format(value, spec if isinstance(value, int | float) else "")


_WORDS = _Words()
MOST_CHARS = 200
"""Of a value in a sentence."""


def written(text: str, values: Mapping[str, Any]) -> str:
    """The text with the values in it."""
    short = {k: v[:MOST_CHARS] if isinstance(v, str) else v for k, v in values.items()}
    parts = []
    for part in text.split("|"):
        names = [name for _, name, _, _ in _WORDS.parse(part) if name]
        if all(short.get(name) not in (None, "") for name in names):
            parts.append(_WORDS.vformat(part, (), short))
    return "".join(parts)


def read_rules(text: str, where: str) -> list[Rule]:
    """The rules of one TOML text. Raises `UserError` if they are not as this module says."""
    return read_tables(text, "derived", list[Rule], "fact", where)


@cache
def shipped_rules() -> Mapping[str, Rule]:
    """The rules that ship with the package, by kind."""
    folder = files("groupcheck.traces.facts") / "derived"
    some = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return {r.kind: r for f in some for r in read_rules(f.read_text("utf-8"), f.name)}


def needs_of_rules(rules: Iterable[Rule]) -> list[Need]:
    """Everything that the rules look at."""
    return [
        need
        for r in rules
        for some in (r.of, r.but, r.ends, r.without, r.never, r.between, r.follows)
        for need in some
    ]
