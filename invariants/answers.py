"""Requests and their answers on one connection."""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import step_invariant
from groupcheck.model.protocol.family import CLASSIC_GROUP


@step_invariant(
    "link",
    source="RequestChannel; ClassicGroup.completeJoinFuture, completeSyncFuture;"
    " protocol: C17 ResponseOnce",
    broken="{name} gets an answer to a {answered} that was already answered or given up",
    of=CLASSIC_GROUP,
)
def answered_at_most_once(before: Any, after: Any) -> bool:
    """Every request is answered at most once, on the connection that sent it.

    An answer belongs to the request that is being handled or to the parked one, and completes that
    request. No answer goes to a closed connection or to a parked request that the coordinator has
    dropped. No answer replaces one that the client has not read yet.
    """
    was, now = before.link, after.link
    if now.answer is None or now.answer == was.answer:
        return True
    if was.answer is not None:
        return False
    asked = now.answer.request
    if was.request is not None and asked == was.request:
        return bool(was.live and now.request is None and now.parked == was.parked)
    return bool(was.parked == asked and not was.orphaned and now.parked is None)
