"""Every kind of anomaly that a replay can report: what it means, and its threshold."""

from __future__ import annotations

from attrs import frozen

from groupcheck.traces.findings import anomalies as found
from groupcheck.traces.findings.held_back import HELD_MS
from groupcheck.traces.findings.mass_expiry import DEAD_LEAST, GHOSTS_LEAST
from groupcheck.traces.findings.short_consumers import LIVES_LEAST
from groupcheck.traces.story.moments import TOGETHER_MS

MINUTE_MS, SECOND_MS = 60_000, 1000


@frozen
class AnomalyKind:
    """One kind of anomaly."""

    name: str
    meaning: str
    # The logs in which it can be found.
    logs: str
    # The figures from which on it is reported; empty if one case is enough.
    threshold: str = ""


BROKER, REQUESTS, BOTH, DUMP = "coordinator log", "request log", "both", "dump of offsets"
REQUESTS_AND_DUMP = f"{REQUESTS}, {DUMP}"

KINDS = (
    AnomalyKind(
        "rebalance_storm",
        "The group rebalances again and again.",
        BOTH,
        f"{found.STORM_ROUNDS} rebalances within {found.STORM_MS // MINUTE_MS} minutes, or"
        f" {found.LOOP_ROUNDS} that repeat one client's",
    ),
    AnomalyKind(
        "one_consumer_a_message",
        "Consumers come one after the other, alone, and each is closed soon.",
        BOTH,
        f"{LIVES_LEAST} consumers",
    ),
    AnomalyKind(
        "never_closed",
        "Consumers come one after the other, alone, and none is closed: each expires.",
        BOTH,
        f"{LIVES_LEAST} consumers",
    ),
    AnomalyKind(
        "blocked_by_departed_member",
        "A rebalance waited for a member that was gone without leaving, until its session expired.",
        BOTH,
        f"one such join phase of {found.SLOW_MS // SECOND_MS} seconds",
    ),
    AnomalyKind(
        "join_window_missed",
        "The rebalance timeout ended the join phase and removed members that had not rejoined.",
        BOTH,
    ),
    AnomalyKind(
        "ghost_members",
        "Members expired together, one session after they had joined: nobody used their ids.",
        BOTH,
        f"{GHOSTS_LEAST} members that expire together",
    ),
    AnomalyKind(
        "died_together",
        "Members expired together that had been alive: killed, or cut off from the broker.",
        BOTH,
        f"{DEAD_LEAST} members within {TOGETHER_MS // SECOND_MS} seconds of each other",
    ),
    AnomalyKind(
        "ids_pile_up",
        "Ids of one client pile up in one join phase: it repeats its JoinGroup without an id.",
        BOTH,
        f"{found.PILE_LEAST} ids in a join phase of {found.SLOW_MS // SECOND_MS} seconds",
    ),
    AnomalyKind("ids_never_used", "A member id was handed out, and nobody joined with it.", BOTH),
    AnomalyKind(
        "bouncing_members",
        "A client comes back under new member ids again and again.",
        BOTH,
        f"{found.BOUNCE_IDS} ids of one client, {found.BOUNCE_GONE} of them gone",
    ),
    AnomalyKind(
        "short_lived_members",
        "Members left or expired soon after they had joined.",
        BOTH,
        f"{found.SHORT_LIVES} members gone within {found.SHORT_LIFE_MS // SECOND_MS} seconds, in a"
        " log of a minute",
    ),
    AnomalyKind(
        "generation_without_assignment",
        "A generation was given up before the leader's assignment arrived.",
        BOTH,
    ),
    AnomalyKind(
        "partitions_held_back",
        "A member of a consumer group (KIP-848) held partitions back that others waited for.",
        f"{BOTH}, {DUMP}",
        f"{HELD_MS // SECOND_MS} seconds",
    ),
    AnomalyKind(
        "unexplained_line",
        "No correct coordinator writes this line at this point, whatever lines are missing; or, in"
        " a request log that shows no hole near it, no world of the model gives this answer.",
        BOTH,
    ),
    AnomalyKind("gap", "The line fits only if lines before it are missing.", BOTH),
    AnomalyKind(
        "missing_lines",
        "The log never shows a kind of line that must have been printed: it was filtered.",
        BROKER,
    ),
    AnomalyKind(
        "size_cap",
        "A generation has fewer members than expected: it fits only if group.max.size is its size.",
        BROKER,
    ),
    AnomalyKind("out_of_order", "Timestamps run backwards.", BOTH),
    AnomalyKind("duplicate_line", "A line appears twice with the same millisecond.", BROKER),
    AnomalyKind(
        "fenced", "A request was refused: a newer process has the same instance id.", BROKER
    ),
    AnomalyKind(
        "group_loaded", "The coordinator loaded the group from __consumer_offsets.", BROKER
    ),
    AnomalyKind("group_unloaded", "Another broker became the coordinator of the group.", BROKER),
    AnomalyKind("group_deleted", "The group was deleted.", BROKER),
    AnomalyKind(
        "generation_reset",
        "The generation starts again at 0: the group was deleted, or its state was lost.",
        BROKER,
    ),
    AnomalyKind(
        "protocol_changed",
        "The group changed between the classic and the KIP-848 protocol.",
        BROKER,
    ),
    AnomalyKind(
        "load_failed",
        "A partition of __consumer_offsets could not be loaded: its groups have no coordinator.",
        BROKER,
    ),
    AnomalyKind("coordinator_started", "The coordinator of a broker started.", BROKER),
    AnomalyKind("coordinator_stopped", "The coordinator of a broker stopped.", BROKER),
    AnomalyKind(
        "coordinator_away",
        "Requests were answered with error 14, 15 or 16: this broker was not the coordinator then.",
        REQUESTS,
    ),
    AnomalyKind(
        "zombie",
        "A member that had been removed tried to commit a partition that another member owned, and"
        " was refused.",
        REQUESTS,
    ),
    AnomalyKind(
        "zombie_commit_accepted",
        "A member that had been removed committed a partition that another member owned.",
        REQUESTS,
    ),
    AnomalyKind(
        "late_to_learn",
        "A member sent heartbeats in a generation that was over; others owned its partitions.",
        REQUESTS,
    ),
    AnomalyKind(
        "commit_from_non_owner",
        "A commit was accepted from a client to which the partition was not assigned.",
        REQUESTS,
    ),
    AnomalyKind(
        "committed_offset_went_back",
        "An accepted commit was lower than the one before it.",
        REQUESTS_AND_DUMP,
    ),
    AnomalyKind(
        "partition_assigned_twice",
        "The leader's assignment gives one partition to two members.",
        REQUESTS_AND_DUMP,
    ),
    AnomalyKind(
        "subscriptions_apart",
        "Two members of a group subscribe to no topic in common.",
        DUMP,
    ),
    AnomalyKind(
        "offset_set_back",
        "A committed offset was lowered, and no record shows that the group had members then: a"
        " tool, or a consumer that is no member, set it.",
        DUMP,
    ),
    AnomalyKind(
        "offsets_removed",
        "Committed offsets were removed: they have expired, or they, the group or the topic were"
        " deleted.",
        DUMP,
    ),
)
