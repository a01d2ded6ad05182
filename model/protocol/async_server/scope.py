"""The bounds of a run, and the readings of what the source leaves open.

The source (see docs/async_server.md) tells the protocol in five steps. It says nothing of lost
answers, members that die half-way, joins meanwhile, fail-overs and old clients. Each of these
gaps is a field here. Its default is the reading that is safe; each other value breaks a promise.

The mutation of a reading shows the rules a scope with another value, so a reading is written once.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import Factory, field, frozen
from attrs.validators import optional

from groupcheck.model.engine import ScopeError
from groupcheck.model.engine.step import MOST_OUTCOMES
from groupcheck.model.protocol.bounds import (
    between,
    bound,
    check_faults,
    fault_counts,
)
from groupcheck.model.protocol.faults import Budget

FAULTS: Mapping[str, str] = {
    "crash": (
        "A member's process dies without a word; a new process with no id may start in its place."
    ),
    "close": "A member closes: it revokes its partitions and sends LeaveGroup.",
    "lose_response": (
        "The coordinator handles a request, but its answer is lost with the connection: that to a"
        " heartbeat, too, which may carry a mark."
    ),
    "disconnect": (
        "The connection breaks while a JoinGroup is parked; the coordinator does not notice, the"
        " member connects again."
    ),
    "delay_request": (
        "A request (JoinGroup, a heartbeat with its report, a commit) is delayed, and the member"
        " goes on over a new connection; the request arrives later over the old one."
    ),
    "fail_over": (
        "The coordinator moves to another broker: what is not in the log is forgotten, every"
        " connection breaks."
    ),
    "session_timeout": (
        "The coordinator hears nothing from a member for session.timeout.ms and removes it. A"
        " process that was only paused wakes as a zombie."
    ),
    "rebalance_timeout": (
        "The coordinator stops waiting for a member that has to re-join and does not, and removes"
        " it."
    ),
}
ASSIGNORS = {
    "sticky": (
        "Shares of equal size, or bigger by one for some; each member keeps what it owns, up to its"
        " size. Every such plan is a choice."
    ),
    "any": (
        "Every valid and complete assignment is a choice, so that what holds, holds for every"
        " assignor."
    ),
}


def _reading(safe: str, doc: str, **others: str) -> Any:
    """A field whose default is the safe reading. `others`: each other value with what it does."""
    values = (safe, *others)

    def check(scope: Any, field: Any, value: object) -> None:
        if value not in values:
            raise ScopeError(
                f"{field.name} is {value!r}", where="scope", do="one of " + ", ".join(values)
            )

    told = "; ".join(f"`{value}`: {words}" for value, words in others.items())
    return field(
        default=safe, validator=check, metadata={"doc": f"{doc} {told}.", "others": (*others,)}
    )


@frozen
class AsyncScope:
    """The bounds of a run, and the reading of the protocol."""

    LACKS: ClassVar[Mapping[str, str]] = {}
    MORE: ClassVar[Mapping[str, str]] = {}

    members: int = bound(2, "Members that may join.", between(1, 16))
    partitions: int | None = bound(
        None,
        "Partitions of the one topic. If not given: one with the assignor `any` (a promise about"
        " single partitions needs no more), as many as members with `sticky`.",
        optional(between(1, 30)),
    )
    generations: int = bound(
        3,
        "Plans that are made. A round after the last one is not: the group waits at the edge of the"
        " scope.",
        between(1, 1000),
    )
    faults: tuple[tuple[str, int], ...] = field(
        default=(),
        converter=fault_counts,
        metadata={"doc": "Which faults may happen, and how often each."},
    )
    any_faults: int | None = bound(
        None,
        "Any N of all faults instead of named ones; the same one may repeat.",
        optional(between(0, 100)),
    )
    assignor: str = bound(
        Factory(lambda self: "any" if self.partitions is None else "sticky", takes_self=True),
        "How the coordinator assigns partitions. If not given: `sticky` if partitions are given,"
        " otherwise `any`, which proves more.",
    )
    old_clients: int = bound(
        0,
        "How many members, the first ones, are old clients: they report nothing, and understand"
        " only that a rebalance runs.",
        between(0, 16),
    )
    handover: str = _reading(
        "revoked",
        "When the new owner of a partition is answered. `revoked`: once its owner has re-joined or"
        " was removed;",
        at_once="as soon as the plan is made",
    )
    basis: str = _reading(
        "reports",
        "What the coordinator takes for a member's partitions when it makes a plan. `reports`: what"
        " the member has reported in this round;",
        plan="what the last plan gave it, followed or not",
    )
    collect: str = _reading(
        "always",
        "Who reports before a plan is made. `always`: every member;",
        loaded="members of which a new coordinator does not know what they own, which is safe, too",
    )
    stale: str = _reading(
        "refused",
        "What becomes of a report of an earlier epoch. `refused`: it does not count;",
        believed="it counts like any other",
    )
    mark: str = _reading(
        "kept",
        "How long needRebalance stays. `kept`: until the member has re-joined;",
        once="until one heartbeat was answered with it",
    )
    rejoin: str = _reading(
        "answered_again",
        "What becomes of a JoinGroup of an earlier epoch. `answered_again`: it is answered with"
        " what the member was given since;",
        believed="the member counts as having given up everything",
    )
    epochs: str = _reading(
        "answer",
        "When the generation changes that a member has to name. `answer`: with the answer to its"
        " JoinGroup, so that one that goes on keeps its own;",
        mark="as soon as the member is marked",
        group="with each plan, for all members",
    )
    commits: str = _reading(
        "fenced",
        "Which commits are accepted. `fenced`: those of a member that names its epoch and has not"
        " re-joined since;",
        by_id="those of every member",
    )
    removal: str = _reading(
        "new_round",
        "What follows if a member is removed while others have to re-join. `new_round`: another"
        " round begins;",
        goes_on="the plan is carried out without it",
    )
    joins: str = _reading(
        "restart",
        "What follows if a member joins while others have to re-join. `restart`: another round"
        " begins at once;",
        wait="another round begins once the plan is carried out, which is safe, too",
    )
    load: str = _reading(
        "collects",
        "What a coordinator does that has loaded a group. `collects`: it begins a round, and takes"
        " every partition for owned until all members have reported;",
        trusts="it takes the recorded plan for what members own",
    )
    record: str = _reading(
        "generations",
        "What the log holds of the members of a plan. `generations`: their ids, shares and the"
        " generations that they had, so that no other one is accepted after a fail-over;",
        members="their ids and shares, so that any generation is accepted",
    )
    logged: str = _reading(
        "first",
        "When a plan is written to the log. `first`: before anybody is told of it;",
        later="afterwards, so that a fail-over may not find it",
    )
    old: str = _reading(
        "told",
        "How an old client reports. `told`: it is told to re-join in every round, and has nothing"
        " then;",
        stored="the coordinator goes by what it gave the member",
        nothing="it counts as having nothing",
    )

    def __attrs_post_init__(self) -> None:
        check_faults(self.faults, self.any_faults, FAULTS)
        if self.assignor not in ASSIGNORS:
            raise ScopeError(
                f"unknown assignor {self.assignor!r}",
                where="scope",
                do="one of " + ", ".join(ASSIGNORS),
            )
        if self.assignor == "any" and self.members**self.partition_count > MOST_OUTCOMES:
            raise ScopeError(
                f"assignor any has {self.members**self.partition_count:,} plans, more than"
                f" {MOST_OUTCOMES:,}",
                where="scope",
                do="take fewer partitions, or assignor sticky",
            )
        if self.old_clients > self.members:
            raise ScopeError(
                f"old_clients is {self.old_clients}, more than there are members", where="scope"
            )

    @property
    def last_generation(self) -> int:
        """The last plan that is made."""
        return min(self.generations, sys.maxsize)

    @property
    def partition_count(self) -> int:
        if self.partitions is not None:
            return self.partitions
        return 1 if self.assignor == "any" else self.members

    @property
    def everything(self) -> int:
        """All partitions, as a bit mask."""
        return (1 << self.partition_count) - 1

    @property
    def budget(self) -> Budget:
        if self.any_faults is not None:
            return Budget(any=self.any_faults)
        return Budget(tuple((name, n) for name, n in self.faults if n))

    def has(self, fault: str) -> bool:
        """Can this fault happen in the scope?"""
        return self.budget.allows(fault)
