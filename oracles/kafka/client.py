"""Kafka's own classic member, driven: schedules in, transcripts out.

A schedule runs on a fresh member, and equal schedules have equal transcripts: time is virtual, and
back-offs have no jitter. `Driver.run_all` runs these schedules as it runs the coordinator's.

The heartbeat thread is Kafka's own object and never starts: a command runs its loop for one round,
which the round's first look at the clock ends. The loop's wait between rounds is given a negative
time, which Java refuses, so no real time passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import Factory, field, frozen

from groupcheck.oracles.kafka.client_commands import Answer, Command, Reset, encoded
from groupcheck.oracles.kafka.reading import read, written_as
from groupcheck.oracles.kafka.schedule import LostSchedule
from groupcheck.oracles.kafka.values import Offsets, Partitions

Data = Mapping[str, Any]
Timers = Mapping[str, int]
Claim = tuple[int, Mapping[str, list[int]]]
"""What a member claims in its subscription: the generation, and {"t": [0, 1]}."""


@frozen
class OpenRequest:
    """A request without an answer so far."""

    # Requests are numbered in the order in which they were made.
    n: int
    # Kafka's name: JoinGroup, SyncGroup, Heartbeat, ...
    api: str
    # The version of the API.
    v: int
    # The connection: `coordinator`, or `any` for a request that any broker answers.
    to: str
    # Milliseconds until the client gives up waiting and breaks the connection.
    timeout: int
    # Kafka's own fields as JSON; subscriptions and assignments are objects here, not bytes.
    data: Data


@frozen
class Call:
    """Something that happened to the application."""

    # revoked, assigned or lost (a rebalance callback); committed (the coordinator has accepted a
    # commit); commitCallback.
    call: str
    # The partitions that a rebalance callback was given; else empty.
    partitions: Partitions = frozenset()
    # The offsets of a commit; else empty.
    offsets: Offsets = ()
    # The class of the exception that a commit callback was given; empty if it was given none.
    thrown: str = ""


@frozen
class Thrown:
    """The exception that a command threw to the application."""

    # The simple name of its class.
    type: str
    message: str
    # Its error code in Kafka's protocol; -1 if it has none.
    error: int


@frozen
class CommitEnd:
    """A commit that has ended and whose callback has yet to run."""

    # The application made it, not the member.
    asked: bool
    # The class of the exception that the callback is given; empty if it is given none.
    thrown: str


@frozen
class Look:
    """A member, after a command. Comments name the fields of Kafka's AbstractCoordinator."""

    # The virtual time, in milliseconds.
    now: int
    # UNJOINED, PREPARING_REBALANCE, COMPLETING_REBALANCE or STABLE.
    state: str
    # -1 if it has none.
    generation: int
    # The member id; empty if it has none.
    member: str
    # The protocol of the generation; None before the first one and after a reset.
    protocol: str | None
    # It has to join again (rejoinNeeded).
    rejoin: bool
    # The reason that the next JoinGroup will give.
    reason: str
    # onJoinPrepare has yet to run before the next JoinGroup (needsJoinPrepare).
    prepare: bool
    # A JoinGroup or SyncGroup is under way, or its result is not used yet (joinFuture).
    joining: bool
    # The commit that onJoinPrepare sends, until its result is used: none, sent, done, failed, or
    # retriable (it failed and is sent again).
    committing: str
    # It is the leader, and made the plan of its generation.
    leader: bool
    # It knows the coordinator.
    coordinator: bool
    owned: Partitions
    paused: Partitions
    # Partitions whose records it no longer gives to the application.
    pending_revocation: Partitions
    # The next offset of each partition that has one.
    positions: Offsets
    # The heartbeat thread: none, off, on or failed.
    heart: str
    # A heartbeat is under way.
    beating: bool
    # Milliseconds until each timer is due: session, heartbeat and poll while the heartbeat thread
    # is on; autoCommit; joinPrepare while a commit of onJoinPrepare is under way.
    timers: Timers
    # Requests that wait for their answers, the oldest first.
    sent: tuple[OpenRequest, ...]
    # The APIs of requests that were made, and that the next poll of the network sends.
    unsent: tuple[str, ...]
    # What happened to the application during this command, in order.
    calls: tuple[Call, ...]
    # Commits that have ended, in order, until their callbacks run.
    ended: tuple[CommitEnd, ...] = ()

    def waiting(self, api: str) -> OpenRequest | None:
        """The oldest request of that API that waits for its answer."""
        return next((sent for sent in self.sent if sent.api == api), None)


@frozen
class Step:
    """The result of one command."""

    # The number of the command in the schedule, from 1.
    number: int
    command: Command
    # None if the command was refused.
    look: Look | None = None
    # What the command returned: whether it has reached what it was called for; None if it returns
    # nothing.
    ready: bool | None = None
    # The exception that the command threw; None if it threw none.
    thrown: Thrown | None = None
    # Why the command could not be carried out; empty if it was.
    refused: str = ""


@frozen
class Transcript:
    """A schedule that was carried out to its end, or to a command that was refused."""

    schedule: Schedule
    steps: tuple[Step, ...]

    @property
    def refused(self) -> str:
        return self.steps[-1].refused if self.steps else ""

    @property
    def last(self) -> Look:
        """The member at the end."""
        look = next((step.look for step in reversed(self.steps) if step.look is not None), None)
        assert look is not None, "a schedule without a command that succeeded"
        return look


def _commands(given: Iterable[Command]) -> tuple[Command, ...]:
    return tuple(given)


@frozen
class Schedule:
    """Commands to a fresh member, numbered from 1."""

    commands: tuple[Command, ...] = field(converter=_commands)
    # Makes the fresh member, before the first command.
    setup: Reset = Factory(Reset)

    def line(self) -> bytes:
        """The whole schedule as one line to the driver."""
        texts = ",".join(map(encoded, (self.setup, *self.commands)))
        return f'{{"toMember":[{texts}]}}\n'.encode()

    def lines(self) -> list[bytes]:
        """The same, a line for each command."""
        return [f'{{"toMember":{encoded(c)}}}\n'.encode() for c in (self.setup, *self.commands)]

    def outcome(self, replies: list[dict[str, Any]]) -> Transcript | LostSchedule:
        """The schedule's result, by the replies to its commands; the first one is the setup's."""
        commands = (self.setup, *self.commands)
        steps: list[Step] = []
        for number, (command, reply) in enumerate(zip(commands, replies)):
            if "failed" in reply:
                return LostSchedule(self, reply["failed"], command, number)
            if number or "refused" in reply:
                steps.append(_step(number, command, reply))
        if len(replies) < len(commands) and not (steps and steps[-1].refused):
            number = len(replies)
            return LostSchedule(
                self, "the driver answered fewer commands", commands[number], number
            )
        return Transcript(self, tuple(steps))


def _step(number: int, command: Command, reply: dict[str, Any]) -> Step:
    if "refused" in reply:
        return Step(number, command, refused=reply["refused"])
    thrown = read(reply["thrown"], Thrown) if "thrown" in reply else None
    return Step(number, command, read(reply, Look), reply.get("ready"), thrown)


written_as(Data, lambda json: json)
written_as(Timers, lambda json: json)


# -- answers, as commands


def coordinator_found(group: str = "g") -> Answer:
    """The member is told who coordinates its group."""
    found = {"key": group, "nodeId": 0, "host": "broker", "port": 9092, "errorCode": 0}
    return Answer(api="FindCoordinator", data={"coordinators": [found | {"errorMessage": None}]})


def joined(
    generation: int,
    member: str,
    leader: str,
    topics_of: Mapping[str, Iterable[str]] | None = None,
    assignor: str = "range",
    claims_of: Mapping[str, Claim] | None = None,
) -> Answer:
    """JoinGroup is answered 0. `topics_of`: what each member subscribes to, for the leader;
    `claims_of`: what it claims, if it claims anything.
    """
    claims = {
        other: {"ownedGeneration": claimed, "owned": owned}
        for other, (claimed, owned) in (claims_of or {}).items()
    }
    listed = [
        {"memberId": other, "metadata": {"topics": list(topics), **claims.get(other, {})}}
        for other, topics in (topics_of or {}).items()
    ]
    fields = {"protocolType": "consumer", "protocolName": assignor, "members": listed}
    given = {"errorCode": 0, "generationId": generation, "memberId": member, "leader": leader}
    return Answer(api="JoinGroup", data=given | fields)


def synced(assignment: Mapping[str, list[int]], assignor: str = "range") -> Answer:
    """SyncGroup is answered 0 with a share."""
    given = {"errorCode": 0, "protocolType": "consumer", "protocolName": assignor}
    return Answer(api="SyncGroup", data=given | {"assignment": dict(assignment)})


def failed(api: str, error: int, **data: object) -> Answer:
    """A request of that API is answered with an error code."""
    return Answer(api=api, data={"errorCode": error, **data})


def committed(error: int, partition: int = 0, topic: str = "t") -> Answer:
    """OffsetCommit of one partition is answered with a code."""
    told = {"partitionIndex": partition, "errorCode": error}
    return Answer(api="OffsetCommit", data={"topics": [{"name": topic, "partitions": [told]}]})
