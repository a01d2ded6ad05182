"""The type of the document that `record --json` prints."""

from __future__ import annotations

from typing import Annotated

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Amount, Count


@frozen(kw_only=True)
class RecordDocument:
    """What `groupcheck record --json` prints: what was recorded."""

    name: Annotated[str, "How the files begin."]
    folder: Annotated[str, "Where they are."]
    kafka: Annotated[str, "Kafka version of the broker."]
    command: Annotated[list[str] | None, "The command with its arguments; null for a scenario."]
    scenario: Annotated[str | None, "The scenario; null for a command."]
    client: Annotated[
        str | None, "Library and version of a scenario's members; null for a command."
    ]
    exit_code: Annotated[int, "Exit code of the command; 0 or 3 for a scenario."]
    reason: Annotated[str, "Why a scenario did not come about; otherwise empty."]
    seconds: Annotated[Amount, "Seconds of wall clock."]
    files: Annotated[dict[str, str], "Kind -> path."]
    lines: Annotated[dict[str, Count], "Kind of log -> lines that were selected."]
    facts: Annotated[dict[str, Count], "Kind of fact -> how many; empty for a command."]
