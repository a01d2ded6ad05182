"""The shortest way from a state to a goal, to the violation of a promise, or to a state of which a
condition is true; or how far there is surely none. The plain search looks for it, from that state
on.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from groupcheck.model.engine import Limits, Predicate, goal
from groupcheck.model.engine.verdict import DEADLOCK
from groupcheck.oracles.explore.expression import Condition
from groupcheck.traces.phrases import plural

if TYPE_CHECKING:
    from groupcheck.model.engine import Spec
    from groupcheck.oracles.explore.walk import Walk

STATES, SECONDS = 200_000, 20.0  # where a search gives up


@frozen
class Sought:
    """The answer of a search."""

    # What was looked for: a name or a condition; and of what kind it is.
    wanted: str
    kind: str
    # The numbers of the choices that lead there; None: no way was found.
    numbers: tuple[int, ...] | None
    # States that were looked at.
    states: int
    # Steps within which there is surely no way; None: there is none at all from here, because all
    # that can be reached was looked at. Only where no way was found.
    within: int | None = None
    reason: str = ""

    @property
    def words(self) -> str:
        """The answer in a sentence."""
        what = {"goal": "is met", "promise": "breaks", "condition": "is true"}[self.kind]
        looked = f"{plural(self.states, 'state')} looked at"
        if self.numbers is not None:
            if not self.numbers:
                return f"{self.wanted} {what} here"
            return f"{self.wanted} {what} after {plural(len(self.numbers), 'step')} ({looked})"
        if self.within is None:
            return f"{self.wanted} {what} in no state that can be reached from here ({looked})"
        bound = plural(self.within, "step")
        return f"not from here within {bound}: {self.wanted} ({looked}; {self.reason})"


def seek(walk: Walk, wanted: str, limits: Limits | None = None) -> Sought:
    """Looks for a goal or a promise by its name, or else for a condition over slots, from the state
    at which a walk stands. Raises `UserError` for a text that is nothing of these.
    """
    spec, kind = _asked(walk, wanted)
    named = walk.see.named(walk.at.state)
    spec = evolve(spec, initial=(named,), progress=(), refinements=())
    name = "sought" if kind == "condition" else wanted
    try:
        return _searched(spec, name, wanted, kind, limits or Limits(STATES, SECONDS))
    except Exception as error:
        if kind == "condition" and error.__cause__ is not None:
            condition = Condition(wanted, walk.about.spec.slots)
            raise condition.fault(error.__cause__) from None  # type: ignore[arg-type]
        raise


def _asked(walk: Walk, wanted: str) -> tuple[Spec, str]:
    """The spec that judges nothing but what is wanted, and what that is."""
    spec = walk.about.spec
    bare = evolve(spec, invariants=(), goals=(), deadlock=False)
    for g in spec.goals:
        if g.name == wanted:
            return evolve(bare, goals=(g,)), "goal"
    every = (*spec.invariants, *walk.about.not_promised)
    for p in every:
        if p.name == wanted:
            return evolve(bare, invariants=(p,)), "promise"
    if wanted == DEADLOCK:
        return evolve(bare, deadlock=True), "promise"
    return evolve(bare, goals=(_goal_of(Condition(wanted, spec.slots)),)), "condition"


def _goal_of(condition: Condition) -> Predicate:
    """A goal that is met where a condition is true."""

    def sought(state: SimpleNamespace) -> bool:
        values: Mapping[str, Any] = vars(state)
        return condition.holds(values)

    return goal(sought)


def _searched(spec: Spec, name: str, wanted: str, kind: str, limits: Limits) -> Sought:
    from groupcheck.model.engine.options import Options
    from groupcheck.model.engine.plain.plain_explore import PlainRun, explore_until, verdict_of
    from groupcheck.model.engine.plain.plain_search import PlainSearch
    from groupcheck.model.engine.symmetry import NO_SYMMETRY
    from groupcheck.model.engine.verdict import Verdict

    def is_met(search: PlainSearch, is_between: bool) -> bool:
        return is_between and search.findings.goals.get(name) is not None

    goals = () if kind == "promise" else (name,)
    found = explore_until(spec, limits, options=Options(goals=goals), leaves=is_met)
    if isinstance(found, PlainRun):
        found = verdict_of(found, NO_SYMMETRY, goals)
    assert isinstance(found, Verdict)
    keys = [v.key for v in found.violations] + [r.key for r in found.reached]
    if keys:
        numbers = tuple(map(int, keys[0][4:].split(".")[1:]))
        return Sought(wanted, kind, numbers, found.states)
    if found.complete:
        return Sought(wanted, kind, None, found.states)
    is_depth = limits.depth is not None and found.reason == limits.reached_depth(found.depth)
    within = found.depth if is_depth else max(found.depth - 1, 0)
    return Sought(wanted, kind, None, found.states, within, found.reason)
