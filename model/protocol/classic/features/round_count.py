"""A feature of a cooperative group: how many rounds have completed since the last change. It comes
after `cooperative`, and adds a ghost: no rule of the protocol decides by it.

A change is that a member comes or goes (`CHANGES`). It makes one round. With KIP-429 partitions
that move are revoked in that round and given away in a second one. So a change takes one round more
at most, also if members are late, crash, close or do not poll.

Some faults cost a round more (`EXCEPTIONS`), and count as changes. A member that did not learn its
share, because a message was lost or the share was not written, claims what it had before, and
revokes that one round later. After a fail-over the coordinator goes by an older record.

What it leaves out is a JoinGroup that is held up (`delay_request`). It joins rounds in the place of
a member that knows nothing of them, and may cost any number of rounds.

Kafka: ConsumerCoordinator (onJoinComplete), CooperativeStickyAssignor. Its other assignors may move
partitions in every round; so the scope has `sticky` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from attrs import frozen

from groupcheck.model.engine import Spec, evolve, single
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.bounds import bound
from groupcheck.model.protocol.classic import client as member
from groupcheck.model.protocol.classic import client_faults, coordinator, timers, walks
from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.features.cooperative import ASSIGNORS, CooperativeScope
from groupcheck.model.protocol.classic.plain_group import PHASES_SCOPE
from groupcheck.model.protocol.classic.rounds import Complete
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import Widened, extended, rebuilt, rewritten

FAMILY = Family("rounds of a cooperative group", base="cooperative_rounds")

MOST = 2  # rounds beyond the one that a change makes; more are not told apart

LACKS: Mapping[str, str] = {
    "delay_request": "a JoinGroup that is held up may cost any number of rounds",
}


@frozen(slots=False)
class RoundsScope(CooperativeScope):
    """The scope of a cooperative group whose rounds are counted."""

    NO_STYLES: ClassVar[str] = "its members process nothing"
    NO_USER_DATA: ClassVar[str] = "a round that only they start would be counted"

    LACKS: ClassVar[Mapping[str, str]] = LACKS
    ASSIGNORS: ClassVar[Mapping[str, str]] = {"sticky": ASSIGNORS["sticky"]}

    assignor: str = bound("sticky", "How the leader assigns partitions.")


@frozen
class Rounds:
    """The rounds since the last change."""

    # There was a change, and no round has completed since.
    changed: bool = False
    # Rounds that have completed since the one that the last change made.
    more: int = 0


def round_count(spec: Spec) -> Spec:
    """The feature: rounds are counted."""
    counted = [extended(r, _counting(r), "rounds") for r in spec.rules if _counts(r)]
    return rebuilt(spec, counted, rounds=single(Rounds()))


def _counts(rule: Rule) -> bool:
    return rule.name in (*CHANGES, *EXCEPTIONS, walks.end_walk.name)


def _counting(rule: Rule) -> Widened:
    labels = {**CHANGES, **EXCEPTIONS}.get(rule.name)

    def change(
        before: Mapping[str, Any], label: str, after: dict[str, Any], scope: RoundsScope
    ) -> dict[str, Any]:
        rounds: Rounds = before["rounds"]
        if rule.name != walks.end_walk.name:
            changed = labels is None or label in labels
            return {**after, "rounds": evolve(rounds, changed=True)} if changed else after
        if not isinstance(before["walk"].errand, Complete):
            return after
        more = 0 if rounds.changed else min(rounds.more + 1, MOST)
        return {**after, "rounds": Rounds(more=more)}

    return change


# Rules by which a member comes or goes, with the outcomes that do so; None: all of them.
CHANGES: Mapping[str, tuple[str, ...] | None] = {
    coordinator.join_group.name: ("added", "too_many"),
    coordinator.leave_group.name: ("left", "pending"),
    timers.rebalance_timeout.name: ("missing",),
    timers.session_timeout.name: None,
    timers.new_member_timeout.name: None,
    timers.sync_timeout.name: None,
}
# Rules after which a round more may be needed, although nobody has come or gone.
EXCEPTIONS: Mapping[str, tuple[str, ...] | None] = {
    client_faults.lose_request.name: None,
    client_faults.lose_response.name: None,
    client_faults.disconnect.name: None,
    timers.append_failed.name: None,
    fail_over.name: None,
}
# What only a request leads to that is held up.
OF_LATE_REQUESTS = (
    "both_claim",
    "delay_request",
    "late_join_overlap",
    "late_request",
    "request_timeout",
    "store_offset:backwards",
    "superseded",
)


# -- How it can be wrong


def _always_joins_again(rule: Rule) -> Rule:
    def call(*given: Any) -> Iterator[Any]:
        for label, client, *rest in rule.call(*given):
            again = label == "assigned" and client.state == Member.STABLE
            yield label, evolve(client, rejoin=client.rejoin or again), *rest

    return rewritten(rule, call)


BUGS = (
    Mutation(
        id="joins_again_for_nothing",
        ticket=SEEDED,
        title="A member joins again after every round, whether it has revoked anything or not.",
        family=FAMILY,
        invariant="one_more_round",
        doc=(
            "onJoinComplete asks for another round only if something was revoked. Seeded: it always"
            " does. Every member claims what it has, nothing moves, and the rounds never end."
        ),
        scope={"members": 1, "generations": 3, "records": 0},
        twists={member.sync_answer.name: _always_joins_again},
    ),
)

# -- The feature

FEATURE = Feature(
    name="round_count",
    title="rounds counted",
    doc=(
        "A ghost counts the rounds since the last change, with the CooperativeStickyAssignor: one"
        " more than the change needs at most (KIP-429)."
    ),
    change=round_count,
    over=("cooperative",),
    after=("offsets", "callbacks"),
    refuses={"triggers": "a change of topics makes rounds, too, and these are not counted"},
    scope_type=RoundsScope,
    families=(FAMILY,),
    no_progress="it counts rounds, which have no bound then",
    shows=(
        {"members": 2, "generations": 1},
        {"members": 1, "generations": 1, "any_faults": 1},
        {"members": 2, "generations": 2, "faults": {"rebalance_timeout": 1}},
        {"members": 2, "generations": 3, "records": 0},
        {"members": 2, "generations": 2, "faults": {"late_commit": 1}},
        {"members": 2, "generations": 2, "faults": {"lose_request": 1}},
        PHASES_SCOPE,
    ),
    unreached=dict.fromkeys(OF_LATE_REQUESTS, LACKS["delay_request"]),
    real="",
    unreal="it is `cooperative` with a ghost; compare that",
    executed=(),
    conformed=(),
    member_generations=1,
    member_apart={"delay_request": LACKS["delay_request"]},
    bugs=BUGS,
)
