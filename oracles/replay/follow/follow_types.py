"""The type of a line that `replay --follow --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.replay.replay_types import Cause, Fact
from groupcheck.oracles.show.json_schemas import ABSENT, Count

Health = Literal["calm", "troubled", "broken", "unknown"]


@frozen(kw_only=True)
class FollowLine:
    """One line of `groupcheck replay --follow --json`: a group has another health, something
    happened to a log, or following ends. Lines of logs are quoted with the file that holds them
    and their number there.
    """

    event: Annotated[
        Literal["health", "log", "end"],
        "`health`: a group has another health than before, or is named for the first time; `log`:"
        " a file was rotated, truncated, is gone or there again; `end`: the last line.",
    ]
    at: Annotated[str, "When it was noticed, by the clock of this machine, in UTC."]
    group: Annotated[str, "`health`: the group; empty for lines that name none."] = ABSENT
    health: Annotated[
        Health, "`health`: that of the group; `end`: that of the group in worst health."
    ] = ABSENT
    before: Annotated[
        Health | None, "`health`: that before; null for a group that is named for the first time."
    ] = ABSENT
    reason: Annotated[
        str, "Why: the group's health in a few words, what happened to the log, or what ends it."
    ] = ABSENT
    causes: Annotated[
        list[Cause], "`health`: the causes that are certain or likely, the most telling first."
    ] = ABSENT
    facts: Annotated[
        list[Fact],
        "`health`: what changed, went back, repeats, stands still or is shared, and was not known"
        " before, at most five.",
    ] = ABSENT
    lines: Annotated[
        Count, "`health`: the lines that were read for it; `end`: all that were read."
    ] = ABSENT
    left_out: Annotated[Count, "`health`: older lines that name the group and were left out."] = (
        ABSENT
    )
    file: Annotated[
        str,
        "`log`: the log; `health`: the file that holds the newest line about the group; empty if"
        " none is left.",
    ] = ABSENT
    line: Annotated[Count, "`health`: the number of that line there; 0 if none is left."] = ABSENT
    groups: Annotated[dict[str, Health], "`end`: group -> its health, the worst first."] = ABSENT
    forgotten: Annotated[
        Count, "`end`: groups that were forgotten because there were too many."
    ] = ABSENT
    exit_code: Annotated[Literal[0, 1, 3], "`end`: the exit code."] = ABSENT
