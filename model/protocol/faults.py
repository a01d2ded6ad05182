"""Faults, each a rule with a budget: what can go wrong, and how often it may in one run.

`--any-faults N` is one counter: any N of all faults, and the same one as often as N times. That
covers more than "each at most once" and has fewer states, because two runs meet again if they
differ only in which faults brought them to the same place.
"""

from __future__ import annotations

from attrs import frozen

CLASSIC_FAULTS = {
    "crash": (
        "A member's process dies without a word; a new process with no id may start in its place."
    ),
    "close": "A member closes: it revokes its partitions and sends LeaveGroup.",
    "poll_timeout": (
        "max.poll.interval.ms passes while the application is busy: the heartbeat thread leaves,"
        " the application still holds its partitions."
    ),
    "lose_request": (
        "A request that is sent only once (LeaveGroup, SyncGroup, the commit before revoking) never"
        " reaches the coordinator."
    ),
    "lose_response": (
        "The coordinator handles a request, but its answer is lost with the connection; the member"
        " connects again and retries."
    ),
    "disconnect": (
        "The connection breaks while a JoinGroup or SyncGroup is parked; the coordinator does not"
        " notice, the member connects again."
    ),
    "delay_request": (
        "A request is delayed, and the member goes on over a new connection; the request arrives"
        " later over the old one."
    ),
    "late_commit": (
        "The application commits while a JoinGroup is outstanding: the commit waits behind it on"
        " the connection."
    ),
    "append_failure": (
        "The append of the leader's assignment to __consumer_offsets fails: members that wait in"
        " SyncGroup get error 15."
    ),
    "fail_over": (
        "The coordinator moves to another broker: what is not in the log is forgotten, every"
        " connection breaks."
    ),
    "session_timeout": (
        "The coordinator hears nothing from a member, or from an id that it handed out, for"
        " session.timeout.ms and removes it. A process that was only paused wakes as a zombie."
    ),
    "rebalance_timeout": (
        "The coordinator stops waiting for members that have not joined the round, and removes"
        " them."
    ),
    "sync_timeout": (
        "The coordinator stops waiting for members that have not sent SyncGroup, and removes them."
    ),
    "new_member_timeout": "A new member whose JoinGroup is parked for five minutes is removed.",
}


# Faults that only a check with --progress has: without one of them a member that does nothing more
# is bound to nothing.
PROGRESS_FAULTS = {
    "hang": (
        "The application stops polling for good, while the heartbeat thread goes on (only with"
        " --progress)."
    ),
}


# Fault -> the outcomes each of which always spends one of it. In a scope in which a fault can be
# spent, at least one of these fires.
SPENT_BY = {
    "crash": ("crash",),
    "close": ("close:heard", "close:behind", "close:unheard"),
    "poll_timeout": ("poll_timeout:heard", "poll_timeout:unheard"),
    "lose_request": ("lose_request:commit", "lose_request:sync", "poll_timeout:unheard"),
    "lose_response": ("lose_response",),
    "disconnect": ("disconnect",),
    "delay_request": ("delay_request",),
    "late_commit": ("late_commit",),
    "append_failure": ("append_failed",),
    "fail_over": ("fail_over", "fail_over:resigned", "fail_over:regained", "fail_over:unnoticed"),
    "session_timeout": ("session_timeout:member", "session_timeout:pending"),
    "rebalance_timeout": ("rebalance_timeout:missing",),
    "sync_timeout": ("sync_timeout",),
    "new_member_timeout": ("new_member_timeout",),
}


REMEMBERED = (
    "fail_over",
    "sync_timeout",
    "new_member_timeout",
)  # what the coordinator remembers only for the sake of these


@frozen
class Budget:
    """Faults left."""

    # How often each may still happen; empty if `any` counts.
    left: tuple[tuple[str, int], ...] = ()
    # How many of all faults together may still happen.
    any: int = 0
    # The last fault of its kind has just been spent in this step: what only it could have read is
    # to be forgotten. False between steps.
    closing: bool = False
    # Faults that are not part of the protocol: `any` does not count them.
    lacks: tuple[str, ...] = ()

    def allows(self, fault: str) -> bool:
        if self.any:
            return fault not in self.lacks
        return dict(self.left).get(fault, 0) > 0

    def spend(self, fault: str) -> Budget:
        """The budget after one such fault; call it only where `allows`."""
        if self.any:
            return Budget(any=self.any - 1, closing=self.any == 1, lacks=self.lacks)
        left = tuple((name, n - (name == fault)) for name, n in self.left if n - (name == fault))
        return Budget(
            left, closing=self.closing or (fault in REMEMBERED and fault not in dict(left))
        )
