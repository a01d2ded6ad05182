"""The types of what a log shows of a group beyond its rebalances, in the document of `replay`."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import field, frozen

from groupcheck.oracles.show.json_schemas import BESIDE, Count, Positive


@frozen(kw_only=True)
class Span:
    """A span of time in a log."""

    since: Annotated[str | None, "When it began; null if the log has no times."]
    until: Annotated[
        str | None, "When it ended, or the last time in the log; null if the log has no times."
    ]
    ms: Annotated[Count | None, "How long it was; null if the log has no times."]
    line: Annotated[Count, "The line that shows its beginning."]
    open: Annotated[bool, "The log ends before it does."]


@frozen(kw_only=True)
class MemberlessSpan:
    """One of them."""

    span: Span = field(metadata=BESIDE)
    last_members: Annotated[list[str], "The last members."]
    how: Annotated[
        str | None,
        "How they went: left, expired, not_rejoined or not_synced; null if the log does not tell.",
    ]


@frozen(kw_only=True)
class OwnerlessSpan:
    """One of them."""

    span: Span = field(metadata=BESIDE)
    partition: Annotated[str, "The partition."]
    rebalance_cause: Annotated[
        str | None, "Why the rebalance began that took it away; null if the log does not tell."
    ]
    before: Annotated[str | None, "The client that owned it before; null if it is not known."]
    after: Annotated[str | None, "The client that owned it afterwards; null if it is not known."]


@frozen(kw_only=True)
class TwoOwnersSpan:
    """One of them."""

    partition: Annotated[str, "The partition."]
    earlier: Annotated[str, "The client that owned it first."]
    later: Annotated[str, "The client that owned it as well."]
    since: Annotated[str, "When it began."]
    until: Annotated[str, "When it ended."]
    ms: Annotated[Count, "How long it was."]
    shown_by: Annotated[str, "The API of the request by which the earlier owner showed its belief."]


@frozen(kw_only=True)
class MovedPosition:
    """One of them."""

    partition: Annotated[str, "The partition."]
    by: Annotated[str, "The client that committed."]
    was: Annotated[int, "The offset that was committed before."]
    committed: Annotated[int, "The offset that was committed now."]
    time: Annotated[str, "When."]
    line: Annotated[Count, "The line."]


@frozen(kw_only=True)
class Refusal:
    """Those with one code to one API."""

    span: Span = field(metadata=BESIDE)
    what: Annotated[str, "Their kind, such as expired, old_generation, full, twin or moved."]
    api: Annotated[str | None, "The API; null in a coordinator's log."]
    code: Annotated[int | None, "The error code; null if the log does not tell."]
    error: Annotated[str | None, "Kafka's name of the code; null if the log does not tell."]
    count: Annotated[Positive, "How many there are."]
    clients: Annotated[dict[str, Positive], "Client -> how many it got."]
    text: Annotated[str, "The first of them, in words."]


@frozen(kw_only=True)
class Unsettled:
    """The rebalance."""

    span: Span = field(metadata=BESIDE)
    phase: Annotated[
        Literal["join", "sync"], "It waits for JoinGroups, or for the leader's SyncGroup."
    ]
    waits_for: Annotated[list[str], "The members that it waits for, as far as the log tells."]


@frozen(kw_only=True)
class Standstill:
    """One of them."""

    span: Span = field(metadata=BESIDE)
    member: Annotated[str, "The member id."]
    client: Annotated[str, "Its client id."]
    why: Annotated[
        Literal["parked", "silent", "awaited"],
        "Its JoinGroup waited for others; it sent nothing; others waited for it.",
    ]


@frozen(kw_only=True)
class Absence:
    """One of them."""

    span: Span = field(metadata=BESIDE)
    member: Annotated[str, "The member id."]
    client: Annotated[str, "Its client id."]
    kind: Annotated[
        Literal["slow", "dead", "frozen"],
        "slow: it was alive; dead: nothing came any more; frozen: it was silent and came back"
        " with its old id.",
    ]


@frozen(kw_only=True)
class JointDeath:
    """Some of them."""

    members: Annotated[list[str], "The first of their ids."]
    count: Annotated[Positive, "How many they are."]
    since: Annotated[str | None, "When the first expired; null if the log has no times."]
    until: Annotated[str | None, "When the last expired; null if the log has no times."]
    line: Annotated[Count, "The line of the first."]
    after_ms: Annotated[
        Count | None,
        "From their last sign of life to the first expiry; null if the log does not tell.",
    ]
    ghosts: Annotated[bool, "They are ids that nobody used."]


@frozen(kw_only=True)
class CauseCount:
    """Those of one cause."""

    cause: Annotated[str, "The cause."]
    count: Annotated[Positive, "How many there are."]
    clients: Annotated[dict[str, Positive], "Client -> how many it caused."]
    period_ms: Annotated[
        Count | None, "The median time from one to the next; null if there is only one."
    ]
    reasons: Annotated[dict[str, Positive], "Reason that clients gave -> how often."]
    line: Annotated[Count, "Where the first begins."]


@frozen(kw_only=True)
class ClientReason:
    """One of them."""

    kind: Annotated[
        Literal["poll_timeout", "closed", "unsubscribed", "rejoin", "other"], "Its kind."
    ]
    text: Annotated[str, "The reason."]
    count: Annotated[Positive, "How often it was given."]
    members: Annotated[list[str], "The members that gave it."]
    line: Annotated[Count, "Where it stands first."]


@frozen(kw_only=True)
class CoordinatorAbsence:
    """One of them."""

    span: Span = field(metadata=BESIDE)
    what: Annotated[Literal["restart", "moved"], "What happened."]
    followed: Annotated[
        Literal["resumed", "rebalanced", "from_zero", "nothing"],
        "resumed: no rebalance within a minute; from_zero: the group's state was lost; nothing:"
        " no line of the group follows.",
    ]
    generation: Annotated[
        Count | None, "The first generation that is named after it; null if none is."
    ]


@frozen(kw_only=True)
class Setting:
    """One of them."""

    name: Annotated[str, "The name in the client's configuration."]
    value_ms: Annotated[int, "Its value in ms."]
    measured: Annotated[bool, "It was measured from times, and is not written in a line."]
    clients: Annotated[list[str], "The clients that have it."]
    line: Annotated[Count, "The line that tells it; 0 if it was measured."]


@frozen(kw_only=True)
class Conflict:
    """One conflict."""

    kind: Annotated[
        Literal[
            "session_below_heartbeat", "session_below_three_heartbeats", "rebalance_below_session"
        ],
        "Which settings clash.",
    ]
    text: Annotated[str, "The conflict in words."]
    settings: Annotated[list[str], "The names of the settings."]


@frozen(kw_only=True)
class Findings:
    """What the log shows beyond the rebalances: harm, refusals, absences and settings. Lists are
    bounded; the first are kept.
    """

    harm: Annotated[
        list[str], "What the application and its records suffered, one sentence for each kind."
    ]
    without_members: Annotated[list[MemberlessSpan], "Times at which the group had no members."]
    without_owner: Annotated[
        list[OwnerlessSpan],
        "Partitions without an owner, the longest first. Only a request log tells.",
    ]
    not_stable: Annotated[
        list[Span], "Times from the beginning of a rebalance to the leader's assignment."
    ]
    two_owners: Annotated[
        list[TwoOwnersSpan], "Times at which two members believed that they owned one partition."
    ]
    went_back: Annotated[
        list[MovedPosition],
        "Commits below an offset that had been committed: records are read again.",
    ]
    jumped_ahead: Annotated[
        list[MovedPosition],
        "Commits far ahead of the partition's own pace: records may be skipped.",
    ]
    refusals: Annotated[list[Refusal], "Answers with an error code, or lines that tell of them."]
    unsettled: Annotated[
        Unsettled | None, "The rebalance with which the log ends; null if it ends without."
    ]
    stood_still: Annotated[list[Standstill], "Members that stood still."]
    absences: Annotated[list[Absence], "Members that did not do what the group waited for."]
    died_together: Annotated[list[JointDeath], "Members that expired within seconds."]
    rebalances_by_cause: Annotated[
        list[CauseCount], "The rebalances of each cause, the most frequent first."
    ]
    client_reasons: Annotated[
        list[ClientReason], "Reasons that clients gave in LeaveGroup or JoinGroup (KIP-800)."
    ]
    coordinator_away: Annotated[
        list[CoordinatorAbsence], "Times at which the coordinator stopped, moved or loaded."
    ]
    settings: Annotated[list[Setting], "Settings that lines tell."]
    conflicts: Annotated[list[Conflict], "Settings that cannot work together."]
