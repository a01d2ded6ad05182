"""The shortest path to a goal that was asked for, by every engine and every way to search."""

from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import judged
import pytest
from judged import by_shards, by_workers, over_values, resumed, specs, without_tables_of_predicates

from groupcheck.model.engine import Limits, Spec, Verdict, array, end, goal, reference, rule, single
from groupcheck.model.engine.fast import explore as fast
from groupcheck.model.engine.fast.shards.distribute import distribute
from groupcheck.model.engine.step import Semantics
from groupcheck.oracles.explain.subject import subject

ENGINES = [reference.explore, fast.explore]
SMALL = {"records": 0, "faults": {"session_timeout": 1}}
MIXED = {"settings": {"connect_protocol": "eager|compatible"}}


def assert_told(spec: Spec, verdict: Verdict) -> None:
    """Every goal that is met has a path, whose key replays to a state that meets it; no state
    before does.
    """
    see, goals = Semantics(spec), {g.name: g for g in spec.goals}
    met = {name: at for name, at in verdict.goals.items() if at is not None}
    assert {r.goal: r.depth for r in verdict.reached} == met
    for reached in verdict.reached:
        *before, last = reached.path.states
        assert len(before) == reached.depth and see.follow(reached.key) == reached.path
        assert see.met(goals[reached.goal], last)
        assert not any(see.met(goals[reached.goal], state) for state in before)


def ways(spec: Spec, seed: int, states: int, kept: Path) -> dict[str, Callable[[], Verdict]]:
    """Every way to search."""
    spread = {
        "shards": lambda: by_shards(spec, seed, states, f"{kept}/shards"),
        "shards, symmetry": lambda: by_shards(spec, seed, states, f"{kept}/s", symmetry=True),
    }
    return {
        **({} if spec.constraints or spec.refinements else spread),
        "reference": lambda: reference.explore(spec, goals=[g.name for g in spec.goals]),
        "reference, symmetry": lambda: reference.explore(
            spec, symmetry=True, goals=[g.name for g in spec.goals]
        ),
        "one thread": lambda: fast.explore(spec),
        "symmetry": lambda: fast.explore(spec, symmetry=True),
        "two workers": lambda: by_workers(spec),
        "over values": lambda: over_values(spec, seed, states),
        "predicates aside": lambda: without_tables_of_predicates(spec, seed, states),
        "continued": lambda: resumed(spec, states, str(kept)),
    }


@pytest.mark.parametrize("number", [1, pytest.param(10, marks=pytest.mark.night)])
def test_every_way_to_search_random_protocols_tells_paths_to_all_goals(number: int, tmp_path: Path):
    for seed, spec, said in islice(specs(400), number):
        goals = [g.name for g in spec.goals]
        told, spread = partial(fast.explore, goals=goals), partial(distribute, goals=goals)
        with patch.object(fast, "explore", told), patch.object(judged, "distribute", spread):
            every = ways(spec, seed, said["states"], tmp_path / str(seed))
            for run in every.values():
                verdict = run()
                assert verdict.goals == said["goals"]
                assert_told(spec, verdict)


@pytest.mark.parametrize("explore", ENGINES)
@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize(
    ("variant", "fields", "name", "depth"),
    [
        ("classic", {"members": 2, "generations": 2, **SMALL}, "zombie_owner", 10),
        (
            "connect_versions",
            {"members": 2, "generations": 2, **MIXED},
            "runs_what_another_has",
            12,
        ),
    ],
)
def test_goals_of_kafka_have_a_path_that_replays(variant, fields, name, depth, explore, symmetry):
    spec = subject(variant, **fields).spec
    verdict = explore(spec, symmetry=symmetry, goals=[name])
    assert verdict.symmetry.used == (symmetry and variant == "classic")
    [reached] = verdict.reached
    assert (reached.goal, reached.depth, verdict.verdict) == (name, depth, "holds")
    see, wanted = Semantics(spec), next(g for g in spec.goals if g.name == name)
    *before, last = see.follow(reached.key).states
    assert len(before) == depth and see.met(wanted, last)
    assert not any(see.met(wanted, state) for state in before)


@rule
def count(n):
    if n < 50:
        yield from (n + 1, n + 2)


@rule
def rise(lamp, n):
    if lamp < 2 and n > 3:
        yield lamp + 1, n


@goal
def at_rest(n):
    return n == 0


@goal
def far(n):
    return n == 21


@goal
def never(n):
    return n > 99


@goal("all i")
def all_lit(lamp: "lamp[i]"):
    return lamp == 2


@end
def anywhere(n):
    return True


def counter() -> Spec:
    slots = {"n": single(0), "lamp": array(3, 0)}
    goals = [at_rest, far, never, all_lit]
    return Spec("counter", slots, [count, rise], goals=goals, ends=[anywhere])


@pytest.mark.parametrize("explore", ENGINES)
@pytest.mark.parametrize("symmetry", [False, True])
def test_only_goals_that_were_asked_for_and_are_met_have_a_path(explore, symmetry):
    every = [g.name for g in counter().goals]
    some = explore(counter(), symmetry=symmetry, goals=["far", "never", "at_rest"])
    assert [(r.goal, r.depth) for r in some.reached] == [("far", 11), ("at_rest", 0)]
    assert some.symmetry.used is symmetry
    assert explore(counter(), symmetry=symmetry).reached == ()
    assert_told(counter(), explore(counter(), symmetry=symmetry, goals=every))


def test_a_goal_that_was_met_before_the_checkpoint_has_a_path_after_it(tmp_path):
    goals = [g.name for g in counter().goals]
    stopped = fast.explore(counter(), Limits(states=500), checkpoint=tmp_path, goals=goals)
    assert stopped.verdict == "unknown" and stopped.goals["all_lit"] is not None
    assert_told(counter(), stopped)
    continued = fast.explore(counter(), resume=tmp_path, goals=goals)
    assert continued.verdict == "holds"
    assert_told(counter(), continued)


def test_a_path_changes_no_number_of_the_verdict():
    spec = subject("classic", members=2, faults={"crash": 1}).spec
    names = [g.name for g in spec.goals]
    plain, told = fast.explore(spec), fast.explore(spec, goals=names)
    assert_told(spec, told)
    numbers = ("states", "transitions", "depth", "rule_calls", "rules", "goals", "reason", "notes")
    assert {n: getattr(plain, n) for n in numbers} == {n: getattr(told, n) for n in numbers}
