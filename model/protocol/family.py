"""Families: what several variants have in common, under which promises and known bugs are stated
once.

A variant names its families. `groupcheck.invariants` states promises for each family, and
`model.mutations` known bugs; both hold for every variant of the family.

A known bug can be put into every variant of its family that still has the rule that the bug
changes. If a feature has changed that rule, the mutation is refused, because it would undo the
feature.
"""

from __future__ import annotations

from attrs import frozen


@frozen
class Family:
    """A name for what several variants share."""

    name: str
    # The variant without any feature. Known bugs of the family are shown in it.
    base: str


# A coordinator with rounds of JoinGroup and SyncGroup, and its members.
CLASSIC_GROUP = Family("classic group", base="classic")
# What members process and commit.
OFFSETS = Family("offsets", base="classic")
# A coordinator that makes the plan itself, while members go on.
ASYNC_SERVER = Family("asynchronous server-side rebalance", base="async_server")
# Where a producer's records without a key go.
PARTITIONER = Family("sticky partitioner", base="sticky_partitioner")
# Connect workers: members that keep their work while they join, and a leader with a memory.
CONNECT = Family("Connect workers", base="connect")
# Workers that all rebalance incrementally.
CONNECT_ALIKE = Family("Connect workers of one protocol", base="connect")
# Workers that may not read their configurations in time.
CONNECT_BACKOFF = Family("Connect workers that back off", base="connect_backoff")
# Workers that rebalance eagerly beside others.
CONNECT_VERSIONS = Family("Connect workers of several protocols", base="connect_versions")
# KIP-848: the coordinator plans, and members report with heartbeats.
CONSUMER = Family("consumer group", base="consumer")
# Its members are Java's, with two threads.
JAVA_MEMBERS = Family("Java's members of a consumer group", base="consumer")
# Offsets are committed and fetched.
CONSUMER_OFFSETS = Family("offsets of a consumer group", base="consumer")
# Its members commit what they consume.
COMMITTING_MEMBERS = Family("members of a consumer group that commit", base="consumer")
# They are committed in transactions, too.
CONSUMER_TRANSACTIONS = Family("transactions of a consumer group", base="consumer")
TRANSACTIONAL_MEMBERS = Family("members of a consumer group with transactions", base="consumer")
# They expire.
CONSUMER_EXPIRY = Family("offsets of a consumer group that expire", base="consumer")
# Its members subscribe by regular expressions that are resolved in the background.
CONSUMER_REGEXES = Family("regular expressions of a consumer group", base="consumer")
# It becomes a classic group, and back.
MIGRATION = Family("group that migrates", base="migration")
# KIP-932: members that share partitions, and a coordinator that plans.
SHARE = Family("share group", base="share")
# What becomes of the records of a partition that members share.
SHARE_PARTITION = Family("share partition", base="share_partition")
# KIP-1071: members that run tasks in processes, and a coordinator that plans.
STREAMS = Family("streams group", base="streams")
