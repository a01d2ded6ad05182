"""Each reason of a rebalance that a coordinator can print names its cause and its members."""

from __future__ import annotations

import pytest

from groupcheck.traces.broker.grammar import parse_reason
from groupcheck.traces.story import events as e

M = "c-1-23a5cab4-de06-4358-8220-add81426c9af"
N = "c-2-33a5cab4-de06-4358-8220-add81426c9af"

REASONS = [
    (
        f"Adding new member {M} with group instance id Some(i-1); client reason: r; s",
        e.RebalanceCause.JOIN,
        (M,),
        "r; s",
    ),
    (
        f"Adding new member {M} with group instance id null; client reason: not provided",
        e.RebalanceCause.JOIN,
        (M,),
        "not provided",
    ),
    (f"Adding new member {M} with group instance id None", e.RebalanceCause.JOIN, (M,), None),
    (f"Adding new member {M} with group instanceid None", e.RebalanceCause.JOIN, (M,), None),
    (f"Adding new member {M}", e.RebalanceCause.JOIN, (M,), None),
    (
        f"Leader {M} re-joining group during Stable; client reason: r",
        e.RebalanceCause.LEADER_REJOIN,
        (M,),
        "r",
    ),
    (f"leader {M} re-joining group during Stable", e.RebalanceCause.LEADER_REJOIN, (M,), None),
    (
        f"Updating metadata for member {M} during CompletingRebalance; client reason: r",
        e.RebalanceCause.METADATA_CHANGE,
        (M,),
        "r",
    ),
    (f"Updating metadata for member {M}", e.RebalanceCause.METADATA_CHANGE, (M,), None),
    (
        f"Updating metadata for static member {M} with instance id i-1; client reason: r",
        e.RebalanceCause.STATIC_REPLACED,
        (M,),
        "r",
    ),
    (
        f"Updating metadata for static member {M} with instance id Some(i-1)",
        e.RebalanceCause.STATIC_REPLACED,
        (M,),
        None,
    ),
    (
        f"Group's selectedProtocol will change because static member {M}"
        " with instance id i-1 joined with change of protocol; client reason: r",
        e.RebalanceCause.PROTOCOL_CHANGE,
        (M,),
        "r",
    ),
    (f"removing member {M} on heartbeat expiration", e.RebalanceCause.SESSION_EXPIRED, (M,), None),
    (f"removing member {M} on heartbeat expiration.", e.RebalanceCause.SESSION_EXPIRED, (M,), None),
    (f"Removing member {M} on LeaveGroup; client reason: r", e.RebalanceCause.LEAVE, (M,), "r"),
    (f"removing member {M} on LeaveGroup", e.RebalanceCause.LEAVE, (M,), None),
    ("removing member  on LeaveGroup", e.RebalanceCause.LEAVE, (), None),
    (
        f"explicit `LeaveGroup` request for ({M}, {N}) members.",
        e.RebalanceCause.LEAVE,
        (M, N),
        None,
    ),
    ("explicit `LeaveGroup` request for () members.", e.RebalanceCause.LEAVE, (), None),
    (
        f"Removing Set({M}, {N}) on pending sync request expiration",
        e.RebalanceCause.SYNC_TIMEOUT,
        (M, N),
        None,
    ),
    (
        f"Removing [{M}] on pending sync request expiration",
        e.RebalanceCause.SYNC_TIMEOUT,
        (M,),
        None,
    ),
    (
        f"Error NOT_COORDINATOR when storing group assignment during SyncGroup (member: {M})",
        e.RebalanceCause.APPEND_FAILED,
        (M,),
        "NOT_COORDINATOR",
    ),
    (
        f"error when storing group assignment during SyncGroup (member: {M})",
        e.RebalanceCause.APPEND_FAILED,
        (M,),
        None,
    ),
    (
        "Freshly-loaded group g (size 3) is over capacity 2."
        " Rebalancing in order to give a chance for consumers to commit offsets",
        e.RebalanceCause.OVER_CAPACITY,
        (),
        None,
    ),
    (
        "Downgrade group g from consumer to classic for member leaving.",
        e.RebalanceCause.DOWNGRADE,
        (),
        None,
    ),
    ("something that nobody prints", e.RebalanceCause.NOT_TOLD, (), None),
]


@pytest.mark.parametrize(
    ("text", "cause", "members", "client"),
    REASONS,
    ids=lambda x: x[:50] if isinstance(x, str) else "",
)
def test_a_reason_names_its_cause_and_its_members(
    text: str, cause: e.RebalanceCause, members: tuple[str, ...], client: str | None
) -> None:
    reason = parse_reason(text)
    assert (reason.cause, reason.members, reason.client) == (cause, members, client)
