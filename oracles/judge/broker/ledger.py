"""What has been seen of a broker: rows that agree, differences with their shortest schedules, how
often each rule was tried, and what is left to be looked for. Several threads write to it.
"""

from __future__ import annotations

import threading
from collections import Counter

from attrs import define, field

from groupcheck.oracles.judge.broker.differences import NO_GROUP, Difference
from groupcheck.oracles.judge.broker.kinds import ANY_GROUP, Kind
from groupcheck.oracles.judge.broker.profiles import Profile
from groupcheck.oracles.judge.broker.walk import Met
from groupcheck.oracles.judge.report.schedules import Act, Line

MUTED = 3  # occurrences after which a kind of row that differs is not looked for any more
UNFIT = ("closed", "unreadable")
TRIES = 6  # ways to a kind of row that did not lead there

Wanted = tuple[str, Kind]  # the name of a profile, and a kind of row


def wanted_of(profile: Profile, kind: Kind) -> Wanted:
    """What is about no group is the same in every profile."""
    return ("" if kind.phase == ANY_GROUP else profile.name), kind


@define
class ShownDifference:
    """A difference with the shortest schedule that shows it."""

    difference: Difference
    profile: Profile
    acts: tuple[Act, ...]
    lines: tuple[Line, ...]
    times: int = 1
    # Of the careful repetitions: how many there were, and how many showed it again.
    repeated: int = 0
    again: int = 0
    # The broker was gone then, so nothing could be tried again.
    is_final: bool = False
    # Old versions without which it does not show: `JoinGroup v0`.
    needs: tuple[str, ...] = ()


@define
class Ledger:
    agreed: Counter[Wanted] = field(factory=Counter)
    # (profile, kind, what the model allows there): finer than kinds.
    finer: Counter[tuple[str, Kind, str]] = field(factory=Counter)
    # (profile, timer or row, kind): kinds of rows that agreed behind a timer that was waited for,
    # or behind a row that changed the phase.
    behind: Counter[tuple[str, str, Kind]] = field(factory=Counter)
    rows: set[object] = field(factory=set)
    versions: Counter[tuple[str, int]] = field(factory=Counter)
    tried: Counter[str] = field(factory=Counter)
    found: dict[Difference, ShownDifference] = field(factory=dict)
    differed: Counter[Wanted] = field(factory=Counter)
    # How often a way to a kind of row was begun.
    sought: Counter[Wanted] = field(factory=Counter)
    sought_finer: Counter[tuple[str, Kind, str]] = field(factory=Counter)
    schedules: int = 0
    # Those that were begun, by profile.
    begun: Counter[str] = field(factory=Counter)
    requests: int = 0
    late: int = 0
    # (API, version) that led to a closed connection or to bytes that cannot be read.
    unfit: Counter[tuple[str, int]] = field(factory=Counter)
    waited_s: list[tuple[str, float]] = field(factory=list)
    timers_s: list[tuple[str, float]] = field(factory=list)
    lock: threading.Lock = field(factory=threading.Lock, eq=False, repr=False)

    def muted(self, profile: Profile, kind: Kind) -> bool:
        return self.differed[wanted_of(profile, kind)] >= MUTED

    def differs(self, profile: Profile, kind: Kind) -> bool:
        """Has a row of this kind differed?"""
        return bool(self.differed[wanted_of(profile, kind)])

    def broken(self, api: str, version: int) -> bool:
        """Has this version closed the connection so often that it is not spoken any more?"""
        return self.unfit[api, version] >= MUTED

    def wanted(self, profile: Profile, kind: Kind, tries: int = TRIES) -> bool:
        """Has nobody seen this kind of row, and has it been looked for less than so often?"""
        one = wanted_of(profile, kind)
        return not self.agreed[one] and not self.differed[one] and self.sought[one] < tries

    def wanted_finer(self, profile: Profile, kind: Kind, what: str, tries: int = TRIES) -> bool:
        """Has nobody seen a row of this kind in which the model allows that?"""
        one = profile.name, kind, what
        return not self.finer[one] and self.sought_finer[one] < tries

    def dropped(self, profile: Profile) -> bool:
        """Has the broker not even made its groups?"""
        return self.differed[profile.name, NO_GROUP] >= MUTED

    def note(self, profile: Profile, met: Met) -> None:
        """What one schedule has met."""
        with self.lock:
            self.schedules += 1
            self.requests += met.requests
            for one in met.agreed:
                self.agreed[wanted_of(profile, one.kind)] += 1
                self.finer[profile.name, one.kind, one.what] += 1
                for behind in one.behind:
                    self.behind[profile.name, behind, one.kind] += 1
                self.versions[one.name, one.version] += 1
                self.rows.add((profile.name, one.row))
            for rule, times in met.tried.items():
                self.tried[rule] += times
            self.measure(met)
            if not met.differences:
                self.tried["goes_on"] += 1
            for difference, acts, lines in met.differences:
                self._differs(profile, difference, acts, lines)

    def measure(self, met: Met) -> None:
        """How long the answers of a schedule took."""
        self.waited_s += met.waited_s
        self.timers_s += met.timers_s

    def _differs(
        self,
        profile: Profile,
        difference: Difference,
        acts: tuple[Act, ...],
        lines: tuple[Line, ...],
    ) -> None:
        if difference.got in UNFIT and acts and acts[-1].kind != "wait":
            # Of one version: other versions may still show what the row is like.
            self.unfit[acts[-1].api, acts[-1].version] += 1
            if difference in self.found:
                self.found[difference].times += 1
                return
        else:
            self.differed[wanted_of(profile, difference.kind)] += 1
        old = self.found.get(difference)
        if old is None:
            self.found[difference] = ShownDifference(difference, profile, acts, lines)
            return
        old.times += 1
        if len(acts) < len(old.acts):
            old.difference, old.profile, old.acts, old.lines = difference, profile, acts, lines
