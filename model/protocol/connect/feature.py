"""The feature, put together: members of a classic group that are Connect workers (KIP-415).

Versions of the protocol: all workers are `compatible`, or all are `sessioned`, which differ only in
how workers sign requests to each other (KIP-507). `versions` has several in one group.
"""

from __future__ import annotations

import attrs

from groupcheck.model.engine import Spec, array, single
from groupcheck.model.protocol.classic import (
    assignment,
    client,
    client_faults,
    coordinator,
    offsets,
    rounds,
    walks,
)
from groupcheck.model.protocol.connect.leader import (
    answering,
    asking_again,
    deal_out,
    delay_over,
    leading,
    make_plan,
    recording,
    restarting,
    survey,
)
from groupcheck.model.protocol.connect.memory import Memory
from groupcheck.model.protocol.connect.worker import (
    ENDING,
    SENDING,
    WORKER_RULES,
    Worker,
    completing,
    joining,
    reporting,
    stopping,
)
from groupcheck.model.protocol.transform import inserted, own, rebuilt, without

# Workers commit nothing to their group, and have no partitions to read.
GONE = (
    client.send_commit,
    client.join_complete,
    client_faults.late_commit,
    offsets.fetch_offset,
    offsets.process_record,
)
LEADER_RULES = (survey, make_plan, deal_out)


def connect(spec: Spec) -> Spec:
    """The feature: all members are workers."""
    spec = rebuilt(
        without(spec, *GONE),
        config=single(0),
        memory=single(Memory()),
        worker=array(spec.scope.members, Worker()),
    )
    spec = rebuilt(spec, [reporting(own(spec, r)) for r in SENDING])
    spec = rebuilt(spec, [stopping(own(spec, r)) for r in ENDING])
    new = [
        joining(own(spec, client.join_answer)),
        completing(own(spec, client.sync_answer)),
        leading(own(spec, walks.end_walk)),
        asking_again(own(spec, coordinator.join_group)),
        answering(own(spec, assignment.answer_syncs)),
        recording(own(spec, assignment.record_plan)),
        restarting(own(spec, rounds.send_back)),
    ]
    spec = inserted(rebuilt(spec, new), walks.end_walk, *LEADER_RULES)
    return attrs.evolve(rebuilt(spec, [], [*WORKER_RULES, delay_over]), name="connect")
