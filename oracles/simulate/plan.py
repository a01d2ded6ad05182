"""The plan of a round, made by an assignor of `model.assignors` at once for all members.

The model lets the leader choose while a walk visits one member after the other, because a search
must see all choices. A simulation needs one plan, and a visit that costs nothing: `Dealt` is the
errand of the same walk whose choice is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
from attrs import field, frozen

from groupcheck.model.assignors import Group, Member, cooperative_sticky
from groupcheck.model.engine import but
from groupcheck.model.protocol.classic.assignment import Assign, Claims, Plan
from groupcheck.model.protocol.classic.group import Errand, Seats
from groupcheck.model.protocol.classic.plans import Claim, interval
from groupcheck.model.protocol.classic.scope import Scope

TOPIC = "t"


@frozen(kw_only=True)
class Dealt(Assign):
    """The errand of an assignment whose shares are chosen: `dealt` has one for each member, in the
    order of the visits.
    """

    # Compared by its identity, because it is long.
    dealt: Sequence[int] = field(eq=id, repr=False)

    def shares(self, claim: Claim, scope: Scope) -> list[int]:
        return [self.dealt[self.members - self.left]]

    def given(self, share: int, claim: Claim) -> Dealt:
        return but(self, left=self.left - 1)


def decided(errand: Errand, seats: Sequence[Seats], scope: Scope) -> Errand:
    """The errand with its choice made, if it is one that chooses an assignment."""
    plan = errand.plan if isinstance(errand, Claims) else errand
    if not isinstance(plan, Plan) or isinstance(plan, Dealt) or plan.chosen is not None:
        return errand
    assert isinstance(plan, Assign), f"no plan is chosen for {type(plan).__name__}"
    if plan.again:
        return errand
    deal = by_claims if isinstance(errand, Claims) else by_rank
    fields = {f.name: getattr(plan, f.name) for f in attrs.fields(Assign)}
    return Dealt(**fields, dealt=deal(seats, scope))


def by_rank(seats: Sequence[Seats], scope: Scope) -> list[int]:
    """RangeAssignor: neighbouring partitions by the member's place in the group."""
    members = sum(seat.member for mine in seats for _, seat in mine)
    return [interval(rank, members, scope.partition_count) for rank in range(members)]


def by_claims(seats: Sequence[Seats], scope: Scope) -> list[int]:
    """CooperativeStickyAssignor: by what the members claim."""
    return dealt(cooperative_sticky, claims_of(seats), scope.partition_count)


def claims_of(seats: Sequence[Seats]) -> list[Claim]:
    """What each member claims, in the order of the visits."""
    return [(seat.claimed, seat.owned) for mine in seats for _, seat in mine if seat.member]


def dealt(
    assignor: Callable[[Group], dict[str, frozenset[tuple[str, int]]]],
    claims: Sequence[Claim],
    partitions: int,
) -> list[int]:
    """The shares that an assignor gives to members with these claims, as bit masks."""
    names = [f"member-{rank:06d}" for rank in range(len(claims))]
    members = [
        Member(name, [TOPIC], {TOPIC: numbers(owned)}, generation)
        for name, (generation, owned) in zip(names, claims)
    ]
    given = assignor(Group({TOPIC: partitions}, members))
    return [sum(1 << number for _, number in given[name]) for name in names]


def numbers(mask: int) -> list[int]:
    """The partitions of a bit mask."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
