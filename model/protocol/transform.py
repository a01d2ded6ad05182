"""Transformations of a spec: what a feature, a mutation or a variation of the tests makes of it.

A feature takes a spec and gives one with other rules and slots, so features compose: a variant is
a family's spec with some features applied, and never a copy. Mutations (known bugs) and the tests'
variations (one abstraction taken out) are built from the same three functions.

A feature takes the rule that the spec has (`own`) and not the one of its module. Promises name
rules, so a feature leaves the coordinator's rules in place even if nobody asks for them any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import attrs

from groupcheck.model.engine import Spec, SpecError
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.slot import Slot

Transformation = Callable[[Spec], Spec]
Outcomes = Iterable[Any]
Widened = Callable[[dict[str, Any], str, dict[str, Any], Any], Any]
Values = Mapping[str, Any]
Changed = Values | tuple[str, Values] | None
Change = Callable[[dict[str, Any], str, dict[str, Any]], Changed]


def composed(spec: Spec, features: Iterable[Transformation]) -> Spec:
    """The spec with features applied, one after the other."""
    return reduce(lambda so_far, feature: feature(so_far), features, spec)


def rebuilt(
    base: Spec, rules: Sequence[Rule] = (), more: Sequence[Rule] = (), **slots: Slot
) -> Spec:
    """The spec with `rules` in place of those of the same names, `more` rules after them, and
    `slots` added or replaced. Raises `SpecError` if a rule to be replaced does not exist.
    """
    new = {r.name: r for r in rules}
    if missing := new.keys() - {r.name for r in base.rules}:
        raise SpecError(f"there is no rule {min(missing)!r} to replace", where=base.name)
    kept = [new.get(r.name, r) for r in base.rules]
    return attrs.evolve(base, slots={**base.slots, **slots}, rules=(*kept, *more))


def own(spec: Spec, rule: Rule) -> Rule:
    """The rule of this name as the spec has it: an earlier feature may have changed it."""
    return next(r for r in spec.rules if r.name == rule.name)


def without(spec: Spec, *rules: Rule) -> Spec:
    """The spec without these rules: what they do does not happen here."""
    gone = {r.name for r in rules}
    return attrs.evolve(spec, rules=[r for r in spec.rules if r.name not in gone])


def inserted(spec: Spec, before: Rule, *rules: Rule) -> Spec:
    """The spec with these rules just before another one. (Urgent rules apply in their order.)"""
    at = next(k for k, r in enumerate(spec.rules) if r.name == before.name)
    return attrs.evolve(spec, rules=(*spec.rules[:at], *rules, *spec.rules[at:]))


def rewritten(original: Rule, call: Callable[..., Outcomes], *slots: str, **changes: Any) -> Rule:
    """The same rule (name, labels, guard, urgency) with another body, and other slots if any are
    given. A body without a docstring has that of the original.
    """
    call.__doc__ = call.__doc__ or original.call.__doc__
    return attrs.evolve(original, call=call, slots=slots or original.slots, **changes)


def extended(original: Rule, change: Widened, *more: str) -> Rule:
    """The same rule over `more` slots, too, with every outcome changed.

    `change(before, label, after, scope)` sees the values by slot, where those of `more` have not
    changed yet, and gives those afterwards; or another label with them.
    """
    assert not original.written, original.name
    slots = (*original.slots, *(slot for slot in more if slot not in original.slots))

    def call(*args: Any) -> Iterator[Any]:
        start = len(original.takes)
        values, scope = args[start:-1], args[-1]
        before = dict(zip(slots, values, strict=True))
        given = (*args[:start], *values[: len(original.slots)])
        for y in original.call(*given, *((scope,) if original.takes_scope else ())):
            outcome = y if isinstance(y, tuple) else (y,)
            label, outcome = (outcome[0], outcome[1:]) if original.labels else ("", outcome)
            after = {**before, **dict(zip(original.slots, outcome, strict=True))}
            told = change(before, label, after, scope)
            label, after = told if isinstance(told, tuple) else (label, told)
            left = tuple(after[slot] for slot in slots)
            yield (label, *left) if label else left if len(left) > 1 else left[0]

    return rewritten(original, call, *slots, takes_scope=True)


def outcomes_changed(original: Rule, change: Change) -> Rule:
    """The same rule with every outcome changed, or dropped where `change` gives None. It may give
    another label with the values.

    `change(before, label, after)` sees the values before and after by the name of the rule's
    parameter, which mostly is that of the slot, and the outcome's label (empty if the rule has
    none).
    """

    names = original.named

    def call(*args: Any) -> Iterator[Any]:
        start = len(original.takes)
        before = dict(zip(names, args[start : start + len(names)], strict=True))
        for y in original.call(*args):
            values = y if isinstance(y, tuple) else (y,)
            label, values = (values[0], values[1:]) if original.labels else ("", values)
            after = change(before, label, dict(zip(names, values, strict=True)))
            if after is not None:
                label, after = after if isinstance(after, tuple) else (label, after)
                given = tuple(after[name] for name in names)
                outcome = (label, *given) if original.labels else given
                yield outcome if len(outcome) > 1 else outcome[0]

    return rewritten(original, call)
