"""Kafka Connect's workers: the coordinator of the classic group with one feature,
`groupcheck.model.protocol.connect`.
"""

from __future__ import annotations

from functools import partial

from groupcheck.model.engine import Spec
from groupcheck.model.protocol.classic import rules
from groupcheck.model.protocol.classic.covers import BOOKKEEPING, KAFKA_COORDINATOR
from groupcheck.model.protocol.classic.rules import COORDINATOR
from groupcheck.model.protocol.classic.story import story
from groupcheck.model.protocol.connect.covers import COVERS, UNREACHED
from groupcheck.model.protocol.connect.feature import LEADER_RULES, connect
from groupcheck.model.protocol.connect.scope import ASSIGNORS, LACKS, MORE, ConnectScope
from groupcheck.model.protocol.connect.words import WORDS
from groupcheck.model.protocol.family import CLASSIC_GROUP, CONNECT
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, SPENT_BY
from groupcheck.model.protocol.variant import Variant

OF_LEADER = {
    name: "The leader does this, not the coordinator." for r in LEADER_RULES for name in r.names
}
# Rules of the coordinator that pass on what the workers and their leader say.
PASSED_ON = ("answer_syncs", "record_plan", "send_back", "end_walk", "join_group")
NO_REPORT = "no row has a worker's report; what decides is the rule of `classic`, which is executed"


def spec(scope: ConnectScope) -> Spec:
    """The protocol at a scope, without invariants."""
    return connect(rules.spec(scope))


VARIANT = Variant(
    name="connect",
    title="Kafka Connect, incremental cooperative rebalancing",
    doc=(
        "Workers keep their connectors and tasks while they join, and say what they run. The leader"
        " holds back the work of a worker that has left for scheduled.rebalance.max.delay.ms, and"
        " balances loads in two rounds (KIP-415). The coordinator is that of the classic group."
    ),
    scope_type=ConnectScope,
    spec=spec,
    faults={**{f: d for f, d in CLASSIC_FAULTS.items() if f not in LACKS}, **MORE},
    assignors=ASSIGNORS,
    families=(CLASSIC_GROUP, CONNECT),
    lacks=LACKS,
    coordinator=COORDINATOR | {r.name for r in LEADER_RULES},
    tell=WORDS.tell,
    story=partial(story, words=WORDS),
    spent_by={
        **{f: outcomes for f, outcomes in SPENT_BY.items() if f not in LACKS},
        "unreachable": ("lose_coordinator",),
        "config_update": ("update_config",),
    },
    covers=COVERS,
    unreached=UNREACHED,
    real=KAFKA_COORDINATOR,
    unexecuted={**dict.fromkeys(PASSED_ON, NO_REPORT), **OF_LEADER},
    bookkeeping={**BOOKKEEPING, **OF_LEADER},
    unreal_member=(
        "no row carries what a worker reports; `groupcheck conform connect` compares the leader,"
        " and tests/oracles/connect/test_real_worker.py Kafka's own worker in named schedules"
    ),
)
