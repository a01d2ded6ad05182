"""The common parts of kafka-python and aiokafka: their assignors are classes that ask a cluster for
its topics, answer in the same form, and write to loggers.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from functools import partial
from importlib import import_module, metadata
from typing import Any

from attrs import frozen

from groupcheck.model.assignors import Group, NoAssignment
from groupcheck.oracles.assignment.against.naming import reached
from groupcheck.oracles.assignment.against.offered import (
    Claim,
    Claims,
    Library,
    OfferedAssignor,
    assigned,
)
from groupcheck.oracles.assignment.validity import Assigned

CLUSTER = '''class Cluster:
    """What assignors ask of the metadata."""

    def __init__(self, sizes):
        self.sizes = sizes

    def topics(self):
        return set(self.sizes)

    def partitions_for_topic(self, topic):
        return set(range(self.sizes[topic])) if topic in self.sizes else None


'''
"""The same as `Cluster`, as a maintainer pastes it."""


@frozen
class Cluster:
    """Topics with their numbers of partitions, as the libraries' ClusterMetadata shows them to an
    assignor.
    """

    sizes: dict[str, int]

    def topics(self) -> set[str]:
        """All there are."""
        return set(self.sizes)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The partitions of a topic; None if it does not exist."""
        return set(range(self.sizes[topic])) if topic in self.sizes else None


def installed(
    package: str,
    classes: Mapping[str, tuple[str, str]],
    offered: Callable[[type, str, str | None], OfferedAssignor],
    quietly: Callable[[], AbstractContextManager[None]],
) -> Library:
    """The installed version of a library. `classes`: the name of Kafka's assignor -> module and
    class. Raises `ImportError` if the library is not installed.
    """
    found = []
    for name, (module, class_name) in classes.items():
        try:
            assignor = getattr(import_module(module), class_name)
        except (ImportError, AttributeError):
            if name == "range":
                raise
            continue  # older versions offer fewer assignors
        found.append(offered(assignor, name, name))
    return Library(package, metadata.version(package), tuple(found), quietly)


def offered_by(asked: Any, name: str, like: str | None) -> OfferedAssignor:
    """A class as an assignor. `asked` has it as `assignor`, and the functions of `OfferedAssignor`
    and `Claims` as methods.
    """
    claims = Claims(asked.claim_of, asked.of_a_newcomer, asked.claim_code, asked.newcomer_code)
    has_claims = hasattr(asked.assignor, "parse_member_metadata")
    return OfferedAssignor(name, like, asked.solve, asked.code, claims if has_claims else None)


def read(assignor: Any, sent: Any) -> Claim:
    """The part of a member's metadata that the leader reads."""
    claim = assignor.parse_member_metadata(sent)
    return frozenset(map(tuple, claim.partitions)), claim.generation


def asking(start: str, assignor: str, questions: Iterable[tuple[Group, str]]) -> str:
    """Code that asks for an assignment of each group with its members, and prints it."""
    asked = (
        f"members = {members}\nfor member, given in"
        f" {assignor}.assign(Cluster({dict(group.topics)!r}), members).items():\n"
        "    print(member, given.assignment)\n"
        for group, members in questions
    )
    return f"{start}{CLUSTER}{''.join(asked)}"


def fresh(assignor: Any) -> Callable[[], Any]:
    """Makes an assignor that remembers nothing: by calling the class or the function that makes
    one, or as a copy of the object that was named.
    """
    if isinstance(assignor, type) or inspect.isroutine(assignor):
        return assignor
    return partial(deepcopy, assignor)


def class_code(assignor: Any, near: str | None = None) -> str:
    """Lines that import the class, or the function that makes an assignor, as `Assignor`; of an
    object, a function that copies it. `near`: a module that names it.
    """
    lines, path = reached(assignor, near)
    if not isinstance(assignor, type) and not inspect.isroutine(assignor):
        copied = f"def Assignor():\n    return deepcopy({path})\n"
        return f"from copy import deepcopy\n\n{lines}\n\n{copied}\n"
    if "." not in path and lines.endswith(f" import {path}\n"):
        return f"{lines.rstrip()} as Assignor"
    return f"{lines}Assignor = {path}"


def listed(answer: Any) -> Assigned:
    """The answer of an assignor's class: for each member an object with an `assignment`, which
    lists topics with their partitions. Raises `NoAssignment` for anything else.
    """
    try:
        given = {
            member: [(topic, number) for topic, numbers in one.assignment for number in numbers]
            for member, one in answer.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise NoAssignment(
            "WrongAnswer", f"not an assignment for each member: {answer!r:.80}"
        ) from None
    return assigned(given)


@contextmanager
def quiet(logger: str) -> Iterator[None]:
    """The library does not warn of each of the thousands of strange questions."""
    log = logging.getLogger(logger)
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)
