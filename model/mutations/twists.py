"""How a known bug changes a rule: it reads the scope otherwise, or leaves other values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import attrs

from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.transform import rewritten

Twists = Mapping[str, Callable[[Rule], Rule]]
Values = dict[str, Any]


def reads(*rules: Rule, **reading: Any) -> Twists:
    """These rules see a scope with another reading."""
    return in_scope(*rules, change=lambda scope: attrs.evolve(scope, **reading))


def in_scope(*rules: Rule, change: Callable[[Any], Any]) -> Twists:
    """These rules see another scope: `change` makes it of the one that there is."""
    other = cache(change)

    def twist(rule: Rule) -> Rule:
        def call(*given: Any) -> Any:
            *slots, scope = given
            return rule.call(*slots, other(scope))

        return rewritten(rule, call)

    return {rule.name: twist for rule in rules}


def sees(rule: Rule, change: Callable[[Values], Values]) -> Twists:
    """The rule is given other values: `change` takes those that there are."""

    def twist(healthy: Rule) -> Rule:
        def call(*given: Any) -> Any:
            at = len(healthy.takes)
            values = dict(zip(healthy.slots, given[at:]))
            rest = given[at + len(values) :]
            return healthy.call(*given[:at], *{**values, **change(values)}.values(), *rest)

        return rewritten(healthy, call)

    return {rule.name: twist}


def after(*rules: Rule, change: Callable[[Values, str, Values], Values]) -> Twists:
    """The rules leave other values: `change` takes those before, the label, those after."""

    def twist(healthy: Rule) -> Rule:
        def call(*given: Any) -> Iterator[Any]:
            before = dict(zip(healthy.slots, given[len(healthy.takes) :]))
            for yielded in healthy.call(*given):
                label = yielded[:1] if healthy.labels else ()
                values = dict(zip(healthy.slots, yielded[len(label) :]))
                values.update(change(before, label[0] if label else "", values))
                yield (*label, *values.values())

        return rewritten(healthy, call)

    return {rule.name: twist for rule in rules}
