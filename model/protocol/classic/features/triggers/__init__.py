"""A feature of the classic group: what makes a group rebalance although nobody comes or goes
(protocol.md 2.7; `feature.triggers` puts the parts together).

A member compares its subscription with that of its last JoinGroup; only the leader compares the
topics with its snapshot of them. So each member has a slot of its own (`subscription[i]`), and the
cluster has one. The plan is still chosen late: the leader's SyncGroup says only which partitions it
knew, and a walk before the plan (`survey`) collects all subscriptions, because a share depends on
those of the others.
"""
