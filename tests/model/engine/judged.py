"""Random specs before the judge: every engine must answer what a search written from the
documentation alone answers. `make nightly` runs this file; its arguments
are the first seed and the number of specs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

from in_process import InProcess
from judge import NothingWithinError, TooLargeError, judge
from random_specs import random_spec

from groupcheck.model.engine import Limits, Spec, UserError, Verdict, reference
from groupcheck.model.engine.fast import explore, forked, threads
from groupcheck.model.engine.fast.factoring import Factoring
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.segments import FILE
from groupcheck.model.engine.fast.shards.distribute import distribute
from groupcheck.model.engine.fast.shards.manifests import runs_in
from groupcheck.model.engine.fast.shards.store import Store

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


def by_workers(spec: Spec, forking: bool) -> Verdict:
    """By two threads even where a level is short; `forking`: and by two processes that call rules
    even where there is little to call.
    """
    with ExitStack() as stack:
        stack.enter_context(patch.object(threads, "WORTH", 2))
        stack.enter_context(patch.object(threads, "cores", lambda: 2))
        stack.enter_context(patch.object(forked, "WORTH", 0.0 if forking else 1e9))
        return explore.explore(spec, workers=2)


def by_shards(spec: Spec, seed: int, states: int, directory: str) -> Verdict:
    """By a cluster that repeats calls and loses caches; every other time stopped and continued."""
    cluster, store = InProcess(1 + seed % 5, unrest=0.2, seed=seed), f"{directory}/store"
    most, widest = (1, 5, 10_000)[seed % 7 % 3], seed % 3 * 4
    with patch.dict(os.environ, SPARK_LOCAL_DIRS=f"{directory}/local"):
        if seed % 2:
            distribute(spec, cluster, store, Limits(states // 2), widest=widest, most=most)
        is_kept = bool(runs_in(Store(store)))
        return distribute(spec, cluster, store, widest=widest, most=most, resume=is_kept)


def resumed(spec: Spec, states: int, directory: str) -> Verdict:
    """Stopped in the middle, and continued from the checkpoint."""
    explore.explore(spec, Limits(states=states // 2), checkpoint=directory)
    if not Path(directory, FILE).exists():  # it ended before it was stopped
        return explore.explore(spec)
    return explore.explore(spec, resume=directory)


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


def answers(spec: Spec, seed: int, states: int, thorough: bool) -> Iterator[tuple[str, Any]]:
    """Every engine's answer; where not `thorough`, the slow ones on a share of the specs alone."""
    with tempfile.TemporaryDirectory() as kept, tempfile.TemporaryDirectory() as spread:
        runs = {
            "reference": lambda: reference.explore(spec),
            "one thread": lambda: explore.explore(spec),
            "two workers": lambda: by_workers(spec, forking=thorough or seed % 8 == 0),
            "over values": lambda: over_values(spec, seed, states),
            "predicates aside": lambda: without_tables_of_predicates(spec, seed, states),
            "stopped and continued": lambda: resumed(spec, states, kept),
            "shards": lambda: by_shards(spec, seed, states, spread),
        }
        if spec.constraints or (not thorough and seed % 5 != 1):  # shards know no constraints
            del runs["shards"]
        for engine, run in runs.items():
            try:
                yield engine, answer(run())
            except (UserError, AssertionError) as error:  # no random spec is at fault
                yield engine, {"raised": repr(error)}


def specs(first: int) -> Iterator[tuple[int, Spec, dict[str, Any]]]:
    """Seeds from `first` on with their specs and what the judge says; those of a useful size."""
    seed = first - 1
    while seed := seed + 1:
        spec = random_spec(seed)
        try:
            said = judge(spec, MOST)
        except (TooLargeError, NothingWithinError):
            continue
        if said["states"] >= FEWEST or seed % 8 == 0:
            yield seed, spec, said


def disagreements(first: int, count: int, thorough: bool = False) -> Iterator[str]:
    """What the engines answer otherwise than the judge, on `count` specs."""
    for seed, spec, said in islice(specs(first), count):
        for engine, given in answers(spec, seed, said["states"], thorough):
            if given != said:
                found = {k: (v, said.get(k)) for k, v in given.items() if v != said.get(k)}
                yield f"seed {seed}, {engine} (found, judged): {found}"


def main(first: int = 10_000, count: int = 2_000) -> None:
    print(f"{count} random specs from seed {first} on, seven engines and the judge", flush=True)
    wrong = 0
    for text in disagreements(first, count, thorough=True):
        wrong += 1
        print(text, flush=True)
    print(f"{wrong} disagreements", flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
