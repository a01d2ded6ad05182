"""All rules of the protocol, and its spec at a scope."""

from __future__ import annotations

from groupcheck.model.engine import Spec, array, end, single
from groupcheck.model.protocol.consumer.client import Member
from groupcheck.model.protocol.consumer.memory import REST, State
from groupcheck.model.protocol.streams.anybody import ANYBODY_RULES
from groupcheck.model.protocol.streams.client import (
    CLIENT_RULES,
    FAULT_RULES,
    INSIDE,
    StreamsMember,
)
from groupcheck.model.protocol.streams.commits import ANYBODY_COMMITS, COMMIT_REQUEST_RULES
from groupcheck.model.protocol.streams.heartbeats import REQUEST_RULES
from groupcheck.model.protocol.streams.memory import StreamsCore, StreamsSeat, fresh
from groupcheck.model.protocol.streams.messages import StreamsLink
from groupcheck.model.protocol.streams.scope import StreamsScope
from groupcheck.model.protocol.streams.targets import WALK_RULES
from groupcheck.model.protocol.streams.timers import LOAD_RULES, OTHER_RULES, TIMER_RULES

BY_THEMSELVES = (*TIMER_RULES, *OTHER_RULES)
COORDINATORS = (*WALK_RULES, *LOAD_RULES, *REQUEST_RULES)
COORDINATOR = frozenset(r.name for r in (*BY_THEMSELVES, *COORDINATORS, *COMMIT_REQUEST_RULES))
MEMBERS = (*BY_THEMSELVES, *CLIENT_RULES, *FAULT_RULES, *INSIDE, *COORDINATORS)
ANYBODY = (*BY_THEMSELVES, *ANYBODY_RULES, *COORDINATORS)
COMMITS = (*ANYBODY_COMMITS, *COMMIT_REQUEST_RULES)


@end
def streams_at_rest(core: StreamsCore, seat: StreamsSeat | None, client: StreamsMember) -> bool:
    """The group is at its target, and so is each member; or a member has stopped."""
    if client.state == Member.FATAL:
        return True
    settled = seat is not None and seat.current and seat.state == State.STABLE
    return not core.pending and settled and client.state == Member.STABLE


@end("some i")
def waits_for_its_streams_session(seat: StreamsSeat | None, client: StreamsMember) -> bool:
    """The record of a member that has stopped is there until its session ends, but the budget has
    no such fault left.
    """
    return client.state == Member.FATAL and seat is not None


def spec(scope: StreamsScope) -> Spec:
    """The protocol at a scope, without invariants."""
    links = tuple(StreamsLink(process=i % scope.homes) for i in range(scope.members))
    slots = {
        "core": single(fresh(scope), of=StreamsCore),
        "budget": single(scope.budget),
        "walk": single(REST),
        "seat": array(scope.members, None, of=StreamsSeat | None),
        "client": array(scope.members, StreamsMember()),
        "link": array(scope.members, StreamsLink()),
        "ghosts": single(()),
    }
    anybody = scope.requests == "anybody"
    return Spec(
        "streams",
        slots,
        (*ANYBODY, *(COMMITS if scope.offsets else ())) if anybody else MEMBERS,
        scope,
        ends=() if anybody else (streams_at_rest, waits_for_its_streams_session),
        deadlock=not anybody,
        initial=[{"link": links}],
    )
