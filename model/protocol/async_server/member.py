"""The member: a consumer whose heartbeats report what it owns, and which stops only if it is told
to re-join (Kafka: AbstractCoordinator, with the changes of the source).

As in the classic group, a heartbeat while the connection is busy is left out, and so is the retry
of a request (the same as not having sent it yet). A process that has crashed is the same as one
that has not started.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from groupcheck.model.engine import evolve, rule, urgent
from groupcheck.model.protocol.async_server.messages import Commit, Report
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.codes import (
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.link import Link, send
from groupcheck.model.protocol.messages import (
    NO_GENERATION,
    NO_ID,
    Heartbeat,
    JoinGroup,
    OffsetCommit,
)


@frozen
class Client:
    """One member. A process that has not started is `Client()`."""

    # UNJOINED, PREPARING (its JoinGroup is not answered yet) or STABLE.
    state: Member = Member.UNJOINED
    # The generation in which it got its share; NO_GENERATION before that.
    generation: int = NO_GENERATION
    # Its member id, or NO_ID.
    id: int = NO_ID
    # It was told to re-join. Only in STABLE.
    rejoin: bool = False
    # The partitions that it believes to own and would fetch, as a bit mask.
    owned: int = 0
    # It is an old client, which reports nothing. It never changes.
    old: bool = False


def reset(client: Client) -> Client:
    """The member forgets its generation and its id. It owns its partitions until the next poll."""
    return evolve(client, state=Member.UNJOINED, generation=NO_GENERATION, id=NO_ID, rejoin=False)


def started_anew(client: Client) -> Client:
    """The process that takes the place of this one."""
    return Client(old=client.old)


def wants_to_join(client: Client) -> bool:
    return client.state != Member.STABLE or client.rejoin


def joining(client: Client) -> tuple[Client, JoinGroup]:
    """The member gives up everything and sends JoinGroup. It has committed before."""
    after = evolve(client, state=Member.PREPARING, rejoin=False, owned=0)
    return after, JoinGroup(client.id, client.generation)


def beat(client: Client) -> Heartbeat:
    """The heartbeat of a member that is STABLE."""
    if client.old:
        return Heartbeat(client.id, client.generation)
    return Report(client.id, client.generation, client.owned)


def commit_of(client: Client) -> Commit:
    return Commit(client.id, client.generation, 0, client.owned)


@rule
def send_join(client: Client, link: Link) -> Iterator[tuple[Client, Link]]:
    """The member polls and must join: it stops, gives up everything, and sends JoinGroup."""
    if wants_to_join(client) and link.idle:
        after, request = joining(client)
        yield after, send(link, request)


@rule(when=lambda client: client.state == Member.STABLE)
def send_heartbeat(client: Client, link: Link) -> Iterator[tuple[Client, Link]]:
    """The member sends a heartbeat. A new client reports what it owns."""
    if not client.rejoin and link.idle:
        yield client, send(link, beat(client))


@rule(when=lambda client: client.state == Member.STABLE)
def send_commit(client: Client, link: Link) -> Iterator[tuple[Client, Link]]:
    """The member commits what it has processed, at the latest before it re-joins."""
    if client.owned and link.idle:
        yield client, send(link, commit_of(client))


@urgent(
    "joined",
    "id_given",
    "refused",
    when=lambda link: link.answer is not None and isinstance(link.answer.request, JoinGroup),
)
def join_answer(client: Client, link: Link) -> Iterator[tuple[str, Client, Link]]:
    """The answer to JoinGroup carries the member's share: it goes on."""
    answer = link.answer
    assert answer is not None
    link = evolve(link, answer=None)
    if answer.code == NONE:
        has = evolve(client, state=Member.STABLE, generation=answer.generation, owned=answer.share)
        yield "joined", has, link
    elif answer.code == MEMBER_ID_REQUIRED:
        yield "id_given", evolve(client, id=answer.id), link
    else:
        yield "refused", reset(client), link


@urgent(
    "well",
    "told_to_rejoin",
    "refused",
    when=lambda link: link.answer is not None and isinstance(link.answer.request, Heartbeat),
)
def heartbeat_answer(client: Client, link: Link) -> Iterator[tuple[str, Client, Link]]:
    """The member goes on, unless it is told to re-join, or that it is no member any more."""
    yield _heard(client, link, ("well", "told_to_rejoin", "refused"))


@urgent(
    "done",
    "rebalancing",
    "refused",
    when=lambda link: link.answer is not None and isinstance(link.answer.request, OffsetCommit),
)
def commit_answer(client: Client, link: Link) -> Iterator[tuple[str, Client, Link]]:
    """The commit counts, or the member is no member any more."""
    yield _heard(client, link, ("done", "rebalancing", "refused"))


def _heard(client: Client, link: Link, labels: tuple[str, str, str]) -> tuple[str, Client, Link]:
    answer = link.answer
    assert answer is not None
    link = evolve(link, answer=None)
    if answer.code == REBALANCE_IN_PROGRESS:
        return labels[1], evolve(client, rejoin=True), link
    if answer.code in (ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID):
        return labels[2], reset(client), link
    return labels[0], client, link


POLL_RULES = (send_join, send_heartbeat, send_commit)
ANSWER_RULES = (join_answer, heartbeat_answer, commit_answer)
