"""The obvious engine: a breadth-first search over values in plain Python. Slow, short, and the
judge of the fast one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve

from groupcheck.model.engine.errors import AsymmetryError, RuleError
from groupcheck.model.engine.lasso import Answers
from groupcheck.model.engine.liveness import Graph
from groupcheck.model.engine.paths import at_start, unwound
from groupcheck.model.engine.pools import Taken
from groupcheck.model.engine.promises import Predicate
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.symmetry import (
    NO_SYMMETRY,
    ON_PROGRESS,
    Orbits,
    Symmetry,
    must_be_usable,
    symmetry_of,
    takes_permuted_steps,
)
from groupcheck.model.engine.verdict import (
    DEADLOCK,
    EXPLORED,
    HOLDS,
    UNKNOWN,
    VIOLATED,
    Kind,
    Limits,
    Path,
    Progress,
    Reached,
    Reduction,
    Step,
    Verdict,
    Violation,
)

__all__ = ["explore"]
Listener = Callable[[Progress], None]
Broken = tuple[State, Step | None, int]  # (state, last step outside the tree, depth)
Met = tuple[State, int]  # (the first state that meets a goal, depth)


def explore(
    spec: Spec,
    limits: Limits = Limits(),
    progress: Callable[[Progress], None] | None = None,
    *,
    symmetry: bool = False,
    required: bool = False,
    liveness: bool = False,
    goals: Sequence[str] = (),
) -> Verdict:
    """Explores every state. The first violations stop the run at the end of their level, so that
    paths are shortest. `goals`: those whose shortest paths are told, too.

    `symmetry`: expands one state of each orbit where the spec allows it, after looking that its
    permutations take the permuted steps. The numbers stay those of all states. `liveness`: judges
    the progress promises, too, among all states. `required`: raises `UserError` where there is no
    symmetry after all.
    """
    if liveness:
        found = ON_PROGRESS if symmetry and symmetry_of(spec).groups else NO_SYMMETRY
        must_be_usable(spec, found, required)
        see, verdict = Semantics(spec), _explored(spec, limits, progress, found, goals)
        graph = Graph(see, verdict.states + verdict.border, verdict.depth)
        return with_progress(see, verdict, graph.answers())
    found = symmetry_of(spec) if symmetry else NO_SYMMETRY
    must_be_usable(spec, found, required)
    try:
        return _explored(spec, limits, progress, found, goals)
    except AsymmetryError as error:
        found = Symmetry((), (str(error),))
    must_be_usable(spec, found, required)
    return _explored(spec, limits, progress, found, goals)


def _explored(
    spec: Spec, limits: Limits, hear: Listener | None, symmetry: Symmetry, asked: Sequence[str]
) -> Verdict:
    began = time.perf_counter()
    see = _comparing(spec)
    orbits = Orbits(see, symmetry.groups)
    # Orbit -> the state that stands for it: the one that was met first.
    standing: dict[Any, State] = {}
    parent: dict[State, State | None] = {}
    fired = {name: 0 for r in spec.rules for name in r.names}
    met: dict[str, Met] = {}
    wrong: dict[str, Broken] = {}
    states, transitions, depth, reason = 0, 0, 0, ""

    def path_to(state: State, last: Step | None) -> Path:
        through = [standing[orbits.key(state)]]
        while (link := parent[through[-1]]) is not None:
            through.append(link)
        path = unwound(see, orbits, through[::-1], state)
        return path if last is None else evolve(path, steps=(*path.steps, last))

    def arrive(state: State, before: State | None) -> bool:
        """Takes in a state, unless one of its orbit is known."""
        nonlocal states
        if standing.setdefault(orbits.key(state), state) is not state or state in parent:
            return False
        parent[state] = before
        states += orbits.size(state)
        for image in orbits.images(state):
            look_at(see, image, depth, wrong, met)
        return True

    for chain, _, state in see.starts():
        for f in chain:
            fired[f.name] += 1
        arrive(state, None)
    wrong |= {name: (state, None, 0) for name, state in see.broken_at_starts().items()}
    frontier, border = inside(see, list(parent), begins=True)
    while frontier and not wrong and not reason:
        depth += 1
        reached: list[State] = []
        for state in frontier:
            moved = False
            many = orbits.size(state)
            try:
                if symmetry.groups:
                    takes_permuted_steps(orbits, state)
                for step, broken in see.steps(state):
                    transitions += many
                    for f in (step.firing, *step.urgent):
                        fired[f.name] += many
                    moved = moved or step.state != state
                    for p in broken:
                        wrong.setdefault(p.name, (state, step, depth))
                    if arrive(step.state, state):
                        reached.append(step.state)
            except RuleError as error:
                raise error.at(see.key(path_to(state, None))) from error
            except KeyboardInterrupt:
                reason = f"interrupted in level {depth + 1}"
                break
            for image in orbits.images(state) if spec.deadlock and not moved else ():
                if not see.rests(image):
                    wrong.setdefault(DEADLOCK, (image, None, depth - 1))
            reason = limits.reached(len(parent), time.perf_counter() - began, depth + 1)
            if reason:
                break
        frontier, more = inside(see, reached)
        border += more
        if frontier and not wrong:
            reason = reason or limits.reached_depth(depth)
        if hear:
            seconds = time.perf_counter() - began
            hear(Progress(states, transitions, depth, len(frontier), seconds, 0))
    found = [
        violation(see, n, at, path_to(state, last)) for n, (state, last, at) in in_order(wrong)
    ]
    goals = {g.name: met[g.name][1] if g.name in met else None for g in spec.goals}
    paths = [goal_met(see, g, met[g][1], path_to(met[g][0], None)) for g in asked if g in met]
    return Verdict(
        spec.name, spec.scope, *conclude(see, bool(found), reason, border),
        states - border, transitions, depth, time.perf_counter() - began, 0, 0.0,
        fired, goals, tuple(found), border=border,
        symmetry=reduction(symmetry, len(parent)), reached=tuple(paths),
    )  # fmt: skip


def _comparing(spec: Spec) -> Semantics:
    """The meaning of a spec, which looks whether values are the same as those that they equal."""
    see = Semantics(spec)
    see.taken = Taken(spec, see.views)
    return see


def look_at(
    see: Semantics,
    state: State,
    depth: int,
    wrong: dict[str, Broken],
    met: dict[str, Met],
) -> None:
    """Notes the invariants that a state breaks, and the goals that it meets, where they are new."""
    for p in see.spec.invariants:
        if isinstance(p, Predicate) and p.name not in wrong and not see.holds(p, state):
            wrong[p.name] = (state, None, depth)
    for g in see.spec.goals:
        if g.name not in met and see.met(g, state):
            met[g.name] = (state, depth)


def in_order(wrong: Mapping[str, Broken]) -> list[tuple[str, Broken]]:
    """The violations that were met, the shallowest first."""
    return sorted(wrong.items(), key=lambda w: (w[1][2], w[0]))


def inside(see: Semantics, found: list[State], begins: bool = False) -> tuple[list[State], int]:
    """Those of these states that are no border states, and how many are. `begins`: these are the
    initial states, of which some must be inside. Raises `SpecError` if none is.
    """
    left = [state for state in found if see.within(state)]
    if begins and not left:
        raise see.nothing_within()
    return left, len(found) - len(left)


def reduction(symmetry: Symmetry, stored: int) -> Reduction:
    """The verdict's statement on the symmetry of a search that stored so many states."""
    arrays = tuple(group.arrays for group in symmetry.groups)
    return Reduction(bool(arrays), "; ".join(symmetry.reasons), arrays, stored if arrays else 0)


def with_progress(see: Semantics, verdict: Verdict, answers: Answers) -> Verdict:
    """The verdict with that on the progress promises of a spec."""
    paths = {name: path for name, (_, path) in answers.found.items() if path}
    found = [violation(see, name, len(path.steps), path) for name, path in paths.items()]
    found.sort(key=lambda v: (v.depth, v.invariant))
    kinds = {name: kind for name, (kind, _) in answers.found.items()}
    kind, reason = verdict.verdict, verdict.reason
    open_ = [name for name, kind in kinds.items() if kind == UNKNOWN]
    if found:
        kind = VIOLATED
    elif kind == HOLDS and open_:
        why = f" ({answers.why})" if answers.why else ""
        kind, reason = UNKNOWN, f"{reason}; not known{why}: {', '.join(open_)}"
    violations = (*verdict.violations, *found)
    return evolve(verdict, verdict=kind, reason=reason, violations=violations, progress=kinds)


def violation(see: Semantics, name: str, depth: int, path: Path) -> Violation:
    """A violation, with its statement and key."""
    s = see.spec
    statements = {p.name: p.statement for p in (*s.invariants, *s.refinements, *s.progress)}
    statement = statements.get(
        name, "Every state has a successor other than itself, or is a declared end."
    )
    path = at_start(see, name, path)
    return Violation(name, statement, depth, path, see.key(path))


def goal_met(see: Semantics, name: str, depth: int, path: Path) -> Reached:
    """A goal that is met after so many steps, with its statement and key."""
    assert len(path.steps) == depth, f"{name} is met after {depth} steps, not {len(path.steps)}"
    statement = next(g.statement for g in see.spec.goals if g.name == name)
    return Reached(name, statement, depth, path, see.key(path))


def conclude(see: Semantics, violated: bool, stopped: str, border: int) -> tuple[Kind, str]:
    """The verdict and its reason. `stopped`: why the search ended early, empty if it did not. A
    search that was cut off never holds. `border`: how many border states there are.
    """
    if violated:
        return VIOLATED, stopped
    if stopped:
        return UNKNOWN, stopped
    names = " and ".join(c.name for c in see.spec.constraints)
    beyond = f"{border:,} border states were checked but not expanded"
    return HOLDS, f"{EXPLORED} within the constraint {names}; {beyond}" if names else EXPLORED
