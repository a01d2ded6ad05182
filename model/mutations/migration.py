"""Known bugs of groups that migrate between the classic protocol and KIP-848, and mistakes seeded.

A reading is a value of a field of the scope (`--set k30=as_kafka`); the mutation of a reading reads
the scope so.
"""

from __future__ import annotations

from groupcheck.model.engine import evolve
from groupcheck.model.mutations.consumer import ruled
from groupcheck.model.mutations.twists import Values, after, reads
from groupcheck.model.protocol.consumer import heartbeats, timers
from groupcheck.model.protocol.consumer.scope import AS_KAFKA
from groupcheck.model.protocol.family import MIGRATION
from groupcheck.model.protocol.migration import classic_requests, conversions
from groupcheck.model.protocol.mutation import SEEDED, Mutation


def _forgets_the_plan(before: Values, label: str, after: Values) -> Values:
    """A member of a classic group has nothing in the consumer group that it becomes."""
    seat, errand = after["seat"], before["walk"].errand
    if seat is None or errand.phase is not None:
        return {}
    return {"seat": evolve(seat, assigned=0, target=0)}


def _tells_nobody(before: Values, label: str, after: Values) -> Values:
    """Nothing is answered."""
    return {"link": evolve(after["link"], parked=None)}


MUTATIONS = (
    Mutation(
        id="first_round_is_no_group_yet",
        ticket="K13",
        title="A member that would upgrade a classic group in its first round fails for good.",
        family=MIGRATION,
        invariant="upgrade_is_no_error",
        doc=(
            "A classic group has no protocol before its first round is over, and the conversion"
            " ends in an exception: the heartbeat is answered with UNKNOWN_SERVER_ERROR, which"
            " ends the client. Reading: `k13=as_kafka`."
        ),
        scope={"members": 2, "partitions": 1},
        twists=reads(conversions.upgrade_group, k13=AS_KAFKA),
    ),
    Mutation(
        id="load_lengthens_classic_sessions",
        ticket="K21",
        title="After a fail-over, classic members have the session timeout of consumer groups.",
        family=MIGRATION,
        invariant="classic_session_is_its_own",
        doc="All timers are started alike when a group is loaded. Reading: `k21=as_kafka`.",
        scope={"members": 2, "partitions": 1, "faults": {"fail_over": 1}},
        twists=reads(timers.load_member, k21=AS_KAFKA),
    ),
    Mutation(
        id="successor_takes_what_others_have",
        ticket="K29",
        title="A downgrade by a static successor gives it what another member still consumes.",
        family=MIGRATION,
        invariant="members_share_nothing",
        doc=(
            "The group becomes a classic one that is stable with the target as its plan, although"
            " members have not followed the target yet. Reading: `k29=as_kafka`."
        ),
        scope={
            "members": 2,
            "partitions": 2,
            "restarts": "both",
            "static_members": 2,
            "faults": {"session_timeout": 1},
        },
        twists=reads(classic_requests.join_group, k29=AS_KAFKA),
    ),
    Mutation(
        id="upgrade_frees_what_is_being_revoked",
        ticket="K30",
        title="An upgrade gives away what a cooperative member is just revoking.",
        family=MIGRATION,
        invariant="members_share_nothing",
        doc=(
            "The consumer group is made of the last plan. What that takes away from a member is"
            " free, while the member still consumes it. Reading: `k30=as_kafka`."
        ),
        scope={"members": 2, "partitions": 2, "cooperative": True},
        twists=reads(conversions.convert_member, conversions.convert_end, k30=AS_KAFKA),
    ),
    Mutation(
        id="removed_member_joins_unaware",
        ticket="K31",
        title="A classic member that was removed joins again, and does not hear of its loss.",
        family=MIGRATION,
        invariant="members_share_nothing",
        doc=(
            "A consumer group takes any member id for a new member, where a classic group answers"
            " UNKNOWN_MEMBER_ID. So a cooperative member goes on with what others have been given."
            " Reading: `k31=as_kafka`."
        ),
        scope={
            "members": 2,
            "partitions": 2,
            "cooperative": True,
            "faults": {"session_timeout": 1},
        },
        twists=reads(classic_requests.join_group, k31=AS_KAFKA),
    ),
    Mutation(
        id="revokes_without_a_timer",
        ticket="K36",
        title="A member that was a classic one revokes without a rebalance timer.",
        family=MIGRATION,
        invariant="revocation_is_watched",
        doc=(
            "A classic member has no rebalance timer. Heartbeats of the new protocol with its id"
            " make it another kind of member, and start none. Reading: `k36=as_kafka`."
        ),
        scope={"members": 1, "topics": 2, "partitions": 1, "requests": "anybody"},
        twists=reads(heartbeats.consumer_heartbeat, k36=AS_KAFKA),
    ),
    Mutation(
        id="join_timer_outlives_its_round",
        ticket="K37",
        title="The join timer of a group that was upgraded removes members after its downgrade.",
        family=MIGRATION,
        invariant="join_timer_is_of_its_round",
        doc=(
            "The conversion to a consumer group leaves the join timer scheduled. If the group is a"
            " classic one again when it fires, and stable, all dynamic members are removed."
            " Reading: `k37=as_kafka`; seen with `k29=as_kafka`, as otherwise every downgrade"
            " begins a round."
        ),
        scope={
            "members": 2,
            "partitions": 1,
            "restarts": "both",
            "static_members": 1,
            "faults": {"rebalance_timeout": 1},
            "k29": AS_KAFKA,
        },
        twists=reads(conversions.group_converted, k37=AS_KAFKA),
    ),
    Mutation(
        id="returns_and_counts_as_away",
        ticket="K38",
        title="A member that comes back with the classic protocol still counts as away.",
        family=MIGRATION,
        invariant="parked_member_revokes_nothing",
        doc=(
            "A JoinGroup with the member id that is away does not reset its epoch -2, which it"
            " keeps while it has to revoke. Reading: `k38=as_kafka`."
        ),
        scope={
            "members": 1,
            "topics": 2,
            "partitions": 1,
            "policy": "upgrade",
            "static_members": 1,
            "requests": "anybody",
        },
        twists=reads(classic_requests.join_group, k38=AS_KAFKA),
    ),
    Mutation(
        id="policy_lets_classic_in",
        ticket="KAFKA-20640",
        title="A classic member joins a consumer group although the policy is `disabled`.",
        family=MIGRATION,
        invariant="policy_keeps_classic_out",
        doc="Up to Kafka 4.3.0, only conversions look at group.consumer.migration.policy.",
        scope={"members": 2, "partitions": 1, "policy": "disabled", "restarts": "downgrade"},
        twists=ruled(classic_requests.join_group, keeps_classic_out=False),
    ),
    Mutation(
        id="downgrade_overlooks_an_old_target",
        ticket="KAFKA-20273",
        title="A group that is ahead of its target becomes a classic one without a rebalance.",
        family=MIGRATION,
        invariant="downgrade_notices_what_is_due",
        doc=(
            "Up to Kafka 4.2, only a successor that subscribes to something else brings one. Seen"
            " with `k29=as_kafka`: otherwise every downgrade brings one."
        ),
        scope={
            "members": 2,
            "partitions": 2,
            "restarts": "both",
            "static_members": 1,
            "k29": AS_KAFKA,
        },
        twists=ruled(classic_requests.join_group, notices_old_targets=False),
    ),
    Mutation(
        id="downgrade_by_successor_never_rebalances",
        ticket="KAFKA-19546",
        title="A downgrade by a static successor brings no rebalance, whatever is due.",
        family=MIGRATION,
        invariant="downgrade_notices_what_is_due",
        doc="Kafka 4.0.0. Seen with `k29=as_kafka`: otherwise every downgrade brings one.",
        scope={
            "members": 2,
            "partitions": 2,
            "restarts": "both",
            "static_members": 1,
            "k29": AS_KAFKA,
        },
        twists=ruled(classic_requests.join_group, rebalances_successor=False),
    ),
    Mutation(
        id="load_forgets_who_waits",
        ticket=SEEDED,
        title="Who waits for an answer does not hear that the coordinator has moved.",
        family=MIGRATION,
        invariant="waiting_member_is_answered",
        doc="Seeded: what was parked is lost with the old coordinator, and nobody is told.",
        scope={
            "members": 2,
            "partitions": 2,
            "cooperative": True,
            "faults": {"fail_over": 1},
        },
        twists=after(timers.load_member, change=_tells_nobody),
    ),
    Mutation(
        id="upgrade_forgets_the_plan",
        ticket=SEEDED,
        title="Members have nothing once their classic group is a consumer group.",
        family=MIGRATION,
        invariant="conversion_keeps_members",
        doc="Seeded: the assignments of the classic group are not written as those of members.",
        scope={"members": 2, "partitions": 1},
        twists=after(conversions.convert_member, change=_forgets_the_plan),
    ),
)
