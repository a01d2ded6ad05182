"""The leader's assignment: it becomes the group's, and before that it may be written to the log
(protocol.md 1.7). A cooperative leader looks at the members' claims first.

All three are walks over all members (see `walks`). Kafka: GroupMetadataManager
(setAndPropagateAssignment).

The assignment is chosen when its append commits, not when the leader computes it, because nobody
can see it before. If a fail-over is in the scope, it is chosen when the record is written, because
a new coordinator can read that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from attrs import frozen

from groupcheck.model.engine import evolve, urgent
from groupcheck.model.protocol.classic.group import Core, Errand, Phase, Record, Seat, Seats, Walk
from groupcheck.model.protocol.classic.plans import Chosen, Claim, interval, plans
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.link import Link, deliver
from groupcheck.model.protocol.messages import SyncGroup


@frozen(kw_only=True)
class Plan(Errand):
    """The leader's assignment, chosen while the walk visits one member after the other."""

    # Members of the group.
    members: int
    # Members that have no share yet.
    left: int
    # Partitions that no member has got yet, as a bit mask.
    free: int
    # What a leader that has looked at claims has chosen, without what members have got already.
    # None: each visit chooses.
    chosen: Chosen | None = None

    def given(self, share: int, claim: Claim) -> Self:
        """The next member, which has this claim, has got its share."""
        chosen = self.chosen
        if chosen is not None:
            at = chosen.index((claim, share))
            chosen = chosen[:at] + chosen[at + 1 :]
        return evolve(self, left=self.left - 1, free=self.free & ~share, chosen=chosen)

    def shares(self, claim: Claim, scope: Scope) -> list[int]:
        """The shares that the next member, which has this claim, may get (bit masks): the chosen
        one; otherwise under `range` its interval, and under `any` every subset of the free
        partitions, or all of them if it is the last.
        """
        if self.chosen is not None:
            return sorted({share for whose, share in self.chosen if whose == claim})
        if scope.assignor == "range":
            rank = self.members - self.left
            return [interval(rank, self.members, scope.partition_count)]
        if self.left == 1:
            return [self.free]
        subsets = [0]
        for bit in (1 << p for p in range(scope.partition_count)):
            if self.free & bit:
                subsets += [s | bit for s in subsets]
        return subsets

    def must_be_few(self, seats: Seats, scope: Scope) -> None:
        """Raises `ScopeError` if one visit would have too many shares to choose between."""
        members = sum(seat.member for _, seat in seats)
        scope.must_be_few(members, self.left, self.free.bit_count())


# -- Claims: the leader of a cooperative group looks at what the members claim


@frozen(kw_only=True)
class Claims(Errand):
    """The claims of the members in their subscriptions."""

    # The walk that follows, which gives the shares.
    plan: Plan
    # The claims that have been looked at, in ascending order: no order of members shows.
    claims: tuple[Claim, ...] = ()


def planning(plan: Plan, core: Core, scope: Scope) -> Errand:
    """Begin, with a cooperative assignor; otherwise shares do not depend on claims."""
    return Claims(plan=plan) if scope.looks_at_claims(core.assignor) else plan


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Claims))
def look_at_claims(
    walk: Walk[Claims], seats: Seats, scope: Scope
) -> Iterator[tuple[Walk[Claims], Seats]]:
    """The leader has learned from the JoinGroup answer what the members of this process claim."""
    claims = [claim_of(seat) for _, seat in seats if seat.member]
    seen = sorted([*walk.errand.claims, *claims])
    yield walk.passed(evolve(walk.errand, claims=tuple(seen)), scope), seats


def claim_of(seat: Seat) -> Claim:
    """The member's claim."""
    return seat.claimed, seat.owned, seat.topics


def planned(errand: Claims, core: Core, scope: Scope) -> Iterator[Core]:
    """End: the leader makes one of its plans."""
    made = plans(errand.claims, errand.plan.free, scope)
    yield evolve(core, errands=tuple([evolve(errand.plan, chosen=chosen) for chosen in made]))


# -- Assign: the assignment is committed and becomes the group's


@frozen(kw_only=True)
class Assign(Plan):
    """The assignment is stored, and parked SyncGroups are answered with the members' shares."""

    # The record in the log holds the shares already (see `WriteRecord`); they are not chosen again.
    again: bool
    # As `Core.keeps`, without the fault that these visits need not know.
    keeps: tuple[str, ...]


def assign(core: Core, scope: Scope) -> Core:
    """Begin."""
    errand = Assign(
        members=core.members,
        left=core.members,
        free=(1 << scope.partition_count) - 1,
        again=core.recorded,
        keeps=tuple([fault for fault in core.keeps if fault != "new_member_timeout"]),
    )
    return evolve(core, errands=(errand if errand.again else planning(errand, core, scope),))


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, Assign))
def answer_syncs(
    walk: Walk[Assign], seats: Seats, link: Link, scope: Scope
) -> Iterator[tuple[Walk[Assign], Seats, Link]]:
    """The assignment is stored, and parked SyncGroups are answered with it."""
    if not walk.errand.again and walk.errand.chosen is None:
        walk.errand.must_be_few(seats, scope)
    ways = [(walk.errand, seats, link)]
    for id, seat in seats:
        if seat.member:
            ways = [after for way in ways for after in _answer_sync(*way, id, seat, scope)]
    for errand, shared, answered in ways:
        if "fail_over" in errand.keeps:
            members = [(id, s.logged) for id, s in shared if s.member]
            shared = shared.recorded(tuple(members))
        else:
            shared = shared.unrecorded()
        yield walk.passed(errand, scope), shared, answered


def _answer_sync(
    errand: Assign, seats: Seats, link: Link, id: int, seat: Seat, scope: Scope
) -> Iterator[tuple[Assign, Seats, Link]]:
    """One member gets its share, in all the ways in which it may."""
    fixed = [logged.share for known, logged in seats.durable if known == id] if errand.again else []
    claim = claim_of(seat)
    for share in fixed or errand.shares(claim, scope):
        answered = link
        if seat.sync and isinstance(link.parked, SyncGroup):
            answered = deliver(link, SyncGroup, id, NONE, id, link.parked.generation, share)
        due = seat.due and "sync_timeout" in errand.keeps
        settled = evolve(seat, sync=False, share=share, due=due)
        yield errand.given(share, claim), seats.put(id, settled), answered


def assigned(errand: Assign, core: Core, scope: Scope) -> Iterator[Core]:
    """End: the group is Stable."""
    due = core.due if "sync_timeout" in core.keeps else 0
    logged = "fail_over" in core.keeps
    yield evolve(
        core,
        phase=Phase.STABLE,
        appending=False,
        recorded=False,
        due=due,
        deadline=core.deadline and due > 0,
        durable=(core.generation, core.led, core.assignor) if logged else core.durable,
    )


# -- WriteRecord: the assignment that is being appended would survive a fail-over


@frozen(kw_only=True)
class WriteRecord(Plan):
    """The leader's assignment is written to the log."""


def write_record(core: Core, scope: Scope) -> Core:
    """Begin: from now on a fail-over loads the leader's assignment, whether or not the coordinator
    ever sees its append commit.
    """
    everything = (1 << scope.partition_count) - 1
    errand = WriteRecord(members=core.members, left=core.members, free=everything)
    return evolve(core, recorded=True, errands=(planning(errand, core, scope),))


@urgent(when=lambda me, walk: walk.at == me and isinstance(walk.errand, WriteRecord))
def record_plan(
    walk: Walk[WriteRecord], seats: Seats, scope: Scope
) -> Iterator[tuple[Walk[WriteRecord], Seats]]:
    """The leader's assignment is written to the log."""
    if walk.errand.chosen is None:
        walk.errand.must_be_few(seats, scope)
    ways: list[tuple[WriteRecord, Record]] = [(walk.errand, ())]
    for id, seat in seats:
        if seat.member:
            claim = claim_of(seat)
            ways = [
                (now.given(share, claim), (*record, (id, evolve(seat.logged, share=share))))
                for now, record in ways
                for share in now.shares(claim, scope)
            ]
    for now, record in ways:
        yield walk.passed(now, scope), seats.recorded(record)


def record_written(errand: WriteRecord, core: Core, scope: Scope) -> Iterator[Core]:
    """End: the record is of this generation."""
    yield evolve(core, durable=(core.generation, core.led, core.assignor))
