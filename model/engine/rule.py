"""Rules, which read and write slots; `spec` says how a rule is written.

Outcomes have labels (`@rule("granted", "refused")`), and each label is counted by itself. A count
of zero can show a wrong abstraction: a sketch that merged two steps made the sync timer
unreachable, and its zero showed it. So every report lists what never fired.

A guard reads one slot. It is evaluated once for each value of that slot; where it is false, the
table is not looked up and the rule is not called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, overload

from attrs import frozen

from groupcheck.model.engine.element import Element, given_as
from groupcheck.model.engine.errors import SpecError
from groupcheck.model.engine.functions import AnswerError, doc_of, name_of, parameters_of, truth
from groupcheck.model.engine.signature import (
    EVERY,
    Place,
    Signature,
    elements_of,
    own_index,
    parted,
    signature,
)

Value = Any
T = TypeVar("T")


@frozen
class Guard:
    """A predicate over one slot that must hold for the rule to be called."""

    # The parameter of the rule that it reads.
    slot: str
    call: Callable[..., bool]
    # The index variables that it takes before the value.
    takes: tuple[str, ...] = ()

    def allows(self, given: tuple[int | Element, ...], value: Value) -> bool:
        """Does it hold? `given`: the values of the index variables that it takes. Raises
        `AnswerError` for an answer that is neither true nor false.
        """
        try:
            return truth(self.call(*given, value))
        except AnswerError as error:
            raise AnswerError(f"has a guard that {error}") from error


@frozen
class Rule:
    """A rule with what its signature says."""

    name: str
    call: Callable[..., Iterable[Any]]
    # The slots that it reads and writes, one for each parameter, in their order.
    slots: tuple[str, ...]
    # The index variables that it takes before the slots.
    takes: tuple[str, ...]
    # Does it take the scope, after the slots?
    takes_scope: bool
    # The kinds of its outcomes; without labels all are of one kind.
    labels: tuple[str, ...]
    guard: Guard | None
    # Does it run inside the step that makes it possible?
    urgent: bool
    # The index of each parameter as it is written, None for a plain one; empty: all are plain.
    written: tuple[str | None, ...] = ()
    # The names of the parameters; empty: they are those of the slots.
    parameters: tuple[str, ...] = ()
    # Those of the index variables that it and its guard take as elements.
    elements: tuple[str, ...] = ()

    @property
    def doc(self) -> str:
        return doc_of(self.call)

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which its outcomes are counted: `rule`, or `rule:label` for
        each label.
        """
        return tuple(f"{self.name}:{label}" for label in self.labels) or (self.name,)

    def by_name(self, **of_labels: T) -> dict[str, T]:
        """The name of an outcome (`rule:label`) -> what is given for its label. Raises `SpecError`
        for a label that the rule does not have.
        """
        if unknown := of_labels.keys() - {*self.labels}:
            raise SpecError(f"rule {self.name} has no outcome {', '.join(sorted(unknown))}")
        return {f"{self.name}:{label}": given for label, given in of_labels.items()}

    @property
    def named(self) -> tuple[str, ...]:
        """The names of the parameters that stand for slots."""
        return self.parameters or self.slots

    @property
    def places(self) -> tuple[Place, ...]:
        """The slot that each parameter stands for, and the index as it is written."""
        return tuple(zip(self.slots, self.written or (None,) * len(self.slots)))

    def given(self, binding: Mapping[str, int], takes: Iterable[str]) -> tuple[int | Element, ...]:
        """The values of index variables, as numbers or as elements."""
        return given_as(self.elements, binding, takes)

    @property
    def takes_me(self) -> bool:
        """Does it know an index?"""
        return bool(self.takes)

    @property
    def own(self) -> str:
        """The index of a plain parameter that stands for an array."""
        return own_index(
            (*self.takes, *(self.guard.takes if self.guard else ())), self.places, "me"
        )


def _guard(when: Callable[..., bool], of: Signature, rule_name: str) -> Guard:
    names = [p.name for p in parameters_of(when, "guard")]
    variables = {"me", "i", *of.takes} | {
        parted(index)[0] for _, index in of.places if index not in (None, EVERY)
    }
    *takes, slot = names or [""]
    if not slot or slot in {*variables} - {*of.names} or not {*takes} <= variables:
        raise SpecError(
            "a guard reads exactly one slot",
            where=f"rule {rule_name}",
            do="write when=lambda slot: ... or when=lambda me, slot: ...",
        )
    if slot not in of.names:
        raise SpecError(
            f"the guard reads {slot!r}, which the rule does not touch", where=f"rule {rule_name}"
        )
    if of.places[of.names.index(slot)][1] == EVERY:
        raise SpecError(
            f"the guard reads {slot!r}, which is a whole array; a guard reads one element",
            where=f"rule {rule_name}",
            do="ask in the rule",
        )
    return Guard(slot, when, tuple(takes))


Body = Callable[..., Iterable[Any]]


def _rule(
    function: Body,
    urgent: bool,
    labels: tuple[str, ...],
    when: Callable[..., bool] | None,
    name: str,
) -> Rule:
    said = signature(function, "rule")
    name = name_of(function, name, "rule")
    where = f"rule {name}"
    if not said.names:
        raise SpecError(
            "touches no slot",
            where=where,
            do="name the slots that it reads and writes as its parameters",
        )
    if not all(isinstance(label, str) and label for label in labels):
        raise SpecError(
            "labels are texts, none of them empty",
            where=where,
            do='write @rule("granted", "refused")',
        )
    slots = tuple(slot for slot, _ in said.places)
    guard = _guard(when, said, name) if when else None
    elements = {*said.elements} | ({*elements_of(when, "guard")} if when else set())
    variables = dict.fromkeys((*said.takes, *(guard.takes if guard else ())))
    written = tuple(index for _, index in said.places)
    return Rule(
        name,
        function,
        slots,
        said.takes,
        said.takes_scope,
        labels,
        guard,
        urgent,
        written if any(written) else (),
        said.names if said.names != slots else (),
        tuple(v for v in variables if v in elements),
    )


@overload
def rule(function: Body, /) -> Rule: ...
@overload
def rule(
    *labels: str, when: Callable[..., bool] | None = None, name: str = ""
) -> Callable[[Body], Rule]: ...
def rule(*labels: Any, when: Callable[..., bool] | None = None, name: str = "") -> Any:
    """Makes a `Rule` of a generator function; see the module `spec`. `labels`: names of its kinds
    of outcome. `when`: its guard. `name`: in place of the function's own, where several rules are
    made of one function. Raises `SpecError` if the function, its labels or its guard make no rule.
    """
    if len(labels) == 1 and callable(labels[0]):
        return _rule(labels[0], False, (), when, name)
    return lambda function: _rule(function, False, labels, when, name)


@overload
def urgent(function: Body, /) -> Rule: ...
@overload
def urgent(
    *labels: str, when: Callable[..., bool] | None = None, name: str = ""
) -> Callable[[Body], Rule]: ...
def urgent(*labels: Any, when: Callable[..., bool] | None = None, name: str = "") -> Any:
    """Like `rule`, for steps that happen inside the step that made them possible. Raises
    `SpecError` as `rule` does.
    """
    if len(labels) == 1 and callable(labels[0]):
        return _rule(labels[0], True, (), when, name)
    return lambda function: _rule(function, True, labels, when, name)
