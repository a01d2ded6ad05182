"""Timestamps of generated logs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from groupcheck.oracles.generate.template import TIME, Filling, Part

FIRST_TIME = datetime(2024, 10, 25, 17)
FIRST_MS = int(FIRST_TIME.replace(tzinfo=UTC).timestamp()) * 1000


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

    def line(self, ms: int, filling: Filling, parts: Sequence[Part]) -> str:
        """A line of a member with its time: in front of it, or where librdkafka has it, in seconds
        since 1970.
        """
        if TIME not in parts:
            return f"{self.stamp(ms)} {filling.line(parts)}"
        seconds, rest = divmod(ms, 1000)
        since = FIRST_MS // 1000 + seconds
        return filling.line(parts, f"{since}.{rest:03}")
