"""The fields of a scope: what each means, which values it takes, and the error for any other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from attrs import field

from groupcheck.model.engine import ScopeError

Validator = Callable[[Any, Any, Any], None]


def bound(default: Any, doc: str, validator: Validator | None = None) -> Any:
    """A field of the scope with its meaning, one sentence or two for `groupcheck list scope`."""
    return field(default=default, metadata={"doc": doc}, validator=validator)


def within(name: str, value: object, least: int, most: int) -> None:
    """Raises `ScopeError` unless the value is a whole number from `least` to `most`."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ScopeError(f"{name} is {value!r}, not a number from {least} to {most}", where="scope")


def between(least: int, most: int) -> Validator:
    """A whole number from `least` to `most`."""
    return lambda scope, field, value: within(field.name, value, least, most)


def is_a(kind: type, words: str) -> Validator:
    """A value of this type. `words`: what is wrong with any other, after its `repr`."""

    def check(scope: Any, field: Any, value: object) -> None:
        if not isinstance(value, kind):
            raise ScopeError(f"{field.name} is {value!r}, {words}", where="scope")

    return check


def one_of(names: tuple[str, ...]) -> Validator:
    """One of these values."""

    def check(scope: Any, field: Any, value: object) -> None:
        if value not in names:
            raise ScopeError(
                f"{field.name} is {value!r}", where="scope", do="one of " + ", ".join(names)
            )

    return check


TRUTH = is_a(bool, "neither True nor False")


def fault_counts(
    given: Mapping[str, int] | Iterable[tuple[str, int]],
) -> tuple[tuple[str, int], ...]:
    """(fault, how often it may happen), sorted by name: the field `faults` of a scope."""
    pairs = given.items() if isinstance(given, Mapping) else given
    return tuple(sorted((name, count) for name, count in pairs))


def check_faults(
    faults: tuple[tuple[str, int], ...],
    any_faults: int | None,
    known: Iterable[str],
    lacks: Mapping[str, str] | None = None,
) -> None:
    """Raises `ScopeError` unless the fields `faults` and `any_faults` of a scope fit each other,
    and the faults are among `known`. `lacks`: why others of Kafka's are not there.
    """
    if any_faults is not None and faults:
        raise ScopeError(
            "faults and any_faults exclude each other",
            where="scope",
            do="give --fault for named ones or --any-faults N for any N",
        )
    there, seen = [*known], set()
    for name, count in faults:
        if why := (lacks or {}).get(name):
            raise ScopeError(f"there is no fault {name!r} here: {why}", where="scope")
        if name not in there:
            near = get_close_matches(name, there, 1)
            hint = f"did you mean {near[0]}?" if near else "one of " + ", ".join(there)
            raise ScopeError(f"unknown fault {name!r}", where="scope", do=hint)
        if name in seen:
            raise ScopeError(
                f"fault {name} is given twice", where="scope", do="give each fault once"
            )
        seen.add(name)
        within(f"fault {name}", count, 0, 100)


def check_interval(kafka: str, *, asked: bool, there: bool) -> None:
    """Raises `ScopeError` for an assignment interval (KIP-1263) that this version of Kafka has not
    got.
    """
    if asked and not there:
        raise ScopeError(
            f"Kafka {kafka} has no assignment interval",
            where="scope",
            do="take kafka=4.3.0 or newer, or leave out interval",
        )
