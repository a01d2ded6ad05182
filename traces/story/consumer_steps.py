"""The steps of a consumer group's members (KIP-848) in a coordinator's log at DEBUG, or in a dump
of its records, each judged by the rule of the model: what a member may have, and what it has to
give up, follows from its record, its target and what others have (CurrentAssignmentBuilder).

Neither tells what the member said that it owns, nor the release, so any that fits will do.
Nothing is judged while the record of some member is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import Factory, define, frozen

from groupcheck.model.protocol.consumer.memory import Seat
from groupcheck.model.protocol.consumer.memory import State as MemberState
from groupcheck.model.protocol.consumer.reconciliation import reconciled
from groupcheck.model.protocol.consumer.releases import RELEASES
from groupcheck.traces.phrases import some_of
from groupcheck.traces.story.events import OtherProtocol

MEMBERS_KEPT = 20_000
PARTITIONS_KEPT = 200_000
NAMED = 3
STATES = {
    "STABLE": MemberState.STABLE,
    "UNREVOKED_PARTITIONS": MemberState.UNREVOKED,
    "UNRELEASED_PARTITIONS": MemberState.UNRELEASED,
}
_NAMES = {state: name for name, state in STATES.items()}


@frozen
class Step:
    """A member's record after a step."""

    line: int
    epoch: int
    state: MemberState
    assigned: int
    revoking: int

    @property
    def owned(self) -> int:
        return self.assigned | self.revoking


@frozen
class WrongStep:
    """A step that no release takes, unless lines are missing before it."""

    why: str
    possible: str


@define
class ConsumerSteps:
    """One group's, filled by `observe`."""

    # How many steps were judged.
    judged: int = 0
    _bits: dict[str, int] = Factory(dict)
    # Partition number -> name.
    _named: list[str] = Factory(list)
    # Member -> its record; and the members of which it is not known.
    _known: dict[str, Step] = Factory(dict)
    _unknown: set[str] = Factory(set)
    # What any member has.
    _held: int = 0
    # Are the records of all members of the target known? None: not looked at since a change.
    _covered: bool | None = None
    # The epoch of the last target assignment, and each member's share of it.
    _target: tuple[int, dict[str, int]] | None = None
    # All members are among these: a classic member that is not is new.
    _whole: bool = False
    # Members whose subscription a line has just changed.
    _changed: set[str] = Factory(set)

    def observe(self, event: OtherProtocol) -> WrongStep | None:
        """Takes an event; tells what is wrong with the step that it shows."""
        member = event.member or ""
        if event.what == "target":
            self._target, self._covered = None, None
            if event.shares is not None and event.epoch is not None:
                shares = {id: self._mask(some) for id, some in event.shares.items()}
                self._target = event.epoch, shares
        elif event.joins_classic:
            self._joins_again(event, member)
        elif event.what == "joined":
            self._record(member, Step(event.line, 0, MemberState.STABLE, 0, 0))
        elif event.what in ("left", "fenced", "gone"):
            self._drop(member)
        elif event.what in ("rejoined", "away"):
            self.forget()
        elif event.what == "subscription":
            self._changed.add(member)
        elif event.what == "assignment":
            return self._step(event, member)
        return None

    def learn(self, event: OtherProtocol) -> None:
        """A record that follows from no other one: a static member is away, or its successor has
        what it had.
        """
        if event.owns is not None and event.epoch is not None and event.member is not None:
            assigned, revoking = self._mask(event.owns), self._mask(event.revoking)
            state = STATES.get(event.detail or "", MemberState.STABLE)
            self._record(event.member, Step(event.line, event.epoch, state, assigned, revoking))

    def _joins_again(self, event: OtherProtocol, member: str) -> None:
        """A classic member joins, or does so again: then its record stays as it is."""
        if self._whole and member not in self._known and member not in self._unknown:
            self._record(member, Step(event.line, 0, MemberState.STABLE, 0, 0))
        elif member not in self._known:
            self._unknown.add(member)

    def converted(self, members: Iterable[str] | None) -> None:
        """The group has another protocol. `members`: those whose records, which no line shows, a
        consumer group begins with; None if they are not all known.
        """
        self.forget()
        self._unknown = set(members or ())
        self._whole = members is not None

    def forget(self) -> None:
        """Lines may be missing: nothing is known of any member."""
        self._unknown |= self._known.keys()
        self._known, self._held, self._target, self._covered = {}, 0, None, None
        self._changed.clear()
        self._whole = False

    def _record(self, member: str, after: Step) -> None:
        before, covered = self._known.get(member), self._covered
        if before is None and len(self._known) >= MEMBERS_KEPT:
            return
        self._drop(member)
        self._known[member] = after
        self._held |= after.owned
        self._covered = covered if before is not None else None

    def _drop(self, member: str) -> None:
        self._unknown.discard(member)
        before = self._known.pop(member, None)
        if before is not None:
            self._held &= ~before.owned
            self._covered = None

    def _mask(self, partitions: Iterable[str]) -> int:
        mask = 0
        for partition in partitions:
            bit = self._bits.get(partition)
            if bit is None:
                if len(self._bits) >= PARTITIONS_KEPT:
                    continue
                bit = self._bits[partition] = len(self._bits)
                self._named.append(partition)
            mask |= 1 << bit
        return mask

    def _step(self, event: OtherProtocol, member: str) -> WrongStep | None:
        state = STATES.get(event.detail or "")
        fresh = member not in self._changed
        self._changed.discard(member)
        if event.owns is None or event.epoch is None or state is None:
            self._drop(member)
            self._unknown.add(member)
            return None
        assigned, revoking = self._mask(event.owns), self._mask(event.revoking)
        after = Step(event.line, event.epoch, state, assigned, revoking)
        before, wrong = self._known.get(member), None
        if before is not None and (fresh or not before.epoch) and self._sure():
            wrong = self._judge(member, before, after)
        self._record(member, after)
        return wrong

    def _sure(self) -> bool:
        """Is everything known on which a step depends?"""
        if self._target is None or self._unknown:
            return False
        if self._covered is None:
            self._covered = self._target[1].keys() <= self._known.keys()
        return self._covered

    def _judge(self, member: str, before: Step, after: Step) -> WrongStep | None:
        assert self._target is not None
        self.judged += 1
        epoch, shares = self._target
        allowed = [*self._allowed(before, epoch, shares.get(member, 0), self._held)]
        if any(_fits(seat, after, epoch) for seat in allowed):
            return None
        taken = self._held & after.assigned & ~before.owned
        for other, record in self._known.items() if taken else ():
            both = record.owned & after.assigned & ~before.owned
            if both and other != member:
                why = f"{member} is given {self._names(both)}, which {other} still has"
                return WrongStep(f"{why} (line {record.line})", self._told(allowed))
        why = f"{member} goes from {self._shown(before)} to {self._shown(after)}"
        return WrongStep(f"{why}, which no release of Kafka does", self._told(allowed))

    def _allowed(self, before: Step, epoch: int, target: int, held: int) -> Iterator[Seat]:
        seat = Seat(
            current=before.epoch == epoch,
            state=before.state,
            assigned=before.assigned,
            revoking=before.revoking,
            target=target,
            subscribed=(1 << len(self._named)) - 1,
        )
        # It says nothing, or that it has given up what it should, and perhaps what it will have to.
        for release in dict.fromkeys(RELEASES.values()):
            for owned in (None, before.assigned, 0):
                yield reconciled(seat, owned, held, False, release)

    def _names(self, mask: int) -> str:
        found = []
        while mask:
            lowest = mask & -mask
            found.append(self._named[lowest.bit_length() - 1])
            mask ^= lowest
        return some_of(sorted(found), NAMED) or "nothing"

    def _shown(self, step: Step | Seat) -> str:
        back = f", giving up {self._names(step.revoking)}" if step.revoking else ""
        return f"{_NAMES[step.state]} with {self._names(step.assigned)}{back}"

    def _told(self, allowed: Iterable[Seat]) -> str:
        return "; ".join(dict.fromkeys(self._shown(seat) for seat in allowed))


def _fits(seat: Seat, after: Step, epoch: int) -> bool:
    """Is this the record that the line prints? Whether a member that is not at the target's epoch
    keeps its own differs between releases.
    """
    same = (seat.state, seat.assigned, seat.revoking) == (
        after.state,
        after.assigned,
        after.revoking,
    )
    return same and (not seat.current or after.epoch == epoch)
