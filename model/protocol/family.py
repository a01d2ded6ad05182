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
# Members with a group.instance.id (KIP-345).
STATIC_MEMBERS = Family("static members", base="static_membership")
# Members that keep what they own while they join.
COOPERATIVE = Family("cooperative group", base="cooperative")
# Members that are both.
COOPERATIVE_STATIC = Family("static members of a cooperative group", base="cooperative_static")
# Static members beside dynamic ones.
MIXED = Family("static and dynamic members", base="mixed_membership")
# Two processes with one instance id.
TWINS = Family("static members with twins", base="twins")
# Eager and cooperative members in one group.
UPGRADE = Family("rolling upgrade", base="upgrade")
# Cooperative members whose rounds are counted.
ROUNDS = Family("rounds of a cooperative group", base="cooperative_rounds")
# What members process and commit.
OFFSETS = Family("offsets", base="classic")
# Topics that change, and members that subscribe to different ones.
TOPICS = Family("topics", base="triggers")
# Static members of such groups.
STATIC_TOPICS = Family("topics of static members", base="static_triggers")
# An application whose rebalance callbacks take time.
CALLBACKS = Family("rebalance callbacks", base="cooperative_callbacks")
# Offsets in full: transactions, expiry, and what an administrator does to them.
KEPT_OFFSETS = Family("offsets in full", base="offsets")
# A fail-over takes its phases (`classic.failover_phases`).
MOVING = Family("fail-over in phases", base="classic")
# Applications commit in one of the ways of Kafka's client (`classic.commit_styles`).
STYLES = Family("styles of commits", base="classic")
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
