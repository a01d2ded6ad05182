"""Kafka Connect's workers that may not read their configurations in time: the coordinator of the
classic group with two features, `groupcheck.model.protocol.connect` and its `backoff`.
"""

from __future__ import annotations

from groupcheck.model.protocol.connect.backoff import ConnectBackoffScope, backoff
from groupcheck.model.protocol.connect.covers import BACKOFF_SHOWS, UNREACHED
from groupcheck.model.protocol.connect.feature import connect
from groupcheck.model.protocol.connect.preset import workers
from groupcheck.model.protocol.family import CLASSIC_GROUP, CONNECT, CONNECT_ALIKE, CONNECT_BACKOFF

VARIANT = workers(
    "connect_backoff",
    connect,
    backoff,
    scope_type=ConnectBackoffScope,
    title="Kafka Connect, workers that cannot read their configurations",
    doc=(
        "A worker that does not get to the end of the topic of configurations in time leaves the"
        " group, goes on with its work, and stops it before the leader gives it away (KIP-415,"
        " KAFKA-9849)."
    ),
    families=(CLASSIC_GROUP, CONNECT, CONNECT_ALIKE, CONNECT_BACKOFF),
    shows=BACKOFF_SHOWS,
    unreached=UNREACHED,
)
