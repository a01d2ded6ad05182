"""The cover scopes of the partitioner: small scopes that together fire every outcome and meet every
goal.
"""

from __future__ import annotations

from groupcheck.model.protocol.covers import Fields

# The smallest first.
SHOWS: tuple[Fields, ...] = (
    {"partitions": 1, "records": 1, "batch": 1},
    {"partitions": 1, "records": 1},
    {"partitions": 1, "records": 2, "batch": 2, "linger": 2},
    {"partitions": 1, "records": 1, "any_faults": 1},
    {"records": 2},
    {"partitions": 1, "records": 2, "batch": 1, "partitioner": "built_in"},
)
