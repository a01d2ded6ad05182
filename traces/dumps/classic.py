"""The generations of a classic group, as its records tell them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from attrs import Factory, define

from groupcheck.traces.dumps.records import GenerationRecord, StoredMember, Tombstone
from groupcheck.traces.dumps.shares import Shares
from groupcheck.traces.exchanges.member_spans import MemberSpans
from groupcheck.traces.exchanges.owners import FOUND_KEPT, Overlap, Owners
from groupcheck.traces.findings.report import Anomaly
from groupcheck.traces.phrases import plural
from groupcheck.traces.story.events import (
    AssignmentReceived,
    GroupEmptied,
    MemberAdded,
    MemberGone,
    Reason,
    RebalanceCause,
    RebalanceStarted,
    Stabilized,
    StaticReplaced,
    Timeouts,
)
from groupcheck.traces.story.moments import NOT_SHOWN
from groupcheck.traces.story.timeline import Timeline

OWN_ASSIGNORS = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky", "uniform"})
"""Assignors that give a partition to one member; others may give it to several on purpose."""
SHOWN = 20


@define
class ClassicStory:
    """One group's, filled by `observe`."""

    group: str
    timeline: Timeline
    spans: MemberSpans
    owners: Owners
    # Id -> the member, of the last generation that was stored.
    members: dict[str, StoredMember] = Factory(dict)
    found: list[Anomaly] = Factory(list)
    _shares: Shares = Factory(lambda self: Shares(self.spans), takes_self=True)
    # The last generation, and how often records may have been missing when it was read.
    _last: tuple[int, int] | None = None
    # The time of the last record, where nothing else tells the order.
    _latest: int = 0

    def observe(self, r: GenerationRecord, cuts: int) -> None:
        if r.at is None and r.time is not None:
            if r.time < self._latest:
                return  # it is there twice, or out of order
            self._latest = r.time
        known = self._last
        if known is not None and r.at is not None and cuts == known[1]:
            self._compare(r, known[0])
        self._last = (r.generation, cuts)
        if known is None and not r.generation and not r.members:
            return  # a group that has just been created
        now = {m.id: m for m in r.members}
        if known is not None and r.generation == known[0]:
            self._replaced(r, now)
        else:
            self._round(r, now, first=known is None)
        self.members = now
        for m in r.members:
            if m.session_ms:
                self.timeline.timeouts(m.id, Timeouts(m.session_ms, m.rebalance_ms))
        self._shares.now(r, r.generation, {m.id: m.partitions or frozenset() for m in r.members})
        self._twice(r)
        self._apart(r)

    def _compare(self, r: GenerationRecord, last: int) -> None:
        """Compares with the generation stored last; no record is missing between the two."""
        if r.generation < last:
            self._note(
                "generation_reset",
                r,
                f"generation {r.generation} follows generation {last}, and no record shows that the"
                " group was deleted",
            )
        elif self.members and r.members and r.generation > last + 2:
            # A group that is empty in between goes on by two.
            count = r.generation - last - 1
            self._note(
                "generation_without_assignment",
                r,
                f"{plural(count, 'generation')} between {last} and {r.generation} have no"
                " assignment",
            )

    def removed(self, r: Tombstone) -> None:
        """The group is gone; a new one of its name begins at 0."""
        self._gone(r, [*self.members])
        self.members, self._last = {}, None
        self._shares.now(r, 0, {})

    def _round(self, r: GenerationRecord, now: dict[str, StoredMember], first: bool) -> None:
        """A new generation: who came, who went, who leads."""
        came = [id for id in now if id not in self.members]
        went = [id for id in self.members if id not in now]
        place: dict[str, Any] = {"line": r.line, "group": r.group}
        self._gone(r, went)
        if first:
            why = Reason("", RebalanceCause.NOT_SEEN)
        elif came:
            why = Reason(f"{plural(len(came), 'member')} joined", RebalanceCause.JOIN, tuple(came))
        elif went:
            why = Reason(f"{plural(len(went), 'member')} went", RebalanceCause.GONE, tuple(went))
        else:
            why = Reason("the same members", RebalanceCause.NOT_TOLD)
        for id in came:
            instance = now[id].instance
            self.timeline.observe(
                MemberAdded(**place, time=r.time, member=id, instance=instance, fresh=False)
            )
        # When it began is not stored, so it has no time.
        self.timeline.observe(
            RebalanceStarted(**place, generation=max(r.generation - 1, 0), reason=why)
        )
        round = self.timeline.rounds[-1]
        if r.time is not None:
            self.timeline.starts.append(r.time)
        if r.members:
            self._assigned(r, place)
        else:
            self.timeline.observe(GroupEmptied(**place, time=r.time, generation=r.generation))
        round.held_up_by, round.waited_for = (), NOT_SHOWN

    def _assigned(self, r: GenerationRecord, place: dict[str, Any]) -> None:
        """The record is written when the assignment has arrived; the join phase ended before."""
        since, size = r.since, len(r.members)
        joined_at = since if since is not None and since <= (r.time or since) else r.time
        self.timeline.observe(
            Stabilized(**place, time=joined_at, generation=r.generation, members=size)
        )
        leader = r.leader or None
        self.timeline.observe(
            AssignmentReceived(
                **place, time=r.time, generation=r.generation, leader=leader, members=size
            )
        )

    def _gone(self, r: GenerationRecord | Tombstone, ids: list[str]) -> None:
        for id in ids:
            self.timeline.observe(MemberGone(line=r.line, time=r.time, group=r.group, member=id))

    def _replaced(self, r: GenerationRecord, now: dict[str, StoredMember]) -> None:
        """The same generation again: a static member came back under a new id."""
        old = {m.instance: m.id for m in self.members.values() if m.instance}
        for m in now.values():
            before = old.get(m.instance) if m.instance else None
            if before is not None and before != m.id:
                self.timeline.observe(
                    StaticReplaced(
                        line=r.line,
                        time=r.time,
                        group=r.group,
                        instance=str(m.instance),
                        old=before,
                        new=m.id,
                    )
                )

    def _twice(self, r: GenerationRecord) -> None:
        if r.protocol not in OWN_ASSIGNORS:
            return
        given: dict[str, str] = {}
        for m in r.members:
            for partition in sorted(m.partitions or ()):
                other = given.setdefault(partition, m.id)
                if other != m.id and len(self.owners.overlaps) < FOUND_KEPT:
                    twice = Overlap(r.line, r.generation, partition, (other, m.id))
                    self.owners.overlaps.append(twice)

    def _apart(self, r: GenerationRecord) -> None:
        """Members that subscribe to no topic in common: two applications share a group id."""
        if any(a.kind == "subscriptions_apart" for a in self.found):
            return
        told = {m.topics: m.id for m in r.members if m.topics}
        for (some, one), (others, other) in combinations(told.items(), 2):
            if some and others and not some & others:
                a, b = (", ".join(sorted(topics)[:3]) for topics in (some, others))
                text = f"{one} subscribes to {a}, {other} to {b}"
                self.found.append(Anomaly("subscriptions_apart", r.line, text))
                return

    def _note(self, kind: str, r: GenerationRecord, text: str) -> None:
        if len(self.found) < SHOWN:
            self.found.append(Anomaly(kind, r.line, text))
