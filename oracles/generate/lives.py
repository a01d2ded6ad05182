"""Lives of groups: one run of the model after another, each of which begins where the group is
empty, as one stream of a broker's lines.

Everything follows from the seed: which runs a group goes through, when, and under which member ids.
Runs are made when they are first needed and then kept, so memory does not grow with the size of the
logs.

A run is printed up to the last moment at which the group is Empty and no id is known. So a few
hundred runs make logs of any length, and the model's own steps are the truth.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

from attrs import define, field, frozen

from groupcheck.oracles.generate.clock import FIRST_MS
from groupcheck.oracles.generate.dialects import Dialect
from groupcheck.oracles.generate.run import Run, member_id, own_id
from groupcheck.oracles.generate.template import Filling

LEAST_LINES = 5
MEAN_PAUSE_MS = 300_000
"""Between two runs of a group, on average."""
START_WITHIN_MS = 60_000
ATTEMPTS = 100
_OTHERS = (
    (
        "INFO [LocalLog partition=orders-{n}, dir=/var/lib/kafka/data] Rolled new log segment at"
        " offset {n}21 in {n} ms. (kafka.log.LocalLog)"
    ),
    (
        "INFO [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Truncating partition"
        " payments-{n} (kafka.server.ReplicaFetcherThread)"
    ),
    (
        "WARN [SocketServer listenerType=BROKER, nodeId=1] Unexpected error from /10.0.0.{n}"
        " (org.apache.kafka.common.network.Selector)"
    ),
)
_FETCH = (
    'DEBUG Completed request:{{"isForwarded":false,'
    '"requestHeader":{{"requestApiKey":3,"requestApiVersion":12,"correlationId":{n},'
    '"clientId":"admin","requestApiKeyName":"METADATA"}},'
    '"request":{{"topics":[]}},'
    '"response":{{"throttleTimeMs":0,"topics":[]}},'
    '"connection":"127.0.0.1:9092-127.0.0.1:9{n}-0-{n}",'
    '"totalTimeMs":0.4,"requestQueueTimeMs":0.1,"localTimeMs":0.2,"remoteTimeMs":0.0,'
    '"throttleTimeMs":0,"responseQueueTimeMs":0.0,"sendTimeMs":0.1}}'
    " (kafka.request.logger)"
)


@define
class Pool:
    """Runs of one dialect, by number."""

    dialect: Dialect
    seed: int
    # how many there are
    size: int
    # print the members, too?
    clients: bool = False
    _made: dict[int, Run] = field(factory=dict, init=False)

    def run(self, number: int) -> Run:
        """The run of this number: that of the first seed whose run is long enough."""
        if number not in self._made:
            first = (self.seed * self.size + number) * ATTEMPTS
            printed = self.dialect.with_clients if self.clients else self.dialect.run
            assert printed is not None
            found = (printed(seed) for seed in range(first, first + ATTEMPTS))
            self.keep(number, next(run for run in found if len(run.lines) >= LEAST_LINES))
        return self._made[number]

    def keep(self, number: int, run: Run) -> None:
        """This is the run of this number, which may have been made by another process."""
        self._made[number] = run


@define
class Life:
    """One group, up to the run at hand."""

    group: str
    choose: random.Random
    # milliseconds since the beginning, when the run begins
    time: int
    # what is added to the run's own numbers
    generation: int = 0
    # the highest generation that was reached
    highest: int = 0
    offset: int = 0
    # what is committed in each partition, if its runs have commits
    offsets: tuple[int, ...] = ()
    connection: int = 0
    # of the latest rebalance
    number: int = 0
    # how many there were
    members: int = 0
    runs: int = 0

    def next(self, pool: Pool) -> tuple[Run, Filling, list[dict[str, Any]]]:
        """The next run, what stands for its marks, and the truth about it."""
        run = pool.run(self.choose.randrange(pool.size))
        names = [
            own_id(self.choose) if pool.dialect.consumer else member_id(client, self.choose)
            for client in run.clients
        ]
        filling = Filling(
            self.group,
            names,
            self.generation,
            self.offset,
            self.connection,
            self.offsets,
            FIRST_MS + self.time,
        )
        truth = []
        for r in run.rounds:
            self.number += 1
            truth.append(
                {
                    "group": self.group,
                    "number": self.number,
                    "cause": r.cause,
                    "members": [names[k] for k in r.members],
                    "from_generation": self.generation + r.from_generation,
                    "to_generation": (
                        None if r.to_generation is None else self.generation + r.to_generation
                    ),
                    "size": r.size,
                    "outcome": r.outcome,
                }
            )
        self.highest = max(
            [self.highest, *(self.generation + (r.to_generation or 0) for r in run.rounds)]
        )
        self.generation += run.generation
        self.offset += run.offset
        if run.offsets:
            before = self.offsets or (0,) * len(run.offsets)
            self.offsets = tuple(map(sum, zip(before, run.offsets, strict=True)))
        self.connection += run.connections + 1
        self.members += len(names)
        self.runs += 1
        return run, filling, truth


@frozen
class Begun:
    """A run that a group begins."""

    group: str
    # in ms since the beginning
    at: int
    run: Run
    # what stands for its marks
    filling: Filling
    # the truth about its rebalances
    rebalances: list[dict[str, Any]]


@define
class BrokerStream:
    """The lines of one broker in order of time: those of all of its groups, and a few that no
    coordinator wrote.
    """

    pool: Pool
    groups: Sequence[str]
    seed: str
    # share of the lines that no coordinator wrote
    others: float
    # bytes after which no run begins
    most: int
    # lines so far that no coordinator wrote
    others_written: int = 0
    lives: list[Life] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.lives = []
        for k, group in enumerate(self.groups):
            choose = random.Random(f"{self.seed}/{group}")
            self.lives.append(
                Life(
                    group,
                    choose,
                    choose.randrange(START_WITHIN_MS),
                    self.pool.dialect.first_epoch,
                    connection=k * 1000,
                )
            )

    def lines(self, tell: Any) -> Iterator[tuple[int, str]]:
        """(ms since the beginning, line); `tell` is given each run when it begins (`Begun`).
        Every group lives through one run at least.
        """
        choose = random.Random(self.seed)
        queue: list[tuple[int, int, Iterator[tuple[int, str]], str]] = []
        planned = 0
        for k, life in enumerate(self.lives):
            planned += self._begin(k, life, queue, tell)
        while queue:
            at, k, more, text = heappop(queue)
            yield at, text
            if choose.random() < self.others:
                self.others_written += 1
                other = _FETCH if self.pool.dialect.requests else choose.choice(_OTHERS)
                yield at, other.format(n=choose.randrange(1, 200))
            following = next(more, None)
            if following is not None:
                heappush(queue, (following[0], k, more, following[1]))
                continue
            life = self.lives[k]
            life.time = at + 1 + int(life.choose.expovariate(1 / MEAN_PAUSE_MS))
            if planned < self.most:
                planned += self._begin(k, life, queue, tell)

    def _begin(self, k: int, life: Life, queue: list[Any], tell: Any) -> int:
        """Begins the group's next run. Returns approximately how many bytes it will have."""
        run, filling, truth = life.next(self.pool)
        begun, pace = life.time, self.pool.dialect.pace
        tell(Begun(life.group, begun, run, filling, truth))
        lines = ((begun + at * pace, filling.line(parts)) for at, parts in run.lines)
        at, text = next(lines)
        heappush(queue, (at, k, lines, text))
        return int(sum(_length(parts) for _, parts in run.lines) * (1 + self.others))


def _length(parts: Sequence[Any]) -> int:
    """Bytes of a line, approximately: a member id has 45."""
    return 28 + sum(
        len(part) if isinstance(part, str) else 45 if part[0] == "m" else 10 for part in parts
    )
