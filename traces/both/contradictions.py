"""Lines of clients and of the coordinator that cannot both be true, whatever lines are missing.

- A member id is made once and is never used again: it is in no generation that began before it was
  made, or after it was removed.
- A generation has one leader, and one that is empty has no members.
- Generations only grow: nobody is in one that the coordinator begins later.
- The coordinator does not answer UNKNOWN_MEMBER_ID to a member that it still knows afterwards.

What happened first is told by the coordinator's log alone, or by both clocks as far as they are
known to differ (clocks.py). Only ids that the coordinator's log names, too, count: a group of the
same name in another cluster has others.

Two lines contradict each other; which of them is wrong, the other lines tell. The claim that fewer
lines support is named.

A client may read an answer long after it was given, so a line can be too early and never too late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import Factory, define, frozen

from groupcheck.traces.both.clients import Claim, Claims, What
from groupcheck.traces.both.coordinator_claims import (
    CoordinatorClaims,
    CoordinatorLife,
    CoordinatorLine,
    GenerationClaims,
    GroupClaims,
    Membership,
)
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.members.clocks import MisplacedLine, Skew, Skews, by_process, ms_before
from groupcheck.traces.members.impossible import Impossible

MOST_TOLD = 50


@frozen
class Against:
    """A client's claim and the coordinator's line that it contradicts."""

    claim: Claim
    line: CoordinatorLine
    # Why both cannot be true.
    why: str
    # Lines that say the same as the coordinator's, and as the client's.
    with_line: int
    with_claim: int

    @property
    def impossible(self) -> Impossible:
        ours, theirs = self.claim.said, self.line.said
        if self.with_claim > self.with_line:
            return Impossible(theirs, ours, self.why)
        return Impossible(ours, theirs, self.why)


@define
class _Group:
    """One group: the coordinator's claims, and the claims of its clients."""

    known: GroupClaims
    claims: list[Claim]
    dynamic: set[str]
    skews: Skews
    # Member id -> the claims that it is in a generation.
    within: dict[str, list[Claim]] = Factory(dict)

    def contradictions(self) -> Iterator[Against]:
        for claim in self.claims:
            if claim.what in (What.IN, What.LEADS):
                self.within.setdefault(claim.member, []).append(claim)
        for claim in self.claims:
            known = self.known.members.get(claim.member)
            if known is None:
                continue
            if claim.what == What.UNKNOWN:
                yield from self._still_known(claim, known)
            elif claim.generation is not None and claim.what in (What.IN, What.LEADS):
                yield from self._in_generation(claim, known, claim.generation)

    def _in_generation(self, claim: Claim, known: Membership, number: int) -> Iterator[Against]:
        generation = self.known.generations.get(number)
        if generation is not None and self.known.sure(number):
            against = (
                self._empty(claim, generation)
                or self._gone(claim, known, generation)
                or self._unborn(claim, known, generation)
                or self._leader(claim, generation)
            )
            if against is not None:
                yield against
                return
        yield from self._ahead(claim, known, number)

    def _empty(self, claim: Claim, generation: GenerationClaims) -> Against | None:
        if generation.empty is None:
            return None
        some = [c for c in self.claims if c.generation == generation.number]
        why = (
            f"{claim.member} cannot be in generation {generation.number}, which the coordinator's"
            " log calls empty"
        )
        ours = len({c.member for c in some}) + len({c.said.line for c in some}) - 1
        led = generation.led is not None and generation.led.life == generation.empty.life
        return Against(claim, generation.empty, why, 2 - led, ours + led)

    def _gone(
        self, claim: Claim, known: Membership, generation: GenerationClaims
    ) -> Against | None:
        """The id had been removed when the generation began."""
        began, ended = generation.begun, known.ended
        if began is None or ended is None or not ended.before(began):
            return None
        endings = sum(not began.before(e) for e in known.endings)
        why = (
            f"{claim.member} cannot be in generation {generation.number}, because the coordinator"
            f" had removed it before ({_HOW[known.how]}): an id that is gone is never used again"
        )
        ours = self._later(known, ended) + len(known.again)
        return Against(claim, ended, why, endings, ours)

    def _later(self, known: Membership, ended: CoordinatorLine) -> int:
        """How many lines show the id in generations that began after its end."""
        numbers = {
            g.number
            for g in self.known.generations.values()
            if g.begun is not None and ended.before(g.begun)
        }
        some = [c for c in self.within.get(known.member, []) if c.generation in numbers]
        return len({(c.said.log, c.said.line) for c in some})

    def _unborn(
        self, claim: Claim, known: Membership, generation: GenerationClaims
    ) -> Against | None:
        """The id was made after the generation had begun. A static member is given its new id in a
        generation that goes on.
        """
        began, created = generation.begun, known.created
        if began is None or created is None or known.instance is not None:
            return None
        if not began.before(created) or claim.member not in self.dynamic:
            return None
        why = (
            f"{claim.member} cannot be in generation {generation.number}, because the coordinator"
            " made this id later"
        )
        return Against(claim, created, why, 2, 1)

    def _leader(self, claim: Claim, generation: GenerationClaims) -> Against | None:
        line, leader = generation.led, claim.leader
        if line is None or not leader or leader == generation.leader:
            return None
        if not {leader, generation.leader} <= self.dynamic:
            return None  # the id of a static member may change within a generation
        claims = [c for c in self.claims if c.generation == generation.number and c.leader]
        ours = sum(c.leader == leader for c in claims)
        theirs = sum(c.leader == generation.leader for c in claims)
        why = (
            f"generation {generation.number} has one leader: {leader} by the client's log,"
            f" {generation.leader} by the coordinator's"
        )
        for number in (generation.number - 1, generation.number + 1):
            beside = self.known.generations.get(number)  # a leader that stays leads on
            if beside is not None and beside.led is not None and beside.led.life == line.life:
                ours += beside.leader == leader
                theirs += beside.leader == generation.leader
        return Against(claim, line, why, 1 + theirs, ours)

    def _ahead(self, claim: Claim, known: Membership, number: int) -> Iterator[Against]:
        """The coordinator was in an earlier generation later on."""
        if known.shown is None:
            return
        last = self.known.last.get(known.shown.life)
        if last is None or last[0] >= number or not self._within(claim.said, known.shown.life):
            return
        if ms_before(self.skews, claim.said, last[1].said) > 0:
            why = (
                f"{claim.member} cannot be in generation {number}, because the coordinator was in"
                f" generation {last[0]} afterwards"
            )
            yield Against(claim, last[1], why, 2, 1)

    def _still_known(self, claim: Claim, known: Membership) -> Iterator[Against]:
        """The coordinator did not know the id, and still had it afterwards."""
        shown = known.shown
        if shown is None or known.again or not self._within(claim.said, shown.life):
            return
        if known.ended is not None and known.ended.line < shown.line:
            shown = known.ended
        if ms_before(self.skews, claim.said, shown.said) > 0:
            why = (
                f"the coordinator cannot have refused {claim.member} as unknown, because it was in"
                " the group afterwards"
            )
            yield Against(claim, shown, why, 2, 1)

    def _within(self, ours: Statement, life: CoordinatorLife) -> bool:
        """Had this life of the group begun before the client's line? Else another coordinator may
        have answered.
        """
        skew, first = self.skews.get((ours.log, ours.process)), self.known.first.get(life)
        if skew is None or first is None or ours.time is None or first.time is None:
            return False
        return first.time < ours.time - skew.at_most


_HOW = {
    "left": "LeaveGroup",
    "expired": "its session expired",
    "not_rejoined": "it did not join again in time",
    "not_synced": "it did not send SyncGroup in time",
    "replaced": "another process took its instance id over",
}


def contradictions(
    group: str,
    coordinator: CoordinatorClaims,
    claims: Claims,
    skews: Sequence[Skew],
    misplaced: Sequence[MisplacedLine],
) -> list[Impossible]:
    """The lines of one group that cannot be true; of each line one."""
    if group not in coordinator.groups or group not in claims.groups:
        return []
    early = [
        _by_clocks(m)
        for m in misplaced
        if m.said.group == group
        and coordinator.groups[group].sure(m.said.fields.get("generation", 0))
    ]
    known = coordinator.groups[group]
    dynamic = claims.dynamic | {
        m.member for m in known.members.values() if m.created is not None and m.instance is None
    }
    some = [c for c in claims.groups[group] if claims.alone(c)]
    found = [a.impossible for a in _Group(known, some, dynamic, by_process(skews)).contradictions()]
    told = {(i.said.log, i.said.line): i for i in (*early, *found)}
    return list(told.values())[:MOST_TOLD]


def _by_clocks(m: MisplacedLine) -> Impossible:
    text = f"by both clocks, the client has this answer {m.by} ms before the coordinator gave it"
    return Impossible(m.said, m.against, text)
