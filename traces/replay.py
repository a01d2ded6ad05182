"""Replays logs: each group's lines are followed through the model, its timeline is filled, and its
verdict is given.

Each log is replayed by itself, as it is: it may begin in the middle, and the report says what that
leaves open. Every parser reads the lines of its kind, so that a log may mix those of brokers and
clients. A group is followed once for each coordinator that names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from attrs import Factory, define, frozen

from groupcheck.model.engine.verdict import UNKNOWN
from groupcheck.traces import formats
from groupcheck.traces.broker import log as broker_log
from groupcheck.traces.broker.log import Broker, BrokerLog
from groupcheck.traces.broker.trail import Room, Trail
from groupcheck.traces.dumps import log as dump_log
from groupcheck.traces.dumps.log import DumpLog
from groupcheck.traces.dumps.replay import replay_dump
from groupcheck.traces.events import (
    CoordinatorStarted,
    CoordinatorStopped,
    Event,
    Fenced,
    GroupsDeleted,
    LeaderReplaced,
    LoadFailed,
    Noted,
    StaticReplaced,
)
from groupcheck.traces.exchanges import Exchange
from groupcheck.traces.reading import ALTERED, Notes, Source, TraceError, source_of
from groupcheck.traces.report import Anomaly, FileReport, file_report
from groupcheck.traces.requests import log as request_log
from groupcheck.traces.requests.log import RequestLog
from groupcheck.traces.requests.replay import replay_requests
from groupcheck.traces.sequences import TAIL

GROUPS_KEPT = 10_000
NOTES_KEPT = 200
SWEEP_LINES = 200_000
# How many rounds and members all groups together keep after a sweep.
NAMES_KEPT = 100_000
TEXT_CHARS = 500
_NAME = re.compile(r"[\w.-]{0,249}\s*")
_LIST = re.compile(r"consumer-groups.{0,400}--list\b|ConsumerGroupCommand.{0,400}--list\b")
# Is told every event of a file with its sentence, or every exchange (without one), in the order of
# the replay.
Seen = Callable[[Event | Exchange, str], None]


@define
class Replay:
    """One file under replay."""

    log: BrokerLog
    only: str | None = None
    seen: Seen | None = None
    trails: dict[tuple[int | None, str], Trail] = Factory(dict)
    too_many: int = 0
    anomalies: list[Anomaly] = Factory(list)
    room: Room = Factory(Room)

    def run(self) -> None:
        for count, (event, text) in enumerate(self.log.events(), 1):
            if count % SWEEP_LINES == 0:
                self._sweep()
            if self.seen is not None:
                self.seen(event, text)
            broker = self.log.brokers[event.broker]
            if event.group is not None:
                trail = self._trail(event.broker, event.group)
                if trail is not None and not isinstance(event, Noted):
                    trail.observe(event, text, broker)
            elif isinstance(event, StaticReplaced | LeaderReplaced | Fenced):
                self._nameless(event, text, broker)
            else:
                self._life(event)

    def _sweep(self) -> None:
        """Keeps memory bounded: forgets the oldest rounds and members of the timelines, and the
        names of members if there are too many.
        """
        each = max(50, NAMES_KEPT // max(len(self.trails), 1))
        for trail in self.trails.values():
            trail.timeline.shrink(each)
            trail.certain.generations.settle(TAIL)
            belief = trail.follower.group.belief
            if len(belief.inside) + len(belief.handed) > each:
                trail.follower.group.forget_members()

    def _trail(self, broker: int | None, group: str) -> Trail | None:
        if self.only is not None and group != self.only:
            return None
        trail = self.trails.get((broker, group))
        if trail is None:
            if len(self.trails) >= GROUPS_KEPT:
                self.too_many += 1
                return None
            trail = self.trails[broker, group] = Trail(group, broker, room=self.room)
        return trail

    def _nameless(
        self, event: StaticReplaced | LeaderReplaced | Fenced, text: str, broker: Broker
    ) -> None:
        """A line without a group: it belongs to the group that knows the member."""
        id = event.member if isinstance(event, Fenced) else event.old
        for trail in self.trails.values():
            if trail.broker == event.broker and id in trail.timeline.members:
                if isinstance(event, StaticReplaced):
                    trail.observe(event, text, broker)
                elif isinstance(event, LeaderReplaced):
                    trail.follower.group.belief.leader = event.new
                else:
                    trail.note(
                        "fenced",
                        event.line,
                        f"a request of {id} was fenced: a newer process has its instance id",
                        text[:TEXT_CHARS],
                    )
                return

    def _life(self, event: Event) -> None:
        if isinstance(event, CoordinatorStarted | CoordinatorStopped):
            started = isinstance(event, CoordinatorStarted)
            kind = "coordinator_started" if started else "coordinator_stopped"
            if len(self.anomalies) < NOTES_KEPT:
                text = (
                    f"the coordinator of broker {event.broker} {kind.removeprefix('coordinator_')}"
                )
                self.anomalies.append(Anomaly(kind, event.line, text))
            for trail in self._of(event.broker):
                trail.coordinator_gone(event, "the broker was restarted")
        elif isinstance(event, LoadFailed) and len(self.anomalies) < NOTES_KEPT:
            why = f": {event.error.rstrip('.')[:TEXT_CHARS]}" if event.error else ""
            self.anomalies.append(
                Anomaly(
                    "load_failed",
                    event.line,
                    f"__consumer_offsets-{event.partition} could not be loaded{why}; its groups"
                    " have no coordinator",
                )
            )
        elif isinstance(event, GroupsDeleted):
            names = set(event.groups)
            for trail in self._of(event.broker):
                if trail.group in names:
                    trail.note("group_deleted", event.line, "the group was deleted")
                    trail.coordinator_gone(event, "the group was deleted")

    def _of(self, broker: int | None) -> Iterator[Trail]:
        return (t for t in self.trails.values() if t.broker == broker)


@frozen
class Asked:
    """What a replay is asked for."""

    # Only this group.
    group: str | None = None
    # The format of the log, if it is not to be detected.
    format: str | None = None
    # Is told everything that is read, whatever group it concerns.
    seen: Seen | None = None


@frozen
class Parser:
    """What reads the lines of one kind of program."""

    # Values of `--format` that choose it.
    formats: tuple[str, ...]
    # It is asked if one of these stands anywhere in a log.
    needles: tuple[bytes, ...]
    # Reads a log from its beginning to its end; None if no line was of its kind after all.
    replay: Callable[[Source, Asked], FileReport | None]


def known_format(name: str | None) -> None:
    """Raises `TraceError` if there is no format of this name."""
    known = (*formats.REPLAYED, *formats.CLIENTS)
    if name is not None and name not in known:
        do = "choose one of " + ", ".join(known)
        raise TraceError(f"no format {name!r}", where="--format", do=do)


def replay_log(source: Source, asked: Asked = Asked()) -> tuple[FileReport, ...]:
    """Replays one log: a report for each kind of lines that it has, or a single one that says that
    it has none.

    Raises `TraceError` if a file cannot be read as text, or the format is unknown.
    """
    known_format(asked.format)
    chosen = [p for p in PARSERS if asked.format is None or asked.format in p.formats]
    reports = (p.replay(source, asked) for p in chosen if source.holds(p.needles))
    found = tuple(r for r in reports if r is not None)
    return found or (_not_replayed(source),)


def replay_file(
    path: str, *, format: str | None = None, group: str | None = None, seen: Seen | None = None
) -> FileReport:
    """Replays one file. If it has lines of several kinds, the report is about the kind that most
    lines are of. For the arguments and errors see `replay_log`.
    """
    reports = replay_log(source_of(path), Asked(group, format, seen))
    return max(reports, key=lambda r: r.understood)


def _replay_broker(source: Source, asked: Asked) -> FileReport | None:
    log = BrokerLog(source)
    replay = Replay(log, asked.group, asked.seen)
    replay.run()
    if log.format is None and not log.strange:
        return None
    forced = asked.format in (formats.BROKER_JAVA, formats.BROKER_SCALA)
    return _report(replay, asked.format if forced else None)


def _replay_requests(source: Source, asked: Asked) -> FileReport | None:
    return replay_requests(RequestLog(source), asked.group, asked.seen)


def _replay_dump(source: Source, asked: Asked) -> FileReport | None:
    return replay_dump(DumpLog(source), asked.group)


PARSERS = (
    Parser(
        ("broker", formats.BROKER_SCALA, formats.BROKER_JAVA), broker_log.NEEDLES, _replay_broker
    ),
    Parser((formats.REQUEST_LOG, formats.PACKET_CAPTURE), request_log.NEEDLES, _replay_requests),
    Parser((formats.OFFSETS_DUMP,), dump_log.NEEDLES, _replay_dump),
)
"""Each makes its own pass over a log and leaves the lines of the others alone."""


def _not_replayed(source: Source) -> FileReport:
    notes = Notes()
    names = True
    for _, text in source.lines(notes):  # all of them are counted
        names = names and bool(_NAME.fullmatch(text) or _LIST.search(text))
    reason = (
        "the log has no line of a group coordinator; give the client's log, or the broker's"
        " server.log (loggers kafka.coordinator.group or org.apache.kafka.coordinator)"
    )
    if names and notes.lines:
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


def _report(replay: Replay, forced: str | None) -> FileReport:
    log = replay.log
    doubts = _doubts(log)
    groups = tuple(
        trail.report(doubts, log.brokers[trail.broker].kinds)
        for trail in sorted(
            replay.trails.values(), key=lambda t: (t.group, -1 if t.broker is None else t.broker)
        )
    )
    nothing = (
        f"no line about the group {replay.only!r}"
        if replay.only is not None
        else "the coordinator's lines name no group"
    )
    versions = tuple(
        f"broker {number if number is not None else '?'}: {b.versions}"
        for number, b in log.brokers.items()
    )
    return file_report(
        log,
        forced or log.format or formats.UNKNOWN_FORMAT,
        groups,
        nothing=nothing,
        too_many=replay.too_many,
        repeated=log.once.left_out,
        versions=versions,
        anomalies=replay.anomalies,
    )


def _doubts(log: BrokerLog) -> str:
    """What makes the file as a whole doubtful; empty if nothing does."""
    doubts = {
        ALTERED: log.notes.altered,
        "some lines appear twice, and it is not clear whether two appenders wrote them": (
            log.once.left_out and log.once.kept
        ),
        "some lines were too long to be read whole": log.notes.cut,
        f"{log.strange} lines of the coordinator were not understood": log.strange,
    }
    return "; ".join(text for text, so in doubts.items() if so)
