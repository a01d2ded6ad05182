"""How memberships ended, by the coordinator's log, and what follows for what clients say about it.

A client that is refused does not know why: it may have left without its application's knowing, or
its session may have expired. The coordinator's line decides. It also dates the end, so that a
client that says nothing around that moment, and goes on afterwards, is known to have stood still.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import define, evolve, frozen

from groupcheck.traces.both.clients import Claim, Claims, Key, Presence, What
from groupcheck.traces.both.coordinator_claims import CoordinatorClaims, GroupClaims, Membership
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.lines.timestamps import show_span
from groupcheck.traces.members.clocks import Skew, Skews, by_process, ms_before
from groupcheck.traces.members.proofs import Proof

SURE_MS = 1_000
"""A line that is older by more was printed before the member was removed."""
LEAST_SAID = 3
"""So many statements are missing in a silence that means something."""


@frozen
class Removal:
    """The end of a membership that a client's log shows, as the coordinator tells it."""

    client: str
    member: str
    # The last generation that the client's log shows.
    generation: int
    # left, expired, not_rejoined, not_synced or replaced.
    how: str
    # The coordinator's line.
    statement: Statement
    # The line where the client learns of it; None if it shows none.
    learnt: Statement | None
    # The reason that the client gave in LeaveGroup.
    reason: str | None = None


@frozen
class Decisions:
    """The facts that the coordinator's log decides about one group's members."""

    removals: tuple[Removal, ...] = ()
    proofs: tuple[Proof, ...] = ()
    # Facts for causes.
    facts: tuple[Statement, ...] = ()


def decide(
    group: str, coordinator: CoordinatorClaims, claims: Claims, skews: Sequence[Skew]
) -> Decisions:
    """All that follows for one group."""
    known = coordinator.groups.get(group)
    if known is None:
        return Decisions()
    some = [c for c in claims.groups.get(group, []) if claims.alone(c)]
    found = _Ends(known, some, claims.lives, by_process(skews))
    removals = tuple(found.removals())
    proofs = [p for s, member in claims.doubted.get(group, []) for p in found.proofs(s, member)]
    proofs += [p for r in removals for p in found.lives_on(r)]
    return Decisions(removals, tuple(proofs), tuple(f for r in removals for f in found.facts(r)))


@define
class _Ends:
    """One group."""

    known: GroupClaims
    claims: list[Claim]
    lives: Mapping[Key, Presence]
    skews: Skews

    def _ended(self, member: str) -> Membership | None:
        """The membership, if the log tells without doubt how it ended."""
        known = self.known.members.get(member)
        sure = known is not None and known.ended and len(known.hows) == 1 and not known.again
        return known if sure else None

    def removals(self) -> Iterator[Removal]:
        """Each end of a membership in which a client's log shows the member."""
        last: dict[tuple[Key, str], Claim] = {}
        learnt: dict[tuple[Key, str], Statement] = {}
        for claim in self.claims:
            key = (claim.key, claim.member)
            if claim.what == What.IN:
                last[key] = claim
            elif claim.what == What.UNKNOWN:
                learnt.setdefault(key, claim.said)
        for key, claim in last.items():
            known = self._ended(claim.member)
            if known is None or known.ended is None or claim.generation is None:
                continue
            yield Removal(
                claim.said.client,
                claim.member,
                claim.generation,
                known.how,
                known.ended.said,
                learnt.get(key),
                known.client_reason,
            )

    def proofs(self, said: Statement, member: str) -> Iterator[Proof]:
        """The causes of a statement that the end of the membership rules out."""
        known = self._ended(member)
        if known is None or known.ended is None:
            return
        by = known.ended.said
        if ms_before(self.skews, said, by) > SURE_MS:
            text = f"The coordinator still had {member} then, and removed it only later"
            yield Proof("membership_lost", said, by, text)
        elif known.how == "left":
            text = f"The coordinator's log says that {member} left: its session had not expired"
            yield Proof("session_over", said, by, text)
        elif known.how == "expired" and not known.in_round:
            text = f"The coordinator's log says that the session of {member} expired: it did not"
            yield Proof("left_by_itself", said, by, f"{text} leave")

    def lives_on(self, r: Removal) -> Iterator[Proof]:
        """A process that is told that its id is gone has not ended."""
        if r.how != "expired" or r.learnt is None:
            return
        text = f"{r.client or r.member} went on, and learnt later that it had been removed"
        for line in self.known.members[r.member].endings:
            yield Proof("process_ended", evolve(line.said, kind="broker_expired"), r.learnt, text)

    def facts(self, r: Removal) -> Iterator[Statement]:
        """Facts about the client at the time when the coordinator removed it."""
        lives = [(k, x) for k, x in self.lives.items() if k[2] == r.client and x.ordered]
        skews = [(x, s) for k, x in lives if (s := self.skews.get(k[:2])) is not None]
        if r.how != "expired" or len(skews) != 1 or r.statement.time is None:
            return
        ((life, skew),) = skews
        if skew.broker[0] != r.statement.log:
            return
        for before, after in life.silences:
            assert before.time is not None and after.time is not None
            inside = (
                before.time < r.statement.time + skew.at_least
                and r.statement.time + skew.at_most < after.time
            )
            gap = after.time - before.time
            if inside and r.learnt is not None and life.would_say(gap) >= LEAST_SAID:
                fields = {
                    "gap": gap,
                    "removed": show_span(r.statement.time + skew.ahead - before.time),
                }
                yield evolve(after, kind="silent_at_removal", client=r.client, fields=fields)
