"""Kafka's weak points in transactional and in expired offsets of consumer groups (KIP-848), and
mistakes of coordinators and members with them.
"""

from __future__ import annotations

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.mutations.consumer import ruled
from groupcheck.model.mutations.twists import Values, after, reads, sees
from groupcheck.model.protocol.consumer import commits, expiry, transactions
from groupcheck.model.protocol.consumer.messages import Sender
from groupcheck.model.protocol.consumer.scope import AS_KAFKA
from groupcheck.model.protocol.family import (
    CONSUMER_EXPIRY,
    CONSUMER_TRANSACTIONS,
    TRANSACTIONAL_MEMBERS,
)
from groupcheck.model.protocol.mutation import SEEDED, Mutation

SMALL = {"members": 1, "partitions": 1, "offsets": True}
TRANSACTIONAL = {**SMALL, "transactions": True}
PAIR = {**TRANSACTIONAL, "members": 2}
EXPIRING = {**SMALL, "expiry": True}


def _waits_for_none(given: Values) -> Values:
    link = given["link"]
    return {"link": evolve(link, asked=attrs.evolve(link.asked, stable=False))}


def _names_no_member(before: Values, label: str, after: Values) -> Values:
    asked = attrs.evolve(after["link"].asked, sender=Sender.SIMPLE)
    return {"link": evolve(after["link"], asked=asked)}


def _is_always_newer(given: Values) -> Values:
    offsets = given["offsets"]
    newer = tuple(evolve(one, newer=True) for one in offsets.pending)
    return {"offsets": evolve(offsets, pending=newer)}


def _counts_at_once(before: Values, label: str, after: Values) -> Values:
    stored = label in transactions.PENDS
    offsets = after["offsets"]
    beyond = before["link"].asked.beyond if stored else offsets.beyond
    return {"offsets": evolve(offsets, beyond=beyond)}


def _overlooks_who_is_away(before: Values, label: str, after: Values) -> Values:
    seat = before["seat"]
    if seat is None or not seat.parked:
        return {}
    return {"walk": evolve(after["walk"], errand=before["walk"].errand)}


MUTATIONS = (
    Mutation(
        id="offsets_expire_with_the_last_member",
        ticket="K32",
        title="A group that is empty for a moment loses what it committed long ago.",
        family=CONSUMER_EXPIRY,
        invariant="offset_outlives_its_group",
        doc=(
            "KIP-211 keeps offsets until their group has been empty for offsets.retention.minutes."
            " A consumer group does not know since when it is empty: an offset expires once it has"
            " no subscriber and was committed so long ago. So the sweep that comes while a"
            " deployment restarts takes the offsets of all partitions without recent commits."
            " Reading: `k32=as_kafka`."
        ),
        scope={**EXPIRING, "faults": {"close": 1}},
        twists=reads(expiry.offsets_expire, k32=AS_KAFKA),
    ),
    Mutation(
        id="group_with_a_transaction_is_deleted",
        ticket="KAFKA-19164",
        title="The sweep deletes a group while a transaction has offsets of it.",
        family=CONSUMER_EXPIRY,
        invariant="pending_offset_keeps_its_group",
        doc=(
            "In Kafka 4.0.0 the sweep does not ask for open transactions where no offset is"
            " committed. The rule of `kafka=4.0.0`."
        ),
        scope={**TRANSACTIONAL, "expiry": True, "faults": {"close": 1}},
        twists=ruled(expiry.offsets_expire, keeps_pending=False),
    ),
    Mutation(
        id="away_is_not_subscribed",
        ticket=SEEDED,
        title="The topics of a static member that is away count as unused.",
        family=CONSUMER_EXPIRY,
        invariant="subscription_keeps_offsets",
        doc="Seeded: its offsets expire while it restarts.",
        scope={**EXPIRING, "static_members": 1, "faults": {"close": 1}},
        twists=after(expiry.read_subscription, change=_overlooks_who_is_away),
    ),
    Mutation(
        id="fetch_ignores_transactions",
        ticket=SEEDED,
        title="A member begins where an open transaction may still move the offset.",
        family=CONSUMER_TRANSACTIONS,
        invariant="fetch_waits_for_transactions",
        doc="Seeded: requireStable is overlooked, as before Kafka 2.5 (KIP-447).",
        scope={**TRANSACTIONAL, "requests": "anybody"},
        twists=sees(commits.offset_fetch, _waits_for_none),
    ),
    Mutation(
        id="transaction_names_no_member",
        ticket="KIP-447",
        title="A member that was removed commits its transaction after the next owner's.",
        family=TRANSACTIONAL_MEMBERS,
        invariant="record_is_delivered_once",
        doc=(
            "sendOffsetsToTransaction with the group's name alone: the coordinator takes it from"
            " anybody. That was safe only while each partition had a transactional.id of its own."
        ),
        scope={**PAIR, "faults": {"session_timeout": 1}},
        twists=after(transactions.send_offsets_to_transaction, change=_names_no_member),
    ),
    Mutation(
        id="transaction_is_fenced_falsely",
        ticket="KAFKA-20066",
        title="A transaction is aborted while the answer to its member's heartbeat is under way.",
        family=TRANSACTIONAL_MEMBERS,
        invariant="transaction_of_owner_counts",
        doc=(
            "Up to Kafka 4.2, TxnOffsetCommit needs exactly the epoch of the record, as"
            " OffsetCommit does: what its owner sends before it has heard of a new epoch is"
            " refused (22). The rule of `kafka=4.2.0`."
        ),
        scope={**PAIR, "faults": {"lose_response": 1}},
        twists=ruled(transactions.txn_offset_commit, keeps_given=False),
    ),
    Mutation(
        id="older_transaction_sets_back",
        ticket=SEEDED,
        title="The end of a transaction sets back what was committed after its offset.",
        family=CONSUMER_TRANSACTIONS,
        invariant="transaction_counts_as_a_whole",
        doc="Seeded: the places of the two records in the log are not compared.",
        scope={**TRANSACTIONAL, "requests": "anybody"},
        twists=sees(transactions.write_txn_marker, _is_always_newer),
    ),
    Mutation(
        id="open_transaction_counts",
        ticket=SEEDED,
        title="An offset counts before its transaction is committed.",
        family=CONSUMER_TRANSACTIONS,
        invariant="open_transaction_moves_nothing",
        doc="Seeded: if the transaction is aborted, its records are never processed again.",
        scope=TRANSACTIONAL,
        twists=after(transactions.txn_offset_commit, change=_counts_at_once),
    ),
)
