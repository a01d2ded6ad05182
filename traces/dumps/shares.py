"""The partitions of members, as stretches of time for a picture of the group."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import Factory, define

from groupcheck.traces.dumps.records import Partitions, Record
from groupcheck.traces.exchanges.member_spans import (
    PARTITIONS_KEPT,
    SPANS_KEPT,
    MemberSpan,
    MemberSpans,
)
from groupcheck.traces.exchanges.owners import MEMBERS_KEPT
from groupcheck.traces.story.member import client_of


@define
class Shares:
    """One group's shares. Without times there is no picture."""

    spans: MemberSpans
    # Member -> what it owns now.
    _owns: dict[str, MemberSpan] = Factory(dict)

    def now(self, r: Record, generation: int, shares: Mapping[str, Partitions]) -> None:
        """From this record on, these members own these partitions, and no others own any."""
        for id in [*self._owns]:
            if id not in shares:
                self.own(r, generation, id, frozenset())
        for id, partitions in shares.items():
            self.own(r, generation, id, partitions)

    def own(self, r: Record, generation: int, id: str, partitions: Partitions) -> None:
        """From this record on, a member owns these partitions."""
        if r.time is None:
            return
        before = self._owns.pop(id, None)
        if before is not None:
            before.until = max(r.time, before.since)
        if not partitions or len(self._owns) >= MEMBERS_KEPT:
            return
        some = tuple(sorted(partitions)[:PARTITIONS_KEPT])
        stay = MemberSpan(id, client_of(id), "owns", r.time, None, r.line, generation)
        stay.count, stay.partitions = len(partitions), some
        self._owns[id] = stay
        if len(self.spans.kept) < SPANS_KEPT:
            self.spans.kept.append(stay)
        else:
            self.spans.dropped += 1
