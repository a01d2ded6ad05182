"""The promises of a protocol about its runs, and those of its steps that are fair.

An invariant speaks of states; these promises speak of whole runs, which never end. A run is a path
from an initial state that goes on for ever; where nothing happens any more it stays in its last
state. Without fairness a run may stop anywhere, so a promise that something happens would be broken
everywhere. Weak fairness of an action says: a run in which the action stays enabled from some state
on takes it again. An action is enabled in a state if one of its steps leads to another state
(TLA+'s `WF_vars`). Whatever is not named as fair may stop for ever: faults are not fair.

    Spec(..., fair=[weak(pass_token), weak_any(send, receive, name="Network")], progress=[served])

- `weak(a, b)`: for each index, the steps of these rules at that index are one action (of rules with
  several indexes: for each choice of them).
- `weak_any(a, b)`: their steps at all indexes are one action; without rules: every step.

A rule is given as the rule, by its name, or as `rule:label` for the outcomes with one label alone.
Urgent rules happen inside steps and cannot be fair by themselves.

Promises are functions of slots and views, like invariants, and hold for each binding of their index
variables; `@always_possible("all i")` says that it can become true of all elements at once,
`"some i"` of one of them:

- `@eventually`: from each initial state it becomes true (`<>P`).
- `@infinitely_often`: it becomes true again and again (`[]<>P`).
- `@settles`: from some state on it is true for ever (`<>[]P`).
- `@leads_to(when=q)`: whenever q is true, it becomes true then or later (`[](Q => <>P)`). An index
  variable of both is the same index.
- `@always_possible`: from every reachable state some path leads to a state in which it is true (AG
  EF P). This needs no fairness.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

from attrs import field, frozen

from groupcheck.model.engine.errors import SpecError
from groupcheck.model.engine.functions import brief
from groupcheck.model.engine.promises import Predicate, Test, predicate_of
from groupcheck.model.engine.rule import Rule

Kind = Literal["eventually", "infinitely_often", "settles", "leads_to", "always_possible"]
PROMISE = "progress promise"  # what its functions are called in errors


@frozen
class Fairness:
    """The actions that a run may not leave undone for ever while they are possible."""

    # `rule` or `rule:label`; empty: every step.
    names: tuple[str, ...]
    # Are their steps at all indexes one action? Otherwise those at each index are one.
    together: bool
    # What the action is called in answers.
    name: str


def weak(*rules: Rule | str, name: str = "") -> Fairness:
    """Weak fairness of an action for each index: some step of some of these rules at that index.
    `name`: what answers call it. Raises `SpecError` if no rule is given, or something else is.
    """
    if not rules:
        raise SpecError("names no rule", where="weak", do="write weak(rule), or weak_any()")
    names = _names(rules, "weak")
    return Fairness(names, False, name or " or ".join(names))


def weak_any(*rules: Rule | str, name: str = "") -> Fairness:
    """Weak fairness of one action: some step of some of these rules at some index; without rules:
    any step. `name`: what answers call it. Raises `SpecError` for anything but a rule or its name.
    """
    names = _names(rules, "weak_any")
    return Fairness(names, True, name or " or ".join(names) or "any step")


def _names(rules: tuple[Any, ...], where: str) -> tuple[str, ...]:
    for r in rules:
        if not isinstance(r, Rule | str):
            told = f"{type(r).__name__} {r.name}" if isinstance(r, Predicate) else brief(r)
            do = 'name rules: weak(send, "read:empty")'
            raise SpecError(f"{told} is not a rule", where=where, do=do)
    return tuple(r.name if isinstance(r, Rule) else r for r in rules)


@frozen
class Liveness:
    """A promise about runs."""

    name: str
    kind: Kind
    # What becomes true, or stays so.
    goal: Predicate
    # After what; only of `leads_to`.
    when: Predicate | None
    # What it promises: the docstring.
    statement: str
    # Where the promise stands, as a KIP or a class.
    source: str = ""
    # As `Predicate.of`.
    of: Any = field(default=None, eq=False)

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """The predicates that it is made of."""
        return (self.goal,) if self.when is None else (self.when, self.goal)

    @property
    def bound(self) -> Predicate:
        """A predicate that has the index variables of all of them: its bindings are the
        promise's.
        """
        places = tuple(place for p in self.predicates for place in p.places)
        takes = tuple(dict.fromkeys(v for p in self.predicates for v in p.takes))
        said, call = self.goal.quantifiers, self.goal.call
        return Predicate(self.name, call, places, False, "", takes=takes, quantifiers=said)


def _liveness(
    function: Test,
    kind: Kind,
    when: Test | None,
    source: str,
    name: str,
    of: Any,
    quantified: tuple[Any, ...] = (),
) -> Liveness:
    goal = predicate_of(function, PROMISE, name, source, quantified)
    trigger = None if when is None else predicate_of(when, PROMISE, source=source)
    return Liveness(goal.name, kind, goal, trigger, goal.statement, source, of)


def _decorator(given: tuple[Any, ...], kind: Kind, source: str, name: str, of: Any) -> Any:
    if len(given) == 1 and callable(given[0]):
        return _liveness(given[0], kind, None, source, name, of)
    return lambda f: _liveness(f, kind, None, source, name, of, given)


@overload
def eventually(function: Test, /) -> Liveness: ...
@overload
def eventually(
    *quantified: str, source: str = "", name: str = "", of: Any = None
) -> Callable[[Test], Liveness]: ...
def eventually(*given: Any, source: str = "", name: str = "", of: Any = None) -> Any:
    """The promise that a predicate becomes true at some time in every fair run. `source`: where the
    promise stands; `name`: in place of the function's own. Its indexes are those of one element
    each time; `@eventually("all i")` when it is true of all at once, `"some i"` of one. Raises
    `SpecError` if the function cannot be a predicate, or if a text is not like "some i".
    """
    return _decorator(given, "eventually", source, name, of)


@overload
def infinitely_often(function: Test, /) -> Liveness: ...
@overload
def infinitely_often(
    *quantified: str, source: str = "", name: str = "", of: Any = None
) -> Callable[[Test], Liveness]: ...
def infinitely_often(*given: Any, source: str = "", name: str = "", of: Any = None) -> Any:
    """The promise that a predicate becomes true again and again in every fair run. Raises
    `SpecError` as `eventually` does.
    """
    return _decorator(given, "infinitely_often", source, name, of)


@overload
def settles(function: Test, /) -> Liveness: ...
@overload
def settles(
    *quantified: str, source: str = "", name: str = "", of: Any = None
) -> Callable[[Test], Liveness]: ...
def settles(*given: Any, source: str = "", name: str = "", of: Any = None) -> Any:
    """The promise that a predicate is true for ever from some state on in every fair run. Raises
    `SpecError` as `eventually` does.
    """
    return _decorator(given, "settles", source, name, of)


@overload
def always_possible(function: Test, /) -> Liveness: ...
@overload
def always_possible(
    *quantified: str, source: str = "", name: str = "", of: Any = None
) -> Callable[[Test], Liveness]: ...
def always_possible(*given: Any, source: str = "", name: str = "", of: Any = None) -> Any:
    """The promise that a predicate can still become true from every reachable state. Raises
    `SpecError` as `eventually` does.
    """
    return _decorator(given, "always_possible", source, name, of)


def leads_to(
    *given: Any, when: Test | None = None, source: str = "", name: str = "", of: Any = None
) -> Callable[[Test], Liveness]:
    """The promise that a predicate becomes true, then or later, whenever `when` is true, in every
    fair run. `when` is a function of slots or views, too. Raises `SpecError` if `when` is not
    given.
    """
    if given or when is None:
        raise SpecError(
            "does not say when its promise begins",
            where="leads_to",
            do="write @leads_to(when=lambda client: client.waits)",
        )
    return lambda function: _liveness(function, "leads_to", when, source, name, of)
