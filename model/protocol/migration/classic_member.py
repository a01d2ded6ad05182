"""A member that uses the classic protocol, in a consumer group or in a classic one. It follows the
answers to its JoinGroup, SyncGroup and Heartbeat; all of a request, its handling and the answer are
one step, but for a JoinGroup that waits for those of others.

Its generation stands on its link: `CURRENT` is that of its record, `PREVIOUS` another one, `OLD`
that of a record which is gone.

Left out: MEMBER_ID_REQUIRED, which costs a dynamic member one more JoinGroup.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from attrs import frozen

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.codes import (
    ILLEGAL_GENERATION,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.consumer.client import Client, Member, hear_answer
from groupcheck.model.protocol.consumer.memory import Core, Phase, Seat
from groupcheck.model.protocol.consumer.messages import (
    Kind,
    Link,
    Request,
    Tag,
    idle,
    leave_of,
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
    # Its JoinGroup waits for those of others; it was answered, and a SyncGroup comes next.
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


def _join(client: ClassicMember, link: Link, scope: MigrationScope) -> tuple[ClassicMember, Link]:
    owned = client.holds if scope.cooperative else 0
    request = Request(
        Kind.JOIN_GROUP,
        owned=owned,
        full=True,
        subscribed=client.subscribed,
        other=link.static and not client.known,
    )
    return evolve(client, holds=owned), evolve(link, request=request)


@rule(when=is_classic)
def send_join(client: ClassicMember, link: Link, scope: MigrationScope) -> Iterator[Asks]:
    """A classic member joins; one that rebalances eagerly gives up all partitions before."""
    if client.joins:
        yield _join(client, link, scope)


@rule(when=is_classic)
def send_sync(client: ClassicMember, link: Link) -> Iterator[Asks]:
    """A classic member asks for its share."""
    if client.syncs:
        yield client, evolve(link, request=Request(Kind.SYNC_GROUP, link.tag))


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
        after, asked = _join(client, link, scope)
        yield "join", after, evolve(asked, lost=True), left
    if client.syncs:
        request = Request(Kind.SYNC_GROUP, link.tag)
        yield "sync", evolve(client, syncs=False), evolve(link, request=request, lost=True), left


@urgent(*hear_answer.labels, "rejoins", "lost", when=lambda link: link.answer is not None)
def hear_either(
    client: Process, link: Link, scope: MigrationScope
) -> Iterator[tuple[str, Process, Link]]:
    """A member follows the answer to its request."""
    if not isinstance(client, ClassicMember):
        yield from hear_answer.call(client, link, scope)
        return
    answer = link.answer
    assert answer is not None
    link = evolve(link, answer=None)
    again = evolve(client, state=Member.JOINING, syncs=False)
    if answer.code == NONE:
        yield _went_well(client, answer.assigned, evolve(link, tag=answer.tag), scope)
    elif answer.code == REBALANCE_IN_PROGRESS:
        yield "rejoins", again, link
    elif answer.code == ILLEGAL_GENERATION:
        yield "lost", evolve(again, holds=0), link
    elif answer.code == UNKNOWN_MEMBER_ID:
        yield "lost", evolve(again, holds=0, known=False), evolve(link, tag=Tag.OLD)
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


@urgent("answered", "unheard", when=lambda core: core.phase == Phase.STABLE)
def answer_parked_join(
    core: Core, seat: Seat | None, client: Process, link: Link
) -> Iterator[tuple[str, Core, Seat, Process, Link]]:
    """A round of a classic group is over: a JoinGroup that waited is answered."""
    if seat is None or not seat.waits or core.errand is not None:
        return
    seat = evolve(seat, waits=False)
    if isinstance(client, ClassicMember) and client.waits:
        heard = evolve(client, waits=False, syncs=True, known=True)
        yield "answered", core, seat, heard, evolve(link, tag=Tag.CURRENT, apart=False)
    else:
        yield "unheard", core, seat, client, link


@urgent(when=is_classic)
def join_is_cut_off(
    seat: Seat | None, client: ClassicMember
) -> Iterator[tuple[Seat | None, ClassicMember]]:
    """The group became another one, or the coordinator another broker, or the member was removed:
    its JoinGroup waits no longer, and it joins again.
    """
    if client.waits and (seat is None or not seat.waits):
        yield seat, evolve(client, waits=False)


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
        if scope.restarts in ("upgrade", "both") and client.known and not client.waits:
            after = succeeded(link)
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
    elif client.known and not client.waits and client.state != Member.ENDED:
        if link.static:
            yield "silent", ended, succeeded(link), left
        else:
            last = evolve(succeeded(link), lost=True, request=Request(Kind.LEAVE_GROUP))
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
