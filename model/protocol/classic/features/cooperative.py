"""A feature of the classic group: cooperative rebalancing (KIP-429, KIP-792; protocol.md 2.3, 2.4,
3.4).

A member keeps its partitions, and goes on with them, while it joins. Its JoinGroup says what it
owns, and of which generation. The leader gives no partition to one member while another one owns
it. The answer to SyncGroup tells a member what to revoke; then it joins once more, and that round
gives what was revoked to its new owner.

The rules of members and coordinator ask `Scope.cooperative` where this makes a difference. The
feature adds what an eager leader does not do: it looks at the members' claims.

What it leaves out:

- The user data of CooperativeStickyAssignor, which repeats the generation of the member's last
  assignment, unless `--set user_data=yes` has it (`CooperativeScope.user_data`). An assignor looks
  at it only if a member sends its subscription in an older version than KIP-792 (2).
- The leader's own check of the plan (ConsumerCoordinator.validateCooperativeAssignment). It
  concerns assignors of other people; the plans of `sticky` and `any` pass it.

Kafka: ConsumerCoordinator (onJoinPrepare, onJoinComplete), CooperativeStickyAssignor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import frozen

from groupcheck.model.engine import ScopeError, Spec
from groupcheck.model.engine.step import MOST_OUTCOMES
from groupcheck.model.protocol.bounds import TRUTH, bound
from groupcheck.model.protocol.classic.assignment import answer_syncs, look_at_claims
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.plain_group import PHASES_SCOPE, ROWS_IN_PHASES
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.transform import inserted

FAMILY = Family("cooperative group", base="cooperative")

ASSIGNORS = {
    "sticky": (
        "Shares of equal size, or bigger by one for some; each member keeps what it owns, up to its"
        " size (CooperativeStickyAssignor)."
    ),
    "any": (
        "Every assignment that takes no partition from its owner and gives it away in one round is"
        " a choice, so that what holds, holds for every cooperative assignor."
    ),
    "range": (
        "RangeAssignor, which asks nobody what it owns: what happens if members keep their"
        " partitions while the group has chosen an eager assignor (one rolling bounce instead of"
        " two)."
    ),
}


@frozen(slots=False)
class CooperativeScope(Scope):
    """The scope of a group in which all members are cooperative."""

    ASSIGNORS: ClassVar[Mapping[str, str]] = ASSIGNORS
    cooperative: ClassVar[bool] = True
    # Why subscriptions have no user data here; empty if they may.
    NO_USER_DATA: ClassVar[str] = ""

    # User data matter once a member has lost its generation and joins again as a member that the
    # coordinator knows: a static member that has missed a round, or any member after a fail-over
    # that took the group back. Its subscription says what its first one said, but for the user
    # data: so a round begins where it would have been answered at once
    # (CooperativeStickyAssignor.subscriptionUserData).
    user_data: bool = bound(  # type: ignore[misc]
        False,
        "Whether subscriptions repeat the generation of the member's last assignment in their user"
        " data, so that a member that has lost its generation and kept its id starts a round when"
        " it joins again. More states: from half as many again to three times as many.",
        TRUTH,
    )

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.user_data and self.NO_USER_DATA:
            raise ScopeError(f"there is no user_data here: {self.NO_USER_DATA}", where="scope")
        if (ways := self.members**self.partition_count) > MOST_OUTCOMES:
            raise ScopeError(
                f"a cooperative leader chooses between {ways:,} plans for {self.members} members"
                f" and {self.partition_count} partitions, more than {MOST_OUTCOMES:,}",
                where="scope",
                do="take fewer partitions or members",
            )


def cooperative(spec: Spec) -> Spec:
    """The feature: all members are cooperative, and so are all the assignors that they list."""
    return inserted(spec, answer_syncs, look_at_claims)


FEATURE = Feature(
    name="cooperative",
    title="cooperative rebalancing",
    doc=(
        "Members keep their partitions while they join, and say what they own. What moves is"
        " revoked in one round and given away in the next (KIP-429, KIP-792), as with the"
        " CooperativeStickyAssignor."
    ),
    change=cooperative,
    after=("static", "mixed"),
    scope_type=CooperativeScope,
    families=(FAMILY,),
    followed=("live", "whole"),
    coordinator=(look_at_claims,),
    shows=(
        PHASES_SCOPE,
        {
            "members": 2,
            "generations": 3,
            "records": 0,
            "faults": {"delay_request": 1, "disconnect": 1},
        },
        {"members": 2, "generations": 2, "any_faults": 1},
        {
            "members": 2,
            "generations": 3,
            "records": 0,
            "faults": {"delay_request": 1, "rebalance_timeout": 1},
        },
    ),
    executed=(
        {"members": 1, "generations": 1},
        {"members": 2, "generations": 1, "faults": {}, "settings": {"max_size": "1"}},
        {"members": 2, "generations": 1, "faults": {}, "settings": {"protocols": "own|sticky"}},
    ),
    conformed=(ROWS_IN_PHASES,),
    bookkeeping={look_at_claims.name: "The leader does this, not the coordinator."},
    member_generations=1,
)
