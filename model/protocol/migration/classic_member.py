"""A member that uses the classic protocol, in a consumer group or in a classic one. It follows the
answers to its JoinGroup, SyncGroup and Heartbeat; all of a request, its handling and the answer are
one step, but for a JoinGroup that waits for those of others, and for a SyncGroup that waits for the
leader's.

Its generation stands on its link: `CURRENT` is that of its record, `PREVIOUS` another one, `OLD`
that of a record which is gone.

Left out: heartbeats while a JoinGroup or a SyncGroup waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from attrs import frozen

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.codes import (
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.consumer.client import Client, Member, hear_answer
from groupcheck.model.protocol.consumer.memory import Seat
from groupcheck.model.protocol.consumer.messages import (
    Kind,
    Link,
    Request,
    Tag,
    idle,
    leave_of,
    remembered,
    succeeded,
)
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.migration.scope import MigrationScope


@frozen
class ClassicMember:
    """A process. It has the states of `Member` that it needs, and the rules of other members find
    nothing to do.
    """

    beats: ClassVar[bool] = False
    sends: ClassVar[bool] = False
    full: ClassVar[bool] = True
    done: ClassVar[bool] = True
    taking: ClassVar[None] = None

    state: Member = Member.UNSUBSCRIBED
    subscribed: int = 0
    # It has a member id.
    known: bool = False
    # Its JoinGroup or its SyncGroup waits; a SyncGroup is the next, or waits.
    waits: bool = False
    syncs: bool = False
    # The partitions that it consumes.
    holds: int = 0

    @property
    def joins(self) -> bool:
        """Is a JoinGroup the next that it sends?"""
        return self.state == Member.JOINING and not self.waits and not self.syncs


Process = Client | ClassicMember
Asks = tuple[ClassicMember, Link]


def is_classic(client: Process) -> bool:
    """Does the process use the classic protocol?"""
    return isinstance(client, ClassicMember)


def _join(
    client: ClassicMember, link: Link, scope: MigrationScope, *, waits: bool
) -> tuple[ClassicMember, Link]:
    owned = client.holds if scope.cooperative else 0
    request = Request(
        Kind.JOIN_GROUP,
        owned=owned,
        full=True,
        subscribed=client.subscribed,
        other=not client.known,
    )
    return evolve(client, holds=owned, waits=waits), evolve(link, request=request)


@rule(when=is_classic)
def send_join(client: ClassicMember, link: Link, scope: MigrationScope) -> Iterator[Asks]:
    """A classic member joins; one that rebalances eagerly gives up all partitions before."""
    if client.joins:
        yield _join(client, link, scope, waits=True)


@rule(when=is_classic)
def send_sync(client: ClassicMember, link: Link) -> Iterator[Asks]:
    """A classic member asks for its share."""
    if client.syncs and not client.waits:
        request = Request(Kind.SYNC_GROUP, link.tag)
        yield evolve(client, waits=True), evolve(link, request=request)


@rule(when=is_classic)
def send_classic_heartbeat(client: ClassicMember, link: Link) -> Iterator[Asks]:
    """A classic member says that it lives."""
    if client.state == Member.STABLE:
        yield client, evolve(link, request=Request(Kind.CLASSIC_BEAT, link.tag))


@rule("join", "sync", when=lambda budget: budget.allows("lose_response"))
def lose_classic_answer(
    client: Process, link: Link, budget: Budget, scope: MigrationScope
) -> Iterator[tuple[str, Process, Link, Budget]]:
    """The answer to a JoinGroup or a SyncGroup is lost, and the member joins again."""
    if not isinstance(client, ClassicMember):
        return
    left = budget.spend("lose_response")
    if client.joins:
        after, asked = _join(client, link, scope, waits=False)
        yield "join", after, evolve(asked, lost=True), left
    if client.syncs and not client.waits:
        request = Request(Kind.SYNC_GROUP, link.tag)
        yield "sync", evolve(client, syncs=False), evolve(link, request=request, lost=True), left


@urgent(*hear_answer.labels, "rejoins", "lost", "named", when=lambda link: link.answer is not None)
def hear_either(
    client: Process, link: Link, scope: MigrationScope
) -> Iterator[tuple[str, Process, Link]]:
    """A member follows the answer to its request."""
    if not isinstance(client, ClassicMember):
        yield from hear_answer.call(client, link, scope)
        return
    answer = link.answer
    assert answer is not None
    link, client = evolve(link, answer=None), evolve(client, waits=False)
    again = evolve(client, state=Member.JOINING, syncs=False)
    if answer.code == NONE:
        yield _went_well(client, answer.assigned, evolve(link, tag=answer.tag), scope)
    elif answer.code == MEMBER_ID_REQUIRED:
        yield "named", evolve(client, known=True), link
    elif answer.code in (REBALANCE_IN_PROGRESS, NOT_COORDINATOR):
        yield "rejoins", again, link
    elif answer.code == ILLEGAL_GENERATION:
        yield "lost", evolve(again, holds=0), link
    elif answer.code == UNKNOWN_MEMBER_ID:
        link = evolve(link, tag=Tag.OLD, handed_out=remembered(link))
        yield "lost", evolve(again, holds=0, known=False), link
    else:
        yield "fatal", ClassicMember(Member.FATAL), evolve(link, tag=Tag.OLD)


def _went_well(
    client: ClassicMember, assigned: int | None, link: Link, scope: MigrationScope
) -> tuple[str, ClassicMember, Link]:
    """A request was answered without an error."""
    if client.state == Member.STABLE:
        return "well", client, link
    if not client.syncs:
        return "well", evolve(client, syncs=True, known=True), evolve(link, apart=False)
    share = assigned or 0
    # What it revokes others may only get once it has joined again without it.
    revokes = scope.cooperative and client.holds & ~share
    state = Member.JOINING if revokes else Member.STABLE
    return "well", evolve(client, state=state, syncs=False, holds=share), link


def _is_member(client: Client, link: Link) -> bool:
    """Has it been told that it is one, and waits for no answer?"""
    return client.beats and idle(link) and link.tag != Tag.OLD


@rule("upgraded", "downgraded", when=lambda link: link.request is None)
def restart_member(
    client: Process, link: Link, scope: MigrationScope
) -> Iterator[tuple[str, Process, Link]]:
    """A process is restarted with the other protocol: a rolling upgrade, or its way back. A dynamic
    member leaves; a static one of the classic protocol says nothing.
    """
    if isinstance(client, ClassicMember):
        if scope.restarts in ("upgrade", "both") and client.known:
            after = evolve(succeeded(link), handed_out=remembered(link))
            if not link.static:
                after = evolve(after, lost=True, request=Request(Kind.LEAVE_GROUP))
            yield "upgraded", Client(), after
    elif scope.restarts in ("downgrade", "both") and _is_member(client, link):
        yield (
            "downgraded",
            ClassicMember(),
            evolve(succeeded(link), lost=True, request=leave_of(link)),
        )


@rule("well", "silent", when=lambda budget: budget.allows("close"))
def close_member(
    client: Process, link: Link, budget: Budget
) -> Iterator[tuple[str, Process, Link, Budget]]:
    """A process closes and is not started again. A static member of the classic protocol says
    nothing.
    """
    ended, left = ClassicMember(Member.ENDED), budget.spend("close")
    if not isinstance(client, ClassicMember):
        if _is_member(client, link):
            last = evolve(succeeded(link), lost=True, request=leave_of(link))
            yield "well", ended, last, left
        return
    if client.known and client.state != Member.ENDED:
        after = evolve(succeeded(link), handed_out=remembered(link))
        if link.static:
            yield "silent", ended, after, left
        else:
            last = evolve(after, lost=True, request=Request(Kind.LEAVE_GROUP))
            yield "well", ended, last, left


MEMBER_RULES = (
    send_join,
    send_sync,
    send_classic_heartbeat,
    lose_classic_answer,
    restart_member,
    close_member,
)


def holding(seat: Seat | None, client: Any, link: Link) -> int:
    """What a process consumes that the coordinator knows, for all that the process can know."""
    if seat is None or seat.parked or link.apart or link.tag == Tag.OLD:
        return 0
    return int(client.holds) if is_classic(client) or client.beats else 0
