"""What is seen of a client in one run: the requests and answers on the wire, the moves of the
coordinator, and the events of its application, in the order of time.

Times are seconds since the run began, by one clock, without those in which the machine had no time
for it (`machine_time`). A request is seen when it has arrived, which may be long before it is
answered.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from groupcheck.model.assignors import Partition, Partitions
from groupcheck.oracles.judge.client import events
from groupcheck.oracles.judge.client.machine_time import MachineTime

NOTHING: Partitions = frozenset()
NO_GENERATION = -1


@frozen
class Listed:
    """A protocol that a JoinGroup lists: an assignor, and the member's subscription for it."""

    name: str
    topics: frozenset[str] = frozenset()
    owned: Partitions = NOTHING
    # What is wrong with its bytes; empty: nothing.
    wrong: str = ""


@frozen
class Asked:
    """A request has arrived. What its API has no field for keeps the default."""

    at: float
    # Counts the requests of a run, from 1.
    number: int
    node: int
    connection: int
    # As in Kafka's definitions, without `Request`.
    api: str
    version: int = 0
    member: str = ""
    generation: int = NO_GENERATION
    instance: str | None = None
    # Of a Fetch and an OffsetCommit.
    offsets: Mapping[Partition, int] = field(factory=dict)
    # Of a JoinGroup.
    protocols: tuple[Listed, ...] = ()
    session_ms: int = 0
    rebalance_ms: int = 0
    # Of a leader's SyncGroup: member -> its share; None for a share that cannot be read.
    plan: Mapping[str, Partitions | None] = field(factory=dict)
    # Of a LeaveGroup.
    members: tuple[str, ...] = ()


@frozen
class MemberSeat:
    """A member of the group as the answer to its leader's JoinGroup shows it."""

    id: str
    instance: str | None
    topics: frozenset[str]
    owned: Partitions = NOTHING


@frozen
class Told:
    """A request was answered."""

    at: float
    # The request's.
    number: int
    error: int = 0
    # Of a JoinGroup: the id, the generation, the assignor, and the members if the client leads.
    member: str = ""
    generation: int = NO_GENERATION
    protocol: str = ""
    seats: tuple[MemberSeat, ...] = ()
    # Of a SyncGroup.
    share: Partitions = NOTHING
    # Of an OffsetFetch: the committed offsets, of partitions that have one.
    offsets: Mapping[Partition, int] = field(factory=dict)
    # Of a Metadata: topic -> how many partitions it has.
    partitions: Mapping[str, int] = field(factory=dict)

    def grows(self, topics: Mapping[str, int]) -> bool:
        """Does it tell more partitions of a topic than there were?"""
        return any(many > topics.get(topic, many) for topic, many in self.partitions.items())


@frozen
class Committed:
    """Another member of the group has committed these offsets."""

    at: float
    offsets: Mapping[Partition, int]


@frozen
class Opened:
    """The client has connected to a node."""

    at: float
    node: int
    connection: int


@frozen
class Closed:
    """A connection has ended; `cut`: the coordinator's side has cut it."""

    at: float
    node: int
    connection: int
    cut: bool = False


@frozen
class Moved:
    """A move of the coordinator or of somebody beside the client; `kind` is a name in `moves`."""

    at: float
    kind: str
    words: str = ""
    # How long it lasts, such as a silence; 0: it is over at once.
    seconds: float = 0.0


@frozen
class App:
    """The application has said something."""

    at: float
    said: events.Event


@frozen
class Stopping:
    """The program was asked to close its consumer."""

    at: float


@frozen
class Ended:
    """The program has ended; no code: it was killed because it did not end."""

    at: float
    code: int | None


Event = Asked | Told | Committed | Opened | Closed | Moved | App | Stopping | Ended


@frozen
class Record:
    """One run."""

    events: tuple[Event, ...]
    # The topics, with their numbers of partitions at the beginning.
    topics: Mapping[str, int]
    # The settings that the client was asked to have.
    session_ms: int
    rebalance_ms: int
    static: bool = False
    # Of the times of events.
    clock: MachineTime = field(factory=MachineTime)
    # Events that were not kept, because there were too many.
    dropped: int = 0

    @property
    def end(self) -> float:
        """When the last event was seen."""
        return self.events[-1].at if self.events else 0.0

    @property
    def tells(self) -> bool:
        """Does the application tell anything?"""
        return any(isinstance(event, App) for event in self.events)
