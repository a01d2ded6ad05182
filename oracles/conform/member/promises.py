"""The promises of a member to its group and its application, checked on Kafka's member after each
row. A broken promise is a finding about the client, not about the model.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.protocol.classic.client import NOTHING
from groupcheck.oracles.conform.member.member_memory import Does, During, Input, Memory
from groupcheck.oracles.conform.member.moves import COOPERATIVE, Observations
from groupcheck.oracles.kafka.client import Look, OpenRequest
from groupcheck.oracles.kafka.values import Partitions, partitions

PROMISES = {
    "commits_processed": "A commit covers only what the application has processed.",
    "gives_up_first": "A member owns nothing when it sends JoinGroup (eager protocol).",
    "claims_what_it_owns": "JoinGroup claims what the member owns (cooperative protocol).",
    "joins_once": "No two of a member's JoinGroup and SyncGroup are in flight at once.",
    "owns_what_it_reads": "A member has positions only in partitions that it owns.",
    "leaves": (
        "A member that closes or unsubscribes sends LeaveGroup if it has an id and knows its"
        " coordinator."
    ),
    "goes_on": "An error is thrown once: an application that polls again goes on.",
    # ConsumerRebalanceListener: "throwing an exception from a callback does not affect the
    # assignment in any way", "no further retries will be attempted".
    "keeps_its_share": "A member owns its share until it joins again or leaves.",
    "assigned_in_its_generation": (
        "onPartitionsAssigned gives new partitions only to a member that is in the generation in"
        " which it got them."
    ),
    "told_once": "onPartitionsAssigned is called once for a rebalance, even if it throws.",
}


@frozen
class Finding:
    """A promise that the real member breaks."""

    promise: str
    # Distinguishes the ways in which the promise can be broken.
    kind: str


def broken(before: Memory, given: Input, seen: Observations) -> Iterator[Finding]:
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
    thrown = [t for _, _, t in seen.steps if t is not None]
    if given.does == Does.POLL and before.fenced and thrown:
        yield Finding("goes_on", f"{thrown[-1].type} in {seen.before.state}")
    if given.does == Does.CLOSE or (given.does == Does.UNSUBSCRIBE and not thrown):
        yield from _left(given, seen)
    stays = last.state == "STABLE" and not last.rejoin and given.does != Does.CLOSE
    if stays and not seen.before.owned <= last.owned:
        yield Finding("keeps_its_share", "a callback throws" if thrown else str(given.does))
    yield from _assigned(given, seen)
    again = any(c.call == "assigned" for _, look, _ in seen.steps for c in look.calls)
    eager = seen.before.protocol != COOPERATIVE  # another one owns something the first time, too
    if eager and again and before.client.owned and before.client.granted != NOTHING:
        yield Finding("told_once", "it has thrown")


def _sent(before: Look, look: Look, new: list[OpenRequest]) -> Iterator[Finding]:
    for s in new:
        if s.api == "JoinGroup":
            if _eager(s) and look.owned:
                yield Finding("gives_up_first", look.state)
            elif not _eager(s) and _claims(s) != look.owned:
                yield Finding("claims_what_it_owns", look.state)
        if s.api == "OffsetCommit":
            positions = {(t, p): at for t, p, at in before.positions}
            for topic in s.data["topics"]:
                for p in topic["partitions"]:
                    had = positions.get((topic["name"], p["partitionIndex"]), -1)
                    if p["committedOffset"] > had:
                        yield Finding("commits_processed", look.state)


def _assigned(given: Input, seen: Observations) -> Iterator[Finding]:
    """onPartitionsRevoked runs before onPartitionsAssigned. In both callbacks the application does
    the same, so what takes a member out of its generation has done so in the first one.
    """
    calls = [c for _, look, _ in seen.steps for c in look.calls]
    heard = [c.call for c in calls if c.call == "revoked" or c.partitions]
    left = seen.steps[-1][1].generation != seen.before.generation
    if heard[:2] == ["revoked", "assigned"] and left:
        yield Finding("assigned_in_its_generation", f"in onPartitionsRevoked {given.during}")


def _eager(join: OpenRequest) -> bool:
    return all(p["name"] != COOPERATIVE for p in join.data["protocols"])


def _claims(join: OpenRequest) -> Partitions:
    (protocol,) = join.data["protocols"]
    return partitions(protocol["metadata"]["owned"])


def _left(given: Input, seen: Observations) -> Iterator[Finding]:
    before = seen.before
    leaves = any(s.api == "LeaveGroup" for _, look, _ in seen.steps for s in look.sent)
    # A callback in which the member loses its coordinator, its id or its generation.
    loses = given.during in (During.OUTLASTS, During.BEATS)
    known = before.coordinator and not loses
    if before.member and known and not leaves:
        throws = ", and a callback throws" if any(t for _, _, t in seen.steps) else ""
        yield Finding("leaves", f"{before.state}{throws}")
