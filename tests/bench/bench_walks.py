"""`make bench-walks`: random walks beside breadth-first search on the known bugs: CPU seconds from
the first state to the first violation, each in a fresh copy of one process.

bench_walks.py [--every N] [--part K N] [--seconds S] [--more FIELD=N ...] [--json FILE]

Each bug is looked for in its own scope, in which breadth-first search takes least, and with larger
fields (`--more members=1 --more any_faults=1`: one member and one fault of any kind more), where
the model has them. Breadth-first search that takes longer than `--seconds` counts as that long.
Times are CPU seconds, so other work on the machine disturbs them little. Paths of walks are
compared with the shortest ones.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from attrs import asdict, frozen

from groupcheck.model.engine import Limits, Spec, UserError
from groupcheck.model.engine.fast import explore as exploring
from groupcheck.model.engine.fast import walks
from groupcheck.model.engine.fast.kernels.compiled import PACKING, Unit, load
from groupcheck.model.protocol.mutation import Mutation
from groupcheck.oracles.check.bugs import chosen
from groupcheck.oracles.explain.subject import subject

SHARES = (10, 5, 2, 1)  # parts of the time that breadth-first search takes


@frozen
class Times:
    """CPU seconds to the first violation, None if it was not found, and the steps of its path."""

    bug: str
    scope: str
    breadth: float | None
    breadth_depth: int
    walks: float | None
    walks_depth: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=4, help="every Nth bug, in order of family")
    parser.add_argument(
        "--part",
        type=int,
        nargs=2,
        default=(0, 1),
        metavar=("K", "N"),
        help="part K of N of these, from 0 on: a long run in several sittings",
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="for each search")
    parser.add_argument("--more", action="append", default=[], metavar="FIELD=N")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    more = {name: int(n) for name, _, n in (text.partition("=") for text in options.more)}
    bugs = sorted(chosen(), key=lambda m: m.family.name)[:: options.every]
    part, parts = options.part
    bugs = bugs[part::parts]
    for words in (1, 2, 3, 4):
        load(Unit(words, True))
    load(PACKING)
    found = []
    for m in bugs:
        one = measured(m, more, options.seconds)
        if one is not None:
            print(f"{one.bug}: {one.breadth} s, {one.walks} s", flush=True)
            found.append(one)
    print(table(found, options.seconds))
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in found], indent=1))


def measured(m: Mutation, more: dict[str, int], seconds: float) -> Times | None:
    """Both searches for a bug; None where the model has not all of these fields."""
    try:
        about = subject(m.family.base, mutation=m.id)
        if more:
            scope = about.spec.scope
            if not all(hasattr(scope, name) for name in more):
                return None
            larger: Any = {name: (getattr(scope, name) or 0) + n for name, n in more.items()}
            about = subject(m.family.base, mutation=m.id, **larger)
    except UserError:
        return None
    breadth, depth = apart(lambda: by_breadth(about.spec, seconds))
    walked, length = apart(lambda: by_walks(about.spec, seconds))
    return Times(m.id, str(about.spec.scope), breadth, depth, walked, length)


def by_breadth(spec: Spec, seconds: float) -> tuple[float | None, int]:
    """CPU seconds to the end of the level with the violation, and its depth."""
    began, noted = time.process_time(), list[float]()
    plain = exploring.verdict_of

    def verdict_of(run: Any) -> Any:
        noted.append(time.process_time() - began)
        return plain(run)

    with patch.object(exploring, "verdict_of", verdict_of):
        found = exploring.explore(spec, Limits(seconds=seconds))
    is_there = found.verdict == "violated"
    return (noted[0], found.violations[0].depth) if is_there else (None, 0)


def by_walks(spec: Spec, seconds: float) -> tuple[float | None, int]:
    """CPU seconds to the end of the round with the violation, and the steps of the path."""
    began, noted = time.process_time(), list[float]()
    plain = walks.Walker.violations

    def violations(walker: walks.Walker) -> Any:
        noted.append(time.process_time() - began)
        return plain(walker)

    with patch.object(walks.Walker, "violations", violations):
        found = walks.walk(spec, walks.Walks(), Limits(seconds=seconds))
    is_there = found.verdict == "violated"
    return (noted[0], found.violations[0].depth) if is_there else (None, 0)


def apart(work: Callable[[], tuple[float | None, int]]) -> tuple[float | None, int]:
    """What some work gives in a copy of this process, so that nothing is known from before."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(theirs, pickle.dumps(work()))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    if not told:
        raise SystemExit("a search failed")
    answer: tuple[float | None, int] = pickle.loads(told)
    return answer


def table(found: Sequence[Times], seconds: float) -> str:
    """How many bugs walks find within which part of the time of breadth-first search, for all and
    for those that take it longest.
    """
    rows = ["| breadth-first search took | bugs | median s | walks: median s | "]
    rows[0] += " | ".join(f"within 1/{n}" if n > 1 else "within as long" for n in SHARES)
    rows[0] += " | found at all | as short |"
    rows.append("|" + "---|" * (6 + len(SHARES)))
    groups = [("any time", 0.0), ("0.5 s or more", 0.5), ("5 s or more", 5.0)]
    for name, least in groups:
        some = [t for t in found if (t.breadth or seconds) >= least]
        if not some:
            continue
        times = [t.breadth or seconds for t in some]
        cells = [name, str(len(some)), f"{median(times):.2f}"]
        cells.append(f"{median([t.walks or seconds for t in some]):.2f}")
        for n in SHARES:
            cells.append(
                str(sum(t.walks is not None and t.walks * n <= b for t, b in zip(some, times)))
            )
        cells.append(str(sum(t.walks is not None for t in some)))
        both = [t for t in some if t.walks is not None and t.breadth is not None]
        cells.append(f"{sum(t.walks_depth == t.breadth_depth for t in both)} of {len(both)}")
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
