"""An assignor that somebody else offers, behind one face."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from traceback import TracebackException
from typing import Any

from attrs import field, frozen

from groupcheck.model.assignors import Group, Member, NoAssignment, Partition, Partitions
from groupcheck.oracles.assignment.validity import Assigned, named

NO_ANSWER = "no answer"  # what is said of an assignor that hangs, ends, or talks of something else
MOST_FRAMES = 30  # of a traceback, the innermost ones: recursion may be deep
ORACLES = str(Path(__file__).parents[1])  # the code that calls an assignor
MOST_GIVEN = 10_000  # partitions of one member: groups that are asked have a dozen

Claim = tuple[Partitions, int]
"""Partitions and the generation that they are claimed of."""


@frozen
class Claims:
    """What a library's members say of themselves when they join, with the code that shows it.

    `told`: what the leader reads of a member that was assigned these partitions in that generation.
    `of_a_newcomer`: what it reads of another consumer of the same process and of another group,
    which was assigned nothing yet, after a first one was assigned these.
    """

    told: Callable[[Partitions, int], Claim]
    of_a_newcomer: Callable[[Partitions, int], Claim]
    told_code: Callable[[Partitions, int], str]
    newcomer_code: Callable[[Partitions, int], str]


@frozen
class Offered:
    """One assignor. `like`: the name of Kafka's whose promises it makes; None: those that any
    assignor makes.

    `solve` answers for a group, or raises: what it raises is its answer. `code`: lines of Python,
    or of a shell, that ask the same again.
    """

    name: str
    like: str | None
    solve: Callable[[Group], Assigned]
    code: Callable[[Group], str]
    claims: Claims | None = None
    ask_again: bool = False  # may it remember what it was asked before?
    reads_told: bool = False  # does it read `Member.told`?


def _nothing() -> AbstractContextManager[Any]:
    return nullcontext()


@frozen
class Library:
    """What a library offers, in its installed version. `open`: what has to run while its assignors
    are asked.
    """

    name: str
    version: str
    assignors: tuple[Offered, ...]
    open: Callable[[], AbstractContextManager[Any]] = field(default=_nothing)
    of_kafka: bool = False  # Kafka's own classes


def assigned(answer: Any) -> Assigned:
    """An answer as partitions for each member: {"A": {"t": [0, 1]}} or {"A": [("t", 0), ("t", 1)]}.

    Raises `NoAssignment` for what has no such form, and for a partition that one member is given
    twice.
    """
    if not isinstance(answer, Mapping):
        raise NoAssignment(
            "WrongAnswer", f"{type(answer).__name__} instead of partitions for each member"
        )
    return {str(member): _partitions(str(member), given) for member, given in answer.items()}


def _partitions(member: str, given: Any) -> Partitions:
    try:
        listed = [_partition(pair) for pair in islice(_pairs(given), MOST_GIVEN + 1)]
    except (TypeError, ValueError):
        raise NoAssignment(
            "WrongAnswer", f"what {member} gets is no list of partitions: {given!r:.80}"
        ) from None
    if len(listed) > MOST_GIVEN:
        raise NoAssignment("WrongAnswer", f"{member} is given more than {MOST_GIVEN:,} partitions")
    seen: set[Partition] = set()
    for partition in listed:
        if partition in seen:
            raise NoAssignment("WrongAnswer", f"{member} is given {named(partition)} twice")
        seen.add(partition)
    return frozenset(seen)


def _pairs(given: Any) -> Iterable[Any]:
    return (
        ((topic, number) for topic, numbers in given.items() for number in numbers)
        if isinstance(given, Mapping)
        else given
    )


def _partition(pair: Any) -> Partition:
    topic, number = pair
    if not isinstance(topic, str) or not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(pair)
    return topic, number


def by_topic(partitions: Iterable[Partition]) -> dict[str, list[int]]:
    """{"t": [0, 1]}, sorted."""
    found: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        found.setdefault(topic, []).append(number)
    return found


def group_code(group: Group) -> str:
    """The group as an expression of Python, with the names of groupcheck.model.assignors."""
    members = ",\n".join(f"        {member_code(member)}" for member in group.members)
    racks = {
        topic: [sorted(of_partition) for of_partition in of_topic]
        for topic, of_topic in group.racks
    }
    return (
        f"Group(\n    {dict(group.topics)!r},\n    [\n{members},\n    ],\n"
        + (f"    {racks!r},\n" if racks else "")
        + ")"
    )


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
    """Where the assignor's own code raised it, as Python prints it, without the frames of
    groupcheck around it; empty where it was not raised in that code.
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
    """An assignor that does not come to an end; no `Exception`, so that it does not catch it by
    itself.
    """


@contextmanager
def ended_after(seconds: float) -> Iterator[None]:
    """Raises `TooLong` in what runs longer. Python code in the main thread alone can be ended so;
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
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
