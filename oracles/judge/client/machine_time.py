"""The time of a run without that in which the machine had no time for it.

Rules say how soon a client does something: within its session, half a second after an answer. On a
machine that is busy neither the client nor the judge comes to its turn in time. How late that may
be, the judge sees by itself: its server's own timer is late. Such a stall does not count, nor as
much time after it, in which a client does what it could not do before. (It counts a little, so that
the order of events is that of their times.)
"""

from __future__ import annotations

from bisect import bisect_right

from attrs import define, field

LITTLE = 0.001  # the part of a stall that counts


@define
class MachineTime:
    """Moments of a run, in seconds, as they count."""

    _begins: list[float] = field(factory=list, init=False)
    _ends: list[float] = field(factory=list, init=False)
    # What does not count before each of these.
    _before: list[float] = field(factory=list, init=False)

    def stalled(self, at: float, late: float) -> None:
        """A timer went off at that moment, so many seconds late; later than all before. Another
        thread may ask for moments meanwhile.
        """
        if self._ends and at - late <= self._ends[-1]:
            self._ends[-1] = max(self._ends[-1], at + late)
            return
        lost = self._before[-1] + self._ends[-1] - self._begins[-1] if self._ends else 0.0
        self._before.append(lost)
        self._ends.append(at + late)
        self._begins.append(at - late)

    def __call__(self, at: float) -> float:
        """The moment as it counts; another one that comes after it is later."""
        last = bisect_right(self._begins, at) - 1
        if last < 0:
            return at
        lost = self._before[last] + min(at, self._ends[last]) - self._begins[last]
        return at - (1 - LITTLE) * lost

    def real(self, counted: float) -> float:
        """The moment of which `counted` is what counts."""
        last = bisect_right(self._begins, counted, key=self) - 1
        if last < 0:
            return counted
        begins, ends = self._begins[last], self._ends[last]
        since, stall = counted - self(begins), ends - begins
        little = LITTLE * stall
        return begins + since / LITTLE if since < little else ends + since - little
