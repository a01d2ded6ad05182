"""Kafka Connect's workers: the coordinator of the classic group with one feature,
`groupcheck.model.protocol.connect`.
"""

from __future__ import annotations

from groupcheck.model.protocol.connect.covers import SHOWS, UNREACHED
from groupcheck.model.protocol.connect.feature import connect
from groupcheck.model.protocol.connect.preset import workers
from groupcheck.model.protocol.connect.scope import ConnectScope
from groupcheck.model.protocol.family import CLASSIC_GROUP, CONNECT, CONNECT_ALIKE

VARIANT = workers(
    "connect",
    connect,
    scope_type=ConnectScope,
    title="Kafka Connect, incremental cooperative rebalancing",
    doc=(
        "Workers keep their connectors and tasks while they join, and say what they run. The leader"
        " holds back the work of a worker that has left for scheduled.rebalance.max.delay.ms, and"
        " balances loads in two rounds (KIP-415). The coordinator is that of the classic group."
    ),
    families=(CLASSIC_GROUP, CONNECT, CONNECT_ALIKE),
    shows=SHOWS,
    unreached=UNREACHED,
)
