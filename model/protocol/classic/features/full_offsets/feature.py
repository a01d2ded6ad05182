"""The feature, put together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from groupcheck.model.engine import Spec, array, single, weak
from groupcheck.model.protocol.classic import client, client_faults, coordinator, offsets, walks
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.features.full_offsets import (
    admin,
    commits,
    members,
    transactions,
)
from groupcheck.model.protocol.classic.features.full_offsets.kept import OffsetStore, Txn
from groupcheck.model.protocol.classic.features.full_offsets.scope import (
    MORE,
    RESETS,
    FullOffsetsScope,
)
from groupcheck.model.protocol.classic.features.full_offsets.words import WORDS
from groupcheck.model.protocol.classic.plain_group import ROWS_IN_PHASES
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.transform import inserted, own, rebuilt

FAMILY = Family("offsets in full", base="offsets")

ENDING = (client_faults.crash, client_faults.close, client_faults.delay_request, client.closed)
# What the coordinator does beside what it does without the feature.
COORDINATOR_RULES = (
    *admin.ADMIN_RULES,
    admin.erase,
    transactions.write_marker,
    commits.txn_offset_commit,
    commits.offset_fetch,
)


# What happens in the end, beside what does in every group: a transaction that is left alone times
# out, its marker arrives, and the coordinator sweeps.
FAIR = (members.send_txn_commit, transactions.end_transaction, transactions.write_marker)


def progress(spec: Spec) -> Spec:
    """Transactions end and offsets expire."""
    spec = rebuilt(spec, [], [admin.sweep])
    return attrs.evolve(spec, fair=[*spec.fair, *(weak(r.name) for r in (*FAIR, admin.sweep))])


def full_offsets(spec: Spec) -> Spec:
    """The feature: offsets in full."""
    scope = spec.scope
    kept = OffsetStore(other=scope.has("delete_groups"))
    spec = rebuilt(spec, offsets=single(kept), txn=array(scope.members, Txn()))
    initial = [
        {**given, "offsets": attrs.evolve(kept, watched=given["offsets"].watched)}
        for given in spec.initial
    ]
    spec = attrs.evolve(spec, initial=initial)
    txn_commit = commits.txn_offset_commit
    if scope.static:
        txn_commit = attrs.evolve(txn_commit, labels=(*txn_commit.labels, "fenced"))
    there = {r.name for r in spec.rules}
    spec = rebuilt(
        spec,
        [
            commits.creating(own(spec, coordinator.join_group)),
            commits.looking_up(own(spec, coordinator.offset_commit)),
            commits.storing(own(spec, offsets.store_offset)),
            members.asking(own(spec, offsets.fetch_offset)),
            members.processing(own(spec, offsets.process_record)),
            admin.erasing(own(spec, walks.end_walk)),
            admin.loading(own(spec, fail_over)),
            *(members.forgetting(own(spec, r)) for r in ENDING if r.name in there),
        ],
    )
    spec = inserted(spec, walks.begin_walk, members.fetch_answer, members.txn_answer)
    spec = inserted(spec, walks.end_walk, admin.erase)
    more = (
        *admin.ADMIN_RULES,
        members.send_txn_commit,
        transactions.end_transaction,
        transactions.write_marker,
        txn_commit,
        commits.offset_fetch,
    )
    return rebuilt(spec, [], more)


# -- What Kafka's code executes

TIMERS = ("append_failure", "session_timeout", "rebalance_timeout", "sync_timeout")
IN_TRANSACTIONS = {"commits": "transactions"}
OUTSIDE = ("fail_over", *MORE)
# Arguments of `conform`.
ASKED: Mapping[str, Any] = {
    "members": 1,
    "generations": 1,
    "faults": dict.fromkeys((*TIMERS, *MORE), 1),
}
PRODUCES = "The application's KafkaProducer does it, which is not driven."

FEATURE = Feature(
    name="offsets",
    title="offsets in full",
    doc=(
        "All that may happen to offsets: members and producers in transactions commit (KIP-447),"
        " offsets expire (KIP-211), an administrator resets and deletes offsets (KIP-496) and"
        " deletes groups (KIP-229), and a member that finds no offset starts where"
        " auto.offset.reset says."
    ),
    change=full_offsets,
    after=("static", "mixed", "twins", "triggers"),
    scope_type=FullOffsetsScope,
    families=(FAMILY,),
    words=WORDS,
    coordinator=COORDINATOR_RULES,
    progress=progress,
    spent_by={
        "reset_offsets": ("reset_offsets:accepted", "reset_offsets:refused"),
        "delete_offsets": (
            "delete_offsets:deleted",
            "delete_offsets:subscribed",
            "delete_offsets:no_group",
        ),
        "delete_groups": (
            "delete_groups:deleted",
            "delete_groups:non_empty",
            "delete_groups:no_group",
        ),
        "expire_offsets": ("expire_offsets:deleted", "expire_offsets:spared"),
    },
    shows=(
        {"members": 1, "generations": 1, "reset": "none"},
        {"members": 1, "generations": 1, "commits": "anonymous"},
        {
            "members": 1,
            "generations": 2,
            "faults": {"session_timeout": 1, "delete_groups": 1},
        },
        {
            "members": 1,
            "generations": 2,
            "faults": {"session_timeout": 1, "reset_offsets": 1},
            "commits": "transactions",
        },
        {
            "members": 1,
            "generations": 2,
            "faults": {"session_timeout": 1, "delete_groups": 1},
            "commits": "transactions",
        },
        {"members": 1, "generations": 2, "any_faults": 1, "commits": "transactions"},
        {
            "members": 1,
            "generations": 1,
            "faults": {"fail_over": 1},
            "phases": True,
            "commits": "transactions",
        },
    ),
    asked=ASKED,
    executed=(
        {
            "members": 1,
            "generations": 1,
            "faults": dict.fromkeys((*TIMERS, "new_member_timeout", "fail_over"), 1),
            "settings": {"commits": "consumer"},
        },
        {
            "members": 2,
            "generations": 1,
            "faults": {},
            "settings": {"max_size": "1", "records": "0"},
        },
        {
            "members": 2,
            "generations": 1,
            "faults": {},
            "settings": {"protocols": "range|sticky", "records": "0"},
        },
        {
            "members": 1,
            "generations": 1,
            "faults": dict.fromkeys(OUTSIDE, 1),
            "settings": {"commits": "consumer"},
        },
        {
            "members": 1,
            "generations": 1,
            "faults": {"delete_offsets": 1},
            "settings": IN_TRANSACTIONS,
        },
    ),
    conformed=(
        ASKED,
        {**ASKED, "settings": IN_TRANSACTIONS},
        {**ASKED, "faults": {"fail_over": 1, "session_timeout": 1}, "settings": IN_TRANSACTIONS},
        {**ROWS_IN_PHASES, "faults": dict.fromkeys(OUTSIDE, 1)},
        {
            **ROWS_IN_PHASES,
            "faults": dict.fromkeys(OUTSIDE, 1),
            "settings": {"phases": "yes", **IN_TRANSACTIONS},
        },
        {
            **ASKED,
            "faults": dict.fromkeys((*OUTSIDE, "session_timeout"), 1),
            "settings": IN_TRANSACTIONS,
        },
        # The second process is a producer alone.
        {**ASKED, "members": 2, "faults": {}, "settings": {"commits": "anonymous"}},
    ),
    member_generations=1,
    member_scopes=tuple({"members": 1, "partitions": 1, "reset": reset} for reset in RESETS),
    member_apart=dict.fromkeys(
        (
            members.send_txn_commit.name,
            *members.txn_answer.names,
            *transactions.end_transaction.names,
        ),
        PRODUCES,
    ),
)
