"""Slots, and the rules that read and write them; `spec` says how a rule is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

from attrs import frozen

from groupcheck.model.engine.errors import SpecError
from groupcheck.model.engine.functions import AnswerError, parameters_of, told, truth

Value = Any
_CONSTANTS = ("me", "scope")


@frozen
class Slot:
    """A single slot, or an array of equal ones."""

    # The value in the initial state, of each element.
    initial: Value
    # How many elements an array has; None: the slot is single.
    size: int | None = None


def single(initial: Value) -> Slot:
    """A slot with one value."""
    return Slot(initial)


def array(size: int, initial: Value) -> Slot:
    """`size` slots of one kind, indexed 0 .. size-1, all starting with `initial`."""
    return Slot(initial, size)


@frozen
class Guard:
    """A predicate over one slot that must hold for the rule to be called."""

    # The slot that it reads.
    slot: str
    call: Callable[..., bool]
    # Does it take its index before the slot's value?
    takes_me: bool

    def allows(self, me: int, value: Value) -> bool:
        """Does it hold? Raises `AnswerError` for an answer that is neither true nor false."""
        try:
            return truth(self.call(me, value) if self.takes_me else self.call(value))
        except AnswerError as error:
            raise AnswerError(f"has a guard that {error}") from error


@frozen
class Rule:
    """A rule with what its signature says."""

    name: str
    call: Callable[..., Iterable[Any]]
    # The slots that it reads and writes, in the order of its parameters.
    slots: tuple[str, ...]
    # Does it take its index, and the scope?
    takes_me: bool
    takes_scope: bool
    # The kinds of its outcomes; without labels all are of one kind.
    labels: tuple[str, ...]
    guard: Guard | None
    # Does it run inside the step that makes it possible?
    urgent: bool

    @property
    def doc(self) -> str:
        return told(self.call)

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which its outcomes are counted: `rule`, or `rule:label` for
        each label.
        """
        return tuple(f"{self.name}:{label}" for label in self.labels) or (self.name,)


def _guard(when: Callable[..., bool], rule_name: str) -> Guard:
    names = [p.name for p in parameters_of(when, "guard")]
    slots = [name for name in names if name != "me"]
    if len(slots) != 1 or names not in (slots, ["me", *slots]):
        raise SpecError(
            "a guard reads exactly one slot",
            where=f"rule {rule_name}",
            do="write when=lambda slot: ... or when=lambda me, slot: ...",
        )
    return Guard(slots[0], when, "me" in names)


Body = Callable[..., Iterable[Any]]


def _rule(
    function: Body, urgent: bool, labels: tuple[str, ...], when: Callable[..., bool] | None
) -> Rule:
    names = [p.name for p in parameters_of(function, "rule")]
    slots = tuple(name for name in names if name not in _CONSTANTS)
    if (
        names
        != [
            *(["me"] if "me" in names else []),
            *slots,
            *(["scope"] if "scope" in names else []),
        ]
        or not slots
    ):
        raise SpecError(
            "parameters are: me (optional), the slots, scope (optional)",
            where=f"rule {function.__name__}",
        )
    if not all(isinstance(label, str) for label in labels):
        raise SpecError(
            "labels are texts",
            where=f"rule {function.__name__}",
            do='write @rule("granted", "refused")',
        )
    guard = _guard(when, function.__name__) if when else None
    if guard and guard.slot not in slots:
        raise SpecError(
            f"the guard reads {guard.slot!r}, which the rule does not touch",
            where=f"rule {function.__name__}",
        )
    return Rule(
        function.__name__, function, slots, "me" in names, "scope" in names, labels, guard, urgent
    )


@overload
def rule(function: Body, /) -> Rule: ...
@overload
def rule(*labels: str, when: Callable[..., bool] | None = None) -> Callable[[Body], Rule]: ...
def rule(*labels: Any, when: Callable[..., bool] | None = None) -> Any:
    """Makes a `Rule` of a generator function; see the module's docstring. `labels`: names of its
    kinds of outcome.
    """
    if len(labels) == 1 and callable(labels[0]):
        return _rule(labels[0], False, (), when)
    return lambda function: _rule(function, False, labels, when)


@overload
def urgent(function: Body, /) -> Rule: ...
@overload
def urgent(*labels: str, when: Callable[..., bool] | None = None) -> Callable[[Body], Rule]: ...
def urgent(*labels: Any, when: Callable[..., bool] | None = None) -> Any:
    """Like `rule`, for steps that happen inside the step that made them possible."""
    if len(labels) == 1 and callable(labels[0]):
        return _rule(labels[0], True, (), when)
    return lambda function: _rule(function, True, labels, when)
