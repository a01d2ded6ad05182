"""Kafka's errors as every library prints them: by name, by number, by class or in words.

The table is `errors.toml`. An error means the same kind of statement in the log of any library.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from attrs import Factory, frozen

from groupcheck.traces.lines.shapes import by_shape


@frozen(kw_only=True)
class KnownError:
    """One error."""

    # As the protocol numbers it; negative if librdkafka raises it by itself.
    number: int
    # What a line that holds it says; empty if the error alone says nothing about a group.
    kind: str = ""
    # Kind of a failed request -> what a line says instead, if the request failed with this error.
    turns: Mapping[str, str] = Factory(dict)
    # Older names.
    aliases: tuple[str, ...] = ()
    # Names of exceptions and constants without Err, Error and Exception.
    classes: tuple[str, ...] = ()
    # How libraries put it in words.
    texts: tuple[str, ...] = Factory(tuple)

    def every_text(self, name: str) -> Iterator[str]:
        """Every way to print this error, whose name is `name`."""
        for each in (name, *self.aliases):
            if each.startswith("_"):
                # A name such as _STATE ends other names; (state) is a symbol of Ruby.
                symbol = each.lower().strip("_")
                yield from (f"code={each}", f"ERR_{each}", f"KafkaError.{each}", f"({symbol})")
            else:
                yield from (each, each.lower())  # Erlang and Ruby write it small
        for each in self.classes:
            for spelt in sorted({each, each.replace("Id", "ID")}):
                yield from (spelt, f"Err{spelt}", f"{spelt}Error", f"{spelt}Exception")
        for text in self.texts:
            yield text
            origin, _, told = text.partition(": ")
            if origin in ("Broker", "Local"):  # node-rdkafka prints the rest, and small
                yield from (f"Error: {told.lower()}", f"message: '{told.lower()}'")


LARGEST_EXIT_CODE = 13
"""Numbers up to this one are also exit codes of other programs."""
_NUMBERED = re.compile(
    r"(?:\[Error |\bval=|\bErr-|\b[Ee]rror[ _]?[Cc]odes?\"?\s?[=: ]\s?\[?)(?P<number>-?\d{1,3})\b"
)


def error_numbers(line: str, shape: bytes, of_kafka: bool) -> tuple[tuple[int, int, str], ...]:
    """Where a line of this shape shows an error by its number, as (begin, end, name). `of_kafka`: a
    library of Kafka wrote it. Any program may end with a small error code.
    """
    places = _numbers(shape)
    if not of_kafka:
        places = [
            (a, n, b)
            for a, n, b in places
            if line[a] not in "eE" or int(line[n:b]) > LARGEST_EXIT_CODE
        ]
    if not places:
        return ()
    named = names_by_number()
    found = ((begin, end, named.get(line[number:end], "")) for begin, number, end in places)
    return tuple(place for place in found if place[2])


@by_shape
def _numbers(line: str) -> list[tuple[int, int, int]]:
    """The places where numbers of errors may stand: (begin of what stands before, begin, end)."""
    if not any(mark in line for mark in ("rror", "val=", "Err-")):
        return []
    return [(hit.start(), hit.start("number"), hit.end()) for hit in _NUMBERED.finditer(line)]


@cache
def errors() -> Mapping[str, KnownError]:
    """Every known error by its name in the protocol."""
    text = (files("groupcheck.traces.clients") / "errors.toml").read_text("utf-8")
    return {name: KnownError(**about) for name, about in tomllib.loads(text).items()}


@cache
def names_by_number() -> Mapping[str, str]:
    """The names of errors by their numbers in the protocol, as text."""
    return {str(error.number): name for name, error in errors().items()}
