"""Generations that are written relative to one another (`--progress`) lose nothing and add nothing:
the model with relative generations and the one with absolute ones are bisimilar.

The absolute one is explored up to a last generation; a state in that generation is its edge, and
what follows there is not compared.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import attrs
import pytest
from all_states import Numbers, Space, explore_all

from groupcheck.model.engine import ScopeError, Spec
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.features.cooperative import CooperativeScope, cooperative
from groupcheck.model.protocol.classic.features.failover_phases import failover_phases
from groupcheck.model.protocol.classic.features.progress.feature import progress
from groupcheck.model.protocol.classic.features.progress.generations import (
    Collect,
    Renumber,
    collect,
    renumber,
)
from groupcheck.model.protocol.classic.features.progress.processes import processes_told_apart
from groupcheck.model.protocol.classic.features.progress.timers import timers_split
from groupcheck.model.protocol.classic.group import Core, Seat, Seats, Walk
from groupcheck.model.protocol.classic.rules import spec
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.transform import composed
from groupcheck.model.variants import load

Steps = set[tuple[str, int, Any]]


def absolute(scope: Scope) -> Space:
    return explore_all(composed(_spec(scope), [processes_told_apart, timers_split]))


def relative(scope: Scope) -> Space:
    return explore_all(progress(_spec(scope)))


def _spec(scope: Scope) -> Spec:
    """Of the variant whose scope it is."""
    if isinstance(scope, load("cooperative_static").scope_type):
        return load("cooperative_static").spec(scope)
    features = (
        [cooperative, failover_phases] if isinstance(scope, CooperativeScope) else [failover_phases]
    )
    return composed(spec(scope), features)


def _core(space: Space, state: Numbers) -> Core:
    core: Core = space.values[state[space.see.at["core", None]]]
    return core


def numbers_in(value: Any) -> list[int]:
    """The generations that a value of the classic group mentions, in the order of its fields."""
    if isinstance(value, tuple):
        return [n for part in value for n in numbers_in(part)]
    if not attrs.has(type(value)):
        return []
    found = []
    for f in attrs.fields(type(value)):
        part = getattr(value, f.name)
        if f.name in ("generation", "claimed"):
            found.append(part)
        elif f.name == "durable" and isinstance(part, tuple):
            found += [seat.claimed for _, seat in part]
        else:
            found += numbers_in(part)
    return found


def with_numbers(value: Any, new: dict[int, int]) -> Any:
    """The value with each generation that it mentions replaced."""
    if isinstance(value, tuple):
        return tuple(with_numbers(part, new) for part in value)
    if not attrs.has(type(value)):
        return value
    changes: dict[str, Any] = {}
    for f in attrs.fields(type(value)):
        part = getattr(value, f.name)
        if f.name in ("generation", "claimed"):
            changes[f.name] = new[part]
        elif f.name == "durable" and isinstance(part, tuple):
            changes[f.name] = tuple(
                (id, attrs.evolve(seat, claimed=new[seat.claimed])) for id, seat in part
            )
        else:
            changes[f.name] = with_numbers(part, new)
    return attrs.evolve(value, **changes)


def meaning(space: Space, state: Numbers, compared: bool) -> Any:
    """The state whatever its generations are called: later than the least that may still be the
    running one by how much, or earlier.
    """
    named = space.see.named(tuple(space.values[n] for n in state))
    core = named["core"]
    least = core.durable[0] if "fail_over" in core.keeps else core.generation
    ahead, logged = core.generation - least, bool(core.durable[0])
    core = attrs.evolve(core, generation=0, durable=(logged, *core.durable[1:]))
    processes = []
    mentions = [
        named[slot] for slot in ("seats", "client", "link", "former_seats") if slot in named
    ]
    of_each, former = list(zip(*mentions, strict=True)), named.get("former")
    ours = (former.generation,) if former and former.generation else ()  # all processes mention it
    every = {*ours, *numbers_in(tuple(of_each))}
    ranked = sorted({n for n in every if n != -1 and n < least}, reverse=True)
    for parts in of_each:
        mentioned = [*ours, *numbers_in(parts)]
        # A cooperative leader compares the claims of different members.
        past = ranked if compared else list(dict.fromkeys(n for n in mentioned if n in ranked))
        new = {n: n - least if n >= least else -2 - past.index(n) for n in mentioned if n != -1}
        new[-1] = -1
        processes.append(with_numbers(parts, new))
    remembered = former and attrs.evolve(former, generation={**new, 0: None}[former.generation])
    return (core, ahead, named["budget"], named["offsets"], tuple(processes), remembered)


def steps(space: Space, state: Numbers, meanings: dict[Numbers, Any]) -> Steps:
    """What may happen next: rule, index, what the state after it means."""
    return {
        (name, bound.instance.me, meanings[rest])
        for bound in space._ordinary.enabled(state)
        for name, after in space.outcomes(bound, state)
        for rest in space.settle(after)
    }


MOVES = {"fail_over": 1}
SCOPES = [
    (Scope(members=1, generations=4, any_faults=1), True),
    (Scope(members=1, generations=5, any_faults=2), True),
    (Scope(members=2, generations=4, faults={"fail_over": 1}), False),
    (Scope(members=2, generations=3, faults={"late_commit": 1}), False),
    pytest.param(
        Scope(members=2, generations=3, two_step=False, faults={"delay_request": 1}),
        False,
        marks=pytest.mark.night,
    ),
    (CooperativeScope(members=2, generations=4, records=0, faults={"disconnect": 1}), False),
    (
        load("cooperative_static").scope_type(
            members=1, generations=4, faults={"crash": 1, "append_failure": 1}
        ),
        False,
    ),
    pytest.param(
        load("cooperative_static").scope_type(
            members=2, generations=3, records=0, faults={"crash": 1}
        ),
        False,
        marks=pytest.mark.night,
    ),
    (Scope(members=1, generations=4, faults={"fail_over": 1, "crash": 1}, phases=True), True),
    (Scope(members=1, generations=4, faults={"fail_over": 2}, phases=True), True),
    (CooperativeScope(members=1, generations=4, faults=MOVES, phases=True), False),
]


@pytest.mark.parametrize(("scope", "whole"), SCOPES, ids=str)
def test_the_group_does_the_same_whether_generations_are_relative_or_absolute(
    scope: Scope, whole: bool
) -> None:
    """`whole`: within these generations the group meets everything that it ever meets."""
    plain, model = absolute(scope), relative(scope)
    in_model = {state: meaning(model, state, scope.cooperative) for state in model.states}
    in_plain = {state: meaning(plain, state, scope.cooperative) for state in plain.states}
    known: dict[Any, list[Steps]] = defaultdict(list)
    for state, what in in_model.items():
        known[what].append(steps(model, state, in_model))
    assert all(one == many[0] for many in known.values() for one in many)
    for state, what in in_plain.items():
        if _core(plain, state).generation < scope.last_generation:
            assert steps(plain, state, in_plain) == known[what][0]
    met = set(in_plain.values())
    assert not whole or (met == set(known) and len(plain.states) > len(model.states))


def test_without_relative_generations_a_check_needs_a_bound() -> None:
    with pytest.raises(ScopeError, match="generations have no bound"):
        spec(Scope(generations=None))


def test_claims_of_different_members_keep_their_order() -> None:
    """A cooperative leader asks which of two claims is later. (That both models are the same with
    such claims was compared, too: 2 members, 4 generations, a delayed JoinGroup and a disconnect;
    that takes 100 s.)
    """
    scope, members = CooperativeScope(members=2), range(2)
    seats = [Seats(ids=((0, Seat(member=True, claimed=n, owned=1)),)) for n in (1, 2)]
    walk: Any = Walk(0, Collect(renumber=Renumber(by=2)))
    for k in members:
        ((walk, *_),) = collect.call(walk, seats[k], Client(), Link(), scope)
    found = []
    walk = Walk(0, walk.errand.renumber)
    for k in members:
        ((walk, after, *_),) = renumber.call(walk, seats[k], Client(), Link(), scope)
        found.append(after.ids[0][1].claimed)
    assert found == [-3, -2]
