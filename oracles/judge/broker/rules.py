"""The promises of a group coordinator that the wire shows, each with its source."""

from __future__ import annotations

from groupcheck.oracles.judge.report.verdicts import Rule

_MANAGER = "GroupMetadataManager of Apache Kafka 4.3.0"
RULES = (
    Rule(
        "join_code",
        "JoinGroup is answered with the code of its row.",
        f"KIP-394, KIP-389, KIP-345; {_MANAGER}, classicGroupJoin",
    ),
    Rule(
        "sync_code",
        "SyncGroup is answered with the code of its row.",
        f"{_MANAGER}, classicGroupSync",
    ),
    Rule(
        "heartbeat_code",
        "Heartbeat is answered with the code of its row.",
        f"{_MANAGER}, classicGroupHeartbeat",
    ),
    Rule(
        "leave_code",
        "LeaveGroup is answered with the code of its row.",
        f"{_MANAGER}, classicGroupLeave",
    ),
    Rule(
        "commit_code",
        "OffsetCommit is answered with the code of its row.",
        "OffsetMetadataManager of Apache Kafka 4.3.0, validateOffsetCommit",
    ),
    Rule(
        "commit_fencing",
        "No commit is accepted but those of members in the running generation.",
        "ClassicGroup.validateOffsetCommit; the reason for generations",
    ),
    Rule(
        "round_waits",
        "A JoinGroup waits until every member that must join has joined, and is then answered.",
        f"{_MANAGER}, prepareRebalance and tryCompleteJoin",
    ),
    Rule(
        "plan_awaited",
        "A SyncGroup waits until the leader's plan is written.",
        f"{_MANAGER}, classicGroupSync",
    ),
    Rule(
        "plan_delivered",
        "Each member gets the assignment that the leader gave it, byte by byte.",
        "KIP-62; SyncGroupResponse.json",
    ),
    Rule(
        "members_told",
        "Members are told their ids, the leader and the protocol, and the leader all members with"
        " their subscriptions.",
        "JoinGroupResponse.json; KIP-345, KIP-814",
    ),
    Rule(
        "generations_grow",
        "Each round has one generation, larger than those before.",
        "ClassicGroup.initNextGeneration",
    ),
    Rule(
        "every_answer",
        "Every request gets exactly one answer.",
        "Kafka protocol guide, network; a client waits for each",
    ),
    Rule(
        "timers",
        "Members that are silent for their session, and those that miss a round or do not ask for"
        " their share within the rebalance timeout, are removed, and nobody earlier.",
        f"KIP-62; {_MANAGER}, expireClassicGroupMemberHeartbeat, expirePendingSync",
    ),
    Rule(
        "group_told",
        "DescribeGroups and ListGroups tell the state of the group, and its members.",
        "DescribeGroupsResponse.json, KIP-518; ClassicGroup.asDescribedGroup",
    ),
    Rule(
        "group_kept",
        "A group with members is not deleted, nor offsets of topics that they read.",
        "KIP-229, KIP-496; ClassicGroup.validateDeleteGroup, isSubscribedToTopic",
    ),
    Rule(
        "offsets_kept",
        "OffsetFetch tells the last offset whose commit was accepted, and no other.",
        "OffsetMetadataManager.fetchOffsets; the reason for fencing",
    ),
    Rule(
        "refused",
        "What no group takes is refused with the documented code: names, timeouts and protocols"
        " that do not fit, members and groups that are not there.",
        f"GroupCoordinatorService and {_MANAGER}; the codes of JoinGroupResponse.json and others",
    ),
    Rule(
        "coordinator_found",
        "FindCoordinator tells where the group's coordinator is.",
        "FindCoordinatorResponse.json, KIP-699",
    ),
    Rule(
        "schema",
        "Every answer has the bytes that its version says.",
        "Kafka protocol guide; the definitions in kafka-clients (common/message)",
    ),
    Rule(
        "goes_on",
        "The broker goes on, whatever a member sends to it.",
        "one client must not end the groups of all others",
    ),
    Rule(
        "connection",
        "A version that ApiVersions announces is answered, and no connection is closed on it.",
        "KIP-35, KIP-511",
    ),
)
