"""Mistakes that a coordinator of consumer groups (KIP-848) could make with targets, epochs and
records, seeded.
"""

from __future__ import annotations

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.mutations.twists import Values, after, sees
from groupcheck.model.protocol.consumer import heartbeats, targets
from groupcheck.model.protocol.consumer.memory import State
from groupcheck.model.protocol.consumer.messages import Tag
from groupcheck.model.protocol.family import CONSUMER
from groupcheck.model.protocol.mutation import SEEDED, Mutation


def _gives_each_one_less(before: Values, label: str, after: Values) -> Values:
    walk = after["walk"]
    shares = tuple((key, share & (share - 1)) for key, share in walk.errand.shares)
    return {"walk": evolve(walk, errand=evolve(walk.errand, shares=shares))}


def _frees_nothing(before: Values, label: str, after: Values) -> Values:
    return {"core": evolve(after["core"], held=before["core"].held)} if label == "left" else {}


def _keeps_while_it_waits(before: Values, label: str, after: Values) -> Values:
    seat, kept = after["seat"], before["seat"].owned & before["seat"].topics
    if seat is None or seat.state != State.UNRELEASED:
        return {}
    core = evolve(after["core"], held=after["core"].held | kept)
    return {"core": core, "seat": evolve(seat, assigned=seat.assigned | kept)}


def _revokes_what_it_keeps(before: Values, label: str, after: Values) -> Values:
    seat = after["seat"]
    return {"seat": evolve(seat, revoking=seat.owned)} if label == "unrevoked" else {}


def _takes_silence_for_yes(given: Values) -> Values:
    link = given["link"]
    if given["seat"].state != State.UNREVOKED or link.request.owned is not None:
        return {}
    return {"link": evolve(link, request=attrs.evolve(link.request, owned=0))}


def _compares_no_epochs(given: Values) -> Values:
    link = given["link"]
    return {"link": evolve(link, request=attrs.evolve(link.request, tag=Tag.CURRENT))}


MUTATIONS = (
    Mutation(
        id="plan_is_incomplete",
        ticket=SEEDED,
        title="The plan leaves partitions out.",
        family=CONSUMER,
        invariant="plan_is_legal",
        doc="Seeded: an assignor that gives each member one partition less. Nobody consumes those.",
        scope={"members": 1, "partitions": 1},
        twists=after(targets.compute_target, change=_gives_each_one_less),
    ),
    Mutation(
        id="leave_frees_nothing",
        ticket=SEEDED,
        title="The partitions of a member that has left count as taken.",
        family=CONSUMER,
        invariant="given_up_is_free",
        doc="Seeded: the member's record goes, the epochs of its partitions stay.",
        scope={"members": 1, "partitions": 1, "faults": {"close": 1}},
        twists=after(heartbeats.leave_consumer_group, change=_frees_nothing),
    ),
    Mutation(
        id="waiting_member_keeps_all",
        ticket=SEEDED,
        title="A member that waits for a partition keeps what is meant for another one.",
        family=CONSUMER,
        invariant="member_at_its_target_has_nothing_of_others",
        doc="Seeded: what a member has given up stays in its record until it has its whole target.",
        scope={"members": 2, "topics": 2, "partitions": 1, "requests": "anybody"},
        twists=after(heartbeats.reconcile_member, change=_keeps_while_it_waits),
    ),
    Mutation(
        id="kept_is_revoked",
        ticket=SEEDED,
        title="A member is to give up what it is told to keep.",
        family=CONSUMER,
        invariant="record_makes_sense",
        doc="Seeded: all that the member had is written as what it is to revoke.",
        scope={"members": 2},
        twists=after(heartbeats.reconcile_member, change=_revokes_what_it_keeps),
    ),
    Mutation(
        id="silence_acknowledges",
        ticket=SEEDED,
        title="A heartbeat that says nothing of partitions acknowledges a revocation.",
        family=CONSUMER,
        invariant="revocation_comes_before_the_epoch",
        doc="Seeded: a list that is not sent, which means as before, is read as an empty one.",
        scope={"members": 2, "requests": "anybody"},
        twists=sees(heartbeats.reconcile_member, _takes_silence_for_yes),
    ),
    Mutation(
        id="epochs_are_not_compared",
        ticket=SEEDED,
        title="A heartbeat counts, whatever its epoch is.",
        family=CONSUMER,
        invariant="old_epoch_is_refused",
        doc="Seeded: it is enough that the group knows the member. Two lost answers show it.",
        scope={"members": 2, "partitions": 1, "faults": {"lose_response": 2, "close": 1}},
        twists=sees(heartbeats.consumer_heartbeat, _compares_no_epochs),
    ),
)
