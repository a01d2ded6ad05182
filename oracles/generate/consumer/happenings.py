"""What happens to a consumer group at its coordinator, as a broker's log and the truth tell it.

Members are given by the numbers of their ids among all of a run, epochs as numbers of the run,
partitions as bit masks.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from groupcheck.model.protocol.consumer.memory import State
from groupcheck.model.protocol.consumer.messages import Request
from groupcheck.oracles.generate.run import Committed


@frozen
class Joined:
    """A member is new."""

    member: int
    # Its process if that has a group.instance.id.
    instance: int | None
    # The topics that there are are new to the group.
    refreshed: bool
    # Before it the group had no members.
    first: bool
    # It subscribes by a regular expression.
    regex: bool = False


@frozen
class Resolved:
    """The group's regular expression is resolved for the first time."""

    member: int
    # Nobody has subscribed to its topics by name.
    new: bool


@frozen
class Replaced:
    """A static member has come back under another id."""

    member: int
    former: int
    instance: int


@frozen
class Refused:
    """A static member is turned away, since another one has its group.instance.id."""

    member: int
    owner: int
    instance: int
    # It is a heartbeat of a member that was replaced (82), no join (111).
    fenced: bool


@frozen
class Refreshed:
    """The group learns of a partition that is new."""

    member: int


@frozen
class Went:
    """A member is no member any more, or a static one is away."""

    member: int
    # left, away, session_expired, rebalance_timeout
    how: str
    epoch: int
    instance: int | None = None
    # It was the last one.
    last: bool = False


@frozen
class Bumped:
    """The group has another epoch."""

    epoch: int


@frozen
class Planned:
    """There is a target assignment for an epoch."""

    epoch: int
    shares: Mapping[int, int]


@frozen
class Reconciled:
    """The coordinator wrote another record of a member."""

    member: int
    epoch: int
    previous: int
    state: State
    # Partition -> the epoch at which the member was given it.
    assigned: Mapping[int, int]
    revoking: Mapping[int, int]


@frozen
class Moved:
    """Another broker is the coordinator now."""

    epoch: int
    members: tuple[int, ...]


@frozen
class Answered:
    """A heartbeat is answered."""

    process: int
    member: int
    request: Request
    # The epoch in it.
    epoch: int
    code: int
    # The epoch and the assignment in the answer.
    to_epoch: int
    assigned: int | None
    # Its process waits for it, and hears it.
    heard: bool


@frozen
class Fetched:
    """An OffsetFetch is answered."""

    process: int
    # None: the request names no member.
    member: int | None
    epoch: int
    # Partition -> what is committed; in an answer that is an error, what was asked for.
    offsets: Mapping[int, int]
    code: int


@frozen
class Lost:
    """Records could not be appended: what was done before them did not happen."""

    # The timer that wrote them; None: a request.
    timer: str | None = None
    member: int = -1


Happening = (
    Joined
    | Replaced
    | Refused
    | Refreshed
    | Went
    | Bumped
    | Planned
    | Reconciled
    | Moved
    | Answered
    | Committed
    | Fetched
    | Lost
    | Resolved
)
