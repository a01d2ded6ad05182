"""What a mutation is: a known bug as data. It replaces named rules of a healthy variant and says
which promise must then fall.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec
from groupcheck.model.engine.rule import Rule

SEEDED = "seeded"  # the `ticket` of a mistake that nobody is known to have made


@frozen
class Mutation:
    """One bug. `ticket` is where it was found (several: with commas), or `SEEDED`; `title` says in
    one line what goes wrong.

    `invariant` is the one that falls, and the only one, in the scope of `scope` (fields of the
    variant's scope), the smallest that shows it.
    `doc`: what the software did, and how the model seeds it.
    """

    id: str
    ticket: str
    title: str
    variant: str
    invariant: str
    doc: str
    scope: Mapping[str, Any]
    replaced: tuple[Rule, ...]

    @property
    def rule(self) -> str:
        """The names of the rules that it replaces."""
        return ", ".join(r.name for r in self.replaced)

    def apply(self, spec: Spec) -> Spec:
        """The spec with the bug in it. Raises `SpecError` if it has no such rule."""
        return spec.replaced(self.replaced)


def seeded(
    healthy: Rule, *, guarded: bool = True
) -> Callable[[Callable[..., Iterable[Any]]], Rule]:
    """Makes a rule of the same name, slots and labels with another body; `guarded` False drops the
    healthy rule's guard too.
    """

    def decorate(function: Callable[..., Iterable[Any]]) -> Rule:
        wanted, given = (list(inspect.signature(f).parameters) for f in (healthy.call, function))
        assert given == wanted, (
            f"{function.__name__} takes {given}, the healthy {healthy.name} {wanted}"
        )
        return attrs.evolve(healthy, call=function, guard=healthy.guard if guarded else None)

    return decorate
