"""The parts of a printed run: member ids in their order of appearance, rounds as they really were,
lines with places to fill in.
"""

from __future__ import annotations

import base64
import random
import uuid
from collections.abc import Mapping
from typing import Any

from attrs import Factory, define, evolve, frozen

from groupcheck.model.engine.verdict import Firing
from groupcheck.model.protocol.classic import coordinator, failover, timers
from groupcheck.model.protocol.classic.group import Core, Leader, Phase
from groupcheck.oracles.generate.template import Filling, Part, compiled

Who = tuple[int, int]
"""A process, and the number of one of its ids."""


@define
class Names:
    """Member ids of a run. A number that the model uses again is another member id."""

    # in their order of appearance, and the process of each
    own: list[str] = Factory(list)
    clients: list[int] = Factory(list)
    # the latest number of each
    _of: dict[Who, int] = Factory(dict)

    def add(self, who: Who, choose: random.Random) -> None:
        self._of[who] = len(self.own)
        self.clients.append(who[0])
        self.own.append(member_id(who[0], choose))

    def number(self, who: Who) -> int:
        return self._of[who]

    def mark(self, who: Who) -> str:
        return f"<:m{self._of[who]}:>"

    def __contains__(self, who: Who) -> bool:
        return who in self._of


def own_id(choose: random.Random) -> str:
    """A member id as the members of consumer groups make them: a UUID of version 4 in base64 that
    does not begin with a dash (Kafka's Uuid.randomUuid and Uuid.toString). None of version 4 is
    reserved.
    """
    id = "-"
    while id.startswith("-"):
        data = uuid.UUID(int=choose.getrandbits(128), version=4).bytes
        id = base64.urlsafe_b64encode(data).decode().rstrip("=")
    return id


def member_id(client: int, choose: random.Random) -> str:
    """A member id as coordinators make them."""
    return f"client-{client}-{uuid.UUID(int=choose.getrandbits(128), version=4)}"


@frozen
class TrueRound:
    """A rebalance as it really was."""

    from_generation: int
    # as in a replay's document
    cause: str
    # numbers of the member ids that caused it
    members: tuple[int, ...]
    # None if it has not ended
    to_generation: int | None = None
    # members of the new generation
    size: int | None = None
    # completed, emptied, lost (the coordinator moved) or open; of a consumer group assigned,
    # interrupted (by the next epoch), emptied or open
    outcome: str = "open"


@frozen
class Rounds:
    """All rebalances of a run so far."""

    told: tuple[TrueRound, ...] = ()

    def after(
        self,
        firing: Firing,
        core: Core,
        seats: dict[Who, Any],
        then: Core,
        left: dict[Who, Any],
        leader: Leader | None,
        names: Names,
    ) -> Rounds:
        """With what one firing did."""
        told = self.told
        running = bool(told) and told[-1].outcome == "open"
        if firing.name.startswith(failover.fail_over.name):
            return Rounds((*told[:-1], evolve(told[-1], outcome="lost"))) if running else self
        if then.generation == core.generation + 1:
            joined = sum(1 for who in left if left[who].member and left[who].join)
            if not running:
                told = (*told, TrueRound(core.generation, "not_seen", ()))
            outcome = "completed" if joined else "emptied"
            return Rounds(
                (
                    *told[:-1],
                    evolve(told[-1], to_generation=then.generation, size=joined, outcome=outcome),
                )
            )
        if core.phase != Phase.PREPARING and then.phase == Phase.PREPARING:
            cause, members = _cause(firing, core, seats, left, leader)
            return Rounds(
                (
                    *told,
                    TrueRound(core.generation, cause, tuple(names.number(who) for who in members)),
                )
            )
        return self


def _cause(
    firing: Firing, core: Core, seats: dict[Who, Any], left: dict[Who, Any], leader: Leader | None
) -> tuple[str, list[Who]]:
    """Why a rebalance began, and which members caused it."""
    name, _, label = firing.name.partition(":")
    if name == coordinator.join_group.name and label == "added":
        return "join", [
            who for who in left if left[who].member and not (who in seats and seats[who].member)
        ]
    if name == coordinator.join_group.name and label == "replaced_and_restarted":
        return "static_replaced", [who for who in left if who not in seats]
    if name == coordinator.join_group.name:
        again = [who for who in left if left[who].join and not seats[who].join]
        return (
            "leader_rejoin"
            if again == [leader] and core.phase == Phase.STABLE
            else "metadata_change"
        ), again
    if name == timers.sync_timeout.name:
        return "sync_timeout", [who for who in seats if seats[who].due]
    if name == timers.append_failed.name:
        return "append_failed", [leader] if leader is not None else []
    return ("leave" if name == coordinator.leave_group.name else "session_expired"), [
        who for who in seats if who not in left
    ]


@frozen
class Process:
    """A consumer from its start to its end."""

    # The model's process, whose number is in its client id; several follow each other.
    number: int
    # The first of them is 1.
    life: int


@frozen
class Owned:
    """A consumer owned a partition, by what it said to its application."""

    process: Process
    partition: int
    # In ms since the beginning; `until` is None if the log ends before.
    since: int
    until: int | None = None
    # revoked, lost, killed, or "end of log"
    how: str = "end of log"


@frozen
class Had:
    """A member of a consumer group had a partition by the coordinator's records, in ms since the
    beginning.
    """

    # The number of its id.
    member: int
    partition: int
    since: int
    # The coordinator wanted it back from then on.
    asked: int | None = None
    until: int | None = None
    # acknowledged, left, expired, fenced, or replaced (a static member came back under another id)
    how: str = ""


@frozen
class Committed:
    """An OffsetCommit of a consumer group's member is answered."""

    process: int
    # The number of its id, and the epoch in the request; -1: none.
    member: int
    epoch: int
    # Partition -> offset, as numbers of the run.
    offsets: Mapping[int, int]
    code: int
    # interval, revocation, close or application.
    why: str


@frozen
class Clients:
    """The lines that the members of a run wrote, and the truth about them."""

    # (ms since the beginning, who, the pieces of the line)
    lines: tuple[tuple[int, Process, tuple[Part, ...]], ...]
    owned: tuple[Owned, ...]
    # Who did not poll in time, was killed, or (in a consumer group) stood still, and when:
    # (ms, who, poll_timeout, killed or frozen).
    troubles: tuple[tuple[int, Process, str], ...]
    # What the coordinator wrote of the same run: (ms since the beginning, the pieces of the line).
    coordinator: tuple[tuple[int, tuple[Part, ...]], ...]


@frozen
class Run:
    """A run of the model, printed."""

    # (milliseconds since its beginning, the pieces of the line)
    lines: tuple[tuple[int, tuple[Part, ...]], ...]
    rounds: tuple[TrueRound, ...]
    # member ids in their order of appearance, and the process of each
    names: tuple[str, ...]
    clients: tuple[int, ...]
    # the last one, if the run ends where the group is empty
    generation: int = 0
    # the highest that was committed
    offset: int = 0
    # how many there were
    connections: int = 0
    # what the members wrote, if that was asked for
    members: Clients | None = None
    # who had which partition, in the order of time (of consumer groups alone)
    had: tuple[Had, ...] = ()
    # what was committed, and when (ms since the beginning), and what is at the end for each
    # partition (of consumer groups alone)
    commits: tuple[tuple[int, Committed], ...] = ()
    offsets: tuple[int, ...] = ()
    # appends that failed: (ms since the beginning, number of the member's id, who wrote: heartbeat,
    # session-timeout or rebalance-timeout)
    lost: tuple[tuple[int, int, str], ...] = ()

    def texts(self) -> list[tuple[int, str]]:
        """The run as the life of a group `g`, under its own member ids."""
        filling = Filling("g", self.names)
        return [(at, filling.line(parts)) for at, parts in self.lines]


def run_of(
    lines: list[tuple[int, str]], rounds: tuple[TrueRound, ...], names: Names, generation: int
) -> Run:
    """A run from what a printer wrote."""
    taken_apart = tuple((at, compiled(text)) for at, text in lines)
    marks = [part for _, parts in taken_apart for part in parts if not isinstance(part, str)]
    offset, connections = (
        max((number for kind, number in marks if kind == mine), default=0) for mine in "Oc"
    )
    return Run(
        taken_apart, rounds, tuple(names.own), tuple(names.clients), generation, offset, connections
    )
