"""Which causes the evidence about a group shows, how sure that is, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from attrs import frozen

from groupcheck.model.engine.errors import UserError
from groupcheck.traces.causes.group_evidence import GroupEvidence, Places, place
from groupcheck.traces.causes.knowledge import (
    CONFIDENCES,
    SEVERITIES,
    Cause,
    Confidence,
    Knowledge,
    Severity,
    Sign,
    Ticket,
    compiled_template,
)
from groupcheck.traces.clients.sentences import trouble
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import BROKER
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.members.proofs import Proof
from groupcheck.traces.phrases import some_of

Health = Literal["calm", "troubled", "broken", "unknown"]
AT_WORK = ("synced", "assigned", "committed", "broker_stable")
"""Statements that show a group, or a member, at work."""
FEW_EPISODES, EPISODE_MS = 2, 10_000
BEFORE_MS, AFTER_MS = 10_000, 60_000
"""Consequences of a cause that lasts: silence begins with the last heartbeat before it, and
sessions expire a session timeout after it (45 s, if nobody configures another).
"""
"""A kind of event that is more frequent than that does not end; lines of one time lie closer
together.
"""
QUOTED = 6
NAMED = 3
MOST_CHARS = 200
"""Of a value in a sentence."""


@frozen
class FoundCause:
    """A cause that the evidence shows."""

    cause: Cause
    # How it shows here.
    sign: Sign
    confidence: Confidence
    # One sentence about this group. That of a possible cause says that it is only possible.
    text: str
    # What to do about it here.
    action: str
    # The line or setting that would decide, if the cause is only possible; else empty.
    decide: str
    tickets: tuple[Ticket, ...]
    # Setting -> its value as the log tells it; only those that it tells.
    present: Mapping[str, str]
    # The statements that show it, in order; at most `QUOTED` of each kind.
    evidence: tuple[Statement, ...]
    # What it did to the group here: a group that broke down once and works again is troubled.
    severity: Severity
    # Who is concerned, most often first.
    who: tuple[str, ...]
    # When it was first and last seen, in ms; None without timestamps.
    since: int | None
    until: int | None

    @property
    def lines(self) -> list[Statement]:
        """The lines that show it: of a statement that follows from others, these."""
        lines = [q for s in self.evidence for q in s.rests_on or (s,)]
        once = {(said.log, said.line): said for said in reversed(lines)}
        return sorted(once.values(), key=lambda said: said.line)[: 2 * QUOTED]


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


def diagnose(evidence: GroupEvidence, knowledge: Knowledge) -> Diagnosis:
    """Names the causes that the evidence shows."""
    found = [f for c in knowledge.causes.values() if (f := _found(c, evidence)) is not None]
    found.sort(key=_rank)
    kinds = {f.cause.kind for f in found}
    explained: set[str] = set()
    for f in found:
        if f.cause.kind not in explained and f.confidence != "possible":
            explained |= {*f.cause.explains} & kinds - {f.cause.kind}
            explained |= {g.cause.kind for g in found if _is_meanwhile(g, f)}
    shown = [f for f in found if f.cause.kind not in explained]
    causes = tuple(f for f in shown if f.confidence != "possible")
    settled = {kind for f in causes for kind in f.cause.accounts_for}
    settled |= {s.kind for f in causes for s in f.evidence}
    candidates = tuple(
        f
        for f in shown
        if f.confidence == "possible"
        and (f.sign.beside or not all(_follows(s, causes) for s in f.evidence))
    )
    told = settled | {s.kind for f in found for s in f.evidence} | _over(evidence)
    questions = [kind for kind in evidence.tallies if kind in trouble() and kind not in told]
    hints = [f.text for f in candidates if f.cause.severity != "calm" and _troubling(f)]
    hints += [trouble()[kind] for kind in questions if trouble()[kind]]
    return Diagnosis(
        evidence.group,
        _health(causes, candidates, bool(questions)),
        causes,
        candidates,
        tuple(f for f in found if f.cause.kind in explained and f.confidence != "possible"),
        tuple(dict.fromkeys(hints)),
        tuple(r for c in knowledge.causes.values() if (r := _refuted(c, evidence)) is not None),
    )


def _is_meanwhile(found: FoundCause, other: FoundCause) -> bool:
    """Did all that shows a cause happen while another one that explains it lasted, or soon after?
    What has no time may have happened at any.
    """
    if found.cause.kind not in other.cause.explains_meanwhile:
        return False
    timeless = any(said.time is None for said in found.evidence)
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


def _rank(found: FoundCause) -> tuple[int, int, str]:
    cause = found.cause
    return (
        CONFIDENCES.index(found.confidence),
        -SEVERITIES.index(found.severity),
        cause.kind,
    )


def _health(
    causes: Sequence[FoundCause], candidates: Sequence[FoundCause], questions: bool
) -> Health:
    """The worst that is known. A candidate shows that there is trouble, not how much."""
    worst: Severity = max((f.severity for f in causes), key=SEVERITIES.index, default="calm")
    if worst != "calm":
        return worst
    if any(f.cause.severity != "calm" and _troubling(f) for f in candidates):
        return "troubled"
    return "unknown" if questions else "calm"


def _troubling(found: FoundCause) -> bool:
    return any(said.kind in trouble() for said in found.evidence)


def _found(cause: Cause, evidence: GroupEvidence) -> FoundCause | None:
    """The cause with its evidence, by the sign that is most sure."""
    refuted = {place(p.about) for p in _against(cause, evidence)}
    for sign in sorted(cause.signs, key=lambda s: CONFIDENCES.index(s.confidence)):
        tickets = sign.tickets if sign.confidence == "possible" else ()
        if tickets and not evidence.versions.of_these_versions(tickets):
            continue  # the versions that run here do not have the fault
        shown = _shown(sign, evidence, refuted)
        if shown:
            return _found_cause(cause, sign, sorted(shown, key=lambda s: s.line), evidence)
    return None


def _against(cause: Cause, evidence: GroupEvidence) -> list[Proof]:
    """The proofs that speak against the cause."""
    return [p for p in evidence.followed.proofs if p.refutes in cause.requires]


def _refuted(cause: Cause, evidence: GroupEvidence) -> RefutedCause | None:
    """The cause, if nothing but what is ruled out speaks for it."""
    against = _against(cause, evidence)
    if not against or _found(cause, evidence) is not None:
        return None
    shown = [said for sign in cause.signs for said in _shown(sign, evidence, frozenset())]
    places = {place(said) for said in shown}
    hits = [p for p in against if place(p.about) in places]
    if not hits:
        return None
    about = {place(p.about): p.about for p in hits}
    text = f"It is not: {cause.title}. {hits[0].text}."
    return RefutedCause(cause, text, hits[0].by, tuple(about.values())[:QUOTED])


def _found_cause(
    cause: Cause, sign: Sign, shown: Sequence[Statement], evidence: GroupEvidence
) -> FoundCause:
    who = _writers(shown)
    times = [s.time for s in shown if s.time is not None]
    since, until = min(times, default=None), max(times, default=None)
    fields: dict[str, Any] = {}
    for said in shown:
        fields = {**{k: _short(v) for k, v in said.fields.items()}, **fields}
    printed = _printed_settings(evidence, who)
    values = {
        **printed,
        **fields,
        "who": some_of(who, NAMED) or "a member",
        "names": who,
        "group": evidence.group,
        "library": next((name for name, _ in evidence.libraries.most_common(1)), ""),
        "n": len(shown),
        "since": "" if since is None else show_time(since),
        "until": "" if until is None else show_time(until),
        "facts": {kind: {"n": t.count, "who": t.first[0].who, **t.first[0].fields}
                  for kind, t in evidence.tallies.items()},
    }  # fmt: skip
    decide = _written(sign.decide, values)
    text = _written(sign.text or cause.text, values)
    if sign.confidence == "possible" and not sign.text:
        text = f"This may be: {cause.title}. {decide and f'To decide: {decide}.'}".strip()
    quoted: list[Statement] = []
    for kind in dict.fromkeys(s.kind for s in shown):
        quoted += [s for s in shown if s.kind == kind][:QUOTED]
    quoted = list({s.line: s for s in quoted}.values())
    return FoundCause(
        cause,
        sign,
        sign.confidence,
        text,
        _written(sign.action or cause.action, values),
        decide,
        evidence.versions.of_these_versions((*sign.tickets, *cause.tickets)),
        {
            **{k: v for k, v in _settings(printed).items() if k in cause.settings},
            **_settings(fields),
        },
        tuple(sorted(quoted, key=lambda s: s.line)),
        _severity(cause, shown, evidence),
        tuple(who),
        since,
        until,
    )


def _severity(cause: Cause, shown: Sequence[Statement], evidence: GroupEvidence) -> Severity:
    """That of the cause; one step less if it happened once or twice, and the group works since."""
    last = shown[-1]
    if cause.severity != "broken" or _episodes(shown) > FEW_EPISODES:
        return cause.severity
    later = [s for s in evidence.all(*AT_WORK, *trouble()) if _after(last, s)]
    at_work = [s for s in later if s.kind in AT_WORK and _concerns(last, s)]
    again = [s for s in later if s.kind not in AT_WORK and s.kind not in cause.accounts_for]
    return "troubled" if at_work and not again else cause.severity


def _episodes(shown: Sequence[Statement]) -> int:
    """How many times it happened: one time may take several lines."""
    kind = shown[0].kind
    times = [s.time for s in shown if s.kind == kind and s.time is not None]
    return 1 + sum(b - a > EPISODE_MS for a, b in pairwise(times))


def _after(last: Statement, said: Statement) -> bool:
    if last.time is not None and said.time is not None:
        return said.time > last.time
    return said.log == last.log and said.line > last.line


def _concerns(broken: Statement, said: Statement) -> bool:
    """Does a member at work show that what was broken works again? A coordinator's line does."""
    return said.library == BROKER or not broken.who or said.who == broken.who


def _short(value: Any) -> Any:
    """Texts of a log may be as long as its lines."""
    return (
        value[:MOST_CHARS] + "..." if isinstance(value, str) and len(value) > MOST_CHARS else value
    )


def _printed_settings(evidence: GroupEvidence, who: Sequence[str]) -> dict[str, Any]:
    """The settings that these clients printed at their start, or sent in requests; those of all
    clients of the group if none of them is named.
    """
    out: dict[str, Any] = {}
    for kind in ("request_sent", "started", "setting"):
        tally = evidence.tallies.get(kind)
        for said in tally.statements() if tally else ():
            if not who or not said.who or said.who in who:
                some = {k: _short(v) for k, v in said.fields.items() if k.startswith("setting_")}
                out |= some
    return out


def _settings(fields: Mapping[str, Any]) -> dict[str, str]:
    """`setting_session__timeout__ms` names session.timeout.ms."""
    mark = "setting_"
    return {
        name[len(mark) :].replace("__", "."): str(value)
        for name, value in fields.items()
        if name.startswith(mark)
    }


def _shown(sign: Sign, evidence: GroupEvidence, refuted: Places) -> list[Statement]:
    """The statements that meet the sign; empty if it is not met. Those that are `refuted` do not
    count.
    """
    known = evidence.libraries or sign.confidence != "possible"
    if sign.library and known and not any(name in evidence.libraries for name in sign.library):
        return []
    if sign.same_member:
        return _shown_of_one(sign, evidence, refuted)
    met = [evidence.matching(need, refuted) for need in sign.needs]
    if not all(met) or any(evidence.matching(need) for need in sign.without):
        return []
    return _once(said for some in met for said in some)


def _shown_of_one(sign: Sign, evidence: GroupEvidence, refuted: Places) -> list[Statement]:
    """Those of all members each of which meets the sign alone."""
    met = [evidence.by_writer(need, refuted) for need in sign.needs]
    against = [evidence.by_writer(need) for need in sign.without]
    members = [
        who
        for who in met[0]
        if all(who in some for some in met) and not any(who in some for some in against)
    ]
    return _once(said for who in members for some in met for said in some[who])


def _once(shown: Iterable[Statement]) -> list[Statement]:
    return list({id(said): said for said in shown}.values())


def _writers(shown: Iterable[Statement]) -> list[str]:
    often: dict[str, int] = {}
    for said in shown:
        if said.who:
            often[said.who] = often.get(said.who, 0) + 1
    return sorted(often, key=lambda who: -often[who])


def _written(template: str, values: Mapping[str, Any]) -> str:
    """Raises `UserError` if a template of a user's own file fails."""
    try:
        text = " ".join(compiled_template(template).render(values).split())
    except Exception as e:
        raise UserError(f"the text of a cause cannot be written: {e}", where=template) from None
    return "A" + text[1:] if text.startswith("a member") else text
