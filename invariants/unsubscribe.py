"""An application that unsubscribes: what the member gives up, and that it has left."""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import step_invariant
from groupcheck.model.protocol.classic.features import unsubscribe
from groupcheck.model.protocol.classic.features.unsubscribe import FAMILY as UNSUBSCRIBING
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID, LeaveGroup

UNSUBSCRIBE = (unsubscribe.unsubscribe.name,)


@step_invariant(
    "client",
    rules=UNSUBSCRIBE,
    source="ConsumerCoordinator.onLeavePrepare, AbstractCoordinator.resetGenerationOnLeaveGroup",
    broken="{name} has unsubscribed and still owns what the group is about to give to others",
    of=UNSUBSCRIBING,
)
def unsubscribed_owns_nothing(before: Any, after: Any) -> bool:
    """A member that has unsubscribed owns nothing and has forgotten its id and generation.

    Why: its LeaveGroup lets the coordinator give its partitions to others at once.
    """
    now = after.client
    forgotten = now.id == NO_ID and now.generation == NO_GENERATION
    return bool(forgotten and not now.owned and now.position < 0)


@step_invariant(
    "client",
    "link",
    rules=UNSUBSCRIBE,
    source="AbstractCoordinator.maybeLeaveGroup",
    broken="{name} has unsubscribed, and nobody has told the coordinator",
    of=UNSUBSCRIBING,
)
def unsubscribed_has_left(before: Any, after: Any, label: str) -> bool:
    """A dynamic member that unsubscribes sends LeaveGroup.

    Exempt is one whose connection breaks, and one that has no membership to end (static, or
    UNJOINED). Why: without it the others wait for its session to end.
    """
    sent = (after.link.request, *after.link.queue[-1:])
    return label in ("unheard", "silent") or LeaveGroup(before.client.id) in sent
