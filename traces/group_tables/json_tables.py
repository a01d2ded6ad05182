"""Committed offsets as JSON, as other tools and their interfaces print them (Burrow, kafka-ui, REST
proxies, `jq`): objects with a partition and its offsets or lag, inside an object that names the
group. Names of keys differ only in how they are written, so they are compared without that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import Factory, define

from groupcheck.traces.group_tables.tables import TableRow

MOST_LINES, MOST_CHARS, MOST_DEPTH = 20_000, 4_000_000, 12
"""Of one object."""
MARKS = ("artition", "ffset", "lag", "Lag")
_GROUP = ("group", "groupid", "consumergroup", "consumergroupid", "consumergroupname", "groupname")
_TOPIC = ("topic", "topicname")
_FIELDS = {
    **dict.fromkeys(
        ("currentoffset", "committedoffset", "consumeroffset", "groupoffset", "offset"), "committed"
    ),
    **dict.fromkeys(
        ("logendoffset", "endoffset", "highwatermark", "latestoffset", "highwatermarkoffset"), "end"
    ),
    **dict.fromkeys(("lag", "currentlag", "offsetlag", "consumerlag"), "lag"),
    **dict.fromkeys(("memberid", "consumerid"), "member"),
    **dict.fromkeys(("clientid",), "client"),
    **dict.fromkeys(("host", "consumerhost"), "host"),
}
_TELLS = {"end", "lag"}
"""A record that was read or sent has an offset, too, but none of these."""
_BEGINS = re.compile(r"\s*[\[{]")
_OUTSIDE = re.compile(r'"(?:[^"\\]|\\.)*"')


@define
class JsonTables:
    """Reads the rows of such objects, which may be laid out over several lines."""

    _lines: list[str] = Factory(list)
    _first: int = 0
    _depth: int = 0
    _chars: int = 0

    @property
    def is_open(self) -> bool:
        return bool(self._lines)

    def takes(self, number: int, line: str) -> list[tuple[str, TableRow]] | None:
        """Reads a line. Gives (group, row) for each partition once the object is whole; None if the
        line is no part of an object.
        """
        if not self._lines:
            if not _BEGINS.match(line) or not (line.strip() in "[{" or _has_marks(line)):
                return None
            self._first = number
        self._lines.append(line)
        self._chars += len(line)
        bare = _OUTSIDE.sub("", line)
        self._depth += sum(map(bare.count, "[{")) - sum(map(bare.count, "]}"))
        if self._depth > 0 and len(self._lines) < MOST_LINES and self._chars < MOST_CHARS:
            return []
        text, whole = "\n".join(self._lines), self._depth == 0
        alone = len(self._lines) == 1
        self._lines, self._depth, self._chars = [], 0, 0
        try:
            found = json.loads(text) if whole else None
        except (ValueError, RecursionError):
            found = None
        rows = list(_rows(found, self._first, "", "", 0))
        return rows if rows or not alone else None


def _has_marks(line: str) -> bool:
    return MARKS[0] in line and any(mark in line for mark in MARKS[1:])


def _plain(key: str) -> str:
    return re.sub(r"[^a-z]", "", key.lower())


def _rows(
    found: Any, line: int, group: str, topic: str, depth: int
) -> Iterator[tuple[str, TableRow]]:
    """The partitions in an object, with the group that it or one around it names."""
    if depth > MOST_DEPTH:
        return
    if isinstance(found, list):
        for one in found:
            yield from _rows(one, line, group, topic, depth + 1)
    if not isinstance(found, dict):
        return
    plain = {_plain(key): value for key, value in found.items()}
    group = next((v for k in _GROUP if isinstance(v := plain.get(k), str) and v), group)
    topic = next((v for k in _TOPIC if isinstance(v := plain.get(k), str) and v), topic)
    row = _row(plain, line, topic)
    if row is not None:
        yield group, row
        return
    for value in found.values():
        yield from _rows(value, line, group, topic, depth + 1)


def _row(plain: Mapping[str, Any], line: int, topic: str) -> TableRow | None:
    """The object as a row of a table of offsets; None if it is none."""
    partition = str(plain.get("partition", plain.get("partitionid", "")))
    values = {"topic": topic, "partition": partition}
    end = plain.get("end")
    if isinstance(end, dict) and "offset" in end:  # Burrow's, of the last commit that it saw
        plain = {**plain, "committedoffset": end["offset"]}
    for key, value in plain.items():
        field = _FIELDS.get(key)
        if field and isinstance(value, int | str) and str(value) not in ("", "-1"):
            values.setdefault(field, str(value))
    if not partition.isdecimal() or not topic or not _TELLS & values.keys():
        return None
    told = {key: value for key, value in plain.items() if not isinstance(value, dict | list)}
    columns = frozenset({*values, *(_FIELDS[key] for key in plain if key in _FIELDS)})
    return TableRow(line, json.dumps(told)[:300], values, columns)
