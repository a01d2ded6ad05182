"""Rules about whose records a client fetches and hands over."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.assignors import Partition, Partitions
from groupcheck.oracles.judge.client.events import Assigned, Delivered, Lost, Revoked
from groupcheck.oracles.judge.client.knowledge import EVENTS_GRACE_S, GRACE_S, Knowledge
from groupcheck.oracles.judge.client.record import NOTHING, App, Asked, Closed, Told
from groupcheck.oracles.judge.client.rules.rule import Case, KnownRun, named

# What a member asks before it can fetch.
BEFORE_IT_READS = ("OffsetFetch", "FindCoordinator")


def _wrong(now: Knowledge, partitions: frozenset[Partition], at: float, grace: float) -> str:
    """Why a client may have nothing to do with these partitions; empty if it may."""
    if now.lost is not None:
        late = at - now.lost.at
        return f"{late:.1f} s after it was answered {now.lost.words}" if late > grace else ""
    if now.joining is not None and not now.cooperative and now.share is not None:
        late = at - now.joining
        return f"{late:.1f} s after its JoinGroup, before its SyncGroup" if late > grace else ""
    if now.share is None:
        return "before it was given any"
    extra = partitions - now.share
    if extra and at - now.share_at > grace:
        return f"when its share is {named(now.share)}"
    return ""


def fetches_its_share(run: KnownRun) -> Iterator[Case]:
    for event, now in run.events:
        if isinstance(event, Asked) and event.api == "Fetch" and event.offsets:
            parts = frozenset(event.offsets)
            why = _wrong(now, parts, event.at, GRACE_S)
            yield Case(event.at, f"it fetches {named(parts)} {why}" if why else "")


def reads_its_share(run: KnownRun) -> Iterator[Case]:
    """A member that is told a share fetches all of it within its rebalance timeout, in which an
    application polls. The time in which it asks where to begin, or for its coordinator, or connects
    again, does not count.
    """
    asks: set[int] = set()
    told_at = since = -1.0
    unread: Partitions = NOTHING
    for event, now in run.events:
        if not _stays(now):
            unread = NOTHING
        elif now.share is not None and now.share_at != told_at:
            told_at = since = now.share_at
            unread = now.share
        limit = now.rebalance_ms / 1000 + GRACE_S
        if unread and event.at - since > limit:
            late = event.at - told_at
            yield Case(
                event.at,
                f"it fetches nothing of {named(unread)} {late:.1f} s after it"
                f" was given that, and neither joins again nor leaves",
            )
            unread = NOTHING
        if isinstance(event, Asked) and event.api in BEFORE_IT_READS:
            asks.add(event.number)
            since = event.at
        elif isinstance(event, Closed) or (isinstance(event, Told) and event.number in asks):
            since = event.at
        elif isinstance(event, Asked) and event.api == "Fetch" and unread:
            unread -= event.offsets.keys()
            if not unread:
                yield Case(event.at)


def _stays(now: Knowledge) -> bool:
    """Is it a member of which nobody wants anything else?"""
    over = now.joining is not None or now.lost or now.fatal or now.fenced or now.to_join
    return not over and now.stopping is None


def delivers_its_share(run: KnownRun) -> Iterator[Case]:
    for event, now in run.events:
        if isinstance(event, App) and isinstance(event.said, Delivered):
            partition = event.said.partition
            why = _wrong(now, frozenset({partition}), event.at, EVENTS_GRACE_S)
            text = f"the application gets records of {named({partition})} {why}" if why else ""
            yield Case(event.at, text)


def delivers_between_callbacks(run: KnownRun) -> Iterator[Case]:
    """The order of the application's own events decides, not their times."""
    own: set[Partition] | None = None
    gone: dict[Partition, str] = {}
    for event, _ in run.events:
        said = event.said if isinstance(event, App) else None
        if isinstance(said, Assigned):
            own = set(said.partitions) if said.whole or own is None else own | said.partitions
        elif isinstance(said, Revoked | Lost) and own is not None:
            own = set() if isinstance(said, Revoked) and said.whole else own - said.partitions
            gone |= dict.fromkeys(said.partitions, type(said).__name__.lower())
        elif isinstance(said, Delivered) and own is not None:
            partition = said.partition
            told = f" after its {gone[partition]} callback" if partition in gone else ""
            yield Case(
                event.at,
                f"the application gets records of {named({partition})}, which is not assigned{told}"
                if partition not in own
                else "",
            )


def assigns_once(run: KnownRun) -> Iterator[Case]:
    """Not judged where the library tells no revocation at all, or all that it has each time."""
    told = [event.said for event, _ in run.events if isinstance(event, App)]
    if not any(isinstance(said, Revoked | Lost) for said in told):
        return
    own: frozenset[Partition] = NOTHING
    for event, _ in run.events:
        said = event.said if isinstance(event, App) else None
        if isinstance(said, Assigned) and not said.whole:
            twice = own & said.partitions
            yield Case(
                event.at,
                f"{named(twice)} is assigned again, and was neither revoked nor lost"
                if twice
                else "",
            )
            own |= said.partitions
        elif isinstance(said, Revoked | Lost):
            own = NOTHING if isinstance(said, Revoked) and said.whole else own - said.partitions
