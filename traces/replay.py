"""The door for logs of every format that is replayed: each group's lines are followed through the
model, its timeline is filled, and its verdict is given. The wings do it (`broker`, `requests`,
`dumps`).

Each log is replayed by itself, as it is: it may begin in the middle, and the report says what that
leaves open. Every parser reads the lines of its kind, so that a log may mix those of brokers and
clients. A group is followed once for each coordinator that names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from attrs import frozen

from groupcheck.model.engine.verdict import UNKNOWN
from groupcheck.traces import formats
from groupcheck.traces.broker import broker_log
from groupcheck.traces.broker.broker_log import BrokerLog
from groupcheck.traces.broker.replay import replay_broker
from groupcheck.traces.dumps import dump_log
from groupcheck.traces.dumps.dump_log import DumpLog
from groupcheck.traces.dumps.replay import replay_dump
from groupcheck.traces.exchanges.exchange import Exchange
from groupcheck.traces.findings.report import FileReport
from groupcheck.traces.reading import Notes, Source, TraceError, source_of
from groupcheck.traces.requests import request_log
from groupcheck.traces.requests.replay import replay_requests
from groupcheck.traces.requests.request_log import RequestLog
from groupcheck.traces.story.events import Event

COLLECT_AFTER = 500_000
"""New objects until Python looks for cycles. A replay makes hardly any cycles, and looking for
them took a fifth of its time.
"""
_NAME = re.compile(r"[\w.-]{0,249}\s*")
_LIST = re.compile(r"consumer-groups.{0,400}--list\b|ConsumerGroupCommand.{0,400}--list\b")
# Is told every event of a file with its sentence, or every exchange (without one), in the order of
# the replay.
Seen = Callable[[Event | Exchange, str], None]


@frozen
class ReplayOptions:
    """The request for a replay."""

    # Only this group.
    group: str | None = None
    # The format of the log, if it is not to be detected.
    format: str | None = None
    # Is told everything that is read, whatever group it concerns.
    seen: Seen | None = None
    # Is told what happened to each group of a request log, in every world that fits, in the words
    # of the coordinator's own log.
    told: Callable[[Event], None] | None = None


@frozen
class Parser:
    """The reader of the lines of one kind of program."""

    # Values of `--format` that choose it.
    formats: tuple[str, ...]
    # It is options if one of these stands anywhere in a log.
    needles: tuple[bytes, ...]
    # Reads a log from its beginning to its end; None if no line was of its kind after all.
    replay: Callable[[Source, ReplayOptions], FileReport | None]


def known_format(name: str | None) -> None:
    """Raises `TraceError` if there is no format of this name."""
    known = (*formats.REPLAYED, *formats.CLIENTS)
    if name is not None and name not in known:
        do = "choose one of " + ", ".join(known)
        raise TraceError(f"no format {name!r}", where="--format", do=do)


def replay_log(source: Source, options: ReplayOptions = ReplayOptions()) -> tuple[FileReport, ...]:
    """Replays one log: a report for each kind of lines that it has, or a single one that says that
    it has none.

    Raises `TraceError` if a file cannot be read as text, or the format is unknown.
    """
    known_format(options.format)
    chosen = [p for p in PARSERS if options.format is None or options.format in p.formats]
    reports = (p.replay(source, options) for p in chosen if source.holds(p.needles))
    found = tuple(r for r in reports if r is not None)
    return found or (_not_replayed(source, options.format),)


def replay_file(
    path: str, *, format: str | None = None, group: str | None = None, seen: Seen | None = None
) -> FileReport:
    """Replays one file. If it has lines of several kinds, the report is about the kind that most
    lines are of. For the arguments and errors see `replay_log`.
    """
    reports = replay_log(source_of(path), ReplayOptions(group, format, seen))
    return max(reports, key=lambda r: r.understood)


def _replay_broker(source: Source, options: ReplayOptions) -> FileReport | None:
    forced = options.format in (formats.BROKER_JAVA, formats.BROKER_SCALA)
    return replay_broker(
        BrokerLog(source), options.group, options.seen, format=options.format if forced else None
    )


def _replay_requests(source: Source, options: ReplayOptions) -> FileReport | None:
    return replay_requests(RequestLog(source), options.group, options.seen, options.told)


def _replay_dump(source: Source, options: ReplayOptions) -> FileReport | None:
    return replay_dump(DumpLog(source), options.group)


PARSERS = (
    Parser(
        ("broker", formats.BROKER_SCALA, formats.BROKER_JAVA), broker_log.NEEDLES, _replay_broker
    ),
    Parser((formats.REQUEST_LOG, formats.PACKET_CAPTURE), request_log.NEEDLES, _replay_requests),
    Parser((formats.OFFSETS_DUMP,), dump_log.NEEDLES, _replay_dump),
)
"""Each makes its own pass over a log and leaves the lines of the others alone."""


def _not_replayed(source: Source, format: str | None) -> FileReport:
    notes = Notes()
    names = True
    for _, text in source.lines(notes):  # all of them are counted
        names = names and bool(_NAME.fullmatch(text) or _LIST.search(text))
    reason = (
        "no line is one that groupcheck knows of a group coordinator, of a client's library or of"
        " Kafka's tools; give the client's log with its library's loggers, or the broker's"
        " server.log (loggers kafka.coordinator.group or org.apache.kafka.coordinator)"
    )
    if format is not None:
        reason = f"no line is of the format {format}, which --format names"
    elif names and notes.lines:
        reason = (
            "only names, as kafka-consumer-groups.sh --list prints those of groups: they do not"
            " tell how the groups are; run it with --describe --group NAME, twice some minutes"
            " apart, or with --describe --all-groups"
        )
    return FileReport(
        source.name,
        formats.UNKNOWN_FORMAT,
        UNKNOWN,
        reason,
        notes.lines,
        0,
        notes.lines,
        0,
        notes=(*source.notes, *filter(None, (notes.torn, notes.beyond))),
        files=tuple(notes.parts),
    )
