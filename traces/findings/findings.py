"""Findings about a group beyond its rebalances, as plain values: the harm that its users felt, who
was slow, dead or refused, and the settings that lines tell. A diagnosis is built on them.

Times are ms since 1970 by the clock of the log. Lists are bounded; the first are kept.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

from attrs import Factory, frozen

from groupcheck.traces.exchanges.owners import TwoOwners
from groupcheck.traces.exchanges.request_facts import Rewind
from groupcheck.traces.findings.mass_expiry import MassExpiry
from groupcheck.traces.findings.short_consumers import ShortConsumers
from groupcheck.traces.story.events import RebalanceCause

FOUND_KEPT = 1000

SESSION = "session.timeout.ms"
REBALANCE = "rebalance.timeout.ms"
HEARTBEAT = "heartbeat.interval.ms"
INITIAL_DELAY = "group.initial.rebalance.delay.ms"
"""Settings. A consumer's rebalance timeout is its max.poll.interval.ms."""


@frozen
class Window:
    """A stretch of time."""

    # None if the log has no times.
    since: int | None
    until: int | None
    # The line that shows its beginning.
    line: int
    # It had not ended when the log ended.
    open: bool = False

    @property
    def ms(self) -> int | None:
        """How long it is; None without times."""
        if self.since is None or self.until is None:
            return None
        return max(self.until - self.since, 0)


@frozen
class Empty:
    """The group had no members."""

    window: Window
    # The last members, and how they went: left, expired, not_rejoined, not_synced or ``.
    last: tuple[str, ...]
    how: str
    # They left by themselves, and not because they did not poll in time.
    by_choice: bool
    # The generation without members; None if no line names it.
    generation: int | None = None


@frozen
class UnownedPartition:
    """A partition without an owner."""

    partition: str
    window: Window
    # Why the rebalance began that took it away; None if no rebalance is shown.
    cause: RebalanceCause | None
    # The clients that owned it before and after; empty if it is not known.
    before: str
    after: str


@frozen
class Jump:
    """An accepted commit far ahead of the partition's own pace: records may have been skipped."""

    partition: str
    by: str
    committed: int
    was: int
    time: int
    line: int


@frozen
class RefusedRequests:
    """Answers with one error code to one API, or lines that tell of it."""

    # full, twin, unreleased, no_common_protocol, expired, old_generation, rebalancing, moved,
    # unavailable, loading, bad_session_timeout, not_authorized, stale_epoch, fenced_epoch or other.
    what: str
    # Empty in a coordinator's log.
    api: str
    code: int | None
    # Kafka's name of the code.
    name: str
    count: int
    clients: Counter[str]
    window: Window
    # The first of them, in words.
    evidence: str


@frozen
class OpenRebalance:
    """The log ends in a rebalance."""

    window: Window
    # It waits for JoinGroups, or for the leader's SyncGroup.
    phase: Literal["join", "sync"]
    # The members that it waits for, as far as that is known.
    waits_for: tuple[str, ...] = ()


@frozen
class StalledMember:
    """A member that stood still."""

    member: str
    client: str
    window: Window
    # Its JoinGroup waited for others; it sent nothing; others waited for it.
    why: Literal["parked", "silent", "awaited"]


@frozen
class RoundsBy:
    """The rebalances with one cause."""

    cause: RebalanceCause
    count: int
    # How many of them each client caused.
    clients: Counter[str]
    # The median time from one to the next; None if there is only one, or without times.
    period_ms: int | None
    # The reasons that clients gave.
    reasons: Counter[str]
    # Where the first begins.
    line: int


@frozen
class Restart:
    """The coordinator was away: it stopped, moved or loaded."""

    window: Window
    what: Literal["restart", "moved"]
    # resumed (no rebalance within a minute), rebalanced, from_zero (the group's state was lost), or
    # nothing (no line of the group follows).
    followed: Literal["resumed", "rebalanced", "from_zero", "nothing"]
    # The first generation that is named after it.
    generation: int | None


@frozen
class Setting:
    """A setting that lines tell."""

    name: str
    value_ms: int
    # It was measured from times, and is not written in a request or line.
    measured: bool
    clients: tuple[str, ...]
    line: int = 0


@frozen
class Conflict:
    """Settings that cannot work together."""

    kind: Literal[
        "session_below_heartbeat", "session_below_three_heartbeats", "rebalance_below_session"
    ]
    text: str
    settings: tuple[Setting, ...]


@frozen
class Absence:
    """A member that did not do what the group waited for."""

    member: str
    client: str
    window: Window
    # slow: its heartbeats went on, or it said that it was not polled; dead: nothing came any more;
    # frozen: it was silent for longer than its session and came back with its old id.
    kind: Literal["slow", "dead", "frozen"]


@frozen
class ClientReason:
    """A reason that clients gave in LeaveGroup or JoinGroup (KIP-800)."""

    kind: Literal["poll_timeout", "closed", "unsubscribed", "rejoin", "other"]
    text: str
    count: int
    members: tuple[str, ...]
    line: int


@frozen
class Findings:
    """The findings about one group."""

    empty: tuple[Empty, ...] = ()
    # The longest first. Only a request log tells who owns which partition.
    unowned: tuple[UnownedPartition, ...] = ()
    # From the beginning of a rebalance to the leader's assignment.
    not_stable: tuple[Window, ...] = ()
    two_owners: tuple[TwoOwners, ...] = ()
    # Records that were read again: `was` - `committed` of each.
    went_back: tuple[Rewind, ...] = ()
    jumped: tuple[Jump, ...] = ()
    refusals: tuple[RefusedRequests, ...] = ()
    unsettled: OpenRebalance | None = None
    standing: tuple[StalledMember, ...] = ()
    # The most frequent cause first.
    rounds: tuple[RoundsBy, ...] = ()
    died_together: tuple[MassExpiry, ...] = ()
    restarts: tuple[Restart, ...] = ()
    settings: tuple[Setting, ...] = ()
    conflicts: tuple[Conflict, ...] = Factory(tuple)
    absences: tuple[Absence, ...] = ()
    reasons: tuple[ClientReason, ...] = ()
    lives: ShortConsumers | None = None

    @property
    def commits_refused(self) -> tuple[RefusedRequests, ...]:
        """The refusals of OffsetCommit."""
        return tuple(r for r in self.refusals if r.api == "OFFSET_COMMIT")
