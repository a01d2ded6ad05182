"""The types of the document that `generate --json` prints."""

from __future__ import annotations

from typing import Annotated

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Amount, Count


@frozen(kw_only=True)
class Log:
    """One log."""

    file: Annotated[str, "Its path."]
    dialect: Annotated[str, "How its broker writes."]
    bytes: Annotated[Count, "Its bytes before it is packed."]
    lines: Annotated[Count, "Lines of coordinators."]
    lines_of_others: Annotated[Count, "Other lines."]
    groups: Annotated[Count, "Its groups."]


@frozen(kw_only=True)
class GenerateDocument:
    """What `groupcheck generate --json` prints: the logs that it wrote."""

    out: Annotated[str, "The folder."]
    bytes: Annotated[Count, "Bytes of all logs before they are packed."]
    seconds: Annotated[Amount, "Seconds of wall clock."]
    files: Annotated[list[Log], "One object for each log."]
