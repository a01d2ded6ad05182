"""The feature, put together."""

from __future__ import annotations

import attrs

from groupcheck.model.engine import Spec, array, single, weak
from groupcheck.model.protocol.classic import client, client_faults, coordinator, offsets, walks
from groupcheck.model.protocol.classic.failover import fail_over
from groupcheck.model.protocol.classic.features.full_offsets import (
    admin,
    commits,
    members,
    transactions,
)
from groupcheck.model.protocol.classic.features.full_offsets.kept import Kept, Txn
from groupcheck.model.protocol.classic.progress.feature import progress
from groupcheck.model.protocol.transform import inserted, own, rebuilt

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


def full_offsets_progress(spec: Spec) -> Spec:
    """`progress`, where transactions end and offsets expire."""
    spec = rebuilt(progress(spec), [], [admin.sweep])
    return attrs.evolve(spec, fair=[*spec.fair, *(weak(r.name) for r in (*FAIR, admin.sweep))])


def full_offsets(spec: Spec) -> Spec:
    """The feature: offsets in full."""
    scope = spec.scope
    kept = Kept(other=scope.has("delete_groups"))
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
