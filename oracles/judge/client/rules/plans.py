"""Rules about what a client tells its leader, and about the plan of one that leads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from groupcheck.model.assignors import Partition
from groupcheck.model.assignors.group import Group, Member
from groupcheck.model.protocol.codes import MEMBER_ID_REQUIRED
from groupcheck.oracles.assignment.validity import complete, valid
from groupcheck.oracles.judge.client.knowledge import GRACE_S, eager_free
from groupcheck.oracles.judge.client.record import NOTHING, Asked, MemberSeat, Stopping, Told
from groupcheck.oracles.judge.client.rules.rule import Case, KnownRun, named

MENDED_S = 2.0
COMPLETE = ", and it leaves it at that"


def plans_for_all(run: KnownRun) -> Iterator[Case]:
    """The plan is valid and complete for the members that the answer to its JoinGroup lists. In the
    cooperative protocol a partition that moves may be given to nobody for a round. A leader that
    does not know a topic yet, or a partition of it, may leave it out, if it joins again as soon as
    it does.
    """
    left_out: tuple[float, str] | None = None
    joins: set[int] = set()
    group: dict[int, tuple[MemberSeat, ...]] = {}
    topics = dict(run.record.topics)
    last: Asked | None = None  # the plan of the generation in which it leads
    for event, now in run.events:
        if isinstance(event, Stopping):
            left_out = None
        if left_out is not None:
            joins_again = isinstance(event, Asked) and event.api == "JoinGroup"
            if joins_again or event.at - left_out[0] > MENDED_S:
                yield Case(left_out[0], "" if joins_again else left_out[1])
                left_out = None
        if isinstance(event, Asked) and event.api == "JoinGroup":
            joins.add(event.number)
            last = None
        elif isinstance(event, Told) and event.number in joins and event.seats:
            group[event.generation] = event.seats
        elif isinstance(event, Asked) and event.api == "SyncGroup" and event.plan:
            seats = group.get(event.generation)
            if seats is None:
                continue
            last = event
            mistake = _mistake(topics, seats, event, now.cooperative)
            if mistake.endswith(COMPLETE):
                left_out = (event.at, mistake)
            else:
                yield Case(event.at, mistake)
        elif isinstance(event, Told) and event.grows(topics):
            topics |= event.partitions
            if last is not None and now.lost is None:
                mistake = _mistake(topics, group[last.generation], last, now.cooperative)
                left_out = (event.at, mistake) if mistake else left_out
    if left_out is not None:
        yield Case(*left_out)


def _mistake(
    topics: Mapping[str, int], seats: tuple[MemberSeat, ...], request: Asked, cooperative: bool
) -> str:
    """What is wrong with a plan; empty: nothing."""
    unread = [member for member, share in request.plan.items() if share is None]
    if unread:
        return f"the share of {unread[0]} in its plan cannot be read"
    members = [Member(s.id, s.topics, s.owned, instance=s.instance) for s in seats]
    group = Group(dict(topics), members)
    shares = {member: share for member, share in request.plan.items() if share is not None}
    for wrong in valid(group, shares):
        return f"in its plan {wrong.words}"
    for wrong in complete(group, shares, may_wait=cooperative):
        return f"in its plan {wrong.words}{COMPLETE}"
    return ""


def claims_its_share(run: KnownRun) -> Iterator[Case]:
    """What it was told shortly before, it may not have read yet. The subscription of a JoinGroup
    that is answered MEMBER_ID_REQUIRED is thrown away (KIP-394), so it may say anything.
    """
    told = {e.number: e.error for e, _ in run.events if isinstance(e, Told)}
    for event, now in run.events:
        if not isinstance(event, Asked) or event.api != "JoinGroup" or not eager_free(event):
            continue
        if told.get(event.number) == MEMBER_ID_REQUIRED:
            continue
        claims = frozenset[Partition]().union(*(p.owned for p in event.protocols))
        share = now.share or NOTHING
        right = {NOTHING} if now.lost else {share}
        changed = max(now.share_at, now.lost.at if now.lost else 0.0)
        # An answer to a JoinGroup or SyncGroup has been read before the next JoinGroup.
        joins = now.joining is not None and changed >= now.joining
        if event.at - changed < GRACE_S and not joins:
            right |= {share, now.share_before}
        yield Case(
            event.at,
            ""
            if claims in right
            else f"it claims {named(claims)}, and owns {named(min(right, key=len))}",
        )


def subscribes_readably(run: KnownRun) -> Iterator[Case]:
    for event, _ in run.events:
        if isinstance(event, Asked) and event.api == "JoinGroup":
            wrong = next((p for p in event.protocols if p.wrong), None)
            yield Case(
                event.at,
                "" if wrong is None else f"its subscription for {wrong.name}: {wrong.wrong}",
            )
