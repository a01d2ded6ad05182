"""Mistakes that a coordinator of share groups (KIP-932), or a member, could make, seeded."""

from __future__ import annotations

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.mutations.twists import Values, after, reads, sees
from groupcheck.model.protocol.consumer.memory import Previous
from groupcheck.model.protocol.consumer.messages import Tag
from groupcheck.model.protocol.family import SHARE
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.share import client, heartbeats, partitions, timers


def _keeps_what_it_had(before: Values, label: str, after: Values) -> Values:
    """Only the first assignment is given."""
    seat, old = after["seat"], before["seat"]
    if label != "advanced" or old.previous == Previous.NEW:
        return {}
    link = after["link"]
    answer = attrs.evolve(link.answer, assigned=old.assigned) if link.answer else None
    return {"seat": evolve(seat, assigned=old.assigned), "link": evolve(link, answer=answer)}


def _begins_epochs_anew(before: Values, label: str, after: Values) -> Values:
    seat = after["seat"]
    if label != "advanced" or before["seat"].previous != Previous.OLDER:
        return {}
    return {"seat": evolve(seat, previous=Previous.ZERO)}


def _gives_out_epochs_ahead(before: Values, label: str, after: Values) -> Values:
    link = after["link"]
    if link.answer is None or label != "advanced":
        return {}
    return {"link": evolve(link, answer=attrs.evolve(link.answer, tag=Tag.AHEAD))}


def _leaves_the_first_out(before: Values, label: str, after: Values) -> Values:
    walk = after["walk"]
    shares = tuple((key, share & (share - 1)) for key, share in walk.errand.shares)
    return {"walk": evolve(walk, errand=evolve(walk.errand, shares=shares))}


def _takes_all_for_initialized(given: Values) -> Values:
    core = given["core"]
    return {"core": evolve(core, initialized=core.topics)}


def _forgets_what_was_initialized(before: Values, label: str, after: Values) -> Values:
    return {"core": evolve(after["core"], initialized=0)}


def _stays_under_way(before: Values, label: str, after: Values) -> Values:
    core = after["core"]
    return (
        {"core": evolve(core, initializing=before["core"].initializing)}
        if (label == "initialized")
        else {}
    )


def _starts_no_timer(before: Values, label: str, after: Values) -> Values:
    seat = after["seat"]
    return {"seat": evolve(seat, session=False)} if label in ("kept", "advanced") else {}


def _hears_no_assignment(given: Values) -> Values:
    link = given["link"]
    if given["client"].holds == 0 or link.answer.assigned is None:
        return {}
    return {"link": evolve(link, answer=attrs.evolve(link.answer, assigned=None))}


MUTATIONS = (
    Mutation(
        id="share_target_comes_late",
        ticket=SEEDED,
        title="A member gets its new epoch without the new assignment.",
        family=SHARE,
        invariant="heartbeat_brings_the_target",
        doc="Seeded: only the first assignment of a member is written.",
        scope={"members": 1, "partitions": 1},
        twists=after(heartbeats.assign_member, change=_keeps_what_it_had),
    ),
    Mutation(
        id="share_epochs_begin_anew",
        ticket=SEEDED,
        title="A member that has had several epochs is written as a new one.",
        family=SHARE,
        invariant="epoch_never_goes_back",
        doc="Seeded: the previous epoch is written as 0.",
        scope={"members": 2, "partitions": 1},
        twists=after(heartbeats.assign_member, change=_begins_epochs_anew),
    ),
    Mutation(
        id="share_epoch_is_ahead",
        ticket=SEEDED,
        title="The answer has the epoch of the group's next target.",
        family=SHARE,
        invariant="member_knows_no_later_epoch",
        doc="Seeded: the answer is made of the group epoch plus one; the next heartbeat is fenced.",
        scope={"members": 1, "partitions": 1},
        twists=after(heartbeats.assign_member, change=_gives_out_epochs_ahead),
    ),
    Mutation(
        id="share_plan_is_incomplete",
        ticket=SEEDED,
        title="The plan leaves a partition out.",
        family=SHARE,
        invariant="plan_gives_every_partition",
        doc="Seeded: an assignor that gives each member one partition less. Nobody reads those.",
        scope={"members": 1, "partitions": 1},
        twists=after(partitions.compute_share_target, change=_leaves_the_first_out),
    ),
    Mutation(
        id="share_plan_of_uninitialized",
        ticket=SEEDED,
        title="The plan has partitions that nobody has initialized.",
        family=SHARE,
        invariant="plan_gives_every_partition",
        doc="Seeded: the assignor is asked for all partitions of the topics.",
        scope={"members": 1, "partitions": 1},
        twists=sees(partitions.compute_share_target, change=_takes_all_for_initialized),
    ),
    Mutation(
        id="share_fail_over_forgets_partitions",
        ticket=SEEDED,
        title="A new coordinator does not know which partitions are initialized.",
        family=SHARE,
        invariant="only_initialized_partitions_are_given",
        doc="Seeded: the record of the group's partitions is not loaded.",
        scope={"members": 1, "partitions": 1, "faults": {"fail_over": 1}},
        twists=after(timers.move_share_coordinator, change=_forgets_what_was_initialized),
    ),
    Mutation(
        id="share_partition_stays_initializing",
        ticket=SEEDED,
        title="A partition that is initialized still counts as under way.",
        family=SHARE,
        invariant="initialized_or_initializing",
        doc="Seeded: the entry is added to the one list and not taken from the other.",
        scope={"members": 1, "partitions": 1},
        twists=after(partitions.persister_answers, change=_stays_under_way),
    ),
    Mutation(
        id="share_session_is_not_watched",
        ticket=SEEDED,
        title="A heartbeat does not start the session timer.",
        family=SHARE,
        invariant="share_session_is_watched",
        doc="Seeded: the timer is taken away and no other one begins.",
        scope={"members": 1, "partitions": 1},
        twists=after(heartbeats.assign_member, change=_starts_no_timer),
    ),
    Mutation(
        id="share_size_is_not_checked",
        ticket=SEEDED,
        title="A full group takes another member.",
        family=SHARE,
        invariant="share_size_is_limited",
        doc="Seeded: group.share.max.size is compared with the size of an empty group.",
        scope={"members": 2, "partitions": 1, "max_size": 1},
        twists=reads(heartbeats.share_heartbeat, max_size=None),
    ),
    Mutation(
        id="share_member_keeps_its_first_assignment",
        ticket=SEEDED,
        title="A member takes its first assignment and no other.",
        family=SHARE,
        invariant="share_member_knows_its_assignment",
        doc="Seeded: an assignment is followed only by a member that has none.",
        scope={"members": 2, "partitions": 2},
        twists=sees(client.hear_share_answer, change=_hears_no_assignment),
    ),
)
