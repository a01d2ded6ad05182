"""What a protocol promises: invariants, goals, ends and views, which look at states, and step
invariants, which look at the outcomes of rules.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, get_args, get_origin, get_type_hints, overload

from attrs import frozen

from groupcheck.model.engine.errors import SpecError
from groupcheck.model.engine.functions import parameters_of, told
from groupcheck.model.engine.rule import Rule

_PLACE = re.compile(r"^(\w+)(?:\[([^\W\d]\w*)\])?$")
_INDEXED = re.compile(r"^\w+\[([a-z]|\d+)\]$")


@frozen
class Predicate:
    """An invariant, goal, end or view: a function of some slots."""

    name: str
    call: Callable[..., Any]
    # What each parameter stands for: (slot or view, index variable or None), or ("state", None)
    # for all slots.
    places: tuple[tuple[str, str | None], ...]
    # Does it take the scope as its last parameter?
    takes_scope: bool
    # What it promises: the docstring.
    statement: str
    # Where the promise stands, as a KIP or a class.
    source: str = ""
    # How it was decorated: invariant, goal, end, constraint or view.
    kind: str = "invariant"

    @property
    def whole(self) -> bool:
        """Does it need the whole state, so that it cannot be tabulated?"""
        return ("state", None) in self.places


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except (
        Exception
    ):  # names such as "client[i]" are no types: then the annotations stay as they are written
        return {}


def _place(p: inspect.Parameter, hints: dict[str, Any]) -> str:
    """The slot that a parameter stands for: `a: "client[i]"` and `a: Annotated[Client,
    "client[i]"]` name it, other annotations are types.
    """
    if get_origin(hints.get(p.name)) is Annotated:
        return next((m for m in get_args(hints[p.name])[1:] if isinstance(m, str)), p.name)
    text = p.annotation if isinstance(p.annotation, str) else p.name
    if text[:1] in "\"'" or _INDEXED.match(text):
        return text.strip("\"'")
    return p.name


def predicate_of(function: Callable[..., Any], source: str, what: str) -> Predicate:
    """The predicate that a function of slots and views stands for. `what`: how it is decorated."""
    places = []
    parameters = parameters_of(function, what)
    where = f"{what} {function.__name__}"
    hints = _hints(function)
    takes_scope = "scope" in [p.name for p in parameters]
    if takes_scope and parameters.pop().name != "scope":
        raise SpecError("parameters are: the slots or views, scope (optional) last", where=where)
    for p in parameters:
        text = _place(p, hints)
        match = _PLACE.match(text)
        if not match:
            raise SpecError(
                f"{text!r} is not a slot such as 'core' or 'client[i]' (an index is a letter)",
                where=where,
            )
        places.append((match[1], match[2]))
    return Predicate(
        function.__name__,
        function,
        tuple(places),
        takes_scope,
        told(function),
        source,
        what,
    )


Test = Callable[..., bool]


@overload
def invariant(function: Test, /) -> Predicate: ...
@overload
def invariant(*, source: str) -> Callable[[Test], Predicate]: ...
def invariant(*function: Test, source: str = "") -> Any:
    """What must be true in every state. The docstring is its statement; `source` says where the
    promise stands.
    """
    return (
        predicate_of(function[0], source, "invariant")
        if function
        else lambda f: predicate_of(f, source, "invariant")
    )


@overload
def goal(function: Test, /) -> Predicate: ...
@overload
def goal(*, source: str) -> Callable[[Test], Predicate]: ...
def goal(*function: Test, source: str = "") -> Any:
    """A situation that some state must show; a run in which it never does is not green."""
    return (
        predicate_of(function[0], source, "goal")
        if function
        else lambda f: predicate_of(f, source, "goal")
    )


def end(function: Test) -> Predicate:
    """States in which the protocol may rest. A state without a successor other than itself is a
    deadlock if it is not an end.
    """
    return predicate_of(function, "", "end")


def constraint(function: Test) -> Predicate:
    """Bounds the search: a state in which it is false is a border state. Invariants and goals look
    at border states; what follows them is not explored.
    """
    return predicate_of(function, "", "constraint")


def view(function: Callable[..., Any]) -> Predicate:
    """A derived value (any hashable) that invariants may name like a slot; over slots of at most
    one index variable.
    """
    return predicate_of(function, "", "view")


@frozen
class StepInvariant:
    """What must be true of every outcome of some rules."""

    name: str
    # Takes two objects with one attribute for each of `slots`: their values before and after.
    call: Callable[..., Any]
    # It looks at the outcomes of rules that touch all of these slots.
    slots: tuple[str, ...]
    # The rules that it looks at; empty: all.
    rules: tuple[str, ...]
    # Does it take the outcome's label, and the scope?
    takes_label: bool
    takes_scope: bool
    # What it promises: the docstring.
    statement: str
    # Where the promise stands, as a KIP or a class.
    source: str = ""

    def concerns(self, rule: Rule) -> bool:
        return set(self.slots) <= set(rule.slots) and (not self.rules or rule.name in self.rules)


def step_invariant(
    *slots: str, rules: Sequence[str] = (), source: str = ""
) -> Callable[[Callable[..., Any]], StepInvariant]:
    """Makes a `StepInvariant`: `@step_invariant("core") def grows(before, after): ...`."""

    if not all(isinstance(slot, str) for slot in slots):
        raise SpecError(
            "a step invariant names its slots", do='write @step_invariant("core", "link")'
        )
    if isinstance(rules, str):
        raise SpecError(
            f"rules={rules!r} is one text, not a list of names",
            where="step invariant",
            do=f"write rules=[{rules!r}]",
        )

    def decorate(function: Callable[..., Any]) -> StepInvariant:
        names = [p.name for p in parameters_of(function, "step invariant")]
        extra = [name for name in ("label", "scope") if name in names[2:]]
        if len(names) < 2 or names[2:] != extra:
            raise SpecError(
                "parameters are: before, after, label (optional), scope (optional)",
                where=f"step invariant {function.__name__}",
            )
        return StepInvariant(
            function.__name__,
            function,
            slots,
            tuple(rules),
            "label" in extra,
            "scope" in extra,
            told(function),
            source,
        )

    return decorate
