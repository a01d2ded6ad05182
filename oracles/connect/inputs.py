"""The rounds on which Connect's assignors are compared, family by family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, permutations, product
from random import Random
from typing import Any, TypeVar

from attrs import frozen

from groupcheck.model.assignors.connect import (
    NOTHING,
    Config,
    ConnectProtocol,
    Memory,
    Release,
    Round,
    Work,
    Worker,
    work,
)
from groupcheck.model.assignors.connect.values import DEFAULT_MAX_DELAY_MS
from groupcheck.model.assignors.hash_order import bucket, by_text, text_hash
from groupcheck.oracles.connect.cluster import Settings, configs, reachable, run
from groupcheck.oracles.connect.rounds import Step

BATCH = 100  # steps of a line to the driver
RANDOM = 10_000
RUNS, LENGTH = 400, 25
CLUSTERS = 2_000
NOW = 1_000_000
T = TypeVar("T")


@frozen
class Family:
    """Inputs of one kind."""

    # Its bounds, in words.
    bound: str
    # Makes its scripts anew at each call.
    scripts: Callable[[], Iterator[Sequence[Step]]]


def families(
    release: Release,
    seed: int,
    *,
    random: int = RANDOM,
    runs: int = RUNS,
    clusters: int = CLUSTERS,
    every: int = 1,
) -> Iterator[Family]:
    """All families. `every`: of those that are enumerated only every so many inputs."""

    def listed(bound: str, steps: Callable[[], Iterator[Step]]) -> Family:
        return Family(bound, lambda: batches(islice(steps(), 0, None, every)))

    yield listed("eager: 1 to 4 workers in every order, 2 connectors of up to 3 tasks", eager)
    yield listed("offsets: 1 to 3 workers, offsets 1 to 3, leader behind or ahead", offsets)
    yield listed(
        "first round: 1 or 2 workers in every order, 2 connectors of up to 2 and 1 tasks, each item"
        " with any of them",
        partial(first_rounds, (1, 2)),
    )
    yield listed(
        "first round: 3 workers in every order, 1 connector of up to 2 tasks, each item with any of"
        " them",
        partial(first_rounds, (3,), "a"),
    )
    yield listed(
        "any memory: 1 or 2 workers, 1 connector of up to 1 task, each item with any of them",
        remembered,
    )
    for max_delay in (DEFAULT_MAX_DELAY_MS, 0):
        settings = Settings(configs("a", 2), max_delay)
        yield listed(
            f"reachable: 2 processes, 1 connector of up to 2 tasks, max delay {max_delay} ms, every"
            f" round of the first {clusters:,} clusters",
            partial(reachable, 2, settings, clusters, release),
        )
    settings = Settings(configs("a", 2)[:2], DEFAULT_MAX_DELAY_MS)
    yield listed(
        f"reachable: 3 processes, 1 connector of 1 or 2 tasks, every round of the first"
        f" {clusters // 2:,} clusters",
        partial(reachable, 3, settings, clusters // 2, release),
    )
    yield Family(
        f"at random: {random:,} memories and rounds, up to 14 workers, 4 connectors of 6 tasks",
        lambda: batches(random_rounds(random, seed)),
    )
    yield Family(
        f"runs: {runs:,} random runs of {LENGTH} turns, 3 to 5 processes that go on, 3 connectors"
        " of up to 4 tasks",
        lambda: random_runs(runs, seed, release),
    )


def batches(steps: Iterator[T]) -> Iterator[Sequence[T]]:
    """The same, so many at a time."""
    while some := list(islice(steps, BATCH)):
        yield some


def ordered_ids(order: Sequence[int]) -> tuple[str, ...]:
    """Ids that sort as 0, 1, 2, ... and that a hash table gives in this order."""
    names = {}
    for place, rank in enumerate(order):
        first = chr(ord("a") + rank)
        names[rank] = next(
            name
            for second in range(ord("0"), ord("z"))
            if bucket(text_hash(name := first + chr(second)), 16) == place
        )
    found = tuple(names[rank] for rank in order)
    assert by_text(sorted(found)) == found
    return found


def eager() -> Iterator[Step]:
    """The inputs for the eager assignor."""
    for count, configured in product(range(1, 5), configs("ab", 3)):
        for order in permutations(range(count)):
            workers = tuple(Worker(name, 1) for name in ordered_ids(order))
            yield Step(
                Round(workers[0].id, workers, Config(1, configured), protocol=ConnectProtocol.EAGER)
            )


def offsets() -> Iterator[Step]:
    """Who has read how much of the configurations."""
    configured = configs("a", 1)[0]
    for count, own, fresh in product((1, 2, 3), (1, 2, 3), (None, 1, 2, 3)):
        for read, protocol in product(product((1, 2, 3), repeat=count), ConnectProtocol):
            ids = ordered_ids(range(count))
            workers = tuple(Worker(name, offset) for name, offset in zip(ids, read))
            more = None if fresh is None else Config(fresh, configured)
            yield Step(Round(ids[-1], workers, Config(own, NOTHING), more, protocol=protocol))


def first_rounds(counts: Sequence[int], connectors: str = "ab") -> Iterator[Step]:
    """A leader that remembers nothing. Each item may run on any workers, whether it is configured
    or not.
    """
    items: list[Any] = [*connectors, ("a", 0), ("a", 1), *([("b", 0)] if "b" in connectors else ())]
    configured = [one for one in configs(connectors, 2) if ("b", 1) not in one.tasks]
    for count in counts:
        holders = [tuple(bool(mask >> k & 1) for k in range(count)) for mask in range(1 << count)]
        for order, config in product(permutations(range(count)), configured):
            ids = ordered_ids(order)
            for held in product(holders, repeat=len(items)):
                workers = tuple(
                    Worker(name, 1, _work(item for item, by in zip(items, held) if by[k]))
                    for k, name in enumerate(ids)
                )
                yield Step(Round(ids[0], workers, Config(1, config)))


def _work(items: Iterator[Any]) -> Work:
    some = list(items)
    return work(
        [item for item in some if isinstance(item, str)],
        [item for item in some if not isinstance(item, str)],
    )


def remembered() -> Iterator[Step]:
    """Every memory of few items with every report of them."""
    subsets = [work(c, t) for c, t in product(((), ("a",)), ((), (("a", 0),)))]
    for max_delay, count in product((DEFAULT_MAX_DELAY_MS, 0), (1, 2)):
        ids = ordered_ids(range(count))
        for memory, has in product(_memories(ids, subsets), product(subsets, repeat=count)):
            workers = tuple(Worker(name, 1, one) for name, one in zip(ids, has))
            for configured in configs("a", 1):
                yield Step(
                    Round(
                        ids[0],
                        workers,
                        Config(1, configured),
                        last_completed_generation_id=1,
                        generation_id=2,
                        now=NOW,
                        max_delay=max_delay,
                    ),
                    memory=memory,
                )


def _memories(ids: Sequence[str], subsets: Sequence[Work]) -> Iterator[Memory]:
    delays = [(0, 0, ())] + [
        (due, 7, candidates)
        for due in (1, NOW, NOW + 3, NOW + DEFAULT_MAX_DELAY_MS + 9)
        for candidates in ((), tuple(ids[-1:]), ("gone", *ids[-1:]))
    ]
    for previous, revoked, members, generation, delay, (balanced, times) in product(
        subsets,
        subsets,
        (ids[:1], (*ids, "gone")),
        (1, 0),
        delays,
        ((False, 0), (True, 0), (True, 2)),
    ):
        due, told, candidates = delay
        yield Memory(
            previous,
            revoked,
            frozenset(members),
            generation,
            due,
            told,
            candidates,
            balanced,
            times,
        )


def random_rounds(count: int, seed: int) -> Iterator[Step]:
    """Larger memories and rounds that need not fit each other."""
    random = Random(f"rounds {seed}")
    for _ in range(count):
        yield _random_round(random)


def _random_round(random: Random) -> Step:
    def some(items: Sequence[T], share: float) -> list[T]:
        chosen = [item for item in items if random.random() < share]
        random.shuffle(chosen)
        return chosen

    names = [f"{random.choice('abc')}-{random.getrandbits(64):016x}" for _ in range(4)]
    tasks = [(name, number) for name in names for number in range(6)]
    configured = some(names, 0.8)
    config = work(
        configured,
        [(name, n) for name in configured for n in range(random.randrange(7))],
    )
    ids = list(
        by_text(
            f"connect-{random.getrandbits(64):016x}" for _ in range(random.choice((1, 2, 3, 5, 14)))
        )
    )
    share = random.choice((0.05, 0.2, 0.5))
    workers = tuple(
        Worker(
            name,
            random.choice((1, 1, 1, 2)),
            Work(tuple(some(names, share)), tuple(some(tasks, share))),
        )
        for name in ids
    )
    max_delay = random.choice((0, 1, 39, 40, 41, 1000, 60_000, DEFAULT_MAX_DELAY_MS, 2**31 - 1))
    due = random.choice((0, 0, 1, NOW, NOW + 1, NOW + random.randrange(1 << 20)))
    memory = Memory(
        work(some(names, 0.5), some(tasks, 0.5)),
        work(some(names, share), some(tasks, share)) if random.random() < 0.5 else NOTHING,
        frozenset(some([*ids, "gone"], 0.8)),
        random.choice((1, 1, 1, 0)),
        due,
        random.choice((0, 5)) if due else 0,
        tuple(some([*ids, "gone"], 0.3)) if due else (),
        random.random() < 0.5,
        random.choice((0, 0, 1, 2, 3, 5, 40)),
    )
    round_ = Round(
        random.choice(ids),
        workers,
        Config(random.choice((1, 2)), config),
        random.choice((None, Config(2, config))),
        last_completed_generation_id=1,
        generation_id=2,
        now=NOW,
        max_delay=max_delay,
        protocol=random.choice((ConnectProtocol.COMPATIBLE, ConnectProtocol.SESSIONED)),
    )
    return Step(round_, memory=memory)


def random_runs(count: int, seed: int, release: Release) -> Iterator[Sequence[Step]]:
    """Runs of whole clusters."""
    for number in range(count):
        random = Random(f"runs {seed} {number}")
        settings = Settings(
            configs("abc", 4), random.choice((DEFAULT_MAX_DELAY_MS, 60_000, 50, 0)), random
        )
        yield run(random, random.randint(3, 5), settings, LENGTH, release)
