"""The request log as a stream of exchanges, in the order in which the broker began to handle the
requests.

Lines are in the order of the answers, so a parked JoinGroup appears when its round ends, long after
the heartbeats that were refused because of it. So exchanges are held back for as long as a request
can be parked, and then given in order of `began`. The number and the size of what is held are
bounded; if that is not enough, an exchange may come too late, which is counted and reported.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import heappop, heappush

from attrs import Factory, define, evolve

from groupcheck.traces.exchanges.exchange import Exchange, JoinExchange
from groupcheck.traces.lines.duplicates import WINDOW
from groupcheck.traces.reading import JITTER_MS, SAMPLE_CHARS, Log, Notes
from groupcheck.traces.requests.every_connection import LoggedConnections, connections_of
from groupcheck.traces.requests.line import MARK, RequestNotUnderstood, exchanges

NEEDLES = (MARK.encode(),)
LEAST_HELD_MS = 900_000.0
MOST_HELD_MS = 1_800_000.0
MOST_HELD = 50_000
MOST_HELD_CHARS = 64_000_000
CONNECTIONS_KEPT = 10_000
ROUNDED_MS = 2.0
"""So much the times of two lines may be off, because each is rounded to 1 ms."""


@define
class RequestLog(Log):
    """A request log as a stream of exchanges."""

    # Exchanges that came after their turn.
    late: int = 0
    # Lines that stood here a few lines before.
    left_out: int = 0
    _last: dict[Hashable, None] = Factory(dict)
    # (began, line, place in its line, exchange), a heap.
    _held: list[tuple[float, int, int, Exchange]] = Factory(list)
    # Connection -> the number of its last request, and when that was answered.
    _served: dict[str, tuple[int, float]] = Factory(dict)
    # The characters of the lines that are held.
    _chars: int = 0
    # The time of the latest line.
    _latest: float = float("-inf")
    # Every exchange that began before this moment has been given, unless it was late.
    _given_up_to: float = float("-inf")
    _hold_ms: float = LEAST_HELD_MS

    def exchanges(self) -> Iterator[Exchange]:
        """Every exchange of a group API. Raises `TraceError` if a file cannot be read."""
        for number, line in self.lines(NEEDLES):
            self._take(number, line)
            while self._held and (
                self._held[0][0] < self._latest - self._hold_ms
                or len(self._held) > MOST_HELD
                or self._chars > MOST_HELD_CHARS
            ):
                yield self._next()
        while self._held:
            yield self._next()

    def connections(self) -> LoggedConnections:
        """The connections of the log, for which it is read once more."""
        return connections_of(self.source.lines(Notes(), NEEDLES))

    def _take(self, number: int, line: str) -> None:
        try:
            found = exchanges(number, line)
        except RequestNotUnderstood as why:
            self.note_strange(number, f"{why}: {line[:SAMPLE_CHARS]}")
            return
        if found is None:
            return
        self.understood += 1
        if found and self._repeats(found):
            self.left_out += 1
            return
        for k, e in enumerate(map(self._in_turn, found)):
            if not k:
                self._tally(e)
            if e.began < self._given_up_to:
                self.late += 1
            heappush(self._held, (e.began, e.line, k, e))
            self._chars += e.size

    def _in_turn(self, e: Exchange) -> Exchange:
        """The exchange, begun after the one before it on its connection was answered: a connection
        is served one request at a time, and the times of lines are rounded.
        """
        number, given = self._served.pop(e.connection, (e.correlation, e.began))
        if number < e.correlation and given - ROUNDED_MS <= e.began < given:
            e = evolve(e, began=given, given=max(given, e.given))
        if len(self._served) >= CONNECTIONS_KEPT:
            del self._served[next(iter(self._served))]
        self._served[e.connection] = (e.correlation, e.given)
        return e

    def _repeats(self, found: tuple[Exchange, ...]) -> bool:
        """Was this line there a few lines before, as if two appenders wrote to one file?

        Then it is the same request, and not a second one: it has the same number on the same
        connection, and every part of it took as long, to the microsecond.
        """
        first = found[0]
        said = (
            first.connection,
            first.correlation,
            first.began,
            hash(tuple(evolve(e, line=0) for e in found)),
        )
        if said in self._last:
            return True
        self._last[said] = None
        if len(self._last) > WINDOW:
            del self._last[next(iter(self._last))]
        return False

    def _tally(self, e: Exchange) -> None:
        if e.answered < self._latest - JITTER_MS:
            self.note_backwards(e.line)
        self._latest = max(self._latest, float(e.answered))
        if isinstance(e, JoinExchange):
            self._hold_ms = min(
                max(self._hold_ms, 2.0 * max(e.rebalance_ms, e.session_ms)), MOST_HELD_MS
            )

    def _next(self) -> Exchange:
        began, _, _, e = heappop(self._held)
        self._chars -= e.size
        self._given_up_to = max(self._given_up_to, began)
        return e
