"""The statement of one line of a client's log: the vocabulary that all libraries share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, evolve, frozen

NUMBERED = "process "


@frozen(kw_only=True)
class Statement:
    """One statement of a line. A line may hold several."""

    # What it says: a name in sentences/kinds.toml.
    kind: str
    # The number of the line in the log, from 1.
    line: int
    # The line as it stands in the log, cut to `TEXT_CHARS` characters.
    text: str
    # Milliseconds since 1970 by the clock of the writer; None if the line shows no time.
    time: int | None = None
    # The time that the line prints, without a date, where its log has dates of another clock: then
    # `time` is that of the line before it, and tells its place only.
    printed: int | None = None
    # java, librdkafka, kafka-python, ...; empty if the sentence is printed by several.
    library: str = ""
    # The log that has the line; empty if there is only one.
    log: str = ""
    # The process or container that wrote it, where a prefix names one; or `NUMBERED` and the number
    # of the process.
    process: str = ""
    # Names in the line; empty if it does not show them.
    group: str = ""
    client: str = ""
    member: str = ""
    instance: str = ""
    # Other values in the sentence, such as `limit` or `error`.
    fields: Mapping[str, Any] = Factory(dict)
    # Of one that follows from others: whom it is about (a member, a partition, a broker), and the
    # statements on which it rests.
    subject: str = ""
    rests_on: tuple[Statement, ...] = ()

    @property
    def who(self) -> str:
        """The most telling name of the one that wrote it; empty if the line shows none. The number
        of a process tells two of one name apart, and is no name.
        """
        named = "" if self.process.startswith(NUMBERED) else self.process
        return self.instance or self.client or self.member or named


_SETTING = "setting_"


def settings_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The settings among fields: `setting_session__timeout__ms` names session.timeout.ms."""
    return {
        name[len(_SETTING) :].replace("__", "."): value
        for name, value in fields.items()
        if name.startswith(_SETTING)
    }


TEXT_CHARS = 600
MOST_MS = 100 * 86_400_000
"""Two lines that lie further apart do not tell their times by the same clock."""


def ms_between(earlier: Statement, later: Statement) -> int | None:
    """The ms from one statement to the other; None if a time is missing, or one line has a date and
    the other only a time of day.
    """
    if earlier.time is None or later.time is None:
        return None
    ms = later.time - earlier.time
    return ms if 0 <= ms <= MOST_MS else None


def is_another(now: tuple[int, str], before: tuple[int | None, str], static: bool) -> bool:
    """Is an id of the same generation another member's? Who loses its id misses a generation,
    unless it is static: that one may come back without a rebalance (KIP-345). `now` and `before`:
    (generation, id) as lines name them; an id may be empty.
    """
    (generation, member), (known, former) = now, before
    return generation == known and not static and bool(member and former) and member != former


def fact(said: Statement, kind: str, **fields: Any) -> Statement:
    """A statement that follows from others, and quotes the line of `said`."""
    return evolve(said, kind=kind, fields={k: v for k, v in fields.items() if v is not None})
