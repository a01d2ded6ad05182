"""The promises about runs that one path breaks."""

from __future__ import annotations

import math

from attrs import evolve

from groupcheck.model.engine.lasso import Binding, breaks, unfair_to
from groupcheck.model.engine.plain.plain_search import PlainSearch
from groupcheck.model.engine.promises import ALL
from groupcheck.model.engine.step import Semantics, State
from groupcheck.model.engine.verdict import Path

LOOKED_AT, TAKEN = 20_000, 100_000  # states and transitions after which `out_of_reach` gives up


def out_of_reach(see: Semantics, state: State) -> dict[str, Binding]:
    """The `always_possible` promises to whose goal no path from this state leads, each with the
    first binding for which none does. Those of which it cannot be told are left out: there are too
    many states or transitions.
    """
    promises = [p for p in see.spec.progress if p.kind == "always_possible"]
    open_ = [(p, binding) for p in promises for binding in see.instances(p.bound)]
    if not open_:
        return {}
    search = PlainSearch(
        evolve(
            see.spec,
            initial=(see.named(state),),
            invariants=(),
            goals=(),
            constraints=(),
            refinements=(),
            progress=(),
            deadlock=False,
        )
    )
    search.begin()
    while open_:
        place, end = search.open_level()
        if place == end:  # all that can be reached was seen
            break
        for now in map(search.state, range(place, end)):
            open_ = [(p, b) for p, b in open_ if not see.answer(p.goal, ALL, b, now)]
        while open_ and place < end:
            if len(search.states) > LOOKED_AT or search.transitions > TAKEN:
                return {}
            place = search.stretch(place, end, math.inf)
    return {p.name: binding for p, binding in reversed(open_)}


def broken_by(see: Semantics, path: Path) -> dict[str, Binding]:
    """The progress promises that a path breaks, each with the first binding for which it does. A
    lasso breaks promises if it is fair, another path if its last state has something out of reach.
    """
    if path.loop_from is None:
        return out_of_reach(see, path.states[-1])
    broken: dict[str, Binding] = {}
    if unfair_to(see, path):
        return broken
    for promise in see.spec.progress:
        if promise.kind != "always_possible":
            for binding in see.instances(promise.bound):
                if breaks(see, promise, binding, path):
                    broken[promise.name] = binding
                    break
    return broken
