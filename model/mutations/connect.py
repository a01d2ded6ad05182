"""Bugs of Kafka Connect's rebalancing: workers that go on with what they should stop, and leaders
that hold work back or give it away without need. Those of the leader are Kafka's own assignor as it
was before each fix (`model.assignors.connect.Release`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import attrs

from groupcheck.model.assignors.connect import Release
from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client
from groupcheck.model.protocol.classic.group import Errand, Walk
from groupcheck.model.protocol.connect.leader import (
    Deal,
    Survey,
    delay_over,
    make_plan,
    planned,
)
from groupcheck.model.protocol.connect.memory import Memory, Schedule
from groupcheck.model.protocol.connect.plans import Chosen, plans
from groupcheck.model.protocol.connect.scope import ConnectScope
from groupcheck.model.protocol.connect.worker import OUTDATED, lose_coordinator
from groupcheck.model.protocol.family import CONNECT, CONNECT_ALIKE, CONNECT_BACKOFF
from groupcheck.model.protocol.messages import JoinGroup
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import extended, rewritten

Planning = Iterator[tuple[str, Walk[Errand], Memory]]
After = dict[str, Any]
Twist = Callable[[Rule], Rule]


def _released(release: Release) -> Mapping[str, Twist]:
    """The leader has the assignor of another release."""

    def as_it_was(walk: Walk[Errand], memory: Memory, scope: ConnectScope) -> Planning:
        yield from planned(walk, memory, scope, partial(plans, release=release))

    return {make_plan.name: lambda usual: rewritten(usual, as_it_was)}


def _hearing(change: Callable[[Mapping[str, Any], str, After], After]) -> Mapping[str, Twist]:
    """The worker makes something else of the answer to its SyncGroup."""

    def twist(usual: Rule) -> Rule:
        def heard(before: Mapping[str, Any], label: str, after: After, scope: Any) -> After:
            took = label in ("assigned", OUTDATED)
            return change(before, label, after) if took else after

        return extended(usual, heard)

    return {client.sync_answer.name: twist}


def _goes_on(before: Mapping[str, Any], label: str, after: After) -> After:
    unresolved = before["worker"].runs != before["client"].owned
    if not unresolved:
        return after
    runs = after["worker"].runs | before["worker"].runs
    return {**after, "worker": evolve(after["worker"], runs=runs)}


def _stays(before: Mapping[str, Any], label: str, after: After) -> After:
    told = before["link"].answer.told
    only = told.stops and label == "assigned"
    return {**after, "client": evolve(after["client"], rejoin=False)} if only else after


_STOPPED = -1  # the delay of a worker that has stopped by itself, and believes to run what it ran


def _starts_nothing(before: Mapping[str, Any], label: str, after: After) -> After:
    if before["worker"].delay != _STOPPED:
        return after
    return {**after, "worker": evolve(after["worker"], runs=before["worker"].runs)}


def _marked(usual: Rule) -> Rule:
    def stopped(before: Mapping[str, Any], label: str, after: After, scope: Any) -> After:
        return {**after, "worker": evolve(after["worker"], delay=_STOPPED)}

    return extended(usual, stopped)


def _runs_on(usual: Rule) -> Rule:
    def cut_off(before: Mapping[str, Any], label: str, after: After, scope: Any) -> After:
        same = {"worker": before["worker"]}
        return {**after, **same, "client": evolve(after["client"], owned=before["client"].owned)}

    return extended(usual, cut_off)


def _stops_first(usual: Rule) -> Rule:
    def sends(before: Mapping[str, Any], label: str, after: After, scope: Any) -> After:
        sent = after["link"].request
        if not isinstance(sent, JoinGroup):
            return after
        return {
            **after,
            "client": evolve(after["client"], owned=0),
            "worker": evolve(after["worker"], runs=0),
            "link": evolve(after["link"], request=evolve(sent, owned=0)),
        }

    return extended(usual, sends)


def _at_once(usual: Rule) -> Rule:
    """Gives revoked work to the worker with the least work in the same plan."""

    def moves(walk: Walk[Errand], memory: Memory, scope: ConnectScope) -> Planning:
        for label, after, remembered in usual.call(walk, memory, scope):
            deal = after.errand
            if isinstance(deal, Deal):
                after = evolve(after, errand=evolve(deal, chosen=_moved(deal.chosen)))
            yield label, after, remembered

    return rewritten(usual, moves)


def _moved(chosen: Chosen) -> Chosen:
    pairs = list(chosen)
    for k, (claim, share) in enumerate(chosen):
        moving = claim.owned & share.stops
        others = [j for j in range(len(pairs)) if j != k]
        if moving and others:
            least = min(others, key=lambda j: pairs[j][1].owned.bit_count())
            theirs, has = pairs[least]
            pairs[least] = theirs, attrs.evolve(has, owned=has.owned | moving)
    return tuple(sorted(pairs))


def _behind(usual: Rule) -> Rule:
    """The leader makes a plan from the configurations that it has."""

    def guesses(walk: Walk[Errand], memory: Memory, scope: ConnectScope) -> Planning:
        errand = walk.errand
        assert isinstance(errand, Survey)
        if errand.leader is None or errand.leader.read >= errand.offset:
            yield from usual.call(walk, memory, scope)
        else:
            lags = evolve(walk, errand=evolve(errand, offset=errand.leader.read))
            yield from usual.call(lags, memory, scope)

    return rewritten(usual, guesses)


def _whenever(usual: Rule) -> Rule:
    """The delay of the leader is over without regard to workers that back off."""

    def over(memory: Memory, leavers: int) -> Iterator[tuple[Memory, int]]:
        yield evolve(memory, schedule=Schedule.OVER), leavers

    return rewritten(usual, over)


MUTATIONS = (
    Mutation(
        id="returned_work_runs_twice",
        ticket="KAFKA-9841",
        title="A worker comes back with work that another one has got, and both keep it.",
        family=CONNECT,
        invariant="one_owner",
        doc=(
            "The leader did not look whether two workers reported the same work."
            " Seeded: Kafka's assignor without that."
        ),
        scope={"partitions": 2, "members": 2, "generations": 3, "faults": {"poll_timeout": 1}},
        twists=_released(Release(revokes_duplicates=False, backs_off=False)),
    ),
    Mutation(
        id="revocation_overtaken",
        ticket="KAFKA-10763",
        title="A worker that could not start its last assignment ignores what is revoked.",
        family=CONNECT_ALIKE,
        invariant="work_runs_once",
        doc=(
            "Because nothing of the last assignment had been started, it was taken for granted that"
            " there was nothing to stop. But the worker still ran what it had kept, and the leader"
            " gave that to another one."
        ),
        scope={
            "members": 2,
            "generations": 6,
            "faults": {"close": 1, "config_update": 1},
            "partitions": 3,
        },
        twists=_hearing(_goes_on),
    ),
    Mutation(
        id="stopped_work_stays_stopped",
        ticket="KAFKA-9851",
        title="A worker that has stopped by itself does not start again what it is given back.",
        family=CONNECT,
        invariant="runs_all_of_its_share",
        doc=(
            "It stopped its work because it did not find the coordinator, and did not note that it"
            " no longer ran. What it believes to run it does not start."
        ),
        scope={"partitions": 2, "members": 1, "generations": 2, "faults": {"unreachable": 1}},
        twists={lose_coordinator.name: _marked, **_hearing(_starts_nothing)},
    ),
    Mutation(
        id="runs_on_when_cut_off",
        ticket="KAFKA-9184",
        title="A worker that does not find the coordinator goes on with its work.",
        family=CONNECT,
        invariant="stops_when_cut_off",
        doc=(
            "So it ran its work beside the worker to which that was given meanwhile."
            " Seeded: it loses its connection and nothing else."
        ),
        scope={"partitions": 2, "members": 1, "generations": 1, "faults": {"unreachable": 1}},
        twists={lose_coordinator.name: _runs_on},
    ),
    Mutation(
        id="stops_to_join",
        ticket=SEEDED,
        title="A worker stops all of its work to join again.",
        family=CONNECT,
        invariant="work_goes_on",
        doc="Its protocol is the incremental one, and it prepares a rebalance as an eager worker.",
        scope={"partitions": 2, "members": 2, "generations": 2},
        twists={client.send_join.name: _stops_first},
    ),
    Mutation(
        id="revokes_and_waits",
        ticket=SEEDED,
        title="A worker that has stopped what was revoked does not join again.",
        family=CONNECT,
        invariant="joins_again",
        doc="Nobody starts the round that would give the work to another worker.",
        scope={"partitions": 2, "members": 2, "generations": 2},
        twists=_hearing(_stays),
    ),
    Mutation(
        id="moves_in_one_round",
        ticket=SEEDED,
        title="The leader gives away work in the plan that revokes it.",
        family=CONNECT,
        invariant="plan_moves_in_two_steps",
        doc="The worker that gets it may start it before the other one has stopped it.",
        scope={"partitions": 2, "members": 2, "generations": 2},
        twists={make_plan.name: _at_once},
    ),
    Mutation(
        id="lost_without_delay_for_ever",
        ticket="KAFKA-15693",
        title="With scheduled.rebalance.max.delay.ms = 0, lost work is never given away.",
        family=CONNECT,
        invariant="idle_work_is_scheduled",
        doc=(
            "The leader began a delay of 0 ms, which counts as none, and did not give the work away"
            " either."
        ),
        scope={
            "partitions": 2,
            "members": 2,
            "generations": 2,
            "faults": {"close": 1},
            "delay": False,
        },
        twists=_released(Release(reassigns_without_delay=False)),
    ),
    Mutation(
        id="waits_for_nobody",
        ticket="KAFKA-9848",
        title="The leader takes work whose answer got lost for that of a worker that has left.",
        family=CONNECT,
        invariant="delay_has_a_reason",
        doc=(
            "Nobody runs the work that was given away in an answer that never arrived. Although"
            " nobody had left, the leader waited for the whole delay."
        ),
        scope={"partitions": 2, "members": 2, "generations": 3, "faults": {"unreachable": 1}},
        twists=_released(Release(knows_who_was_there=False)),
    ),
    Mutation(
        id="old_delay_counts",
        ticket="KAFKA-9184",
        title="The delay goes on although what was lost has come back.",
        family=CONNECT,
        invariant="delay_ends_when_work_is_back",
        doc=(
            "A worker came back with its work, and its leader did not reset the delay: rounds were"
            " scheduled again and again, and the next worker that left was not waited for."
        ),
        scope={"partitions": 2, "members": 2, "generations": 3, "faults": {"poll_timeout": 1}},
        twists=_released(Release(ends_the_delay_of_returned_work=False)),
    ),
    Mutation(
        id="first_candidate_takes_all",
        ticket="KAFKA-10413",
        title="Of several workers that come back, one gets all lost work.",
        family=CONNECT,
        invariant="candidates_get_lost_work",
        doc="The lost work went to the first candidate, and the others stayed empty.",
        scope={
            "partitions": 2,
            "members": 2,
            "generations": 4,
            "faults": {"unreachable": 1, "close": 1},
        },
        twists=_released(Release(spreads_lost_work=False)),
    ),
    Mutation(
        id="newcomer_stays_idle",
        ticket="KAFKA-12495",
        title="A worker that joins in the round after one that revoked gets nothing.",
        family=CONNECT,
        invariant="last_plan_is_balanced",
        doc=(
            "To avoid a storm of rebalances the leader never revoked in two rounds after each"
            " other, and nothing started a third one. Since 3.4 it does so after a back-off."
        ),
        scope={"members": 3, "generations": 3, "partitions": 3},
        twists=_released(Release(backs_off=False)),
    ),
    Mutation(
        id="plans_while_behind",
        ticket=SEEDED,
        title="A leader that is behind a worker makes a plan from what it has read.",
        family=CONNECT,
        invariant="plan_knows_all_work",
        doc="It does not compare its offset with those of the others.",
        scope={"partitions": 2, "members": 2, "generations": 2, "faults": {"config_update": 1}},
        twists={make_plan.name: _behind},
    ),
    Mutation(
        id="backs_off_for_the_whole_delay",
        ticket="KAFKA-9849",
        title="A worker that cannot read its configurations backs off as long as the leader waits.",
        family=CONNECT_BACKOFF,
        invariant="stops_before_the_delay_is_over",
        doc=(
            "It went on with its work while it backed off for worker.unsync.backoff.ms, which is as"
            " long as scheduled.rebalance.max.delay.ms by default. Meanwhile its work was given"
            " away."
        ),
        scope={
            "members": 2,
            "partitions": 2,
            "generations": 5,
            "faults": {"config_timeout": 1, "config_update": 1},
        },
        twists={delay_over.name: _whenever},
    ),
)
