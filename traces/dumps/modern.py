"""The members and epochs of a group of another protocol than the classic one (KIP-848, KIP-932,
KIP-1071), as its records tell them. Each step of a consumer group's members is judged by the model,
while the records of all members are known: from the group's first record on, as long as no record
is missing.
"""

from __future__ import annotations

from typing import Any

from attrs import Factory, define, evolve

from groupcheck.traces.dumps.records import (
    AssignmentRecord,
    EpochRecord,
    MemberRecord,
    Partitions,
    Record,
    TargetRecord,
    Tombstone,
)
from groupcheck.traces.dumps.shares import Shares
from groupcheck.traces.exchanges.member_spans import MemberSpans
from groupcheck.traces.story.consumer_steps import ConsumerSteps, WrongStep
from groupcheck.traces.story.events import OtherProtocol
from groupcheck.traces.story.timeline import Timeline

MEMBERS_KEPT = 20_000
WRONG_KEPT = 200


@define
class ModernStory:
    """One group's, filled by `observe`."""

    group: str
    timeline: Timeline
    spans: MemberSpans
    members: dict[str, None] = Factory(dict)
    # Member -> what it is to have.
    targets: dict[str, Partitions] = Factory(dict)
    _shares: Shares = Factory(lambda self: Shares(self.spans), takes_self=True)
    steps: ConsumerSteps = Factory(ConsumerSteps)
    # The first steps that no release takes (line, what is wrong), and how many there are.
    wrong: list[tuple[int, WrongStep]] = Factory(list)
    wrong_count: int = 0
    # The records of all members are known; None: the group has not begun yet.
    _whole: bool | None = None
    _seen: bool = False
    _highest: int = 0
    _cuts: int = 0

    def observe(self, r: Record, cuts: int, *, begins: bool) -> None:
        """Takes a record; `cuts`: how often records may have been missing so far. `begins`: the
        dump has all records of the group before it.
        """
        if cuts != self._cuts:
            self._cuts, self.targets = cuts, {}
            self.timeline.forget_partitions()
            if self._seen:
                self._whole, self.steps = False, ConsumerSteps(self.steps.judged)
        if not self._seen:
            self._seen, self._whole = True, begins or self._whole
        if isinstance(r, MemberRecord):
            self._joined(r)
        elif isinstance(r, EpochRecord):
            self._epoch(r)
        elif isinstance(r, TargetRecord):
            self._planned(r)
        elif isinstance(r, AssignmentRecord):
            self._shares.own(r, r.epoch or 0, r.member, r.partitions)
            told = {"owns": r.partitions - r.revoking, "revoking": r.revoking}
            state = "STABLE" if r.stable else r.state
            if r.epoch is not None and r.epoch > 0:
                self.members.setdefault(r.member)  # it joined before the dump begins
                self._tell(r, r.protocol, "assignment", r.member, r.epoch, state, **told)
            elif r.epoch is not None:
                self.steps.learn(_event(r, r.protocol, "away", r.member, r.epoch, state, **told))

    def _planned(self, r: TargetRecord) -> None:
        if r.partitions is None:
            self.targets.pop(r.member, None)
        elif r.member in self.targets or len(self.targets) < MEMBERS_KEPT:
            self.targets[r.member] = r.partitions

    def interrupted(self) -> None:
        """The group is a classic one, or was: what it begins with as a consumer group follows from
        no record before.
        """
        self._whole = False

    def removed(self, r: Tombstone) -> None:
        """The group is gone."""
        for id in [*self.members]:
            self._tell(r, r.protocol, "gone", id)
        self.members, self.targets, self._highest = {}, {}, 0
        self.steps = ConsumerSteps(self.steps.judged)
        self._whole = True
        self._shares.now(r, 0, {})

    def _joined(self, r: MemberRecord) -> None:
        if r.about is None:
            if r.member in self.members:
                del self.members[r.member]
                self._tell(r, r.protocol, "gone", r.member)
            return
        if r.member in self.members:
            self._tell(r, r.protocol, "subscription", r.member)
        elif len(self.members) < MEMBERS_KEPT:
            self.members[r.member] = None
            self._tell(r, r.protocol, "joined", r.member)
            self.timeline.members[r.member].instance = r.about.instance

    def _epoch(self, r: EpochRecord) -> None:
        if r.target:
            known = r.protocol == "consumer" and self.members.keys() <= self.targets.keys()
            shares = dict(self.targets) if known else None
            self._tell(r, r.protocol, "target", epoch=r.epoch, shares=shares)
        elif r.epoch > self._highest:
            self._whole = self._whole or (r.epoch == 1 and self._whole is None)
            self._highest = r.epoch
            self._tell(r, r.protocol, "epoch", epoch=r.epoch)

    def _tell(
        self,
        r: Record,
        protocol: str,
        what: str,
        member: str | None = None,
        epoch: int | None = None,
        state: str = "",
        **moves: Any,
    ) -> None:
        event = _event(r, protocol, what, member, epoch, state, **moves)
        self.timeline.observe(event)
        if protocol != "consumer":
            return
        wrong = self.steps.observe(event if self._whole else evolve(event, shares=None))
        if wrong is not None:
            self.wrong_count += 1
            if len(self.wrong) < WRONG_KEPT:
                self.wrong.append((r.line, wrong))


def _event(
    r: Record,
    protocol: str,
    what: str,
    member: str | None,
    epoch: int | None,
    state: str,
    **moves: Any,
) -> OtherProtocol:
    return OtherProtocol(
        line=r.line,
        time=r.time,
        group=r.group,
        protocol=protocol,
        what=what,
        member=member,
        epoch=epoch,
        detail=state or None,
        **moves,
    )
