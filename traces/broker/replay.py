"""Replays logs of coordinators: each event goes to the trail of its group, one for each coordinator
that names the group; memory is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import Factory, define

from groupcheck.traces import formats
from groupcheck.traces.broker.broker_log import Broker, BrokerLog
from groupcheck.traces.broker.trail import Room, Trail
from groupcheck.traces.findings.report import Anomaly, FileReport, file_report
from groupcheck.traces.lines.sequences import TAIL
from groupcheck.traces.phrases import some_of
from groupcheck.traces.reading import ALTERED
from groupcheck.traces.story.events import (
    CoordinatorStarted,
    CoordinatorStopped,
    Event,
    Fenced,
    GroupsDeleted,
    LeaderReplaced,
    LoadFailed,
    Noted,
    PartitionGiven,
    PartitionTaken,
    StaticReplaced,
)

GROUPS_KEPT = 10_000
NOTES_KEPT = 200
SWEEP_LINES = 200_000
# How many rounds and members all groups together keep after a sweep.
NAMES_KEPT = 100_000
TEXT_CHARS = 500


@define
class Replay:
    """One file under replay."""

    log: BrokerLog
    only: str | None = None
    seen: Callable[[Event, str], None] | None = None
    trails: dict[tuple[int | None, str], Trail] = Factory(dict)
    too_many: int = 0
    anomalies: list[Anomaly] = Factory(list)
    room: Room = Factory(Room)
    # The partitions of __consumer_offsets that brokers begin to unload, and to load.
    given: dict[str, None] = Factory(dict)
    taken: dict[str, None] = Factory(dict)

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
        elif isinstance(event, PartitionGiven | PartitionTaken):
            some = self.given if isinstance(event, PartitionGiven) else self.taken
            if len(some) < NOTES_KEPT:
                some[f"__consumer_offsets-{event.partition}"] = None
        elif isinstance(event, GroupsDeleted):
            names = set(event.groups)
            for trail in self._of(event.broker):
                if trail.group in names:
                    trail.note("group_deleted", event.line, "the group was deleted")
                    trail.coordinator_gone(event, "the group was deleted")

    def _of(self, broker: int | None) -> Iterator[Trail]:
        return (t for t in self.trails.values() if t.broker == broker)


def replay_broker(
    log: BrokerLog,
    group: str | None,
    seen: Callable[[Event, str], None] | None = None,
    *,
    format: str | None = None,
) -> FileReport | None:
    """Replays one log of coordinators; `group`: only this one; `seen` is told of every event with
    its sentence; `format`: the report names this one, whatever the lines are. None if no line is a
    coordinator's. Raises `TraceError` if the file cannot be read.
    """
    replay = Replay(log, group, seen)
    replay.run()
    if log.format is None and not log.strange and not log.masked:
        return None
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
        else "masks stand for the names in the coordinator's lines, so they are not replayed"
        if log.masked
        else f"the coordinator's lines name no group{_moves(replay)}"
    )
    versions = tuple(
        f"broker {number if number is not None else '?'}: {b.versions}"
        for number, b in log.brokers.items()
    )
    return file_report(
        log,
        format or log.format or formats.UNKNOWN_FORMAT,
        groups,
        nothing=nothing,
        too_many=replay.too_many,
        repeated=log.once.left_out,
        versions=versions,
        anomalies=replay.anomalies,
    )


def _moves(replay: Replay) -> str:
    """What the lines tell of groups that they do not name."""
    given = replay.given and f"; it gives {some_of([*replay.given])} up, to another coordinator"
    taken = replay.taken and f"; it begins to coordinate the groups of {some_of([*replay.taken])}"
    return (given or "") + (taken or "")


def _doubts(log: BrokerLog) -> str:
    """Reasons to doubt the file as a whole; empty if there is none."""
    doubts = {
        ALTERED: log.notes.altered,
        "some lines appear twice, and it is not clear whether two appenders wrote them": (
            log.once.left_out and log.once.kept
        ),
        "some lines were too long to be read whole": log.notes.cut,
        "masks stand for names in some lines": log.masked,
        f"{log.strange} lines of the coordinator were not understood": log.strange,
    }
    return "; ".join(text for text, so in doubts.items() if so)
