"""Inputs as commands to Kafka's own member, and schedules that lead to a memory."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from groupcheck.model.protocol.classic.client import Prepare
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.messages import (
    NO_ID,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)
from groupcheck.oracles.conform.member.member_memory import (
    LOST,
    Does,
    During,
    Input,
    Memory,
    Outcome,
    answered_in_callbacks,
    callbacks,
)
from groupcheck.oracles.kafka.client import (
    Look,
    Thrown,
    committed,
    coordinator_found,
    joined,
    synced,
)
from groupcheck.oracles.kafka.client_commands import (
    Advance,
    Answer,
    Beat,
    Callback,
    Close,
    Command,
    CommitAsync,
    CommitSync,
    Disconnect,
    FetchOffsets,
    Network,
    Poll,
    Position,
    Reset,
    ResetPositions,
    Subscribe,
    Unsubscribe,
    encoded,
)
from groupcheck.oracles.kafka.reading import read
from groupcheck.oracles.kafka.schedule import LostSchedule

TOPIC, INSTANCE = "t", "i0"
EAGER, COOPERATIVE = "range", "cooperative-sticky"
SESSION_MS, POLL_MS, HEARTBEAT_MS, BACKOFF_MS = 10_000, 5_000, 30, 10
NEVER_MS = 1_000_000_000  # commits in poll are due when a row says so
API = {
    JoinGroup: "JoinGroup",
    SyncGroup: "SyncGroup",
    Heartbeat: "Heartbeat",
    LeaveGroup: "LeaveGroup",
    OffsetCommit: "OffsetCommit",
}
FOUND, POLL, NETWORK, BEAT = coordinator_found(), Poll(), Network(), Beat()
UNSUBSCRIBE = Unsubscribe()
BROKEN = (Disconnect(node="coordinator"), NETWORK)


def setup(
    partitions: int,
    autocommit: bool,
    static: bool = False,
    assignors: tuple[str, ...] = (EAGER,),
    reset: str = "earliest",
) -> Reset:
    """A fresh member whose timeouts do not disturb each other."""
    return Reset(
        assignors=assignors,
        instance=INSTANCE if static else None,
        session_ms=SESSION_MS,
        rebalance_ms=POLL_MS,
        heartbeat_ms=HEARTBEAT_MS,
        backoff_ms=BACKOFF_MS,
        backoff_max_ms=BACKOFF_MS,
        auto_commit=autocommit,
        auto_commit_ms=NEVER_MS,
        auto_reset=reset,
        topics=((TOPIC, partitions),),
    )


def setup_of(scope: Scope) -> Reset:
    """The first member of a scope, as Kafka's client is configured for it."""
    usual = (COOPERATIVE if scope.cooperative else EAGER,)
    listed = scope.lists[0] if scope.lists else usual
    reset = getattr(scope, "reset", "earliest")
    return setup(scope.partition_count, scope.autocommit, scope.static_count > 0, listed, reset)


def name_of(id: int) -> str:
    """The member id that an id of the model stands for."""
    return "" if id == NO_ID else f"c-{id}"


def move(m: Memory, given: Input, outcome: Outcome, assignor: str) -> tuple[Command, ...]:
    """The commands that carry an input out; `assignor`: the group's."""
    if given.does is None:
        request = m.flight[0].request
        lost = given.code in LOST
        return (_answer(request, given, assignor), *((NETWORK, NETWORK) if lost else (NETWORK,)))
    did = _commands(m, given, outcome)
    if given.during == During.NOTHING:
        return did
    named = dict.fromkeys(name for name, _ in callbacks(m, outcome))
    begins = tuple(_callback(name, m, given, outcome) for name in named)
    return (*begins, *did, *(Callback(on=name) for name in named))


def _callback(name: str, m: Memory, given: Input, outcome: Outcome) -> Callback:
    """The actions of the application in the callback of this name; the heartbeat thread goes on
    meanwhile.
    """
    if given.during == During.THROWS:
        return Callback(on=name, throws=True)
    if given.during == During.LASTS:
        return Callback(on=name, during=(Advance(ms=POLL_MS), BEAT, NETWORK))
    if given.during == During.OUTLASTS:
        return Callback(on=name, during=(Advance(ms=SESSION_MS), BEAT, NETWORK, NETWORK))
    if given.during == During.BEATS:
        return Callback(on=name, during=_heartbeat(name, m, given, outcome))
    if name not in dict(answered_in_callbacks(m, given, outcome)):
        return Callback(on=name, during=(CommitSync(),))
    commit = CommitSync(ms=BACKOFF_MS, waits=(committed(given.code),))
    return Callback(on=name, during=(commit,))


def _heartbeat(name: str, m: Memory, given: Input, outcome: Outcome) -> tuple[Command, ...]:
    """The heartbeat thread sends a heartbeat, unless one is under way. Its next round polls the
    network, which hands it the answer, and perhaps asks for the coordinator.
    """
    if name not in outcome.beats:
        return ()
    under_way = m.waits_for(Heartbeat) and name == outcome.beats[0]
    sends = () if under_way else (Advance(ms=HEARTBEAT_MS), BEAT, NETWORK)
    told = Answer(api=API[Heartbeat], data={"errorCode": given.code})
    return (*sends, told, NETWORK, BEAT, NETWORK)


def _commands(m: Memory, given: Input, outcome: Outcome) -> tuple[Command, ...]:
    syncs = m.client.prepare == Prepare.SYNC
    match given.does:
        case Does.POLL:
            return (POLL,) if m.known or m.fenced else (POLL, FOUND, POLL)
        case Does.SEND:
            return (NETWORK,)
        case Does.BEAT:
            return (Advance(ms=HEARTBEAT_MS), BEAT, NETWORK)
        case Does.PROCESS:
            return (Position(partition=0, offset=m.client.position + 1),)
        case Does.FETCH:
            asked = (_fetched(outcome, given), FetchOffsets()) if outcome.asks else ()
            resets = (ResetPositions(end=given.end),) if given.end >= 0 else ()
            return (FetchOffsets(), *asked, *resets)
        case Does.COMMIT:
            return (CommitAsync(),)
        case Does.BREAK:
            return BROKEN
        case Does.BREAK_POLL:
            return (NETWORK if syncs else POLL, *BROKEN)
        case Does.BREAK_COMMIT:
            return (CommitAsync(), *BROKEN)
        case Does.SILENCE:
            return (Advance(ms=SESSION_MS), BEAT, NETWORK, NETWORK)
        case Does.NO_POLL:
            return (Advance(ms=POLL_MS), BEAT, NETWORK)
        case Does.BREAK_LEAVING:
            return (Advance(ms=POLL_MS), BEAT, NETWORK, *BROKEN)
        case Does.NO_ANSWER:
            waits = (Advance(ms=POLL_MS), POLL)
            return waits if m.committing_first else (POLL, *waits)
        case Does.UNSUBSCRIBE:
            # What throws leaves the subscription as it is.
            return (UNSUBSCRIBE,) if outcome.raised else (UNSUBSCRIBE, POLL, Subscribe())
        case _:
            return (Close(),)


def _answer(request: Request, given: Input, assignor: str) -> Answer:
    api = API[type(request)]
    if isinstance(request, OffsetCommit):
        told = {"partitionIndex": 0, "errorCode": given.code}
        return Answer(api=api, data={"topics": [{"name": TOPIC, "partitions": [told]}]})
    if isinstance(request, JoinGroup) and given.code == NONE:
        me = name_of(given.id)
        if given.leads:
            claims = {me: (request.claimed, _partitions(request.owned))} if request.owned else {}
            return joined(given.generation, me, me, {me: (TOPIC,)}, assignor, claims)
        return joined(given.generation, me, "another", None, assignor)
    if isinstance(request, SyncGroup) and given.code == NONE:
        return synced(_partitions(given.share), assignor)
    data: dict[str, Any] = {"errorCode": given.code}
    if given.id != NO_ID:
        data["memberId"] = name_of(given.id)
    return Answer(api=api, data=data)


def _partitions(mask: int) -> dict[str, list[int]]:
    return {TOPIC: [p for p in range(30) if mask >> p & 1]}


def _fetched(outcome: Outcome, given: Input) -> Answer:
    """The committed offsets that the member asks for, or the error of each partition."""
    told = [
        {
            "partitionIndex": p,
            "committedOffset": (0 if p else given.offset) if outcome.found >> p & 1 else -1,
            "committedLeaderEpoch": -1,
            "metadata": "",
            "errorCode": given.code,
        }
        for p in range(30)
        if outcome.asks >> p & 1
    ]
    topics = [{"name": TOPIC, "partitions": told}]
    group = {"groupId": "g", "topics": topics, "errorCode": 0}
    return Answer(api="OffsetFetch", data={"groups": [group]})


def _text(command: Command, quiet: bool) -> str:
    text = encoded(command)
    return f'{text[:-1]},"quiet":true}}' if quiet else text


@frozen
class Standing:
    """The place to which a schedule has led: the commands since the fresh member."""

    setup: Reset
    commands: tuple[Command, ...] = ()
    # The same as the driver reads them, without looks.
    _texts: tuple[str, ...] = field(default=(), repr=False)

    def then(self, commands: tuple[Command, ...]) -> Standing:
        texts = tuple(_text(c, quiet=True) for c in commands)
        return Standing(self.setup, (*self.commands, *commands), (*self._texts, *texts))

    @property
    def texts(self) -> tuple[str, ...]:
        return self._texts


@frozen
class Observations:
    """The observations of one row: the look before it, and each of its commands with the look after
    it and what it threw.
    """

    before: Look
    steps: tuple[tuple[Command, Look, Thrown | None], ...]


@frozen
class Probe:
    """A schedule that leads to a row and executes it. Only the row is looked at, and the member as
    it is before the row.
    """

    standing: Standing
    row: tuple[Command, ...]

    @property
    def setup(self) -> Reset:
        return self.standing.setup

    @property
    def commands(self) -> tuple[Command, ...]:
        return (*self.standing.commands, *self.row)

    def _texts(self) -> list[str]:
        """The commands as the driver reads them. The last one before the row has a look, too: it
        takes the calls of earlier commands, which the looks of the row then do not tell.
        """
        led = [_text(self.setup, quiet=bool(self.standing.commands)), *self.standing.texts]
        if self.standing.commands:
            led[-1] = _text(self.standing.commands[-1], quiet=False)
        return [*led, *(_text(c, quiet=False) for c in self.row)]

    def line(self) -> bytes:
        """The whole schedule as one line to the driver."""
        return f'{{"toMember":[{",".join(self._texts())}]}}\n'.encode()

    def lines(self) -> list[bytes]:
        """The same, a line for each command."""
        return [f'{{"toMember":{text}}}\n'.encode() for text in self._texts()]

    def outcome(self, replies: list[dict[str, Any]]) -> Observations | LostSchedule:
        """The result of the probe, by the replies to its commands; the first one is the setup's."""
        every = (self.setup, *self.commands)
        for number, (command, reply) in enumerate(zip(every, replies)):
            for why in ("failed", "refused"):
                if why in reply:
                    return LostSchedule(self, reply[why], command, number)
        if len(replies) < len(every):
            return LostSchedule(self, "the driver answered fewer commands", every[len(replies)])
        k = len(self.row)
        steps = tuple(
            (c, read(r, Look), read(r["thrown"], Thrown) if "thrown" in r else None)
            for c, r in zip(self.row, replies[-k:])
        )
        return Observations(read(replies[-k - 1], Look), steps)
