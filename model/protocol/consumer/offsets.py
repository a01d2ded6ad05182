"""The feature `offsets`: members that process a partition, commit, and fetch what is
committed; or, where anybody sends heartbeats, every commit and fetch that any client could send.

A member commits its position with the epoch that it knows when it sends. With `auto_commit` it also
does before it gives the partition up (CommitRequestManager.maybeAutoCommitSyncBeforeRebalance). A
commit that is refused changes nothing at the member: its next heartbeat tells it more.

Left out: a commit of Java's member that is answered late and sent again, and what an application
commits that its member does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any, TypeVar

import attrs

from groupcheck.model.engine import Spec, array, evolve, rule, single, urgent
from groupcheck.model.protocol.consumer import client, heartbeats, java_rules, timers
from groupcheck.model.protocol.consumer.client import Client, Member
from groupcheck.model.protocol.consumer.commits import OFFSET_REQUEST_RULES, Offsets
from groupcheck.model.protocol.consumer.java_member import JavaMember
from groupcheck.model.protocol.consumer.memory import Core, Previous, Seat
from groupcheck.model.protocol.consumer.messages import Commit, Fetch, Kind, Link, Sender, Tag
from groupcheck.model.protocol.consumer.scope import AS_KAFKA, ConsumerScope
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.transform import extended, inserted, own, rebuilt

Values = dict[str, Any]
C = TypeVar("C", bound=Core)
L = TypeVar("L", bound=Link)
S = TypeVar("S", bound=Seat | None)


class Position(IntEnum):
    """Where a member is in the watched partition."""

    # It has not got it, or does not know yet what is committed.
    NONE = -1
    # The watched record is still to be processed, or is processed.
    BEFORE = 0
    BEYOND = 1


def paused(member: Client | JavaMember, offsets: Offsets) -> bool:
    """Does it process nothing, because it is about to give the partition up?"""
    if isinstance(member, JavaMember):
        return bool(member.paused & offsets.bit)
    return member.taking is not None and not member.taking.share & offsets.bit


@rule(when=lambda reading: reading == Position.NONE)
def fetch_position(
    client: Client | JavaMember, link: Link, reading: Position, offsets: Offsets
) -> Iterator[tuple[Client | JavaMember, Link, Position, Offsets]]:
    """A member that has the partition asks where to begin; if it is refused, again later."""
    if client.holds & offsets.bit and client.beats and not paused(client, offsets):
        yield client, evolve(link, asked=Fetch(tag=link.tag)), reading, offsets


@urgent(when=lambda link: link.told is not None)
def hear_of_offsets(link: Link, reading: Position) -> Iterator[tuple[Link, Position]]:
    """A member is told what is committed, or that its commit was stored or refused."""
    told = link.told
    assert told is not None
    if told.beyond is not None:
        reading = Position.BEYOND if told.beyond else Position.BEFORE
    yield evolve(link, told=None), reading


@rule(when=lambda reading: reading == Position.BEFORE)
def process_watched_record(
    client: Client | JavaMember, reading: Position, offsets: Offsets
) -> Iterator[tuple[Client | JavaMember, Position, Offsets]]:
    """The application finishes the watched record."""
    if client.holds & offsets.bit and client.beats and not paused(client, offsets):
        yield client, Position.BEYOND, evolve(offsets, processed=True)


def commit_of(
    member: Client | JavaMember,
    link: Link,
    seat: Seat | None,
    reading: Position,
    offsets: Offsets,
) -> Commit:
    """The commit of a member's position. A member that has missed two answers may own the partition
    all the same; not one that was removed, nor one that was given it anew and does not know that.
    One that has no epoch commits as a client that is no member does.
    """
    if isinstance(member, JavaMember) and not has_epoch(member):
        return Commit(Sender.SIMPLE, beyond=reading == Position.BEYOND, former=True)
    owned = seat is not None and bool(seat.owned & offsets.bit)
    anew = seat is not None and link.tag == Tag.OLD and bool(seat.fresh & offsets.bit)
    return Commit(tag=link.tag, beyond=reading == Position.BEYOND, former=not owned or anew)


def has_epoch(member: JavaMember) -> bool:
    """Do its commits carry an epoch (CommitRequestManager.onMemberEpochUpdated)?"""
    joins = member.state == Member.JOINING or member.state == Member.PREPARE_LEAVING
    return member.beats and (member.adopted or not joins)


def commits_at_all(member: Client | JavaMember, scope: ConsumerScope) -> bool:
    """May it commit? Java's member that is out of the group, and has yet to tell its application
    that its partitions are lost, does so (K28).
    """
    if not isinstance(member, JavaMember) or has_epoch(member):
        return member.beats
    return scope.k28 == AS_KAFKA


@rule(when=lambda reading: reading != Position.NONE)
def commit_position(
    client: Client | JavaMember,
    link: Link,
    seat: Seat | None,
    reading: Position,
    offsets: Offsets,
    scope: ConsumerScope,
) -> Iterator[tuple[Client | JavaMember, Link, Seat | None, Position, Offsets]]:
    """A member commits its position, also one that it has committed."""
    if client.holds & offsets.bit and commits_at_all(client, scope):
        commit = commit_of(client, link, seat, reading, offsets)
        yield client, evolve(link, asked=commit), seat, reading, offsets


@rule(when=lambda budget: budget.allows("delay_commit"))
def delay_commit(
    client: Client | JavaMember,
    link: Link,
    seat: Seat | None,
    reading: Position,
    offsets: Offsets,
    budget: Budget,
) -> Iterator[tuple[Client | JavaMember, Link, Seat | None, Position, Offsets, Budget]]:
    """A commit is held up on a connection that the member gives up."""
    commits = client.beats and client.holds & offsets.bit and reading != Position.NONE
    if isinstance(client, JavaMember):
        commits = commits and has_epoch(client)
    if commits and link.held is None:
        held = evolve(link, held=commit_of(client, link, seat, reading, offsets))
        yield client, held, seat, reading, offsets, budget.spend("delay_commit")


@rule(when=lambda link: link.held is not None)
def late_commit(link: Link) -> Iterator[Link]:
    """A commit arrives over a former connection. Nobody hears the answer."""
    yield evolve(link, held=None, asked=link.held)


@urgent(when=lambda reading: reading != Position.NONE)
def position_is_lost(
    client: Client | JavaMember, link: Link, reading: Position, offsets: Offsets
) -> Iterator[tuple[Client | JavaMember, Link, Position, Offsets]]:
    """A member that has not got the partition any more has no position in it."""
    if not client.holds & offsets.bit:
        held = None if link.held is None else attrs.evolve(link.held, given_up=True)
        yield client, evolve(link, held=held), Position.NONE, offsets


def commits(core: Core, seat: Seat | None, *, static: bool) -> Iterator[Commit]:
    """All commits from one member, and from a client that is none."""
    if core.exists:  # or it would create a classic group
        yield Commit(Sender.SIMPLE, beyond=True)
    for beyond in (False, True):
        yield Commit(tag=Tag.CURRENT, beyond=beyond)
    if seat is None:
        return
    yield Commit(tag=Tag.CURRENT, beyond=True, unversioned=True)
    yield Commit(tag=Tag.AHEAD, beyond=True)
    if seat.previous == Previous.OLDER and not seat.parked:
        yield Commit(tag=Tag.PREVIOUS, beyond=True)
    if static:
        yield Commit(Sender.AWAY, beyond=True)
        yield Commit(tag=Tag.CURRENT, beyond=True, other=True)


def arriving(
    commits: Iterable[Commit], core: C, link: L, seat: S, budget: Budget
) -> Iterator[tuple[str, C, L, S, Budget]]:
    """Each of these commits arrives; perhaps its append fails."""
    for commit in commits:
        yield "request", core, evolve(link, asked=commit), seat, budget
        if budget.allows("append_failure"):
            failing = evolve(link, asked=evolve(commit, fails=True))
            yield "failing", core, failing, seat, budget.spend("append_failure")


@rule("request", "failing", when=lambda link: link.answer is None and link.told is None)
def anybody_commits(
    core: Core, link: Link, seat: Seat | None, budget: Budget
) -> Iterator[tuple[str, Core, Link, Seat | None, Budget]]:
    """A commit arrives that some client could have sent; perhaps its append fails."""
    sent = commits(core, seat, static=link.static)
    yield from arriving(sent, core, link, seat, budget)


@rule(when=lambda link: link.answer is None and link.told is None)
def anybody_fetches(
    core: Core, link: Link, seat: Seat | None
) -> Iterator[tuple[Core, Link, Seat | None]]:
    """A fetch arrives that some client could have sent."""
    for commit in commits(core, seat, static=link.static):
        if commit.beyond and not commit.unversioned:
            fetch = Fetch(commit.sender, commit.tag, commit.other)
            yield core, evolve(link, asked=fetch), seat


@rule(when=lambda link: link.held is None)
def anybody_holds_up(link: Link, seat: Seat | None) -> Iterator[tuple[Link, Seat | None]]:
    """A commit with the epoch of a member is held up."""
    if seat is not None and not seat.parked:
        yield evolve(link, held=Commit(tag=Tag.CURRENT, beyond=True)), seat


@urgent(when=lambda link: link.told is not None)
def nobody_hears_of_offsets(link: Link) -> Iterator[Link]:
    """Nobody waits for the answer."""
    yield evolve(link, told=None)


def _following(before: Values, label: str, after: Values, scope: Any) -> Values:
    """A commit that is held up, after the record of its member has changed, or was removed."""
    link, seat, watched = after["link"], after["seat"], after["offsets"].bit
    held = link.held
    if held is None or label == "failed":
        return after
    request = before["link"].request
    renamed = request is not None and request.other and request.kind == Kind.JOIN
    newer = held.given
    if seat is not None and held.tag != Tag.CURRENT and seat.fresh & watched:
        newer = True
    if label == "parked" and scope.k26 == AS_KAFKA:
        newer = False
    former = held.former or seat is None or not seat.owned & watched
    held = attrs.evolve(held, other=held.other or renamed, given=newer, former=former)
    return {**after, "link": evolve(link, held=held)}


def _commits_first(before: Values, label: str, after: Values, scope: Any) -> Values:
    """With enable.auto.commit, a member commits before it gives the partition up."""
    had, has, bit = before["client"], after["client"], after["offsets"].bit
    if isinstance(had, JavaMember):
        begins = had.taking is None and has.taking is not None
        gives_up = begins and has.taking.gone & bit
    else:
        gives_up = label in ("taken", "revoking") and had.holds & ~has.target & bit
    if not (scope.auto_commit and gives_up) or before["reading"] == Position.NONE:
        return after
    commit = commit_of(had, after["link"], after["seat"], after["reading"], after["offsets"])
    return {**after, "link": evolve(after["link"], asked=commit)}


FOLLOWED = (
    heartbeats.reconcile_member,
    heartbeats.leave_consumer_group,
    timers.session_timeout,
    timers.rebalance_timeout,
)
MEMBER_RULES = (
    fetch_position,
    process_watched_record,
    commit_position,
    delay_commit,
    late_commit,
    hear_of_offsets,
    position_is_lost,
)
ANYBODY_RULES = (
    anybody_commits,
    anybody_fetches,
    anybody_holds_up,
    late_commit,
    nobody_hears_of_offsets,
)


def offsets(spec: Spec) -> Spec:
    """The feature, on the spec of members or of anybody."""
    scope: ConsumerScope = spec.scope
    alone = scope.requests == "anybody"
    slots = {
        "offsets": single(Offsets(), of=Offsets),
        "reading": array(scope.members, Position.NONE, of=Position),
    }
    changed = [extended(own(spec, r), _following, "offsets") for r in FOLLOWED]
    if not alone:
        begins = java_rules.application_polls if scope.java else client.reconcile
        commits_first = extended(
            own(spec, begins), _commits_first, "link", "seat", "reading", "offsets"
        )
        changed.append(commits_first)
    first = next(r for r in spec.rules if r.urgent)
    spec = rebuilt(spec, changed, ANYBODY_RULES if alone else MEMBER_RULES, **slots)
    spec = inserted(spec, first, *OFFSET_REQUEST_RULES)
    (given,) = spec.initial
    initial = [{**given, "offsets": Offsets(watched)} for watched in _watched(scope)]
    return attrs.evolve(spec, initial=initial)


def _watched(scope: ConsumerScope) -> tuple[int, ...]:
    """The partitions that are watched, one after the other. Where the assignor treats them alike,
    one stands for all, but for the last one if that comes later.
    """
    if scope.requests == "anybody":
        return (0,)
    last = scope.topics * scope.partitions - 1
    if scope.assignor not in ("any", "sticky"):
        return tuple(range(last + 1))
    return (0, last) if scope.budget.allows("metadata") and last else (0,)
