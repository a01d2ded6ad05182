"""A variant of the protocol, as the doors see it: its scope, its spec, its faults, and the scopes
that show all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from groupcheck.model.engine import Spec
from groupcheck.model.engine.verdict import Path, Step


@frozen
class Cover:
    """A small scope, as `fields` of the variant's scope type (what is left out has its default),
    and what it `reaches`: the outcomes that fire and the goals that are met in it, and in no
    smaller cover scope of the variant.
    """

    fields: Mapping[str, Any]
    reaches: tuple[str, ...]


@frozen
class Variant:
    """`scope_type(**fields)` validates itself (`ScopeError`); `spec(scope)` has no invariants yet:
    those are a floor above.

    `faults`: name -> what happens. `spent_by`: fault -> the outcomes each of which always spends
    one of it; in a scope in which the fault can be spent, at least one of them fires.
    `tell(step, before, after)` says one transition in words (states as mappings of slot to value);
    `story(path)` is the picture's data.
    `covers`: a few small scopes, the smallest first, that together fire every outcome and meet
    every goal, except those in `unreached`: outcome or goal -> why no scope reaches it.
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
    spent_by: Mapping[str, tuple[str, ...]] = field(factory=dict)
    covers: tuple[Cover, ...] = ()
    unreached: Mapping[str, str] = field(factory=dict)

    def cover_of(self, name: str) -> Cover | None:
        """The smallest cover scope that fires this outcome or meets this goal; None if none does."""
        return next((cover for cover in self.covers if name in cover.reaches), None)
