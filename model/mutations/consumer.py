"""Kafka's weak points in consumer groups (KIP-848), each as a reading, and coordinators' mistakes.

A reading is a value of a field of the scope (`--set k1=as_kafka`); the mutation of a reading reads
that field otherwise in the rules that ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.mutations.twists import Twists, Values, after, in_scope, reads
from groupcheck.model.protocol.consumer import client, client_faults, heartbeats, targets, timers
from groupcheck.model.protocol.consumer.memory import State, Timer
from groupcheck.model.protocol.consumer.releases import RELEASES
from groupcheck.model.protocol.consumer.scope import AS_KAFKA
from groupcheck.model.protocol.family import CONSUMER
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import rewritten


def ruled(rule: Rule, **others: bool) -> Twists:
    """This rule goes by these rules of other versions."""

    def other(scope: Any) -> Any:
        release = property(lambda scope: attrs.evolve(RELEASES[scope.kafka], **others))
        kind = type("Ruled", (type(scope),), {"release": release})
        return kind(**attrs.asdict(scope, recurse=False))

    return in_scope(rule, change=other)


def _frees_what_is_revoked(before: Values, label: str, after: Values) -> Values:
    if label != "unrevoked":
        return {}
    return {"core": evolve(after["core"], held=after["core"].held & ~after["seat"].revoking)}


def _calls_it_stable(before: Values, label: str, after: Values) -> Values:
    seat = after["seat"]
    if seat is None or seat.state != State.UNRELEASED:
        return {}
    return {"seat": evolve(seat, state=State.STABLE)}


def _forgets_to_wait(before: Values, label: str, after: Values) -> Values:
    if label != "unrevoked":
        return {}
    return {"seat": evolve(after["seat"], state=State.STABLE, rebalance=Timer.OFF)}


def _sends_only_news(before: Values, label: str, after: Values) -> Values:
    answer = after["link"].answer
    news = after["seat"] is None or after["seat"].assigned != before["seat"].assigned
    if answer is None or news or before["link"].request.kind.value == "join":
        return {}
    return {"link": evolve(after["link"], answer=evolve(answer, assigned=None))}


def _rebalances_for_it(before: Values, label: str, after: Values) -> Values:
    return {"core": evolve(after["core"], pending=True)} if label == "replaced" else {}


def _gives_it_twice(before: Values, label: str, after: Values) -> Values:
    if after["seat"] is None:
        return {}
    return {"seat": evolve(after["seat"], target=after["seat"].subscribed)}


def _takes_what_others_hold(healthy: Rule) -> Rule:
    """The member gets its target, whoever has it."""

    def call(core: Any, seat: Any, *more: Any) -> Iterator[Any]:
        others = core.held & ~seat.owned if seat is not None else 0
        for label, new, *rest in healthy.call(evolve(core, held=core.held & ~others), seat, *more):
            yield label, evolve(new, held=new.held | others), *rest

    return rewritten(healthy, call)


REPORTS = (
    client.send_consumer_heartbeat,
    client_faults.lose_answer,
    client_faults.fail_append,
    client_faults.delay_heartbeat,
)
PATTERNS = {"partitions": 1, "patterns": True, "requests": "anybody"}
NAMED_IN_4_4 = {"partitions": 1, "assignor": "named", "kafka": "4.4.0", "requests": "anybody"}
READINGS = (
    Mutation(
        id="reports_less_than_it_holds",
        ticket="K1",
        title="A member reports what it had before the assignment that it is just taking.",
        family=CONSUMER,
        invariant="member_holds_what_it_was_given",
        doc=(
            "Java's member sends the assignment that it has taken last. While it takes a new one, a"
            " heartbeat with all fields, as it follows a lost one, acknowledges a revocation that"
            " did not happen. Reading: `k1=as_kafka`."
        ),
        scope={"members": 2, "callbacks": "phased", "faults": {"lose_response": 1}},
        twists=reads(*REPORTS, k1=AS_KAFKA),
    ),
    Mutation(
        id="lost_answer_stops_a_static_member",
        ticket="K3",
        title="The answer to the join of a static member is lost, and it fails for good.",
        family=CONSUMER,
        invariant="member_may_begin_anew",
        doc=(
            "A join is refused while the group.instance.id has a member, also a join of that very"
            " member, which has not heard that it is one: 111, and Java's member stops. Reading:"
            " `k3=as_kafka`."
        ),
        scope={
            "members": 1,
            "partitions": 1,
            "static_members": 1,
            "faults": {"lose_response": 1},
        },
        progress="process_is_member_again",
        progress_scope={
            "members": 1,
            "partitions": 1,
            "static_members": 1,
            "faults": {"lose_response": 1},
        },
        twists=reads(heartbeats.consumer_heartbeat, k3=AS_KAFKA),
    ),
    Mutation(
        id="leave_takes_timers_along",
        ticket="K14",
        title="The append of a leave fails, and the member stays without a timer.",
        family=CONSUMER,
        invariant="session_is_watched",
        doc=(
            "The coordinator cancels the timers of a member that leaves when it handles the"
            " request, and does not start them again when the append fails. Nobody sends the leave"
            " again, so the member keeps its partitions for ever. Reading: `k14=as_kafka`."
        ),
        scope={"members": 1, "partitions": 1, "faults": {"close": 1, "append_failure": 1}},
        progress="gone_member_is_removed",
        progress_scope={
            "members": 1,
            "partitions": 1,
            "faults": {"close": 1, "append_failure": 1, "crash": 1},
        },
        twists=reads(
            heartbeats.leave_consumer_group,
            timers.session_timeout,
            timers.rebalance_timeout,
            k14=AS_KAFKA,
        ),
    ),
    Mutation(
        id="late_join_acknowledges",
        ticket="K17",
        title="A join that comes late acknowledges a revocation that did not happen.",
        family=CONSUMER,
        invariant="member_holds_what_it_was_given",
        doc=(
            "A join owns nothing. One that was held up on a former connection is accepted from a"
            " member that lives, and what it has to give up is free at once. Reading:"
            " `k17=as_kafka`."
        ),
        scope={"members": 2, "partitions": 1, "faults": {"delay_request": 1}},
        twists=reads(client_faults.late_heartbeat, k17=AS_KAFKA),
    ),
    Mutation(
        id="late_heartbeat_counts",
        ticket="K18",
        title="A heartbeat that comes late moves a member that does not hear of it.",
        family=CONSUMER,
        invariant="member_knows_its_assignment",
        doc=(
            "Heartbeats have no numbers. One that was held up on a former connection counts like"
            " any other; its answer, perhaps with a revocation, is lost, and later heartbeats that"
            " say nothing new are not told again. Reading: `k18=as_kafka`."
        ),
        scope={"members": 2, "partitions": 1, "faults": {"delay_request": 1}},
        twists=reads(client_faults.late_heartbeat, k18=AS_KAFKA),
    ),
    Mutation(
        id="failed_acknowledgement_stops_timer",
        ticket="K19",
        title="The append of an acknowledgement fails, and nothing ends the wait for the member.",
        family=CONSUMER,
        invariant="revocation_is_watched",
        doc=(
            "The coordinator cancels the rebalance timer when it handles the acknowledgement; the"
            " record goes back when the append fails, the timer does not. Reading: `k19=as_kafka`."
        ),
        scope={"members": 2, "faults": {"append_failure": 1}},
        progress="revocation_ends",
        progress_scope={"members": 2, "resends": False, "faults": {"append_failure": 1}},
        twists=reads(heartbeats.reconcile_member, k19=AS_KAFKA),
    ),
    Mutation(
        id="failed_revocation_starts_timer",
        ticket="K20",
        title="The append of a revocation fails, and the member is removed in the end.",
        family=CONSUMER,
        invariant="only_revocations_are_watched",
        doc=(
            "The coordinator starts the rebalance timer when it handles the heartbeat, and does not"
            " stop it when the append fails. Reading: `k20=as_kafka`."
        ),
        scope={"members": 2, "faults": {"append_failure": 1}},
        twists=reads(heartbeats.reconcile_member, k20=AS_KAFKA),
    ),
    Mutation(
        id="successor_keeps_the_pattern",
        ticket="K22",
        title="A member that subscribes by names keeps the pattern of its predecessor.",
        family=CONSUMER,
        invariant="given_can_be_consumed",
        doc=(
            "A field that a heartbeat lacks stays as it was, in a join, too, and Java's join by"
            " names has no pattern. The successor is given topics that it does not read, and nobody"
            " consumes them. Reading: `k22=as_kafka`."
        ),
        scope={"members": 1, "topics": 2, "static_members": 1, **PATTERNS},
        twists=reads(heartbeats.consumer_heartbeat, k22=AS_KAFKA),
    ),
    Mutation(
        id="tie_of_assignors_rebalances",
        ticket="K24",
        title="Two members name two assignors, and heartbeats rebalance the group for ever.",
        family=CONSUMER,
        invariant="heartbeat_moves_nothing",
        doc=(
            "Kafka 4.4 compares the assignor that most members name before and after a heartbeat,"
            " in two maps of different order. Where two are named once each, the one counts as"
            " another. Reading: `k24=as_kafka`."
        ),
        scope={"members": 2, **NAMED_IN_4_4},
        twists=reads(heartbeats.consumer_heartbeat, k24=AS_KAFKA),
    ),
    Mutation(
        id="member_is_away_unrevoked",
        ticket="KAFKA-20641",
        title="A static member that leaves while it revokes stays UNREVOKED.",
        family=CONSUMER,
        invariant="parked_member_revokes_nothing",
        doc=(
            "Epoch -2 takes what is to be revoked, and leaves the state. Reading:"
            " `kafka_20641=as_kafka`."
        ),
        scope={"members": 2, "static_members": 1, "faults": {"close": 1}},
        twists=reads(heartbeats.leave_consumer_group, kafka_20641=AS_KAFKA),
    ),
)
MUTATIONS = (
    *READINGS,
    Mutation(
        id="rejoin_is_refused",
        ticket="KAFKA-19233",
        title="A member that joins again under an id that is still stored is refused.",
        family=CONSUMER,
        invariant="member_may_begin_anew",
        doc=(
            "Up to Kafka 4.1, epoch 0 counts as an old epoch of a member that has had more than"
            " one. It gets 110 until its session ends."
        ),
        scope={"members": 2, "faults": {"lose_response": 2}},
        twists=reads(heartbeats.consumer_heartbeat, kafka="4.1.1", interval=False),
    ),
    Mutation(
        id="empty_group_lags",
        ticket="KAFKA-20442",
        title="The last member leaves, and the group stays ahead of its target.",
        family=CONSUMER,
        invariant="empty_group_is_at_its_target",
        doc="Up to Kafka 4.3, no target is written for a group without members.",
        scope={"members": 1, "kafka": "4.4.0", "faults": {"close": 1}},
        twists=reads(heartbeats.leave_consumer_group, kafka="4.3.1"),
    ),
    Mutation(
        id="own_revocation_blocks",
        ticket="KAFKA-19449",
        title="A member waits for a partition that it is itself to give up.",
        family=CONSUMER,
        invariant="waits_for_others",
        doc=(
            "Up to Kafka 4.0.1 and 4.1.1, what a member has yet to give up counts as taken, for"
            " itself, too, when the next target has it again."
        ),
        scope={"members": 2, "partitions": 1, "faults": {"close": 1}},
        twists=ruled(heartbeats.reconcile_member, keeps_own=False),
    ),
    Mutation(
        id="dropped_topics_stay",
        ticket="KAFKA-19431",
        title="A member keeps what it does not subscribe to any more.",
        family=CONSUMER,
        invariant="assigned_is_subscribed",
        doc="Up to Kafka 4.1, it does until the next target is there and it has revoked.",
        scope={
            "members": 1,
            "topics": 2,
            "partitions": 1,
            "interval": True,
            "faults": {"subscription": 1},
        },
        twists=ruled(heartbeats.reconcile_member, drops_topics=False),
    ),
    Mutation(
        id="revocation_moves_the_epoch",
        ticket="KAFKA-19974",
        title="A member that has to revoke again gets an epoch of its own.",
        family=CONSUMER,
        invariant="revoking_keeps_the_epoch",
        doc=(
            "Up to Kafka 4.1, a member that has revoked goes on from its epoch plus one, which may"
            " be that of another member's partitions."
        ),
        scope={"members": 2, "topics": 2, "partitions": 1, "faults": {"subscription": 2}},
        twists=ruled(heartbeats.reconcile_member, keeps_epoch=False),
    ),
    Mutation(
        id="commits_are_fenced",
        ticket="KAFKA-20066",
        title="A member whose epoch has grown cannot commit before it knows.",
        family=CONSUMER,
        invariant="commit_is_not_fenced",
        doc=(
            "Up to Kafka 4.2, a commit needs the member's own epoch (KIP-1251): between an"
            " acknowledgement and its answer each one is refused with 113."
        ),
        scope={"members": 2, "assignment_epochs": True, "faults": {"lose_response": 1}},
        twists=ruled(heartbeats.reconcile_member, keeps_given=False),
    ),
    Mutation(
        id="votes_are_ignored",
        ticket="KAFKA-20434",
        title="Most members name another assignor, to no effect.",
        family=CONSUMER,
        invariant="votes_are_followed",
        doc="Up to Kafka 4.3, the other assignor waits until something else rebalances the group.",
        scope={"members": 1, **NAMED_IN_4_4},
        twists=ruled(heartbeats.consumer_heartbeat, follows_votes=False),
    ),
    Mutation(
        id="successor_is_turned_away",
        ticket="KAFKA-20601",
        title="A full group turns away the successor of its own static member.",
        family=CONSUMER,
        invariant="successor_is_admitted",
        doc="Up to Kafka 4.3, the new id counts as one more. The answer, 81, ends the client.",
        scope={
            "members": 1,
            "partitions": 1,
            "static_members": 1,
            "max_size": 1,
            "kafka": "4.4.0",
            "requests": "anybody",
        },
        twists=ruled(heartbeats.consumer_heartbeat, admits_successor=False),
    ),
    Mutation(
        id="revoked_is_free",
        ticket="KAFKA-16147",
        title="A partition that a member has yet to give up counts as free.",
        family=CONSUMER,
        invariant="owned_is_not_free",
        doc="Up to Kafka 3.7, the epoch of a partition could be lost while it was to be revoked.",
        scope={"members": 2},
        twists=after(heartbeats.reconcile_member, change=_frees_what_is_revoked),
    ),
    Mutation(
        id="target_is_not_awaited",
        ticket="robot-head/crabka #521",
        title="A member gets its target while another one still has it.",
        family=CONSUMER,
        invariant="partition_has_one_owner",
        doc="The coordinator gives each member its target at once, and waits for no release.",
        scope={"members": 2, "partitions": 1},
        twists={heartbeats.reconcile_member.name: _takes_what_others_hold},
    ),
    Mutation(
        id="ghost_gives_way",
        ticket=SEEDED,
        title="A member gets what one had whose process is gone, before its session ends.",
        family=CONSUMER,
        invariant="partition_of_ghost_is_kept",
        doc="Seeded: what nobody reports counts as free. The process may only be paused.",
        scope={"members": 1, "partitions": 1, "faults": {"crash": 1}},
        twists={heartbeats.reconcile_member.name: _takes_what_others_hold},
    ),
    Mutation(
        id="target_is_dealt_twice",
        ticket=SEEDED,
        title="The plan gives a partition to each subscriber of its topic.",
        family=CONSUMER,
        invariant="targets_are_apart",
        doc="Seeded: an assignor that looks at one member at a time.",
        scope={"members": 2, "partitions": 1},
        twists=after(targets.give_target, change=_gives_it_twice),
    ),
    Mutation(
        id="waiting_counts_as_stable",
        ticket=SEEDED,
        title="A member that waits for a partition counts as stable.",
        family=CONSUMER,
        invariant="stable_member_has_its_target",
        doc="Seeded: such a member is not looked at again, and never gets the partition.",
        scope={"members": 2, "partitions": 1},
        twists=after(heartbeats.reconcile_member, change=_calls_it_stable),
    ),
    Mutation(
        id="revocation_is_not_noted",
        ticket=SEEDED,
        title="A member has to give up a partition, and its state does not say so.",
        family=CONSUMER,
        invariant="revocation_has_its_state",
        doc="Seeded: the state is not written with the assignment.",
        scope={"members": 2},
        twists=after(heartbeats.reconcile_member, change=_forgets_to_wait),
    ),
    Mutation(
        id="full_request_gets_no_assignment",
        ticket="kfake #1259",
        title="The assignment is not sent again to a member that asks for all of it.",
        family=CONSUMER,
        invariant="member_knows_its_assignment",
        doc="The answer has the assignment only when it changes, so one that is lost stays lost.",
        scope={"members": 2, "partitions": 1, "faults": {"lose_response": 1}},
        twists=after(heartbeats.reconcile_member, change=_sends_only_news),
    ),
    Mutation(
        id="group_takes_one_more",
        ticket=SEEDED,
        title="A group takes one member more than group.consumer.max.size.",
        family=CONSUMER,
        invariant="size_is_limited",
        doc="Seeded: the size is compared with the limit before the member is counted.",
        scope={"members": 2, "partitions": 1, "max_size": 1},
        twists=reads(heartbeats.consumer_heartbeat, max_size=2),
    ),
    Mutation(
        id="return_rebalances",
        ticket=SEEDED,
        title="A static member that comes back rebalances the group.",
        family=CONSUMER,
        invariant="return_moves_nothing",
        doc="Seeded: the successor counts as a new member.",
        scope={"members": 1, "partitions": 1, "static_members": 1, "faults": {"close": 1}},
        twists=after(heartbeats.consumer_heartbeat, change=_rebalances_for_it),
    ),
)
