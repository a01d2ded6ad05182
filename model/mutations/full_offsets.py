"""Bugs of what is kept of offsets: transactions, expiry, and what administrators do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.features.full_offsets import (
    admin,
    commits,
    members,
    transactions,
)
from groupcheck.model.protocol.classic.features.full_offsets.feature import FAMILY as KEPT_OFFSETS
from groupcheck.model.protocol.classic.features.full_offsets.kept import NO_OFFSET, Fetched, emptied
from groupcheck.model.protocol.classic.group import Phase
from groupcheck.model.protocol.classic.offsets import process_record
from groupcheck.model.protocol.link import reply
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID, Answer, TxnOffsetCommit
from groupcheck.model.protocol.mutation import SEEDED, Mutation
from groupcheck.model.protocol.transform import extended, rewritten

REFUSED = "unknown illegal_generation"
Slots = Mapping[str, Any]
Changed = dict[str, Any]
Change = Callable[[Slots, str, Changed, Any], Any]


def _twist(change: Change) -> Callable[[Rule], Rule]:
    return partial(extended, change=change)


def _offsets(on: str = "", to: str = "", **values: Any) -> Callable[[Rule], Rule]:
    """A twist that sets fields of the offsets, to values or functions of the slots before;
    `written`: the committed offset and its record. `on`: the outcomes that it concerns, all if
    empty; `to`: another outcome, in place of these.
    """

    def change(before: Slots, label: str, after: Changed, scope: Any) -> Any:
        if on and label not in on.split():
            return label, after
        given = {name: v(before) if callable(v) else v for name, v in values.items()}
        if "written" in given:
            given["committed"] = given["logged"] = given.pop("written")
        return to or label, {**after, "offsets": evolve(after["offsets"], **given)}

    return _twist(change)


def _one_more(s: Slots) -> Any:
    return s["offsets"].pending + 1


def _newer(s: Slots) -> Any:
    newer = s["txn"].place > s["offsets"].place
    return s["txn"].offset if newer else s["offsets"].committed


def _validated_before(before: Slots, label: str, after: Changed, scope: Any) -> Any:
    if label not in REFUSED.split():
        return label, after
    kept, txn, link = (before[slot] for slot in ("offsets", "txn", "link"))
    written = {
        "offsets": evolve(kept, pending=kept.pending + (not txn.pends), top=kept.top + 1),
        "txn": evolve(txn, offset=link.request.offset, place=kept.top + 1),
        "link": reply(link, Answer(link.request)),
    }
    return "accepted", {**after, **written}


def _expires(phase: Phase) -> Callable[[Rule], Rule]:
    def change(before: Slots, label: str, after: Changed, scope: Any) -> Any:
        if label == "spared" and before["core"].phase == phase:
            return "deleted", {**after, "offsets": emptied(before["offsets"])}
        return label, after

    return _twist(change)


def _tells_unstable(before: Slots, label: str, after: Changed, scope: Any) -> Any:
    kept, link = before["offsets"], before["link"]
    told = reply(link, Fetched(request=link.request, offset=kept.committed))
    if label != "unstable":
        return label, after
    return "nothing" if kept.committed == NO_OFFSET else "committed", {**after, "link": told}


def _commits_itself(before: Slots, label: str, after: Changed, scope: Any) -> Any:
    return {**after, "client": evolve(after["client"], dirty=True)}


def _sends_no_generation(usual: Rule) -> Rule:
    def call(*given: Any) -> Iterator[Any]:
        for client, link, txn in usual.call(*given):
            anonymous = TxnOffsetCommit(NO_ID, NO_GENERATION, client.position)
            yield client, evolve(link, request=anonymous), txn

    return rewritten(usual, call)


ONE = {"members": 1, "generations": 1}
IN_TRANSACTIONS = {**ONE, "commits": "transactions"}
TWICE = {**IN_TRANSACTIONS, "generations": 2}
A_ZOMBIE = {**IN_TRANSACTIONS, "faults": {"session_timeout": 1}}

MUTATIONS = (
    Mutation(
        id="transaction_validated_too_early",
        ticket="KAFKA-15784",
        title="A transactional commit is validated, then the group changes, then it is written.",
        family=KEPT_OFFSETS,
        invariant="transactions_fenced",
        doc=(
            "The group was asked before the transaction was verified with its coordinator, and not"
            " again when the record was written."
            " Seeded: ids and generations do not count."
        ),
        scope=A_ZOMBIE,
        twists={commits.txn_offset_commit.name: _twist(_validated_before)},
    ),
    Mutation(
        id="marker_order_wins",
        ticket="KAFKA-5247, redpanda-data/redpanda#31483",
        title="A transaction that ends replaces an offset that was committed after its own.",
        family=KEPT_OFFSETS,
        invariant="newer_commits_win",
        doc=(
            "The memory went by the order in which transactions end, and the log is loaded in the"
            " order of its records, so both disagreed after a fail-over."
        ),
        scope={**TWICE, "faults": {"session_timeout": 1, "reset_offsets": 1}},
        twists={
            transactions.write_marker.name: _offsets(
                "superseded", "committed", written=lambda s: s["txn"].offset
            )
        },
    ),
    Mutation(
        id="aborted_offset_counts",
        ticket=SEEDED,
        title="An aborted transaction leaves its offset behind as committed.",
        family=KEPT_OFFSETS,
        invariant="aborted_offsets_never_show",
        doc="Seeded: the marker's result is not looked at.",
        scope={**IN_TRANSACTIONS, "reset": "latest"},
        twists={transactions.write_marker.name: _offsets("aborted", written=_newer)},
    ),
    Mutation(
        id="expiry_while_rebalancing",
        ticket="KAFKA-13636",
        title="Offsets expire while a round collects JoinGroups.",
        family=KEPT_OFFSETS,
        invariant="live_offsets_stay",
        doc=(
            "While the group was not Stable, its subscriptions were unknown and were taken for"
            " none, so that a long rebalance cost it its offsets."
        ),
        scope={"members": 2, "generations": 1, "faults": {"expire_offsets": 1}},
        twists={admin.expire_offsets.name: _expires(Phase.PREPARING)},
    ),
    Mutation(
        id="expiry_of_a_live_group",
        ticket="KAFKA-4682",
        title="Offsets expire although members of the group read the topic.",
        family=KEPT_OFFSETS,
        invariant="live_offsets_stay",
        doc=(
            "The retention began with the commit, whether the group had members or not, so that"
            " a group that read a quiet topic lost its offsets (before KIP-211)."
        ),
        scope={**ONE, "faults": {"expire_offsets": 1}},
        twists={admin.expire_offsets.name: _expires(Phase.STABLE)},
    ),
    Mutation(
        id="expiry_ignores_transactions",
        ticket="KAFKA-19163, redpanda-data/redpanda#31483",
        title="An offset expires although an open transaction is about to replace it.",
        family=KEPT_OFFSETS,
        invariant="pending_offsets_stay",
        doc=(
            "Kafka deleted a group that had only pending offsets, with these offsets. In Redpanda"
            " the tombstone of the old offset deleted the new one when the log was loaded."
        ),
        scope={**TWICE, "faults": {"session_timeout": 1, "expire_offsets": 1}},
        twists={admin.expire_offsets.name: _expires(Phase.EMPTY)},
    ),
    Mutation(
        id="refused_commit_stays_pending",
        ticket="KAFKA-16371",
        title="A transactional commit that is refused counts as pending for ever.",
        family=KEPT_OFFSETS,
        invariant="pending_offsets_counted",
        doc=(
            "A partition whose metadata were too large stayed in the list of pending ones, so that"
            " every stable fetch was answered 88 from then on."
            " Seeded: any commit that is refused does."
        ),
        scope=A_ZOMBIE,
        twists={commits.txn_offset_commit.name: _offsets(REFUSED, pending=_one_more)},
    ),
    Mutation(
        id="loaded_as_expired",
        ticket="KAFKA-8069",
        title="A new coordinator takes the offsets that it loads for expired.",
        family=KEPT_OFFSETS,
        invariant="commits_survive_fail_overs",
        doc=(
            "An offset without an expiry time of its own was loaded as one that expires at time -1,"
            " and the next sweep deleted it."
        ),
        scope={**ONE, "faults": {"fail_over": 1}},
        twists={fail_over.name: _offsets(committed=NO_OFFSET)},
    ),
    Mutation(
        id="unstable_offset_told",
        ticket=SEEDED,
        title="A member starts at the committed offset while a transaction is about to replace it.",
        family=KEPT_OFFSETS,
        invariant="unstable_offsets_are_not_returned",
        doc="Seeded: requireStable (KIP-447) is ignored.",
        scope={**TWICE, "faults": {"session_timeout": 1}},
        twists={commits.offset_fetch.name: _twist(_tells_unstable)},
    ),
    Mutation(
        id="transaction_without_generation",
        ticket=SEEDED,
        title="A producer commits without its consumer's id and generation.",
        family=KEPT_OFFSETS,
        invariant="delivered_once",
        doc=(
            "Seeded: the consumer's metadata are not sent, as before KIP-447. A zombie then commits"
            " what the next owner has committed already."
        ),
        scope={**TWICE, "members": 2, "faults": {"session_timeout": 1}},
        twists={members.send_txn_commit.name: _sends_no_generation},
    ),
    Mutation(
        id="autocommit_beside_transactions",
        ticket=SEEDED,
        title="The consumer commits by itself what a transaction has not committed yet.",
        family=KEPT_OFFSETS,
        invariant="committed_within_delivered",
        doc="Seeded: enable.auto.commit is left on in a transactional application.",
        scope=IN_TRANSACTIONS,
        twists={process_record.name: _twist(_commits_itself)},
    ),
    Mutation(
        id="outsider_overwrites_members",
        ticket=SEEDED,
        title="An administrator sets back the offset of a group that has members.",
        family=KEPT_OFFSETS,
        invariant="outsiders_commit_to_empty_groups",
        doc="Seeded: a commit without a member is accepted in every state.",
        scope={**ONE, "faults": {"reset_offsets": 1}},
        twists={
            admin.reset_offsets.name: _offsets(
                "", "accepted", written=0, there=True, disturbed=True
            )
        },
    ),
    Mutation(
        id="deletion_fails_as_a_whole",
        ticket=SEEDED,
        title="One group that has members keeps the others of the same request from being deleted.",
        family=KEPT_OFFSETS,
        invariant="groups_fail_apart",
        doc="Seeded: the first error ends the request.",
        scope={**ONE, "faults": {"delete_groups": 1}},
        twists={
            admin.delete_groups.name: _offsets("non_empty", other=lambda s: s["offsets"].other)
        },
    ),
    Mutation(
        id="deleted_group_keeps_transactions",
        ticket=SEEDED,
        title="A group is deleted, and what open transactions have for it stays.",
        family=KEPT_OFFSETS,
        invariant="deleted_groups_keep_nothing",
        doc="Seeded: only committed offsets get a tombstone.",
        scope={**TWICE, "faults": {"session_timeout": 1, "delete_groups": 1}},
        twists={
            admin.delete_groups.name: _offsets("deleted", pending=lambda s: s["offsets"].pending)
        },
        progress="empty_groups_expire",
        progress_scope={
            "members": 1,
            "commits": "transactions",
            "faults": {"crash": 1, "delete_groups": 1, "session_timeout": 1},
        },
    ),
    Mutation(
        id="refused_reset_written",
        ticket=SEEDED,
        title="A commit from outside is refused, and written all the same.",
        family=KEPT_OFFSETS,
        invariant="refusals_change_nothing",
        doc="Seeded: the record is appended before the request is looked at.",
        scope={**ONE, "faults": {"reset_offsets": 1}},
        twists={admin.reset_offsets.name: _offsets("refused", written=0)},
    ),
)
