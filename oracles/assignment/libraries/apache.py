"""Apache Kafka's own assignor classes, driven in a JVM (`oracles/kafka`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from groupcheck.model.assignors import Group, Member, NoAssignment
from groupcheck.oracles.assignment.offered import Library, Offered, group_code
from groupcheck.oracles.assignment.validity import Assigned
from groupcheck.oracles.kafka.assignors import ASSIGNORS, NotSolved, Problem, solve
from groupcheck.oracles.kafka.driver import Driver

FIRST = Group({"t": 1}, [Member("A", ["t"])])
CODE = """# groupcheck drives the classes of Apache Kafka {version} with a JVM
from groupcheck.model.assignors import Group, Member
from groupcheck.oracles.kafka.assignors import Problem, solve
from groupcheck.oracles.kafka.driver import Driver

group = {group}
with Driver({version!r}) as driver:
    print(*solve(driver, [Problem({assignor!r}, group)]))
"""


def library(version: str) -> Library:
    """Of one of the versions that can be driven. Raises `UserError` for another; the JVM starts
    with the first question.
    """
    driver = Driver(version)

    @contextmanager
    def running() -> Iterator[None]:
        with driver:
            next(
                solve(driver, [Problem("range", FIRST)])
            )  # what is built and started is not waited for by a question that is timed
            yield

    offered = (
        Offered(
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
        name, _, why = answer.reason.partition(":")
        raise NoAssignment(name.rpartition(".")[2], why.strip())
    return answer


def _code(version: str, assignor: str, group: Group) -> str:
    return CODE.format(version=version, assignor=assignor, group=group_code(group))
