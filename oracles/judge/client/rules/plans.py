"""Rules about the plan of a client that leads its group."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.assignors.group import Group, Member
from groupcheck.oracles.assignment.validity import complete, valid
from groupcheck.oracles.judge.client.record import Asked, Record, Seated, Told
from groupcheck.oracles.judge.client.rules.rule import Case, Seen


def plans_for_all(run: Seen) -> Iterator[Case]:
    """The plan is valid and complete for the members that the answer to its JoinGroup lists. In the
    cooperative protocol a partition that moves may be given to nobody for a round.
    """
    joins: set[int] = set()
    group: dict[int, tuple[Seated, ...]] = {}
    for event, now in run.events:
        if isinstance(event, Asked) and event.api == "JoinGroup":
            joins.add(event.number)
        elif isinstance(event, Told) and event.number in joins and event.seats:
            group[event.generation] = event.seats
        elif isinstance(event, Asked) and event.api == "SyncGroup" and event.plan:
            seats = group.get(event.generation)
            if seats is not None:
                yield Case(event.at, _mistake(run.record, seats, event, now.cooperative))


def _mistake(record: Record, seats: tuple[Seated, ...], request: Asked, cooperative: bool) -> str:
    """What is wrong with a plan; empty: nothing."""
    unread = [member for member, share in request.plan.items() if share is None]
    if unread:
        return f"the share of {unread[0]} in its plan cannot be read"
    members = [Member(s.id, s.topics, s.owned, instance=s.instance) for s in seats]
    group = Group(dict(record.topics), members)
    shares = {member: share for member, share in request.plan.items() if share is not None}
    for wrong in (*valid(group, shares), *complete(group, shares, may_wait=cooperative)):
        return f"in its plan {wrong.words}"
    return ""
