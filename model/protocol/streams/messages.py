"""The heartbeats of members of streams groups, their answers, and the link of a member."""

from __future__ import annotations

from enum import IntFlag

from attrs import frozen

from groupcheck.model.protocol.consumer.messages import Answer, Link, Request


class Status(IntFlag):
    """What an answer says beside its error: 1 << code (StreamsGroupHeartbeatResponse.Status)."""

    NONE = 0
    STALE_TOPOLOGY = 1 << 0
    MISSING_SOURCE_TOPICS = 1 << 1
    INCORRECTLY_PARTITIONED_TOPICS = 1 << 2
    MISSING_INTERNAL_TOPICS = 1 << 3
    SHUTDOWN_APPLICATION = 1 << 4
    ASSIGNMENT_DELAYED = 1 << 5


@frozen
class StreamsRequest(Request):
    """A StreamsGroupHeartbeat."""

    # The epoch of the member's topology, which it sends when it joins.
    topology: int = 0
    # The application is to stop.
    shutdown: bool = False


@frozen
class StreamsAnswer(Answer):
    """The answer to one."""

    status: Status = Status.NONE


@frozen
class StreamsLink(Link):
    """A member as far as the wire knows it."""

    # The process that it runs in. It never changes.
    process: int = 0
    # The tasks that the last target had for this member id, which was removed since.
    recalled: int = 0
    # Inside a step: its request has made the group.
    creates: bool = False

    def successor(self) -> StreamsLink:
        """The link of the member that takes its place."""
        return StreamsLink(dead=True, process=self.process)


def asks_to_stop(link: Link) -> bool:
    """Does the request that is handled ask that the application stops?"""
    return isinstance(link.request, StreamsRequest) and link.request.shutdown
