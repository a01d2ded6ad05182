"""Takes over a search in plain Python where it stands: its states, its rows and what it found. No
state is explored twice, and no rule is called again.
"""

from __future__ import annotations

from itertools import pairwise

from groupcheck.model.engine.errors import AsymmetryError
from groupcheck.model.engine.fast.checkpoint import rows_again
from groupcheck.model.engine.fast.kernels import registers as r
from groupcheck.model.engine.fast.layout import packed
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.plain.plain_search import PlainSearch
from groupcheck.model.engine.symmetry import Symmetry
from groupcheck.model.engine.tabled.tabled import Numbers


def taken_over(plain: PlainSearch, symmetry: Symmetry) -> Search:
    """A search that goes on where another one was left: anywhere in a level, or with a symmetry
    between two levels. The other one cannot be used any more. Raises `AsymmetryError` if states of
    an orbit were found, and others of it not.
    """
    search = Search(plain.spec, symmetry, plain.tabled)
    search.predicates.met, search.predicates.plans = plain.predicates.met, plain.predicates.plans
    search.rows.extend_guards()
    states, levels, search.parents = plain.states, plain.levels, plain.parents
    if symmetry.groups:
        states, levels, search.parents = _stored(plain, search)
    assert len(search.parents) == len(states), "not every state has one that it was found from"
    assert all(p <= k for k, p in enumerate(search.parents)), "a state was found before its parent"
    words = packed(states, search.packed.words, search.packed.state_fields)
    search.log.memory.ensure(words.size)
    search.log.memory.words[: words.size] = words.reshape(-1)
    search.registers[r.LOG] = search.log.memory.address
    search.registers[r.STATES] = len(states)
    # Steps so far were taken by all states, and not compared with the permuted ones.
    if symmetry.groups and search.counted != len(plain.states):
        raise AsymmetryError("a state is reached, and a permutation of it is not")
    search.registers[r.TRANSITIONS] = plain.transitions
    search.log.levels = list(levels)
    search.extra = plain.fired
    rows_again(search, plain.lookups.tape)
    search.findings.news = True
    search.predicates.refresh()
    plain.free()
    return search


def _stored(plain: PlainSearch, search: Search) -> tuple[list[Numbers], list[int], list[int]]:
    """The states that stand for their orbits, their levels, and the places of those that they were
    found from. Moves the places of goals that are met. Raises `AsymmetryError` if states of one
    orbit are of several levels.
    """
    places: dict[Numbers, int] = {}
    levels: list[int] = []
    parents: list[int] = []
    stored = [search.stored(state) for state in plain.states]
    for first, end in pairwise((*plain.levels, len(stored))):
        levels.append(len(places))
        for k in range(first, end):
            if places.setdefault(stored[k], len(places)) == len(parents):
                parents.append(places[stored[plain.parents[k]]])
            elif places[stored[k]] < levels[-1]:
                raise AsymmetryError("a state is nearer to the start than a permutation of it")
    met = search.findings.first
    search.findings.first = {goal: places[stored[place]] for goal, place in met.items()}
    return list(places), levels, parents
