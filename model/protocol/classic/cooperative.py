"""A feature of the classic group: cooperative rebalancing (KIP-429, KIP-792; protocol.md 2.3, 2.4,
3.4).

A member keeps its partitions, and goes on with them, while it joins. Its JoinGroup says what it
owns, and of which generation. The leader gives no partition to one member while another one owns
it. The answer to SyncGroup tells a member what to revoke; then it joins once more, and that round
gives what was revoked to its new owner.

The rules of members and coordinator ask `Scope.cooperative` where this makes a difference. The
feature adds what an eager leader does not do: it looks at the members' claims.

What it leaves out:

- The user data of CooperativeStickyAssignor, which repeats a generation. It only counts if a member
  sends its subscription in an older version than KIP-792 (2).
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
from groupcheck.model.protocol.classic.assignment import answer_syncs, look_at_claims
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.feature import inserted

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


@frozen
class CooperativeScope(Scope):
    """The scope of a group in which all members are cooperative."""

    ASSIGNORS: ClassVar[Mapping[str, str]] = ASSIGNORS
    cooperative: ClassVar[bool] = True

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
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
