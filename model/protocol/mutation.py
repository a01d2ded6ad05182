"""A mutation is a known bug as data. It replaces named rules of a healthy variant and says which
promise must then fall.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
from attrs import field, frozen

from groupcheck.model.engine import Spec, SpecError
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.variant import Variant

SEEDED = "seeded"  # the `ticket` of a mistake that nobody is known to have made


@frozen
class MutatedRule:
    """A rule with a bug in it, and the healthy rule whose place it takes."""

    rule: Rule
    healthy: Rule


@frozen
class Mutation:
    """One bug. It is a bug of every variant of its family whose spec has the healthy rules."""

    id: str
    # Where it was found (several: with commas), or `SEEDED`.
    ticket: str
    # What goes wrong, in one line.
    title: str
    family: Family
    # The one promise that falls, in the scope of `scope`.
    invariant: str
    # What the software did, and how the model seeds it.
    doc: str
    # The smallest scope of the family's base variant that shows the bug.
    scope: Mapping[str, Any]
    seeds: tuple[MutatedRule, ...] = ()
    # Rule of a feature -> what the bug makes of it, whatever the features have made of it before.
    twists: Mapping[str, Callable[[Rule], Rule]] = field(factory=dict)
    # Families beside which it cannot be put in, and why.
    apart: Mapping[Family, str] = field(factory=dict)
    # The promise about progress that falls in the scope of `progress_scope`, and that scope, the
    # smallest that shows it; empty if none is known to fall.
    progress: str = ""
    progress_scope: Mapping[str, Any] = field(factory=dict)

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules that it changes."""
        return (*(seed.rule.name for seed in self.seeds), *self.twists)

    @property
    def rule(self) -> str:
        """The same as one text."""
        return ", ".join(self.rules)

    def concerns(self, variant: Variant) -> bool:
        """Is it a bug of this variant?"""
        if self.family not in variant.every_family or self.apart.keys() & {*variant.families}:
            return False
        fields = attrs.fields_dict(variant.scope_type)
        on = {
            name: self.scope.get(name, True)
            for name, family in variant.switched.items()
            if name in fields and (family == self.family or name in self.scope)
        }
        return not self._lacking(variant.spec(variant.scope_type(**on)))

    def _lacking(self, spec: Spec) -> list[str]:
        """The rules to be changed that the spec lacks, or has in another form."""
        there = {r.name for r in spec.rules}
        lacking = [seed.healthy.name for seed in self.seeds if seed.healthy not in spec.rules]
        return lacking + [name for name in self.twists if name not in there]

    def apply(self, spec: Spec) -> Spec:
        """The spec with the bug in it. Raises `SpecError` if it lacks one of the healthy rules, or
        has another rule in its place, as a feature may do.
        """
        for name in self._lacking(spec):
            raise SpecError(
                f"mutation {self.id} changes the rule {name}, which"
                f" {spec.name} does not have, or has in another form",
                do="choose a mutation of another rule, or another variant",
            )
        twisted = [self.twists[r.name](r) for r in spec.rules if r.name in self.twists]
        return spec.replaced([*(seed.rule for seed in self.seeds), *twisted])


def seeded(
    healthy: Rule, *, guarded: bool = True
) -> Callable[[Callable[..., Iterable[Any]]], MutatedRule]:
    """Makes a rule of the same name, slots and labels with another body; `guarded` False drops the
    healthy rule's guard, too.
    """

    def decorate(function: Callable[..., Iterable[Any]]) -> MutatedRule:
        wanted, given = (list(inspect.signature(f).parameters) for f in (healthy.call, function))
        assert given == wanted, (
            f"{function.__name__} takes {given}, the healthy {healthy.name} {wanted}"
        )
        guard = healthy.guard if guarded else None
        return MutatedRule(attrs.evolve(healthy, call=function, guard=guard), healthy)

    return decorate
