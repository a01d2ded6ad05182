"""The meaning of a `Spec`, in plain Python: initial states, successors, predicates, keys.

Everything else (the fast engine, paths, replays) must agree with this file; it favours the obvious
over the quick.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from groupcheck.model.engine.binding import (
    Binding,
    Indexing,
    Instance,
    Look,
    element,
    indexing,
    instances,
    looks,
)
from groupcheck.model.engine.errors import RuleError, SpecError, UserError, shown
from groupcheck.model.engine.functions import brief, fault, outcomes, truth
from groupcheck.model.engine.pools import Taken, flaw
from groupcheck.model.engine.progress import PROMISE
from groupcheck.model.engine.promises import ALL, SOME, Predicate, Quantifier, StepInvariant
from groupcheck.model.engine.refinement import Refined, Refinement
from groupcheck.model.engine.signature import EVERY, Place
from groupcheck.model.engine.slot import choices, unfit
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.verdict import Firing, Path, Step

State = tuple[Any, ...]
# A way to rest: urgent firings, state at rest, step invariants broken.
Settled = tuple[tuple[Firing, ...], State, tuple[StepInvariant, ...]]
LONGEST_CHAIN = 10_000  # urgent outcomes inside one step; more is a rule that never comes to rest
FEW_STARTS = 10_000
MOST_OUTCOMES = (1 << 16) - 1  # of one rule for one combination of arguments


def too_many(name: str) -> UserError:
    """A rule that yields more outcomes than a row can hold, perhaps without end."""
    return UserError(
        f"more than {MOST_OUTCOMES:,} outcomes from one combination of arguments",
        where=f"rule {name}",
        do="split it",
    )


class Semantics:
    """A spec with its places resolved. `broken` collects (step invariant, before, after) as
    outcomes are computed.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.places = spec.places
        self.at = {place: k for k, place in enumerate(self.places)}
        every = [i for r in spec.rules for i in instances(spec, r, self.at)]
        # The rules at every choice of their indexes, in the order in which they apply.
        self.ordinary = [i for i in every if not i.rule.urgent]
        self.urgent = [i for i in every if i.rule.urgent]
        self._instances = {(i.rule.name, *i.index): i for i in every}
        self._checks: dict[tuple[Any, ...], list[Look]] = {}
        self.views = {v.name: v for v in spec.views}
        self.views |= {p.name: p for r in spec.refinements for p in r.mapping.values()}
        # By the id of a predicate, which is kept so that no other one takes its id.
        self._indexing: dict[int, tuple[Predicate, Indexing]] = {}
        # None: values are not compared with those before.
        self.taken: Taken | None = None
        self._starts: list[tuple[State, Settled]] = []
        self.refined = [Refined(r, self, Semantics(r.spec)) for r in spec.refinements]

    def instance(self, rule: str, me: int | None = None, others: tuple[int, ...] = ()) -> Instance:
        """A rule at its indexes. `me`: the first one, which a rule without an index ignores."""
        index = () if (rule,) in self._instances or me is None else (me, *others)
        return self._instances[rule, *index]

    def checks(self, instance: Instance) -> list[Look]:
        """The places that step invariants look at in the outcomes of a rule at its indexes."""
        key = (instance.rule.name, *instance.index)
        if key not in self._checks:
            promises = [p for p in self.spec.invariants if isinstance(p, StepInvariant)]
            self._checks[key] = [
                look for p in promises for look in looks(self.spec, p, instance, self.at)
            ]
        return self._checks[key]

    def state(self, values: dict[str, Any]) -> State:
        """A state from a mapping of slot to value (arrays: tuples of values, or one
        value for all). Raises `SpecError` if an array has another number of values than its size.
        """
        full: dict[tuple[str, int | None], Any] = {}
        for name, slot in self.spec.slots.items():
            value = values.get(name, slot.initial)
            if slot.size is None:
                full[name, None] = value
            else:
                many = value if name in values else (value,) * slot.size
                if not isinstance(many, tuple) or len(many) != slot.size:
                    raise SpecError(
                        f"the initial value of array {name!r} is a tuple of {slot.size} values",
                        where=self.spec.name,
                    )
                full.update({(name, i): v for i, v in enumerate(many)})
        return tuple(full[place] for place in self.places)

    def named(self, state: State) -> dict[str, Any]:
        """Slot name -> value, arrays as tuples."""
        out: dict[str, Any] = {}
        for (name, i), value in zip(self.places, state):
            out[name] = value if i is None else (*out.get(name, ()), value)
        return out

    # -- rules

    def call(self, i: Instance, args: Sequence[Any]) -> list[tuple[str, tuple[Any, ...]]]:
        """The outcomes of one rule on one combination of values, one for each place that it
        touches: (name it counts under, new values). Raises `RuleError`.
        """
        r = i.rule
        scope = (self.spec.scope,) if r.takes_scope else ()
        try:
            if not i.allows(args[i.guard_at]):
                return []
            given = r.call(*i.given, *i.grouped(args), *scope)
            yielded = list(itertools.islice(outcomes(given), MOST_OUTCOMES + 1))
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            raise RuleError(r.name, fault(error), i.called(args)) from error
        if len(yielded) > MOST_OUTCOMES:
            raise too_many(r.name)
        return [self.outcome(i, y, args) for y in yielded]

    def outcome(
        self, i: Instance, yielded: Any, args: Sequence[Any]
    ) -> tuple[str, tuple[Any, ...]]:
        """One yielded value, taken apart: one for each place. Raises `RuleError` if it is unfit."""
        r = i.rule
        name = r.name
        values = yielded
        if r.labels:
            if not isinstance(yielded, tuple) or not yielded or yielded[0] not in r.labels:
                raise RuleError(
                    r.name,
                    f"yielded {shown(yielded)}, which does not start with one of its labels"
                    f" {r.labels}",
                    i.called(args),
                )
            name, values = f"{r.name}:{yielded[0]}", yielded[1:]
        elif len(r.slots) == 1:
            values = (yielded,)
        if not isinstance(values, tuple) or len(values) != len(r.slots):
            raise RuleError(
                r.name,
                f"yielded {shown(yielded)}, not one value for each of {', '.join(r.named)}",
                i.called(args),
            )
        flat: list[Any] = []
        for parameter, width, value in zip(r.named, i.widths, values):
            if width is None:
                flat.append(value)
            elif isinstance(value, tuple) and len(value) == width:
                flat += value
            else:
                problem = f"yielded {shown(value)} for {parameter}, not a tuple of {width} values"
                raise RuleError(r.name, problem, i.called(args))
        for parameter, place, old, new in zip(i.parameters, i.where, args, flat):
            slot = self.places[place][0]
            problem = unfit(self.spec.slots[slot], parameter, old, new)
            if self.taken and not problem and (strange := self.taken.flaw(slot, new)):
                problem = f"yielded {brief(new)} for {parameter}, which {strange}"
            if problem:
                raise RuleError(r.name, problem, i.called(args))
        return name, tuple(flat)

    def firings(
        self, i: Instance, state: State
    ) -> Iterator[tuple[Firing, State, tuple[StepInvariant, ...]]]:
        """The outcomes of one rule instance in a state, each with the step invariants that it
        breaks.
        """
        args = tuple(state[k] for k in i.where)
        for choice, (name, values) in enumerate(self.call(i, args)):
            after = list(state)
            for k, v in zip(i.where, values):
                after[k] = v
            broken = tuple(
                dict.fromkeys(
                    p
                    for p, at in self.checks(i)
                    if not self.promise_holds(p, i, name, args, self.sides(p, at, args, values))
                )
            )
            yield Firing(name, i.me, choice, i.index[1:]), tuple(after), broken

    @staticmethod
    def sides(
        p: StepInvariant, at: Sequence[int], before: Sequence[Any], after: Sequence[Any]
    ) -> tuple[SimpleNamespace, SimpleNamespace]:
        """The slots of a step invariant before and after one outcome, as attributes.
        `at`: where they are among the values.
        """
        then, now = ({s: side[k] for s, k in zip(p.slots, at)} for side in (before, after))
        return SimpleNamespace(**then), SimpleNamespace(**now)

    def promise_holds(
        self,
        p: StepInvariant,
        i: Instance,
        name: str,
        before: Sequence[Any],
        sides: tuple[SimpleNamespace, SimpleNamespace],
    ) -> bool:
        """Does a step invariant hold for an outcome? `sides` of it, which several invariants over
        the same slots may share. Raises `RuleError` if its function raises an error.
        """
        args: list[Any] = [*sides]
        if p.takes_label:
            args.append(name.partition(":")[2])
        if p.takes_scope:
            args.append(self.spec.scope)
        try:
            return truth(p.call(*args))
        except (Exception, SystemExit) as error:
            raise RuleError(
                p.name, fault(error), i.called(before), kind="step invariant"
            ) from error

    def settle(self, state: State) -> Iterator[Settled]:
        """All ways in which urgent rules bring a state to rest: (urgent firings, state at rest,
        step invariants broken). Raises `RuleError` if urgent rules do not come to rest.
        """
        stack: list[Settled] = [((), state, ())]
        while stack:
            chain, now, broken = stack.pop()
            if len(chain) > LONGEST_CHAIN:
                raise RuleError(
                    chain[-1].name,
                    f"urgent rules do not come to rest within {LONGEST_CHAIN} outcomes",
                    self.named(state),
                )
            for instance in self.urgent:
                found = list(self.firings(instance, now))
                if found:
                    stack += [
                        ((*chain, f), after, (*broken, *b)) for f, after, b in reversed(found)
                    ]
                    break
            else:
                yield chain, now, broken

    def declared(self) -> Iterator[State]:
        """The initial states as they are declared, before urgent rules run: every choice where
        there are several.
        """
        for values in self.spec.initial:
            names = [*values]
            for chosen in itertools.product(*map(choices, values.values())):
                yield from itertools.product(*map(choices, self.state(dict(zip(names, chosen)))))

    def starts(self) -> list[tuple[tuple[Firing, ...], State, State]]:
        """Initial states at rest: (urgent firings, state as declared, state at rest)."""
        return [(chain, raw, rest) for raw, (chain, rest, _) in self._settled_starts()]

    def _settled_starts(self) -> list[tuple[State, Settled]]:
        """Each initial state as declared with a way to rest. Kept where there are few."""
        found = self._starts or [(raw, x) for raw in self.declared() for x in self.settle(raw)]
        self._starts = found if len(found) <= FEW_STARTS else []
        return found

    def broken_at_starts(self) -> dict[str, State]:
        """The step invariants that urgent rules break in initial states, and the refinements that
        begin otherwise, each with such a state at rest.
        """
        settled = [x for _, x in self._settled_starts()]
        wrong = {p.name: rest for _, rest, broken in reversed(settled) for p in broken}
        for r in self.refined:
            late = next((rest for _, rest, _ in settled if not r.begins(rest)), None)
            wrong |= {} if late is None else {r.of.name: late}
        return wrong

    def steps(self, state: State) -> Iterator[tuple[Step, tuple[StepInvariant | Refinement, ...]]]:
        """Every transition out of a state, with the step invariants and refinements that it
        breaks.
        """
        images = [r.image(state) for r in self.refined]
        for instance in self.ordinary:
            for firing, after, broken in self.firings(instance, state):
                for chain, rest, more in self.settle(after):
                    step = Step(firing, chain, rest)
                    yield step, (*broken, *more, *self._unrefined(images, rest))

    def _unrefined(self, images: list[State], after: State) -> list[Refinement]:
        """The refinements that a step breaks. `images`: of the state before it, one for each."""
        return [
            r.of for r, image in zip(self.refined, images) if not r.takes(image, r.image(after))
        ]

    # -- predicates

    def indexing(self, p: Predicate) -> Indexing:
        """The index variables of a predicate or view."""
        if id(p) not in self._indexing:
            self._indexing[id(p)] = p, indexing(self.spec, p)
        return self._indexing[id(p)][1]

    def instances(self, p: Predicate) -> list[dict[str, int]]:
        """Every choice of values for the index variables that a predicate does not quantify."""
        said = {variable for _, variable in p.quantifiers}
        found = self.indexing(p)
        return list(found.extended({}, [v for v in found.sizes if v not in said]))

    def quantified(self, p: Predicate, usual: str) -> list[Quantifier]:
        """How a predicate's index variables are quantified, from the outside in. `usual`: how those
        are that it says nothing about.
        """
        said = {variable for _, variable in p.quantifiers}
        rest = [(usual, v) for v in self.indexing(p).sizes if v not in said]
        return [*rest, *p.quantifiers]

    def cases(self, p: Predicate, usual: str) -> list[dict[str, int]]:
        """The choices of values for the outermost variables, as far as they are quantified as
        usual.
        """
        outer = itertools.takewhile(lambda q: q[0] == usual, self.quantified(p, usual))
        return list(self.indexing(p).extended({}, [variable for _, variable in outer]))

    def answer(self, p: Predicate, usual: str, case: Mapping[str, int], state: State) -> bool:
        """Is a predicate true in one case?"""
        return self.decided(p, usual, case, lambda b: self.evaluate(p, b, state))

    def decided(
        self, p: Predicate, usual: str, case: Mapping[str, int], ask: Callable[[Binding], Any]
    ) -> bool:
        """The same, where `ask` says whether it is true once all variables have values."""
        left = [q for q in self.quantified(p, usual) if q[1] not in case]
        if not left:
            return bool(ask(case))
        quantifier, variable = left[0]
        chosen = self.indexing(p).extended(case, [variable])
        answers = (self.decided(p, usual, more, ask) for more in chosen)
        return all(answers) if quantifier == ALL else any(answers)

    def size(self, name: str) -> int | None:
        """How many elements a slot or view has; None if it is single."""
        if name in self.views:
            return next(iter(self.indexing(self.views[name]).sizes.values()), None)
        return None if name == "state" else self.spec.slots[name].size

    def element(self, p: Predicate, place: Place, binding: Binding) -> int | None:
        """The element for which a parameter stands; None for what is single or a whole array."""
        name, index = place
        size = None if index == EVERY else self.size(name)
        return None if size is None else element(index, p.own, binding, size)

    def argument(self, name: str, index: int | None, state: State) -> Any:
        """The value of a slot, of a view, or of the whole state. `index`: None for what is single,
        and for a whole array.
        """
        if name == "state":
            return SimpleNamespace(**self.named(state))
        size = self.size(name)
        if size is not None and index is None:
            return tuple(self.argument(name, k, state) for k in range(size))
        if name in self.views:
            view = self.views[name]
            variables = [] if index is None else [(v, index) for v in self.indexing(view).sizes]
            return self.evaluate(view, dict(variables), state)
        return state[self.at[name, index]]

    def evaluate(self, p: Predicate, binding: Binding, state: State) -> Any:
        """The value of a predicate or view for one choice of its index variables."""
        values = [self.argument(x[0], self.element(p, x, binding), state) for x in p.places]
        return self.asked(p, [*p.given(binding), *values])

    def asked(self, p: Predicate, args: list[Any]) -> Any:
        """The value of a view, or the answer of another predicate, for these arguments (indexes
        first, without the scope). Raises `RuleError`.
        """
        is_view = self.views.get(p.name) is p
        try:
            value = p.call(*args, *([self.spec.scope] if p.takes_scope else []))
            if not is_view:
                return truth(value)
            problem = flaw(value, value) or (self.taken and self.taken.flaw(p.name, value))
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            raise self._fault(p, fault(error), args) from error
        if problem:
            raise self._fault(p, f"gave a {type(value).__name__}, which {problem}", args)
        return value

    def _fault(self, p: Predicate, problem: str, args: list[Any]) -> RuleError:
        s = self.spec
        roles = {"goal": s.goals, "end": s.ends, "constraint": s.constraints}
        roles["view"] = tuple(self.views.values())
        roles[PROMISE] = tuple(q for promise in s.progress for q in promise.predicates)
        kind = next(
            (what for what, given in roles.items() if any(p is q for q in given)), "invariant"
        )
        names = (f"{n}[{index}]" if index else n for n, index in p.places)
        return RuleError(p.name, problem, dict(zip((*p.takes, *names), args)), kind=kind)

    def holds(self, p: Predicate, state: State) -> bool:
        """Does it hold for all indexes, if it does not say otherwise?"""
        return all(self.answer(p, ALL, case, state) for case in self.cases(p, ALL))

    def met(self, p: Predicate, state: State) -> bool:
        """Does it hold for some index, if it does not say otherwise?"""
        return any(self.answer(p, SOME, case, state) for case in self.cases(p, SOME))

    def rests(self, state: State) -> bool:
        """Is the state a declared end?"""
        return any(self.holds(e, state) for e in self.spec.ends)

    def within(self, state: State) -> bool:
        """Do all constraints hold? Otherwise it is a border state."""
        return all(self.holds(c, state) for c in self.spec.constraints)

    def nothing_within(self) -> SpecError:
        """The error for constraints that leave nothing to explore."""
        names = " and ".join(c.name for c in self.spec.constraints)
        return SpecError(
            f"no initial state is within the constraint {names}, so nothing would be explored",
            where=self.spec.name,
        )

    # -- paths and keys

    def key(self, path: Path) -> str:
        """A short text that replays a path with `follow`: the number of the start and of each step
        among its alternatives, and where the loop of a lasso begins. Raises `RuleError` if a rule
        does not yield a step again.
        """
        begun = [(rest, chain) for chain, _, rest in self.starts()]
        numbers = [begun.index((path.initial, path.settled))]
        state = path.initial
        for step in path.steps:
            rule = step.firing.name.partition(":")[0]
            try:
                number = next((n for n, (s, _) in enumerate(self.steps(state)) if s == step), None)
            except UserError:
                raise
            except Exception as error:
                problem = f"yielded a value that raises {type(error).__name__} when it is compared"
                raise RuleError(rule, problem, self.named(state)) from error
            if number is None:
                raise RuleError(
                    rule,
                    "did not yield again what it had yielded: it is not deterministic",
                    self.named(state),
                )
            numbers.append(number)
            state = step.state
        loop = "" if path.loop_from is None else f"+{path.loop_from}"
        return "gc1-" + ".".join(map(str, numbers)) + loop

    def follow(self, key: str) -> Path:
        """The path that a key stands for. Raises `UserError` where the key does not fit this spec
        and scope.
        """
        if not re.fullmatch(r"gc1-[0-9]{1,8}(\.[0-9]{1,8})*(\+[0-9]{1,8})?", key):
            raise UserError(f"{key[:60]!r} is not a key", do="a key looks like gc1-0.3.12")
        choices, _, loop = key[4:].partition("+")
        start, *numbers = map(int, choices.split("."))
        starts = self.starts()
        if start >= len(starts):
            raise UserError(
                f"the key starts at initial state {start}, there are {len(starts)}",
                where=self.spec.name,
            )
        chain, _, state = starts[start]
        steps: list[Step] = []
        initial = state
        for n, number in enumerate(numbers, 1):
            step = next(itertools.islice(self.steps(state), number, None), None)
            if step is None:
                raise UserError(
                    f"the key does not fit at step {n}",
                    where=self.spec.name,
                    do="use the variant, scope and mutation that gave it",
                )
            steps.append(step[0])
            state = step[0].state
        path = Path(self.places, initial, chain, tuple(steps), int(loop) if loop else None)
        if loop and path.states[int(loop) :][:1] != (state,):
            raise UserError(
                f"the last step does not return to state {loop}, where the key's loop begins",
                where=self.spec.name,
                do="use the variant, scope and mutation that gave it",
            )
        return path
