"""Bugs of cooperative rebalancing: members that give up too much or claim too much, and leaders
that give away what somebody owns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import permutations
from operator import or_

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import assignment, coordinator, walks
from groupcheck.model.protocol.classic import client as member
from groupcheck.model.protocol.classic.assignment import Assign, Claims, Plan
from groupcheck.model.protocol.classic.client import Client, Prepare, give_up, reset
from groupcheck.model.protocol.classic.coordinator import Outcome
from groupcheck.model.protocol.classic.features.cooperative import FAMILY as COOPERATIVE
from groupcheck.model.protocol.classic.group import REST, Core, Errand, Seats, Walk
from groupcheck.model.protocol.classic.plans import Claim, plans
from groupcheck.model.protocol.classic.rounds import prepare
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import REBALANCE_IN_PROGRESS
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_GENERATION, JoinGroup
from groupcheck.model.protocol.mutation import SEEDED, MutatedRule, Mutation, seeded


@seeded(member.send_join)
def _revokes_everything(
    client: Client, link: Link, scope: Scope
) -> Iterator[tuple[str, Client, Link]]:
    for label, after, sent in member.send_join.call(client, link, scope):
        if label == "sent":
            assert isinstance(sent.request, JoinGroup)
            after, sent = give_up(after), evolve(sent, request=evolve(sent.request, owned=0))
        yield label, after, sent


@seeded(member.send_join)
def _claims_nothing(client: Client, link: Link, scope: Scope) -> Iterator[tuple[str, Client, Link]]:
    for label, after, sent in member.send_join.call(client, link, scope):
        if label == "sent":
            assert isinstance(sent.request, JoinGroup)
            sent = evolve(sent, request=evolve(sent.request, owned=0))
        yield label, after, sent


@seeded(member.sync_answer)
def _reset_by_a_round(
    client: Client, link: Link, scope: Scope
) -> Iterator[tuple[str, Client, Link]]:
    for label, after, rest in member.sync_answer.call(client, link, scope):
        told = link.answer is not None and link.answer.code == REBALANCE_IN_PROGRESS
        yield label, reset(after, False) if told else after, rest


@seeded(member.sync_answer)
def _revokes_and_stays(
    client: Client, link: Link, scope: Scope
) -> Iterator[tuple[str, Client, Link]]:
    for label, after, rest in member.sync_answer.call(client, link, scope):
        yield label, evolve(after, rejoin=False) if label == "assigned" else after, rest


@seeded(member.join_answer)
def _prepared_for_good(client: Client, link: Link) -> Iterator[tuple[str, Client, Link]]:
    for label, after, rest in member.join_answer.call(client, link):
        yield label, evolve(after, prepare=Prepare.DONE) if label == "refused" else after, rest


def _hearing(heard: Callable[[Sequence[Claim]], Sequence[Claim]]) -> MutatedRule:
    """The leader makes something else of the claims."""

    @seeded(walks.end_walk)
    def planned(
        core: Core, walk: Walk[Errand], scope: Scope
    ) -> Iterator[tuple[Core, Walk[Errand]]]:
        errand = walk.errand
        if isinstance(errand, Claims):
            made = plans(errand.claims, errand.plan.free, scope, heard(errand.claims))
            errands = tuple([evolve(errand.plan, chosen=chosen) for chosen in made])
            yield evolve(core, errands=errands), REST
        else:
            yield from walks.end_walk.call(core, walk, scope)

    return planned


def _only_the_latest(claims: Sequence[Claim]) -> Sequence[Claim]:
    latest = max(generation for generation, *_ in claims)
    return [
        (generation, owned * (generation == latest), topics) for generation, owned, topics in claims
    ]


def _only_the_oldest(claims: Sequence[Claim]) -> Sequence[Claim]:
    return [
        (
            generation,
            owned & ~_claimed(before for before in claims if before[0] < generation),
            topics,
        )
        for generation, owned, topics in claims
    ]


def _claimed(claims: Iterable[Claim]) -> int:
    return reduce(or_, (owned for _, owned, _ in claims), 0)


def _nobodys(claims: Sequence[Claim]) -> Sequence[Claim]:
    return [(generation, 0, topics) for generation, _, topics in claims]


@seeded(walks.end_walk)
def _refuses_its_own_plan(
    core: Core, walk: Walk[Errand], scope: Scope
) -> Iterator[tuple[Core, Walk[Errand]]]:
    for after, rest in _hearing(_only_the_latest).rule.call(core, walk, scope):
        if not isinstance(walk.errand, Claims):
            yield after, rest
            continue
        kept = [plan for plan in after.errands if not _takes_from_another(plan)]
        if kept:
            yield evolve(after, errands=tuple(kept)), rest
        if len(kept) < len(after.errands):
            yield prepare(core), rest


@seeded(coordinator.join_group)
def _claims_as_before(core: Core, seats: Seats, link: Link, scope: Scope) -> Iterator[Outcome]:
    for label, after, known, answered in coordinator.join_group.call(core, seats, link, scope):
        for id, seat in known:
            was = seats[id]
            if was is not None and was.owned and was.owned == seat.owned:
                known = known.put(id, evolve(seat, claimed=was.claimed))
        yield label, after, known, answered


def _takes_from_another(plan: Errand) -> bool:
    """Does a member get what another one claims, however old that claim is?"""
    chosen = plan.chosen if isinstance(plan, Plan) else None
    pairs = permutations(chosen or (), 2)
    return any(share & owned for (_, share), ((_, owned, _), _) in pairs)


@seeded(member.send_join)
def _claims_of_all(client: Client, link: Link, scope: Scope) -> Iterator[tuple[str, Client, Link]]:
    for label, after, sent in member.send_join.call(client, link, scope):
        if label == "sent" and client.generation != NO_GENERATION:
            assert isinstance(sent.request, JoinGroup)
            everything = (1 << scope.partition_count) - 1
            sent = evolve(sent, request=evolve(sent.request, owned=everything))
        yield label, after, sent


@seeded(member.send_join)
def _application_not_told(
    client: Client, link: Link, scope: Scope
) -> Iterator[tuple[str, Client, Link]]:
    for label, after, sent in member.send_join.call(client, link, scope):
        if label == "sent" and client.generation == NO_GENERATION:
            after = evolve(after, position=client.position, dirty=client.dirty)
        yield label, after, sent


@seeded(assignment.answer_syncs)
def _all_claims_kept(
    walk: Walk[Assign], seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Assign], Seats, Link]]:
    if walk.errand.chosen is not None:
        kept = [(claim, share | claim[1]) for claim, share in walk.errand.chosen]
        walk = evolve(walk, errand=evolve(walk.errand, chosen=tuple(kept)))
    yield from assignment.answer_syncs.call(walk, seats, link, scope)


MUTATIONS = (
    Mutation(
        id="eager_in_a_cooperative_group",
        ticket="twmb/franz-go v1.13.0",
        title="A cooperative member gives up everything to join again.",
        family=COOPERATIVE,
        invariant="joining_keeps",
        doc=(
            "A client that listed assignors of both kinds took its way to revoke from the first of"
            " them, and not from the one that the group had chosen."
            " Seeded: onJoinPrepare revokes all partitions."
        ),
        scope={"members": 2, "generations": 2},
        seeds=(_revokes_everything,),
    ),
    Mutation(
        id="claims_nothing",
        ticket="twmb/franz-go v1.10.0, IBM/sarama#1493",
        title="A member does not say what it owns.",
        family=COOPERATIVE,
        invariant="claims_are_true",
        doc=(
            "The previous assignment was cleared before it was reported, or was never sent, so that"
            " the leader took all partitions for free."
            " Seeded: JoinGroup claims nothing."
        ),
        scope={"members": 2, "generations": 2},
        seeds=(_claims_nothing,),
    ),
    Mutation(
        id="round_resets_late_member",
        ticket="KAFKA-14016, KAFKA-13891",
        title="A member that is late with its SyncGroup loses all its partitions.",
        family=COOPERATIVE,
        invariant="reset_only_when_refused",
        doc=(
            "The cure of KAFKA-13419 made a member forget its generation when SyncGroup was"
            " answered 27, so that every member that was merely late dropped what it owned"
            " (3.3.0, taken back in 3.3.2). Seeded: the same."
        ),
        scope={"members": 2, "generations": 1},
        seeds=(_reset_by_a_round,),
    ),
    Mutation(
        id="revokes_without_joining_again",
        ticket=SEEDED,
        title="A member revokes what its share lacks and does not join again.",
        family=COOPERATIVE,
        invariant="revoked_joins_again",
        doc=(
            "The leader withholds a partition until its owner has revoked it, and gives it away in"
            " the round that the owner starts. Seeded: onJoinComplete revokes, and that is all."
        ),
        scope={"members": 2, "generations": 2},
        seeds=(_revokes_and_stays,),
        progress="every_partition_assigned",
        progress_scope={"members": 2},
    ),
    Mutation(
        id="claims_lost_partitions",
        ticket="KAFKA-12983",
        title="A member that loses its id in the middle of a round still claims what it owned.",
        family=COOPERATIVE,
        invariant="lost_claims_nothing",
        doc=(
            "onJoinPrepare ran once in a round. If JoinGroup was then answered 25, it did not run"
            " again, and the partitions of the lost id rode along under the new one."
            " Seeded: a member that is refused in JoinGroup counts as prepared."
        ),
        scope={"members": 2, "generations": 2, "faults": {"session_timeout": 1}},
        seeds=(_prepared_for_good,),
    ),
    Mutation(
        id="late_claims_ignored",
        ticket="KAFKA-14639",
        title="The leader listens only to the claims of the highest generation.",
        family=COOPERATIVE,
        invariant="hand_off",
        doc=(
            "A member that had missed one generation still owned its partitions. Its claim was of"
            " an older generation, so the leader took them for free and gave them away at once."
            " Seeded: the same."
        ),
        scope={"members": 2, "generations": 3, "faults": {"delay_request": 1, "lose_response": 1}},
        seeds=(_hearing(_only_the_latest),),
    ),
    Mutation(
        id="transfer_in_one_round",
        ticket="KAFKA-15170",
        title="The leader gives a partition to its next owner before the last one has revoked it.",
        family=COOPERATIVE,
        invariant="hand_off",
        doc=(
            "The rack-aware part of the assignor did not note that a partition changed its owner,"
            " so it was not withheld. Seeded: nothing is."
        ),
        scope={"members": 3, "generations": 2},
        seeds=(_hearing(_nobodys),),
    ),
    Mutation(
        id="conflicting_claims_kept",
        ticket="KAFKA-12984",
        title="Two members claim the same partition, and both keep it.",
        family=COOPERATIVE,
        invariant="one_owner",
        doc=(
            "The assignor could not tell which of two claims was the older one, because the claims"
            " had lost their generations. Seeded: whoever claims a partition keeps it."
        ),
        scope={
            "members": 2,
            "generations": 3,
            "records": 0,
            "faults": {"delay_request": 1, "disconnect": 1},
        },
        seeds=(_all_claims_kept,),
    ),
    Mutation(
        id="plan_refused_by_its_leader",
        ticket="KAFKA-13406",
        title="The leader refuses its own plan for ever, because of a claim that is out of date.",
        family=COOPERATIVE,
        invariant="claims_hinder_no_plan",
        doc=(
            "The leader checked that no partition moved between two members in one round, and"
            " compared with claims that might be out of date. It threw, everybody joined again, and"
            " the claim was still the same (2.4 to 3.0.0). Seeded: a claim keeps its generation as"
            " long as it names the same partitions, the leader listens to the highest generation"
            " alone, and in place of a plan that takes something from another member's claim a new"
            " round starts."
        ),
        scope={
            "members": 2,
            "generations": 3,
            "records": 0,
            "faults": {"delay_request": 1, "disconnect": 1},
        },
        seeds=(_claims_as_before, _refuses_its_own_plan),
        progress="group_settles",
        progress_scope={"members": 2, "records": 0, "faults": {"append_failure": 1}},
    ),
    Mutation(
        id="oldest_claim_wins",
        ticket="librdkafka 2.2.0, twmb/franz-go d7ae9db9",
        title="Of two claims to one partition, the leader believes the older one.",
        family=COOPERATIVE,
        invariant="latest_claim_counts",
        doc=(
            "The comparison of generations was the wrong way round (librdkafka), or what a plan"
            " moves was found by comparing it with claims that were out of date (franz-go). The"
            " owner was not asked to revoke, and the older claimant got the partition. Seeded: a"
            " claim counts only if there is no older one."
        ),
        scope={
            "members": 2,
            "generations": 3,
            "records": 0,
            "faults": {"delay_request": 1, "disconnect": 1},
        },
        seeds=(_hearing(_only_the_oldest),),
    ),
    Mutation(
        id="claims_of_another",
        ticket="aio-libs/aiokafka#1175",
        title="All members of a process claim the same partitions.",
        family=COOPERATIVE,
        invariant="claims_are_true",
        doc=(
            "The assignor kept its state on the class, so that all consumers of a process reported"
            " what the last one had been given. Two equal claims cancel each other: nobody gets the"
            " partition. Seeded: a member that joins again claims everything."
        ),
        scope={"members": 2, "generations": 2},
        seeds=(_claims_of_all,),
        progress="every_partition_assigned",
        progress_scope={"members": 2},
    ),
    Mutation(
        id="application_not_told_of_loss",
        ticket="KAFKA-8972",
        title="The assignment is cleared before the application is told, which then loses nothing.",
        family=COOPERATIVE,
        invariant="position_needs_ownership",
        doc=(
            "The consumer cleared its assignment first, so the callback got no partitions, and the"
            " application went on with them (before 2.4.0). Seeded: a member that has lost its"
            " generation gives up its partitions, and its application goes on processing."
        ),
        scope={"members": 1, "generations": 1, "faults": {"session_timeout": 1}},
        seeds=(_application_not_told,),
    ),
)
