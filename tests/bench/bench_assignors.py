"""`make bench-assignors`: sticky with unequal subscriptions, and the questions about balance and
handing over, beside the versions that look at everything again (the references of the tests), in
turn, as ratios of CPU time.

bench_assignors.py [--quick] [--rounds N]

Each round runs ours, the obvious version and ours again; the ratio is between the obvious version
and the mean of its neighbours. Both must give the same answer, or the benchmark stops with an
error. The last section is ours alone at 3,000 members and 30,000 partitions.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from report import Row, Section, machine, text

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / "model" / "assignors"), str(TESTS / "oracles" / "assignment")]

import obvious_balance  # noqa: E402
from obvious_sticky import obvious_spread  # noqa: E402

from groupcheck.model.assignors import Group, Member, sticky, uniform  # noqa: E402
from groupcheck.model.assignors.claims import eager_claim, resolved  # noqa: E402
from groupcheck.model.assignors.group import subscribed_sizes  # noqa: E402
from groupcheck.model.assignors.racks import NO_RACKS  # noqa: E402
from groupcheck.model.assignors.sticky_unequal import spread  # noqa: E402
from groupcheck.oracles.assignment.balance import locally_balanced  # noqa: E402
from groupcheck.oracles.assignment.handover import handed_over  # noqa: E402

TARGET = (">=", 10.0)
LARGE = 3_000, 30_000, 100
SECONDS = ("<=", 5.0)


def drawn(members: int, partitions: int, topics: int) -> Group:
    """Each member subscribes to half of the topics; nine of ten own what there was before the
    others came.
    """
    random = Random(0)
    names = [f"topic-{k:04d}" for k in range(topics)]
    subscribed = [[t for t in names if random.random() < 0.5] for _ in range(members)]
    owned: list[set[tuple[str, int]]] = [set() for _ in range(members)]
    for topic in names:
        able = [m for m in range(members * 9 // 10) if topic in subscribed[m]]
        for number in range(partitions // topics):
            owned[random.choice(able)].add((topic, number))
    return Group(
        dict.fromkeys(names, partitions // topics),
        [Member(f"c{m:04d}", subscribed[m], owned[m], 1) for m in range(members)],
    )


def questions(
    group: Group,
) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """Name, ours and the obvious version."""
    sizes = subscribed_sizes(group)
    claims = resolved(group, sizes, eager_claim)
    given = sticky(group)

    def shared(by: Callable[..., Any]) -> Any:
        return {
            m: sorted(partitions) for m, partitions in by(group, sizes, NO_RACKS, claims).items()
        }

    yield "sticky, subscriptions differ", lambda: shared(spread), lambda: shared(obvious_spread)
    yield (
        "locally balanced",
        lambda: list(locally_balanced(group, given)),
        lambda: list(obvious_balance.locally_balanced(group, given)),
    )
    yield (
        "handed over",
        lambda: [v.words for v in handed_over(group, given)],
        lambda: list(obvious_balance.handed_over(group, given)),
    )


def timed(asked: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds and the answer."""
    began = time.process_time()
    answer = asked()
    return time.process_time() - began, answer


def beside(members: int, partitions: int, topics: int, rounds: int) -> Section:
    rows = []
    for name, ours, obvious in questions(drawn(members, partitions, topics)):
        ratios, seconds = [], []
        for _ in range(rounds):
            (before, mine), (slow, theirs), (after, _) = timed(ours), timed(obvious), timed(ours)
            if mine != theirs:
                raise SystemExit(f"error: {name}: the two do not give the same answer")
            ratios.append(slow / ((before + after) / 2))
            seconds += [before, after]
        rows.append(Row(name, median(ratios), "times", ratios, median(seconds), TARGET))
    return Section(
        f"the obvious version over ours: {members:,} members, {partitions:,} partitions of {topics}"
        f" topics; {rounds} rounds",
        rows,
    )


def alone(rounds: int) -> Section:
    group = drawn(*LARGE)
    given = sticky(group)
    rows = []
    for name, asked in {
        "sticky, subscriptions differ": lambda: sticky(group),
        "uniform, subscriptions differ": lambda: uniform(group),
        "locally balanced": lambda: list(locally_balanced(group, given)),
        "handed over": lambda: list(handed_over(group, given)),
    }.items():
        seconds = [timed(asked)[0] for _ in range(rounds)]
        rows.append(Row(name, median(seconds), "s", seconds, median(seconds), SECONDS))
    members, partitions, topics = LARGE
    title = f"ours alone: {members:,} members, {partitions:,} partitions of {topics} topics"
    return Section(title, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="assignors beside their obvious versions, in turn")
    parser.add_argument("--quick", action="store_true", help="a group of 300 members alone")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load']}. Medians.\n", flush=True)
    scope = (300, 3_000, 100) if chosen.quick else (1_000, 10_000, 100)
    print(text(beside(*scope, chosen.rounds)), flush=True)
    if not chosen.quick:
        print(text(alone(chosen.rounds)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
