"""The coordinator's log as events: one parser for both coordinators, all versions, any wrapping.

`BrokerLog` reads one file and keeps the tallies: lines seen and understood, for each broker the
range of versions that can have printed its lines, timestamps that run backwards, lines that appear
twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import Factory, define, frozen

from groupcheck.traces.broker.grammar import (
    FIRST,
    LAST,
    GrammarRow,
    Version,
    convert,
    event_of,
    reader,
)
from groupcheck.traces.broker.grammar_java import JAVA
from groupcheck.traces.broker.grammar_scala import SCALA
from groupcheck.traces.broker.group_worlds import Printing
from groupcheck.traces.broker.pasted import BEGINNINGS, readings
from groupcheck.traces.broker.wrapped import LineContinuation, masked, tells, without_masks
from groupcheck.traces.formats import BROKER_JAVA, BROKER_SCALA
from groupcheck.traces.lines.duplicates import DuplicateFilter, Line
from groupcheck.traces.lines.envelope import MARKER, CoordinatorSentence, unwrap
from groupcheck.traces.lines.marks import has_mask
from groupcheck.traces.lines.shapes import LONGEST, remember, shape_of, shape_text
from groupcheck.traces.lines.timestamps import parse_time
from groupcheck.traces.reading import JITTER_MS, SAMPLE_CHARS, Log
from groupcheck.traces.story.events import Event, MemberAdded, Noted

MARK = "[GroupCoordinator "
NEEDLES = (
    MARK.encode(),
    b"[GroupMetadataManager ",
    b"[Group Metadata Manager on",
    b"MemberMetadata(",
    b"Group leader [",
    b"given member.id",
    b"Static member ",
    b"Request memberId=",
    b"is now empty",
    b"has failed, removing",
    b"[Group ",
    b"[GroupId",
    *(beginning.encode() for beginning in BEGINNINGS),
)


@define
class Broker:
    """The program that wrote the lines of one broker, as far as they tell."""

    # The range of versions that can have printed the lines.
    since: Version = FIRST
    until: Version = LAST
    # The new coordinator wrote the last line.
    java: bool = False
    # The log shows the second step of a join.
    shows_joins: bool = False
    last_time: int | None = None
    # The names of the events that its log has.
    kinds: set[str] = Factory(set)
    printing: Printing = Factory(Printing)

    def saw(self, row: GrammarRow, event: Event, java: bool) -> None:
        """Narrows the range of versions by the versions that print this line. A line from outside
        the range (an upgrade) begins a new range.
        """
        self.kinds.add(type(event).__name__)
        since, until = max(self.since, row.since), min(self.until, row.until)
        if since > until or java != self.java:
            since, until = row.since, row.until
            self.java, self.shows_joins = java, False
        showed = (
            self.shows_joins
            or (isinstance(event, MemberAdded) and not event.fresh)
            or (java and since >= (4, 0))
        )
        if (since, until, showed) == (
            self.since,
            self.until,
            self.shows_joins,
        ) and self.printing.ids == (java or since >= (3, 0)):
            return
        self.since, self.until, self.shows_joins = since, until, showed
        self.printing = Printing(
            ids=java or since >= (3, 0),
            joins=showed,
            removals=java or since >= (2, 7),
            late_leaves=not java and until >= (3, 0),
            silent_deletion=java,
        )

    @property
    def versions(self) -> str:
        """`3.2 to 3.9`, `4.0 or newer`, `before 2.8`."""

        def name(v: Version) -> str:
            return f"{v[0]}.{v[1]}"

        if self.until == LAST:
            return f"{name(self.since)} or newer"
        return (
            name(self.since)
            if self.since == self.until
            else f"{name(self.since)} to {name(self.until)}"
        )


@frozen
class _Read:
    """A line that was understood."""

    row: GrammarRow
    event: Event
    text: str
    java: bool


_Reading = tuple[CoordinatorSentence | None, GrammarRow | None, dict[str, Any]]
"""A sentence, its row of the grammar, None if no version prints it, and its fields."""


def _reading(line: str) -> _Reading:
    """The first reading of a line that some version prints; else the line as it is."""
    first: CoordinatorSentence | None = None
    for sentence in readings(line):
        found = (JAVA if sentence.java else SCALA).find(sentence.text)
        if found is not None:
            return sentence, found[0], convert(found[0].template.kinds, found[1])
        first = first or sentence
    return first, None, {}


@frozen
class _Form:
    """Where the lines of a shape hold a sentence: the same place in all of them."""

    row: GrammarRow
    java: bool
    # Where the marker begins, and where the sentence begins and ends.
    marker: int
    begin: int
    end: int
    # Where the numbers of the broker and of the partition stand; None if there is none.
    broker: tuple[int, int]
    partition: tuple[int, int] | None
    # How each field of the sentence is read: its name, where it stands in the line, and as what.
    reads: tuple[tuple[str, int, int, Callable[[str], Any]], ...]

    def reading(self, line: str) -> _Reading:
        a, b = self.broker
        sentence = CoordinatorSentence(
            line[self.begin : self.end],
            parse_time(line[max(0, self.marker - 200) : self.marker]),
            int(line[a:b]),
            self.java,
            int(line[self.partition[0] : self.partition[1]]) if self.partition else None,
        )
        return sentence, self.row, {name: read(line[a:b]) for name, a, b, read in self.reads}


def _form(line: str) -> _Form | None:
    """The form of a line that begins with a coordinator's marker, and whose sentence some version
    prints; None for all others.
    """
    sentence, row, _ = _reading(line)
    marker = MARKER.search(line)
    if row is None or sentence is None or marker is None:
        return None
    begin, end = marker.end(), marker.end() + len(sentence.text)
    located = row.template.locate(sentence.text)
    if located is None or line[begin:end] != sentence.text or unwrap(line).line != line:
        return None
    number = next(name for name in ("scala", "java", "manager", "old") if marker[name])
    kinds = row.template.kinds
    return _Form(
        row,
        sentence.java,
        marker.start(),
        begin,
        end,
        marker.span(number),
        marker.span("partition") if marker["partition"] else None,
        tuple(
            (name, begin + a, begin + b, reader(kinds[name]))
            for name, (a, b) in located[2].items()
            if name[0] != "_"
        ),
    )


@define
class _Forms:
    """The forms of the shapes that were met; None where the digits of a line matter."""

    _known: dict[bytes, _Form | None] = Factory(dict)

    def reading(self, line: str) -> _Reading:
        """What `_reading` gives."""
        shape = shape_of(line)
        if shape not in self._known and len(shape) <= LONGEST:
            form = _form(line)
            same = form is not None and form == _form(shape_text(shape))
            remember(self._known, shape, form if same else None)
        form = self._known.get(shape)
        return _reading(line) if form is None else form.reading(line)


@define
class BrokerLog(Log):
    """A coordinator's log as a stream of events."""

    # Lines of the old and of the new coordinator.
    scala_lines: int = 0
    java_lines: int = 0
    # Lines in which masks stand for names, which are not replayed.
    masked: int = 0
    brokers: dict[int | None, Broker] = Factory(dict)
    once: DuplicateFilter[_Read] = Factory(DuplicateFilter)
    _forms: _Forms = Factory(_Forms)

    def events(self) -> Iterator[tuple[Event, str]]:
        """Every event with the sentence that it was read from. Raises `TraceError` if a file
        cannot be read.
        """
        for read in self.once.of(self._understood()):
            self._tally(read.row, read.event, read.java)
            yield read.event, read.text

    def _understood(self) -> Iterator[Line[_Read]]:
        broker: int | None = None
        wrapped = LineContinuation(self.source)
        for number, line in self.lines(NEEDLES):
            sentence, row, fields = self._forms.reading(line)
            if row is None and MARK in line:
                some = [_reading(whole) for whole in wrapped.wholes(number, line)]
                whole = [found for found in some if found[1] is not None]
                told = [found for found in whole if tells(found[2])]
                sentence, row, fields = next(iter(told or whole), (sentence, row, fields))
            if masked(fields) if row is not None else MARK in line and has_mask(line):
                self.masked += 1
                continue
            if row is None:
                if sentence is not None and sentence.broker is not None:
                    self.note_strange(number, sentence.text[:SAMPLE_CHARS])
                elif MARK in line:
                    self.note_strange(number, line[line.index(MARK) :][:SAMPLE_CHARS])
                continue
            assert sentence is not None
            broker = sentence.broker if sentence.broker is not None else broker
            time = self.clock.with_date(sentence.time)
            event = event_of(
                row, without_masks(fields), {"line": number, "time": time, "broker": broker}
            )
            self.understood += 1
            said = (sentence.text, time, sentence.broker, sentence.partition)
            yield Line(
                _Read(row, event, sentence.text, sentence.java),
                said,
                row.event.__name__,
                len(sentence.text),
            )

    def _tally(self, row: GrammarRow, event: Event, java: bool) -> None:
        if java:
            self.java_lines += 1
        else:
            self.scala_lines += 1
        broker = self.brokers.get(event.broker)
        if broker is None:
            broker = self.brokers[event.broker] = Broker(java=java)
        if not isinstance(event, Noted):
            broker.saw(row, event, java)
        if event.time is not None:
            if broker.last_time is not None and event.time < broker.last_time - JITTER_MS:
                self.note_backwards(event.line)
            broker.last_time = event.time

    @property
    def format(self) -> str | None:
        """The coordinator that wrote most of it, None if none did."""
        if not self.scala_lines and not self.java_lines:
            return None
        return BROKER_JAVA if self.java_lines > self.scala_lines else BROKER_SCALA
