"""A variant of the protocol, as the doors see it: its scope, its spec, its faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from groupcheck.model.engine import Spec
from groupcheck.model.engine.verdict import Path, Step


@frozen
class Variant:
    """`scope_type(**fields)` validates itself (`ScopeError`); `spec(scope)` has no invariants yet:
    those are a floor above.

    `tell(step, before, after)` says one transition in words (states as mappings of slot to value);
    `story(path)` is the picture's data.
    """

    name: str
    title: str
    doc: str
    scope_type: type[Any]
    spec: Callable[[Any], Spec]
    faults: Mapping[str, str] = field(factory=dict)
    assignors: Mapping[str, str] = field(factory=dict)
    tell: Callable[[Step, Mapping[str, Any], Mapping[str, Any]], str] | None = None
    story: Callable[[Path], Any] | None = None
