"""Rules about committed offsets."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping

from groupcheck.model.assignors import Partition, Partitions
from groupcheck.oracles.judge.client.events import Delivered
from groupcheck.oracles.judge.client.knowledge import EVENTS_GRACE_S, GRACE_S, Knowledge
from groupcheck.oracles.judge.client.record import (
    NO_GENERATION,
    NOTHING,
    App,
    Asked,
    Committed,
    Told,
)
from groupcheck.oracles.judge.client.rules.rule import Case, KnownRun, named


def commits_its_share(run: KnownRun) -> Iterator[Case]:
    """A commit that carries a generation proves that the client knows it, so there is no grace. A
    cooperative member may still commit what it gives up in this generation, because nobody else
    gets it before the next one.
    """
    shares = _shares(run)
    for event, now in run.events:
        if not isinstance(event, Asked) or event.api != "OffsetCommit":
            continue
        share = shares.get(event.generation)
        if share is None or not event.member:
            continue
        # A share of an earlier one, which it has until it learns of the next one.
        allowed = share | (now.share_before | (now.share or NOTHING) if now.cooperative else set())
        extra = event.offsets.keys() - allowed
        yield Case(
            event.at,
            f"it commits {named(extra)} in generation {event.generation}, in which it was given"
            f" {named(share)}"
            if extra
            else "",
        )


def _shares(run: KnownRun) -> dict[int, Partitions]:
    """Generation -> the share that the client was told in it."""
    requests: dict[int, int] = {}
    shares: dict[int, Partitions] = {}
    for event, _ in run.events:
        if isinstance(event, Asked) and event.api == "SyncGroup":
            requests[event.number] = event.generation
        elif isinstance(event, Told) and event.number in requests and not event.error:
            shares[requests[event.number]] = event.share
    return shares


def commits_with_its_generation(run: KnownRun) -> Iterator[Case]:
    for event, now in run.events:
        if not isinstance(event, Asked) or event.api != "OffsetCommit" or event.generation < 0:
            continue
        broken = ""
        late = event.at - now.generation_at
        if event.generation < now.generation and late > GRACE_S:
            broken = (
                f"it commits in generation {event.generation}, {late:.1f} s after it was told"
                f" generation {now.generation}"
            )
        elif now.lost is not None and event.generation == now.generation:
            late = event.at - now.lost.at
            if late > GRACE_S:
                broken = (
                    f"it commits in generation {event.generation}, {late:.1f} s after it was"
                    f" answered {now.lost.words}"
                )
        yield Case(event.at, broken)


def never_commits_from_outside(run: KnownRun) -> Iterator[Case]:
    for event, now in run.events:
        if isinstance(event, Asked) and event.api == "OffsetCommit" and now.has_joined:
            outside = event.generation == NO_GENERATION or not event.member
            yield Case(
                event.at,
                f"it commits {named({*event.offsets})} with generation {event.generation} and"
                f" member id {event.member!r}, as one that is in no group"
                if outside
                else "",
            )


def commits_what_was_delivered(run: KnownRun) -> Iterator[Case]:
    """The events of a commit's records may come a little later than the commit."""
    begun: dict[Partition, int] = {}
    reached: dict[Partition, int] = {}
    # What it was told by an OffsetFetch: others got the records before that.
    told: dict[Partition, int] = {}
    # Each with what it had been told by then: later it may be told its own commit.
    due: deque[tuple[Asked, Mapping[Partition, int]]] = deque()
    for event in (*(event for event, _ in run.events), None):
        while due and (event is None or event.at > due[0][0].at + EVENTS_GRACE_S):
            commit, before = due.popleft()
            others = {p: max(offset, reached.get(p, 0)) for p, offset in before.items()}
            yield from _ahead(commit, begun | reached | others)
        if isinstance(event, Asked) and event.api == "Fetch":
            begun = dict(event.offsets) | begun
        elif isinstance(event, Asked) and event.api == "OffsetCommit":
            due.append((event, dict(told)))
        elif isinstance(event, Told):
            told |= event.offsets
        elif isinstance(event, App) and isinstance(event.said, Delivered):
            said = event.said
            reached[said.partition] = max(reached.get(said.partition, 0), said.last + 1)


def _ahead(commit: Asked, reached: Mapping[Partition, int]) -> Iterator[Case]:
    for partition, offset in commit.offsets.items():
        ahead = offset - reached.get(partition, offset)
        yield Case(
            commit.at,
            f"it commits {named({partition})} {offset}, and the application has got none of the"
            f" last {ahead} records before that"
            if ahead > 0
            else "",
        )


def begins_where_committed(run: KnownRun) -> Iterator[Case]:
    """The first offset that it fetches or commits of a partition that it had not before, or had
    lost. It has to ask for the committed one, so what comes before that answer is no occasion,
    unless it comes late. An answer that is an error tells it to ask again, and not that nothing is
    committed.
    """
    committed: dict[Partition, int] = {}
    commits: dict[int, Asked] = {}
    looks_up: set[int] = set()
    # Of such partitions: what was committed since the client was told its share.
    new: dict[Partition, set[int]] = {}
    told: set[Partition] = set()
    before = Knowledge()
    for event, now in run.events:
        if now.share is not None and now.share_generation != before.share_generation:
            had = NOTHING if before.lost is not None else now.share_before
            new = {p: {committed[p]} for p in now.share - had if p in committed}
            told = set()
        before = now
        if isinstance(event, Committed):
            _note(event.offsets, committed, new)
        elif isinstance(event, Told):
            told |= event.offsets.keys()
            if event.number in looks_up and event.error:
                told |= new.keys()
            _note(event.offsets, committed, new)
            if (commit := commits.pop(event.number, None)) is not None and not event.error:
                _note(commit.offsets, committed, {})
        elif isinstance(event, Asked) and event.api == "OffsetFetch":
            looks_up.add(event.number)
        elif isinstance(event, Asked) and event.api in ("Fetch", "OffsetCommit"):
            is_fetch = event.api == "Fetch"
            if not is_fetch:
                commits[event.number] = event
            knows = event.at - now.share_at > GRACE_S
            if is_fetch or event.generation == now.share_generation:
                for p in event.offsets.keys() & new.keys():
                    if knows or p in told or not is_fetch:
                        yield _begins(event, p, new.pop(p))


def _note(
    offsets: Mapping[Partition, int],
    committed: dict[Partition, int],
    new: Mapping[Partition, set[int]],
) -> None:
    committed.update(offsets)
    for p in offsets.keys() & new.keys():
        new[p].add(offsets[p])


def _begins(request: Asked, partition: Partition, right: set[int]) -> Case:
    offset, last = request.offsets[partition], max(right)
    does = "fetches" if request.api == "Fetch" else "commits"
    return Case(
        request.at,
        f"it is given {named({partition})} anew, and {does} it from {offset} on, where {last} is"
        " committed"
        if offset not in right
        else "",
    )
