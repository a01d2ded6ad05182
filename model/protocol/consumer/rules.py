"""All rules of the protocol, and its spec at a scope."""

from __future__ import annotations

from groupcheck.model.engine import Spec, array, end, single
from groupcheck.model.protocol.consumer.anybody import anybody_sends, nobody_hears
from groupcheck.model.protocol.consumer.client import (
    CLIENT_RULES,
    WIRE_RULES,
    Client,
    Member,
    hear_answer,
)
from groupcheck.model.protocol.consumer.client_faults import (
    FAULT_RULES,
    SHARED_FAULT_RULES,
    leave_ghost,
)
from groupcheck.model.protocol.consumer.commits import OFFSET_REQUEST_RULES
from groupcheck.model.protocol.consumer.expiry import OWN_TIME, SWEEP_RULES, expiry
from groupcheck.model.protocol.consumer.heartbeats import REQUEST_RULES
from groupcheck.model.protocol.consumer.java_member import JavaMember
from groupcheck.model.protocol.consumer.java_rules import JAVA_RULES, java_hears
from groupcheck.model.protocol.consumer.memory import REST, Core, Seat, State
from groupcheck.model.protocol.consumer.messages import Link
from groupcheck.model.protocol.consumer.offsets import offsets
from groupcheck.model.protocol.consumer.regexes import COORDINATOR_RULES as REGEX_RULES
from groupcheck.model.protocol.consumer.regexes import regexes
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.consumer.targets import WALK_RULES
from groupcheck.model.protocol.consumer.timers import LOAD_RULES, OTHER_RULES, TIMER_RULES
from groupcheck.model.protocol.consumer.transactions import (
    TRANSACTION_REQUEST_RULES,
    transactions,
)

COORDINATOR_RULES = (*TIMER_RULES, *OTHER_RULES, *WALK_RULES, *LOAD_RULES, *REQUEST_RULES)
OF_OFFSETS = (*OFFSET_REQUEST_RULES, *TRANSACTION_REQUEST_RULES, *OWN_TIME, *SWEEP_RULES)
COORDINATOR = frozenset(r.name for r in (*COORDINATOR_RULES, *OF_OFFSETS, *REGEX_RULES))
BY_THEMSELVES = (*TIMER_RULES, *OTHER_RULES)
INSIDE = (*WALK_RULES, *LOAD_RULES, *REQUEST_RULES)
MEMBERS = (*BY_THEMSELVES, *CLIENT_RULES, *FAULT_RULES, leave_ghost, hear_answer, *INSIDE)
JAVA = (
    *BY_THEMSELVES,
    *JAVA_RULES,
    *WIRE_RULES,
    *SHARED_FAULT_RULES,
    leave_ghost,
    java_hears,
    *INSIDE,
)
ANYBODY = (*BY_THEMSELVES, anybody_sends, nobody_hears, *INSIDE)


GONE = (Member.FATAL, Member.ENDED)


@end
def at_rest(core: Core, seat: Seat | None, client: Client) -> bool:
    """The group is at its target, and so is each member; or a process does not come back."""
    if client.state in GONE:
        return True
    settled = seat is not None and seat.current and seat.state == State.STABLE
    return not core.pending and settled and client.state == Member.STABLE


@end("some i")
def waits_for_its_session(seat: Seat | None, client: Client) -> bool:
    """The record of a process that does not come back is there until its session ends, but the
    budget has no such fault left.
    """
    return client.state in GONE and seat is not None


def spec(scope: ConsumerScope) -> Spec:
    """The protocol at a scope, without invariants."""
    slots = {
        "core": single(Core(topics=scope.at_first), of=Core),
        "budget": single(scope.budget),
        "walk": single(REST),
        "seat": array(scope.members, None, of=Seat | None),
        "client": array(scope.members, JavaMember() if scope.java else Client()),
        "link": array(scope.members, Link()),
        "ghosts": single(()),
    }
    links = tuple(
        Link(static=i < scope.static_members, blind=scope.restricted and i == 0)
        for i in range(scope.members)
    )
    anybody = scope.requests == "anybody"
    base = Spec(
        "consumer",
        slots,
        ANYBODY if anybody else JAVA if scope.java else MEMBERS,
        scope,
        ends=() if anybody else (at_rest, waits_for_its_session),
        deadlock=not anybody,
        initial=[{"link": links}],
    )
    for there, feature in (
        (scope.offsets, offsets),
        (scope.transactions, transactions),
        (scope.expiry, expiry),
        (scope.regexes > 0, regexes),
    ):
        base = feature(base) if there else base
    return base
