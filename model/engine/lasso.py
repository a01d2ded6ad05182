"""The meaning of progress: which actions are fair, and which promises a run breaks.

A run that never ends is told as a lasso: a path to a state, and a loop from there back to it, which
is repeated for ever. An empty loop stays in its state for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from groupcheck.model.engine.progress import Liveness
from groupcheck.model.engine.promises import ALL
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import UNKNOWN, Firing, Kind, Path

Binding = dict[str, int]


@frozen
class Action:
    """A fair action: steps of which a run may not leave all undone while some stay possible."""

    name: str
    # (`rule` or `rule:label`, indexes) of the outcomes that begin its steps.
    firings: frozenset[tuple[str | int | None, ...]]

    def has(self, firing: Firing) -> bool:
        return (firing.name, firing.me, *firing.others) in self.firings


@frozen
class Answers:
    """The answers so far on the progress promises of a spec."""

    # Of each promise: does it hold, and a counterexample.
    found: Mapping[str, tuple[Kind, Path | None]]
    # Why not all of them were looked at; empty: they were.
    why: str = ""

    @classmethod
    def unknown(cls, spec: Spec, why: str) -> Answers:
        """Nothing."""
        return cls({p.name: (UNKNOWN, None) for p in spec.progress}, why)


def actions_of(see: Semantics) -> tuple[Action, ...]:
    """The fair actions of a spec, in the order in which it names them."""
    found = []
    for f in see.spec.fair:
        by_index: dict[tuple[int, ...], set[tuple[str | int | None, ...]]] = {}
        for i in see.ordinary:
            names = {n for n in i.rule.names if not f.names or {n, i.rule.name} & {*f.names}}
            if names:
                by_index.setdefault(() if f.together else i.index, set()).update(
                    (n, i.me, *i.index[1:]) for n in names
                )
        for index, firings in by_index.items():
            told = f"[{', '.join(map(str, index))}]" if index else ""
            found.append(Action(f.name + told, frozenset(firings)))
    return tuple(found)


def enabled(see: Semantics, actions: Sequence[Action], state: State) -> frozenset[Action]:
    """The actions of which a step leads from this state to another one."""
    moves = {step.firing for step, _ in see.steps(state) if step.state != state}
    return frozenset(a for a in actions if any(a.has(firing) for firing in moves))


def unfair_to(see: Semantics, path: Path) -> tuple[Action, ...]:
    """The fair actions that are enabled all along the loop of a lasso and never taken in it; none:
    the run is fair.
    """
    assert path.loop_from is not None
    states, steps = path.states[path.loop_from :], path.steps[path.loop_from :]
    left = set(actions_of(see))
    for state in states:
        left &= enabled(see, tuple(left), state)
    for before, step in zip(states, steps):
        if step.state != before:
            left -= {a for a in left if a.has(step.firing)}
    return tuple(a for a in actions_of(see) if a in left)


def breaks(see: Semantics, promise: Liveness, binding: Binding, path: Path) -> bool:
    """Does the run of a lasso break a promise for this binding? (Whether the run is fair is another
    question.)
    """
    assert path.loop_from is not None
    states = path.states
    good = [see.answer(promise.goal, ALL, binding, state) for state in states]
    loop = good[path.loop_from :]
    if promise.kind == "settles":
        return not all(loop)
    if any(loop):
        return False
    last = max((k for k, holds in enumerate(good) if holds), default=-1)
    if promise.kind == "eventually":
        return last < 0
    if promise.kind == "infinitely_often":
        return True
    assert promise.when is not None, f"{promise.kind} is no promise about lassos"
    return any(see.answer(promise.when, ALL, binding, state) for state in states[last + 1 :])


def named(promises: Iterable[Liveness], name: str) -> Liveness | None:
    """The progress promise of a name."""
    return next((p for p in promises if p.name == name), None)
