"""Share groups of KIP-932, the membership half: members share partitions, so nothing is revoked.

The heartbeat, the wire, the walk over all members and the timers are those of `consumer`; its
`memory` and `messages` hold here with relative epochs. `memory` adds what a share group knows of
its partitions, which the persister initializes before anybody gets them; `heartbeats`,
`partitions` and `timers` are the coordinator's rules, `plans` what an assignor may make, `client`
the member.
"""
