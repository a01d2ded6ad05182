"""Unsafe readings of the asynchronous rebalance, and mistakes in carrying it out.

A reading is a value of a field of the scope (`--set handover=at_once`); the mutation of a reading
reads that field otherwise in the rules that ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.async_server import coordinator, failover, rounds, timers
from groupcheck.model.protocol.async_server.plans import sticky
from groupcheck.model.protocol.async_server.rounds import Collect, Deal
from groupcheck.model.protocol.family import ASYNC_SERVER
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import rewritten

Twist = Callable[[Rule], Rule]
READING = "a gap of the source"
REMOVALS = (timers.session_timeout, timers.rebalance_timeout, coordinator.leave_group)


def _reads(*rules: Rule, **reading: str) -> Mapping[str, Twist]:
    """These rules see a scope with another reading."""

    @cache
    def other(scope: Any) -> Any:
        return attrs.evolve(scope, **reading)

    def twist(rule: Rule) -> Rule:
        def call(*given: Any) -> Any:
            *slots, scope = given
            return rule.call(*slots, other(scope))

        assert rule.takes_scope, rule.name
        return rewritten(rule, call)

    return {rule.name: twist for rule in rules}


def _plans_anew(rule: Rule) -> Rule:
    """The plan does not look at what members own."""

    def call(core: Any, walk: Any, scope: Any) -> Iterator[Any]:
        owned = walk.errand.owned if isinstance(walk.errand, Collect) else ()
        for after, rest in rule.call(core, walk, scope):
            if not isinstance(walk.errand, Collect) or not after.errands:
                yield after, rest
                continue
            deals = {
                evolve(after.errands[0], chosen=tuple(sorted(zip(owned, shares, strict=True))))
                for shares in sticky([0] * len(owned), scope.partition_count)
            }
            yield evolve(after, errands=tuple(sorted(deals, key=_chosen))), rest

    return rewritten(rule, call)


def _chosen(errand: Deal) -> Any:
    return errand.chosen


def _forgets_parked(rule: Rule) -> Rule:
    def call(walk: Any, seats: Any, scope: Any) -> Iterator[Any]:
        for after, asked in rule.call(walk, seats, scope):
            yield after, evolve(asked, ids=tuple([(id, evolve(s, join=False)) for id, s in asked]))

    return rewritten(rule, call)


def _answers_nobody(rule: Rule) -> Rule:
    def call(core: Any, seats: Any, link: Any, scope: Any) -> Iterator[Any]:
        for label, after, *rest in rule.call(core, seats, link, scope):
            yield label, evolve(after, errands=()) if label == "rejoined" else after, *rest

    return rewritten(rule, call)


def _still_awaits(rule: Rule) -> Rule:
    def call(core: Any, seats: Any, link: Any, scope: Any) -> Iterator[Any]:
        for label, after, *rest in rule.call(core, seats, link, scope):
            waits = evolve(after, missing=core.missing, errands=())
            yield label, waits if label == "parked" else after, *rest

    return rewritten(rule, call)


READINGS = (
    Mutation(
        id="share_before_revocation",
        ticket=READING,
        title="The new owner of a partition is answered before the old one has given it up.",
        family=ASYNC_SERVER,
        invariant="owners_apart",
        doc=(
            "Step 5 of the source says that the answer carries the new share, and not when it is"
            " sent. Reading: as soon as the plan is made (`handover=at_once`)."
        ),
        scope={"members": 2, "generations": 2},
        twists=_reads(coordinator.join_group, rounds.end_walk, handover="at_once"),
    ),
    Mutation(
        id="plan_taken_for_owned",
        ticket=READING,
        title="A plan that was overtaken counts as if all members had followed it.",
        family=ASYNC_SERVER,
        invariant="owners_apart",
        doc=(
            "Step 2 marks members whose share changes; the source does not say compared with what."
            " Reading: with the last plan (`basis=plan`). If another round overtakes the marks, a"
            " member keeps what the plan before has given away, and is not marked again."
        ),
        scope={"members": 3, "generations": 3},
        twists=_reads(
            rounds.ask_again, rounds.look_at_reports, rounds.deal, failover.reload, basis="plan"
        ),
    ),
    Mutation(
        id="old_report_believed",
        ticket=READING,
        title="A delayed heartbeat of an earlier generation counts as the member's report.",
        family=ASYNC_SERVER,
        invariant="owners_apart",
        doc=(
            "The source does not say that a report names a generation. Reading: it need not"
            " (`stale=believed`). A heartbeat that was held up says what the member owned before it"
            " got its share."
        ),
        scope={"members": 3, "generations": 3, "faults": {"delay_request": 1}},
        twists=_reads(coordinator.heartbeat, stale="believed"),
    ),
    Mutation(
        id="mark_told_once",
        ticket=READING,
        title="The mark is gone once it was sent, and the heartbeat's answer is lost.",
        family=ASYNC_SERVER,
        invariant="marks_last",
        doc=(
            "Step 3 tells marked members on their next heartbeat. Reading: on one heartbeat"
            " (`mark=once`). If its answer is lost, nobody tells the member again, and whoever"
            " waits for its partitions waits for ever."
        ),
        scope={"members": 2, "generations": 2, "faults": {"lose_response": 1}},
        twists=_reads(coordinator.heartbeat, mark="once"),
    ),
    Mutation(
        id="late_rejoin_believed",
        ticket=READING,
        title="A delayed JoinGroup counts as if the member gave up what it has got since.",
        family=ASYNC_SERVER,
        invariant="owners_apart",
        doc=(
            "A JoinGroup says that its member owns nothing. Reading: whenever it arrives"
            " (`rejoin=believed`). The member has sent it again over another connection, and owns"
            " partitions since. Its answer goes nowhere, so that the next heartbeat would find out;"
            " unless a fail-over comes first."
        ),
        scope={
            "members": 2,
            "generations": 2,
            "faults": {"delay_request": 1, "fail_over": 1},
        },
        twists=_reads(coordinator.join_group, rejoin="believed"),
    ),
    Mutation(
        id="generation_moves_with_mark",
        ticket=READING,
        title="The last commit before the revocation is refused.",
        family=ASYNC_SERVER,
        invariant="owners_may_commit",
        doc=(
            "The source does not say when a member's generation ends. Reading: when it is marked"
            " (`epochs=mark`). What it has processed since its last commit is processed again."
        ),
        scope={"members": 2, "generations": 2},
        twists=_reads(coordinator.offset_commit, epochs="mark"),
    ),
    Mutation(
        id="generation_of_the_group",
        ticket=READING,
        title="A plan begins a generation for all, so that members stop whose share is unchanged.",
        family=ASYNC_SERVER,
        invariant="others_go_on",
        doc=(
            "In the classic group a rebalance ends the generation of every member. Reading: here,"
            " too (`epochs=group`). The next heartbeat of an unaffected member is refused with 22"
            " (ILLEGAL_GENERATION)."
        ),
        scope={"members": 2, "generations": 2, "partitions": 1},
        twists=_reads(coordinator.heartbeat, epochs="group"),
    ),
    Mutation(
        id="commit_by_id_alone",
        ticket=READING,
        title="A delayed commit is accepted after its member has given the partition up.",
        family=ASYNC_SERVER,
        invariant="only_owners_commit",
        doc=(
            "The source does not mention commits. Reading: every member may commit"
            " (`commits=by_id`). A commit that was held up overwrites that of the next owner."
        ),
        scope={"members": 2, "generations": 2, "faults": {"delay_request": 1}},
        twists=_reads(coordinator.offset_commit, commits="by_id"),
    ),
    Mutation(
        id="share_of_the_dead_lost",
        ticket=READING,
        title="A marked member dies, and what the plan has for it belongs to nobody.",
        family=ASYNC_SERVER,
        invariant="everything_assigned",
        doc=(
            "The source does not say what follows if a member dies between mark and re-join."
            " Reading: the plan goes on without it (`removal=goes_on`)."
        ),
        scope={
            "members": 2,
            "generations": 2,
            "partitions": 2,
            "faults": {"session_timeout": 1},
        },
        twists=_reads(*REMOVALS, removal="goes_on"),
    ),
    Mutation(
        id="logged_plan_trusted",
        ticket=READING,
        title="A new coordinator believes that all members follow the plan in the log.",
        family=ASYNC_SERVER,
        invariant="owners_apart",
        doc=(
            "The source does not mention fail-over. Reading: the coordinator loads the plan and"
            " goes on (`load=trusts`). Marks are not in the log: whoever had to re-join does not"
            " hear of it, and the next owner is answered."
        ),
        scope={"members": 2, "generations": 2, "faults": {"fail_over": 1}},
        twists=_reads(failover.reload, rounds.end_walk, load="trusts"),
    ),
    Mutation(
        id="logged_members_without_generations",
        ticket=READING,
        title="A new coordinator accepts any generation, that of a removed member, too.",
        family=ASYNC_SERVER,
        invariant="owners_apart",
        doc=(
            "Reading: the log holds ids and shares (`record=members`), so that a coordinator that"
            " has loaded them accepts what members say. A member was removed, its partition given"
            " away, and its first JoinGroup arrives late and adds its id again. The fail-over"
            " forgets that the old process names a generation of before."
        ),
        scope={
            "members": 2,
            "generations": 2,
            "faults": {"delay_request": 1, "session_timeout": 1, "fail_over": 1},
        },
        twists=_reads(failover.reload, record="members"),
    ),
    Mutation(
        id="told_before_plan_is_logged",
        ticket=READING,
        title="Members are answered in a generation that a fail-over forgets.",
        family=ASYNC_SERVER,
        invariant="generations_are_known",
        doc=(
            "Reading: the plan is written to the log after members were told of it"
            " (`logged=later`). The next coordinator gives the same number to another plan."
        ),
        scope={"members": 1, "generations": 1, "faults": {"fail_over": 1}},
        twists=_reads(rounds.end_walk, logged="later"),
    ),
    Mutation(
        id="old_client_counts_as_idle",
        ticket=READING,
        title="An old client reports nothing, and what it owns is given away.",
        family=ASYNC_SERVER,
        invariant="owners_apart",
        doc=(
            "The source does not say how old clients take part. Reading: a heartbeat without a"
            " report reports nothing (`old=nothing`)."
        ),
        scope={"members": 2, "generations": 2, "old_clients": 2},
        twists=_reads(coordinator.heartbeat, old="nothing"),
    ),
    Mutation(
        id="old_client_goes_by_the_log",
        ticket=READING,
        title="After a fail-over, an old client is taken to own what the last plan gave it.",
        family=ASYNC_SERVER,
        invariant="owners_apart",
        doc=(
            "Reading: the coordinator goes by what it gave an old client (`old=stored`). That is"
            " right until a fail-over, which loses whether the client has followed the plan."
        ),
        scope={"members": 2, "generations": 3, "old_clients": 2, "faults": {"fail_over": 1}},
        twists=_reads(
            coordinator.heartbeat, timers.rebalance_timeout, failover.reload, old="stored"
        ),
    ),
)
MUTATIONS = (
    *READINGS,
    Mutation(
        id="plan_by_any_assignor",
        ticket=SEEDED,
        title="The plan gives all partitions to one of two members.",
        family=ASYNC_SERVER,
        invariant="plans_are_even",
        doc="A sticky assignor balances first. Seeded: any complete plan will do.",
        scope={"members": 2, "generations": 1, "partitions": 2},
        twists=_reads(rounds.end_walk, assignor="any"),
    ),
    Mutation(
        id="plan_ignores_reports",
        ticket=SEEDED,
        title="The plan moves partitions although the shares were even.",
        family=ASYNC_SERVER,
        invariant="plans_are_sticky",
        doc="Seeded: the coordinator makes the plan of a group in which nobody owns anything.",
        scope={"members": 3, "generations": 2, "partitions": 3},
        twists={rounds.end_walk.name: _plans_anew},
    ),
    Mutation(
        id="round_forgets_parked_joins",
        ticket=SEEDED,
        title="A round begins and forgets the JoinGroups that are parked.",
        family=ASYNC_SERVER,
        invariant="waiting_is_remembered",
        doc="A parked JoinGroup is the report of its member. Seeded: it counts, and is forgotten.",
        scope={"members": 2, "generations": 2},
        twists={rounds.ask_again.name: _forgets_parked},
    ),
    Mutation(
        id="rejoin_answers_nobody",
        ticket=SEEDED,
        title="A member gives up its partitions, and nobody who waits is answered.",
        family=ASYNC_SERVER,
        invariant="free_shares_are_answered",
        doc="Seeded: JoinGroup only notes that its member owns nothing any more.",
        scope={"members": 2, "generations": 2},
        twists={coordinator.join_group.name: _answers_nobody},
    ),
    Mutation(
        id="rejoin_is_no_report",
        ticket=SEEDED,
        title="A member re-joins while reports are collected, and its report is still awaited.",
        family=ASYNC_SERVER,
        invariant="group_is_counted",
        doc="Seeded: only heartbeats count as reports, and a member that waits sends none.",
        scope={"members": 2, "generations": 2, "old_clients": 1},
        twists={coordinator.join_group.name: _still_awaits},
    ),
)
