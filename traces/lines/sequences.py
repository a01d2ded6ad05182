"""Sequences that can only grow, in a log of which single lines may be wrong: which lines break
them.

The answer is the same whatever lines are missing, because every part of a growing sequence grows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from attrs import Factory, define, frozen

Key = tuple[int, int]
CONTINUES = 3
"""So many entries that go on from a lower value are no mistake: something began anew."""


def outliers(keys: Sequence[Key]) -> set[int]:
    """The places of the fewest keys without which the others never fall; of two that contradict
    each other alone, the later one. A sequence that goes on from a lower value began anew there
    (the group was deleted, or its state was lost, in lines that are missing).
    """
    if all(a <= b for a, b in pairwise(keys)):
        return set()
    found: set[int] = set()
    start = 0
    for at in [*_restarts(keys), len(keys)]:
        found |= {start + k for k in _fewest(keys[start:at])}
        start = at
    return found - _begun_anew(keys, found)


def _begun_anew(keys: Sequence[Key], found: set[int]) -> set[int]:
    """Entries at the end that go on from a lower value, too few to be sure of it."""
    last = max(k for k in range(len(keys)) if k not in found)
    rest = keys[last + 1 :]
    goes_on = (
        len(rest) > 1 and rest[0][0] < keys[last][0] and all(a <= b for a, b in pairwise(rest))
    )
    return set(range(last + 1, len(keys))) if goes_on else set()


def _restarts(keys: Sequence[Key]) -> list[int]:
    """The places where a lower value is followed by others that grow from there and stay lower. A
    few entries above their neighbours are no such place.
    """
    found: list[int] = []
    start, highest = 0, keys[0]
    for k in range(1, len(keys)):
        if keys[k] < highest:
            ahead = keys[k : k + CONTINUES]
            above = sum(1 for key in keys[max(start, k - CONTINUES) : k] if key > keys[k])
            goes_on = len(ahead) == CONTINUES and all(a <= b for a, b in pairwise(ahead))
            if above < CONTINUES and goes_on:
                highest = keys[k]
            elif goes_on and max(ahead) < highest:
                found.append(k)
                start, highest = k, keys[k]
        highest = max(highest, keys[k])
    return found


def _fewest(keys: Sequence[Key]) -> set[int]:
    """All places outside a longest part that never falls."""
    # ends[n]: the lowest last key of a part of n + 1 keys, and its place.
    ends: list[Key] = []
    places: list[int] = []
    before: list[int] = []
    last = -1
    for k, key in enumerate(keys):
        n = bisect_left(ends, (key[0], key[1] + 1))
        before.append(places[n - 1] if n else -1)
        if n == len(ends):
            last = k
            ends.append(key)
            places.append(k)
        else:
            ends[n], places[n] = key, k
    kept: list[int] = []
    while last >= 0:
        kept.append(last)
        last = before[last]
    return set(range(len(keys))) - set(_earlier(keys, kept[::-1]))


def _earlier(keys: Sequence[Key], kept: list[int]) -> list[int]:
    """The same number of places, each as early as can be."""
    for n, place in enumerate(kept):
        low = keys[kept[n - 1]] if n else min(keys)
        for k in range(kept[n - 1] + 1 if n else 0, place):
            if low <= keys[k] and (n + 1 == len(kept) or keys[k] <= keys[kept[n + 1]]):
                kept[n] = k
                break
    return kept


WINDOW, TAIL, WRONG_KEPT = 512, 32, 200
TEXT_CHARS = 300


@frozen
class Wrong:
    """A line that is impossible, whatever lines are missing."""

    line: int
    text: str
    why: str


@define
class Growing:
    """A sequence that can only grow, read line by line. Memory is bounded: what is far behind is
    settled.
    """

    # What grows, in words: `generation`.
    name: str
    wrong: list[Wrong] = Factory(list)
    _keys: list[Key] = Factory(list)
    _lines: list[tuple[int, str]] = Factory(list)
    _times: list[int | None] = Factory(list)

    def add(self, key: Key, line: int, text: str, time: int | None = None) -> None:
        """The next line. Lines of one millisecond (`time`) may stand in any order."""
        k = len(self._keys)
        while k and time is not None and self._times[k - 1] == time and self._keys[k - 1] > key:
            k -= 1
        self._keys.insert(k, key)
        self._lines.insert(k, (line, text[:TEXT_CHARS]))
        self._times.insert(k, time)
        if len(self._keys) > WINDOW:
            self.settle(TAIL)

    def settle(self, tail: int = 0) -> None:
        """Judges all but the last `tail` lines, which stay open; with 0, the sequence may begin
        anew after it.
        """
        done = len(self._keys) - tail
        bad = {k for k in outliers(self._keys) if k < done}
        for k in sorted(bad):
            if len(self.wrong) < WRONG_KEPT:
                line, text = self._lines[k]
                self.wrong.append(Wrong(line, text, self._why(k, bad)))
        good = [k for k in range(len(self._keys)) if k >= max(done - TAIL, 0) and k not in bad]
        if not tail:
            good = []
        self._keys = [self._keys[k] for k in good]
        self._lines = [self._lines[k] for k in good]
        self._times = [self._times[k] for k in good]

    def _why(self, k: int, bad: set[int]) -> str:
        value = self._keys[k][0]
        before = next((j for j in range(k - 1, -1, -1) if j not in bad), None)
        after = next((j for j in range(k + 1, len(self._keys)) if j not in bad), None)
        if before is not None and self._keys[before] > self._keys[k]:
            known, where = self._keys[before][0], f"line {self._lines[before][0]}"
            if known == value:
                return f"{where} shows that {self.name} {value} had gone on before"
            return f"{self.name} {value} comes after {self.name} {known} ({where})"
        if after is not None:
            known, where = self._keys[after][0], f"line {self._lines[after][0]}"
            return f"{self.name} {value} comes before {self.name} {known} ({where})"
        return f"{self.name} {value} is out of its order"
