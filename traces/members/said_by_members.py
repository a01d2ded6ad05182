"""What single statements tell about the member that makes them."""

from __future__ import annotations

from groupcheck.traces.clients.partitions import partitions_of
from groupcheck.traces.clients.statement import Statement

_OF_MEMBERS = {"heartbeat", "rebalancing", "committed"}
"""Only a member says so."""
_OUT = {
    "closed", "generation_reset", "id_given", "left", "lost", "member_fenced", "member_unknown",
    "poll_expired", "session_timed_out", "started", "subscribed",
}  # fmt: skip
_JOIN = "JoinGroup"


def answers_a_join(said: Statement) -> bool:
    """Is it the answer to a JoinGroup, or to a request that it does not name?"""
    return said.kind == "request_answered" and said.fields.get("api", _JOIN) == _JOIN


def is_of_member(said: Statement) -> bool:
    """Does only a member say so? Who asks to join again may be new."""
    if said.fields.get("step") == "thread" or said.fields.get("generation") == -1:
        return False  # the thread begins, or the member has not joined yet
    owned = said.kind == "revoked" and said.fields.get("step", "callback") == "callback"
    return said.kind in _OF_MEMBERS or (owned and has_partitions(said))


def has_no_id(said: Statement) -> bool:
    """Does a member say so only when it has no id, or loses it?"""
    again = said.kind == "subscribed" and "step" in said.fields  # told before each join
    return said.kind in _OUT and not again


def has_partitions(said: Statement) -> bool:
    """Does it name a partition?"""
    return bool(partitions_of(str(said.fields.get("partitions", ""))) or "topic" in said.fields)
