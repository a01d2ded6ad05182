"""Which causes the evidence about a group shows, how sure that is, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from attrs import frozen

from groupcheck.traces.causes.evidence import GroupEvidence
from groupcheck.traces.causes.knowledge import (
    CONFIDENCES,
    SEVERITIES,
    TEMPLATES,
    Cause,
    Confidence,
    Knowledge,
    Severity,
    Sign,
)
from groupcheck.traces.clients.said import Said
from groupcheck.traces.clients.sentences import trouble

Health = Literal["calm", "troubled", "broken", "unknown"]
QUOTED = 6
NAMED = 3


@frozen
class Found:
    """A cause that the evidence shows."""

    cause: Cause
    confidence: Confidence
    # One sentence about this group.
    text: str
    # What to do about it here.
    action: str
    # Setting -> its value as the log tells it; only those that it tells.
    present: Mapping[str, str]
    # The statements that show it, in order; at most `QUOTED` of each kind.
    evidence: tuple[Said, ...]
    # Who is concerned, most often first.
    who: tuple[str, ...]
    # When it was first and last seen, in ms; None without timestamps.
    since: int | None
    until: int | None


@frozen
class Diagnosis:
    """The answer about one group."""

    group: str
    health: Health
    # The causes, the most telling first.
    causes: tuple[Found, ...]
    # What is only a consequence of these causes.
    consequences: tuple[Found, ...]
    # Statements that tell of trouble whose cause cannot be told, and what would decide it.
    hints: tuple[str, ...]


def diagnose(evidence: GroupEvidence, knowledge: Knowledge) -> Diagnosis:
    """Names the causes that the evidence shows."""
    found = [f for c in knowledge.causes.values() if (f := _found(c, evidence)) is not None]
    found.sort(key=_rank)
    kinds = {f.cause.kind for f in found}
    explained = {
        kind for f in found for kind in f.cause.explains if kind in kinds and kind != f.cause.kind
    }
    causes = tuple(f for f in found if f.cause.kind not in explained)
    told = {s.kind for f in found for s in f.evidence}
    open_questions = [
        trouble()[kind] for kind in evidence.tallies if kind in trouble() and kind not in told
    ]
    return Diagnosis(
        evidence.group,
        _health(causes, bool(open_questions)),
        causes,
        tuple(f for f in found if f.cause.kind in explained),
        tuple(dict.fromkeys(hint for hint in open_questions if hint)),
    )


def _rank(found: Found) -> tuple[int, int, str]:
    cause = found.cause
    return (
        CONFIDENCES.index(found.confidence),
        -SEVERITIES.index(cause.severity),
        cause.kind,
    )


def _health(causes: Sequence[Found], open_questions: bool) -> Health:
    worst: Severity = max((f.cause.severity for f in causes), key=SEVERITIES.index, default="calm")
    return "unknown" if worst == "calm" and open_questions else worst


def _found(cause: Cause, evidence: GroupEvidence) -> Found | None:
    """The cause with its evidence, by the sign that is most sure."""
    best: tuple[Confidence, list[Said]] | None = None
    for sign in sorted(cause.signs, key=lambda s: CONFIDENCES.index(s.confidence)):
        shown = _shown(sign, evidence)
        if shown and best is None:
            best = sign.confidence, shown
    if best is None:
        return None
    confidence, shown = best
    shown = sorted(shown, key=lambda s: s.line)
    who = _writers(shown)
    times = [s.time for s in shown if s.time is not None]
    fields: dict[str, Any] = {}
    for said in shown:
        fields = {**said.fields, **fields}
    values = {
        **fields,
        "who": _named(who) or "a member",
        "names": who,
        "group": evidence.group,
        "library": evidence.libraries.most_common(1)[0][0],
        "n": len(shown),
    }
    quoted: list[Said] = []
    for kind in dict.fromkeys(s.kind for s in shown):
        quoted += [s for s in shown if s.kind == kind][:QUOTED]
    return Found(
        cause,
        confidence,
        _written(cause.text, values),
        _written(cause.action, values),
        {k[len("setting_") :].replace("__", "."): str(v) for k, v in fields.items()
         if k.startswith("setting_")},
        tuple(sorted(quoted, key=lambda s: s.line)),
        tuple(who),
        min(times, default=None),
        max(times, default=None),
    )  # fmt: skip


def _shown(sign: Sign, evidence: GroupEvidence) -> list[Said]:
    """The statements that meet the sign; empty if it is not met."""
    if sign.library and not any(name in evidence.libraries for name in sign.library):
        return []
    for who in evidence.writers() if sign.same_member else (None,):
        met = [evidence.matching(need, who) for need in sign.needs]
        if all(met) and not any(evidence.matching(need, who) for need in sign.without):
            return [said for some in met for said in some]
    return []


def _writers(shown: Iterable[Said]) -> list[str]:
    often: dict[str, int] = {}
    for said in shown:
        if said.who:
            often[said.who] = often.get(said.who, 0) + 1
    return sorted(often, key=lambda who: -often[who])


def _named(who: Sequence[str]) -> str:
    more = f" and {len(who) - NAMED} more" if len(who) > NAMED else ""
    return ", ".join(who[:NAMED]) + more


def _written(template: str, values: Mapping[str, Any]) -> str:
    return " ".join(TEMPLATES.from_string(template).render(values).split())
