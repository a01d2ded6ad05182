"""The tables of kafka-consumer-groups.sh and its like: a head with names of columns, and a row for
each partition, member or group.

The columns of every version are known (ConsumerOffsetChecker of 0.8, ConsumerGroupCommand of
kafka.admin and later of org.apache.kafka.tools.consumer.group, StreamsGroupCommand of 4.2). A row
is read by the head above it, so that columns that people cut off, or reorder, do no harm. What
stands in front of the head (a quotation mark, a timestamp, the name of a container) has as many
words in front of each row.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from functools import lru_cache

from attrs import evolve, frozen

from groupcheck.traces.clients.partitions import partitions_of

MOST_CHARS = 4_000
"""Of a line: what stands behind is not looked at."""
MOST_PARTITIONS = 10_000
"""Of a member's assignment."""

_COLUMNS = {
    "GROUP": "group",
    "Group": "group",
    "TOPIC": "topic",
    "Topic": "topic",
    "PARTITION": "partition",
    "Pid": "partition",
    "LEADER-EPOCH": "leader_epoch",
    "CURRENT-OFFSET": "committed",
    "CURRENT OFFSET": "committed",
    "Offset": "committed",
    "LOG-START-OFFSET": "start",
    "START-OFFSET": "share_start",  # of a share group (KIP-932)
    "MEMBER-EPOCH": "member_epoch",
    "LOG-END-OFFSET": "end",
    "LOG END OFFSET": "end",
    "logSize": "end",
    "LAG": "lag",
    "OFFSET LAG": "lag",  # rhoas, with blanks in its names
    "CONSUMER ID": "member",
    "Lag": "lag",
    "OWNER": "member",
    "Owner": "member",
    "CONSUMER-ID": "member",
    "MEMBER-ID": "member",
    "HOST": "host",
    "CLIENT-ID": "client",
    "GROUP-INSTANCE-ID": "instance",
    "INSTANCE-ID": "instance",
    "#PARTITIONS": "count",
    "ASSIGNMENT": "assignment",
    "CURRENT-EPOCH": "epoch",
    "CURRENT-ASSIGNMENT": "assignment",
    "TARGET-EPOCH": "target_epoch",
    "TARGET-ASSIGNMENT": "target",
    "UPGRADED": "upgraded",
    "COORDINATOR (ID)": "coordinator",
    "ASSIGNMENT-STRATEGY": "strategy",
    "STATE": "state",
    "TYPE": "type",
    "GROUP-EPOCH": "group_epoch",
    "TARGET-ASSIGNMENT-EPOCH": "target_group_epoch",
    "#MEMBERS": "members",
    "NEW-OFFSET": "new_offset",
    "STATUS": "status",  # --delete-offsets
    # kafka-streams-groups.sh
    "MEMBER": "member",
    "PROCESS": "host",
    "OFFSET-LAG": "lag",
    "TOPOLOGY-EPOCH": "topology_epoch",
    "MEMBER-PROTOCOL": "member_protocol",
    "ASSIGNMENTS": "tasks",
}
"""Name of a column -> field."""
_NAMES = re.compile(
    r"(?<![\w#-])(?=[A-Zl#])(?:"
    + "|".join(re.escape(name) for name in sorted(_COLUMNS, key=len, reverse=True))
    + r")(?![\w-])"
)
_NUMBERS = {"leader_epoch", "committed", "start", "end", "lag", "count", "epoch", "target_epoch",
            "group_epoch", "target_group_epoch", "members", "new_offset", "partition",
            "share_start", "member_epoch", "topology_epoch"}  # fmt: skip
_ASSIGNED = re.compile(r"([^\s,;:()]{1,249}):(\d{1,9}(?:,\d{1,9}){0,10000})(?=[,;\s]|\Z)")
_NUMBER = r"(?:-?\d{1,19}|-|[Uu]nknown|none|N/A)"
_SPACED = r"\S{1,300}(?: \S{1,300}){0,4}?"
"""A name, which may have blanks."""
_SHAPES = {
    "coordinator": r"\S{1,300} {1,3}\(-?\d{1,10}\)",
    # 3.8 and 3.9 leave out the names of the topics.
    "assignment": r"(?:\S{0,300}\([\d,]*\)(?:, \S{0,300}\([\d,]*\))*|\S+)",
    "status": r"(?:Successful|Error: .{0,2000})",
    "state": r"(?i:Stable|Empty|Dead|PreparingRebalance|CompletingRebalance|AwaitingSync|Assigning"
    r"|Reconciling|NotReady|Unknown)",
    "host": r"\S{1,300}",
    "member_protocol": r"(?:classic|streams)",
    "tasks": r"(?:TARGET-)?(?:ACTIVE|STANDBY|WARMUP): .{0,2000}",
    "topic": r"(?:[\w.-]{1,249}|-)",
    "group": _SPACED,
    "member": _SPACED,
    "client": _SPACED,
    "instance": r"\S{0,300}",
}
_KINDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("offsets", frozenset({"partition", "committed", "end"})),
    ("share", frozenset({"topic", "partition", "share_start"})),
    ("reset", frozenset({"topic", "partition", "new_offset"})),
    ("deleted offsets", frozenset({"topic", "partition", "status"})),
    ("members", frozenset({"member", "count"})),
    ("members", frozenset({"member", "host", "client"})),
    ("state", frozenset({"coordinator", "state"})),
    ("list", frozenset({"group", "state"})),
    ("list", frozenset({"group", "type"})),
)
"""(kind of table, fields that its head has)."""
_OWNERS = {"member", "host", "client"}
_GAPS = {"...", "…"}


@frozen
class TableRow:
    """One row of a table. A column that the table does not have is None, as is `-`."""

    # The number of the line, from 1, and its text.
    line: int
    text: str
    # Field -> its text, without those that have no value.
    values: Mapping[str, str]
    # The columns that the row has.
    columns: frozenset[str]

    def number(self, field: str) -> int | None:
        """The value of a column with numbers."""
        text = self.values.get(field, "")
        return int(text) if re.fullmatch(r"-?\d{1,19}", text) else None

    def name(self, field: str) -> str:
        """The value of a column with names; empty if there is none."""
        return self.values.get(field, "")

    @property
    def partition(self) -> str:
        """topic-number; empty if the row is of a member without partitions."""
        number = self.number("partition")
        if number is None:
            return ""
        return f"{self.name('topic')}-{number}" if self.name("topic") else f"partition {number}"

    def partitions(self, field: str) -> frozenset[str]:
        """An assignment: `t(0,1), u(2)` before 4.0, `t:0,1;u:2` since, `t:0,t:1` of share
        groups.
        """
        text = self.values.get(field, "")
        found = [
            f"{topic}-{n}" for topic, numbers in _ASSIGNED.findall(text) for n in numbers.split(",")
        ]
        listed = text.replace("(", "[").replace(")", "]")
        return frozenset((found or partitions_of(listed))[:MOST_PARTITIONS])


@frozen
class Head:
    """The head of a table."""

    # offsets, members, state, list, reset or deleted offsets.
    kind: str
    # Fields in their order.
    fields: tuple[str, ...]
    # How many words stand in front of the table in each line.
    before: int
    # The columns are divided by commas, as in 0.9.
    commas: bool
    # Somebody cut columns out, and wrote "..." in their place.
    elided: bool = False
    # It stands in two lines, as its rows do.
    broken: bool = False

    def goes_on(self, line: str) -> Head | None:
        """The whole head, if the line is its second half; else None."""
        more = head_at(line) if self.kind == "offsets" and "member" not in self.fields else None
        if more is None or not {*more.fields} <= _OWNERS or more.before:
            return None
        return evolve(self, fields=self.fields + more.fields, broken=True)

    def row(self, number: int, line: str) -> TableRow | None:
        """The line as a row of the table; None if it is none."""
        text = line[:MOST_CHARS]
        text = _without_gaps(text) if self.elided else text
        for _ in range(self.before):
            text = text.lstrip().partition(" ")[2]
        text = text.strip(" \t\r|")
        if not text or _NAMES.match(text):
            return None
        if self.commas:
            parts = [part.strip() for part in text.split(",")]
            cells = dict(zip(self.fields, parts, strict=False))
            if len(parts) != len(self.fields) or not parts[2].isdecimal():
                return None
        else:
            found = _shape(self.fields).match(text)
            if found is None:
                return None
            cells = {k: v for k, v in found.groupdict().items() if v is not None}
        cells = _parted(cells)
        columns = frozenset(cells)
        if self.kind == "offsets" and not (
            cells.get("partition", "").isdecimal() or cells.get("member", "-") != "-"
        ):
            return None
        values = {k: v for k, v in cells.items() if v not in ("-", "", "unknown", "Unknown")}
        if values.get("member") == "none":  # 0.9
            del values["member"]
        return TableRow(number, line.strip()[:MOST_CHARS], values, columns)


def _without_gaps(text: str) -> str:
    return " ".join(word for word in text.split() if word not in _GAPS)


def _parted(cells: dict[str, str]) -> dict[str, str]:
    """Before 1.1, nothing parts an id of more than 50 characters from the host behind it; 0.9 and
    0.10 print both as one: client_/host.
    """
    member, slash, host = cells.get("member", "").rpartition("/")
    if (
        slash
        and re.fullmatch(r"[\d.:a-fA-F]{3,45}", host)
        and ("host" not in cells or not cells["host"].startswith("/"))
    ):
        if "host" in cells:
            cells["client"] = " ".join(filter(None, (cells["host"], cells.get("client", ""))))
        cells |= {"member": member.removesuffix("_") or member, "host": f"/{host}"}
        cells.setdefault("client", cells["member"])
    return cells


@lru_cache(maxsize=256)
def _shape(fields: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern of a row. Columns behind the numbers may be cut off."""
    out = ""
    closing = 0
    for k, name in enumerate(fields):
        shape = _SHAPES.get(name, _NUMBER if name in _NUMBERS else r"\S{1,300}")
        group = f"(?P<{name}>{shape})"
        if name == "strategy":  # empty for a group without members
            out += rf"(?:\s+{group}(?=\s+\S))?"
            continue
        if name in ("member", "host", "client", "upgraded") and "end" in fields:
            out += r"(?:\s+" + group if k else group
            closing += 1 if k else 0
        elif k + 1 == len(fields) and name in ("assignment", "target") and "count" in fields:
            # Nothing stands there for a member without partitions, or people trim their lines.
            out += rf"(?:\s+{group})?"
        else:
            out += (r"\s+" if k else "") + group
    more = "" if fields[-1] in ("client", "assignment", "target", "members") else r"(?:\s.*)?"
    return re.compile(out + ")?" * closing + rf"{more}\s*\Z")


_HEADLESS = (("group", "member", "host", "client", "count", "assignment"), re.compile(
    r"\s*[^\s\[]\S{0,248}\s{1,80}\S{1,300}\s{1,80}/[\d.:a-fA-F]{3,45}\s{1,80}\S{1,250}\s{1,80}"
    r"\d{1,5}(?:\s{1,80}(?:-|\S{1,250}\([\d,]{1,2000}\)(?:, \S{1,250}\([\d,]{1,2000}\))*))?\s*"
))  # fmt: skip
"""Fields of `--members --verbose`, and rows that show by themselves that they are of it."""


def headless(line: str) -> Head | None:
    """The head that a row had which was pasted without it; None if the row does not tell."""
    fields, shape = _HEADLESS
    return Head("members", fields, 0, False) if shape.fullmatch(line[:MOST_CHARS]) else None


def head_at(line: str) -> Head | None:
    """The head of a table, if the line is one."""
    text = " ".join(line[:MOST_CHARS].split())
    elided = " ..." in text or " …" in text
    text = _without_gaps(text) if elided else text
    commas = ", PARTITION, " in text
    hits = list(_NAMES.finditer(text))
    if len(hits) < 2:
        return None
    begin = hits[0].start()
    between = "".join(text[a.end() : b.start()] for a, b in itertools.pairwise(hits))
    if between.strip(", \t|") or text[hits[-1].end() :].strip(" \t\r|`*"):
        return None
    fields = tuple(_COLUMNS[hit[0]] for hit in hits)
    if len({*fields}) < len(fields):
        return None
    for kind, needed in _KINDS:
        if needed <= {*fields}:
            if kind == "list" and {*fields} - {"group", "type", "state"}:
                continue
            return Head(kind, fields, len(text[:begin].split()), commas, elided)
    if elided and {"topic", "partition", "member"} <= {*fields}:
        return Head("offsets", fields, len(text[:begin].split()), commas, elided)
    return None
