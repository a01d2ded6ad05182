"""JSON from people: read strictly, within bounds, and never with a traceback."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from groupcheck.model.assignors import Partition, Partitions
from groupcheck.model.engine import UserError
from groupcheck.oracles.printable import printable
from groupcheck.traces.shipped import located

LARGEST = 16 << 20  # bytes of a file; Python's values of so much JSON take some 400 MB at worst
MOST_NUMBER = 2**31 - 1  # of a partition or a generation, as in Kafka
MOST_WEIGHT = 1_000_000
LONGEST_NAME = (
    249  # characters of a topic (Kafka's own bound); of a member, an instance or a rack the same
)


def read_json(path: Path) -> Any:
    """The one value in the file (-: standard input). Raises `UserError` for what cannot be read, is
    no JSON, repeats a key, or has numbers that are none.
    """
    where = "standard input" if str(path) == "-" else printable(str(path))
    try:
        with (
            nullcontext(sys.stdin.buffer) if str(path) == "-" else located(path).open("rb") as file
        ):
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}", where=where
        ) from None
    if len(data) > LARGEST:
        raise UserError(f"more than {LARGEST >> 20} MiB", where=where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"not UTF-8: byte {error.start} is 0x{data[error.start]:02x}", where=where
        ) from None
    if not text.strip():
        raise UserError("there is nothing in it", where=where)
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise UserError(
            f"not JSON: {error.msg}", where=f"{where}, line {error.lineno}, column {error.colno}"
        ) from None
    except _Wrong as error:
        raise UserError(str(error), where=where) from None
    except RecursionError:
        raise UserError("nested too deeply", where=where) from None
    except ValueError:  # Python refuses to read an integer of thousands of digits
        raise UserError("a number has too many digits", where=where) from None


class _Wrong(Exception):
    """What only the parser's hooks see."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, value in pairs:
        if name in read:
            raise _Wrong(f"the key {name_shown(name)} is given twice in one object")
        read[name] = value
    return read


def _no_number(name: str) -> NoReturn:
    raise _Wrong(f"{name} is no number of JSON's")


def name_shown(value: Any) -> str:
    """A value of the user's in an error: printable and short."""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
    text = printable(text)
    return text if len(text) <= 60 else f"{text[:57]}..."


def an_object(value: Any, where: str, known: frozenset[str] | None = None) -> Mapping[str, Any]:
    """An object, with no other keys than those known (None: any)."""
    if not isinstance(value, dict):
        raise UserError(f"{kind(value)} stands where an object should", where=where)
    for name in value:
        a_name(name, where)
        if known is not None and name not in known:
            raise UserError(
                f"unknown key {name_shown(name)}",
                where=where,
                do=f"known: {', '.join(sorted(known))}",
            )
    return value


def an_array(value: Any, where: str) -> list[Any]:
    """An array."""
    if not isinstance(value, list):
        raise UserError(f"{kind(value)} stands where an array should", where=where)
    return value


def a_name(value: Any, where: str) -> str:
    """A text that can be the name of something."""
    if not isinstance(value, str):
        raise UserError(f"{kind(value)} stands where a name should", where=where)
    if not 0 < len(value) <= LONGEST_NAME:
        raise UserError(
            f"a name has 1 to {LONGEST_NAME} characters, this one {len(value)}", where=where
        )
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise UserError(f"{name_shown(value)} has half a character in it", where=where)
    return value


def a_count(value: Any, where: str, most: int, least: int = 0) -> int:
    """A whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise UserError(f"{kind(value)} stands where a whole number should", where=where)
    if not least <= value <= most:
        shown = value if abs(value) < 10**18 else f"a number of {len(str(abs(value)))} digits"
        raise UserError(f"{shown} is not from {least} to {most}", where=where)
    return value


def kind(value: Any) -> str:
    """What a JSON value is called."""
    if value is None:
        return "null"
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number with a fraction",
        str: "a text",
        list: "an array",
        dict: "an object",
    }
    return names[type(value)]


def partitions_from(value: Any, where: str) -> Partitions:
    """Partitions from ["orders-0", "orders-1"] or {"orders": [0, 1]}; each at most once."""
    if isinstance(value, dict):
        given = [
            (topic, a_count(number, f"{where}.{topic}", MOST_NUMBER))
            for topic, numbers in an_object(value, where).items()
            for number in an_array(numbers, f"{where}.{topic}")
        ]
    else:
        given = [partition_from(name, where) for name in an_array(value, where)]
    seen: set[Partition] = set()
    for partition in given:
        if partition in seen:
            raise UserError(
                f"{name_shown(f'{partition[0]}-{partition[1]}')} is listed twice", where=where
            )
        seen.add(partition)
    return frozenset(seen)


def partition_from(value: Any, where: str) -> Partition:
    """(topic, number) from "orders-0"."""
    topic, dash, number = a_name(value, where).rpartition("-")
    if (
        not dash
        or not topic
        or not (number.isascii() and number.isdecimal())
        or len(number) > 10
        or int(number) > MOST_NUMBER
    ):
        raise UserError(
            f"{name_shown(value)} is no partition", where=where, do="write it as orders-0"
        )
    if topic.endswith("-"):
        raise UserError(
            f"{name_shown(value)} has a negative number",
            where=where,
            do=f'if the topic is called so: {{"{topic}": [{number}]}}',
        )
    return topic, int(number)


def a_weight(value: Any, where: str) -> Fraction:
    """A number above 0, as a fraction of at most six decimals."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{kind(value)} stands where a number should", where=where)
    if not 0 < value <= MOST_WEIGHT:  # an infinite number is not, either
        raise UserError(f"a weight is above 0 and at most {MOST_WEIGHT}", where=where)
    return Fraction(str(value)).limit_denominator(1_000_000) or Fraction(1, 1_000_000)
