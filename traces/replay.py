"""Replays logs: every group's lines followed through the model, its timeline told, its verdict given.

One file is one replay: files are read as they are, in the order given, and nothing is carried from one to the next (a rotated file begins in
the middle, and the report says what that leaves open). A group is followed once for each coordinator that speaks of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set

from attrs import Factory, define, evolve

from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED, Kind
from groupcheck.traces import formats
from groupcheck.traces.anomalies import find_anomalies
from groupcheck.traces.broker_log import Broker, BrokerLog
from groupcheck.traces.events import (
    AssignmentReceived,
    Converted,
    CoordinatorStarted,
    CoordinatorStopped,
    Event,
    Fenced,
    GroupDied,
    GroupEmptied,
    GroupLoaded,
    GroupsDeleted,
    GroupUnloaded,
    LeaderReplaced,
    MemberLeft,
    Noted,
    OtherProtocol,
    RebalanceStarted,
    Stabilized,
    StaticReplaced,
)
from groupcheck.traces.exchanges import Exchange
from groupcheck.traces.follow import Follower, Refusal
from groupcheck.traces.gaps import SENTENCES
from groupcheck.traces.reading import ALTERED, TraceError, beginning, open_log
from groupcheck.traces.repeated import left_out_note
from groupcheck.traces.replay_requests import replay_requests
from groupcheck.traces.report import RANK, Anomaly, FileReport, GroupReport, Unexplained
from groupcheck.traces.request_log import RequestLog
from groupcheck.traces.timeline import Timeline

GROUPS_KEPT = 10_000
UNEXPLAINED_KEPT = 200
NOTES_KEPT = 200
TEXTS_KEPT = 10_000
SWEEP_LINES = 200_000
NAMES_KEPT = 100_000
"""Of all groups together, after a sweep: rounds, and members."""
TEXT_CHARS = 500
_STEPS = (RebalanceStarted, Stabilized, GroupEmptied, AssignmentReceived)
_ONCE = (RebalanceStarted, Stabilized, GroupEmptied)
Seen = Callable[[Event | Exchange, str], None]
"""Is told of every event of a file, with its sentence, and of every exchange (without one), in the order in which they are replayed."""


@define
class Room:
    """How many texts may still be kept, of all groups of a file together."""

    left: int = TEXTS_KEPT

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0


@define
class Trail:
    """One group on one coordinator while the file is read."""

    group: str
    broker: int | None
    follower: Follower = Factory(Follower)
    timeline: Timeline = Factory(Timeline)
    unexplained: list[Unexplained] = Factory(list)
    refused: dict[tuple[bool, tuple[str, ...]], int] = Factory(dict)
    anomalies: list[Anomaly] = Factory(list)
    lines: int = 0
    steps: int = 0
    protocols: dict[str, int] = Factory(dict)
    last_text: str = ""
    last_time: int | None = None
    duplicates: int = 0
    repeats: int = 0
    backwards: int = 0
    reset: str = ""
    generation: int | None = None
    begins: str = ""
    room: Room = Factory(Room)

    def note(self, kind: str, line: int, text: str, *evidence: str) -> None:
        if len(self.anomalies) < NOTES_KEPT and self.room.take():
            self.anomalies.append(Anomaly(kind, line, text, evidence))

    def observe(self, event: Event, text: str, broker: Broker) -> None:
        """One line about this group."""
        self.lines += 1
        repeats = text == self.last_text and event.time == self.last_time and event.time is not None
        if isinstance(event, _ONCE) and repeats:
            self.duplicates += 1
            if self.duplicates == 1:
                self.note(
                    "duplicate_line",
                    event.line,
                    "a line stands twice, with the same millisecond: it is taken once",
                    text[:TEXT_CHARS],
                )
            return
        if isinstance(event, MemberLeft) and repeats:
            self._repeated(event, text, "a member leaves once")
            return
        if self.last_time is not None and event.time is not None and event.time < self.last_time:
            self.backwards += 1
        if event.time is not None:
            self.last_time = event.time
        self.last_text = text
        if isinstance(event, OtherProtocol | Converted):
            self._other(event)
        else:
            self._classic(event, text, broker, repeats)
        self.timeline.observe(event)

    def _other(self, event: OtherProtocol | Converted) -> None:
        name = event.protocol or "consumer"
        if name != "classic":
            self.protocols[name] = self.protocols.get(name, 0) + (1 if event.protocol else 0)
        if isinstance(event, Converted):
            self.note("protocol_changed", event.line, f"the group became a {event.protocol} group")
            self.follower.group.forget(loaded=True)

    def _classic(self, event: Event, text: str, broker: Broker, repeats: bool) -> None:
        if isinstance(event, GroupLoaded | GroupUnloaded) and event.protocol not in (
            "classic",
            "other",
        ):
            self.protocols[event.protocol] = self.protocols.get(event.protocol, 0) + 1
            return
        if isinstance(event, GroupUnloaded) and event.protocol == "other":
            return
        if not self.begins:
            self.begins = _beginning(event)
        self.steps += isinstance(event, _STEPS)
        self._look_back(event)
        self.follower.group.printing = broker.printing
        if isinstance(event, Stabilized):
            self.timeline.still_awaited = self.follower.group.belief.not_parked() or ()
        refusal = self.follower.observe(event, broker.kinds)
        for kind, said in self.follower.group.notes:
            self.note(kind, event.line, said)
        self.follower.group.notes.clear()
        if refusal is not None and repeats:
            self._repeated(event, text, refusal.why)
        elif refusal is not None:
            self._refused(event, text, refusal)
        if self.follower.group.base is not None:
            self.generation = self.follower.group.base

    def _repeated(self, event: Event, text: str, why: str) -> None:
        """A line that says what the one before it says, and does not fit as a second event: it is no evidence against the coordinator, nor for it."""
        self.repeats = self.repeats or event.line
        self.note(
            "duplicate_line",
            event.line,
            f"a line stands twice, with the same millisecond: as a second event it does not fit: {why}",
            text[:TEXT_CHARS],
        )

    def _refused(self, event: Event, text: str, refusal: Refusal) -> None:
        self.refused[refusal.skips, refusal.lost] = (
            self.refused.get((refusal.skips, refusal.lost), 0) + 1
        )
        if not self.unexplained or (len(self.unexplained) < UNEXPLAINED_KEPT and self.room.take()):
            self.unexplained.append(
                Unexplained(
                    event.line,
                    text[:TEXT_CHARS],
                    refusal.why,
                    refusal.possible,
                    refusal.skips,
                    refusal.lost,
                )
            )

    def _look_back(self, event: Event) -> None:
        """Life of the coordinator: loads, moves, and generations that begin again after them."""
        if isinstance(event, GroupUnloaded):
            self.note(
                "group_unloaded",
                event.line,
                f"this coordinator gave the group up in generation {event.generation}",
            )
            self.reset = self.reset or "the group was unloaded"
        elif isinstance(event, GroupLoaded):
            members = "" if event.members is None else f" with {event.members} members"
            generation = "" if event.generation is None else f" in generation {event.generation}"
            self.note(
                "group_loaded",
                event.line,
                f"the group was loaded from __consumer_offsets{generation}{members}",
            )
            self.reset = "the group was loaded from __consumer_offsets"
        elif isinstance(event, GroupDied):
            self.note("group_deleted", event.line, "the group was removed")
            self.reset = "the group was removed"
        elif isinstance(event, RebalanceStarted) and self.reset:
            if self.generation is not None and event.generation < self.generation:
                why = (
                    f"generation {self.generation} is followed by {event.generation}: {self.reset}"
                )
                if "loaded from" not in self.reset and event.generation == 0:
                    why += ", and its state was not found again (its log was lost, or the group had been deleted)"
                self.note("generation_reset", event.line, why)
            self.reset = ""

    def coordinator_gone(self, event: Event, why: str) -> None:
        """The broker stopped or started: memory is lost."""
        self.follower.group.forget(loaded=True)
        self.timeline.interrupted(event)
        self.reset = why

    def report(self, doubts: str, kinds: Set[str]) -> GroupReport:
        """The group's report; `doubts`: what makes the file as a whole doubtful (empty: nothing); `kinds`: of lines that its broker's log has."""
        judged = tuple(evolve(u, assumed=_filtered(u.lost, kinds)) for u in self.unexplained)
        assumed = sum(n for (_, lost), n in self.refused.items() if _filtered(lost, kinds))
        unexplained = sum(self.refused.values()) - assumed
        verdict, reason = self._verdict(
            doubts, [u for u in judged if not u.assumed], unexplained, assumed
        )
        protocol = max(self.protocols, key=lambda p: (self.protocols[p], p), default="classic")
        found = find_anomalies(self.timeline) if protocol == "classic" else ()
        anomalies = (*_of_refusals(judged), *self.anomalies, *found)
        return GroupReport(
            self.group,
            self.broker,
            protocol,
            verdict,
            reason,
            self.timeline,
            anomalies,
            judged,
            unexplained,
            assumed,
            self.lines,
            self.begins,
        )

    def _verdict(
        self, doubts: str, unexplained: list[Unexplained], count: int, assumed: int
    ) -> tuple[Kind, str]:
        if unexplained:
            first = unexplained[0]
            if self.backwards or doubts:
                why = (
                    "its lines are not in the order of their timestamps"
                    if self.backwards
                    else doubts
                )
                return UNKNOWN, f"line {first.line} is not explained, but {why}"
            worst = next((u for u in unexplained if not u.skips), None)
            if worst is None:
                return UNKNOWN, f"lines are missing before line {first.line}: {first.why}"
            more = f" (and {count - 1} more)" if count > 1 else ""
            return VIOLATED, f"line {worst.line}: {worst.why}{more}"
        if self.repeats:
            return (
                UNKNOWN,
                f"line {self.repeats} repeats the one before it to the millisecond, and is not explained as a second event",
            )
        if self.protocols:
            name = max(self.protocols, key=lambda p: (self.protocols[p], p))
            return UNKNOWN, f"the {name} protocol is not modelled yet; this is its timeline only"
        if assumed:
            return (
                UNKNOWN,
                "lines have been filtered out of this log; every line is explained if they are assumed",
            )
        if not self.steps:
            return UNKNOWN, "no line tells a step of this group's rebalances"
        return HOLDS, "every line is explained"


def _filtered(lost: tuple[str, ...], kinds: Set[str]) -> bool:
    """Would lines explain it of which the log has none at all?"""
    return bool(lost) and not any(kind in kinds for kind in lost)


def _of_refusals(unexplained: tuple[Unexplained, ...]) -> Iterator[Anomaly]:
    """Lines that are not explained, one by one; lines that were filtered out, one for each kind."""
    filtered: dict[str, list[Unexplained]] = {}
    for u in unexplained:
        if u.assumed:
            for kind in dict.fromkeys(u.lost):
                filtered.setdefault(kind, []).append(u)
            continue
        evidence = [u.text, f"possible was: {u.possible}"]
        if u.lost:
            evidence.append(
                "it fits if these lines are missing before it: "
                + ", then ".join(f"'{SENTENCES[kind]}'" for kind in u.lost)
            )
        yield Anomaly("gap" if u.skips else "unexplained_line", u.line, u.why, tuple(evidence))
    for kind, found in filtered.items():
        text = f"the log has no line '{SENTENCES[kind]}', but {len(found)} must have been printed"
        yield Anomaly(
            "missing_lines", found[0].line, text, (f"first before: {found[0].text}", found[0].why)
        )


def _beginning(event: Event) -> str:
    """What the first line leaves open."""
    if isinstance(event, GroupLoaded):
        return "the log shows the group being loaded"
    phase = getattr(event, "phase", None)
    if phase is not None and str(phase) == "Empty":
        return "the log begins while the group is Empty"
    return (
        "the log begins in the middle: members and ids from before are unknown until they are named"
    )


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
        """Reads the file to its end."""
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
        """Forgets the oldest of what the timelines keep, and names of members where there are too many: memory stays bounded."""
        each = max(50, NAMES_KEPT // max(len(self.trails), 1))
        for trail in self.trails.values():
            trail.timeline.shrink(each)
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
            word = "started" if isinstance(event, CoordinatorStarted) else "stopped"
            if len(self.anomalies) < NOTES_KEPT:
                self.anomalies.append(
                    Anomaly(
                        f"coordinator_{word}",
                        event.line,
                        f"the coordinator of broker {event.broker} {word}",
                    )
                )
            for trail in self._of(event.broker):
                trail.coordinator_gone(event, "the broker was restarted")
        elif isinstance(event, GroupsDeleted):
            names = set(event.groups)
            for trail in self._of(event.broker):
                if trail.group in names:
                    trail.note("group_deleted", event.line, "the group was deleted")
                    trail.coordinator_gone(event, "the group was deleted")

    def _of(self, broker: int | None) -> Iterator[Trail]:
        return (t for t in self.trails.values() if t.broker == broker)


def replay_file(
    path: str, *, format: str | None = None, group: str | None = None, seen: Seen | None = None
) -> FileReport:
    """Replays one file. `format`: one of `formats.REPLAYED` (or a known one that is not replayed yet), None: found out; `group`: only this one;
    `seen`: is told of all that is read, whatever group it concerns.

    Raises `TraceError` if the file cannot be read as text, or the format is not known.
    """
    if format is not None and format not in formats.REPLAYED and format not in formats.NAMED:
        raise TraceError(
            f"no format {format!r}",
            where="--format",
            do="one of " + ", ".join((*formats.REPLAYED, *formats.NAMED)),
        )
    if format in formats.NAMED:
        return _not_replayed(path, format, count_lines(path))
    stream = open_log(path)
    if format == formats.REQUEST_LOG or (
        format is None and formats.sniff(beginning(stream)) == formats.REQUEST_LOG
    ):
        return replay_requests(RequestLog(path, stream), group, seen)
    log = BrokerLog(path, stream)
    replay = Replay(log, group, seen)
    replay.run()
    if log.format is None and not log.strange:
        return _not_replayed(path, formats.sniff(log.notes.head), log.notes.lines)
    return _report(
        replay, format if format in (formats.BROKER_JAVA, formats.BROKER_SCALA) else None
    )


def count_lines(path: str) -> int:
    log = BrokerLog(path)
    for _ in log.events():
        pass
    return log.notes.lines


def _not_replayed(path: str, name: str, lines: int) -> FileReport:
    if name in formats.NAMED:
        reason = f"this is {name} evidence ({formats.NAMED[name].rstrip('.').lower()}), which is not replayed yet; give the coordinator's log"
    else:
        reason = "no line of a group coordinator in it; give the broker's server.log (loggers kafka.coordinator.group or org.apache.kafka.coordinator)"
    return FileReport(path, name, UNKNOWN, reason, lines, 0, lines, 0)


def _report(replay: Replay, forced: str | None) -> FileReport:
    log = replay.log
    doubts, notes = _doubts(log)
    groups = tuple(
        trail.report(doubts, log.brokers[trail.broker].kinds)
        for trail in sorted(
            replay.trails.values(), key=lambda t: (t.group, -1 if t.broker is None else t.broker)
        )
    )
    if replay.too_many:
        notes.append(
            f"more than {GROUPS_KEPT} groups: {replay.too_many} lines of further ones were left out"
        )
    if not groups:
        verdict: Kind = UNKNOWN
        reason = (
            f"no line about the group {replay.only!r}"
            if replay.only is not None
            else "the coordinator's lines name no group"
        )
    else:
        decisive = max(groups, key=lambda g: RANK[g.verdict])
        verdict, reason = (
            decisive.verdict,
            f"group {decisive.group}: {decisive.reason}"
            if decisive.verdict != HOLDS
            else "every line is explained",
        )
    if verdict == HOLDS and (log.strange or replay.too_many):
        verdict, reason = (
            UNKNOWN,
            f"{log.strange + replay.too_many:,} of the coordinator's lines were not followed; all others are explained",
        )
    if verdict == HOLDS and log.notes.torn:
        verdict, reason = UNKNOWN, f"{log.notes.torn}; every line that was read is explained"
    anomalies = list(replay.anomalies)
    if log.backwards:
        anomalies.append(
            Anomaly(
                "out_of_order",
                log.first_backwards,
                f"timestamps run backwards {log.backwards} times; lines are taken as they stand",
            )
        )
    versions = tuple(
        f"broker {number if number is not None else '?'}: {b.versions}"
        for number, b in log.brokers.items()
    )
    foreign = log.notes.lines - log.understood - log.strange
    return FileReport(
        log.path, forced or log.format or formats.UNKNOWN_FORMAT, verdict, reason, log.notes.lines, log.understood, foreign, log.strange,
        tuple(log.samples), versions, tuple(notes), groups, tuple(anomalies),
    )  # fmt: skip


def _doubts(log: BrokerLog) -> tuple[str, list[str]]:
    """What makes the file as a whole doubtful: a sentence for verdicts (empty: nothing), and notes for the reader."""
    notes, doubts = [text for text in (log.notes.torn, log.notes.beyond) if text], []
    if log.notes.altered:
        doubts.append(ALTERED)
    if log.once.left_out:
        notes.append(left_out_note(log.once.left_out))
        if log.once.kept:
            doubts.append(
                "lines of this log stand twice where it is not clear whether two appenders wrote them"
            )
    if log.notes.cut:
        notes.append(f"{log.notes.cut} lines are longer than a million characters and were cut")
        doubts.append("some lines were too long to be read whole")
    if log.notes.undecodable:
        notes.append(f"{log.notes.undecodable} lines are not valid UTF-8")
    if log.strange:
        notes.append(f"{log.strange} lines of a coordinator are not known from any version")
        doubts.append(f"{log.strange} lines of the coordinator were not understood")
    return "; ".join(doubts), notes
