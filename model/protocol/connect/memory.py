"""The facts that the leader remembers from one plan to the next, in memory alone (protocol.md 4;
Kafka: the fields of IncrementalCooperativeAssignor).

There is one such memory in the model: that of the worker that led last (`Worker.led`). A worker
that leads again after another one did begins anew. In Kafka it finds its old memory; but what it
believed to be assigned is void then, too, because its last plan is not of the generation that it
completed last. What is left out is that it may find an old delay, old candidates, or that it
revoked in its last plan.

The memory is one slot. Whom it remembers is marked at the seats, so no state names an index and
symmetry applies. The delay is one field of it, and `delay_over` is the one step of time.
"""

from __future__ import annotations

from enum import IntEnum

from attrs import frozen


class Schedule(IntEnum):
    """The delayed round of the leader (scheduledRebalance), against its clock."""

    # 0: none is scheduled.
    NONE = 0
    # now < scheduledRebalance
    RUNNING = 1
    # now >= scheduledRebalance
    OVER = 2

    __hash__ = int.__hash__


@frozen
class Memory:
    """The memory of the worker that led last."""

    # What it believes to be assigned, lost work included, as a bit mask (previousAssignment).
    previous: int = 0
    # What its last plan revoked, as a bit mask (previousRevocation).
    revoked: int = 0
    # How many workers its last plan counted (previousMembers). Which ones: those whose seats have
    # a `Told`.
    members: int = 0
    schedule: Schedule = Schedule.NONE
    # Its last plan revoked for balance (revokedInPrevious). How many in a row did so
    # (numSuccessiveRevokingRebalances) only says how long the back-off takes.
    balanced: bool = False
