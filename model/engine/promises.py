"""The promises of a protocol: invariants, goals, ends and views, which look at states, and step
invariants, which look at the outcomes of rules.

A step invariant speaks of a step, for example "a commit is accepted only from a member of the
current generation". It is evaluated when a row of a rule's table is filled. A row is filled only
for values that occur together, so this costs nothing for each state, and the state that asked for
the row gives the path.

A predicate is a table, too. An invariant over pairs of members reads small derived values
(`@view`), so its table stays small, and one evaluation serves all indexes. A predicate that asks
for some index is answered at each choice of its indexes, as a view would be; its own table reads
these answers alone.

A deadlock is a state with no successor but itself. A member may heartbeat for ever in a group that
is stuck, and such a loop does not hide the deadlock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from attrs import field, frozen

from groupcheck.model.engine.element import Element, given_as
from groupcheck.model.engine.errors import SpecError, shown
from groupcheck.model.engine.functions import doc_of, name_of, parameters_of
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.signature import Place, own_index, signature

Quantifier = tuple[str, str]  # "all" or "some", and an index variable
ALL, SOME = "all", "some"


@frozen
class Predicate:
    """An invariant, goal, end or view: a function of some slots."""

    name: str
    call: Callable[..., Any]
    # What each parameter stands for: (slot or view, index as it is written or None), or
    # ("state", None) for all slots.
    places: tuple[Place, ...]
    # Does it take the scope as its last parameter?
    takes_scope: bool
    # What it promises: the docstring.
    statement: str
    # Where the promise stands, as a KIP or a class.
    source: str = ""
    # How it was decorated: invariant, goal, end, constraint or view.
    kind: str = "invariant"
    # The index variables that it takes before the slots.
    takes: tuple[str, ...] = ()
    # Index variables with another quantifier than the usual one, or another order, from the outside
    # in; those that it does not name stand before them.
    quantifiers: tuple[Quantifier, ...] = ()
    # What to say of a step that breaks it, as a template of `str.format`; who reads it says which
    # values it has. It makes no other promise.
    broken: str = field(default="", eq=False)
    # Whose promise it is: any value, by which a registry finds it.
    of: Any = field(default=None, eq=False)
    # False: the protocol is known to break it, so that it is looked at only if somebody asks.
    promised: bool = field(default=True, eq=False)
    # Those of the index variables that it takes as elements.
    elements: tuple[str, ...] = ()

    def given(self, binding: Mapping[str, int]) -> tuple[int | Element, ...]:
        """The values of the index variables that it takes, as numbers or as elements."""
        return given_as(self.elements, binding, self.takes)

    @property
    def whole(self) -> bool:
        """Does it need the whole state, so that it cannot be tabulated?"""
        return ("state", None) in self.places

    @property
    def own(self) -> str:
        """The index of a plain parameter that stands for an array."""
        return own_index(self.takes, self.places, "i")


def predicate_of(
    function: Callable[..., Any],
    what: str,
    name: str = "",
    source: str = "",
    quantified: Any = (),
    **more: Any,
) -> Predicate:
    """The predicate that a function of slots and views stands for. `what`: how it is decorated;
    `quantified`: "some i" or "all i", in their order; `more`: other fields of `Predicate`. Raises
    `SpecError` if the function cannot be one, or if a text is not like "some i".
    """
    said = signature(function, what)
    name = name_of(function, name, what)
    return Predicate(
        name,
        function,
        said.places,
        said.takes_scope,
        doc_of(function),
        source,
        what,
        said.takes,
        tuple(_quantifier(text, f"{what} {name}") for text in quantified),
        elements=said.elements,
        **more,
    )


def _quantifier(text: Any, where: str) -> Quantifier:
    words = text.split() if isinstance(text, str) else []
    if len(words) != 2 or words[0] not in (ALL, SOME) or not words[1].isidentifier():
        raise SpecError(
            f"{shown(text)} does not say how an index is meant",
            where=where,
            do='write "some i" or "all i"',
        )
    return words[0], words[1]


Test = Callable[..., bool]


@overload
def invariant(function: Test, /) -> Predicate: ...
@overload
def invariant(
    *quantified: str,
    source: str = "",
    name: str = "",
    broken: str = "",
    of: Any = None,
    promised: bool = True,
) -> Callable[[Test], Predicate]: ...
def invariant(
    *given: Any,
    source: str = "",
    name: str = "",
    broken: str = "",
    of: Any = None,
    promised: bool = True,
) -> Any:
    """The promise that a predicate is true in every state. The docstring is its statement; `source`
    says where the promise stands, `broken` what to say of a step that breaks it
    (`Predicate.broken`). It must hold for all indexes; `@invariant("some i")` for some index i at
    least, `@invariant("all i", "some j")` for some j to each i. `name`: in place of the function's
    own. `of` and `promised`: the fields of `Predicate`. Raises `SpecError` if the function cannot
    be a predicate, or if a text is not like "some i".
    """
    more = {"broken": broken, "of": of, "promised": promised}
    return _decorated(given, "invariant", name, source, **more)


@overload
def goal(function: Test, /) -> Predicate: ...
@overload
def goal(
    *quantified: str, source: str = "", name: str = "", of: Any = None
) -> Callable[[Test], Predicate]: ...
def goal(*given: Any, source: str = "", name: str = "", of: Any = None) -> Any:
    """A situation that some state must show; a run in which it never does is not green. It is met
    by some index; `@goal("all i")` when it is true of all. Raises `SpecError` as `invariant` does.
    """
    return _decorated(given, "goal", name, source, of=of)


@overload
def end(function: Test, /) -> Predicate: ...
@overload
def end(*quantified: str, name: str = "") -> Callable[[Test], Predicate]: ...
def end(*given: Any, name: str = "") -> Any:
    """States in which the protocol may rest. A state without a successor other than itself is a
    deadlock if it is not an end. It must be true of all indexes; `@end("some i")` of some. Raises
    `SpecError` as `invariant` does.
    """
    return _decorated(given, "end", name)


@overload
def constraint(function: Test, /) -> Predicate: ...
@overload
def constraint(*quantified: str, name: str = "") -> Callable[[Test], Predicate]: ...
def constraint(*given: Any, name: str = "") -> Any:
    """Bounds the search: a state in which it is false is a border state. Invariants and goals look
    at border states; what follows them is not explored. It must be true of all indexes;
    `@constraint("some i")` of some. Raises `SpecError` as `invariant` does.
    """
    return _decorated(given, "constraint", name)


@overload
def view(function: Callable[..., Any], /) -> Predicate: ...
@overload
def view(*, name: str = "", of: Any = None) -> Callable[[Callable[..., Any]], Predicate]: ...
def view(*function: Callable[..., Any], name: str = "", of: Any = None) -> Any:
    """A derived value (any hashable) that predicates may name like a slot; over slots of at most
    one index variable. Raises `SpecError` if the function cannot be one.
    """
    if function:
        return predicate_of(function[0], "view", name)
    return lambda f: predicate_of(f, "view", name, of=of)


def _decorated(given: tuple[Any, ...], what: str, name: str, source: str = "", **more: Any) -> Any:
    if len(given) == 1 and callable(given[0]):
        return predicate_of(given[0], what, name, source, **more)
    return lambda f: predicate_of(f, what, name, source, given, **more)


@frozen
class StepInvariant:
    """A predicate that must be true of every outcome of some rules."""

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
    # The same fields of `Predicate`.
    broken: str = field(default="", eq=False)
    of: Any = field(default=None, eq=False)
    promised: bool = field(default=True, eq=False)

    def concerns(self, rule: Rule) -> bool:
        return set(self.slots) <= set(rule.slots) and (not self.rules or rule.name in self.rules)


def step_invariant(
    *slots: str,
    rules: Sequence[str] = (),
    source: str = "",
    name: str = "",
    broken: str = "",
    of: Any = None,
    promised: bool = True,
) -> Callable[[Callable[..., Any]], StepInvariant]:
    """Makes a `StepInvariant`: `@step_invariant("core") def grows(before, after): ...`. The other
    arguments are those of `invariant`. Raises `SpecError` if a slot is not given by its name, or if
    `rules` is one text.
    """

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
            name_of(function, name, "step invariant"),
            function,
            slots,
            tuple(rules),
            "label" in extra,
            "scope" in extra,
            doc_of(function),
            source,
            broken,
            of,
            promised,
        )

    return decorate
