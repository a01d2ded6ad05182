"""What causes and facts ask of a statement: its kind, and the values of its fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import Factory, frozen
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.values import value_of

ANY = "*"
"""In the place of a kind: statements of every kind."""
_BOUND = re.compile(r"(?P<sign><=?|>=?)(?P<limit>-?\d+(?:\.\d+)?)\Z")


@frozen
class Need:
    """Statements of one kind."""

    kind: str
    # Field -> the values that it may have, as text. `a*` stands for all that begin like it, `*a*`
    # for all that hold it, `<10` and `>=10` for numbers, `-` for a field that the line lacks, `!a`
    # for everything but `a`.
    where: Mapping[str, tuple[str, ...]] = Factory(dict)
    # So many statements at least.
    at_least: int = 1
    # Of so many different members at least.
    members: int = 1

    def fits(self, said: Statement) -> bool:
        """Does the statement have such values? Its kind is not looked at."""
        return all(_fits(value_of(said, name), values) for name, values in self.where.items())


def structured_needs(converter: Converter) -> None:
    """Teaches a converter that a need may be a bare kind, and a value stand without its list."""
    whole = make_dict_structure_fn(Need, converter)

    def need(value: Any, _: type) -> Need:
        if isinstance(value, str):
            return Need(value)
        where = {k: v if isinstance(v, list) else [v] for k, v in value.get("where", {}).items()}
        return whole({**value, "where": where}, Need)

    converter.register_structure_hook(Need, need)


def _fits(value: object, wanted: tuple[str, ...]) -> bool:
    refused = [text[1:] for text in wanted if text.startswith("!")]
    if any(_fits_one(value, text) for text in refused):
        return False
    some = [text for text in wanted if not text.startswith("!")]
    return not some or any(_fits_one(value, text) for text in some)


def _fits_one(value: object, wanted: str) -> bool:
    """`wanted` is a text, a beginning (`a*`), a part (`*a*`), a bound (`<10`, `>=10`) or `-` for a
    field that is absent.
    """
    if value is None or wanted == "-":
        return value is None and wanted == "-"
    bound = _BOUND.match(wanted)
    if bound is not None:
        if not isinstance(value, int | float):
            return False
        limit = float(bound["limit"])
        return {
            "<": value < limit,
            "<=": value <= limit,
            ">": value > limit,
            ">=": value >= limit,
        }[bound["sign"]]
    text = str(value)
    if wanted.startswith("*") and wanted.endswith("*"):
        return wanted[1:-1] in text
    return text.startswith(wanted[:-1]) if wanted.endswith("*") else text == wanted
