"""The bounds within which a variant of the classic protocol is explored."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import ClassVar

from attrs import Factory, field, frozen
from attrs.validators import optional

from groupcheck.model.engine import ScopeError
from groupcheck.model.engine.step import MOST_OUTCOMES
from groupcheck.model.protocol.bounds import (
    TRUTH,
    between,
    bound,
    check_faults,
    fault_counts,
    is_a,
    one_of,
)
from groupcheck.model.protocol.faults import CLASSIC_FAULTS, PROGRESS_FAULTS, Budget

ASSIGNORS = {
    "range": (
        "Each member gets one run of neighbouring partitions, sizes differing by at most one"
        " (RangeAssignor; members in the order of their index)."
    ),
    "any": (
        "Every valid and complete assignment is a choice, so that what holds, holds for every"
        " assignor."
    ),
}


# How applications commit (see `commit_styles`).
AUTO, SYNC, ASYNC = COMMIT_STYLES = ("auto", "sync", "async")


@frozen(slots=False)
class Scope:
    """The bounds of a run. `groupcheck list scope` says what each field means."""

    # Fault of the classic group -> why the protocol lacks it. A variant that lacks some has a
    # scope type of its own.
    LACKS: ClassVar[Mapping[str, str]] = {}
    # Fault that the classic group does not have -> what happens.
    MORE: ClassVar[Mapping[str, str]] = {}
    # Assignor -> what it does. The first one is the default where partitions are given.
    ASSIGNORS: ClassVar[Mapping[str, str]] = ASSIGNORS
    # Members keep what they own while they join, and say so (KIP-429).
    cooperative: ClassVar[bool] = False
    # Subscriptions repeat the generation of the member's last assignment (a field of
    # `features.cooperative.CooperativeScope`).
    user_data: ClassVar[bool] = False
    # Members may be static (KIP-345); `static_count` says how many are.
    static: ClassVar[bool] = False
    # What the application does in onPartitionsRevoked takes time (see `callbacks`).
    callbacks: ClassVar[bool] = False
    # Why there are no styles of commits here (see `commit_styles`); empty if there are.
    NO_STYLES: ClassVar[str] = ""
    # A member that finds no committed offset starts behind the last record (see `full_offsets`).
    skips: ClassVar[bool] = False
    # Producers commit in transactions (see `full_offsets`).
    transactional: ClassVar[bool] = False

    members: int = bound(2, "Members that may join.", between(1, 16))
    partitions: int | None = bound(
        None,
        "Partitions of the one topic. If not given: one with the assignor `any` (a promise about"
        " single partitions needs no more), as many as members with another one.",
        optional(between(1, 30)),
    )
    generations: int | None = bound(
        3,
        "Generations that are completed. A round after the last one is not: the group waits at the"
        " edge of the scope. With --progress there is no bound.",
        optional(between(1, 1000)),
    )
    records: int = bound(1, "Records in each partition.", between(0, 1000))
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
        Factory(
            lambda self: "any" if self.partitions is None else next(iter(self.ASSIGNORS)),
            takes_self=True,
        ),
        "How the leader assigns partitions. If not given: `range` if partitions are given"
        " (`sticky` in a cooperative group), otherwise `any`, which proves more.",
    )
    max_size: int | None = bound(None, "group.max.size (KIP-389).", optional(between(1, 1000)))
    two_step: bool = bound(
        True,
        "Whether members first ask for an id (KIP-394, JoinGroup version 4 and newer). Static"
        " members never do.",
        TRUTH,
    )
    protocols: str = bound(
        "",
        "What each member lists in JoinGroup, in order of preference, if they differ:"
        " `range,sticky|sticky` for two members.",
        is_a(str, "not a text"),
    )
    autocommit: bool = bound(True, "Whether members commit in poll and before they revoke.", TRUTH)
    atomic_complete: bool = bound(
        True, "Whether the SyncGroup answer and onJoinComplete are one step.", TRUTH
    )
    phases: bool | None = bound(
        None,
        "Whether a fail-over takes its phases: the broker unloads the group, or does not know yet"
        " that it is no longer the coordinator; the next one loads the group, and members look"
        " for it. If not, a fail-over is one step.",
        optional(TRUTH),
    )
    commit_style: str | None = bound(
        None,
        "How applications commit: `auto` (enable.auto.commit: in poll, before they join, in"
        " close), `sync` or `async` (commitSync or commitAsync behind each record, before the next"
        " poll). If not given, they commit at any time, or not, which allows what each of the"
        " three does.",
        optional(one_of(COMMIT_STYLES)),
    )

    def __attrs_post_init__(self) -> None:
        self._style_fits()
        every = (*CLASSIC_FAULTS, *PROGRESS_FAULTS, *self.MORE)
        there = [fault for fault in every if fault not in self.LACKS]
        check_faults(self.faults, self.any_faults, there, self.LACKS)
        if not isinstance(self.assignor, str) or self.assignor not in self.ASSIGNORS:
            raise ScopeError(
                f"unknown assignor {self.assignor!r}",
                where="scope",
                do="one of " + ", ".join(self.ASSIGNORS),
            )
        if self.protocols and (
            len(self.lists) != self.members
            or not all(name for names in self.lists for name in names)
        ):
            raise ScopeError(
                f"protocols {self.protocols!r} does not list the assignors of {self.members}"
                " members",
                where="scope",
                do="as in range,sticky|sticky",
            )

        if min(self.members, self.max_size or self.members) > 1 and not self.protocols:
            self.must_be_few(1, 2, self.partition_count)

    def _style_fits(self) -> None:
        if self.commit_style is None:
            return
        if self.NO_STYLES:
            raise ScopeError(f"there is no commit_style here: {self.NO_STYLES}", where="scope")
        if self.commit_style == AUTO and not self.autocommit:
            raise ScopeError(
                "commit_style auto commits by itself, autocommit says no", where="scope"
            )
        if any(name == "late_commit" and n for name, n in self.faults):
            raise ScopeError(
                "late_commit is a mistake that Kafka's client does not make, commit_style a way in"
                " which its application commits",
                where="scope",
                do="leave one of them out",
            )

    def must_be_few(self, members: int, among: int, partitions: int) -> None:
        """Raises `ScopeError` if `any` has too many ways to give these `members` their shares;
        `among` is the number of members that share the partitions.
        """
        ways = (members + (members < among)) ** partitions
        if self.assignor == "any" and ways > MOST_OUTCOMES:
            raise ScopeError(
                f"assignor any chooses between {ways:,} shares of {partitions} partitions, more"
                f" than {MOST_OUTCOMES:,}",
                where="scope",
                do="take fewer partitions, or assignor range",
            )

    @property
    def last_generation(self) -> int:
        """The last generation that completes; a number that no group reaches if there is none."""
        return sys.maxsize if self.generations is None else self.generations

    @property
    def partition_count(self) -> int:
        if self.partitions is not None:
            return self.partitions
        return 1 if self.assignor == "any" else self.members

    @property
    def static_count(self) -> int:
        """How many members are static: the first ones."""
        return self.members if self.static else 0

    def partitions_of(self, topics: int) -> int:
        """All partitions (bit mask) that a member with these topics (bit mask) may be given: where
        topics do not change (see `triggers`), those of the one topic.
        """
        return (1 << self.partition_count) - 1

    @property
    def partition_names(self) -> tuple[tuple[str, int], ...]:
        """Topic and number of each partition."""
        return tuple([("t", p) for p in range(self.partition_count)])

    def of_member(self, member: int) -> Scope:
        """The scope as this member's own rules see it."""
        return self

    @property
    def lists(self) -> tuple[tuple[str, ...], ...]:
        """The assignors that each member lists; empty if all list the same."""
        return (
            tuple(tuple(names.split(",")) for names in self.protocols.split("|"))
            if self.protocols
            else ()
        )

    @property
    def assignors_listed(self) -> tuple[str, ...]:
        """All assignors that some member lists, in alphabetical order."""
        return tuple(sorted({name for names in self.lists for name in names}))

    @property
    def listed_by_all(self) -> str:
        """The assignor that each member lists, where all list the same."""
        return "cooperative-sticky" if self.cooperative else "range"

    def voted_for(self, assignor: int | None) -> str:
        """The name of the assignor that a group voted for (see `Core.assignor`)."""
        return self.listed_by_all if assignor is None else self.assignors_listed[assignor]

    def looks_at_claims(self, assignor: int | None) -> bool:
        """Does a leader look at claims, if this one was voted for (see `Core.assignor`)?"""
        return self.cooperative and self.assignor != "range"

    @property
    def budget(self) -> Budget:
        if self.any_faults is not None:
            return Budget(any=self.any_faults, lacks=tuple(self.LACKS))
        return Budget(tuple((name, n) for name, n in self.faults if n))

    def has(self, fault: str) -> bool:
        """Can this fault happen in the scope?"""
        return self.budget.allows(fault)
