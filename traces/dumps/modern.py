"""The members and epochs of a group of another protocol than the classic one (KIP-848, KIP-932,
KIP-1071), as its records tell them.
"""

from __future__ import annotations

from typing import Any

from attrs import Factory, define

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
from groupcheck.traces.story.events import OtherProtocol
from groupcheck.traces.story.timeline import Timeline

MEMBERS_KEPT = 20_000


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
    _highest: int = 0
    _cuts: int = 0

    def observe(self, r: Record, cuts: int) -> None:
        """Takes a record; `cuts`: how often records may have been missing so far."""
        if cuts != self._cuts:
            self._cuts, self.targets = cuts, {}
            self.timeline.forget_partitions()
        if isinstance(r, MemberRecord):
            self._joined(r)
        elif isinstance(r, EpochRecord):
            self._epoch(r)
        elif isinstance(r, TargetRecord):
            self._planned(r)
        elif isinstance(r, AssignmentRecord):
            self._shares.own(r, r.epoch or 0, r.member, r.partitions)
            if r.epoch is not None and r.epoch > 0:
                self.members.setdefault(r.member)  # it joined before the dump begins
                self._tell(
                    r,
                    r.protocol,
                    "assignment",
                    r.member,
                    r.epoch,
                    r.stable,
                    owns=r.partitions - r.revoking,
                    revoking=r.revoking,
                )

    def _planned(self, r: TargetRecord) -> None:
        if r.partitions is None:
            self.targets.pop(r.member, None)
        elif r.member in self.targets or len(self.targets) < MEMBERS_KEPT:
            self.targets[r.member] = r.partitions

    def removed(self, r: Tombstone) -> None:
        """The group is gone."""
        for id in [*self.members]:
            self._tell(r, r.protocol, "gone", id)
        self.members, self.targets, self._highest = {}, {}, 0
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
            self._highest = r.epoch
            self._tell(r, r.protocol, "epoch", epoch=r.epoch)

    def _tell(
        self,
        r: Record,
        protocol: str,
        what: str,
        member: str | None = None,
        epoch: int | None = None,
        stable: bool = False,
        **moves: Any,
    ) -> None:
        self.timeline.observe(
            OtherProtocol(
                line=r.line,
                time=r.time,
                group=r.group,
                protocol=protocol,
                what=what,
                member=member,
                epoch=epoch,
                detail="STABLE" if stable else None,
                **moves,
            )
        )
