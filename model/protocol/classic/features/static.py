"""A feature of the classic group: static members (KIP-345, KIP-814; protocol.md 1.6.3).

Every process has an instance id (group.instance.id) of its own, which survives a restart. Messages
do not carry it: the coordinator of the model knows each process by its index. So a LeaveGroup
without a member id means the member with the instance id of that process.

What the feature covers:

- A static member joins in one step, and is never told to come again with an id (79).
- A JoinGroup without a member id takes the place of the id that its instance has (`takeover`): in a
  Stable group without a round, in any other group within the round. Whoever still uses the old id
  is fenced (82).
- A round that completes keeps static members that have not joined. If nobody has joined, it goes on
  waiting.
- A static member sends no LeaveGroup, neither when it closes nor when it does not poll in time.
- An administrator removes a member by its instance id (the fault `remove_instance`).

What it leaves out: members that list different assignors; two processes with one instance id at
the same time, apart from what `delay_request` shows of it (the JoinGroup of a process that is gone
takes the place of a member that lives). Dynamic members beside static ones are a feature of their
own (`mixed`).

Kafka: GroupMetadataManager, AbstractCoordinator.maybeLeaveGroup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

import attrs
from attrs import frozen

from groupcheck.model.engine import ScopeError, Spec, evolve, rule
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client_faults, coordinator
from groupcheck.model.protocol.classic.client import Client, Member, Prepare, reset
from groupcheck.model.protocol.classic.client_faults import Labelled
from groupcheck.model.protocol.classic.feature import Feature
from groupcheck.model.protocol.classic.features.takeover import (
    FENCED,
    MORE_RULES,
    WAITING,
    fencing,
    joining,
    leaving,
    waiting,
)
from groupcheck.model.protocol.classic.group import Seats
from groupcheck.model.protocol.classic.plain_group import PHASES_SCOPE, ROWS_IN_PHASES, STYLES_SCOPE
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.classic.step_words import Words
from groupcheck.model.protocol.codes import FENCED_INSTANCE_ID
from groupcheck.model.protocol.family import Family
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import NO_ID, LeaveGroup
from groupcheck.model.protocol.transform import outcomes_changed, own, rebuilt, rewritten

FAMILY = Family("static members", base="static_membership")

MORE: Mapping[str, str] = {
    "remove_instance": (
        "An administrator removes a member by its instance id (LeaveGroup without a member id);"
        " the process does not hear of it."
    ),
}
SPENT_BY: Mapping[str, tuple[str, ...]] = {
    "close": ("close:silent",),
    "poll_timeout": ("poll_timeout:silent",),
    "lose_request": ("lose_request:commit", "lose_request:sync"),
    "append_failure": (
        "append_failed",
        "takeover_failed:reverted",
        "takeover_failed:reverted_in_round",
    ),
    "remove_instance": ("remove_instance",),
}
WORDS = Words(
    does={
        "close:silent": "closes, and sends nothing",
        "leave:silent": "is gone, and sends no LeaveGroup",
        "poll_timeout:silent": (
            "does not poll in time: its heartbeat thread forgets its id and sends nothing, and the"
            " application still holds its partitions"
        ),
        "poll_over": (
            "has not polled for max.poll.interval.ms: its heartbeat thread forgets its id and sends"
            " nothing more"
        ),
        "rebalance_timeout:missing": (
            "stops waiting for members that have not joined; static members among them stay"
        ),
        "rebalance_timeout:postponed": "goes on waiting, because no member has joined",
    },
    to_member={
        "remove_instance": "is asked by an administrator to remove {who}",
        "takeover_committed:answered": "completes the append of the new id of {who}",
        "takeover_committed:answered_in_round": (
            "completes the append of the new id of {who} while a round runs"
        ),
        "takeover_committed:unanswered_in_round": (
            "completes the append of the new id of {who}, the leader, and fails to answer while a"
            " round runs"
        ),
        "takeover_failed:reverted": (
            "fails to append the new id of {who} and goes back to the old one"
        ),
        "takeover_failed:reverted_in_round": (
            "fails to append the new id of {who} and goes back to the old one while a round runs"
        ),
    },
    codes={
        **{
            f"{api}:fenced": FENCED_INSTANCE_ID
            for api in ("join_group", "sync_group", "heartbeat", "leave_group", "offset_commit")
        },
        "leave_group:removed": 0,
        "join_group:replaced": None,
        "join_group:replaced_and_parked": None,
        "join_group:replaced_and_restarted": None,
    },
    parks={
        "join_group:replaced": ("gives {who} a new id", "appends it"),
        "join_group:replaced_and_parked": ("gives {who} a new id", "parks the request"),
        "join_group:replaced_and_restarted": (
            "gives {who} a new id",
            "parks the request",
            "starts a new round",
        ),
    },
    notes={
        "remove_instance": "fault",
        "poll_over": "timer",
        "takeover_committed": "event",
        "takeover_failed": "fault",
    },
)


@frozen(slots=False)
class StaticScope(Scope):
    """The scope of a group in which all members are static."""

    MORE: ClassVar[Mapping[str, str]] = MORE
    static: ClassVar[bool] = True


def static_membership(spec: Spec) -> Spec:
    """The feature: all members are static. Raises `ScopeError` if they list different assignors."""
    if spec.scope.protocols:
        raise ScopeError("static members that list different assignors are left out", where="scope")
    rules = [
        joining(own(spec, coordinator.join_group)),
        leaving(own(spec, coordinator.leave_group)),
        *(fencing(own(spec, r)) for r in FENCED),
        waiting(own(spec, WAITING)),
        rewritten(own(spec, client_faults.close), close, labels=("silent",)),
        rewritten(own(spec, client_faults.poll_timeout), poll_timeout, labels=("silent",)),
        staying(own(spec, client_faults.delay_request)),
    ]
    slots = {**spec.slots, "seats": attrs.evolve(spec.slots["seats"], initial=Seats(static=True))}
    scope = spec.scope
    two_step = scope.two_step and scope.static_count < scope.members
    return attrs.evolve(
        rebuilt(spec, rules, (*MORE_RULES, remove_instance)),
        slots=slots,
        scope=attrs.evolve(scope, two_step=two_step),
    )


def close(client: Client, link: Link, budget: Budget) -> Iterator[Labelled]:
    """The member closes and sends no LeaveGroup (maybeLeaveGroup): to the group, it crashes."""
    if client.id == NO_ID or client.prepare == Prepare.SYNC or (link.queue and link.parked is None):
        return  # the coordinator reads first what was sent before
    yield "silent", Client(), Link(late=link.late), budget.spend("close")


@cache
def staying(usual: Rule) -> Rule:
    """The rule by which a request is held up; none of a static member is a LeaveGroup."""
    return outcomes_changed(usual, _no_late_leaving)


def _no_late_leaving(
    before: dict[str, Any], label: str, after: dict[str, Any]
) -> dict[str, Any] | None:
    return None if isinstance(after["link"].late, LeaveGroup) else after


def poll_timeout(client: Client, link: Link, budget: Budget) -> Iterator[Labelled]:
    """The application does not poll in time: the heartbeat thread forgets the member's id and sends
    nothing (maybeLeaveGroup). The application holds its partitions until it polls again.
    """
    # A SyncGroup that follows its JoinGroup answer is on its way already.
    if client.state in (Member.COMPLETING, Member.STABLE) and client.prepare != Prepare.SYNC:
        yield "silent", reset(client, True), link, budget.spend("poll_timeout")


@rule(when=lambda budget: budget.allows("remove_instance"))
def remove_instance(link: Link, budget: Budget) -> Iterator[tuple[Link, Budget]]:
    """An administrator removes the member by its instance id, over a connection of his own."""
    yield evolve(link, request=LeaveGroup(NO_ID), live=False), budget.spend("remove_instance")


ONE_STEP = "A static member is never told to come again with an id."
NO_LEAVING = "A static member sends no LeaveGroup; an administrator names no member id."
SAME = "All members list the same assignors."
UNREACHED = {
    "join_group:id_required": ONE_STEP,
    "join_answer:id_given": ONE_STEP,
    "session_timeout:pending": ONE_STEP,
    "rebalance_timeout:nobody": ONE_STEP,
    "join_answer:ignored": "Only a LeaveGroup or an id that was replaced could be heard before.",
    "leave_group:left": NO_LEAVING,
    "leave_group:pending": NO_LEAVING,
    "leave_group:fenced": NO_LEAVING,
    "leave_behind_parked": NO_LEAVING,
    "leave_answer": NO_LEAVING,
    "closed": NO_LEAVING,
    "join_group:inconsistent": SAME,
    "vote": SAME,
}
ASKED: Mapping[str, Any] = {
    "members": 2,
    "generations": 1,
    "faults": {"append_failure": 1, "rebalance_timeout": 1},
}

FEATURE = Feature(
    name="static",
    title="static members",
    doc=(
        "Every process has a group.instance.id: a member that comes back to a Stable group takes"
        " over its share in the same generation, without a round, and whoever still uses its old id"
        " is fenced (KIP-345, KIP-814)."
    ),
    change=static_membership,
    scope_type=StaticScope,
    families=(FAMILY,),
    not_simulated={remove_instance.name: "no administrator removes a member"},
    followed=("live", "whole"),
    words=WORDS,
    coordinator=MORE_RULES,
    spent_by=SPENT_BY,
    shows=(
        {"members": 1, "generations": 1},
        {"members": 1, "generations": 1, "atomic_complete": False},
        {"members": 1, "generations": 1, "records": 2, "faults": {"delay_request": 1}},
        {"members": 2, "generations": 2, "max_size": 1, "any_faults": 1},
        {"members": 2, "generations": 1, "faults": {"crash": 1, "append_failure": 1}},
        {"members": 1, "generations": 2, "any_faults": 2},
        {"members": 2, "generations": 1, "faults": {"crash": 1, "sync_timeout": 1}},
        {"members": 2, "generations": 1, "any_faults": 1},
        PHASES_SCOPE,
        {"members": 2, "generations": 2, "any_faults": 1},
        {**STYLES_SCOPE, "commit_style": "sync"},
        {**STYLES_SCOPE, "commit_style": "auto"},
        {**STYLES_SCOPE, "commit_style": "async"},
    ),
    unreached=UNREACHED,
    asked=ASKED,
    # A round that begins while a takeover waits for its append needs three members, which are too
    # many for rows: schedules in the tests execute those outcomes.
    executed=(
        {"members": 1, "generations": 1, "faults": {"append_failure": 1, "sync_timeout": 1}},
        {
            "members": 1,
            "generations": 1,
            "faults": {"fail_over": 1, "session_timeout": 1, "new_member_timeout": 1},
        },
        {
            "members": 2,
            "generations": 1,
            "faults": {"append_failure": 1},
            "settings": {"max_size": "1"},
        },
    ),
    conformed=(ASKED, {"members": 1, "generations": 1}, ROWS_IN_PHASES),
    # Outcomes of the coordinator that a group of static members does not have.
    bookkeeping={
        name: UNREACHED[name]
        for name in (
            "join_group:id_required",
            "join_group:inconsistent",
            "leave_group:pending",
            "rebalance_timeout:nobody",
            "session_timeout:pending",
            "vote",
        )
    },
    member_apart={"leave_answer": NO_LEAVING},
)
