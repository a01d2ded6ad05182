"""Committed offsets: those that went back, that ran ahead, and that were removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from attrs import Factory, define

from groupcheck.traces.dumps.records import Commit
from groupcheck.traces.exchanges.request_facts import (
    PARTITIONS_KEPT,
    REWINDS_KEPT,
    RequestFacts,
    Rewind,
)
from groupcheck.traces.findings.commit_rate import CommitRates
from groupcheck.traces.findings.findings import FOUND_KEPT, Jump
from groupcheck.traces.findings.report import Anomaly
from groupcheck.traces.phrases import plural

SHOWN = 20


@define
class _Stored:
    offset: int
    topic_id: str
    # Where its record stands in the log.
    at: int | None
    time: int | None
    # How often records may have been missing when it was read.
    cuts: int


@define
class Commits:
    """One group's, filled by `observe`."""

    # Gets the commits that went back while the group had members.
    facts: RequestFacts
    jumped: list[Jump] = Factory(list)
    # Of those that went back while it had none, and of those that were removed: the first, and how
    # many there are for each partition.
    _set_back: list[Rewind] = Factory(list)
    _removed: Counter[str] = Factory(Counter)
    _removed_at: int = 0
    _stored: dict[str, _Stored] = Factory(dict)
    _paces: CommitRates = Factory(CommitRates)

    def observe(self, c: Commit, cuts: int, empty: bool) -> None:
        """Takes a commit. `cuts`: how often records may have been missing so far; `empty`: the
        group is not known to have members.
        """
        before = self._stored.get(c.partition)
        if c.offset is None:
            if self._stored.pop(c.partition, None) is not None:
                self._removed[c.partition] += 1
                self._removed_at = self._removed_at or c.line
            self._paces.forget(c.partition)
            return
        ids = {c.topic_id, before.topic_id if before is not None else ""} - {""}
        if before is not None and len(ids) < 2:
            if not _follows(c, before):
                return
            if c.offset < before.offset:
                self._back(c, before.offset, empty or cuts != before.cuts)
        step = self._paces.step(c.partition, c.offset, c.time) if c.time is not None else None
        if step is not None and not empty and len(self.jumped) < FOUND_KEPT and c.time is not None:
            self.jumped.append(Jump(c.partition, "", c.offset, step, c.time, c.line))
        if before is not None or len(self._stored) < PARTITIONS_KEPT:
            self._stored[c.partition] = _Stored(c.offset, c.topic_id, c.at, c.time, cuts)

    def _back(self, c: Commit, was: int, empty: bool) -> None:
        back = Rewind(c.time or 0, c.line, c.group, c.partition, "", c.offset or 0, was, "")
        kept = self._set_back if empty else self.facts.rewinds
        if len(kept) < REWINDS_KEPT:
            kept.append(back)

    def anomalies(self) -> Iterator[Anomaly]:
        for back in self.facts.rewinds[:SHOWN]:
            text = (
                f"the committed offset of {back.partition} went back from {back.was} to"
                f" {back.committed}"
            )
            yield Anomaly("committed_offset_went_back", back.line, text)
        if self._set_back:
            first = self._set_back[0]
            more = len(self._set_back) - 1
            also = f", and {plural(more, 'other')}" if more else ""
            yield Anomaly(
                "offset_set_back",
                first.line,
                f"the committed offset of {first.partition} was set back from {first.was} to"
                f" {first.committed}{also}; no record shows that the group had members then",
            )
        if self._removed:
            names = sorted(self._removed)
            yield Anomaly(
                "offsets_removed",
                self._removed_at,
                f"the committed offsets of {plural(len(names), 'partition')} were removed: they"
                " have expired, or they, the group or the topic were deleted",
                tuple(names[:SHOWN]),
            )


def _follows(c: Commit, before: _Stored) -> bool:
    """Is the record the later of the two? A transaction may end after a later commit; and what a
    console consumer prints tells the order by the times alone.
    """
    if c.at is not None and before.at is not None:
        return c.at > before.at
    return c.time is None or before.time is None or c.time > before.time
