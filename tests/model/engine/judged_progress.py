"""Random specs with promises about runs before the judge of progress: every way in which the fast
engine finds its states must lead to the same answers. `make nightly` runs this file; its arguments
are the first seed and the number of specs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, count, islice
from pathlib import Path
from unittest.mock import patch

from judge import NothingWithinError, TooLargeError
from judge_progress import judge_progress, live_spec, possible_spec

from groupcheck.model.engine import Limits, Spec, Verdict, reference
from groupcheck.model.engine.fast import explore, search, threads
from groupcheck.model.engine.fast.factoring import Factoring
from groupcheck.model.engine.fast.search import Search
from groupcheck.model.engine.fast.segments import FILE
from groupcheck.model.engine.options import Options
from groupcheck.model.engine.plain import plain_explore
from groupcheck.model.engine.symmetry import symmetry_of


def by_threads(spec: Spec, resume: str | None = None) -> Verdict:
    """By two threads even where a level is short."""
    with patch.object(threads, "WORTH", 2), patch.object(search, "cores", lambda: 2):
        return explore.explore(spec, workers=2, resume=resume, liveness=True)


def resumed(spec: Spec, states: int) -> Verdict:
    """Stopped in the middle, and continued by two threads."""
    with tempfile.TemporaryDirectory() as kept:
        explore.explore(spec, Limits(states=max(1, states // 2)), checkpoint=kept, liveness=True)
        return by_threads(spec, kept if Path(kept, FILE).exists() else None)


def without_tables(spec: Spec) -> Verdict:
    """With predicates that are evaluated for each state."""

    def aside(search: Search, expanded: int) -> bool:
        search._set_aside()
        return False

    with (
        patch.object(Search, "_does_not_factor", aside),
        patch.object(Factoring, "needs_no_table", lambda *_: True),
    ):
        return explore.explore(spec, liveness=True)


def taken_over(spec: Spec, limits: Limits = Limits(), liveness: bool = False) -> Verdict:
    """By a search in plain Python that is taken over early."""
    left = plain_explore.explore_until(
        spec,
        limits,
        options=Options(liveness=liveness),
        leaves=lambda search, _: search.transitions >= 10,
    )
    if isinstance(left, plain_explore.PlainRun):
        return explore.explore(spec, limits, begun=left, liveness=liveness)
    return left


def engines(states: int) -> dict[str, Callable[[Spec], Verdict]]:
    """The ways to search a spec of so many states."""
    return {
        "reference": lambda spec: reference.explore(spec, liveness=True),
        "plain": lambda spec: plain_explore.explore(spec, liveness=True),
        "plain, taken over": lambda spec: taken_over(spec, liveness=True),
        "fast": lambda spec: explore.explore(spec, liveness=True),
        "symmetry": lambda spec: explore.explore(spec, symmetry=True, liveness=True),
        "threads": by_threads,
        "resumed": lambda spec: resumed(spec, states),
        "predicates aside": without_tables,
    }


def specs(first: int) -> Iterator[tuple[int, Spec, Mapping[str, str]]]:
    """Seeds from `first` on with their specs and what the judge says; the small ones alone."""
    for seed in count(first):
        spec = live_spec(seed)
        try:
            yield seed, spec, judge_progress(spec)
        except (TooLargeError, NothingWithinError):
            continue


def disagreements(first: int, number: int) -> Iterator[str]:
    """What is answered otherwise than by the judge, on so many specs."""
    for seed, spec, said in islice(specs(first), number):
        whole = reference.explore(spec, liveness=True)
        for name, run in engines(whole.states).items():
            found = run(spec)
            if (found.progress, found.states) != (said, whole.states):
                yield f"seed {seed}, {name}: {found.progress}, judged {said}"
        for limits in (Limits(depth=1), Limits(depth=2), Limits(states=max(1, whole.states // 2))):
            for explored in (reference.explore, plain_explore.explore, explore.explore):
                for name, kind in explored(spec, limits, liveness=True).progress.items():
                    if kind not in ("unknown", said[name]):
                        yield f"seed {seed} within {limits}: {name} {kind}, judged {said[name]}"


def of_orbits(first: int, number: int) -> Iterator[tuple[int, Spec, Mapping[str, str], Verdict]]:
    """Seeds from `first` on of so many specs that promise what is always possible, with the spec,
    what the judge says, and the answers of a search of orbits.
    """
    found = 0
    for seed in count(first):
        spec = possible_spec(seed)
        if found < number and symmetry_of(spec, of_runs=True).groups:
            try:
                said = judge_progress(spec, 200)
            except TooLargeError:
                continue
            by_orbits = explore.explore(spec, symmetry=True, liveness=True)
            if by_orbits.symmetry.used:
                yield seed, spec, said, by_orbits
                found += 1
        elif found == number:
            return


def disagreements_on_orbits(first: int, number: int) -> Iterator[str]:
    """What a search of orbits answers otherwise than the judge, and where its paths are not as
    short as those of a search of all states; on so many specs.
    """
    for seed, spec, said, found in of_orbits(first, number):
        whole = explore.explore(spec, liveness=True)
        if (found.progress, found.states) != (said, whole.states):
            yield f"seed {seed}, orbits: {found.progress}, judged {said}"
        depths, of_whole = ({v.invariant: v.depth for v in x.violations} for x in (found, whole))
        if depths != of_whole:
            yield f"seed {seed}, orbits: paths of {depths} steps, {of_whole} among all states"


def main(first: int = 10_000, number: int = 500) -> None:
    print(f"{number} random specs with promises about runs, from seed {first} on", flush=True)
    wrong = 0
    for text in chain(disagreements(first, number), disagreements_on_orbits(first, number)):
        wrong += 1
        print(text, flush=True)
    print(f"{wrong} disagreements", flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
