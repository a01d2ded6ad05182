"""Refinement: every step of a spec is a step of a smaller one, seen through a mapping, or changes
nothing there; and its initial states are initial ones there.

By induction over the path, every reachable state of the larger spec then stands for a reachable
state of the smaller one, so what is true of all states and steps of the smaller one is true of the
larger one, seen through the mapping. (Nothing is said about what must happen at last.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
from attrs import field, frozen

from groupcheck.model.engine.errors import RuleError, SpecError
from groupcheck.model.engine.pools import Taken
from groupcheck.model.engine.promises import Predicate, view

Spec = Any  # `spec.Spec` and `step.Semantics`: their files import this one
Semantics = Any
State = tuple[Any, ...]


@frozen
class Refinement:
    """A smaller spec, and what each of its slots is in terms of the larger one; see `refines`."""

    # The name under which it is violated.
    name: str
    # The smaller spec.
    spec: Spec
    # For each of its slots a view of the larger one. A view of one index gives the elements of an
    # array; a view of none gives the value, or the tuple of an array's values.
    mapping: Mapping[str, Predicate]
    statement: str = field(init=False)

    @statement.default
    def _stated(self) -> str:
        return (
            f"Every step is a step of {self.spec.name} or changes nothing there, and it begins as"
            f" {self.spec.name} may begin."
        )


def refines(
    spec: Spec, mapping: Mapping[str, Callable[..., Any] | Predicate], name: str = ""
) -> Refinement:
    """The claim that a spec refines this smaller one. `mapping`: for each slot of the smaller spec
    a function with a signature like that of a `@view`: its parameters name slots and views of the
    larger spec. Raises `SpecError` for a slot without a function, and for a function without a
    slot.
    """
    if not isinstance(mapping, Mapping) or not hasattr(spec, "slots"):
        raise SpecError(
            f"a {type(spec).__name__} and a {type(mapping).__name__} are given",
            where="refines",
            do='give the smaller spec and a mapping: refines(small, {"slot": function})',
        )
    name = name or f"refines {spec.name}"
    for problem, slots in (
        ("is not mapped", {*spec.slots} - {*mapping}),
        (f"is not a slot of {spec.name}", {*mapping} - {*spec.slots}),
    ):
        if slots:
            raise SpecError(
                f"{min(slots)!r} {problem}", where=name, do="map each of its slots, and no other"
            )
    views = {slot: f if isinstance(f, Predicate) else view(f) for slot, f in mapping.items()}
    return Refinement(
        name, spec, {s: attrs.evolve(p, name=f"{name}: {s}") for s, p in views.items()}
    )


class Refined:
    """A refinement at work: `see` is of the larger spec, `abstract` of the smaller one."""

    def __init__(self, of: Refinement, see: Semantics, abstract: Semantics) -> None:
        self.of, self.see, self.abstract = of, see, abstract
        # Each slot of the smaller spec, its view, and the bindings to ask it for; None: once.
        self.parts: list[tuple[str, Predicate, list[dict[str, int]] | None]] = []
        for slot, p in of.mapping.items():
            sizes, wanted = see.indexing(p).sizes, of.spec.slots[slot].size
            # Of an array with one element, x[i-1] and x[i] are the same: there is no instance.
            size = len(see.instances(p)) if sizes else None
            if size is not None and size != wanted:
                has = "no elements" if wanted is None else f"{wanted} elements"
                raise SpecError(
                    f"gives {size} values, but {slot!r} has {has}",
                    where=f"view {p.name}",
                    do="map an array to an array of the same size, or read it as a whole",
                )
            self.parts.append((slot, p, see.instances(p) if sizes else None))
        abstract.taken = Taken(of.spec)
        self._starts = {rest for _, _, rest in abstract.starts()}
        self._after: dict[State, frozenset[State]] = {}

    def image(self, state: State) -> State:
        """The state of the smaller spec that a state of the larger one stands for. Raises
        `RuleError` if a view gives what cannot be the value of a slot.
        """
        values: dict[str, Any] = {}
        for slot, p, bindings in self.parts:
            if bindings is None:
                values[slot] = self.see.evaluate(p, {}, state)
            else:
                values[slot] = tuple([self.see.evaluate(p, b, state) for b in bindings])
        image: State = self.abstract.state(values)
        for (slot, _), value in zip(self.abstract.places, image):
            if problem := self.abstract.taken.flaw(slot, value):
                name, given = self.of.mapping[slot].name, self.see.named(state)
                what = f"gave a {type(value).__name__}, which {problem}"
                raise RuleError(name, what, given, kind="view")
        return image

    def begins(self, state: State) -> bool:
        """Does an initial state stand for an initial one?"""
        return self.image(state) in self._starts

    def takes(self, before: State, after: State) -> bool:
        """Is a step between two states of the smaller spec one of its steps, or does it change
        nothing?
        """
        if before == after:
            return True
        if before not in self._after:
            self._after[before] = frozenset(s.state for s, _ in self.abstract.steps(before))
        return after in self._after[before]
