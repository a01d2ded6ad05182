"""The cover scopes of the partitioner: small scopes that together fire every outcome and meet every
goal.
"""

from __future__ import annotations

from groupcheck.model.protocol.classic.covers import cover

# The smallest first; each lists what no smaller one reaches.
COVERS = (
    cover("append:new_batch choose drain:full", partitions=1, records=1, batch=1),
    cover("drain:linger small_batch", partitions=1, records=1),
    cover("append:into_batch", partitions=1, records=2, batch=2, linger=2),
    cover("slow_broker", partitions=1, records=1, any_faults=1),
    cover("even_in_the_end on_new_batch", records=2),
    cover(
        "chosen_again release",
        partitions=1,
        records=2,
        batch=1,
        partitioner="built_in",
    ),
)
