"""Apache Kafka's own assignors: those of the client (range, roundrobin, sticky, cooperative-sticky) and of KIP-848's coordinator (uniform, server-range)."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from attrs import field, frozen

from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.values import Assignments, Pairs, Partitions, by_topic, pairs, partitions

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "server-range")
BATCH = 200  # problems a line


@frozen
class Claimant:
    """A member as its assignor sees it. `owned` and `generation`: what it claims from before; for the coordinator's assignors its last target."""

    member: str
    topics: tuple[str, ...] = field(converter=tuple)
    owned: Partitions = field(default=frozenset(), converter=partitions)
    generation: int = -1
    instance: str | None = None
    rack: str | None = None


@frozen
class Problem:
    """Members to share the partitions of topics (name: number of partitions). `racks`: for each topic the replicas' racks of each partition."""

    assignor: str
    topics: Pairs = field(converter=pairs)
    members: tuple[Claimant, ...] = field(converter=tuple)
    racks: Pairs = field(default=(), converter=pairs)


@frozen
class NotSolved:
    """No assignment: the assignor threw, or the driver broke over it."""

    problem: Problem
    reason: str


def solve(driver: Driver, problems: Iterable[Problem]) -> Iterator[Assignments | NotSolved]:
    """What each member gets, sorted by member, for one problem after the other."""
    asked: deque[list[Problem]] = deque()
    for answers in driver.assign_all(_batches(problems, asked)):
        for problem, answer in zip(asked.popleft(), answers):
            yield NotSolved(problem, answer["failed"]) if "failed" in answer else _read(answer["assignment"])


def _batches(problems: Iterable[Problem], asked: deque[list[Problem]]) -> Iterator[list[str]]:
    """The problems of one line after the other as JSON; `asked` remembers them until they are answered."""
    waiting = iter(problems)
    while some := list(islice(waiting, BATCH)):
        asked.append(some)
        yield list(map(_text, some))


def _text(problem: Problem) -> str:
    members = {m.member: _member(m) for m in problem.members}
    return json.dumps({"assignor": problem.assignor, "topics": dict(problem.topics), "members": members, "racks": dict(problem.racks)})


def _member(m: Claimant) -> dict[str, Any]:
    given: dict[str, Any] = {"topics": m.topics, "owned": by_topic(m.owned), "generation": m.generation}
    return given | {name: value for name, value in (("instance", m.instance), ("rack", m.rack)) if value is not None}


def _read(assignment: dict[str, dict[str, list[int]]]) -> Assignments:
    return tuple(sorted((member, partitions(assigned)) for member, assigned in assignment.items()))
