"""Which causes the evidence about a group shows, how sure that is, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Literal

from attrs import evolve, frozen

from groupcheck.traces.causes.at_work import GROUP_WORKS
from groupcheck.traces.causes.contexts import ADMIN, CLASSIC, CONSUMER, speaker
from groupcheck.traces.causes.found_cause import (
    QUOTED,
    FoundCause,
    as_found,
    is_after,
    may_be,
)
from groupcheck.traces.causes.group_evidence import Counted, GroupEvidence, place
from groupcheck.traces.causes.knowledge import (
    CONFIDENCES,
    SEVERITIES,
    Cause,
    Knowledge,
    Rival,
    Severity,
    Sign,
)
from groupcheck.traces.causes.overcome import passed, with_overcome
from groupcheck.traces.clients.sentences import trouble, unrest
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.members.proofs import Proof

Health = Literal["calm", "troubled", "broken", "unknown"]
_LOSSES = ("coordinator_lost", "coordinator_unavailable", "not_coordinator", "disconnected")
BEFORE_MS, AFTER_MS = 10_000, 60_000
"""Consequences of a cause that lasts: silence begins with the last heartbeat before it, and
sessions expire a session timeout after it (45 s, if nobody configures another).
"""


@frozen
class RefutedCause:
    """A cause that signs show and a member's own lines rule out."""

    cause: Cause
    # One sentence.
    text: str
    # The line that rules it out, and the statements that looked like it.
    by: Statement
    evidence: tuple[Statement, ...]


@frozen
class Diagnosis:
    """The answer about one group."""

    group: str
    health: Health
    # The causes that are certain or likely, the most telling first.
    causes: tuple[FoundCause, ...]
    # Causes that are possible, each with what would decide.
    candidates: tuple[FoundCause, ...]
    # What is only a consequence of these causes.
    consequences: tuple[FoundCause, ...]
    # What would tell the cause of trouble that is not explained.
    hints: tuple[str, ...]
    # Causes that are ruled out, although their signs are there.
    refuted: tuple[RefutedCause, ...] = ()
    # What shows that the group works, where nothing is wrong.
    healthy: tuple[FoundCause, ...] = ()
    # Something stands still, goes back or loops: nothing shows that the group is calm.
    restless: bool = False


def diagnose(evidence: GroupEvidence, knowledge: Knowledge) -> Diagnosis:
    """Names the causes that the evidence shows."""
    some = [c for c in knowledge.causes.values() if not c.healthy]
    found = [f for c in some if (f := _found(c, evidence)) is not None]
    found = sorted(_contested(found, evidence, knowledge), key=_rank)
    explained: set[str] = set()
    for f in found:
        if f.cause.kind not in explained and f.confidence != "possible":
            explained |= {g.cause.kind for g in found if _explains(f, g)}
            explained |= {g.cause.kind for g in found if _is_meanwhile(g, f)}
    shown = [f for f in found if f.cause.kind not in explained]
    causes = tuple(f for f in shown if f.confidence != "possible")
    settled = {kind for f in causes for kind in f.cause.accounts_for}
    settled |= {s.kind for f in causes for s in f.evidence}
    candidates = tuple(
        f
        for f in shown
        if f.confidence == "possible"
        and not (f.overcome and f.severity == "calm")
        and (f.sign.beside or not all(_follows(s, causes) for s in f.evidence))
    )
    told = settled | {s.kind for f in found for s in f.evidence} | _over(evidence)
    questions = [
        kind
        for kind, tally in evidence.tallies.items()
        if kind in trouble()
        and kind not in told
        and not passed(kind, evidence)
        and any(speaker(s) != ADMIN for s in tally.first)
    ]
    hints = [f.text for f in candidates if f.severity != "calm" and _troubling(f)]
    hints += [trouble()[kind] for kind in questions if trouble()[kind]]
    fine = [c for c in knowledge.causes.values() if c.healthy]
    alarms = {rule.kind for rule in knowledge.facts.values() if rule.alarm}
    restless = not (unrest() | alarms).isdisjoint(evidence.tallies)
    healthy = [f for c in fine if not restless and (f := _found(c, evidence)) is not None]
    # What a tool is told says nothing about how the members do.
    of_group = any(speaker(s) != ADMIN for f in causes for s in f.evidence)
    fine_causes = of_group and not _left_open(evidence, settled)
    healthy = [] if _without_coordinator(evidence) else healthy
    lasting = [f for f in candidates if not _of_start(f, evidence)]
    health = _health(causes, lasting, bool(questions), bool(healthy) or fine_causes)
    return Diagnosis(
        evidence.group,
        health,
        causes,
        candidates,
        tuple(f for f in found if f.cause.kind in explained and f.confidence != "possible"),
        tuple(dict.fromkeys(hints)),
        tuple(r for c in knowledge.causes.values() if (r := _refuted(c, evidence)) is not None),
        tuple(healthy) if health == "calm" else (),
        restless,
    )


def _contested(
    found: Sequence[FoundCause], evidence: GroupEvidence, knowledge: Knowledge
) -> list[FoundCause]:
    """The causes, each only as sure as its rivals leave it, with those rivals that the same lines
    may show and that nothing rules out.
    """
    out: list[FoundCause] = []
    rivals: dict[str, FoundCause] = {}
    for f in found:
        surest = f
        for kind, rival in f.cause.rivals.items():
            if f.confidence == "possible" or kind not in knowledge.causes:
                continue
            if any(evidence.matching(need) for need in rival.excluded_by):
                continue
            surest = _less_sure(surest, rival)
            if rival.leaves == "possible":
                sign = Sign(f.sign.needs, confidence="possible", beside=True, decide=rival.decide)
                cause = knowledge.causes[kind]
                rivals[kind] = as_found(cause, sign, f.evidence, evidence)
        out.append(surest)
    known = {f.cause.kind for f in out}
    return out + [f for kind, f in rivals.items() if kind not in known]


def _less_sure(found: FoundCause, rival: Rival) -> FoundCause:
    """The cause with a rival that is not ruled out."""
    if CONFIDENCES.index(rival.leaves) <= CONFIDENCES.index(found.confidence):
        return found
    if rival.leaves != "possible":
        return evolve(found, confidence=rival.leaves)
    sign = evolve(found.sign, beside=True)
    text = may_be(found.cause, rival.decide)
    return evolve(found, sign=sign, confidence="possible", decide=rival.decide, text=text)


def _explains(found: FoundCause, other: FoundCause) -> bool:
    """Is the other one a consequence? Not of what was overcome before it happened."""
    if other.cause.kind not in found.cause.explains or other is found:
        return False
    over = found.overcome
    return over is None or other.overcome is not None or not is_after(over, other.evidence[-1])


def _is_meanwhile(found: FoundCause, other: FoundCause) -> bool:
    """Did all that shows a cause happen while another one that explains it lasted, or soon after?
    What has no time may have happened at any.
    """
    if found.cause.kind not in other.cause.explains_meanwhile:
        return False
    some = (*found.evidence, *other.evidence)
    timeless = any(s.time is None for s in found.evidence) or any(
        s.printed is not None for s in some
    )
    ended, over = _ended(found), _ended(other)
    if timeless or found.since is None or other.since is None or ended is None or over is None:
        return False
    return other.since - BEFORE_MS <= found.since and ended <= over + AFTER_MS


def _ended(found: FoundCause) -> int | None:
    """When the last of what shows a cause was over, in ms; None without times."""
    lasted = [(s.time, s.fields.get("lasted")) for s in found.evidence if s.time is not None]
    ends = [time + ms for time, ms in lasted if isinstance(ms, int)]
    return max(ends if found.until is None else [*ends, found.until], default=None)


def _follows(said: Statement, causes: Iterable[FoundCause]) -> bool:
    """Does a cause explain the statement? What it follows from stands before it."""
    for f in causes:
        first = f.evidence[0]
        timed = said.time is not None and first.time is not None
        later = (said.time or 0) >= (first.time or 0) if timed else said.line >= first.line
        if said.kind in {s.kind for s in f.evidence} or (
            said.kind in f.cause.accounts_for and later
        ):
            return True
    return False


def _over(evidence: GroupEvidence) -> set[str]:
    """Kinds of trouble that was over a moment later."""
    return {str(s.fields.get("of")) for s in evidence.all("recovered")}


def _rank(found: FoundCause) -> tuple[bool, bool, bool, int, int, str]:
    """A line that names the reason ranks above those that follow from it."""
    cause = found.cause
    return (
        found.confidence == "possible",
        found.overcome is not None,
        not cause.printed,
        CONFIDENCES.index(found.confidence),
        -SEVERITIES.index(found.severity),
        cause.kind,
    )


def _health(
    causes: Sequence[FoundCause],
    candidates: Sequence[FoundCause],
    questions: bool,
    healthy: bool,
) -> Health:
    """The worst that is known. A candidate shows that there is trouble, not how much. Calm is a
    claim, too: something must show it.
    """
    worst: Severity = max((f.severity for f in causes), key=SEVERITIES.index, default="calm")
    if worst != "calm":
        return worst
    if any(f.severity != "calm" and _troubling(f) for f in candidates):
        return "troubled"
    if questions:
        return "troubled"
    return "calm" if healthy else "unknown"


def _stays(lost: Sequence[Statement], back: Iterable[Statement]) -> bool:
    """Does no line behind the last loss show the way back?"""
    return bool(lost) and not any(is_after(lost[-1], said) for said in back)


def _left_open(evidence: GroupEvidence, settled: Set[str]) -> bool:
    """Did a member lose its coordinator or its connection, and no line shows it at work again? Then
    a cause that does no harm does not make it calm.
    """
    lost = [s for s in evidence.all(*_LOSSES) if s.kind not in settled]
    back = evidence.all("coordinator_found", *GROUP_WORKS) if lost else []
    return _stays(lost, back)


def _without_coordinator(evidence: GroupEvidence) -> bool:
    """Did somebody call the coordinator dead, and no line shows one again?"""
    lost = [s for s in evidence.all("coordinator_lost") if "dead" in s.text]
    back = evidence.all("coordinator_found", "closed", "left", *GROUP_WORKS) if lost else []
    return _stays(lost, back)


FEW_WARNINGS = 2


def _told_often(evidence: GroupEvidence) -> bool:
    tally = evidence.tallies.get("topic_unknown")
    return tally is not None and tally.count > FEW_WARNINGS


def _of_start(found: FoundCause, evidence: GroupEvidence) -> bool:
    """Does it rest on a warning or two about a topic that is just made, before its member joins?"""
    some = [s for s in found.evidence if s.kind in trouble()]
    if not 0 < len(some) <= FEW_WARNINGS or _told_often(evidence):
        return False
    joins = [s for s in evidence.all("joining", "joined") if is_after(some[-1], s)]
    return bool(joins) and all(s.kind == "topic_unknown" and "step" not in s.fields for s in some)


def _troubling(found: FoundCause) -> bool:
    return any(said.kind in trouble() for said in found.evidence)


def _found(cause: Cause, evidence: GroupEvidence) -> FoundCause | None:
    """The cause with its evidence, by the sign that is most sure."""
    if not _fits(cause, evidence):
        return None
    refuted = {place(p.about) for p in _against(cause, evidence)}
    some = Counted(refuted, cause.library, cause.speaker)
    for sign in sorted(cause.signs, key=lambda s: CONFIDENCES.index(s.confidence)):
        tickets = sign.tickets if sign.confidence == "possible" else ()
        if tickets and not evidence.versions.of_these_versions(tickets):
            continue  # the versions that run here do not have the fault
        shown = _shown(sign, evidence, some)
        if shown:
            shown = sorted(shown, key=lambda s: s.line)
            return with_overcome(as_found(cause, sign, shown, evidence), shown, evidence)
    return None


def _fits(cause: Cause, evidence: GroupEvidence) -> bool:
    """Can a group in these surroundings have the cause?"""
    if cause.context and not evidence.contexts & {*cause.context}:
        return False
    shown = evidence.contexts & {CLASSIC, CONSUMER}
    return not cause.protocol or not shown or cause.protocol in shown


def _against(cause: Cause, evidence: GroupEvidence) -> list[Proof]:
    """The proofs that speak against the cause."""
    return [p for p in evidence.followed.proofs if p.refutes in cause.requires]


def _refuted(cause: Cause, evidence: GroupEvidence) -> RefutedCause | None:
    """The cause, if nothing but what is ruled out speaks for it."""
    against = _against(cause, evidence)
    if not against or _found(cause, evidence) is not None:
        return None
    shown = [said for sign in cause.signs for said in _shown(sign, evidence, Counted())]
    places = {place(said) for said in shown}
    hits = [p for p in against if place(p.about) in places]
    if not hits:
        return None
    about = {place(p.about): p.about for p in hits}
    text = f"It is not: {cause.title}. {hits[0].text}."
    return RefutedCause(cause, text, hits[0].by, tuple(about.values())[:QUOTED])


def _shown(sign: Sign, evidence: GroupEvidence, some: Counted) -> list[Statement]:
    """The statements that meet the sign; empty if it is not met."""
    known = evidence.libraries or sign.confidence != "possible"
    if sign.library and known and not any(name in evidence.libraries for name in sign.library):
        return []
    if sign.context and not evidence.contexts & {*sign.context}:
        return []
    if sign.same_member:
        return _shown_of_one(sign, evidence, some)
    met = [evidence.matching(need, some) for need in sign.needs]
    if not all(met) or any(evidence.matching(need) for need in sign.without):
        return []
    return _once(said for each in met for said in each)


def _shown_of_one(sign: Sign, evidence: GroupEvidence, some: Counted) -> list[Statement]:
    """Those of all members each of which meets the sign alone."""
    met = [evidence.by_writer(need, some) for need in sign.needs]
    against = [evidence.by_writer(need) for need in sign.without]
    members = [
        who
        for who in met[0]
        if all(who in each for each in met) and not any(who in each for each in against)
    ]
    return _once(said for who in members for each in met for said in each[who])


def _once(shown: Iterable[Statement]) -> list[Statement]:
    return list({id(said): said for said in shown}.values())
