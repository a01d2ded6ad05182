"""The data that requests of this protocol carry beyond Kafka's: the partitions of the member."""

from __future__ import annotations

from attrs import frozen

from groupcheck.model.protocol.messages import Heartbeat, OffsetCommit


@frozen
class Report(Heartbeat):
    """The heartbeat of a new client. An old one sends a plain `Heartbeat`."""

    # The partitions that the member owns, as a bit mask.
    owned: int = 0


@frozen
class Commit(OffsetCommit):
    """A commit of all partitions of the member. What the offset is makes no difference."""

    # The partitions, as a bit mask.
    owned: int = 0
