"""What kafka-consumer-groups.sh says of the changes that it was asked for: groups that it deleted,
offsets that it set or deleted, and what was refused. One group may be refused where others of the
same command are changed (KIP-379).

Sources: ConsumerGroupCommand.scala (2.0 to 3.7) and .java (since): deleteGroups, resetOffsets,
deleteOffsets, printOffsetsToReset.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from groupcheck.traces.clients.client_log import fields_of_hit
from groupcheck.traces.clients.sentences import all_sentences
from groupcheck.traces.clients.tool_lines import is_refusal
from groupcheck.traces.clients.who import NAMES
from groupcheck.traces.group_tables.tables import TableRow

NAMED = 5
MARKS = ("onsumer groups ", "Group '", "for group '", "for deleting offsets", "Error: ",
         "can only be reset", "onsumer group '", "No reset plan", "No action will")  # fmt: skip
"""A line without any of these says nothing of a change."""
NEEDLES = (
    b"onsumer groups (", b"onsumer groups were ", b"onsumer groups failed", b"could not be deleted",
    b"Delete for group ", b"can only be reset", b"for deleting offsets", b"Deleting offsets of a",
    b"reset plan for", b"is a streams group", b"Error: ", b"PARTITION ",
)  # fmt: skip
"""A log without any of these has no line and no table of a change: fewer logs have these than have
one of `MARKS`, so fewer are read for nothing.
"""
DRY_RUN = re.compile(r"No action will be performed as the --execute option is missing")
_DELETED = re.compile(
    r"Deletion of requested consumer groups \((?P<all>'.{0,20000}')\) was successful"
    r"|These consumer groups were deleted successfully: (?P<some>'.{0,20000})"
)
_OFFSETS_DELETED = re.compile(
    r"Request succeed(?:ed)? for deleting offsets"
    r" (?:with topic .{1,4000}? group (?P<group>\S{1,249})|from group (?P<of>.{1,249}?)\.)\s*\Z"
)
_QUOTED = re.compile(r"'[^']+'(?:, '[^']+')*")


@frozen
class Said:
    """What a line says about a change of one group."""

    # Empty if the line does not name it.
    group: str
    # A kind of statement, with its fields; empty where other lines tell more.
    kind: str
    fields: dict[str, Any]


def said_in(line: str) -> list[Said]:
    """What the command says in this line, for each group; nothing if it is about no change."""
    if found := _DELETED.search(line):
        names = _in_all(found["all"]) if found["all"] else _in_some(found["some"])
        return [Said(name, "admin_done", {"told": "the command deleted the group"})
                for name in names]  # fmt: skip
    if found := _OFFSETS_DELETED.search(line):
        told = "the command deleted committed offsets"
        return [Said(found["group"] or found["of"], "admin_done", {"told": told})]
    return refused_in(line) if is_refusal(line) else []


def refused_in(line: str) -> list[Said]:
    """What was refused. It is no trouble of the group's members, whatever the error is."""
    hits = all_sentences().in_line(" ".join(line.split()), "java")
    if not hits:
        return [Said("", "", {})]
    fields = {k: v for hit in reversed(hits) for k, v in fields_of_hit(hit).items()}
    in_use = any(hit.sentence.kind == "group_in_use" for hit in hits)
    told = {k: v for k, v in fields.items() if k not in NAMES}
    if in_use:
        return [Said(fields.get("group", ""), "group_in_use", told)]
    return [Said(fields.get("group", ""), "admin_failed", {"action": "change the group", **told})]


def _in_all(names: str) -> list[str]:
    """The groups of `'a', 'b'`; 3.8 and 3.9 print `'a, b'`."""
    return re.findall(r"'([^']+)'", names) if ", '" in names else names[1:-1].split(", ")


def _in_some(names: str) -> list[str]:
    """The groups of `'a', 'b'`; 3.8 and 3.9 print `'a'b', '`."""
    names = names.strip()
    if _QUOTED.fullmatch(names):
        return re.findall(r"'([^']+)'", names)
    return [name for name in names.removesuffix("', '").split("'") if name]


def offsets_told(rows: Sequence[TableRow], executed: bool | None) -> str:
    """Words of the table that `--reset-offsets` prints. `executed`: whether the command was to set
    them; None if no line tells, because a dry run prints the same.
    """
    what = _named([f"{row.partition} to {row.name('new_offset')}" for row in rows])
    if executed is None:
        return f"the command set these offsets, or would set them with --execute: {what}"
    done = "the command set these offsets" if executed else "a dry run would set these offsets"
    return f"{done}: {what}"


def statuses_told(rows: Sequence[TableRow]) -> tuple[str, str]:
    """(whose offsets `--delete-offsets` has deleted, whose not and why), in words; either may be
    empty.
    """
    done = [_place(row) for row in rows if row.name("status") == "Successful"]
    failed = [f"{_place(row)} ({row.name('status').removeprefix('Error:').strip(' :')})"
              for row in rows if row.name("status") != "Successful"]  # fmt: skip
    return _named(done), _named(failed)


def _place(row: TableRow) -> str:
    return row.partition or f"every partition of {row.name('topic')}"


def _named(some: Sequence[str]) -> str:
    more = len(some) - NAMED
    return ", ".join(some[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
