"""Why a member joins again, by what single statements say."""

from __future__ import annotations

import re

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.story.events import RebalanceCause

_NOT_TOLD = RebalanceCause.NOT_TOLD
REASONS = {
    "subscription_changed": RebalanceCause.METADATA_CHANGE,
    "partitions_changed": RebalanceCause.METADATA_CHANGE,
    "topics_changed": RebalanceCause.METADATA_CHANGE,
    "rebalancing": _NOT_TOLD,
    **dict.fromkeys(
        (
            "member_unknown", "generation_old", "generation_reset", "member_fenced", "lost",
            "instance_fenced", "poll_expired", "session_timed_out", "sync_failed",
        ),
        RebalanceCause.MEMBER_REJOIN,
    ),
}  # fmt: skip
"""A statement -> why its member joins again."""
_METADATA = re.compile(r"metadata|topics?\b|subscription", re.I)
_REBALANCING = re.compile(r"rebalanc", re.I)
_TOLD_OF = ("rejoin_requested", "sync_failed")
"""An error in their words may say that another rebalance has begun."""
_HOW = re.compile(r"nassignment done|JoinGroup error|unsubscribe")
"""Reasons that only say what the client did before."""


def why_of(said: Statement) -> tuple[RebalanceCause, str] | None:
    """The cause of the rebalance that its writer joins next, and why in words; None if it only says
    what the client did before.
    """
    reason = str(said.fields.get("reason") or said.fields.get("error") or "")
    cause = REASONS.get(said.kind, RebalanceCause.MEMBER_REJOIN)
    if _HOW.search(reason):
        return None
    # The round had begun before the member was told of it, so its own join is not the reason.
    told = said.kind in _TOLD_OF and _REBALANCING.search(reason or said.text)
    if told:
        cause = _NOT_TOLD
    elif said.kind == "rejoin_requested" and _METADATA.search(reason):
        cause = RebalanceCause.METADATA_CHANGE
    return cause, reason or said.kind.replace("_", " ")
