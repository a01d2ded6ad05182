"""What logs of clients tell of members, as the document that `replay --json` prints has it."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.show.json_schemas import ABSENT, Also, Count


def clock(what: str) -> str:
    """The description of a time."""
    return (
        f"{what}, as `2024-10-25 17:25:16.582`, of the clock that wrote the line; null if the log"
        " does not tell."
    )


@frozen(kw_only=True)
class ClientRound:
    """One rebalance as one member saw it, by its client's log."""

    client: Annotated[str, "The client."]
    member: Annotated[str | None, "Its member id; null if its log does not tell."]
    file: Annotated[str, "Its log."]
    why: Annotated[str, "Why it joined again, in its own words; empty if it does not say."]
    asked: Annotated[str | None, clock("When it sent JoinGroup, or began to reconcile")]
    asked_line: Annotated[Count | None, "The line; null if its log does not show it."]
    joined: Annotated[str | None, clock("When it was told the generation or epoch")]
    joined_line: Annotated[Count | None, "The line; null if its log does not show it."]
    synced: Annotated[str | None, clock("When it had its share")]
    synced_line: Annotated[Count | None, "The line; null if its log does not show it."]
    duration_ms: Annotated[
        int | None, "From the first of these to its share, in milliseconds; null if not known."
    ]


@frozen(kw_only=True)
class Handover:
    """Partitions that a rebalance of a consumer group (KIP-848) takes from one member and gives to
    another.
    """

    partitions: Annotated[
        list[str], "The partitions, as `orders-3`; with the topic's id in logs that have no names."
    ]
    source: Annotated[str, "The member that had them."]
    heir: Annotated[
        str | None, "The member that is to have them; null if none is, or the log does not tell."
    ]
    since: Annotated[
        str | None,
        clock("When the target assignment took them away, or else when the member was told"),
    ]
    since_line: Annotated[Count | None, "The line; null if several logs tell it."]
    told_after_ms: Annotated[
        int | None, "After how long the member was told to give them up; null if not shown."
    ]
    held_ms: Annotated[
        int | None, "How long it held them back; null if it did not give them up, or not shown."
    ]
    released_by: Annotated[
        str | None,
        Also(
            enum=[
                "acknowledged",
                "left",
                "expired",
                "fenced",
                "not_synced",
                "gone",
                "kept",
                "unseen",
                None,
            ]
        ),
        "How it gave them up: by a heartbeat, or because it went. `kept`: a later target"
        " assignment left them with it, or gave them back. `unseen`: lines are missing.",
    ]
    taken_after_ms: Annotated[
        int | None, "After how long the other member was given them; null if it was not."
    ]
    waits: Annotated[bool, "They are still on their way when the log ends."]


@frozen(kw_only=True)
class Ownership:
    """A partition that a member held, by its client's log."""

    partition: Annotated[str, "The partition, as `orders-3`."]
    generation: Annotated[
        int | None, "The generation or epoch in which it got it; null if its log does not tell."
    ]
    from_: Annotated[str, clock("When it got it")]
    until: Annotated[str, clock("When it gave it up, or the log ends")]
    how: Annotated[Literal["revoked", "lost", "end of log"], "What ended it."]


@frozen(kw_only=True)
class StandingStep:
    """A step in which a member stands when its client's log ends."""

    state: Annotated[str, "The state, by the library's or groupcheck's name."]
    waits_for: Annotated[str, "What it waits for."]
    ends: Annotated[str, "What ends it."]
    since: Annotated[str | None, clock("When it began")]
    since_line: Annotated[Count, "The line with which it began."]
    lasted_ms: Annotated[int | None, "How long the log goes on; null without timestamps."]
    within_ms: Annotated[Count | None, "How long it may last; null if that is not known."]
    setting: Annotated[str, "The setting that says so."]
    late: Annotated[bool, "It has lasted longer."]


@frozen(kw_only=True)
class ClientLife:
    """What the log of its client tells about a member; absent without such a log."""

    file: Annotated[str, "The log."] = ABSENT
    generations_seen: Annotated[list[int], "The generations or epochs that it was told."] = ABSENT
    owned: Annotated[list[Ownership], "What it owned, in order."] = ABSENT
    still_ms: Annotated[
        Count, "How long it was a member and owned nothing, after it had owned something."
    ] = ABSENT
    commits: Annotated[Count, "Commits."] = ABSENT
    commits_refused: Annotated[Count, "Commits that were refused."] = ABSENT
    standing: Annotated[
        StandingStep | None, "Where it stands when its log ends; null if it waits for nothing."
    ] = ABSENT
