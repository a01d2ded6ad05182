"""Faults, each a rule with a budget: what can go wrong, and how often it may in one run."""

from __future__ import annotations

from attrs import frozen

from groupcheck.model.engine import but

CLASSIC_FAULTS = {
    "crash": "A member's process dies without a word; a new process with no id may start in its place.",
    "close": "A member closes: it revokes its partitions and sends LeaveGroup.",
    "poll_timeout": "max.poll.interval.ms passes while the application is busy: the heartbeat thread leaves, the application still holds its partitions.",
    "lose_request": "A request that is sent only once (LeaveGroup, the commit before revoking) never reaches the coordinator.",
    "lose_response": "The coordinator handles a request, but its answer is lost with the connection; the member connects again and retries.",
    "disconnect": "The connection breaks while a JoinGroup or SyncGroup is parked; the coordinator does not notice, the member connects again.",
    "delay_request": "A request is held up, the member connects anew and goes on; the request arrives later over the old connection.",
    "late_commit": "The application commits while a JoinGroup is outstanding: the commit waits behind it on the connection.",
    "append_failure": "The append of the leader's assignment to __consumer_offsets fails: who waits in SyncGroup gets 15.",
    "fail_over": "The coordinator moves to another broker: what is not in the log is forgotten, every connection breaks.",
    "session_timeout": "The coordinator hears nothing from a member (or from an id it handed out) for session.timeout.ms and removes it; the process may live: paused, it wakes as a zombie.",
    "rebalance_timeout": "The coordinator waits no longer for members that have not joined the round and removes them.",
    "sync_timeout": "The coordinator waits no longer for members that have not sent SyncGroup and removes them.",
    "new_member_timeout": "A new member waits parked for five minutes and is removed.",
}


@frozen
class Budget:
    """Faults left: `left` for each name of `names`, or `any` of all of them together (then `left` is empty)."""

    left: tuple[tuple[str, int], ...] = ()
    any: int = 0

    def allows(self, fault: str) -> bool:
        return self.any > 0 or dict(self.left).get(fault, 0) > 0

    def spend(self, fault: str) -> Budget:
        """The budget after one such fault; call it only where `allows`."""
        if self.any:
            return but(self, any=self.any - 1)
        return but(self, left=tuple((name, n - (name == fault)) for name, n in self.left if n - (name == fault)))
