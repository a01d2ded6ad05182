"""Apache Kafka's own assignors: those of the client (range, roundrobin, sticky, cooperative-sticky)
and of KIP-848's coordinator (uniform, server-range).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from attrs import frozen

from groupcheck.model.assignors import Assignment, Group, Member, partitions
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.values import by_topic

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "server-range")
BATCH = 200  # problems a line


@frozen
class Problem:
    """A group whose partitions an assignor has to distribute."""

    assignor: str
    group: Group


@frozen
class NotSolved:
    """No assignment: the assignor threw, or the driver broke over it."""

    problem: Problem
    reason: str


def solve(driver: Driver, problems: Iterable[Problem]) -> Iterator[Assignment | NotSolved]:
    """The assignment of each member, for one problem after the other."""
    asked: deque[list[Problem]] = deque()
    for answers in driver.assign_all(_batches(problems, asked)):
        for problem, answer in zip(asked.popleft(), answers):
            yield (
                NotSolved(problem, answer["failed"])
                if "failed" in answer
                else _read(answer["assignment"])
            )


def _batches(problems: Iterable[Problem], asked: deque[list[Problem]]) -> Iterator[list[str]]:
    """The problems as JSON, a line at a time; `asked` keeps them until they are answered."""
    waiting = iter(problems)
    while some := list(islice(waiting, BATCH)):
        asked.append(some)
        yield list(map(_text, some))


def _text(problem: Problem) -> str:
    group, assignor = problem.group, json.dumps(problem.assignor)
    members = ",".join(map(_member, group.members))
    return f'{{"assignor":{assignor},"members":{{{members}}},{_topics(group.topics, group.racks)}}}'


@lru_cache(maxsize=1 << 12)  # most members and topics of a problem are those of the one before
def _member(m: Member) -> str:
    given = {"topics": sorted(m.topics), "owned": by_topic(m.owned), "generation": m.generation}
    optional = {"told": m.told, "instance": m.instance, "rack": m.rack}
    given |= {name: value for name, value in optional.items() if value is not None}
    return f"{json.dumps(m.id)}:{json.dumps(given)}"


@lru_cache(maxsize=1 << 12)
def _topics(
    topics: tuple[tuple[str, int], ...], racks: tuple[tuple[str, tuple[frozenset[str], ...]], ...]
) -> str:
    sorted_racks = {
        topic: [sorted(of_partition) for of_partition in of_topic] for topic, of_topic in racks
    }
    return f'"topics":{json.dumps(dict(topics))},"racks":{json.dumps(sorted_racks)}'


def _read(assignment: dict[str, dict[str, list[int]]]) -> Assignment:
    return {member: partitions(assigned) for member, assigned in assignment.items()}
