"""Apache Kafka's own assignor classes, driven in a JVM (`oracles/kafka`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from groupcheck.model.assignors import Group, Member
from groupcheck.oracles.assignment.against.offered import Library, OfferedAssignor, group_code
from groupcheck.oracles.assignment.promises import thrown
from groupcheck.oracles.assignment.validity import Assigned
from groupcheck.oracles.kafka.assignors import ASSIGNORS, NotSolved, Problem, solve
from groupcheck.oracles.kafka.driver import Driver

FIRST = Group({"t": 1}, [Member("A", ["t"])])
CODE = """# groupcheck drives the classes of Apache Kafka {version} with a JVM
from groupcheck.model.assignors import Group, Member
from groupcheck.oracles.kafka.assignors import Problem, solve
from groupcheck.oracles.kafka.driver import Driver

groups = [{groups}]
with Driver({version!r}) as driver:
    for group in groups:
        print(*solve(driver, [Problem({assignor!r}, group)]))
"""


def library(version: str) -> Library:
    """The classes of one version. Raises `UserError` for a version that cannot be driven. The JVM
    starts with the first question.
    """
    driver = Driver(version)

    @contextmanager
    def running() -> Iterator[None]:
        with driver:
            # The first question builds and starts the JVM; no timed question waits for that.
            next(solve(driver, [Problem("range", FIRST)]))
            yield

    offered = (
        OfferedAssignor(
            name,
            name,
            partial(_solve, driver, name),
            partial(_code, driver.version, name),
            reads_told="sticky" in name,
        )
        for name in ASSIGNORS
    )
    return Library("Apache Kafka", driver.version, tuple(offered), running, of_kafka=True)


def _solve(driver: Driver, assignor: str, group: Group) -> Assigned:
    (answer,) = solve(driver, [Problem(assignor, group)])
    if isinstance(answer, NotSolved):
        raise thrown(answer.reason)
    return answer


def _code(version: str, assignor: str, *groups: Group) -> str:
    listed = ", ".join(map(group_code, groups))
    return CODE.format(version=version, assignor=assignor, groups=listed)
