"""The answer for each group, from everything that all logs say: its health, the causes and what to
do about them, apart from the verdict on the broker.

Health is not the verdict. The verdict says whether the broker kept its promises; a group can stand
still while it does. The exit code follows the health: 0 calm, 1 trouble, 3 too little shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from groupcheck.model.engine.verdict import UNKNOWN, VIOLATED, Kind
from groupcheck.oracles.replay.harm import harm, serious, weight
from groupcheck.oracles.replay.moved_rounds import without_end
from groupcheck.oracles.replay.stories import told_report
from groupcheck.oracles.replay.unsettled import ends_left_out, told_last, unsettled
from groupcheck.traces.causes.diagnosis import Diagnosis, Health, diagnose
from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.causes.from_brokers import statements
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.causes.knowledge import Knowledge
from groupcheck.traces.causes.scan_log import NOT_JUDGED
from groupcheck.traces.causes.turn_on import to_turn_on
from groupcheck.traces.clients.sentences import trouble
from groupcheck.traces.clients.who import BROKER, TOOL
from groupcheck.traces.facts.facts import Fact, facts_told
from groupcheck.traces.facts.steps import steps_told
from groupcheck.traces.findings.report import RANK, FileReport, GroupReport, worst_of
from groupcheck.traces.formats import CLIENTS
from groupcheck.traces.members.group_story import GroupStory
from groupcheck.traces.story.events import EPOCHS

FEW_STEPS = 40
"""In a calm group of more statements, its rebalances tell more than its steps."""
NAMELESS_TROUBLE = "lines of this log that name no group tell of trouble, which may be its own"
WORST: tuple[Health, ...] = ("broken", "troubled", "unknown", "calm")


@frozen
class GroupInLog:
    """A group in the log of a broker, with the report of its file."""

    file: FileReport
    group: GroupReport


@frozen
class Answer:
    """The facts that all logs together tell about one group."""

    # Empty for lines that name no group.
    group: str
    health: Health
    # Why it has this health, in a few words.
    reason: str
    diagnosis: Diagnosis
    # The verdict on the broker: is every line of its logs explained by the protocol?
    verdict: Kind
    verdict_reason: str
    # Where the group stands in logs of brokers; empty if only clients' lines name it.
    seen: tuple[GroupInLog, ...]
    # All that lines say about it.
    evidence: GroupEvidence
    # What changed, went back, repeats, stands still or is shared, whatever the cause is.
    facts: tuple[Fact, ...] = ()
    # What to turn on so that the next log tells the cause; empty if this one does, or all is well.
    turn_on: str = ""

    @property
    def story(self) -> GroupStory:
        """What its members did, by the logs of their clients."""
        return self.evidence.story

    @property
    def shown(self) -> tuple[GroupReport, ...]:
        """Its reports of brokers; if there are none, what its members tell."""
        told = (told_report(self.group, self.story),) if self.story.told else ()
        return tuple(s.group for s in self.seen) or told

    @property
    def rounds(self) -> int:
        """How many rebalances its logs show."""
        return sum(g.timeline.counts.get("rebalances", 0) for g in self.shown)


def answers(reports: Sequence[FileReport], heard: Evidence, knowledge: Knowledge) -> list[Answer]:
    """One answer for each group, the worst first. `heard`: what the lines of all logs say."""
    seen: dict[str, list[GroupInLog]] = {}
    for report in reports:
        for group in report.groups:
            seen.setdefault(group.group, []).append(GroupInLog(report, group))
            heard.add_all(statements(report, group))
    found = {e.group: e for e in heard.by_group()}
    for name, some in seen.items():
        if name in found:
            seen[name] = [_as_members_tell(s, found[name].story) for s in some]
    names = {**dict.fromkeys(seen), **dict.fromkeys(found)}
    out = [
        _answer(name, found.get(name, GroupEvidence(name)), seen.get(name, []), knowledge)
        for name in names
    ]
    return sorted(_with_nameless(out), key=_rank)


def _as_members_tell(seen: GroupInLog, story: GroupStory) -> GroupInLog:
    """Without the times in which the group had no members, as far as its coordinator's log goes,
    where the log of a client has a later generation.
    """
    last = story.timeline.highest
    empty = seen.group.findings.empty
    left = tuple(
        e
        for e in empty
        if last is None or e.generation is None or not e.window.open or e.generation >= last
    )
    if len(left) == len(empty):
        return seen
    return evolve(seen, group=evolve(seen.group, findings=evolve(seen.group.findings, empty=left)))


def _with_nameless(some: Sequence[Answer]) -> Iterator[Answer]:
    """The answers. What clients' lines without a group tell of trouble may be about any group that
    clients of the same library in the same log name, so none of those is called calm.
    """
    nameless = next((a for a in some if not a.group), None)
    trouble_of: set[tuple[str, str]] = set()
    if nameless is not None and nameless.health in ("broken", "troubled"):
        trouble_of = {
            (said.log, said.library)
            for said in nameless.evidence.all(*trouble())
            if said.library not in (BROKER, TOOL)
        }
    for a in some:
        if a.group and a.health == "calm" and not a.seen and trouble_of & _writers(a):
            a = evolve(a, health="unknown", reason=NAMELESS_TROUBLE)
        yield a


def _writers(a: Answer) -> set[tuple[str, str]]:
    """The logs in which clients name the group, with their libraries."""
    return {(said.log, said.library) for said in a.evidence.all()}


def _answer(
    name: str, evidence: GroupEvidence, seen: Sequence[GroupInLog], knowledge: Knowledge
) -> Answer:
    diagnosis = diagnose(evidence, knowledge)
    if ends_left_out(evidence):
        seen = [evolve(one, group=without_end(one.group)) for one in seen]
    verdict, verdict_reason = _judged(seen)
    facts = told_facts(evidence, knowledge)
    health, reason = _health(diagnosis, evidence, seen, facts, verdict, verdict_reason)
    blind = not diagnosis.causes and bool(evidence.tallies) and health in ("unknown", "troubled")
    untold = health == "unknown" or (health == "calm" and not seen)  # a table tells rebalances
    few = untold and len(evidence.times) <= FEW_STEPS
    if blind or (few and evidence.tallies):
        sound = not diagnosis.restless and trouble().keys().isdisjoint(evidence.tallies)
        facts += steps_told(evidence.all(), sound, knowledge.steps, evidence.shared)
    return Answer(
        name,
        health,
        reason,
        diagnosis,
        verdict,
        verdict_reason,
        tuple(seen),
        evidence,
        tuple(facts),
        to_turn_on(evidence, any(s.group.requests for s in seen)) if blind else "",
    )


def told_facts(evidence: GroupEvidence, knowledge: Knowledge) -> list[Fact]:
    """The facts among all that lines say about a group."""
    told = {k: (t.count, t.statements()) for k, t in evidence.tallies.items()}
    return facts_told(knowledge.facts, told)


def _judged(seen: Sequence[GroupInLog]) -> tuple[Kind, str]:
    """The worst verdict on a broker."""
    if not seen:
        return UNKNOWN, NOT_JUDGED
    decisive = max(seen, key=lambda s: RANK[s.group.verdict]).group
    return decisive.verdict, decisive.reason


def _health(
    diagnosis: Diagnosis,
    evidence: GroupEvidence,
    seen: Sequence[GroupInLog],
    facts: Sequence[Fact],
    verdict: Kind,
    verdict_reason: str,
) -> tuple[Health, str]:
    if verdict == VIOLATED:
        return "broken", f"the broker did what no correct coordinator does: {verdict_reason}"
    alarm = next((f.text for f in facts if f.alarm), "")
    if diagnosis.causes and diagnosis.health != "calm":
        return diagnosis.health, diagnosis.causes[0].title
    if diagnosis.health in ("troubled", "broken") or alarm:
        return "troubled", alarm or "this log cannot tell why"
    hurt = [s.group.findings for s in seen if serious(s.group.findings)]
    if hurt:
        return "troubled", next(harm(hurt[0]), "")
    waits = [s for s in evidence.story.standing() if s.stands]
    if waits:
        late = next((s for s in waits if s.late), None)
        what = f"{(late or waits[0]).name} waits for {(late or waits[0]).state.waits_for}"
        return ("troubled" if late else "unknown"), f"{what} when its log ends"
    told = [s.group for s in seen] or [told_report("", evidence.story)]
    # A join or leave of a group with epochs is complete with its epoch: no round of it is open.
    classic = (g.timeline.rounds for g in told if g.protocol not in EPOCHS)
    open_ = next(filter(None, (unsettled(rounds, not seen) for rounds in classic)), "")
    if open_ and not (seen and ends_left_out(evidence)):
        return "unknown", open_
    if last := told_last(evidence):
        return "unknown", f"{last} is told that the group rebalances when its log ends"
    if stands := next((f.text for f in facts if f.unsettles), ""):
        return "unknown", stands
    if any(evidence.group in text for s in seen for _, text in s.file.samples if evidence.group):
        return "unknown", "a line of its coordinator is not understood"
    if diagnosis.causes:
        return "calm", diagnosis.causes[0].title
    if diagnosis.healthy:
        return "calm", diagnosis.healthy[0].text
    rounds = (r for s in seen for r in s.group.timeline.rounds)
    if not diagnosis.restless and any(r.ended is not None for r in rounds):
        return "calm", "its rebalances complete, and no line tells of trouble"
    return "unknown", "this log shows too little of the group"


def _rank(a: Answer) -> tuple[int, bool, int, int, bool, int, int, str]:
    """The worst first: by health, a broken promise of the broker, harm, causes and rebalances.
    Lines that name no group are of many.
    """
    hurt, stood = max((weight(s.group.findings) for s in a.seen), default=(0, 0))
    causes = len(a.diagnosis.causes) + len(a.diagnosis.candidates)
    sound = a.verdict != VIOLATED
    return WORST.index(a.health), sound, -hurt, -stood, not a.group, -causes, -a.rounds, a.group


def worst(found: Sequence[Answer]) -> Health:
    """The health of everything: of groups that show nothing, only if no other group does."""
    shown = [a.health for a in found if a.health != "unknown" or a.diagnosis.hints]
    return min(shown or ["unknown"], key=WORST.index)


def judged(reports: Sequence[FileReport]) -> tuple[Kind, str]:
    """The worst verdict on a broker, with its reason. Reports about clients have none, so they
    count only if there is nothing else.
    """
    return worst_of([r for r in reports if r.format not in CLIENTS] or reports)
