"""What a log shows of one group beyond its rebalances, as JSON: the harm that its users felt, who
was slow, dead or refused, and the settings that lines tell.
"""

from __future__ import annotations

from typing import Any

from attrs import asdict

from groupcheck.oracles.replay.harm import harm
from groupcheck.traces.exchanges.owners import TwoOwners
from groupcheck.traces.exchanges.request_facts import Rewind
from groupcheck.traces.findings.findings import Findings, Jump, Window
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.story.moments import Moment


def findings_document(found: Findings) -> dict[str, Any]:
    """Windows have `since` and `until` as text and `ms`, which are null if the log has no times;
    `open`: the log ends before the window does.
    """
    return {
        "harm": list(harm(found)),
        "without_members": [
            {**window(e.window), "last_members": list(e.last), "how": e.how or None}
            for e in found.empty
        ],
        "without_owner": [
            {
                **window(u.window),
                "partition": u.partition,
                "rebalance_cause": u.cause.value if u.cause else None,
                "before": u.before or None,
                "after": u.after or None,
            }
            for u in found.unowned
        ],
        "not_stable": [window(w) for w in found.not_stable],
        "two_owners": [_two(two) for two in found.two_owners],
        "went_back": [_commit(back) for back in found.went_back],
        "jumped_ahead": [_commit(jump) for jump in found.jumped],
        "refusals": [
            {
                **window(r.window),
                "what": r.what,
                "api": r.api or None,
                "code": r.code,
                "error": r.name or None,
                "count": r.count,
                "clients": dict(r.clients),
                "text": r.evidence,
            }
            for r in found.refusals
        ],
        "unsettled": None
        if found.unsettled is None
        else {
            **window(found.unsettled.window),
            "phase": found.unsettled.phase,
            "waits_for": list(found.unsettled.waits_for),
        },
        **_members(found),
        **_settings(found),
    }


def _members(found: Findings) -> dict[str, Any]:
    """Who stood still, who was absent, who died, and why rebalances began."""
    return {
        "stood_still": [
            {**window(s.window), "member": s.member, "client": s.client, "why": s.why}
            for s in found.standing
        ],
        "absences": [
            {**window(a.window), "member": a.member, "client": a.client, "kind": a.kind}
            for a in found.absences
        ],
        "died_together": [
            {
                "members": list(d.members),
                "count": d.count,
                "since": _at(d.first),
                "until": _at(d.last),
                "line": d.first.line,
                "after_ms": d.after_ms,
                "ghosts": d.ghosts,
            }
            for d in found.died_together
        ],
        "rebalances_by_cause": [
            {
                "cause": r.cause.value,
                "count": r.count,
                "clients": dict(r.clients),
                "period_ms": r.period_ms,
                "reasons": dict(r.reasons),
                "line": r.line,
            }
            for r in found.rounds
        ],
        "client_reasons": [{**asdict(r), "members": list(r.members)} for r in found.reasons],
        "coordinator_away": [
            {
                **window(r.window),
                "what": r.what,
                "followed": r.followed,
                "generation": r.generation,
            }
            for r in found.restarts
        ],
    }


def _settings(found: Findings) -> dict[str, Any]:
    return {
        "settings": [{**asdict(s), "clients": list(s.clients)} for s in found.settings],
        "conflicts": [
            {"kind": c.kind, "text": c.text, "settings": [s.name for s in c.settings]}
            for c in found.conflicts
        ],
    }


def window(w: Window) -> dict[str, Any]:
    """A stretch of time."""
    return {
        "since": None if w.since is None else show_time(w.since),
        "until": None if w.until is None else show_time(w.until),
        "ms": w.ms,
        "line": w.line,
        "open": w.open,
    }


def _two(two: TwoOwners) -> dict[str, Any]:
    return {
        "partition": two.partition,
        "earlier": two.earlier,
        "later": two.later,
        "since": show_time(two.since),
        "until": show_time(two.until),
        "ms": two.until - two.since,
        "shown_by": two.by,
    }


def _commit(moved: Rewind | Jump) -> dict[str, Any]:
    """A commit that went back or jumped ahead, from the offset `was` to `committed`."""
    return {
        "partition": moved.partition,
        "by": moved.by,
        "was": moved.was,
        "committed": moved.committed,
        "time": show_time(moved.time),
        "line": moved.line,
    }


def _at(moment: Moment) -> str | None:
    return None if moment.time is None else show_time(moment.time)
