"""The types of the document that `replay --spark --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Amount, Count


@frozen(kw_only=True)
class FileVerdicts:
    """Files by verdict."""

    holds: Annotated[Count, "Files whose verdict is `holds`."]
    unknown: Annotated[Count, "Files whose verdict is `unknown`."]
    violated: Annotated[Count, "Files whose verdict is `violated`."]


@frozen(kw_only=True)
class FileCounts:
    """Files."""

    found: Annotated[Count, "Files that were found."]
    new: Annotated[Count, "New ones, replayed now."]
    changed: Annotated[Count, "Changed ones, replayed again."]
    known_before: Annotated[Count, "Files that the archive had already."]
    not_replayed: Annotated[Count, "Files that could not be replayed."]
    verdicts: FileVerdicts


@frozen(kw_only=True)
class GroupVerdicts:
    """Groups by verdict."""

    holds: Annotated[Count, "Groups whose verdict is `holds`."]
    violated: Annotated[Count, "Groups whose verdict is `violated`."]
    unknown: Annotated[Count, "Groups whose verdict is `unknown`."]


@frozen(kw_only=True)
class ArchiveDocument:
    """What `groupcheck replay --spark --json` prints: what one run added to an archive."""

    out: Annotated[str, "Where the archive is."]
    verdict: Annotated[
        Literal["holds", "violated", "unknown"], "The worst verdict of the files that were found."
    ]
    reason: Annotated[str, "Why."]
    files: FileCounts
    groups: GroupVerdicts
    lines: Annotated[Count, "Lines of all files."]
    rows_added: Annotated[dict[str, Count], "Table -> rows that this run added."]
    bytes_read: Annotated[Count, "Bytes that this run read."]
    seconds: Annotated[Amount, "Seconds of wall clock."]
    tables: Annotated[dict[str, str], "Table -> where it is."]
