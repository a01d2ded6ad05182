"""What causes and facts ask of a statement: its kind, and the values of its fields."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from attrs import Factory, frozen
from cattrs import Converter, transform_error
from cattrs.gen import make_dict_structure_fn

from groupcheck.model.engine.errors import UserError
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.values import value_of

T = TypeVar("T")
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
    # What came before and after it: kinds of statements of which one must stand there, or none.
    after: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    not_after: tuple[str, ...] = ()
    not_before: tuple[str, ...] = ()
    # Kinds of which the same line says none: Kafka's own error is no handler's fault.
    not_beside: tuple[str, ...] = ()
    # So many ms away at most (without times, so many lines as `NEAR_LINES` says); 0: anywhere.
    within: int = 0
    # A field in which those before and after it must agree with it.
    same: str = ""
    # Only statements of the same writer come before and after it.
    own: bool = False

    def fits(self, said: Statement) -> bool:
        """Does the statement have such values? Its kind is not looked at."""
        for name, values in self.where.items():  # noqa: SIM110 - a generator costs more
            if not _fits(value_of(said, name), values):
                return False
        return True


def _need(value: Any, _: type) -> Need:
    """A need may be a bare kind, and a value stand without its list."""
    if isinstance(value, str):
        return Need(value)
    where = {k: v if isinstance(v, list) else [v] for k, v in value.get("where", {}).items()}
    return _whole({**value, "where": where}, Need)


_converter = Converter(forbid_extra_keys=True)
_whole = make_dict_structure_fn(Need, _converter)
_converter.register_structure_hook(Need, _need)


def read_tables(text: str, name: str, forms: type[list[T]], what: str, where: str) -> list[T]:
    """The tables of this name in a TOML text; each is a `what`. Raises `UserError` if the text is
    no TOML, or a table has another form.
    """
    try:
        return _converter.structure(tomllib.loads(text).get(name, []), forms)
    except tomllib.TOMLDecodeError as e:
        raise UserError(f"is not TOML: {e}", where=where) from None
    except Exception as e:
        told = "; ".join(transform_error(e))
        raise UserError(f"has a {what} that cannot be read: {told}", where=where) from None


@cache
def _parts(wanted: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The values that are refused, and those of which one has to be there."""
    refused = tuple(text[1:] for text in wanted if text.startswith("!"))
    return refused, tuple(text for text in wanted if not text.startswith("!"))


def _fits(value: object, wanted: tuple[str, ...]) -> bool:
    refused, some = _parts(wanted)
    if refused and any(_fits_one(value, text) for text in refused):
        return False
    if len(some) == 1:
        return _fits_one(value, some[0])
    return not some or any(_fits_one(value, text) for text in some)


def _fits_one(value: object, wanted: str) -> bool:
    """`wanted` is a text, a beginning (`a*`), a part (`*a*`), a bound (`<10`, `>=10`) or `-` for a
    field that is absent.
    """
    if value is None or wanted == "-":
        return value is None and wanted == "-"
    bound = _BOUND.match(wanted) if wanted[:1] in ("<", ">") else None
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
