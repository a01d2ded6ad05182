"""What a member promises its group and its application, checked on Kafka's member after each row. A
broken promise is a finding about the client, not about the model.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.oracles.conform.member.moves import Seen
from groupcheck.oracles.conform.member.parts import Does, Input, Memory
from groupcheck.oracles.kafka.client import Look, Sent

PROMISES = {
    "commits_processed": "A commit covers only what the application has processed.",
    "gives_up_first": "A member owns nothing when it sends JoinGroup (eager protocol).",
    "joins_once": "No two of a member's JoinGroup and SyncGroup are in flight at once.",
    "owns_what_it_reads": "A member has positions only in partitions that it owns.",
    "leaves": "A member that closes, has an id and knows its coordinator sends LeaveGroup.",
    "goes_on": "An error is thrown once: an application that polls again goes on.",
}


@frozen
class Finding:
    """A promise that the real member breaks."""

    promise: str
    # Distinguishes the ways in which the promise can be broken.
    kind: str


def broken(before: Memory, given: Input, seen: Seen) -> Iterator[Finding]:
    """The promises that are broken in a row."""
    known = {s.n for s in seen.before.sent}
    last = seen.before
    for _, look, _ in seen.steps:
        new = [s for s in look.sent if s.n not in known]
        known |= {s.n for s in new}
        yield from _sent(last, look, new)
        joins = [s for s in look.sent if s.api in ("JoinGroup", "SyncGroup")]
        if len(joins) > 1:
            yield Finding("joins_once", " and ".join(s.api for s in joins))
        if not {(t, p) for t, p, _ in look.positions} <= look.owned:
            yield Finding("owns_what_it_reads", look.state)
        last = look
    if given.does == Does.CLOSE:
        yield from _closed(seen)
    thrown = [t for _, _, t in seen.steps if t is not None]
    if given.does == Does.POLL and before.fenced and thrown:
        yield Finding("goes_on", f"{thrown[-1].type} in {seen.before.state}")


def _sent(before: Look, look: Look, new: list[Sent]) -> Iterator[Finding]:
    for s in new:
        if s.api == "JoinGroup" and look.owned:
            yield Finding("gives_up_first", look.state)
        if s.api == "OffsetCommit":
            positions = {(t, p): at for t, p, at in before.positions}
            for topic in s.data["topics"]:
                for p in topic["partitions"]:
                    had = positions.get((topic["name"], p["partitionIndex"]), -1)
                    if p["committedOffset"] > had:
                        yield Finding("commits_processed", look.state)


def _closed(seen: Seen) -> Iterator[Finding]:
    before = seen.before
    leaves = any(s.api == "LeaveGroup" for _, look, _ in seen.steps for s in look.sent)
    if before.member and before.coordinator and not leaves:
        yield Finding("leaves", before.state)
