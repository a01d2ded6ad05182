"""A group that the coordinator rebalances while its members go on (see `scope` and `rounds`).

`scope` has the readings of its source, `group` the memory, `rounds` the five steps as walks; beside
them are `coordinator`, `failover`, `timers`, `member`, `member_faults`, `plans` and `words`.
"""
