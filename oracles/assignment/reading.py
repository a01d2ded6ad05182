"""JSON from people: read strictly, within bounds, and never with a traceback.

`structured` makes attrs values of it (cattrs). Every error is a `UserError` whose `where` is the
path of the value that does not fit: `members.c1.weight`, `constraints[0].most`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar, get_args, get_origin

import attrs
from cattrs import (
    AttributeValidationNote,
    ClassValidationError,
    Converter,
    ForbiddenExtraKeysError,
)
from cattrs.gen import make_dict_structure_fn

from groupcheck.model.assignors import Partition, Partitions
from groupcheck.model.assignors.group import NO_GENERATION
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.promises import ASSIGNORS, PROMISES
from groupcheck.oracles.explain.unknown import one_of
from groupcheck.oracles.printable import printable
from groupcheck.traces.sample_files import resolve_sample

LARGEST = 16 << 20  # bytes of a file; Python's values of so much JSON take at most some 400 MB
MOST_NUMBER = 2**31 - 1  # the largest number of a partition or a generation, as in Kafka
MOST_PARTITIONS = 200_000  # of all topics together
LARGEST_NUMBER = 1_000_000  # the largest weight, and the largest bound of a constraint
# Characters of a topic (Kafka's own bound). A member, an instance or a rack may have as many.
LONGEST_NAME = 249

Read = TypeVar("Read")
Hook = Callable[[Any, Any], Any]

KINDS = {
    type(None): "null",
    bool: "true or false",
    int: "a number",
    float: "a number with a fraction",
    str: "a text",
    list: "an array",
    dict: "an object",
}
HINTS = {
    "topics": 'give "topics": {"orders": 6}',
    "members": 'give "members": {"c1": {"subscribes": ["orders"]}}',
    "subscribes": 'give "subscribes": ["orders"], or [] for nothing',
}


def file_named(path: Path) -> str:
    """The file in an error; - is standard input."""
    return "standard input" if str(path) == "-" else printable(str(path))


def read_json(path: Path) -> Any:
    """The one value in the file (-: standard input). Raises `UserError` if the file cannot be read,
    is not JSON, repeats a key, or has a number that JSON does not have.
    """
    where = file_named(path)
    stdin = nullcontext(sys.stdin.buffer)
    try:
        with stdin if str(path) == "-" else resolve_sample(path).open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot be read: {getattr(error, 'strerror', None) or error}", where=where
        ) from None
    if len(data) > LARGEST:
        raise UserError(f"more than {LARGEST >> 20} MiB", where=where)
    return parsed(data, where)


def parsed(data: bytes, where: str = "") -> Any:
    """The one value in these bytes. Raises `UserError` as `read_json` does; `where` is the place of
    all of it.
    """
    try:
        text = data.decode("utf-8-sig")
        if not text.strip():
            raise UserError("there is nothing in it")
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        what = f"not UTF-8: byte {error.start} is 0x{data[error.start]:02x}"
    except json.JSONDecodeError as error:
        column = f"column {error.colno}"
        where = f"{where}, line {error.lineno}, {column}" if where else column
        what = f"not JSON: {error.msg}"
    except RecursionError:
        what = "nested too deeply"
    except ValueError:  # Python refuses to read an integer of thousands of digits
        what = "a number has too many digits"
    except UserError as error:
        what = error.what
    raise UserError(what, where=where)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, value in pairs:
        if name in read:
            raise UserError(f"the key {name_shown(name)} is given twice in one object")
        read[name] = value
    return read


def _no_number(name: str) -> NoReturn:
    raise UserError(f"JSON has no number {name}")


def name_shown(value: Any) -> str:
    """A value of the user's in an error: printable and short."""
    text = printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= 60 else f"{text[:57]}..."


def structured(value: Any, kind: type[Read], where: str = "") -> Read:
    """The JSON value as an attrs value or another type. Raises `UserError` where it does not fit;
    `where` is the path of the value itself.
    """
    try:
        return CONVERTER.structure(value, kind)
    except UserError as error:
        path = printable((where + error.where).removeprefix(".")) or "the document"
        raise UserError(error.what, where=path, do=error.do) from None


def _expected(value: Any, kind: type, what: str) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UserError(f"{KINDS[type(value)]} stands where {what} should")


def _text(value: Any, _: Any) -> str:
    _expected(value, str, "a text")
    return str(value)


def _name(value: Any, _: Any) -> str:
    """A text that can be the name of something."""
    _expected(value, str, "a name")
    if not 0 < len(value) <= LONGEST_NAME:
        raise UserError(f"a name has 1 to {LONGEST_NAME} characters, this one {len(value)}")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise UserError(f"{name_shown(value)} has half a character in it")
    return str(value)


def _name_of(what: str, names: Any, value: Any, _: Any) -> str:
    if _name(value, _) not in names:
        raise one_of(what, value, names)
    return str(value)


def _whole(least: int, most: int, value: Any, _: Any) -> int:
    _expected(value, int, "a whole number")
    if not least <= value <= most:
        raise UserError(f"{name_shown(value)} is not from {least} to {most}")
    return int(value)


def _weight(value: Any, _: Any) -> Fraction:
    """A number above 0, as a fraction of at most six decimals."""
    _expected(value, int | float, "a number")  # type: ignore[arg-type]
    if not 0 < value <= LARGEST_NUMBER:  # this refuses an infinite number, too
        raise UserError(f"a weight is above 0 and at most {LARGEST_NUMBER}")
    return Fraction(str(value)).limit_denominator(1_000_000) or Fraction(1, 1_000_000)


def _partition(value: Any, _: Any) -> Partition:
    """(topic, number) from "orders-0"."""
    topic, _dash, number = _name(value, _).rpartition("-")
    digits = number.isascii() and number.isdecimal() and len(number) <= 10
    if not topic or not digits or int(number) > MOST_NUMBER:
        raise UserError(f"{name_shown(value)} is no partition", do="write it as orders-0")
    if topic.endswith("-"):
        raise UserError(
            f"{name_shown(value)} has a negative number",
            do=f'if the topic is called so: {{"{topic}": [{number}]}}',
        )
    return topic, int(number)


def _partitions(value: Any, _: Any) -> Partitions:
    """Partitions from ["orders-0", "orders-1"] or {"orders": [0, 1]}; each at most once."""
    if isinstance(value, dict):
        numbers = CONVERTER.structure(value, dict[Name, list[Number]])
        given: Iterable[Partition] = ((t, n) for t, of_topic in numbers.items() for n in of_topic)
    else:
        given = CONVERTER.structure(value, list[PartitionName])
    seen: set[Partition] = set()
    for partition in given:
        if partition in seen:
            raise UserError(f"{name_shown(f'{partition[0]}-{partition[1]}')} is listed twice")
        seen.add(partition)
    return frozenset(seen)


def _is(origin: Any, kind: Any) -> bool:
    return get_origin(kind) is origin


def _list(kind: Any, converter: Converter) -> Hook:
    (of,) = get_args(kind)
    read = converter.get_structure_hook(of)

    def hook(value: Any, _: Any) -> list[Any]:
        _expected(value, list, "an array")
        return [_inside(f"[{k}]", read, one, of) for k, one in enumerate(value)]

    return hook


def _dict(kind: Any, converter: Converter) -> Hook:
    _, of = get_args(kind)
    read = converter.get_structure_hook(of)

    def hook(value: Any, _: Any) -> dict[str, Any]:
        _expected(value, dict, "an object")
        return {_name(k, _): _inside(f".{k}", read, one, of) for k, one in value.items()}

    return hook


def _inside(step: str, read: Hook, value: Any, kind: Any) -> Any:
    """The first mistake ends the reading: a hostile file cannot make millions of them."""
    try:
        return read(value, kind)
    except UserError as error:
        raise UserError(error.what, where=step + error.where, do=error.do) from None


def _object(kind: Any, converter: Converter) -> Hook:
    read = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True)

    def hook(value: Any, _: Any) -> Any:
        _expected(value, dict, "an object")
        try:
            return read(value, kind)
        except ClassValidationError as errors:
            raise _mistake(errors, kind) from None

    return hook


def _mistake(errors: ClassValidationError, kind: type) -> UserError:
    """An unknown key, or else the first field that does not fit."""
    for error in errors.exceptions:
        if isinstance(error, ForbiddenExtraKeysError):
            known = ", ".join(sorted(field.name for field in attrs.fields(kind)))
            unknown = name_shown(min(error.extra_fields))
            return UserError(f"unknown key {unknown}", do=f"known: {known}")
    error = errors.exceptions[0]
    name = next(n.name for n in error.__notes__ if isinstance(n, AttributeValidationNote))
    if isinstance(error, KeyError):
        return UserError("is missing", where=f".{name}", do=HINTS.get(name, ""))
    assert isinstance(error, UserError), error
    return UserError(error.what, where=f".{name}{error.where}", do=error.do)


# Types of fields. Beside each stands the hook that reads it.
Name = Annotated[str, _name]
AssignorName = Annotated[str, partial(_name_of, "assignor of Kafka's", ASSIGNORS)]
PromiseName = Annotated[str, partial(_name_of, "promise", PROMISES)]
Size = Annotated[int, partial(_whole, 0, MOST_PARTITIONS)]
Number = Annotated[int, partial(_whole, 0, MOST_NUMBER)]
Generation = Annotated[int, partial(_whole, NO_GENERATION, MOST_NUMBER)]
Bound = Annotated[int, partial(_whole, 0, LARGEST_NUMBER)]
PositiveBound = Annotated[int, partial(_whole, 1, LARGEST_NUMBER)]
Milliseconds = Annotated[int, partial(_whole, 0, MOST_NUMBER)]
Weight = Annotated[Fraction, _weight]
PartitionName = Annotated[Partition, _partition]
PartitionSet = Annotated[Partitions, _partitions]

CONVERTER = Converter()
CONVERTER.register_structure_hook(str, _text)
for origin, factory in (
    (Annotated, lambda kind, _: kind.__metadata__[0]),
    (list, _list),
    (dict, _dict),
):
    CONVERTER.register_structure_hook_factory(partial(_is, origin), factory)
CONVERTER.register_structure_hook_factory(attrs.has, _object)
