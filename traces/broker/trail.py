"""One group of a coordinator's log: its lines are followed through the model, its timeline is
filled, and a verdict is given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from typing import Literal

from attrs import Factory, define, evolve

from groupcheck.model.engine.verdict import HOLDS, UNKNOWN, VIOLATED, Kind
from groupcheck.model.protocol.codes import FENCED_INSTANCE_ID, name_of
from groupcheck.traces.broker.belief import Belief
from groupcheck.traces.broker.broker_log import Broker
from groupcheck.traces.broker.certain import CertainLines
from groupcheck.traces.broker.follow_lines import LineFollower, Refusal
from groupcheck.traces.broker.gaps import SENTENCES
from groupcheck.traces.broker.migrating import Migrating
from groupcheck.traces.findings.anomalies import find_anomalies
from groupcheck.traces.findings.findings import Findings, RefusedRequests, Window
from groupcheck.traces.findings.held_back import held_back
from groupcheck.traces.findings.report import Anomaly, GroupReport, UnexplainedLine
from groupcheck.traces.findings.user_impact import findings_of
from groupcheck.traces.lines.sequences import Wrong
from groupcheck.traces.phrases import became, plural
from groupcheck.traces.story.consumer_steps import ConsumerSteps, WrongStep
from groupcheck.traces.story.events import (
    CLASSIC,
    AssignmentReceived,
    Converted,
    CoordinatorStarted,
    Event,
    GroupDied,
    GroupEmptied,
    GroupLoaded,
    GroupsDeleted,
    GroupUnloaded,
    MemberLeft,
    OtherProtocol,
    RebalanceStarted,
    Stabilized,
)
from groupcheck.traces.story.moments import Moment, elapsed, moment
from groupcheck.traces.story.timeline import Timeline

UNEXPLAINED_KEPT = 200
NOTES_KEPT = 200
TEXTS_KEPT = 10_000
TEXT_CHARS = 500
LOADS_MS = 60_000
"""A group that is loaded so soon after its coordinator started belongs to that start."""
NO_STEPS = (
    "nothing is judged: no line shows a step of a member of which all is known"
    ' ("new assignment state", "Computed a new target assignment")'
)
_STEPS = (RebalanceStarted, Stabilized, GroupEmptied, AssignmentReceived)
_OTHERS = (OtherProtocol, Converted)
_MOVES = (GroupLoaded, GroupUnloaded)
_LOOKED_BACK = (*_MOVES, GroupDied, RebalanceStarted)
_ONCE = (RebalanceStarted, Stabilized, GroupEmptied)


@define
class Room:
    """Room for texts, shared by all groups of a file."""

    left: int = TEXTS_KEPT

    def take(self) -> bool:
        """May one more text be kept?"""
        self.left -= 1
        return self.left >= 0


@define
class Trail:
    """One group on one coordinator while the file is read."""

    group: str
    broker: int | None
    follower: LineFollower = Factory(LineFollower)
    certain: CertainLines = Factory(CertainLines)
    consumer: ConsumerSteps = Factory(ConsumerSteps)
    migrating: Migrating = Factory(Migrating)
    # Lines that contradict themselves.
    impossible: list[Wrong] = Factory(list)
    timeline: Timeline = Factory(Timeline)
    # The first lines that no world explains.
    unexplained: list[UnexplainedLine] = Factory(list)
    # Kinds of lines that would explain it -> how many lines are not explained.
    refused: Counter[tuple[str, ...]] = Factory(Counter)
    anomalies: list[Anomaly] = Factory(list)
    lines: int = 0
    # Lines that tell a step of a rebalance, and how many of them come when the generation is known,
    # so that they could be wrong.
    steps: int = 0
    judged: int = 0
    # Protocols other than the classic one -> how many lines are about them.
    protocols: Counter[str] = Factory(Counter)
    last_text: str = ""
    last_time: int | None = None
    # Lines that appeared twice and were taken once.
    duplicates: int = 0
    # The first line that repeats the one before it and does not fit as a second event; 0 if none.
    repeats: int = 0
    # How often timestamps ran backwards.
    backwards: int = 0
    # Why the generation may begin again; empty if it may not.
    reset: str = ""
    generation: int | None = None
    # How the log begins for the group, and what that leaves open.
    begins: str = ""
    room: Room = Factory(Room)
    # From when to when the coordinator was away, and since when it is.
    away: list[tuple[Moment, Moment, Literal["restart", "moved"]]] = Factory(list)
    gone_since: tuple[Moment, Literal["restart", "moved"]] | None = None

    def note(self, kind: str, line: int, text: str, *evidence: str) -> None:
        if len(self.anomalies) < NOTES_KEPT and self.room.take():
            self.anomalies.append(Anomaly(kind, line, text, evidence))

    def observe(self, event: Event, text: str, broker: Broker) -> None:
        """One line about this group."""
        self.lines += 1
        repeats = event.time == self.last_time and text == self.last_text
        if repeats and isinstance(event, _ONCE):
            self.duplicates += 1
            if self.duplicates == 1:
                self.note(
                    "duplicate_line",
                    event.line,
                    "a line appears twice with the same millisecond: it is taken once",
                    text[:TEXT_CHARS],
                )
            return
        if repeats and isinstance(event, MemberLeft):
            self._repeated(event, text, "a member leaves once")
            return
        if self.last_time is not None and event.time is not None and event.time < self.last_time:
            self.backwards += 1
        if event.time is not None:
            self.last_time = event.time
        self.last_text = text
        self._wrong(event, text, self.migrating.observe(event))
        if isinstance(event, _OTHERS):
            self._other(event, text)
        else:
            self._classic(event, text, broker, repeats)
        self.certain.observe(event, text)
        self.timeline.observe(event)

    def _other(self, event: OtherProtocol | Converted, text: str) -> None:
        if event.protocol != CLASSIC:
            self.protocols[event.protocol or "consumer"] += bool(event.protocol)
        if isinstance(event, OtherProtocol):
            self._member_step(event, text)
        else:
            self._converted(event, text)

    def _converted(self, event: Converted, text: str) -> None:
        """The group has another protocol from now on."""
        group, wrong, rebalances = self.follower.group, None, False
        members = None
        if event.protocol == "consumer":
            told, wrong = self.migrating.upgraded(event, group.belief, group.base)
            members = [*self.migrating.members] if self.migrating.whole else None
        elif event.protocol == CLASSIC:
            rebalances = self.migrating.rebalances
            told, wrong = self.migrating.downgraded(event)
        else:
            told = became(event.protocol)
        self.consumer.converted(members)
        self.timeline.converted(members)
        self.note("protocol_changed", event.line, told)
        if not rebalances:
            group.forget(loaded=True)
        self._wrong(event, text, wrong)

    def _member_step(self, event: OtherProtocol, text: str) -> None:
        """A step of a member of a consumer group."""
        self._wrong(event, text, self.consumer.observe(event))

    def _wrong(self, event: Event, text: str, wrong: WrongStep | None) -> None:
        """Notes what the model does not do."""
        if wrong is None:
            return
        self.refused[()] += 1
        if len(self.unexplained) < UNEXPLAINED_KEPT:
            self.unexplained.append(
                UnexplainedLine(event.line, text[:TEXT_CHARS], wrong.why, wrong.possible, False)
            )

    def _classic(self, event: Event, text: str, broker: Broker, repeats: bool) -> None:
        if isinstance(event, _MOVES) and event.protocol != CLASSIC:
            if event.protocol != "other":
                self.protocols[event.protocol] += 1
                self.consumer.forget()
                self.migrating.forget()
                return
            if isinstance(event, GroupUnloaded):
                return
        if not self.begins:
            self.begins = _beginning(event)
        if isinstance(event, _STEPS):
            self.steps += 1
            self.judged += self.follower.group.base is not None
        if isinstance(event, _LOOKED_BACK):
            self._look_back(event)
        self.follower.group.printing = broker.printing
        if isinstance(event, Stabilized):
            self.timeline.still_awaited = _awaited(self.follower.group.belief, event)
        refusal = self.follower.observe(event, broker.kinds)
        for kind, said in self.follower.group.notes:
            self.note(kind, event.line, said)
            if kind == "generation_reset":
                self.certain.begin_anew()
        self.follower.group.notes.clear()
        if refusal is not None and repeats:
            self._repeated(event, text, refusal.why)
        elif refusal is not None:
            self._refused(event, text, refusal)
        if self.follower.group.base is not None:
            self.generation = self.follower.group.base

    def _repeated(self, event: Event, text: str, why: str) -> None:
        """A line that repeats the one before it and does not fit as a second event is evidence
        neither against the coordinator nor for it.
        """
        self.repeats = self.repeats or event.line
        self.note(
            "duplicate_line",
            event.line,
            "a line appears twice with the same millisecond, and does not fit as a second event:"
            f" {why}",
            text[:TEXT_CHARS],
        )

    def _refused(self, event: Event, text: str, refusal: Refusal) -> None:
        self.refused[refusal.lost] += 1
        if refusal.impossible and len(self.impossible) < UNEXPLAINED_KEPT:
            self.impossible.append(Wrong(event.line, text[:TEXT_CHARS], refusal.why))
        if not self.unexplained or (len(self.unexplained) < UNEXPLAINED_KEPT and self.room.take()):
            self.unexplained.append(
                UnexplainedLine(
                    event.line,
                    text[:TEXT_CHARS],
                    refusal.why,
                    refusal.possible,
                    refusal.skips,
                    refusal.lost,
                )
            )

    def _look_back(self, event: Event) -> None:
        """Notes loads and moves of the group, and generations that begin again after them."""
        if isinstance(event, GroupLoaded | GroupUnloaded):
            self._away(event, "moved", isinstance(event, GroupLoaded))
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
            # It begins at 0 the next time.
            self.note("group_deleted", event.line, "the group was removed")
            self.generation, self.reset = None, ""
        elif isinstance(event, RebalanceStarted) and self.reset:
            if self.generation is not None and event.generation < self.generation:
                why = (
                    f"generation {self.generation} is followed by {event.generation}: {self.reset}"
                )
                if "loaded from" not in self.reset and event.generation == 0:
                    why += (
                        ", and its state was not found again (its log was lost, or the group had"
                        " been deleted)"
                    )
                self.note("generation_reset", event.line, why)
            self.reset = ""

    def _away(self, event: Event, what: Literal["restart", "moved"], back: bool) -> None:
        """Notes from when to when the coordinator was away. `back`: it is back."""
        if isinstance(event, GroupsDeleted) or len(self.away) >= NOTES_KEPT:
            return
        now = moment(event)
        if back and self.gone_since is not None:
            since, kind = self.gone_since
            self.away.append((since, now, kind))
            self.gone_since = None
        elif back and self.away and (elapsed(self.away[-1][1], now) or 0) <= LOADS_MS:
            self.away[-1] = (self.away[-1][0], now, self.away[-1][2])
        elif back:
            self.away.append((now, now, what))
        elif self.gone_since is None or what == "restart":
            self.gone_since = (self.gone_since[0] if self.gone_since else now, what)

    def coordinator_gone(self, event: Event, why: str) -> None:
        """The coordinator lost its memory of the group; `why`, in words."""
        self.follower.group.forget(loaded=True)
        self.certain.begin_anew()
        self.consumer.forget()
        self.migrating.forget()
        self._away(event, "restart", isinstance(event, CoordinatorStarted))
        self.timeline.interrupted(event)
        self.reset = why

    def report(self, doubts: str, kinds: Set[str]) -> GroupReport:
        """The group's report. `doubts`: what makes the whole file doubtful (empty: nothing);
        `kinds`: the kinds of lines that its broker's log has.
        """
        refused = {u.line for u in self.unexplained}
        wrong = sorted((*self.certain.finish(refused), *self.impossible), key=lambda w: w.line)
        judged = tuple(evolve(u, assumed=_filtered(u.lost, kinds)) for u in self.unexplained)
        assumed = sum(n for lost, n in self.refused.items() if _filtered(lost, kinds))
        unexplained = sum(self.refused.values()) - assumed
        if wrong:
            # What else does not fit is left out: it may follow from these lines.
            judged, unexplained = _named(wrong, judged), len({w.line for w in wrong})
        verdict, reason = self._verdict(
            doubts, [u for u in judged if not u.assumed], unexplained, assumed
        )
        protocol = max(self.protocols, key=lambda p: (self.protocols[p], p), default=CLASSIC)
        found = (find_anomalies if protocol == CLASSIC else held_back)(self.timeline)
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
            nothing_judged=reason.startswith("nothing is judged"),
            findings=self._findings(),
        )

    def _findings(self) -> Findings:
        belief = self.follower.group.belief
        waiting = tuple(id for id, parked in belief.inside.items() if not parked)
        found = findings_of(self.timeline, away=tuple(self.away), waits_for=waiting)
        return evolve(found, refusals=self._refusals())

    def _refusals(self) -> tuple[RefusedRequests, ...]:
        """The refused requests that lines tell of: those of twins."""
        fenced = [a for a in self.anomalies if a.kind == "fenced"]
        if not fenced:
            return ()
        window = Window(None, None, fenced[0].line)
        name = name_of(FENCED_INSTANCE_ID).partition(" ")[2]
        text = " ".join(fenced[0].evidence)
        return (
            RefusedRequests(
                "twin", "", FENCED_INSTANCE_ID, name, len(fenced), Counter(), window, text
            ),
        )

    def _verdict(
        self, doubts: str, unexplained: list[UnexplainedLine], count: int, assumed: int
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
            if not first.certain:
                return UNKNOWN, f"lines are missing before line {first.line}: {first.why}"
            more = f" (and {count - 1} more)" if count > 1 else ""
            return VIOLATED, f"line {first.line}: {first.why}{more}"
        if self.repeats:
            return (
                UNKNOWN,
                (
                    f"line {self.repeats} repeats the one before it to the millisecond, and is not"
                    " explained as a second event"
                ),
            )
        if self.protocols:
            name = max(self.protocols, key=lambda p: (self.protocols[p], p))
            if name != "consumer":
                return (
                    UNKNOWN,
                    f"the {name} protocol is not followed yet; this is its timeline only",
                )
            return self._of_consumers()
        if assumed:
            return (
                UNKNOWN,
                (
                    "lines were filtered out of this log; every line is explained if they are"
                    " assumed"
                ),
            )
        if not self.steps:
            return UNKNOWN, "nothing is judged: no line shows a step of this group's rebalances"
        if not self.judged:
            return UNKNOWN, "nothing is judged: no line could contradict one before it"
        return HOLDS, "every line is explained"

    def _of_consumers(self) -> tuple[Kind, str]:
        """The verdict on a consumer group, which may have been a classic one, or be one now."""
        conversions = self.migrating.judged
        if self.steps and not conversions:
            return UNKNOWN, "the group has used both protocols, and no line tells when it changed"
        if not self.consumer.judged and not (self.judged and conversions):
            return UNKNOWN, NO_STEPS
        steps = plural(self.consumer.judged, "step")
        told = f"{steps} of members, by the model `consumer`"
        if conversions:
            told += f"; {plural(conversions, 'conversion')}, by the model `migration`"
        return HOLDS, f"every line is explained ({told})"


def _awaited(belief: Belief, event: Stabilized) -> tuple[str, ...]:
    """The members of the generation that have not visibly joined its round: everybody known who has
    not, if nobody is unknown or the generation has just as many members as are known.
    """
    if len(belief.inside) == event.members:
        return tuple(id for id, parked in belief.inside.items() if not parked)
    return belief.not_parked() or ()


def _named(wrong: list[Wrong], refused: tuple[UnexplainedLine, ...]) -> tuple[UnexplainedLine, ...]:
    """The impossible lines, each once, and the lines that were filtered out."""
    possible = {u.line: u.possible for u in refused}
    named = {
        w.line: UnexplainedLine(
            w.line, w.text, w.why, possible.get(w.line, "other lines"), False, certain=True
        )
        for w in wrong
    }
    return (*named.values(), *(u for u in refused if u.assumed))


def _filtered(lost: tuple[str, ...], kinds: Set[str]) -> bool:
    """Would lines explain it that are of kinds that the log never has?"""
    return bool(lost) and not any(kind in kinds for kind in lost)


def _of_refusals(unexplained: tuple[UnexplainedLine, ...]) -> Iterator[Anomaly]:
    """An anomaly for each line that is not explained, and one for each kind of lines that was
    filtered out.
    """
    filtered: dict[str, list[UnexplainedLine]] = {}
    for u in unexplained:
        if u.assumed:
            for kind in dict.fromkeys(u.lost):
                filtered.setdefault(kind, []).append(u)
            continue
        evidence = [u.text, f"possible: {u.possible}"]
        if u.lost:
            evidence.append(
                "it fits if these lines are missing before it: "
                + ", then ".join(f"'{SENTENCES[kind]}'" for kind in u.lost)
            )
        kind = "unexplained_line" if u.certain else "gap"
        yield Anomaly(kind, u.line, u.why, tuple(evidence))
    for kind, found in filtered.items():
        text = f"the log has no line '{SENTENCES[kind]}', but {len(found)} must have been printed"
        yield Anomaly(
            "missing_lines", found[0].line, text, (f"first before: {found[0].text}", found[0].why)
        )


def _beginning(event: Event) -> str:
    """How the log begins for the group, and what that leaves open."""
    if isinstance(event, GroupLoaded):
        return "the log shows the group being loaded"
    phase = getattr(event, "phase", None)
    if phase is not None and str(phase) == "Empty":
        return "the log begins while the group is Empty"
    return (
        "the log begins in the middle: members and ids from before are unknown until they are named"
    )
