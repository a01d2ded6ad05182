"""The pace at which a partition's committed offset grows, so that a jump ahead stands out."""

from __future__ import annotations

from attrs import Factory, define

PARTITIONS_KEPT = 100_000
LEAST_COMMITS, LEAST_MS = 5, 2000
JUMP_TIMES, JUMP_LEAST = 20, 1000


@define
class _CommitRate:
    """The commits of a partition."""

    first: int
    began: int
    last: int
    at: int
    count: int = 1


@define
class CommitRates:
    """Those of one group's partitions."""

    _paces: dict[str, _CommitRate] = Factory(dict)

    def step(self, partition: str, offset: int, at: int) -> int | None:
        """Takes a commit at a moment (ms). Returns the offset before it if it is far ahead of the
        partition's own pace: records may have been skipped.
        """
        pace = self._paces.get(partition)
        if pace is None:
            if len(self._paces) < PARTITIONS_KEPT:
                self._paces[partition] = _CommitRate(offset, at, offset, at)
            return None
        spent, gone, jumped = pace.at - pace.began, pace.last - pace.first, None
        step, took = offset - pace.last, max(at - pace.at, 1)
        if pace.count >= LEAST_COMMITS and spent >= LEAST_MS and gone > 0:
            expected = gone * took / spent
            if step > JUMP_TIMES * expected + JUMP_LEAST:
                jumped = pace.last
        pace.last, pace.at, pace.count = offset, at, pace.count + 1
        return jumped

    def forget(self, partition: str) -> None:
        """The partition has no committed offset any more."""
        self._paces.pop(partition, None)
