"""The meaning of a `Spec`, in plain Python: initial states, successors, predicates, keys.

Everything else (the fast engine, paths, replays) must agree with this file; it favours the obvious
over the quick.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from groupcheck.model.engine.errors import RuleError, SpecError, UserError, shown
from groupcheck.model.engine.functions import AnswerError, outcomes, truth
from groupcheck.model.engine.pools import flaw
from groupcheck.model.engine.progress import PROMISE
from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.engine.refinement import Refined, Refinement
from groupcheck.model.engine.rule import Rule
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.verdict import Firing, Path, Step

State = tuple[Any, ...]
LONGEST_CHAIN = 10_000  # urgent outcomes inside one step; more is a rule that never comes to rest
MOST_OUTCOMES = (1 << 16) - 1  # of one rule for one combination of arguments


def too_many(name: str) -> UserError:
    """A rule that yields more outcomes than a row can hold, perhaps without end."""
    return UserError(
        f"more than {MOST_OUTCOMES:,} outcomes from one combination of arguments",
        where=f"rule {name}",
        do="split it",
    )


def fault(error: BaseException) -> str:
    """What a function of the spec did wrong, in words."""
    return (
        str(error) if isinstance(error, AnswerError) else f"raised {type(error).__name__}: {error}"
    )


class Semantics:
    """A spec with its places resolved. `broken` collects (step invariant, before, after) as
    outcomes are computed.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.places = spec.places
        self.at = {place: k for k, place in enumerate(self.places)}
        instances = [(r, i, self._where(r, i)) for r in spec.rules for i in spec.indexes(r)]
        self.ordinary = [x for x in instances if not x[0].urgent]
        self.urgent = [x for x in instances if x[0].urgent]
        self.by_name = {(r.name, i): (r, i, w) for r, i, w in instances}
        self.checks = {
            r.name: [p for p in spec.invariants if isinstance(p, StepInvariant) and p.concerns(r)]
            for r in spec.rules
        }
        self.views = {v.name: v for v in spec.views}
        self.views |= {p.name: p for r in spec.refinements for p in r.mapping.values()}
        self.refined = [Refined(r, self, Semantics(r.spec)) for r in spec.refinements]
        self.indexed = {
            r.name
            for r in spec.rules
            if r.takes_me or any(spec.slots[n].size is not None for n in r.slots)
        }

    def _where(self, r: Rule, i: int) -> tuple[int, ...]:
        return tuple(self.at[n, None if self.spec.slots[n].size is None else i] for n in r.slots)

    def state(self, values: dict[str, Any]) -> State:
        """A state from a mapping of slot to value (arrays: tuples of values, or one
        value for all).
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

    def call(self, r: Rule, me: int, args: tuple[Any, ...]) -> list[tuple[str, tuple[Any, ...]]]:
        """The outcomes of one rule on one combination of values: (name it counts under, new
        values). Raises `RuleError`.
        """
        called = dict(zip(r.slots, args))
        given = ((me,) if r.takes_me else ()) + args + ((self.spec.scope,) if r.takes_scope else ())
        try:
            if r.guard and not r.guard.allows(me, args[r.slots.index(r.guard.slot)]):
                return []
            yielded = list(itertools.islice(outcomes(r.call(*given)), MOST_OUTCOMES + 1))
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            raise RuleError(r.name, fault(error), called) from error
        if len(yielded) > MOST_OUTCOMES:
            raise too_many(r.name)
        return [self.outcome(r, y, called) for y in yielded]

    @staticmethod
    def outcome(r: Rule, yielded: Any, called: dict[str, Any]) -> tuple[str, tuple[Any, ...]]:
        """One yielded value, checked and taken apart."""
        name = r.name
        values = yielded
        if r.labels:
            if not isinstance(yielded, tuple) or not yielded or yielded[0] not in r.labels:
                raise RuleError(
                    r.name,
                    f"yielded {shown(yielded)}, which does not start with one of its labels"
                    f" {r.labels}",
                    called,
                )
            name, values = f"{r.name}:{yielded[0]}", yielded[1:]
        elif len(r.slots) == 1:
            values = (yielded,)
        if not isinstance(values, tuple) or len(values) != len(r.slots):
            raise RuleError(
                r.name,
                f"yielded {shown(yielded)}, not one value for each of {', '.join(r.slots)}",
                called,
            )
        for slot, value in zip(r.slots, values):
            if problem := flaw(value, called[slot]):
                raise RuleError(
                    r.name,
                    f"yielded a {type(value).__name__} for {slot}, which {problem} (use frozen"
                    " values)",
                    called,
                )
            if type(value) is not type(called[slot]):
                raise RuleError(
                    r.name,
                    f"yielded a {type(value).__name__} for {slot}, which holds"
                    f" {type(called[slot]).__name__}",
                    called,
                )
        return name, values

    def firings(
        self, instance: tuple[Rule, int, tuple[int, ...]], state: State
    ) -> Iterator[tuple[Firing, State, tuple[StepInvariant, ...]]]:
        """The outcomes of one rule instance in a state, each with the step invariants that it
        breaks.
        """
        r, me, where = instance
        args = tuple(state[k] for k in where)
        for choice, (name, values) in enumerate(self.call(r, me, args)):
            after = list(state)
            for k, v in zip(where, values):
                after[k] = v
            broken = tuple(
                p
                for p in self.checks[r.name]
                if not self.promise_holds(p, r, name, args, self.sides(p, r, args, values))
            )
            yield Firing(name, me if r.name in self.indexed else None, choice), tuple(after), broken

    @staticmethod
    def sides(
        p: StepInvariant, r: Rule, before: Sequence[Any], after: Sequence[Any]
    ) -> tuple[SimpleNamespace, SimpleNamespace]:
        """What a step invariant sees of one outcome: its slots before and after, as attributes."""
        at = [(s, r.slots.index(s)) for s in p.slots]
        then, now = ({s: side[k] for s, k in at} for side in (before, after))
        return SimpleNamespace(**then), SimpleNamespace(**now)

    def promise_holds(
        self,
        p: StepInvariant,
        r: Rule,
        name: str,
        before: Sequence[Any],
        sides: tuple[SimpleNamespace, SimpleNamespace],
    ) -> bool:
        """Does a step invariant hold for an outcome? `sides` of it, which several invariants over
        the same slots may share.
        """
        args: list[Any] = [*sides]
        if p.takes_label:
            args.append(name.partition(":")[2])
        if p.takes_scope:
            args.append(self.spec.scope)
        try:
            return truth(p.call(*args))
        except (Exception, SystemExit) as error:
            called = dict(zip(r.slots, before))
            raise RuleError(p.name, fault(error), called, kind="step invariant") from error

    def settle(
        self, state: State
    ) -> Iterator[tuple[tuple[Firing, ...], State, tuple[StepInvariant, ...]]]:
        """All ways in which urgent rules bring a state to rest: (urgent firings, state at rest,
        step invariants broken).
        """
        stack: list[tuple[tuple[Firing, ...], State, tuple[StepInvariant, ...]]] = [((), state, ())]
        while stack:
            chain, now, broken = stack.pop()
            if len(chain) > LONGEST_CHAIN:
                raise RuleError(
                    chain[-1].name,
                    f"urgent rules do not come to rest within {LONGEST_CHAIN} outcomes",
                    self.named(state),
                )
            for instance in self.urgent:
                outcomes = list(self.firings(instance, now))
                if outcomes:
                    stack += [
                        ((*chain, f), after, (*broken, *b)) for f, after, b in reversed(outcomes)
                    ]
                    break
            else:
                yield chain, now, broken

    def starts(self) -> list[tuple[tuple[Firing, ...], State, State]]:
        """Initial states at rest: (urgent firings, state as declared, state at rest)."""
        return [
            (chain, raw, rest)
            for values in self.spec.initial
            for raw in [self.state(dict(values))]
            for chain, rest, _ in self.settle(raw)
        ]

    def broken_at_starts(self) -> dict[str, State]:
        """The step invariants that urgent rules break in initial states, and the refinements that
        begin otherwise, each with such a state at rest.
        """
        raw = [self.state(dict(values)) for values in self.spec.initial]
        settled = [x for state in raw for x in self.settle(state)]
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

    def instances(self, p: Predicate) -> list[dict[str, int]]:
        """The values of a predicate's index variables: all tuples of different indexes."""
        sizes: dict[str, int] = {}
        for name, var in p.places:
            size = self.size(name)
            if size is not None:
                sizes[var or "i"] = min(sizes.get(var or "i", size), size)
        bindings: list[dict[str, int]] = [{}]
        for v, size in sizes.items():
            bindings = [{**b, v: i} for b in bindings for i in range(size) if i not in b.values()]
        return bindings

    def size(self, name: str) -> int | None:
        """How many elements a slot or view has; None if it is single."""
        if name in self.views:
            sizes = [self.size(inner) for inner, _ in self.views[name].places]
            return next((size for size in sizes if size is not None), None)
        return None if name == "state" else self.spec.slots[name].size

    def argument(self, name: str, index: int | None, state: State) -> Any:
        """The value of a slot, of a view, or of the whole state."""
        if name == "state":
            return SimpleNamespace(**self.named(state))
        if name in self.views:
            return self.evaluate(self.views[name], {"i": index} if index is not None else {}, state)
        return state[self.at[name, None if self.spec.slots[name].size is None else index]]

    def evaluate(self, p: Predicate, binding: dict[str, Any], state: State) -> Any:
        """The value of a predicate or view for one binding of its index variables."""
        only = next(iter(binding.values())) if len(binding) == 1 else None
        return self.asked(
            p, [self.argument(name, binding.get(var or "i", only), state) for name, var in p.places]
        )

    def asked(self, p: Predicate, args: list[Any]) -> Any:
        """The value of a view, or the answer of another predicate, for these arguments. Raises
        `RuleError`.
        """
        is_view = self.views.get(p.name) is p
        try:
            value = p.call(*args, *([self.spec.scope] if p.takes_scope else []))
            if not is_view:
                return truth(value)
            problem = flaw(value, value)
        except UserError:
            raise
        except (Exception, SystemExit) as error:
            raise self._fault(p, fault(error), args) from error
        if problem:
            raise self._fault(p, f"gave a {type(value).__name__}, which {problem}", args)
        return value

    def _fault(self, p: Predicate, problem: str, args: list[Any]) -> RuleError:
        s = self.spec
        roles = {"view": s.views, "goal": s.goals, "end": s.ends, "constraint": s.constraints}
        roles[PROMISE] = tuple(q for promise in s.progress for q in promise.predicates)
        kind = next(
            (what for what, given in roles.items() if any(p is q for q in given)), "invariant"
        )
        return RuleError(p.name, problem, dict(zip((n for n, _ in p.places), args)), kind=kind)

    def holds(self, p: Predicate, state: State) -> bool:
        """Does it hold for every binding?"""
        return all(self.evaluate(p, b, state) for b in self.instances(p))

    def met(self, p: Predicate, state: State) -> bool:
        """Does it hold for some binding?"""
        return any(self.evaluate(p, b, state) for b in self.instances(p))

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
        among its alternatives, and where the loop of a lasso begins.
        """
        numbers = [[rest for _, _, rest in self.starts()].index(path.initial)]
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
            raise UserError(
                f"{key[:60]!r} is not a key", do="a key looks like gc1-0.3.12 or gc1-0.3.12+1"
            )
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
