"""Kafka Connect's workers of several versions of their protocol in one group: the coordinator of
the classic group with two features, `groupcheck.model.protocol.connect` and its `versions`.
"""

from __future__ import annotations

from groupcheck.model.protocol.connect.covers import VERSIONS_SHOWS, VERSIONS_UNREACHED
from groupcheck.model.protocol.connect.feature import connect
from groupcheck.model.protocol.connect.preset import workers
from groupcheck.model.protocol.connect.versions import ConnectVersionsScope, versions
from groupcheck.model.protocol.family import CLASSIC_GROUP, CONNECT, CONNECT_VERSIONS

VARIANT = workers(
    "connect_versions",
    connect,
    versions,
    scope_type=ConnectVersionsScope,
    title="Kafka Connect, from eager to incremental rebalancing",
    doc=(
        "Workers are restarted one after the other with a newer connect.protocol (eager,"
        " compatible, sessioned). The workers of a generation vote, and rebalance eagerly while one"
        " of them knows nothing else (KIP-415, KIP-507)."
    ),
    families=(CLASSIC_GROUP, CONNECT, CONNECT_VERSIONS),
    shows=VERSIONS_SHOWS,
    unreached=VERSIONS_UNREACHED,
)
