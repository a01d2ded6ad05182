"""What happens to a running group by itself, at random times, while a scenario runs: processes that
die, outages, deploys, messages that take long.

Each kind is a Poisson process of the whole group, and each time a member is drawn, without looking
at the variant. So variants that are compared see the same things at the same times.

Slow messages are work: their member works on, its heartbeats go on, and it polls only once the
message is done. Each member has the stationary process of them from the begin on: it is in the
middle of one as often as it is at a random moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Literal

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.simulate.parts import SimulatedGroup

Kind = Literal["bounce", "crash", "deploy", "outage", "hang", "slow"]


@frozen
class Happens:
    """What happens to the group at random."""

    kind: Kind
    # The mean time between the begins of two.
    every_ms: float
    # How long a process is away (bounce, deploy), an outage or a hang lasts, or a message takes.
    length_ms: float = 0.0


def checked(happens: Sequence[Happens], members: int) -> None:
    """Raises `UserError` if there are more slow messages than the members have time for."""
    for one in happens:
        if one.kind == "slow" and one.length_ms >= members * one.every_ms:
            share = one.length_ms / one.every_ms
            raise UserError(
                f"slow messages keep {share:,.1f} members busy all the time, and there are"
                f" {members}",
                do="fewer or shorter slow messages, or more members",
            )


class Background:
    """What happens to a group at random, from `begin` on."""

    def __init__(self, group: SimulatedGroup, happens: Sequence[Happens]) -> None:
        self.group = group
        self.happens = happens

    def begin(self) -> None:
        """Lets it happen, from now on."""
        for one in self.happens:
            if one.kind == "slow":
                self._slow(one)
            else:
                self._next(one)

    def _random(self, one: Happens) -> Random:
        return self.group.streams(f"background {one.kind}")

    def _next(self, one: Happens) -> None:
        gap = self._random(one).expovariate(1 / one.every_ms)
        self.group.clock.at(self.group.clock.now + gap, self._happens, one)

    def _happens(self, one: Happens) -> None:
        group, members, rng = self.group, self.group.members, self._random(one)
        now, drawn = group.clock.now, rng.randrange(group.size)
        self._next(one)
        if one.kind == "deploy":
            self._deploy(one, rng)
        elif not members.up[drawn] or (one.kind == "crash" and sum(members.up) < 2):
            return  # what is down cannot die, and the last one stays
        elif one.kind == "outage":
            members.pause(drawn, one.length_ms)
            self._until(now + one.length_ms)
        elif one.kind == "hang":
            members.stall(drawn, one.length_ms)
            self._until(now + one.length_ms)
        else:
            members.stop(drawn, "crash")
            if one.kind == "bounce":
                self._at(now + one.length_ms, "start", drawn)

    def _deploy(self, one: Happens, rng: Random) -> None:
        """All members restart, one after the other, in a random order."""
        group = self.group
        at = group.clock.now
        for index in rng.sample(range(group.size), group.size):
            self._at(at, "close", index)
            self._at(at + one.length_ms, "start", index)
            at += one.length_ms + group.assumptions.restart_gap_ms

    def _at(self, at: float, what: str, index: int) -> None:
        members = self.group.members
        event, more = (members.start, ()) if what == "start" else (members.stop, (what,))
        self.group.clock.at(at, event, index, *more)
        self._until(at)

    def _until(self, at: float) -> None:
        self.group.last_ms = max(self.group.last_ms, at)

    def _slow(self, one: Happens) -> None:
        """Each member's slow messages, and those that are under way."""
        group = self.group
        # From the end of one to the begin of the next, so that they begin as often as described.
        gap = group.size * one.every_ms - one.length_ms
        share = one.length_ms / (group.size * one.every_ms)
        for index in range(group.size):
            rng = group.streams("background slow", index)
            if rng.random() < share:
                group.members.slow(index, rng.random() * one.length_ms)
            self._slow_from(one, index, gap)

    def _slow_from(self, one: Happens, index: int, gap: float) -> None:
        """After an exponential gap the next one begins, if the member can begin one then."""
        later = self.group.streams("background slow", index).expovariate(1 / gap)
        self.group.clock.at(self.group.clock.now + later, self._begins, one, index, gap)

    def _begins(self, one: Happens, index: int, gap: float) -> None:
        self.group.members.slow(index, one.length_ms)
        self._slow_from(one, index, gap)
