"""The parts that a protocol is made of: slots, rules, invariants, goals, ends, and the scope that
bounds them.

A state is one value for every slot. A slot is single (`core`) or an array (`client`, one value for
each index). A rule is a plain generator function whose parameters *are* the slots that it may read
and write:

    @rule
    def vote(me, manager, network):
        if manager.phase == WORKING:
            yield evolve(manager, phase=PREPARED), evolve(network, prepared=network.prepared | {me})

- A parameter names a slot; for an array it is the element of the rule's own index. `me` is that
  index, `scope` the spec's scope. The parameters stand in this order: indexes, slots, scope.
  A rule that does not take its index cannot know it: its table is shared by all indexes.
- `me: Element` gives the index as an `Element`, which can be stored and compared, in place of a
  number; the same for other indexes, for predicates, and for the guard of a rule that says so.
- A rule may stand for several indexes: `def pass_on(me, other, mine: "node[me]", theirs:
  "node[other]")`. It is tried for every choice of values, but two different indexes into one array
  never have equal values: `me` is never `other` here. Indexes into different arrays are
  independent. An index that is not taken as a parameter is tried all the same.
- `"node[me+1]"` and `"node[me-1]"` are the neighbours in a ring: after the last element comes the
  first. `"node[:]"` is the whole array, as a tuple that is read and yielded.
- An outcome is a tuple of new values, one for each slot parameter in order (for one slot: the bare
  value).
  With `@rule("granted", "refused")` each outcome starts with one of these labels, and each label is
  counted by itself.
- A rule may also return a list of outcomes, or another generator; a tuple or any other value is an
  error, because it was meant to be yielded.
- `when` is a guard over one slot parameter, by its name: `@rule(when=lambda budget: budget.crash >
  0)`; it may take indexes of the rule before it. Where it is false the rule is not called.
- An `@urgent` rule runs inside the step that made it possible: after every outcome (and in initial
  states), as long as some urgent rule yields an outcome, the first such rule is applied (in the
  order of declaration, then of its indexes, ascending: the one that the signature names first
  counts most); its outcomes branch. A state in which an urgent rule is enabled is never stored; a
  chain counts as one transition.

A slot begins with one value, `single(any_of(A, B))` with any of several: every combination is an
initial state. It holds values of the type that it has; `single(None, of=Leader | None)` may hold
both.

Invariants, goals and ends are predicates with signatures of the same kind: they may take their
indexes, then slots or views, then the scope. A plain parameter is the element at the function's own
index, which is called `me` or `i`, whichever the function names. An invariant and an end must hold
for every choice of values for the indexes, a goal is met by some choice; `@invariant("some i")`,
`@goal("all i")`, `@end("some i")` say otherwise, several from the outside in (`@invariant("all i",
"some j")`), after the indexes that they do not name. Choices are the same as of rules: `a:
"client[i]"` and `b: "client[j]"` are never the same client; an index that leads into an array
through a view counts, too.

One index variable ranges over arrays of one size. A predicate or guard returns True, False or a
number; None, a tuple or a generator is an error. A `@view` is a derived value that predicates may
name like a slot: `def standing(core, client: "client[i]")`; it has at most one index variable. A
predicate over `state` sees every slot by name (arrays as tuples) and is evaluated in Python for
each state: slow, and reported as such. A `@step_invariant` sees the named slots before and after an
outcome of a rule, urgent outcomes in initial states included: `def grows(before, after): ...`. It
looks at each index at which the rule touches all of its slots.

`name=` gives a rule, a promise or a view another name than its function's, where several are made
by one function.

A `@constraint` is such a predicate, too. A state in which one is false is a border
state: invariants and goals look at it, it is not expanded and never a deadlock, and it does
not count among the states of the verdict. Steps that lead to it count as transitions. (TLC's
CONSTRAINT does the same.)

Promises about whole runs, and the fairness that they assume, are in `progress`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
from attrs import field, frozen

from groupcheck.model.engine.errors import SpecError
from groupcheck.model.engine.fitting import fit
from groupcheck.model.engine.progress import Fairness, Liveness
from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.engine.refinement import Refinement
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.slot import Slot, Value, choices


def _named(values: Iterable[Any]) -> tuple[Any, ...]:
    if not isinstance(values, Iterable) or isinstance(values, (str, Mapping)):
        kinds = (Rule, Predicate, StepInvariant, Liveness)
        one = values.name if isinstance(values, kinds) else "..."
        raise SpecError(
            f"a {type(values).__name__} is given where a list belongs", do=f"write [{one}]"
        )
    return tuple(values)


_KINDS = {
    "invariants": "invariant",
    "goals": "goal",
    "ends": "end",
    "constraints": "constraint",
    "views": "view",
}


def _of_kind(kind: str, p: Any) -> Any:
    """A predicate as what it is given as, whatever it was decorated as: one that is an invariant
    and a goal of a spec stands for two, which nothing mistakes for each other.
    """
    return attrs.evolve(p, kind=kind) if isinstance(p, Predicate) and p.kind != kind else p


@frozen
class Spec:
    """A protocol at a scope, ready to be explored. Raises `SpecError` if its parts do not fit
    together.
    """

    name: str
    slots: Mapping[str, Slot]
    # Urgent rules apply in this order.
    rules: tuple[Rule, ...] = field(converter=_named)
    # Any value with a stable `repr`, which is part of a checkpoint's identity.
    scope: Any = None
    invariants: tuple[Predicate | StepInvariant, ...] = field(default=(), converter=_named)
    goals: tuple[Predicate, ...] = field(default=(), converter=_named)
    ends: tuple[Predicate, ...] = field(default=(), converter=_named)
    views: tuple[Predicate, ...] = field(default=(), converter=_named)
    # Initial states: each maps slots to values (of an array: a tuple of values). Slots that it does
    # not name have their own initial values.
    initial: tuple[Mapping[str, Value], ...] = field(default=({},), converter=_named)
    # States in which one of these is false are checked, but not expanded.
    constraints: tuple[Predicate, ...] = field(default=(), converter=_named)
    # Is a state without successors a violation where it is no end?
    deadlock: bool = True
    # Smaller specs whose steps the steps of this one must be.
    refinements: tuple[Refinement, ...] = field(default=(), converter=_named)
    # What runs must not leave undone for ever, and what they promise: see `progress`.
    fair: tuple[Fairness, ...] = field(default=(), converter=_named)
    progress: tuple[Liveness, ...] = field(default=(), converter=_named)
    # Slots that hold messages. Only pictures ask: an arrow leads from who puts one there to who
    # takes it.
    channels: tuple[str, ...] = field(default=(), converter=_named)

    def __attrs_post_init__(self) -> None:
        for name, kind in _KINDS.items():
            object.__setattr__(self, name, tuple(_of_kind(kind, p) for p in getattr(self, name)))
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

    def initial_values(self, name: str) -> Iterator[Value]:
        """Each value that a slot, or an element of it, has in some initial state."""
        slot = self.slots[name]
        for values in self.initial:
            given = choices(values.get(name, slot.initial))
            is_array = slot.size is not None and name in values
            for element in (e for chosen in given for e in (chosen if is_array else (chosen,))):
                yield from choices(element)

    def replaced(self, changed: Rule | Iterable[Rule]) -> Spec:
        """The same spec with rules of the same names replaced: how a mutation is applied. Raises
        `SpecError` if there is no rule of such a name.
        """
        new = {r.name: r for r in ([changed] if isinstance(changed, Rule) else changed)}
        missing = set(new) - {r.name for r in self.rules}
        if missing:
            raise SpecError(f"there is no rule {min(missing)!r} to replace", where=self.name)
        return attrs.evolve(self, rules=tuple(new.get(r.name, r) for r in self.rules))

    def only(self, invariants: Sequence[str]) -> Spec:
        """The same spec with these invariants and refinements alone; and where some of the names
        are of promises about runs, with these of them. Raises `SpecError` for another name.
        """
        there = [p.name for p in (*self.invariants, *self.refinements, *self.progress)]
        runs = tuple(p for p in self.progress if p.name in invariants)
        for name in invariants:
            if name not in there:
                raise SpecError(
                    f"no invariant {name!r} in {self.name}", do=f"one of {', '.join(there)}"
                )
        return attrs.evolve(
            self,
            invariants=tuple(p for p in self.invariants if p.name in invariants),
            refinements=tuple(r for r in self.refinements if r.name in invariants),
            progress=runs or self.progress,
        )
