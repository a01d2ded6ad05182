"""Random specs before the judge: every engine must answer what a search written from the
documentation alone answers, and every path must show what is violated. `make nightly` runs this
file; its arguments are the first seed and the number of specs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

from in_process import InProcess
from judge import NothingWithinError, TooLargeError, is_shown, judge
from random_elements import random_elements
from random_specs import random_spec

from groupcheck.model.engine import Limits, Spec, UserError, Verdict, reference, staged
from groupcheck.model.engine.fast import explore, threads
from groupcheck.model.engine.fast.factoring import Factoring
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.segments import FILE
from groupcheck.model.engine.fast.shards.distribute import distribute
from groupcheck.model.engine.fast.shards.manifests import runs_in
from groupcheck.model.engine.fast.shards.store import Store
from groupcheck.model.engine.fast.walks import Walks, walk
from groupcheck.model.engine.plain import plain_explore, plain_search
from groupcheck.model.engine.plain.plain_search import PlainSearch
from groupcheck.model.engine.step import Semantics
from groupcheck.model.engine.symmetry import symmetry_of

FEWEST, MOST = 8, 120  # states: fewer show little, more take long


def answer(verdict: Verdict) -> dict[str, Any]:
    """What the judge has an opinion of."""
    return {
        "states": verdict.states,
        "border": verdict.border,
        "transitions": verdict.transitions,
        "depth": verdict.depth,
        "rules": dict(verdict.rules),
        "goals": dict(verdict.goals),
        "violations": [(v.invariant, v.depth) for v in verdict.violations],
        "violated": verdict.verdict == "violated",
    }


def taken_over(spec: Spec, seed: int, symmetry: bool = False) -> Verdict:
    """By a search in plain Python that is taken over early or late: anywhere in a level, or with a
    symmetry between two.
    """
    begins = (0, 3, 10, 40, 200)[seed % 5]

    def leaves(search: PlainSearch, is_between: bool) -> bool:
        return search.transitions >= begins and (is_between or not symmetry)

    with patch.object(plain_search, "AT_ONCE", 1 + seed % 3):
        begun = plain_explore.explore_until(spec, leaves=leaves)
    if isinstance(begun, Verdict):
        return begun
    return explore.explore(spec, begun=begun, symmetry=symmetry)


def by_workers(spec: Spec, symmetry: bool = False) -> Verdict:
    """By two threads even where a level is short, a few states at a time."""
    with ExitStack() as stack:
        for name in ("WORTH", "LEAST", "ROWS_AT_ONCE"):
            stack.enter_context(patch.object(threads, name, 2))
        stack.enter_context(patch.object(os, "sched_getaffinity", lambda pid: range(2)))
        return explore.explore(spec, workers=2, symmetry=symmetry)


def by_shards(
    spec: Spec, seed: int, states: int, directory: str, symmetry: bool = False
) -> Verdict:
    """By a cluster that repeats calls and loses caches; every other time stopped and continued."""
    cluster, store = InProcess(1 + seed % 5, unrest=0.2, seed=seed), f"{directory}/store"
    most, widest = (1, 5, 10_000)[seed % 7 % 3], seed % 3 * 4
    search = partial(distribute, spec, cluster, store, widest=widest, most=most)
    with patch.dict(os.environ, SPARK_LOCAL_DIRS=f"{directory}/local"):
        if seed % 2:
            search(Limits(max(1, states // (4 if symmetry else 2))), symmetry=symmetry)
        is_kept = bool(runs_in(Store(store)))
        return search(resume=is_kept, symmetry=None if symmetry and is_kept else symmetry)


def resumed(spec: Spec, states: int, directory: str, symmetry: bool = False) -> Verdict:
    """Stopped in the middle, and continued from the checkpoint."""
    limits = Limits(states=max(1, states // (4 if symmetry else 2)))  # of those that are stored
    explore.explore(spec, limits, checkpoint=directory, symmetry=symmetry)
    kept = directory if Path(directory, FILE).exists() else None  # or it ended before
    return explore.explore(spec, resume=kept, symmetry=None if symmetry and kept else symmetry)


def over_values(spec: Spec, seed: int, states: int) -> Verdict:
    """By a search over tables that goes on over values: at once, or in the middle."""
    begins = (0, states // 3, 2 * states // 3)[seed % 3]

    def leaves(search: Search, expanded: int) -> bool:
        return search.may_leave and expanded >= begins

    with patch.object(Search, "_does_not_factor", leaves):
        return explore.explore(spec)


def without_tables_of_predicates(spec: Spec, seed: int, states: int) -> Verdict:
    """With predicates that are evaluated for each state, from some state on."""
    begins = (0, states // 2)[seed % 2]

    def aside(search: Search, expanded: int) -> bool:
        if expanded >= begins:
            search._set_aside()
        return False

    with ExitStack() as stack:
        stack.enter_context(patch.object(Search, "_does_not_factor", aside))
        stack.enter_context(patch.object(Factoring, "needs_no_table", lambda *_: True))
        return explore.explore(spec)


def ways(
    spec: Spec, seed: int, states: int, thorough: bool, kept: str, spread: str
) -> dict[str, Callable[[], Verdict]]:
    """Every way to search a spec of so many states; where not `thorough`, the slow ones on a share
    of the specs alone.
    """
    runs = {
        "reference": lambda: reference.explore(spec),
        "reference, symmetry": lambda: reference.explore(spec, symmetry=True),
        "plain": lambda: plain_explore.explore(spec),
        "plain, taken over": lambda: taken_over(spec, seed),
        "plain, taken over with symmetry": lambda: taken_over(spec, seed, symmetry=True),
        "one thread": lambda: explore.explore(spec),
        "symmetry": lambda: explore.explore(spec, symmetry=True),
        "two workers": lambda: by_workers(spec),
        "symmetry, two workers": lambda: by_workers(spec, symmetry=True),
        "symmetry, continued": lambda: resumed(spec, states, f"{kept}/symmetry", symmetry=True),
        "over values": lambda: over_values(spec, seed, states),
        "predicates aside": lambda: without_tables_of_predicates(spec, seed, states),
        "stopped and continued": lambda: resumed(spec, states, kept),
        "shards": lambda: by_shards(spec, seed, states, spread),
        "shards, symmetry": lambda: by_shards(spec, seed, states, f"{spread}/s", symmetry=True),
    }
    if symmetry_of(spec).is_stored:
        runs["stored elements"] = lambda: staged.explore(spec, symmetry=True)
    if not symmetry_of(spec).groups:
        runs = {name: run for name, run in runs.items() if "symmetry" not in name}
    is_spreadable = not (spec.constraints or spec.refinements)  # shards know neither
    if not is_spreadable or not (thorough or seed % 5 == 1):
        runs = {name: run for name, run in runs.items() if "shards" not in name}
    return runs


def disagreement(spec: Spec, said: dict[str, Any], run: Callable[[], Any]) -> Any:
    """What a run finds otherwise than the judge, as (found, judged) by what it is about; and the
    violations of which it tells a path that does not show them.
    """
    try:
        found = run()
    except (UserError, AssertionError) as error:  # no random spec is at fault
        return repr(error)
    given = answer(found) if isinstance(found, Verdict) else found
    differs: dict[str, Any] = {k: (v, said[k]) for k, v in given.items() if v != said[k]}
    if isinstance(found, Verdict) and (unshown := not_shown(spec, found)):
        differs["not shown"] = unshown
    return differs


def not_shown(spec: Spec, verdict: Verdict) -> list[str]:
    """The violations whose paths the judge cannot follow to what is violated, or whose keys do not
    lead there.
    """
    see, wrong = Semantics(spec), []
    for v in verdict.violations:
        path = [tuple((n, see.named(state)[n]) for n in spec.slots) for state in v.path.states]
        settled = tuple(firing.name for firing in v.path.settled)
        if not is_shown(spec, v.invariant, settled, path) or see.follow(v.key) != v.path:
            wrong.append(v.invariant)
    return wrong


def walked(spec: Spec, said: dict[str, Any], seed: int) -> Any:
    """What random walks report that is not so; and what they have seen that is not there."""
    found = walk(spec, Walks(10, 30, seed))
    if found.verdict == "violated":
        return [] if said["violated"] and not not_shown(spec, found) else found.violations
    fired = {name for name, n in found.rules.items() if n and not said["rules"][name]}
    goals = {g for g, at in found.goals.items() if at is not None and said["goals"][g] is None}
    return not said["violated"] and (fired or goals or found.states > said["states"])


def disagreements_on(
    spec: Spec, said: dict[str, Any], seed: int = 1, thorough: bool = True
) -> Iterator[str]:
    """What the engines answer to a spec otherwise than the judge, and what random walks make of it
    that cannot be.
    """
    with tempfile.TemporaryDirectory() as kept, tempfile.TemporaryDirectory() as spread:
        runs = ways(spec, seed, said["states"], thorough, kept, spread)
        for engine, run in runs.items():
            if wrong := disagreement(spec, said, run):
                yield f"seed {seed}, {engine} (found, judged): {wrong}"
        if wrong := walked(spec, said, seed):
            yield f"seed {seed}, random walks: {wrong}"


def specs(first: int) -> Iterator[tuple[int, Spec, dict[str, Any]]]:
    """Seeds from `first` on with their specs and what the judge says; those of a useful size."""
    for seed in count(first):
        is_stored = seed % 16 == 5
        spec = random_elements(seed) if is_stored else random_spec(seed, is_blind=seed % 8 == 7)
        try:
            said = judge(spec, MOST)
        except (TooLargeError, NothingWithinError):
            continue
        if said["states"] >= FEWEST or seed % 8 == 0:
            yield seed, spec, said


def disagreements(first: int, number: int, thorough: bool = False) -> Iterator[str]:
    """What the engines answer otherwise than the judge, on so many specs."""
    for seed, spec, said in islice(specs(first), number):
        yield from disagreements_on(spec, said, seed, thorough)


def main(first: int = 10_000, number: int = 3_000) -> None:
    print(f"{number} random specs from seed {first} on, every engine and the judge", flush=True)
    wrong = 0
    for text in disagreements(first, number, thorough=True):
        wrong += 1
        print(text, flush=True)
    print(f"{wrong} disagreements", flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
