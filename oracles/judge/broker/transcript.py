"""What happens in a schedule, line by line, with short names for ids and numbers of its own for
requests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from groupcheck.oracles.judge.broker.differences import word_of
from groupcheck.oracles.judge.following.requests import Wire
from groupcheck.oracles.judge.following.worlds import seen, shown
from groupcheck.oracles.judge.report.schedules import Line
from groupcheck.oracles.wire.connections import Answered, Closed


def lane_of(member: int) -> str:
    """The lane of a member; empty for nobody's."""
    return "" if member < 0 else f"member {member}"


class Transcript:
    """The lines of one schedule. Ids are called m1, m2, ... in the order in which they appear."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._numbers: dict[int, int] = {}
        self._whose: dict[int, str] = {}
        self._short: dict[str, str] = {}

    def asks(self, number: int, request: Wire, member: int) -> None:
        """A request is sent. `number`: that of the connections."""
        self._numbers[number] = len(self._numbers) + 1
        self._whose[number] = lane_of(member)
        text = self.shortened(str(request))
        self.lines.append(Line("asks", self._whose[number], text, self._numbers[number]))

    def whose(self, number: int) -> str:
        """The lane of who has sent the request of that number."""
        return self._whose.get(number, "")

    def told(self, answers: Mapping[int, Answered]) -> None:
        """Answers come."""
        for number, answer in sorted(answers.items()):
            error, fields = seen(answer)
            if member := fields.get("memberId"):
                self._short.setdefault(member, f"m{len(self._short) + 1}")
            about = ", ".join(
                f"{name}={shown(value)}"
                for name, value in fields.items()
                if value not in ("", b"", frozenset(), None)
            )
            text = answer.why if isinstance(answer, Closed) else f"{word_of(error)} {about}"
            self.lines.append(
                Line(
                    "answers",
                    self._whose.get(number, ""),
                    self.shortened(text.rstrip()),
                    self._numbers.get(number, 0),
                )
            )

    def shortened(self, text: str) -> str:
        """The text with short ids."""
        for member, short in self._short.items():
            text = text.replace(member, short)
        return text

    def renumbered(self, text: str) -> str:
        """The text with the schedule's own numbers of requests and short ids."""
        return re.sub(
            r"(?<=request )\d+",
            lambda m: str(self._numbers.get(int(m[0]), m[0])),
            self.shortened(text),
        )
