"""Kafka's weak points in the offsets of consumer groups (KIP-848), and mistakes of coordinators and
members with them.
"""

from __future__ import annotations

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.mutations.consumer import ruled
from groupcheck.model.mutations.twists import Values, after, reads, sees
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.consumer import client, commits, heartbeats, offsets
from groupcheck.model.protocol.consumer.messages import Commit, Tag
from groupcheck.model.protocol.consumer.offsets import Position
from groupcheck.model.protocol.consumer.scope import AS_KAFKA
from groupcheck.model.protocol.family import COMMITTING_MEMBERS, CONSUMER_OFFSETS
from groupcheck.model.protocol.mutation import SEEDED, Mutation

SMALL = {"members": 1, "partitions": 1, "offsets": True}
PAIR = {**SMALL, "members": 2}


def _judges_by_ownership_alone(given: Values) -> Values:
    link, seat = given["link"], given["seat"]
    seat = None if seat is None else evolve(seat, fresh=0)
    asked = attrs.evolve(link.asked, given=False) if isinstance(link.asked, Commit) else link.asked
    return {"link": evolve(link, asked=asked), "seat": seat}


def _compares_no_epochs(given: Values) -> Values:
    link = given["link"]
    return {"link": evolve(link, asked=attrs.evolve(link.asked, tag=Tag.CURRENT))}


def _answers_at_once(before: Values, label: str, after: Values) -> Values:
    told = after["link"].told
    if label != "failed":
        return {}
    return {"link": evolve(after["link"], told=attrs.evolve(told, code=NONE))}


def _commits_what_it_was_given(before: Values, label: str, after: Values) -> Values:
    asked = attrs.evolve(after["link"].asked, beyond=True)
    return {"link": evolve(after["link"], asked=asked)}


def _begins_at_the_end(before: Values, label: str, after: Values) -> Values:
    told = before["link"].told
    refused = told.beyond is None and told.code != NONE and before["reading"] == Position.NONE
    return {"reading": Position.BEYOND} if refused else {}


def _forgets_to_commit(before: Values, label: str, after: Values) -> Values:
    return {"link": evolve(after["link"], asked=None)}


MUTATIONS = (
    Mutation(
        id="return_forgets_assignment_epochs",
        ticket="K26",
        title="A static member comes back, and an old commit of its counts again.",
        family=CONSUMER_OFFSETS,
        invariant="former_owner_sets_nothing_back",
        doc=(
            "When a static member leaves for a while, the coordinator sets the epochs at which it"
            " was given its partitions to 0, and they stay 0 when it is back. So each older epoch"
            " of this member id is old enough for a commit, also one from before another member"
            " owned the partition. Reading: `k26=as_kafka`."
        ),
        scope={
            **PAIR,
            "static_members": 1,
            "faults": {"delay_commit": 1, "poll_timeout": 1, "close": 1},
        },
        twists=reads(heartbeats.leave_consumer_group, k26=AS_KAFKA),
    ),
    Mutation(
        id="commit_needs_no_ownership",
        ticket="K27",
        title="A member commits for a partition that it gave up at the epoch that it still has.",
        family=CONSUMER_OFFSETS,
        invariant="former_owner_sets_nothing_back",
        doc=(
            "A commit with the epoch of the record is stored, whatever the member owns. Mostly a"
            " member that has given something up has another epoch then. Within the assignment"
            " interval (Kafka 4.3) it has not: it drops a topic, and stays at its epoch. Reading:"
            " `k27=as_kafka`."
        ),
        scope={
            **PAIR,
            "topics": 2,
            "interval": True,
            "faults": {"delay_commit": 1, "subscription": 1},
        },
        twists=reads(commits.offset_commit, k27=AS_KAFKA),
    ),
    Mutation(
        id="commits_without_an_epoch",
        ticket="K28",
        title="A member that is out of the group commits, and an empty group takes it.",
        family=COMMITTING_MEMBERS,
        invariant="former_owner_sets_nothing_back",
        doc=(
            "Java's member forgets its epoch when it leaves because its application did not poll,"
            " or is fenced. Until onPartitionsLost has run the application may still commit, and"
            " such a commit has epoch -1, as one of a client that is no member. It counts if the"
            " group is empty, so it sets back what a later owner has committed that has left"
            " meanwhile. With its old epoch it would be refused. Reading: `k28=as_kafka`."
        ),
        scope={
            **PAIR,
            "java": True,
            "callbacks": "phased",
            "faults": {"poll_timeout": 1, "close": 1},
        },
        twists=reads(offsets.commit_position, k28=AS_KAFKA),
    ),
    Mutation(
        id="commit_is_fenced_falsely",
        ticket="KAFKA-20066",
        title="The commit of an owner is refused while the answer to its heartbeat is under way.",
        family=COMMITTING_MEMBERS,
        invariant="commit_of_owner_counts",
        doc=(
            "Up to Kafka 4.2, a commit needs exactly the epoch of the record. That grows when the"
            " coordinator handles a heartbeat, and the member learns it with the answer; what it"
            " commits meanwhile is refused (113). KIP-1251 asks for the epoch at which the member"
            " was given the partition instead. The rule of `kafka=4.2.0`."
        ),
        scope={**PAIR, "faults": {"lose_response": 1}},
        twists=ruled(commits.offset_commit, keeps_given=False),
    ),
    Mutation(
        id="any_owner_may_commit",
        ticket=SEEDED,
        title="A commit counts if its member owns the partition, whatever its epoch is.",
        family=CONSUMER_OFFSETS,
        invariant="former_owner_sets_nothing_back",
        doc=(
            "Seeded: KIP-1251 without the epochs of partitions. A member that has got a partition"
            " back sets it back with a commit from before it gave it up."
        ),
        scope={**PAIR, "faults": {"delay_commit": 1, "close": 1}},
        twists=sees(commits.offset_commit, _judges_by_ownership_alone),
    ),
    Mutation(
        id="failed_commit_is_acknowledged",
        ticket=SEEDED,
        title="A commit is acknowledged before its record is appended.",
        family=CONSUMER_OFFSETS,
        invariant="acknowledged_commit_is_stored",
        doc="Seeded: the append fails, and the member believes that its offset is stored.",
        scope={**SMALL, "requests": "anybody", "faults": {"append_failure": 1}},
        twists=after(commits.offset_commit, change=_answers_at_once),
    ),
    Mutation(
        id="fetch_compares_no_epochs",
        ticket=SEEDED,
        title="A member that is behind is told where to begin.",
        family=CONSUMER_OFFSETS,
        invariant="fetch_needs_the_epoch",
        doc="Seeded: OffsetFetch of a known member is answered, whatever its epoch is.",
        scope={**PAIR, "faults": {"lose_response": 1}},
        twists=sees(commits.offset_fetch, _compares_no_epochs),
    ),
    Mutation(
        id="commits_what_was_only_given",
        ticket="KAFKA-18641",
        title="A member commits records that the application has not processed.",
        family=COMMITTING_MEMBERS,
        invariant="committed_is_processed",
        doc=(
            "Before Kafka 4.0, the automatic commit of Java's new member took positions that poll"
            " had moved on, but whose records were still to be processed."
        ),
        scope=SMALL,
        twists=after(offsets.commit_position, change=_commits_what_it_was_given),
    ),
    Mutation(
        id="refused_fetch_begins_at_the_end",
        ticket="platformatic/kafka #267",
        title="A member whose OffsetFetch is refused (113) begins at the end.",
        family=COMMITTING_MEMBERS,
        invariant="owner_begins_at_the_commit",
        doc=(
            "@platformatic/kafka took the error of a member that is behind for an offset that"
            " does not exist, and began at the latest one: records were skipped."
        ),
        scope={**PAIR, "faults": {"lose_response": 1}},
        twists=after(offsets.hear_of_offsets, change=_begins_at_the_end),
    ),
    Mutation(
        id="gives_up_without_commit",
        ticket=SEEDED,
        title="A member with enable.auto.commit gives a partition up and does not commit.",
        family=COMMITTING_MEMBERS,
        invariant="revocation_commits_first",
        doc="Seeded: the commit before a rebalance is left out.",
        scope={**PAIR, "auto_commit": True},
        twists=after(client.reconcile, change=_forgets_to_commit),
    ),
)
