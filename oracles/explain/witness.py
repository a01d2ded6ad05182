"""Who and what breaks a promise in a state or step: the indexes concerned and the values that the
invariant saw.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import Predicate, Spec, StepInvariant
from groupcheck.model.engine.lasso import named as live_named
from groupcheck.model.engine.plain.reach import broken_by
from groupcheck.model.engine.promises import ALL, SOME
from groupcheck.model.engine.refinement import Refined
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Firing, Reached, Step, Violation
from groupcheck.oracles.printable import brief, changes, place

LONGEST = 240  # of one value


@frozen
class Witness:
    """Who breaks a promise, and how that looks from inside the model."""

    # The states before and after what breaks it: the last step of the path, or one firing in it.
    before: State
    after: State
    # The indexes of the arrays' elements that break it; empty where it concerns all.
    indexes: tuple[int, ...] = ()
    # What the promise saw, one text for each value.
    evidence: tuple[str, ...] = ()


def witness(spec: Spec, violation: Violation) -> Witness:
    """The first combination of values for which the invariant is false; nothing for a deadlock,
    which concerns everything.
    """
    promise = next((p for p in spec.invariants if p.name == violation.invariant), None)
    see = Semantics(spec)
    states = violation.path.states
    before, after = states[-2:] if len(states) > 1 else (*states, *states)
    live = live_named(spec.progress, violation.invariant)
    if live is not None:
        binding = broken_by(see, violation.path).get(live.name, {})
        return Witness(before, after, tuple(binding.values()))
    if isinstance(promise, Predicate):
        return _shown(see, promise, ALL, (before, after))
    if isinstance(promise, StepInvariant):
        return _of_step(see, promise, before, violation.path.steps[-1])
    refined = next((r for r in see.refined if r.of.name == violation.invariant), None)
    if refined is not None:
        return Witness(before, after, (), tuple(_images(refined, before, after)))
    return Witness(before, after)


def witness_of_goal(spec: Spec, reached: Reached) -> Witness:
    """The first combination of values for which a goal is met in the last state of its path."""
    goal = next(g for g in spec.goals if g.name == reached.goal)
    states = reached.path.states
    return _shown(Semantics(spec), goal, SOME, (states[-2:][0], states[-1]))


def _images(refined: Refined, before: State, after: State) -> Iterator[str]:
    """The states of the smaller spec before and after a step, slot by slot."""
    places = refined.abstract.places
    for where, old, new in zip(places, refined.image(before), refined.image(after), strict=True):
        value = brief(old, LONGEST)
        told = f" = {value}" if old == new else f": {value} -> {brief(new, LONGEST)}"
        yield f"{refined.of.spec.name} {place(*where)}{told}"


def _shown(see: Semantics, promise: Predicate, usual: str, between: tuple[State, State]) -> Witness:
    """The first case in which a promise with the quantifier `usual` is broken (ALL) or met (SOME)
    in the second of two states.
    """
    before, state = between
    cases = see.cases(promise, usual)
    wanted = usual == SOME
    case = next((c for c in cases if see.answer(promise, usual, c, state) == wanted), {})
    left = [v for _, v in see.quantified(promise, usual) if v not in case]
    evidence = []
    # Where other variables are left, each element that they stand for is shown.
    for binding in see.indexing(promise).extended(case, left) if left else [case]:
        for name, index in promise.places:
            if name != "state":
                at = see.element(promise, (name, index), binding)
                is_shown = name in see.spec.slots or index is not None
                shown = place(name, at if is_shown else None)
                evidence.append(f"{shown} = {brief(see.argument(name, at, state), LONGEST)}")
    return Witness(before, state, tuple(case.values()), tuple(dict.fromkeys(evidence)))


def _of_step(see: Semantics, promise: StepInvariant, before: State, step: Step) -> Witness:
    for firing, old, new, broken in _inside(see, before, step):
        if promise in broken:
            told = [
                f"{name}: {brief(a, LONGEST)} -> {brief(b, LONGEST)}"
                for (slot, index), x, y in zip(see.places, old, new)
                if slot in promise.slots
                for name, a, b in changes(place(slot, index), x, y)
            ]
            who = () if firing.me is None else (firing.me, *firing.others)
            return Witness(old, new, who, (f"the outcome {firing.name}", *told))
    raise AssertionError(f"{promise.name} is not broken in this step")


def _inside(
    see: Semantics, state: State, step: Step
) -> Iterator[tuple[Firing, State, State, tuple[StepInvariant, ...]]]:
    """The firings of a step one by one: (firing, state before it, state after it, step invariants
    that it breaks).
    """
    for wanted in (step.firing, *step.urgent):
        instance = see.instance(wanted.name.partition(":")[0], wanted.me, wanted.others)
        for firing, after, broken in see.firings(instance, state):
            if firing == wanted:
                yield firing, state, after, broken
                state = after
                break
