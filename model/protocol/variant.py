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
    """A contract: all that a protocol says of itself. One test holds every variant to it."""

    # The name on the command line, in snake_case.
    name: str
    # A few words for a list, and a paragraph that names the KIPs.
    title: str
    doc: str
    # `scope_type(**fields)` validates itself and raises `ScopeError`.
    scope_type: type[Any]
    # The spec at a scope, without invariants: those are a floor above.
    spec: Callable[[Any], Spec]
    # Fault -> what happens.
    faults: Mapping[str, str] = field(factory=dict)
    # Assignor -> what it does.
    assignors: Mapping[str, str] = field(factory=dict)
    # The names of the rules that the coordinator runs: on a request, on a timer, at the end of an
    # append. All others are the members' and the links'.
    coordinator: frozenset[str] = frozenset()
    # `tell(step, before, after)` says one transition in words; states map slot to value.
    tell: Callable[[Step, Mapping[str, Any], Mapping[str, Any]], str] | None = None
    # `story(path)` gives the data of the picture.
    story: Callable[[Path], Any] | None = None
    # Fault -> the outcomes each of which always spends one of it. In a scope in which the fault
    # can be spent, at least one of them fires.
    spent_by: Mapping[str, tuple[str, ...]] = field(factory=dict)
    # A few small scopes, the smallest first, that together fire every outcome and meet every
    # goal, except those in `unreached`.
    covers: tuple[Cover, ...] = ()
    # Outcome or goal -> why no scope reaches it.
    unreached: Mapping[str, str] = field(factory=dict)

    def cover_of(self, name: str) -> Cover | None:
        """The smallest cover scope that fires this outcome or meets this goal; None if
        none does.
        """
        return next((cover for cover in self.covers if name in cover.reaches), None)
