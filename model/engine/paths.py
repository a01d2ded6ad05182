"""Paths through states that a search has found: the steps between them, taken again in the spec."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from attrs import evolve

from groupcheck.model.engine.errors import RuleError, UserError
from groupcheck.model.engine.promises import Predicate, StepInvariant
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.symmetry import Orbits
from groupcheck.model.engine.verdict import Path, Step


def path_through(see: Semantics, states: Sequence[State]) -> Path:
    """The path through these states, the first of them an initial one. Raises `RuleError` if no
    step leads from one of them to the next.
    """
    steps: list[Step] = []
    for before, after in pairwise(states):
        step = _step(see, before, after, lambda state: state)
        if step is None:
            raise RuleError(
                _suspect(see, before, after),
                "a path cannot be repeated: some rule is not deterministic",
                see.named(before),
            )
        steps.append(step)
    chain = next(c for c, _, rest in see.starts() if rest == states[0])
    return Path(see.places, states[0], chain, tuple(steps))


def _step(see: Semantics, before: State, after: Any, by: Callable[[State], Any]) -> Step | None:
    """The first step to a state that has the key `after` under the function `by`; None if
    there is none.
    """
    for step, _ in see.steps(before):
        try:
            if by(step.state) == after:
                return step
        except UserError:
            raise
        except Exception as error:
            problem = f"yielded a value that raises {type(error).__name__} when it is compared"
            rule = step.firing.name.partition(":")[0]
            raise RuleError(rule, problem, see.named(before)) from error
    return None


def _suspect(see: Semantics, before: State, after: State) -> str:
    """The rule that led from one state to another, if there is only one that touches all that
    changed.
    """
    changed = {k for k, (old, new) in enumerate(zip(before, after)) if old != new}
    names = {i.rule.name for i in see.ordinary if changed <= set(i.where)}
    return names.pop() if len(names) == 1 and not see.urgent else "?"


def path_of(see: Semantics, name: str, path: Path, kind: str) -> Path:
    """The path to a violation whose witness stands at the end of a path: the path itself, or with
    the step that breaks a step invariant. Raises `RuleError` if no step breaks it again.
    """
    if kind != "step":
        return path
    witness = path.states[-1]
    last = next((s for s, broken in see.steps(witness) if name in [p.name for p in broken]), None)
    if last is None:
        raise RuleError(
            name,
            "broke in a step that cannot be repeated: some rule is not deterministic",
            see.named(witness),
            kind="step invariant",
        )
    return Path(path.places, path.initial, path.settled, (*path.steps, last))


def at_start(see: Semantics, name: str, path: Path) -> Path:
    """A path without steps to a violation: with urgent outcomes that break the step invariant, if
    it is one, because several initial states may come to the same rest.
    """
    for raw in see.declared() if not path.steps else ():
        for chain, rest, broken in see.settle(raw):
            if rest == path.initial and name in [p.name for p in broken]:
                return evolve(path, settled=chain)
    return path


def unwound(see: Semantics, orbits: Orbits, through: Sequence[State], last: State) -> Path:
    """A path of the spec through the orbits of these states, the first of them an initial one, to
    the state `last` of the last orbit.

    It follows steps from orbit to orbit; where it ends in another state than `last`, the
    permutation that makes `last` of that state is applied to the whole path. Raises `RuleError` if
    no step leads from one orbit to the next.
    """
    first = orbits.key(through[0])
    states = [next(rest for _, _, rest in see.starts() if orbits.key(rest) == first)]
    for state in through[1:]:
        now, key = states[-1], orbits.key(state)
        step = _step(see, now, key, orbits.key)
        if step is None:
            what = "a path cannot be repeated: some rule is not deterministic"
            raise RuleError("?", what, see.named(now))
        states.append(step.state)
    move = next(move for move in orbits.moves if move(states[-1]) == last)
    return path_through(see, [move(state) for state in states])


def shown_by(orbits: Orbits, state: State, name: str, kind: str) -> State:
    """The state of an orbit that shows what is wrong: a broken invariant, a step that breaks one
    (which may need a walk that visits indexes in another order), or a deadlock. The first one where
    all do. `kind`: as in `Findings`.
    """
    see = orbits.see
    p = next((p for p in see.spec.invariants if p.name == name), None)
    if isinstance(p, StepInvariant) and kind == "state":
        return see.broken_at_starts()[name]
    return next((i for i in orbits.images(state) if _shows(see, p, i)), state)


def _shows(see: Semantics, p: Predicate | StepInvariant | None, state: State) -> bool:
    """Does a state break an invariant, or a step from it; or is it a deadlock?"""
    if p is None:
        return not see.rests(state)
    if isinstance(p, Predicate):
        return not see.holds(p, state)
    return any(p in broken for _, broken in see.steps(state))
