"""Commits and fetches of offsets in a streams group, by the epoch of the member and by task
(StreamsGroup.validateOffsetCommit, validateOffsetFetch), where anybody sends them.

The partition is the one that the last task reads. What is committed is not kept: any offset may be
committed, so it is known by the answer alone. Left out: transactions, expiry, a group that a simple
consumer creates with its commit.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.consumer.commits import NOT_STORED, REFUSED_COMMITS, STORED
from groupcheck.model.protocol.consumer.messages import Commit, Fetch, Sender, Tag, Told
from groupcheck.model.protocol.consumer.offsets import arriving, nobody_hears_of_offsets
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.streams.memory import StreamsCore, StreamsSeat
from groupcheck.model.protocol.streams.messages import StreamsLink
from groupcheck.model.protocol.streams.scope import StreamsScope
from groupcheck.model.protocol.streams.tasks import active


def watched(scope: StreamsScope) -> int:
    """The task whose partition is watched."""
    return scope.tasks - 1


def streams_commits(core: StreamsCore, seat: StreamsSeat | None) -> Iterator[Commit]:
    """Every commit that some client could send."""
    if core.exists:
        yield Commit(Sender.SIMPLE)
    if seat is None:
        yield Commit(tag=Tag.CURRENT)
        return
    # Previous is here the epoch before its own, whether the member has had it or not.
    for tag in (Tag.CURRENT, Tag.PREVIOUS, Tag.AHEAD):
        yield Commit(tag=tag)
    yield Commit(tag=Tag.CURRENT, unversioned=True)


@rule("request", "failing", when=lambda link: link.answer is None and link.told is None)
def anybody_commits_streams(
    core: StreamsCore, link: StreamsLink, seat: StreamsSeat | None, budget: Budget
) -> Iterator[tuple[str, StreamsCore, StreamsLink, StreamsSeat | None, Budget]]:
    """A commit arrives that some client could have sent; perhaps its append fails."""
    yield from arriving(streams_commits(core, seat), core, link, seat, budget)


@rule(when=lambda link: link.answer is None and link.told is None)
def anybody_fetches_streams(
    core: StreamsCore, link: StreamsLink, seat: StreamsSeat | None
) -> Iterator[tuple[StreamsCore, StreamsLink, StreamsSeat | None]]:
    """A fetch arrives that some client could have sent."""
    for commit in streams_commits(core, seat):
        if not commit.unversioned:
            yield core, evolve(link, asked=Fetch(commit.sender, commit.tag)), seat


def judged(core: StreamsCore, seat: StreamsSeat | None, commit: Commit, scope: StreamsScope) -> str:
    """Why a commit is refused, or which of `STORED` it is. A member with an older epoch may commit
    for a task that it had at that epoch, and still has or is giving up. With its own epoch it may
    commit for any task.
    """
    if commit.sender == Sender.SIMPLE:
        return "unknown" if core.members else "simple"
    if not core.exists:
        return "absent"
    if seat is None:
        return "unknown"
    if commit.unversioned:
        return "unversioned"
    if commit.tag == Tag.CURRENT:
        return "accepted"
    had = active(seat.owned) & ~seat.fresh & 1 << watched(scope)
    return "by_partition" if commit.tag == Tag.PREVIOUS and had else "stale"


@urgent(*REFUSED_COMMITS, *STORED, when=lambda link: isinstance(link.asked, Commit))
def streams_offset_commit(
    core: StreamsCore, seat: StreamsSeat | None, link: StreamsLink, scope: StreamsScope
) -> Iterator[tuple[str, StreamsCore, StreamsSeat | None, StreamsLink]]:
    """An OffsetCommit."""
    commit = link.asked
    assert isinstance(commit, Commit)
    label = judged(core, seat, commit, scope)
    if label in STORED and commit.fails:
        label = "failed"
    yield label, core, seat, evolve(link, asked=None, told=Told(NOT_STORED.get(label, NONE)))


@urgent(
    "absent",
    "unknown",
    "stale",
    "found",
    "simple",
    when=lambda link: isinstance(link.asked, Fetch),
)
def streams_offset_fetch(
    core: StreamsCore, seat: StreamsSeat | None, link: StreamsLink
) -> Iterator[tuple[str, StreamsCore, StreamsSeat | None, StreamsLink]]:
    """An OffsetFetch: of a member only with the epoch that its record has. A group that does not
    exist has no offset, and there is no error.
    """
    fetch = link.asked
    assert isinstance(fetch, Fetch)
    if fetch.sender == Sender.SIMPLE:
        label = "simple"
    elif not core.exists:
        label = "absent"
    elif seat is None:
        label = "unknown"
    else:
        label = "found" if fetch.tag == Tag.CURRENT else "stale"
    code = NOT_STORED[label] if label in ("unknown", "stale") else NONE
    yield label, core, seat, evolve(link, asked=None, told=Told(code))


COMMIT_REQUEST_RULES = (streams_offset_commit, streams_offset_fetch)
ANYBODY_COMMITS = (anybody_commits_streams, anybody_fetches_streams, nobody_hears_of_offsets)
