"""All rules of the protocol, and its spec at a scope."""

from __future__ import annotations

from groupcheck.model.engine import Spec, array, end, single
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.memory import REST, Seat
from groupcheck.model.protocol.consumer.messages import Link
from groupcheck.model.protocol.share.anybody import ANYBODY_RULES
from groupcheck.model.protocol.share.client import (
    CLIENT_RULES,
    FAULT_RULES,
    INSIDE,
    ShareMember,
)
from groupcheck.model.protocol.share.heartbeats import REQUEST_RULES
from groupcheck.model.protocol.share.memory import ShareCore
from groupcheck.model.protocol.share.partitions import PERSISTER_RULES, WALK_RULES
from groupcheck.model.protocol.share.scope import ShareScope
from groupcheck.model.protocol.share.timers import LOAD_RULES, OTHER_RULES, TIMER_RULES

BY_THEMSELVES = (*TIMER_RULES, *OTHER_RULES, *PERSISTER_RULES)
COORDINATORS = (*WALK_RULES, *LOAD_RULES, *REQUEST_RULES)
COORDINATOR = frozenset(r.name for r in (*BY_THEMSELVES, *COORDINATORS))
MEMBERS = (*BY_THEMSELVES, *CLIENT_RULES, *FAULT_RULES, *INSIDE, *COORDINATORS)
ANYBODY = (*BY_THEMSELVES, *ANYBODY_RULES, *COORDINATORS)


@end
def shares_at_rest(core: ShareCore, seat: Seat | None, client: ShareMember) -> bool:
    """The group is at its target, and so is each member; or a process has failed for good."""
    if client.state == Member.FATAL:
        return True
    settled = seat is not None and seat.current and client.state == Member.STABLE
    return not core.pending and not core.initializing and settled


@end("some i")
def waits_for_its_share_session(seat: Seat | None, client: ShareMember) -> bool:
    """The record of a process that has failed for good is there until its session ends, but the
    budget has no such fault left.
    """
    return client.state == Member.FATAL and seat is not None


def spec(scope: ShareScope) -> Spec:
    """The protocol at a scope, without invariants."""
    core = ShareCore(topics=scope.at_first, readers=(0,) * scope.topics)
    slots = {
        "core": single(core, of=ShareCore),
        "budget": single(scope.budget),
        "walk": single(REST),
        "seat": array(scope.members, None, of=Seat | None),
        "client": array(scope.members, ShareMember()),
        "link": array(scope.members, Link()),
        "ghosts": single(()),
    }
    anybody = scope.requests == "anybody"
    return Spec(
        "share",
        slots,
        ANYBODY if anybody else MEMBERS,
        scope,
        ends=() if anybody else (shares_at_rest, waits_for_its_share_session),
        deadlock=not anybody,
    )
