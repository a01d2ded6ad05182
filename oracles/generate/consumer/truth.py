"""What really happened in a run: rebalances, who had which partition by the coordinator's records,
and the troubles of processes.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import Factory, define, evolve

from groupcheck.model.protocol.consumer.memory import State
from groupcheck.oracles.generate.consumer.happenings import (
    Bumped,
    Happening,
    Joined,
    Lost,
    Planned,
    Reconciled,
    Refreshed,
    Replaced,
    Went,
)
from groupcheck.oracles.generate.run import Committed, Had, TrueRound

_WENT = {
    "left": ("leave", "left"),
    "session_expired": ("session_expired", "expired"),
    "rebalance_timeout": ("rebalance_timeout", "fenced"),
}
"""How a member went -> the cause of the next epoch, and how its partitions were released."""


@define
class Truth:
    """Hears what happens; `now` is given with it, in ms since the beginning."""

    rounds: list[TrueRound] = Factory(list)
    # All that has ended, and what members have now: (member, partition) -> since when.
    ended: list[Had] = Factory(list)
    has: dict[tuple[int, int], Had] = Factory(dict)
    # Commits, and appends that failed, each with its time.
    commits: list[tuple[int, Committed]] = Factory(list)
    lost: list[tuple[int, Lost]] = Factory(list)
    _members: set[int] = Factory(set)
    # Why the next epoch begins.
    _why: tuple[str, tuple[int, ...]] = ("not_told", ())
    # The members with their records at the epoch of the last target, and that epoch.
    _settled: set[int] = Factory(set)
    _target: int = 0

    def hears(self, h: Happening, now: int) -> None:
        match h:
            case Joined():
                self._members.add(h.member)
                self._why = "join", (h.member,)
            case Refreshed():
                self._why = "metadata_change", ()
            case Replaced() if h.former != h.member:  # else it has what it had
                self._renamed(h.former, h.member, now)
            case Went() if h.how != "away":
                self._members.discard(h.member)
                cause, how = _WENT[h.how]
                self._why = cause, (h.member,)
                for had in self._of(h.member):
                    self._ends(had, now, how)
            case Went():  # what it was to give up is free
                for had in self._of(h.member):
                    if had.asked is not None:
                        self._ends(had, now, "left")
            case Bumped():
                self._bumped(h.epoch)
            case Planned():
                self._target, self._settled = h.epoch, set()
            case Committed():
                self.commits.append((now, h))
            case Reconciled():
                self._reconciled(h, now)

    def _of(self, member: int) -> list[Had]:
        """What a member has now."""
        return [had for had in self.has.values() if had.member == member]

    def _renamed(self, former: int, member: int, now: int) -> None:
        self._members.discard(former)
        self._members.add(member)
        for had in self._of(former):
            self._ends(had, now, "replaced")
            self.has[member, had.partition] = evolve(had, member=member, since=now)

    def _bumped(self, epoch: int) -> None:
        if self.rounds and self.rounds[-1].outcome == "open":
            self.rounds[-1] = evolve(self.rounds[-1], outcome="interrupted")
        cause, members = self._why
        self._why, self._settled = ("not_told", ()), set()
        outcome = "open" if self._members else "emptied"
        size = len(self._members)
        self.rounds.append(TrueRound(epoch - 1, cause, members, epoch, size, outcome))

    def _reconciled(self, h: Reconciled, now: int) -> None:
        mine = {*h.assigned, *h.revoking}
        for had in self._of(h.member):
            if had.partition not in mine:
                self._ends(had, now, "acknowledged")
            elif had.partition in h.revoking and had.asked is None:
                self.has[h.member, had.partition] = evolve(had, asked=now)
            elif had.partition in h.assigned:
                self.has[h.member, had.partition] = evolve(had, asked=None)
        for partition in mine:
            self.has.setdefault((h.member, partition), Had(h.member, partition, now))
        if h.state == State.STABLE and h.epoch == self._target:
            self._settled.add(h.member)
        if not self.rounds:
            return
        current = self.rounds[-1]
        done = self._settled >= self._members and self._target == current.to_generation
        if done and current.outcome == "open":
            self.rounds[-1] = evolve(current, outcome="assigned")

    def _ends(self, had: Had, now: int, how: str) -> None:
        del self.has[had.member, had.partition]
        self.ended.append(evolve(had, until=now, how=how))

    def all(self) -> Iterator[Had]:
        """What members had, in the order of time."""
        yield from sorted(
            (*self.ended, *self.has.values()), key=lambda h: (h.since, h.partition, h.member)
        )
