"""The cover scopes of the partitioner: small scopes that together fire every outcome and meet every
goal.
"""

from __future__ import annotations

from groupcheck.model.protocol.classic.covers import cover

# The smallest first; each lists what no smaller one reaches.
COVERS = (
    cover("append_record:new_batch choose drain_batch:full", partitions=1, records=1, batch=1),
    cover("drain_batch:linger small_batch", partitions=1, records=1),
    cover("append_record:into_batch", partitions=1, records=2, batch=2, linger=2),
    cover("slow_broker", partitions=1, records=1, any_faults=1),
    cover("even_in_the_end on_new_batch", records=2),
    cover(
        "chosen_again leave_partition",
        partitions=1,
        records=2,
        batch=1,
        partitioner="built_in",
    ),
)
