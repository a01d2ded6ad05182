"""An assignor that somebody else offers, in one form for all libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from traceback import TracebackException
from typing import Any

from attrs import frozen

from groupcheck.model.assignors import Group, Member, NoAssignment, Partition, Partitions
from groupcheck.oracles.assignment.groups import racks_shown
from groupcheck.oracles.assignment.validity import Assigned
from groupcheck.oracles.kafka.values import by_topic

NO_ANSWER = "no answer"  # of an assignor that hangs, ends, or says something that is no answer
MOST_FRAMES = 30  # the innermost ones of a traceback: recursion may be deep
ORACLES = str(Path(__file__).parents[2])  # the code that calls an assignor
AGAIN_S = 0.5  # after which an assignor that still runs is interrupted once more
MOST_GIVEN = 10_000  # partitions of one member: groups that are asked have a dozen

Claim = tuple[Partitions, int]
"""Partitions and the generation that they are claimed of."""


@frozen
class Claims:
    """The claims that a library's members make when they join, with the code that shows it."""

    # What the leader reads of a member that was assigned these partitions in that generation.
    claim_of: Callable[[Partitions, int], Claim]
    # After a first consumer was assigned these: what the leader reads of another consumer of the
    # same process and of another group, which was assigned nothing yet.
    of_a_newcomer: Callable[[Partitions, int], Claim]
    claim_code: Callable[[Partitions, int], str]
    newcomer_code: Callable[[Partitions, int], str]


@frozen
class OfferedAssignor:
    """One assignor."""

    name: str
    # The assignor of Kafka whose promises it makes. None: it makes those that any assignor makes.
    like: str | None
    # Answers for a group, or raises an exception, which is its answer, too.
    solve: Callable[[Group], Assigned]
    # Lines of Python, or of a shell, that ask about these groups again, one after the other.
    code: Callable[..., str]
    claims: Claims | None = None
    # It may remember what it was asked before.
    ask_again: bool = False
    # It reads `Member.told`.
    reads_told: bool = False
    # It is told the members' `group.instance.id`.
    reads_instances: bool = True


@frozen
class Library:
    """The assignors of a library, with what their use needs."""

    name: str
    # The installed version; empty if there is none.
    version: str
    assignors: tuple[OfferedAssignor, ...]
    # What has to run while its assignors are asked.
    open: Callable[[], AbstractContextManager[Any]] = nullcontext
    # These are Kafka's own classes.
    of_kafka: bool = False
    # The end of what its program wrote to its standard error; empty if it wrote nothing.
    said: Callable[[], str] = lambda: ""


def assigned(answer: Any) -> Assigned:
    """An answer as partitions for each member: {"A": {"t": [0, 1]}} or {"A": [("t", 0), ("t", 1)]}.

    Raises `NoAssignment` for an answer of another form, and for a partition that one member is
    given twice.
    """
    if not isinstance(answer, Mapping):
        raise NoAssignment(
            "WrongAnswer", f"{type(answer).__name__} instead of partitions for each member"
        )
    return {str(member): _partitions(str(member), given) for member, given in answer.items()}


def _partitions(member: str, given: Any) -> Partitions:
    pairs = given
    if isinstance(given, Mapping):
        pairs = ((topic, number) for topic, numbers in given.items() for number in numbers)
    seen: set[Partition] = set()
    try:
        for topic, number in pairs:
            if not isinstance(topic, str) or type(number) is not int:
                raise TypeError(topic, number)
            if (topic, number) in seen:
                raise NoAssignment("WrongAnswer", f"{member} is given {topic}-{number} twice")
            if len(seen) == MOST_GIVEN:
                raise NoAssignment(
                    "WrongAnswer", f"{member} is given more than {MOST_GIVEN:,} partitions"
                )
            seen.add((topic, number))
    except (TypeError, ValueError):
        raise NoAssignment(
            "WrongAnswer", f"what {member} gets is no list of partitions: {given!r:.80}"
        ) from None
    return frozenset(seen)


def group_code(group: Group) -> str:
    """The group as a Python expression, with the names of groupcheck.model.assignors."""
    members = ",\n".join(f"        {member_code(member)}" for member in group.members)
    racks = f"    {racks_shown(group)!r},\n" if group.racks else ""
    return f"Group(\n    {dict(group.topics)!r},\n    [\n{members},\n    ],\n{racks})"


def member_code(member: Member) -> str:
    """`Member('A', ['t'], {'t': [0]}, 1)`."""
    given = [repr(member.id), repr(sorted(member.topics))]
    if member.owned or member.generation >= 0:
        given += [repr(by_topic(member.owned)), str(member.generation)]
    given += [
        f"{name}={value!r}"
        for name in ("told", "instance", "rack")
        if (value := getattr(member, name)) is not None
    ]
    return f"Member({', '.join(given)})"


def own_traceback(raised: BaseException) -> str:
    """The traceback of the assignor's own code, as Python prints it, without the frames of
    groupcheck; empty if the exception was not raised in that code.
    """
    shown = TracebackException.from_exception(raised, limit=-MOST_FRAMES)
    link: TracebackException | None = shown
    while link is not None:
        link.stack[:] = [frame for frame in link.stack if not frame.filename.startswith(ORACLES)]
        link = link.__cause__ or link.__context__
    if not shown.stack:
        return ""
    if isinstance(raised, TooLong):
        return "".join(["Stopped here (most recent call last):\n", *shown.stack.format()])
    return "".join(shown.format())


class TooLong(BaseException):
    """An assignor does not come to an end. This is no `Exception`, so that the assignor itself does
    not catch it.
    """


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """Raises `TooLong` in code that runs longer. This ends Python code in the main thread alone;
    elsewhere there is no limit.
    """
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        yield
        return

    def end(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, end)
    # More than once: what is raised within a callback of the garbage collector is lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
