"""Partitions that a consumer group (KIP-848) takes from one member and gives to another: who held
them back, and for how long.

The coordinator gives a partition to its new member only when the old one has given it up: the old
one is told to in the answer to a heartbeat (UNREVOKED_PARTITIONS), and acknowledges with a later
one; the new one is given it in the answer to its next heartbeat (UNRELEASED_PARTITIONS until then).
Source: KIP-848 (Reconciliation of the group), CurrentAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from attrs import Factory, define, evolve

from groupcheck.traces.story.moments import ACKNOWLEDGED, KEPT, UNSEEN, Handover, Moment

PARTITIONS_KEPT = 200_000
HANDOVERS_KEPT = 20_000
Partitions = Set[str]


@define
class Handovers:
    """The partitions of one group. Events are given in their order."""

    # Member -> what it has, with what it has to give up.
    has: dict[str, frozenset[str]] = Factory(dict)
    # Two members that had one partition at once, unless no line tells that the earlier one went:
    # (partition, earlier, later, when).
    twice: list[tuple[str, str, str, Moment]] = Factory(list)
    dropped: int = 0
    _holder: dict[str, str] = Factory(dict)
    _open: dict[str, Handover] = Factory(dict)
    _made: int = 0

    def planned(self, at: Moment, shares: Mapping[str, Partitions]) -> Iterator[Handover]:
        """A new target assignment; gives the handovers that it begins."""
        heirs = {p: member for member, some in shares.items() for p in some}
        for partition, source in self._holder.items():
            heir = heirs.get(partition, "")
            known = self._open.get(partition)
            if known is not None and heir == source and known.asked is None:
                known.how = KEPT
                del self._open[partition]
            elif known is not None:
                known.heir, known.dropped = heir, not heir
            elif heir != source:
                yield from self._begin(partition, source, at, heir, not heir)

    def assigned(
        self, at: Moment, member: str, owns: Partitions, revoking: Partitions
    ) -> Iterator[Handover]:
        """What a member has from now on, and which of it it has to give up; gives the handovers
        that no target assignment told before.
        """
        before = self.has.get(member, frozenset())
        now = frozenset(owns) | revoking
        for partition in sorted(before - now):
            self._released(partition, member, at, ACKNOWLEDGED)
        for partition in sorted(revoking):
            if partition not in self._open:
                yield from self._begin(partition, member, at)
            asked = self._open.get(partition)
            if asked is not None and asked.source == member:
                asked.asked = asked.asked or at
        for partition in sorted(now - before):
            self._taken(partition, member, at)
        for partition in before & frozenset(owns) - revoking:
            self._kept(partition, member)
        if now:
            self.has[member] = now
        else:
            self.has.pop(member, None)

    def gone(self, at: Moment, member: str, how: str) -> None:
        """A member is no member any more; `how` it went."""
        for partition in sorted(self.has.pop(member, ())):
            self._released(partition, member, at, how)

    def parked(self, at: Moment, member: str) -> None:
        """A static member is away for a while, which frees what it has been told to give up."""
        for partition in sorted(self.has.get(member, ())):
            begun = self._open.get(partition)
            if begun is not None and begun.source == member and begun.asked is not None:
                self.has[member] -= {partition}
                self._released(partition, member, at, "left")

    def forget(self) -> None:
        """Lines may be missing here: what the members have now is not known."""
        for begun in self._open.values():
            begun.how, begun.unseen = begun.how or UNSEEN, True
        self.has, self._holder, self._open = {}, {}, {}

    def renamed(self, old: str, new: str) -> None:
        """A static member has come back under a new id, with all that the old one had."""
        some = self.has.pop(old, frozenset())
        self.has[new] = self.has.get(new, frozenset()) | some  # the line may stand there twice
        for partition in some:
            self._holder[partition] = new
        for begun in self._open.values():
            begun.source = new if begun.source == old else begun.source
            begun.heir = new if begun.heir == old else begun.heir

    @property
    def open(self) -> list[Handover]:
        """Those that have not ended, a partition each."""
        return [*self._open.values()]

    def _begin(
        self, partition: str, source: str, at: Moment, heir: str = "", dropped: bool = False
    ) -> Iterator[Handover]:
        if self._made >= HANDOVERS_KEPT:
            self.dropped += 1
            return
        self._made += 1
        begun = Handover((partition,), source, at, heir, dropped)
        self._open[partition] = begun
        yield begun

    def _released(self, partition: str, member: str, at: Moment, how: str) -> None:
        if self._holder.get(partition) == member:
            del self._holder[partition]
        begun = self._open.get(partition)
        if begun is not None and begun.source == member and begun.released is None:
            begun.released, begun.how = at, how
            if begun.dropped:
                del self._open[partition]

    def _kept(self, partition: str, member: str) -> None:
        """A member that was asked to give a partition up is told to have it, before others do."""
        begun = self._open.get(partition)
        asked = begun is not None and begun.asked is not None and begun.released is None
        if asked and begun is not None and begun.source == member:
            begun.how = KEPT
            del self._open[partition]

    def _taken(self, partition: str, member: str, at: Moment) -> None:
        holder = self._holder.get(partition)
        if holder is not None and holder != member:
            self.has[holder] -= {partition}
            if len(self.twice) < HANDOVERS_KEPT:
                self.twice.append((partition, holder, member, at))
        if holder is not None or len(self._holder) < PARTITIONS_KEPT:
            self._holder[partition] = member
        begun = self._open.get(partition)
        if begun is not None and (begun.source != member or begun.released is not None):
            begun.taken, begun.heir = at, member
            del self._open[partition]


def together(some: Iterable[Handover]) -> list[Handover]:
    """Handovers between the same members at the same moments as one, in the order of time."""
    found: dict[tuple[object, ...], list[Handover]] = {}
    for h in some:
        moments = (h.since, h.asked, h.released, h.taken)
        lines = tuple(None if at is None else (at.line, at.time) for at in moments)
        found.setdefault((h.source, h.heir, h.dropped, h.how, *lines), []).append(h)
    out = [
        evolve(alike[0], partitions=tuple(p for h in alike for p in h.partitions))
        for alike in found.values()
    ]
    return sorted(out, key=lambda h: (h.since.line, h.released is None, h.source))
