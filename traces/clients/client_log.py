"""A client's log as a stream of statements, in the order of its lines."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain
from typing import Any

from attrs import Factory, define, evolve, field, frozen

from groupcheck.traces.clients.durations import may_tell_duration, told_duration
from groupcheck.traces.clients.frames import (
    PrettyRecord,
    begins_record,
    continues,
    group_named,
    is_grave,
    message_end,
    plain,
    process_of,
    says_nothing,
)
from groupcheck.traces.clients.partitions import partitions_of
from groupcheck.traces.clients.sentences import WORD, Hit, Sentences, all_sentences
from groupcheck.traces.clients.settings import Dump, dump_at, settings_told, tells_settings
from groupcheck.traces.clients.statement import TEXT_CHARS, Statement
from groupcheck.traces.clients.tool_lines import is_refusal
from groupcheck.traces.clients.who import (
    BROKER,
    NAMES,
    NOBODY,
    Names,
    is_of_broker,
    names,
    task_of,
    with_names,
)
from groupcheck.traces.clients.wrapped_lines import joined
from groupcheck.traces.lines.shapes import LONGEST, by_shape, remember, shape_of
from groupcheck.traces.lines.timestamps import Clock, parse_time, time_in_json
from groupcheck.traces.reading import SAMPLE_CHARS, SAMPLES

MOST_CHARS = 20_000
"""Of a line: what stands behind is not looked at."""
TIME_CHARS, SHAPE_CHARS = 300, 160

_ABOUT_GROUPS = {
    "group", "Group", "groupId", "rebalance", "rebalancing", "Rebalance", "coordinator",
    "Coordinator", "heartbeat", "Heartbeat", "partitions", "assignment", "offsets", "commit",
    "member", "Member", "generation",
}  # fmt: skip
"""Words of lines that a client may have written about its group."""
_SHAPED = re.compile(r"[0-9a-f]{8,}|\d+")
MOST_SHAPES, MOST_NAMED, LOOKED_BACK = 1_000, 1_000, 8

UNREAD_ERROR = "unread_error"


@frozen
class _Look:
    """Properties that all lines of a shape have in common."""

    # Nothing has to be known of them: they are steps that change nothing.
    idle: bool
    # The settings of a client follow, or stand in them.
    settings: bool
    # They go on with the record of the line before.
    goes_on: bool
    # An object of JSON begins in them that is laid out over several lines.
    opens: bool
    # They have words of sentences, or of lines about groups.
    speaks: bool
    # They are read as they stand.
    is_plain: bool
    # They may tell a setting as name=value.
    tells: bool
    # They may be a program's own, and tell how long something took.
    took: bool


@define
class ClientLog:
    """The statements of one log, and how its lines were understood."""

    sentences: Sentences = Factory(all_sentences)
    # The name of the log, for its statements.
    name: str = ""
    # Lines that hold a statement, and lines of a known library about groups that hold none.
    understood: int = 0
    strange: int = 0
    # The number of the last of these.
    strange_last: int = 0
    # Lines of loggers that only brokers have; does any other line name a client or a group?
    brokers_own: int = 0
    named: bool = False
    # The shape of strange lines -> how many there are, and the first one as (number, text).
    shapes: Counter[str] = Factory(Counter)
    _first: dict[str, tuple[int, str]] = Factory(dict)
    # Library -> how many lines show that it wrote them.
    libraries: Counter[str] = Factory(Counter)
    _looks: dict[bytes, _Look] = Factory(dict)
    _dump: Dump | None = None
    _clock: Clock = Factory(Clock)
    # A sink's task -> the names of its consumer.
    _tasks: dict[str, Names] = Factory(dict)
    # The (client, group) of lines that say nothing else.
    _idle_named: set[tuple[str, str]] = Factory(set)
    # Who wrote the record to which the next lines may belong, and in which process.
    _head: Names = NOBODY
    _head_process: str = ""
    # Group -> the first line of a client that names it and says nothing known.
    unsaid: dict[str, int] = Factory(dict)
    # The last lines, for the time of one that has none of its own.
    _before: deque[str] = Factory(lambda: deque(maxlen=LOOKED_BACK))
    # The line before, if it is of a library and says nothing known: number, line, words, library.
    _cut: tuple[int, str, str, str] | None = None
    # What the line before says, if its list of partitions may stand in this one.
    _open: tuple[Statement, ...] = ()
    # A line that has none of these says nothing.
    _words: Set[str] = field(init=False)

    @_words.default
    def _all_words(self) -> Set[str]:
        return self.sentences.by_word.keys() | _ABOUT_GROUPS

    @property
    def samples(self) -> list[tuple[int, str]]:
        """The first line of each of the most frequent shapes of strange lines."""
        return [self._first[shape] for shape, _ in self.shapes.most_common(SAMPLES)]

    def statements(self, lines: Iterable[tuple[int, str]]) -> Iterator[Statement]:
        """The statements of lines, as (number, text)."""
        record: PrettyRecord | None = None
        for number, line in joined(lines, self._words):
            if self._open:
                yield from self._completed(number, line)
            if self._dump is not None:
                if self._dump.takes(plain(line[:MOST_CHARS])):
                    continue
                yield from self._settings()
            look = self._look(line)
            if look.idle and not self._is_first_to_name(line):
                self.understood += 1
                continue
            if look.settings:
                self._dump = dump_at(number, plain(line[:MOST_CHARS]))
                self._before.append(line)
                continue
            if look.tells and (fields := settings_told(plain(line[:MOST_CHARS]))):
                yield self._told(number, line, "setting_told", fields)
            if look.took and (ms := self._took(line)) is not None:
                yield self._told(number, line, "took", {"duration": ms})
            if record is None and look.opens:
                record = PrettyRecord()
            if not look.goes_on:
                self._head, self._head_process = NOBODY, ""
            said: tuple[Statement, ...] = tuple(self._whole(number, line)) if self._cut else ()
            if look.speaks and (not said or all(s.kind == UNREAD_ERROR for s in said)):
                text = line if len(line) <= MOST_CHARS else f"{line[:MOST_CHARS]}..."
                said += tuple(self._line(number, line, text if look.is_plain else plain(text)))
            if record is None:
                for one in said:
                    if _is_open(one):
                        self._open += (one,)
                    else:
                        yield one
            elif not record.takes(line, said):
                yield from record.statements()
                record = None
            self._before.append(line)
        yield from self._completed(0, "")
        yield from self._whole(0, "")
        yield from self._settings()
        if record is not None:
            yield from record.statements()

    def _is_first_to_name(self, line: str) -> bool:
        """Does a line that says nothing else name the group of a client for the first time?"""
        named = group_named(line)
        if named is None or named in self._idle_named or len(self._idle_named) >= MOST_NAMED:
            return False
        self._idle_named.add(named)
        return True

    def _look(self, line: str) -> _Look:
        shape = shape_of(line)
        look = self._looks.get(shape)
        if look is None:
            text = line[:MOST_CHARS]
            speaks = not self._words.isdisjoint(WORD.findall(text)) and not _ASKS.search(text)
            speaks = speaks and not is_refusal(text)
            look = _Look(
                says_nothing(line),
                "Config values" in line,
                continues(line),
                begins_record(line),
                speaks,
                speaks and plain(text) == text and "&#" not in text,
                tells_settings(text),
                may_tell_duration(text) and not names(plain(text)).library,
            )
            if len(shape) <= LONGEST:
                remember(self._looks, shape, look)
        return look

    def _line(self, number: int, line: str, text: str) -> Iterator[Statement]:
        """The statements of a line; `text`: its words, with single blanks between them."""
        about = self._of_task(text, names(text))
        if about.client or about.group:
            self._head = about
        found = self.sentences.in_line(text, about.library or self._head.library)
        if any(hit.sentence.named for hit in found) and not about.group:
            found = [hit for hit in found if not hit.sentence.named]
        if any(hit.sentence.partitions for hit in found):
            found = [_whole_list(hit, text) for hit in found]
        hits = merge_hits(found)
        if is_of_broker(shape_of(text)):
            self.brokers_own += 1
        elif about.library:
            self.libraries[about.library] += 1
            self.named |= about.library != BROKER and bool(about.client or about.group)
        if not hits:
            if about.group and about.library not in ("", BROKER) and len(self.unsaid) < MOST_NAMED:
                self.unsaid.setdefault(about.group, number)
            if (
                about.library not in ("", BROKER)
                and message_end(text)
                and not text.startswith("at ")
                and not is_of_broker(shape_of(text))
            ):
                self._cut = number, line, text, about.library
            return
        self.understood += 1
        time, process = time_in_json(line), process_of(line) or self._head_process
        self._head_process = process
        if time is None:
            time = self._time_of(text[: hits[0].begin], text)
        if len(hits) > 1 or not about.library:
            about = _by_all(hits, about)
        known = _broker_fields(text) if about.library == BROKER else {}
        for hit in hits:
            mine = with_names(hit.fields, about)
            if not mine.client and not mine.group:
                mine = with_names(hit.fields, self._head)
            yield Statement(
                kind=hit.sentence.kind,
                line=number,
                text=line.strip()[:TEXT_CHARS],
                **self._timed(time),
                library=mine.library or self._library(hit.sentence.libraries),
                log=self.name,
                process=process,
                group=mine.group,
                client=mine.client,
                member=mine.member,
                instance=mine.instance,
                fields={**_without_names(fields_of_hit(hit)), **known},
            )

    def _whole(self, number: int, rest: str) -> Iterator[Statement]:
        """The statements of the line before this one together with it, if it was broken in two when
        it was pasted: then a sentence reaches from one into the other.
        """
        if self._cut is None:
            return
        before, line, text, library = self._cut
        self._cut = None
        tail = plain(rest[:MOST_CHARS]) if number == before + 1 and not continues(rest) else ""
        if tail and parse_time(rest[:TIME_CHARS]) is None:
            for joint in ("", " "):
                hits = self.sentences.in_line(text + joint + tail, library)
                if any(hit.begin < len(text) < hit.end for hit in hits) and not names(tail).library:
                    yield from self._line(before, line + joint + rest, text + joint + tail)
                    return
        self._note_strange(before, text)
        if is_grave(text):
            about = self._of_task(text, names(text))
            yield Statement(
                kind=UNREAD_ERROR,
                line=before,
                text=line.strip()[:TEXT_CHARS],
                **self._timed(self._time_of(text)),
                library=about.library,
                log=self.name,
                process=process_of(line),
                group=about.group,
                client=about.client,
            )

    def _completed(self, number: int, rest: str) -> Iterator[Statement]:
        """The statements that ended where a list should stand; `rest` is the line behind them. If
        that goes on with a list or a table, they do not tell their partitions.
        """
        some, self._open = self._open, ()
        for said in some:
            goes_on = number == said.line + 1 and parse_time(rest[:TIME_CHARS]) is None
            if goes_on and (_TABLE.match(rest) or partitions_of(rest[:MOST_CHARS])):
                said = evolve(said, fields={**said.fields, "partitions": "..."})
            yield said

    def _of_task(self, text: str, about: Names) -> Names:
        """The names of a sink's task, which other lines of the same task tell whole."""
        task = task_of(text)
        if not task:
            return about
        if about.group:
            self._tasks[task] = about
        return self._tasks.get(task, about)

    def _settings(self) -> Iterator[Statement]:
        """The settings of the dump that is over."""
        dump, self._dump = self._dump, None
        if dump is not None and dump.values:
            self.understood += 1
            yield Statement(
                kind="setting",
                line=dump.line,
                text=dump.head.strip()[:TEXT_CHARS],
                **self._timed(self._time_of(dump.head)),
                library="java",
                log=self.name,
                process=process_of(dump.head),
                group=dump.values.get("group.id", ""),
                client=dump.values.get("client.id", ""),
                instance=dump.values.get("group.instance.id", ""),
                fields=dump.fields(),
            )

    def _took(self, line: str) -> int | None:
        """How long something took, in ms, as a line tells that holds no sentence."""
        text = plain(line[:MOST_CHARS])
        return None if self.sentences.in_line(text) else told_duration(text)

    def _told(
        self, number: int, line: str, kind: str, fields: Mapping[str, str | int]
    ) -> Statement:
        """What a line tells, whoever wrote it: settings, or how long something took."""
        about = names(plain(line[:MOST_CHARS]))
        return Statement(
            kind=kind,
            line=number,
            text=line.strip()[:TEXT_CHARS],
            **self._timed(self._time_of(line)),
            log=self.name,
            process=process_of(line),
            group=about.group,
            client=about.client,
            fields=fields,
        )

    def _time_of(self, *texts: str) -> int | None:
        """The time of a line, or of the closest one before it: one record may have several."""
        for some in chain(texts, reversed(self._before)):
            time = parse_time(some[:TIME_CHARS])
            if time is not None:
                return time
        return None

    def _note_strange(self, number: int, text: str) -> None:
        self.strange += 1
        self.strange_last = number
        shape = _shape_shown(shape_of(text))
        if shape in self.shapes or len(self.shapes) < MOST_SHAPES:
            self.shapes[shape] += 1
            self._first.setdefault(shape, (number, text[:SAMPLE_CHARS]))

    def _timed(self, time: int | None) -> dict[str, Any]:
        """The times of a statement, from the time that its line prints."""
        placed = self._clock.beside(time)
        return {"time": placed, "printed": None if self._clock.agrees else time}

    def _library(self, some: tuple[str, ...]) -> str:
        """Which of the libraries that print a sentence wrote it, judged by the lines before."""
        if len(some) == 1:
            return some[0]
        for name, _ in self.libraries.most_common():
            if not some or name in some:
                return name
        return ""


_TABLE = re.compile(r"\s{0,200}[+|│┃║┌├└╔╠╚┏┣┗]")
"""A line of a table that is drawn with boxes."""


def _is_open(said: Statement) -> bool:
    """Does its line end where a list of partitions should stand?"""
    return said.fields.get("partitions") == ""


@by_shape
def _shape_shown(text: str) -> str:
    return _SHAPED.sub("#", text)[:SHAPE_CHARS]


def _by_all(hits: list[Hit], about: Names) -> Names:
    """`about`, with the names and the library that any sentence of the line tells."""
    wrote = {library for hit in hits for library in hit.sentence.libraries}
    if not about.library and len(wrote) == 1:
        about = evolve(about, library=wrote.pop())
    missing = [key for key in NAMES if not getattr(about, key)]
    return with_names({k: hit.fields[k] for hit in hits for k in missing if k in hit.fields}, about)


# -- The values in a statement: what a layout prints behind the message is cut off, the
# coordinator's broker is told, and what a line says twice is said once.

_NODE = re.compile(r"\(id: (\d{1,10})\b|\bnodeId=(\d{1,10})\b")
_LAST_NODE = 2**31 - 1
"""The connection to a coordinator has this number, less the broker's."""
_COORDINATOR = re.compile(r"\[GroupCoordinator (?:id=)?(\d{1,9})\b|\bbrokerId=(\d{1,9})\b")
_BROKERS = 1_000_000
"""So many numbers of brokers, at most."""


def _broker_fields(text: str) -> Mapping[str, Any]:
    """The number of the coordinator that wrote a line."""
    begin, end = _coordinator_at(shape_of(text))
    return {"coordinator_id": int(text[begin:end])} if end else {}


@by_shape
def _coordinator_at(line: str) -> tuple[int, int]:
    """Where the number of the coordinator begins and ends; (0, 0) if there is none."""
    found = _COORDINATOR.search(line)
    return (0, 0) if found is None else found.span(found.lastindex or 0)


def _without_names(fields: dict[str, Any]) -> dict[str, Any]:
    for name in NAMES:
        fields.pop(name, None)
    return fields


_GOES_ON = re.compile(r"\s?(?:,|\.\.|…)")


_ASKS = re.compile(
    r"^\W{0,3}(?:\w{1,20}@[^\n]{1,60}[#$%] ?)?(?:[ze]?grep|rg|ack|awk|sed|journalctl)\b.{0,80}['\"]"
    r"|\.(?:contains|matches|find|indexOf|startsWith|test)\(['\"]"
)
"""A command or a piece of code that looks for a text does not say it."""


def _whole_list(hit: Hit, text: str) -> Hit:
    """The hit; a list of partitions with which it ends, and behind which the line goes on with
    something else than its layout prints there, is marked as cut.
    """
    last = next(iter(hit.sentence.partitions[-1:]), None)
    if last is None or not _GOES_ON.match(text, hit.end):
        return hit
    return evolve(hit, fields={**hit.fields, last: f"{hit.fields[last]}, ..."})


_NOTHING = re.compile(r"\[\s*\]")


def fields_of_hit(hit: Hit) -> dict[str, Any]:
    """The fields of a hit, ready for a statement."""
    fields = dict(hit.fields)
    last = hit.sentence.template.last
    if last is not None:
        fields[last] = message_end(str(fields[last]))
    for name in hit.sentence.partitions:
        listed = fields[name].strip(" []")
        blank = "..." if "[" in fields[name] else ""  # something stands in it
        fields[name] = listed or ("[]" if _NOTHING.search(fields[name]) else blank)
    if "coordinator" in fields and (node := _NODE.search(str(fields["coordinator"]))):
        number = int(node[1] or node[2])
        fields["broker"] = _LAST_NODE - number if number > _LAST_NODE - _BROKERS else number
    return fields


def merge_hits(hits: list[Hit]) -> list[Hit]:
    """The hits of one line, in order; of those that say the same kind of thing and do not
    contradict each other only the first, with the fields of all.
    """
    if len(hits) < 2:
        return hits
    out: list[Hit] = []
    for hit in hits:
        for i, other in enumerate(out):
            same = hit.sentence.kind == other.sentence.kind
            if same and all(other.fields.get(k, v) == v for k, v in hit.fields.items()):
                out[i] = evolve(other, fields={**hit.fields, **other.fields})
                break
        else:
            out.append(hit)
    # The keys of a record in JSON stand in any order; a member has joined before it has a share.
    return sorted(out, key=lambda hit: hit.sentence.kind != "joined")
