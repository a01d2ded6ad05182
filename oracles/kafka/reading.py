"""The driver's JSON as values. A field `session_timeout_ms` is the JSON's `sessionTimeoutMs`; a
field that the JSON leaves out keeps its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, override

from groupcheck.oracles.kafka.values import Offsets, Partitions, offsets, partitions

Json = Mapping[str, Any]
Assigned = Partitions | str | None
"""An assignment: None if there is none, a text if its bytes are not of the consumer protocol."""

_CONVERTER = Converter(detailed_validation=False)
T = TypeVar("T")


def json_name(name: str) -> str:
    """`sessionTimeoutMs` for `session_timeout_ms`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def read(json: Json, kind: type[T]) -> T:
    """A value of the attrs class `kind`."""
    return _CONVERTER.structure(json, kind)


def written_as(kind: Any, reader: Callable[[Any], Any]) -> None:
    """Has `reader` read the fields that are annotated with `kind`."""
    _CONVERTER.register_structure_hook_func(lambda k: k == kind, lambda json, _: reader(json))


def _reader(kind: Any) -> Callable[[Any, Any], Any]:
    attrs.resolve_types(kind)
    names = {a.name: override(rename=json_name(a.name)) for a in attrs.fields(kind)}
    reader = make_dict_structure_fn(kind, _CONVERTER, **names)  # type: ignore[arg-type]
    if "subscription" in names:
        # The driver writes the subscription among the fields of its member.
        return lambda json, _: reader({**json, "subscription": json}, kind)
    return reader


_CONVERTER.register_structure_hook_factory(attrs.has, _reader)
written_as(Partitions, partitions)
written_as(Assigned, lambda json: partitions(json) if isinstance(json, dict) else json)
written_as(Offsets, offsets)
