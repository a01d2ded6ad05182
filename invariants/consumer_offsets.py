"""What a consumer group of KIP-848 promises about committed offsets: none is set back by a former
owner or lost, none is beyond what was processed, and an owner's commit counts.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import goal, invariant, step_invariant
from groupcheck.model.protocol.codes import NONE, STALE_MEMBER_EPOCH
from groupcheck.model.protocol.consumer import commits, offsets
from groupcheck.model.protocol.consumer.client import Client, Member
from groupcheck.model.protocol.consumer.commits import Offsets
from groupcheck.model.protocol.consumer.java_member import JavaMember
from groupcheck.model.protocol.consumer.memory import Seat
from groupcheck.model.protocol.consumer.messages import Commit, Sender, Tag
from groupcheck.model.protocol.consumer.offsets import Position
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.family import COMMITTING_MEMBERS, CONSUMER_OFFSETS


def _owns(seat: Seat | None, offsets: Offsets) -> bool:
    """Does the coordinator have the watched partition for this member?"""
    return seat is not None and bool(seat.owned & offsets.bit)


@step_invariant(
    "seat",
    "link",
    "offsets",
    rules=(commits.offset_commit.name,),
    source="KIP-1251; protocol: N9 CommitFence, N9' OwnershipAtCommit",
    broken="a member that has given the partition up sets back what its next owner has committed",
    of=CONSUMER_OFFSETS,
)
def former_owner_sets_nothing_back(before: Any, after: Any, scope: ConsumerScope) -> bool:
    """No commit from before a partition was given up sets the committed offset back.

    Why: the group would process again what its next owner has committed. Whether a member owns what
    it commits with its epoch is not asked, so of anybody only commits that were held up are judged.
    """
    commit, offsets = before.link.asked, before.offsets
    stranger = commit.sender == Sender.SIMPLE and not commit.former
    if stranger or not offsets.beyond or after.offsets.beyond:
        return True
    alone = scope.requests == "anybody"
    return not commit.former and (alone or _owns(before.seat, offsets))


@step_invariant(
    "seat",
    "link",
    "offsets",
    rules=(commits.offset_commit.name,),
    source="KIP-1251 (KAFKA-20066)",
    broken="the commit of the member that owns the partition is refused (113)",
    of=COMMITTING_MEMBERS,
)
def commit_of_owner_counts(before: Any, after: Any) -> bool:
    """No commit is refused for its epoch that comes from the member that owns the partition, and
    has owned it since before the commit was sent.

    Why: its epoch may grow between its heartbeat and the answer to that, which it cannot know. Up
    to Kafka 4.2 such a commit is refused.
    """
    refused = after.link.told.code == STALE_MEMBER_EPOCH
    return not refused or not before.link.asked.of_owner(before.seat, before.offsets.bit)


@step_invariant(
    "link",
    "offsets",
    rules=(commits.offset_commit.name,),
    source="OffsetMetadataManager.commitOffset",
    broken="a commit is acknowledged, and another offset is stored",
    of=CONSUMER_OFFSETS,
)
def acknowledged_commit_is_stored(before: Any, after: Any) -> bool:
    """A commit that is acknowledged is the committed offset; any other one changes nothing."""
    stored = after.link.told.code == NONE
    wanted = before.link.asked.beyond if stored else before.offsets.beyond
    return bool(after.offsets.beyond == wanted)


@step_invariant(
    "seat",
    "link",
    "offsets",
    rules=(commits.offset_fetch.name,),
    source="ConsumerGroup.validateOffsetFetch",
    broken="a member that is behind is told where to begin",
    of=CONSUMER_OFFSETS,
)
def fetch_needs_the_epoch(before: Any, after: Any) -> bool:
    """A member is told the committed offset only with the epoch of its record.

    Why: with an older one it may not own the partition any more, and its next owner commits.
    """
    fetch, told = before.link.asked, after.link.told
    exists = before.seat is not None and fetch.sender == Sender.MEMBER
    if told.code != NONE or not exists:
        return True
    return bool(fetch.tag == Tag.CURRENT and not before.seat.parked)


@invariant(
    of=COMMITTING_MEMBERS,
    source="KAFKA-18641; protocol: N10 NoLoss",
    broken="the committed offset is beyond a record that nobody has processed",
)
def committed_is_processed(offsets: Offsets) -> bool:
    """The committed offset is never beyond a record that no application has processed.

    Why: the next owner begins at the committed offset, and would skip that record.
    """
    return offsets.processed or not offsets.beyond


@step_invariant(
    "link",
    "reading",
    rules=(offsets.hear_of_offsets.name,),
    source="CommitRequestManager.fetchOffsets; protocol: N10 NoLoss",
    broken="a member begins somewhere else than where the group has committed",
    of=COMMITTING_MEMBERS,
)
def owner_begins_at_the_commit(before: Any, after: Any) -> bool:
    """A member begins to read where the group has committed, and nowhere while it is refused.

    Why: it would skip what was never processed, or process again what is committed.
    """
    beyond = before.link.told.beyond
    if beyond is None:
        return after.reading in (before.reading, Position.NONE)
    return bool(after.reading == Position(int(beyond)))


def _given_up(before: Client | JavaMember, after: Client | JavaMember) -> int:
    """What a member is about to give up, if it begins to take an assignment in this step."""
    if before.taking is not None or before.state != Member.RECONCILING:
        return 0
    if isinstance(after, JavaMember):
        return 0 if after.taking is None else after.taking.gone
    begins = after.taking is not None or after.state == Member.ACKNOWLEDGING
    return before.holds & ~before.target if begins else 0


@step_invariant(
    "client",
    "link",
    "reading",
    "offsets",
    source="CommitRequestManager.maybeAutoCommitSyncBeforeRebalance; protocol: N11",
    broken="a member gives the partition up and has not committed what it has processed",
    of=COMMITTING_MEMBERS,
)
def revocation_commits_first(before: Any, after: Any, scope: ConsumerScope) -> bool:
    """With enable.auto.commit, a member commits its position before it gives a partition up.

    Why: the next owner would process the records again. Whether the commit is stored is not asked.
    """
    gives_up = _given_up(before.client, after.client) & before.offsets.bit
    if not scope.auto_commit or not gives_up or before.reading == Position.NONE:
        return True
    commit = after.link.asked
    processed = before.reading == Position.BEYOND
    return isinstance(commit, Commit) and commit.beyond == processed


@goal(of=COMMITTING_MEMBERS)
def next_owner_goes_on(reading: Position, client: Client, offsets: Offsets) -> bool:
    """A member has the watched record behind it, and it is committed."""
    return reading == Position.BEYOND and offsets.beyond
