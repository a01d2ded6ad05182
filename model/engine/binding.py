"""Which elements of arrays the parameters of a function stand for: its index variables and the
values that they take together.

An index is written `i`, `i+1` or `i-1` (counted round the array: after the last element comes the
first), or `:` for the whole array as a tuple. Every combination of values is taken, except that two
different indexes into one array never have equal values: no two parameters stand for one element.

No two parameters stand for one element, so a rule cannot write an element twice. Indexes into
different arrays may be equal (`a: "client[i]", b: "broker[j]"`): otherwise an invariant would say
nothing of client 0 and broker 0. A rule at one choice is an `Instance`. All choices that neither
the rule nor its step invariants can tell apart share rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from attrs import field, frozen

from groupcheck.model.engine.element import Element
from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.signature import EVERY, parted

Parts = Any  # a `Spec`: its own file imports this one
Binding = Mapping[str, int]  # index variable -> its value
Arrays = Mapping[str, int]  # array -> how many elements it has


def arrays_of(spec: Parts, name: str) -> Arrays:
    """The arrays of which a slot or view reads the element at its own index; a view that takes its
    index and reads no array counts as one. Empty for what is single.
    """
    view = next((v for v in spec.views if v.name == name), None)
    if view is None:
        size = None if name == "state" else spec.slots[name].size
        return {} if size is None else {name: size}
    found = {
        array: size
        for inner, index in view.places
        if index != EVERY
        for array, size in arrays_of(spec, inner).items()
    }
    return {name: only_size(spec)} if view.takes and not found else found


def only_size(spec: Parts) -> int:
    """The size that all arrays of a spec have; 0 if they differ, or there is none."""
    sizes = {slot.size for slot in spec.slots.values()} - {None}
    return sizes.pop() if len(sizes) == 1 else 0


@frozen
class Indexing:
    """The index variables of a rule or predicate in a spec."""

    # Each variable with how many values it takes, in the order in which the signature names them.
    sizes: Mapping[str, int]
    # Pairs of indexes (variable, offset) that never have equal values, with the size of their
    # array.
    apart: tuple[tuple[tuple[str, int], tuple[str, int], int], ...]

    def fits(self, binding: Binding) -> bool:
        """Does no index that is known have the value of another one into the same array?"""
        return not any(
            a in binding and b in binding and (binding[a] + m - binding[b] - n) % size == 0
            for (a, m), (b, n), size in self.apart
        )

    def extended(self, binding: Binding, variables: Sequence[str]) -> Iterator[dict[str, int]]:
        """The binding with every possible choice of values for more variables, ascending."""
        if not variables:
            yield dict(binding)
            return
        for value in range(self.sizes[variables[0]]):
            more = {**binding, variables[0]: value}
            if self.fits(more):
                yield from self.extended(more, variables[1:])

    def bindings(self) -> list[dict[str, int]]:
        """Every choice of values for all variables, ascending."""
        return list(self.extended({}, tuple(self.sizes)))


def indexing(spec: Parts, part: Rule | Predicate) -> Indexing:
    """The index variables of a rule or predicate."""
    sizes = dict.fromkeys(part.takes, only_size(spec))
    reads: dict[tuple[str, int], dict[str, int]] = {}
    for name, index in part.places:
        arrays = {} if index == EVERY else arrays_of(spec, name)
        if arrays:
            variable, offset = parted(index or part.own)
            reads.setdefault((variable, offset), {}).update(arrays)
            sizes[variable] = min(arrays.values())
    apart = tuple(
        (a, b, reads[a][shared])
        for a, b in combinations(reads, 2)
        for shared in sorted(reads[a].keys() & reads[b].keys())[:1]
    )
    return Indexing(sizes, apart)


def element(index: str | None, own: str, binding: Binding, size: int) -> int:
    """The element for which an index stands."""
    variable, offset = parted(index or own)
    return (binding[variable] + offset) % size


@frozen
class Instance:
    """A rule at one choice of its indexes."""

    rule: Rule
    # The values of its index variables, in the order of `Indexing.sizes`; empty without any.
    index: tuple[int, ...]
    # The places of its parameters in a state, side by side; no place is there twice.
    where: tuple[int, ...]
    # Of each parameter how many places it takes, if it is a whole array; None: it is one place.
    widths: tuple[int | None, ...]
    # What the rule's function takes before the slots, and what its guard takes before the value.
    given: tuple[int | Element, ...]
    guard_given: tuple[int | Element, ...]
    # Which of the places its guard reads.
    guard_at: int
    # The parameter that each of the places belongs to.
    parameters: tuple[str, ...] = field(init=False)

    @parameters.default
    def _parameters(self) -> tuple[str, ...]:
        pairs = zip(self.rule.named, self.widths)
        return tuple(name for name, width in pairs for _ in range(width or 1))

    @property
    def me(self) -> int | None:
        """The first index; None for a rule without one."""
        return self.index[0] if self.index else None

    @property
    def guarded(self) -> int | None:
        """The place that its guard reads; None without a guard."""
        return None if self.rule.guard is None else self.where[self.guard_at]

    @property
    def is_flat(self) -> bool:
        """Is each of its parameters one place?"""
        return not any(self.widths)

    def allows(self, value: Any) -> bool:
        """Does its guard let this value through? Raises `AnswerError` for an answer that is neither
        true nor false.
        """
        return self.rule.guard is None or self.rule.guard.allows(self.guard_given, value)

    def grouped(self, flat: Sequence[Any]) -> tuple[Any, ...]:
        """One value for each parameter from one for each place: whole arrays as tuples."""
        if self.is_flat:
            return tuple(flat)
        rest = iter(flat)
        return tuple(
            next(rest) if n is None else tuple([next(rest) for _ in range(n)]) for n in self.widths
        )

    def called(self, flat: Sequence[Any]) -> dict[str, Any]:
        """Parameter -> value, for the text of an error."""
        return dict(zip(self.rule.named, self.grouped(flat)))


# A step invariant, and where its slots are among the values of a rule.
Look = tuple[StepInvariant, tuple[int, ...]]


def looks(
    spec: Parts, p: StepInvariant, i: Instance, at: Mapping[tuple[str, int | None], int]
) -> Iterator[Look]:
    """The places that a step invariant looks at in the outcomes of a rule: its slots at each index
    at which the rule touches all of them. `at`: the place of a slot at an index.
    """
    if not p.concerns(i.rule):
        return
    position = {place: n for n, place in enumerate(i.where)}
    arrays = {name for name in p.slots if spec.slots[name].size is not None}
    touched = {k for (name, k), place in at.items() if name in arrays and place in position}
    for index in sorted(k for k in touched if k is not None) if arrays else [None]:
        places = [at.get((name, index if name in arrays else None)) for name in p.slots]
        if all(place in position for place in places):
            yield p, tuple(position[place] for place in places if place is not None)


def call_key(i: Instance, checks: Sequence[Look]) -> tuple[Any, ...]:
    """The things that a call of a rule depends on beside the values: its name, the indexes that it
    is given, and where step invariants look. Instances of one key share their calls. `checks`: what
    step invariants look at in the outcomes of this instance.

    Without the last part, the step invariants of an instance would not be asked where another one,
    at which they look elsewhere or not at all, was called with the same values before.
    """
    return (i.rule.name, i.given, tuple(sorted((p.name, at) for p, at in checks)))


def instances(
    spec: Parts, rule: Rule, at: Mapping[tuple[str, int | None], int]
) -> Iterator[Instance]:
    """A rule at every choice of its indexes. `at`: the place of a slot at an index."""
    own, guard = rule.own, rule.guard
    found = indexing(spec, rule)
    sizes = [spec.slots[slot].size for slot, _ in rule.places]
    widths = tuple(n if index == EVERY else None for n, (_, index) in zip(sizes, rule.places))
    for binding in found.bindings():
        where: list[int] = []
        guard_at = 0
        for (slot, index), size, name in zip(rule.places, sizes, rule.named):
            if guard and guard.slot == name:
                guard_at = len(where)
            if index == EVERY:
                where += [at[slot, k] for k in range(size)]
            else:
                one = None if size is None else element(index, own, binding, size)
                where.append(at[slot, one])
        yield Instance(
            rule,
            tuple(binding.values()),
            tuple(where),
            widths,
            rule.given(binding, rule.takes),
            rule.given(binding, guard.takes) if guard else (),
            guard_at,
        )
