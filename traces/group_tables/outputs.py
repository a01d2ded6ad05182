"""One output of the command after the other, with the time at which it was printed.

Tables stand among other text: prompts, lines of `date`, heads of `watch`, log lines. What the
command says besides tables (a group that is empty, rebalances or does not exist) belongs to the
table that follows; where none follows, it is an output by itself.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

from attrs import Factory, define, evolve, frozen

from groupcheck.traces.clients.frames import plain
from groupcheck.traces.group_tables.changes import DRY_RUN, Said, refused_in, said_in
from groupcheck.traces.group_tables.changes import MARKS as OF_CHANGES
from groupcheck.traces.group_tables.changes import NEEDLES as CHANGES
from groupcheck.traces.group_tables.json_tables import JsonTables
from groupcheck.traces.group_tables.tables import MOST_CHARS, Head, TableRow, head_at, headless
from groupcheck.traces.lines.timestamps import Clock, parse_time

MOST_ROWS = 20_000
"""Of one output; more are left out, and the output counts as cut."""
LOOKED_BACK = 6
APART_MS = 1_000
"""One run of the command takes less between what it says and its table."""
EMPTY, REBALANCING, ABSENT = "Empty", "rebalancing", "Dead"

_MESSAGE = re.compile(
    r"[Cc]onsumer group [`'‘](?P<group>[^\n]{1,249}?)[`'’] "
    r"(?:(?P<empty>has no active members)|(?P<rebalancing>is rebalancing)"
    r"|(?P<absent>does not exist))"
)
_ASIDE = re.compile(r"\s*Could not fetch offset ")
"""What the old command says about one row, in front of it or between the rows."""
_GONE = re.compile(
    r"failed due to (?:\S+\.)?GroupIdNotFoundException: (?:Group (?P<group>.{1,249}?) not found)?"
)
"""4.0 on: the command looks at no group at all if one of several does not exist."""
_ERROR = re.compile(r"Error: Executing consumer group command failed due to (?P<reason>.{1,300})")
_COMMAND = re.compile(
    r"kafka-(?:consumer|share)-groups|kafka\.admin\.ConsumerGroupCommand|ConsumerGroupCommand "
)
_ASKED = re.compile(r"--group[= ]+['\"]?([^\s'\"]{1,249})")
_SERVER = re.compile(r"--(?:bootstrap-server|zookeeper)[= ]+['\"]?([^\s'\"]{1,300})")
_AFTERNOON = re.compile(r"\b(\d\d?):\d\d:\d\d PM\b")
_ELIDED = re.compile(r"[\s#>|]*(?:\.{2,}|…|\[?(?:snip|cut|truncated)[^\n]{0,20})\s*\]?\s*\Z", re.I)
_SUMMARY = re.compile(r"\s*GROUP(?:\s{2,}|\t)(?P<group>\S{1,249})\s*\Z")
"""The first line of what rpk prints about a group, one value a line, before its table."""
_VALUE = re.compile(
    r"\s*(?P<name>COORDINATOR|STATE|BALANCER|MEMBERS|TOTAL-LAG|ERROR)"
    r"(?:\s+(?P<value>\S.{0,200}?))?\s*\Z"
)
_VALUES = {
    "COORDINATOR": "coordinator",
    "STATE": "state",
    "BALANCER": "strategy",
    "MEMBERS": "members",
}
_NAMED = re.compile(r"\s*Consumer group ID:\s+(?P<group>\S{1,249})\s*\Z")
"""rhoas."""
_RULE = re.compile(r"[\s+|]*-{3,}[-\s+|]*\Z")
"""A line below the head of a table."""
_LOGGED = re.compile(r"\b(?:WARN|WARNING|ERROR|INFO|DEBUG|Warning)\b")
MARKS = ("-OFFSET", "END OFFSET", "logSize", "CONSUMER-ID", "MEMBER-ID", "COORDINATOR (ID)",
         "STATE", "TYPE", "GROUP  ", "GROUP\t", "onsumer group ", "onsumer-groups",
         "ConsumerGroupCommand", "hare-groups", "roup ID: ", "PARTITION", *OF_CHANGES)  # fmt: skip
"""A line that is no row means something only if one of these stands in it."""
NEEDLES = CHANGES + tuple(
    text.encode()
    for text in ("LOG-END-OFFSET", "LOG END OFFSET", "logSize", "CONSUMER-ID", "COORDINATOR (ID)",
                 "has no active members", "onsumer group '", "onsumer group `", "STATE ",
                 "GROUP  ", "START-OFFSET", "OFFSET LAG", '"lag"', '_lag"',
                 'Lag"')
)  # fmt: skip


@frozen
class Output:
    """The output of the command about one group at one time."""

    # Empty if neither the table nor the command names it.
    group: str
    # offsets, members, state, list, reset, deleted offsets; without a table: message, or change.
    kind: str
    # Milliseconds since 1970; None if no line near it tells it.
    time: int | None
    # The line with which it begins, and its text.
    line: int
    text: str
    rows: tuple[TableRow, ...] = ()
    # Empty, Stable, PreparingRebalance, ..., or `rebalancing`, as far as it is told.
    state: str = ""
    # Some of its rows are missing.
    cut: bool = False
    # Where the command looked; empty if no line shows it.
    server: str = ""
    # Why the command failed; empty if it did not.
    error: str = ""
    # The columns of its table.
    layout: tuple[str, ...] = ()
    # It is about a share group, whose members own no partition alone.
    share: bool = False
    # What it says of a change.
    change: Said | None = None
    # A table of new offsets: were they to be set? None if no line tells.
    executed: bool | None = None


_HALF = re.compile(r"\s*\S{1,300}(?:\s+\S{1,300}){4,9}\s*\Z")


@define
class Outputs:
    """Reads outputs from lines, as (number, text)."""

    # Lines that are part of an output.
    understood: int = 0
    clock: Clock = Factory(Clock)
    _head: Head | None = None
    _rows: list[TableRow] = Factory(list)
    _cut: bool = False
    # The first half of a row whose table stands in twice as many lines.
    _half: str = ""
    _begin: tuple[int, str] = (0, "")
    # Time of the table that is being read.
    _time: int | None = None
    # What the command said about groups whose table has not come yet.
    _said: dict[str, Output] = Factory(dict)
    # The group and the server that the last command named.
    _asked: str = ""
    # What the lines of a summary told so far, and where it begins.
    _summary: dict[str, str] | None = None
    _server: str = ""
    _share: bool = False
    _executed: bool | None = None
    _json: JsonTables = Factory(JsonTables)
    _before: deque[str] = Factory(lambda: deque(maxlen=LOOKED_BACK))

    def read(self, lines: Iterable[tuple[int, str]]) -> Iterator[Output]:
        for number, line in lines:
            if self._head is None and (line[:1] in "{[ " or self._json.is_open):
                rows = self._json.takes(number, line)
                if rows is not None:
                    yield from self._of_json(rows)
                    continue
            if self._summary is not None:
                if value := _VALUE.match(line[:300]):
                    self._summary[value["name"]] = value["value"] or ""
                    self.understood += 1
                    continue
                yield from self._summed_up()
            if self._head is not None:
                if self._takes(number, line):
                    continue
                if not (
                    _LOGGED.search(line) or _ASIDE.match(line)
                ):  # a warning may stand among the rows
                    yield from self._table()
            if "  /" in line and (head := headless(line)) is not None:
                yield from self._table()
                self._head, self._begin, self._time = head, (number, line), self._now(line)
                self._before.clear()
                self._takes(number, line)
                continue
            if any(mark in line for mark in MARKS):
                text = line[:MOST_CHARS]
                yield from self._line(number, plain(text) if "\x1b" in text else text)
            self._before.append(line[:300])
        yield from self._table()
        yield from self._summed_up()
        yield from self._alone()

    def _takes(self, number: int, line: str) -> bool:
        """Reads a line as part of the table."""
        assert self._head is not None
        if not line.strip() or _RULE.match(line):
            return True
        if not self._rows and number == self._begin[0] + 1 and (whole := self._head.goes_on(line)):
            self._head, self.understood = whole, self.understood + 1
            return True
        if self._head.broken and not self._half and _HALF.match(line):
            self._half, self.understood = line, self.understood + 1
            return True
        row = self._head.row(number, f"{self._half} {line}" if self._half else line)
        self._half = ""
        if row is None:
            if _ELIDED.match(line):
                self._cut = True
                return True
            return False
        self.understood += 1
        if len(self._rows) < MOST_ROWS:
            self._rows.append(row)
        else:
            self._cut = True
        return True

    def _line(self, number: int, line: str) -> Iterator[Output]:
        if _COMMAND.search(line):
            yield from self._table()
            yield from self._alone()
            asked, server = _ASKED.search(line), _SERVER.search(line)
            self._asked = asked[1] if asked else ""
            self._server = server[1] if server else ""
            self._share = "share-groups" in line
            self._executed = "--execute" in line if "--reset-offsets" in line else None
            return
        head = head_at(line)
        if head is not None:
            yield from self._table()
            self.understood += 1
            self._head, self._begin, self._time = head, (number, line), self._now(line)
            self._before.clear()  # a time belongs to one table
            return
        if named := _NAMED.match(line):
            yield from self._table()
            self._asked = named["group"]
            return
        if summary := _SUMMARY.match(line):
            yield from self._table()
            yield from self._alone()
            self.understood += 1
            self._asked, self._summary, self._begin = summary["group"], {}, (number, line)
            return
        if DRY_RUN.search(line):
            self.understood, self._executed = self.understood + 1, False
            return
        if gone := _GONE.search(line):
            yield from self._table()
            self.understood += 1
            yield self._message(gone["group"] or self._asked, number, line, ABSENT)
            return
        if changes := said_in(line):
            yield from self._table()
            self.understood += 1
            yield from self._of_changes(changes, number, line)
            return
        for found in _MESSAGE.finditer(line):
            yield from self._table()
            self.understood += 1
            state = EMPTY if found["empty"] else REBALANCING if found["rebalancing"] else ABSENT
            if found["group"] in self._said:
                yield self._said.pop(found["group"])
            self._said[found["group"]] = self._message(found["group"], number, line, state)
        if failed := _ERROR.search(line):
            yield from self._table()
            self.understood += 1
            about = self._message(self._asked, number, line, "")
            yield evolve(about, error=failed["reason"].strip())
            in_use = (said for said in refused_in(line) if said.kind == "group_in_use")
            yield from self._of_changes(in_use, number, line)

    def _of_changes(self, changes: Iterable[Said], number: int, line: str) -> Iterator[Output]:
        for change in filter(lambda said: said.kind, changes):
            group = change.group or self._nameless()
            self._asked = self._asked or group
            yield evolve(self._message(group, number, line, ""), kind="change", change=change)

    def _message(self, group: str, number: int, line: str, state: str) -> Output:
        text = line.strip()
        return Output(
            group, "message", self._now(line), number, text, (), state, False, self._server
        )

    def _now(self, line: str) -> int | None:
        """The time that the line tells, or the closest one before it."""
        for text in (line, *reversed(self._before)):
            time = parse_time(text[:300])
            if time is not None:
                late = _AFTERNOON.search(text[:300])
                half_day = 43_200_000 if late and int(late[1]) < 12 and "," not in text else 0
                return self.clock.with_date(time + half_day)
        return None

    def _table(self) -> Iterator[Output]:
        """The outputs of the table that is over: one for each group in it."""
        head, self._head = self._head, None
        rows, self._rows = self._rows, []
        cut, self._cut = self._cut, False
        if head is None:
            return
        by_group: dict[str, list[TableRow]] = {}
        for row in rows:
            by_group.setdefault(row.name("group"), []).append(row)
        for name, some in by_group.items():
            group = name or self._nameless()
            said = self._said.pop(group, None)
            if said is not None and self._is_older(said):
                yield said
                said = None
            state = (some[0].name("state") if head.kind in ("state", "list") else "") or (
                said.state if said else ""
            )
            time = self._time if self._time is not None or said is None else said.time
            number, text = self._begin
            yield Output(
                group, head.kind, time, number, text.strip(), tuple(some), state, cut, self._server,
                layout=head.fields, share=self._share or head.kind == "share",
                executed=self._executed,
            )  # fmt: skip

    def _is_older(self, said: Output) -> bool:
        """Did the command say it at another time, when it was asked before?"""
        timed = said.time is not None and self._time is not None
        return timed and (self._time or 0) - (said.time or 0) >= APART_MS

    def _summed_up(self) -> Iterator[Output]:
        """The summary that is over: an output about the state of its group, which the table behind
        it is about, too.
        """
        told, self._summary = self._summary, None
        if not told:
            return
        number, text = self._begin
        state = told.get("STATE", "")
        values = {field: told[name] for name, field in _VALUES.items() if told.get(name)}
        row = TableRow(number, text.strip(), values, frozenset(_VALUES.values()))
        out = Output(
            self._asked, "state", self._now(text), number, text.strip(), (row,), state,
            layout=tuple(told),
        )  # fmt: skip
        self._said[self._asked] = evolve(out, kind="message", rows=())
        yield out

    def _of_json(self, found: list[tuple[str, TableRow]]) -> Iterator[Output]:
        """The outputs of one object: one for each group in it."""
        by_group: dict[str, list[TableRow]] = {}
        for group, row in found:
            by_group.setdefault(group, []).append(row)
        for group, rows in by_group.items():
            self.understood += 1
            first = rows[0]
            columns = tuple(sorted(first.columns))
            yield Output(
                group or self._asked, "offsets", self._now(first.text), first.line, first.text,
                tuple(rows[:MOST_ROWS]), cut=len(rows) > MOST_ROWS, layout=columns,
            )  # fmt: skip

    def _nameless(self) -> str:
        """The group of a table without a column for it."""
        return next(iter(self._said)) if len(self._said) == 1 else self._asked

    def _alone(self) -> Iterator[Output]:
        """The statements about groups that no table followed."""
        said, self._said = self._said, {}
        yield from said.values()
