"""Timestamps of generated logs."""

from __future__ import annotations

from datetime import datetime, timedelta

FIRST_TIME = datetime(2024, 10, 25, 17)


class Clock:
    """Timestamps as Kafka's log4j pattern writes them."""

    def __init__(self) -> None:
        self._second, self._text = -1, ""

    def stamp(self, ms: int) -> str:
        """`[2024-10-25 17:25:16,582]`, for milliseconds since the beginning."""
        second, rest = divmod(ms, 1000)
        if second != self._second:
            self._second, self._text = (
                second,
                (FIRST_TIME + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S"),
            )
        return f"[{self._text},{rest:03}]"
