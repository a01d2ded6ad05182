"""What a protocol is made of: slots, rules, invariants, goals, ends, and the scope that bounds
them.

A state is one value for every slot. A slot is single (`core`) or an array (`client`, one value for
each index). A rule is a plain generator function whose parameters *are* the slots that it may read
and write:

    @rule
    def vote(me, manager, network):
        if manager.phase == WORKING:
            yield but(manager, phase=PREPARED), but(network, prepared=network.prepared | {me})

- A parameter names a slot; for an array it is the element of the rule's own index. `me` is that
  index, `scope` the spec's scope.
  A rule that does not take `me` cannot know its index: its table is shared by all indexes.
- An outcome is a tuple of new values, one for each slot parameter in order (for one slot: the bare
  value).
  With `@rule("granted", "refused")` each outcome starts with one of these labels, and each label is
  counted by itself.
- A rule may also return a list of outcomes, or another generator; a tuple or any other value is an
  error, because it was meant to be yielded.
- `when` is a guard over one slot, by signature again: `@rule(when=lambda budget: budget.crash >
  0)`. Where it is false the rule is not called.
- An `@urgent` rule runs inside the step that made it possible: after every outcome (and in initial
  states), as long as some urgent rule
  yields an outcome, the first such rule (in the order of declaration, then of index) is applied;
  its outcomes branch. A state in which an urgent rule is enabled is never stored; a chain counts as
  one transition.

Invariants, goals and ends are predicates with signatures of the same kind; `a: "client[i]"` and `b:
"client[j]"` range over all ordered pairs of different indexes, a plain parameter over the slot it
names (every index of an array, `i`). One index variable ranges over arrays of one size, and two
parameters never stand for the same element. A predicate or guard returns True, False or a number;
None, a tuple or a generator is an error. A `@view` is a derived value that predicates may name like
a slot: `def standing(core, client: "client[i]")`. A predicate over `state` sees every slot by name
(arrays as tuples) and is evaluated in Python for each state: slow, and reported as such. A
`@step_invariant` sees the named slots before and after an outcome of a rule, urgent outcomes in
initial states included: `def grows(before, after): ...`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, overload

from attrs import field, fields, frozen

from groupcheck.model.engine.errors import SpecError
from groupcheck.model.engine.functions import AnswerError, parameters_of, told, truth
from groupcheck.model.engine.promises import Predicate, StepInvariant

Value = Any
T = TypeVar("T")

_CONSTANTS = ("me", "scope")
_replacers: dict[tuple[Any, ...], Callable[..., Any]] = {}


def but(value: T, /, **changes: Any) -> T:
    """The same value with some fields changed: `attrs.evolve` for values without converters, as one
    generated constructor call.

    A private field goes by its name or by that of its argument (`_x` or `x`); a field that the
    constructor does not take is made anew by it.
    """
    key = (type(value), *changes)
    make = _replacers.get(key)
    if make is None:
        make = _replacers[key] = _replacer(type(value), list(changes))
    return make(value, **changes)  # type: ignore[no-any-return]


def _replacer(cls: type, changes: list[str]) -> Callable[..., Any]:
    taken = [f for f in fields(cls) if f.init]
    named = {f.alias: f for f in taken} | {f.name: f for f in taken}
    unknown = [name for name in changes if name not in named]
    if unknown:
        raise TypeError(
            f"{cls.__name__} has no field {unknown[0]!r} to change, only {', '.join(f.name for f in taken)}"
        )
    new = {named[name].alias: name for name in changes}
    if len(new) < len(changes):
        raise TypeError(f"a field of {cls.__name__} is given twice: {', '.join(changes)}")
    # Longer than the name of any change, so that no change hides it.
    own = "_" * max(map(len, changes), default=0)
    given = ", ".join(f"{f.alias}={new.get(f.alias) or f'{own}o.{f.name}'}" for f in taken)
    source = f"lambda {', '.join((f'{own}o', '/', *changes))}: {own}c({given})"
    return eval(source, {f"{own}c": cls})  # type: ignore[no-any-return]


@frozen
class Slot:
    """One slot (`size` None) or an array of `size` equal ones, with its value(s) in the initial
    state.
    """

    initial: Value
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

    slot: str
    call: Callable[..., bool]
    takes_me: bool

    def allows(self, me: int, value: Value) -> bool:
        """Does it hold? Raises `AnswerError` for an answer that is neither true nor false."""
        try:
            return truth(self.call(me, value) if self.takes_me else self.call(value))
        except AnswerError as error:
            raise AnswerError(f"has a guard that {error}") from error


@frozen
class Rule:
    """A rule with what its signature says: the slots it touches, whether it sees its index and the
    scope.
    """

    name: str
    call: Callable[..., Iterable[Any]]
    slots: tuple[str, ...]
    takes_me: bool
    takes_scope: bool
    labels: tuple[str, ...]
    guard: Guard | None
    urgent: bool

    @property
    def doc(self) -> str:
        return told(self.call)

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which its outcomes are counted: `rule`, or `rule:label` for each label."""
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
        != [*(["me"] if "me" in names else []), *slots, *(["scope"] if "scope" in names else [])]
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


def _named(values: Iterable[Any]) -> tuple[Any, ...]:
    if not isinstance(values, Iterable) or isinstance(values, (str, Mapping)):
        one = values.name if isinstance(values, (Rule, Predicate, StepInvariant)) else "..."
        raise SpecError(
            f"a {type(values).__name__} is given where a list belongs", do=f"write [{one}]"
        )
    return tuple(values)


@frozen
class Spec:
    """A protocol at a scope, ready to be explored.

    `initial`: several initial states, each a mapping of slot to value (an array: a tuple of values)
    over the slots' own initial values.
    `scope`: any value with a stable `repr`; it is part of a checkpoint's identity.
    """

    name: str
    slots: Mapping[str, Slot]
    rules: tuple[Rule, ...] = field(converter=_named)
    scope: Any = None
    invariants: tuple[Predicate | StepInvariant, ...] = field(default=(), converter=_named)
    goals: tuple[Predicate, ...] = field(default=(), converter=_named)
    ends: tuple[Predicate, ...] = field(default=(), converter=_named)
    views: tuple[Predicate, ...] = field(default=(), converter=_named)
    initial: tuple[Mapping[str, Value], ...] = field(default=({},), converter=_named)

    def __attrs_post_init__(self) -> None:
        from groupcheck.model.engine.fitting import fit

        fit(self)

    @property
    def places(self) -> tuple[tuple[str, int | None], ...]:
        """The order of values in a state: single slots first, then index by index all arrays."""
        singles = [(n, None) for n, s in self.slots.items() if s.size is None]
        longest = max((s.size for s in self.slots.values() if s.size is not None), default=0)
        arrays = [
            (n, i)
            for i in range(longest)
            for n, s in self.slots.items()
            if s.size is not None and i < s.size
        ]
        return (*singles, *arrays)

    def indexes(self, r: Rule) -> range:
        """The indexes for which a rule stands: one if it touches single slots only and does not
        take `me`.
        """
        sizes = {self.slots[n].size for n in r.slots} - {None}
        if not sizes and r.takes_me:
            sizes = {s.size for s in self.slots.values()} - {None}
        return range(min(s for s in sizes if s is not None)) if sizes else range(1)

    def replaced(self, changed: Rule | Iterable[Rule]) -> Spec:
        """The same spec with rules of the same names replaced: how a mutation is applied."""
        import attrs

        new = {r.name: r for r in ([changed] if isinstance(changed, Rule) else changed)}
        missing = set(new) - {r.name for r in self.rules}
        if missing:
            raise SpecError(f"there is no rule {min(missing)!r} to replace", where=self.name)
        return attrs.evolve(self, rules=tuple(new.get(r.name, r) for r in self.rules))

    def only(self, invariants: Sequence[str]) -> Spec:
        """The same spec with these invariants alone."""
        import attrs

        there = [p.name for p in self.invariants]
        for name in invariants:
            if name not in there:
                raise SpecError(
                    f"no invariant {name!r} in {self.name}", do=f"one of {', '.join(there)}"
                )
        return attrs.evolve(
            self, invariants=tuple(p for p in self.invariants if p.name in invariants)
        )
