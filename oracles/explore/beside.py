"""Two walks side by side: the same steps in two specs, with and without a known bug, or of two
variants, until they part; and where and why they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Step
from groupcheck.oracles.explain.subject import (
    Subject,
    every_mutation,
    one_of,
    subject,
    variant_named,
)
from groupcheck.oracles.explore.walk import Walk
from groupcheck.oracles.printable import brief, changes, place, printable

HEALTHY = "healthy"
MOST = 12  # differences that are told


@frozen
class Parting:
    """Where two walks part."""

    # The number of the step, from 1; 0: they begin in different states.
    step: int
    # False: the step is not possible in the other one.
    possible: bool
    # Why, in a sentence.
    words: str
    # The fields that differ afterwards: (name, here, in the other one).
    differences: tuple[tuple[str, str, str], ...] = ()


@frozen
class Beside:
    """How far the other one follows."""

    # Of the other subject.
    title: str
    # Its state after each step that it follows, the initial state first. The last one is that after
    # the step at which they part, if that step is possible there.
    states: tuple[Mapping[str, Any], ...]
    # None: it follows all the way.
    parting: Parting | None


def other_of(about: Subject, name: str) -> Subject:
    """The subject to walk beside: `healthy` (without the known bug), the id of a known bug, or
    another variant, each at the same scope; or SETTING=VALUE, the same with another value of a
    field of the scope, such as `kafka=4.0.0`. Raises `UserError` for any other name.
    """
    if about.variant is None:
        if name == HEALTHY and about.mutation is not None:
            return subject(about.origin, **dict(about.arguments))
        raise UserError(
            f"{about.title} has nothing beside it",
            where=printable(name)[:60],
            do="put a bug into it with --mutation FILE.py:RULE, and take `healthy`",
        )
    ids = [m.id for m in every_mutation()]
    if name == HEALTHY:
        if about.mutation is None:
            raise UserError(
                f"{about.title} is healthy already",
                where=HEALTHY,
                do="add --mutation ID, or name one here",
            )
        return _at_scope(about, about.variant.name, None)
    if name in ids:
        return _at_scope(about, about.variant.name, name)
    same = about.mutation.id if about.mutation else None
    if "=" in name:
        field, _, text = name.partition("=")
        return _at_scope(about, about.variant.name, same, {field.strip(): text.strip()})
    try:
        variant_named(name)
    except UserError:
        raise one_of("variant or mutation", name, [HEALTHY, *ids], "mutations") from None
    return _at_scope(about, name, same)


def _at_scope(
    about: Subject, variant: str, mutation: str | None, other: Mapping[str, str] | None = None
) -> Subject:
    """A variant at the scope of a subject, as far as it has the fields. `other`: fields with other
    values, as `--set` takes them.
    """
    scope = about.spec.scope
    fields = {f.name: getattr(scope, f.name) for f in attrs.fields(type(scope))}
    faults = dict(fields.pop("faults", ()))
    known = {f.name for f in attrs.fields(variant_named(variant).scope_type)}
    other = other or {}
    given = {n: v for n, v in fields.items() if v is not None and n in known and n not in other}
    return subject(variant, mutation=mutation, faults=faults, settings=other, **given)


def beside(walk: Walk, other: Walk, name: str = "") -> Beside:
    """Takes the steps of a walk in another spec, until a step is not possible there or leads to
    another state. Slots that only one of them has are not compared. `other`: any walk of the other
    spec; where it stands does not matter. `name`: what `other_of` made it of.
    """
    see, path = other.see, walk.path
    shared = _Shared(walk.see, see)
    begun = [rest for _, _, rest in see.starts()]
    state = next((rest for rest in begun if shared.same(path.initial, rest)), begun[0])
    states, title = [see.named(state)], other.about.title
    title += f" at {name}" if "=" in name else ""
    if not shared.same(path.initial, state):
        told = shared.differences(path.initial, state)
        return Beside(title, tuple(states), Parting(0, True, "They begin in other states.", told))
    before = path.initial
    for number, step in enumerate(path.steps, 1):
        possible = [s for s, _ in see.steps(state) if _acts(s) == _acts(step)]
        follows = next((s for s in possible if shared.same(step.state, s.state)), None)
        if follows is None:
            here = walk.words_after(before, step).rstrip(".")
            if not possible:
                words = f"Here {here}. In {title} that is not possible."
                return Beside(title, tuple(states), Parting(number, False, words + _why(walk)))
            nearest = _nearest(step, possible)
            there = other.words_after(state, nearest).rstrip(".")
            told = shared.differences(step.state, nearest.state)
            states.append(see.named(nearest.state))
            words = f"Here {here}. In {title} {there}."
            if here == there:
                same = f"{here[:1].upper()}{here[1:]}, here and in {title}."
                words = f"{same} The state after it differs."
            return Beside(title, tuple(states), Parting(number, True, words + _why(walk), told))
        before, state = step.state, follows.state
        states.append(see.named(state))
    return Beside(title, tuple(states), None)


class _Shared:
    """The places that two specs share."""

    def __init__(self, one: Semantics, other: Semantics) -> None:
        self.places = [at for at in one.places if at in other.at]
        self._at = [(one.at[place], other.at[place]) for place in self.places]

    def same(self, one: State, other: State) -> bool:
        return all(one[a] == other[b] for a, b in self._at)

    def differences(self, one: State, other: State) -> tuple[tuple[str, str, str], ...]:
        told = [
            (name, brief(a), brief(b))
            for (slot, index), (x, y) in zip(self.places, self._at, strict=True)
            for name, a, b in changes(place(slot, index), one[x], other[y])
        ]
        return tuple(told[:MOST])


def _acts(step: Step) -> tuple[Any, ...]:
    """Which rule acts, at which indexes: labels may differ where a rule was changed."""
    f = step.firing
    return f.name.partition(":")[0], f.me, f.others


def _nearest(step: Step, possible: list[Step]) -> Step:
    """The step of the other spec that is the most alike."""
    wanted = {(f.name, f.me) for f in (step.firing, *step.urgent)}
    return max(
        possible, key=lambda s: len(wanted & {(f.name, f.me) for f in (s.firing, *s.urgent)})
    )


def _why(walk: Walk) -> str:
    """The known bug of this side, which is the reason, if there is one."""
    bug = walk.about.mutation
    if bug is None:
        return ""
    return f" The bug {bug.id} changes {bug.rule.replace('_', ' ')}: {bug.title.rstrip('.')}."
