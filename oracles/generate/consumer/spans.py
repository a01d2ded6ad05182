"""Which consumer of a run had which partition, and when."""

from __future__ import annotations

from attrs import Factory, define, evolve

from groupcheck.model.protocol.masks import numbers
from groupcheck.oracles.generate.run import Owned, Process


@define
class Spans:
    """All spans of a run, in the order of their beginnings; times are ms since its beginning."""

    owned: list[Owned] = Factory(list)

    def begin(self, process: Process, some: int, now: int) -> None:
        """A consumer has partitions. `some`: a bit mask; those that it has already go on."""
        now_its = (one for one in self.owned if one.process == process and one.until is None)
        mine = {one.partition for one in now_its}
        self.owned += [Owned(process, p, now) for p in numbers(some) if p not in mine]

    def end(self, process: Process, some: int, now: int, how: str) -> None:
        """A consumer has some of its partitions no more; -1: any."""
        self.owned = [
            evolve(one, until=now, how=how)
            if one.process == process and one.until is None and some >> one.partition & 1
            else one
            for one in self.owned
        ]
