"""`make bench-replay`: how long `replay` takes for a log of each kind, beside a loop that looks for
one pattern in every line of the same file, in turn, as ratios of CPU time.

bench_replay.py [--quick] [--rounds N]

The logs are recordings of the tests, repeated with their times and numbers moved on; one is of
ten groups, as `groupcheck generate` writes it. Each round
runs the loop, ours and the loop again; the ratio is between ours and the mean of its neighbours.
Imports and the reading of sentences are not counted: a small log is replayed first.
"""

from __future__ import annotations

import argparse
import gzip
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from statistics import median
from uuid import UUID

from report import Row, Section, machine, text

from groupcheck.oracles.generate.files import Order, generate
from groupcheck.oracles.replay.report import replay

DATA = Path(__file__).parents[1] / "data"
PATTERN = re.compile(r"\b(?:rebalanc\w+|generation (\d+)|member id (\S+))")
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d{3}|(?<=%\d\|)\d{10}(?=\.\d)")
FORM = "%Y-%m-%d %H:%M:%S"
RECORDINGS = {
    "Java": ["clients/recorded-3.4.1-cooperative.a.log.gz", "clients/live-java_coop.a.log.gz"],
    "librdkafka": ["clients/kip848.b.log.gz", "clients/kip848.c.log.gz"],
    "kafka-python": ["clients/eager_kill.b.log.gz", "clients/zombie.b.log.gz"],
    "broker": ["replay/kraft-group-35-rebalances.log.gz"],
    "request log": ["requests/live-zombie.log.gz"],
}
TARGETS = {"mixed": 12.0, "new ids": 7.5, "Java": 16.0, "librdkafka": 15.0, "kafka-python": 11.0,
           "broker": 58.0, "ten groups": 42.0, "request log": 21.0}  # fmt: skip
"""A quarter above what was measured: what is slower than that has become slower."""


def lines_of(file: str) -> list[str]:
    with gzip.open(DATA / file, "rt") as stream:
        return stream.read().splitlines()


def moved(line: str, seconds: int) -> str:
    """The line, printed so many seconds later."""

    def later(found: re.Match[str]) -> str:
        if len(found[0]) == 10:
            return str(int(found[0]) + seconds)
        whole, part = found[0][:19], found[0][19:]
        at = datetime.strptime(whole, FORM).replace(tzinfo=UTC) + timedelta(seconds=seconds)
        return f"{at:{FORM}}{part}"

    return TIME.sub(later, line, count=1)


def repeated(files: list[str]) -> Iterator[str]:
    """The recordings again and again, each copy two minutes after the one before."""
    recorded = [lines_of(file) for file in files]
    for k in count():
        for lines in recorded:
            yield from (moved(line, 120 * k) for line in lines)


def mixed() -> Iterator[str]:
    """What docker compose shows of a broker and two clients: of ten lines one is a coordinator's,
    three are other lines of the broker, three a Java client's heartbeats, three an application's.
    """
    coordinators = (
        line for line in repeated(["replay/msk-kafkago-rebalance-storm.log.gz"]) if line[:1] == "["
    )
    begin = datetime(2025, 3, 26, tzinfo=UTC)
    for k in count():
        now = f"{begin + timedelta(milliseconds=37 * k):{FORM}},{37 * k % 1000:03}"
        if k % 10 == 0:
            yield f"broker1  | [{now}]{next(coordinators)[25:]}"
        elif k % 10 < 4:
            yield (
                f"broker1  | [{now}] INFO [ReplicaFetcher replicaId=3, leaderId=1, fetcherId=0]"
                f" Truncating partition orders-{k % 64} to local high watermark {k}"
                " (kafka.server.ReplicaFetcherThread)"
            )
        elif k % 10 < 7:
            yield (
                f"orders-1  | {now} DEBUG 1 --- [ntainer#0-0-C-1] o.a.k.c.c.internals."
                "ConsumerCoordinator  : [Consumer clientId=consumer-orders-1, groupId=orders]"
                f" Sending Heartbeat request with generation {k} and member id"
                " consumer-orders-1-xx to coordinator broker1:9092"
            )
        else:
            yield f"orders-1  | {now} INFO 1 --- [pool-3] c.example.Orders : handled {k} in 7 ms"


def with_new_ids() -> Iterator[str]:
    """A service that handles orders: nearly every line has a UUID that stands nowhere else."""
    chance = random.Random(5)
    begin = datetime(2025, 3, 26, tzinfo=UTC)
    for k in count():
        now = f"{begin + timedelta(milliseconds=37 * k):{FORM}},{37 * k % 1000:03}"
        new = UUID(int=chance.getrandbits(128))
        if k % 10 < 6:
            yield f"{now} INFO [pool-3] c.example.Orders - traceId={new} handled order {new}"
        elif k % 10 < 8:
            yield (
                f"{now} DEBUG [heartbeat | orders] o.a.k.c.c.internals.ConsumerCoordinator : "
                "[Consumer clientId=consumer-orders-1, groupId=orders] Sending Heartbeat request"
                f" with generation {k} and member id consumer-orders-1-{new} to coordinator b1:9092"
            )
        else:
            yield f"{now} INFO c.example.Http - POST /v1/orders/{new} of the group {k % 90} ms"


def of_ten_groups(size: int) -> Iterator[str]:
    """A coordinator's log in which hardly any two lines about a group have its ids in common."""
    with tempfile.TemporaryDirectory() as folder:
        (log,) = generate(Path(folder, "generated"), Order(groups=10, size=size))
        with log.path.open() as lines:
            yield from (line.rstrip("\n") for line in lines)


def written(path: Path, lines: Iterator[str], size: int) -> None:
    left = size
    with path.open("w") as out:
        while left > 0:
            left -= out.write(next(lines) + "\n")


def looped(path: Path) -> int:
    """The yardstick."""
    with path.open() as lines:
        return sum(1 for line in lines if PATTERN.search(line))


def answered(path: Path) -> int:
    """Ours: everything is read, and the causes are found."""
    return len(replay([path]).answers)


def seconds(asked: Callable[[Path], int], path: Path) -> float:
    began = time.process_time()
    assert asked(path) > 0
    return time.process_time() - began


def beside(size: int, rounds: int) -> Section:
    logs = {"mixed": mixed(), "new ids": with_new_ids()}
    logs |= {name: repeated(files) for name, files in RECORDINGS.items()}
    logs["ten groups"] = of_ten_groups(size + size // 10)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, lines in logs.items():
            path = Path(folder, name)
            written(path, lines, size // 50)
            answered(path)
            written(path, lines, size)
            ratios, ours = [], []
            for _ in range(rounds):
                before, spent, after = (seconds(f, path) for f in (looped, answered, looped))
                ratios.append(spent / ((before + after) / 2))
                ours.append(spent)
            speed = f"{name}, {size / 1e6 / median(ours):.1f} MB/s"
            target = ("<=", TARGETS[name])
            rows.append(Row(speed, median(ratios), "x loop", ratios, median(ours), target))
    return Section(f"replay over the loop: logs of {size / 1e6:g} MB, {rounds} rounds", rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="replay beside a loop over the lines, in turn")
    parser.add_argument("--quick", action="store_true", help="logs of 2 MB")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores, load {about['load']}. Medians.\n", flush=True)
    print(text(beside(2_000_000 if chosen.quick else 20_000_000, chosen.rounds)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
