"""All rules, in the order in which they are shown."""

from __future__ import annotations

from groupcheck.oracles.judge.client.rules import commits, membership, plans, shares
from groupcheck.oracles.judge.client.rules.rule import Rule

RULES = (
    Rule(
        "commits_its_share",
        "It commits only partitions that it was given, in the generation in which it was.",
        "ConsumerCoordinator.sendOffsetCommitRequest; the broker does not check whose they are"
        " (OffsetMetadataManager.validateOffsetCommit)",
        commits.commits_its_share,
    ),
    Rule(
        "commits_with_its_generation",
        "It commits with the generation that it was told last, and not once it is no member.",
        "ConsumerCoordinator.sendOffsetCommitRequest, AbstractCoordinator.generationIfStable",
        commits.commits_with_its_generation,
    ),
    Rule(
        "never_commits_from_outside",
        "A member never commits with generation -1 or without an id; an empty group accepts that.",
        "ConsumerCoordinator.sendOffsetCommitRequest; OffsetMetadataManager: generation -1 is a"
        " consumer outside of groups",
        commits.never_commits_from_outside,
    ),
    Rule(
        "commits_what_was_delivered",
        "It commits no offset behind which the application has not got every record.",
        "ConsumerCoordinator: subscriptions.allConsumed, the positions that poll has returned",
        commits.commits_what_was_delivered,
        needs_events=True,
    ),
    Rule(
        "begins_where_committed",
        "It begins to read a partition that it is given anew where the group has committed it.",
        "ConsumerCoordinator.initWithCommittedOffsetsIfNeeded; KafkaConsumer: a process that takes"
        " a partition over begins at the committed offset",
        commits.begins_where_committed,
    ),
    Rule(
        "fetches_its_share",
        "It fetches only what it was given; nothing once it is no member, and nothing between an"
        " eager JoinGroup and its SyncGroup.",
        "ConsumerCoordinator.onJoinPrepare, onPartitionsLost; KIP-429",
        shares.fetches_its_share,
    ),
    Rule(
        "reads_its_share",
        "It fetches all that it is given within its rebalance timeout, or joins again, or leaves.",
        "ConsumerCoordinator.onJoinComplete; AbstractCoordinator.joinGroupIfNeeded: a poll that is"
        " over leaves the join to the next one",
        shares.reads_its_share,
    ),
    Rule(
        "delivers_its_share",
        "The application gets no records of what was revoked or lost.",
        "ConsumerRebalanceListener; KIP-429",
        shares.delivers_its_share,
        needs_events=True,
    ),
    Rule(
        "delivers_between_callbacks",
        "The application gets records only of partitions that its callbacks have assigned.",
        "ConsumerRebalanceListener",
        shares.delivers_between_callbacks,
        needs_events=True,
    ),
    Rule(
        "assigns_once",
        "No partition is assigned to the application again before it was revoked or lost.",
        "ConsumerRebalanceListener; KIP-429",
        shares.assigns_once,
        needs_events=True,
    ),
    Rule(
        "uses_the_id_it_is_given",
        "After MEMBER_ID_REQUIRED it joins with the id in that answer.",
        "KIP-394",
        membership.uses_the_id_it_is_given,
    ),
    Rule(
        "forgets_a_refused_id",
        "After UNKNOWN_MEMBER_ID it joins without the id that was refused.",
        "AbstractCoordinator.resetStateOnResponseError",
        membership.forgets_a_refused_id,
    ),
    Rule(
        "keeps_its_id",
        "It joins with its id as long as that is not refused and it has not left.",
        "AbstractCoordinator.resetStateOnResponseError; otherwise the group waits for the old id"
        " until its session is over",
        membership.keeps_its_id,
    ),
    Rule(
        "joins_again",
        "It joins within its rebalance timeout once it was told to, and once a cooperative member"
        " has given up a part of what it owned.",
        "AbstractCoordinator.HeartbeatResponseHandler; JoinGroupRequest.json: rebalanceTimeoutMs;"
        " KIP-429",
        membership.joins_again,
    ),
    Rule(
        "backs_off",
        "It waits before it repeats what was refused.",
        "KIP-580; retry.backoff.ms",
        membership.backs_off,
    ),
    Rule(
        "keeps_its_session",
        "While the application polls, it sends heartbeats within its session timeout.",
        "KIP-62; session.timeout.ms",
        membership.keeps_its_session,
    ),
    Rule(
        "gives_up_a_silent_coordinator",
        "It does not fetch on for longer than its session while its coordinator is silent.",
        "AbstractCoordinator.HeartbeatThread: sessionTimeoutExpired",
        membership.gives_up_a_silent_coordinator,
    ),
    Rule(
        "tells_what_is_fatal",
        "Errors that no repetition mends reach the application.",
        "AbstractCoordinator.JoinGroupResponseHandler; KIP-345",
        membership.tells_what_is_fatal,
        needs_events=True,
    ),
    Rule(
        "stops_when_fenced",
        "After FENCED_INSTANCE_ID it neither joins, commits nor fetches.",
        "KIP-345",
        membership.stops_when_fenced,
    ),
    Rule(
        "leaves_on_close",
        "A dynamic member that is closed leaves the group; a static one does not.",
        "AbstractCoordinator.maybeLeaveGroup; KIP-345",
        membership.leaves_on_close,
    ),
    Rule(
        "claims_its_share",
        "A cooperative member's subscription claims what it owns, and nothing once it has lost it.",
        "KIP-429; ConsumerProtocolSubscription.json: ownedPartitions; ConsumerCoordinator.metadata",
        plans.claims_its_share,
    ),
    Rule(
        "plans_for_all",
        "As leader it gives every partition to exactly one member that subscribes to it.",
        "ConsumerPartitionAssignor; KIP-429",
        plans.plans_for_all,
    ),
    Rule(
        "subscribes_readably",
        "Its subscription has all the fields of the version that it names.",
        "ConsumerProtocolSubscription.json; ConsumerProtocol.deserializeSubscription: a leader that"
        " is a Java client cannot read others",
        plans.subscribes_readably,
    ),
)
