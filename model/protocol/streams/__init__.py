"""Streams groups of KIP-1071, the coordinator's half: tasks in two roles, active and standby, and
processes, of which none may have one task twice.

The heartbeat, the wire, the walk over all members, the interval and the load are those of
`consumer`; its `memory` and `messages` hold here with relative epochs. A task is a bit for each of
its roles, so that whatever handles sets of partitions there handles sets of tasks here (`tasks`).
`memory` adds what a streams group knows of processes, topics and its topology; `reconciliation` is
one member on the way to its target, `heartbeats` and `timers` are the coordinator's rules,
`targets` what an assignor may make, `client` a simple member.
"""
