"""Statements that show a member, or its group, at work."""

from __future__ import annotations

MEMBER_WORKS = ("joined", "synced", "assigned", "committed", "fetch_started")
"""A member is in its group."""
COORDINATOR_ANSWERS = ("joined", "synced", "assigned", "heartbeat", "committed")
"""The coordinator answered a member."""
GROUP_WORKS = ("synced", "assigned", "committed", "broker_stable")
"""A rebalance is over. One who has joined may still wait for the others."""
