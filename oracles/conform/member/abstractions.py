"""Rows of the member that say more than the group's model does. Each is a condition on the
row; the rows that meet it are compared like all others, and counted.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from groupcheck.model.protocol.classic.client import Prepare
from groupcheck.model.protocol.messages import NO_ID, Heartbeat, OffsetCommit
from groupcheck.oracles.conform.member.member_memory import (
    Does,
    During,
    Failure,
    Input,
    Memory,
    Outcome,
)


@frozen
class Abstraction:
    """Something that the group's model leaves out, because it makes no difference to a group."""

    name: str
    meaning: str
    # Does it concern this row?
    concerns: Callable[[Memory, Input, Outcome], bool]


def _polls(given: Input) -> bool:
    return given.does == Does.POLL


def _idly(given: Input) -> bool:
    return given.during == During.NOTHING


ABSTRACTIONS = (
    Abstraction(
        "coordinator lookup",
        "A member that has lost its coordinator asks for it, and goes on in the poll in which it"
        " hears the answer. The group's members always know their coordinator.",
        lambda m, given, o: _polls(given) and not m.known,
    ),
    Abstraction(
        "requests beside each other",
        "Heartbeats and commits can be in flight beside other requests. In the group's model"
        " something is in flight only if the coordinator parks a JoinGroup or SyncGroup.",
        lambda m, given, o: len(m.flight) > 1 or bool(m.flight and not m.joining),
    ),
    Abstraction(
        "back-off",
        "A poll that notices that a request has failed backs off and sends nothing; the next one"
        " tries again. In the group's model a retry is a request that is not sent yet.",
        lambda m, given, o: _polls(given) and m.failed != Failure.NOTHING and not m.client.failed,
    ),
    Abstraction(
        "polls after an error",
        "An application may poll again after poll has thrown an error. In the group's model it has"
        " stopped.",
        lambda m, given, o: _polls(given) and bool(m.client.failed),
    ),
    Abstraction(
        "commits every position",
        "Kafka's member commits every position that it has, committed before or not. The group's"
        " member commits what it has not committed yet.",
        lambda m, given, o: any(isinstance(r, OffsetCommit) for r in o.sent),
    ),
    Abstraction(
        "heartbeats that change nothing",
        "Heartbeats go on while a request is parked and after a member was told to rejoin. The"
        " group's model leaves them out.",
        lambda m, given, o: (
            any(isinstance(r, Heartbeat) for r in o.sent) and (m.client.rejoin or bool(m.flight))
        ),
    ),
    Abstraction(
        "paused partitions",
        "Once the commit before JoinGroup was sent, the application gets no more records until the"
        " partitions are given up, even if that commit fails and is sent again. The group's model"
        " allows it to process them while the member waits to commit again. A row compares whether"
        " it gets records.",
        lambda m, given, o: (
            m.paused and m.client.position >= 0 and m.client.prepare != Prepare.COMMITTED
        ),
    ),
    Abstraction(
        "an id that is forgotten late",
        "A member that loses its generation (22) before its share is installed forgets its id at"
        " the next poll. The group's member forgets it at once; nothing is sent in between.",
        lambda m, given, o: m.late_id != NO_ID,
    ),
    Abstraction(
        "prepared ahead",
        "A member that was reset while its JoinGroup or SyncGroup is in flight runs onJoinPrepare"
        " in the next poll. In the group's model it does so once that request is answered. An eager"
        " one owns nothing then; a cooperative one still owns what it kept, like a member whose"
        " application has not polled since.",
        lambda m, given, o: (
            _polls(given)
            and given.during == During.NOTHING
            and not o.rules
            and o.gave_up is not None
        ),
    ),
    Abstraction(
        "other partitions",
        "A cooperative member may have positions in some of its partitions and not in others. The"
        " group's model follows those of one partition. In the rows no offset of another one was"
        " ever committed: the member asks for it each time, and has no position there.",
        lambda m, given, o: o.asks != o.found,
    ),
    Abstraction(
        "unsubscribes",
        "The application unsubscribes and subscribes again. In the group's model it closes, and"
        " another member starts.",
        lambda m, given, o: given.does == Does.UNSUBSCRIBE,
    ),
    Abstraction(
        "works in callbacks",
        "A rebalance callback throws, commits or takes long. In the group's model callbacks do"
        " nothing.",
        lambda m, given, o: not _idly(given),
    ),
)


def excuses(before: Memory, given: Input, outcome: Outcome) -> list[str]:
    """The abstractions that a row meets."""
    return [a.name for a in ABSTRACTIONS if a.concerns(before, given, outcome)]
