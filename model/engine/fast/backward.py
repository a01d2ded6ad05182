"""Shortest paths from the log alone: level by level backwards, the kernel finds a state that has
the next one as successor.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.exploration import Exploration
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Path, Step


def places_to(search: Exploration, place: int) -> list[int]:
    """Places of a shortest path from an initial state to the state at `place`."""
    out = [place]
    for level in range(search.log.level_of(place) - 1, -1, -1):
        first, end = search.log.levels[level], search.log.levels[level + 1]
        found = search.predecessor(first, end, out[-1])
        if found is None:
            raise RuleError(
                "?",
                f"no state leads to state {out[-1]} of the log: a rule is not deterministic",
                {},
            )
        out.append(found)
    return out[::-1]


def path_to(search: Exploration, place: int) -> Path:
    """A shortest path, its values replayed through the rules. Raises `RuleError` if they do not
    give it again.
    """
    return path_through(search.see, [search.state(k) for k in places_to(search, place)])


def path_through(see: Semantics, states: Sequence[State]) -> Path:
    """The path through these states, the first of them an initial one."""
    steps: list[Step] = []
    for before, after in pairwise(states):
        step = next((s for s, _ in see.steps(before) if s.state == after), None)
        if step is None:
            raise RuleError(
                _suspect(see, before, after),
                "a path cannot be repeated: some rule is not deterministic",
                see.named(before),
            )
        steps.append(step)
    chain = next(c for c, _, rest in see.starts() if rest == states[0])
    return Path(see.places, states[0], chain, tuple(steps))


def _suspect(see: Semantics, before: State, after: State) -> str:
    """The rule that led from one state to another, if there is only one that touches all that
    changed.
    """
    changed = {k for k, (old, new) in enumerate(zip(before, after)) if old != new}
    names = {rule.name for rule, _, where in see.ordinary if changed <= set(where)}
    return names.pop() if len(names) == 1 and not see.urgent else "?"


def path_of(see: Semantics, name: str, path: Path, kind: str) -> Path:
    """The path to a violation whose witness stands at the end of a path: the path itself, or with
    the step that breaks a step invariant.
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
