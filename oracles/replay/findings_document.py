"""The findings that a log shows of one group beyond its rebalances, as JSON: the harm that its
users felt, who was slow, dead or refused, and the settings that lines tell.
"""

from __future__ import annotations

from groupcheck.oracles.replay import finding_types
from groupcheck.oracles.replay.harm import harm
from groupcheck.traces.exchanges.owners import TwoOwners
from groupcheck.traces.exchanges.request_facts import Rewind
from groupcheck.traces.findings.findings import (
    Findings,
    Jump,
    OpenRebalance,
    RefusedRequests,
    RoundsBy,
    Window,
)
from groupcheck.traces.findings.mass_expiry import MassExpiry
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.story.moments import Moment


def findings_document(found: Findings) -> finding_types.Findings:
    """Spans have `since` and `until` as text and `ms`, which are null if the log has no times;
    `open`: the log ends before the span does.
    """
    return finding_types.Findings(
        harm=list(harm(found)),
        without_members=[
            finding_types.MemberlessSpan(
                span=span(e.window), last_members=list(e.last), how=e.how or None
            )
            for e in found.empty
        ],
        without_owner=[
            finding_types.OwnerlessSpan(
                span=span(u.window),
                partition=u.partition,
                rebalance_cause=u.cause.value if u.cause else None,
                before=u.before or None,
                after=u.after or None,
            )
            for u in found.unowned
        ],
        not_stable=[span(w) for w in found.not_stable],
        two_owners=[_two_owners(two) for two in found.two_owners],
        went_back=[_commit(back) for back in found.went_back],
        jumped_ahead=[_commit(jump) for jump in found.jumped],
        refusals=[_refusal(r) for r in found.refusals],
        unsettled=None if found.unsettled is None else _unsettled(found.unsettled),
        stood_still=[
            finding_types.Standstill(
                span=span(s.window), member=s.member, client=s.client, why=s.why
            )
            for s in found.standing
        ],
        absences=[
            finding_types.Absence(
                span=span(a.window), member=a.member, client=a.client, kind=a.kind
            )
            for a in found.absences
        ],
        died_together=[_joint_death(d) for d in found.died_together],
        rebalances_by_cause=[_by_cause(r) for r in found.rounds],
        client_reasons=[
            finding_types.ClientReason(
                kind=r.kind, text=r.text, count=r.count, members=list(r.members), line=r.line
            )
            for r in found.reasons
        ],
        coordinator_away=[
            finding_types.CoordinatorAbsence(
                span=span(r.window), what=r.what, followed=r.followed, generation=r.generation
            )
            for r in found.restarts
        ],
        settings=[
            finding_types.Setting(
                name=s.name,
                value_ms=s.value_ms,
                measured=s.measured,
                clients=list(s.clients),
                line=s.line,
            )
            for s in found.settings
        ],
        conflicts=[
            finding_types.Conflict(kind=c.kind, text=c.text, settings=[s.name for s in c.settings])
            for c in found.conflicts
        ],
    )


def span(w: Window) -> finding_types.Span:
    """A stretch of time."""
    return finding_types.Span(
        since=None if w.since is None else show_time(w.since),
        until=None if w.until is None else show_time(w.until),
        ms=w.ms,
        line=w.line,
        open=w.open,
    )


def _two_owners(two: TwoOwners) -> finding_types.TwoOwnersSpan:
    return finding_types.TwoOwnersSpan(
        partition=two.partition,
        earlier=two.earlier,
        later=two.later,
        since=show_time(two.since),
        until=show_time(two.until),
        ms=two.until - two.since,
        shown_by=two.by,
    )


def _commit(moved: Rewind | Jump) -> finding_types.MovedPosition:
    """A commit that went back or jumped ahead, from the offset `was` to `committed`."""
    return finding_types.MovedPosition(
        partition=moved.partition,
        by=moved.by,
        was=moved.was,
        committed=moved.committed,
        time=show_time(moved.time),
        line=moved.line,
    )


def _refusal(r: RefusedRequests) -> finding_types.Refusal:
    return finding_types.Refusal(
        span=span(r.window),
        what=r.what,
        api=r.api or None,
        code=r.code,
        error=r.name or None,
        count=r.count,
        clients=dict(r.clients),
        text=r.evidence,
    )


def _unsettled(found: OpenRebalance) -> finding_types.Unsettled:
    return finding_types.Unsettled(
        span=span(found.window), phase=found.phase, waits_for=list(found.waits_for)
    )


def _joint_death(d: MassExpiry) -> finding_types.JointDeath:
    return finding_types.JointDeath(
        members=list(d.members),
        count=d.count,
        since=_at(d.first),
        until=_at(d.last),
        line=d.first.line,
        after_ms=d.after_ms,
        ghosts=d.ghosts,
    )


def _by_cause(r: RoundsBy) -> finding_types.CauseCount:
    return finding_types.CauseCount(
        cause=r.cause.value,
        count=r.count,
        clients=dict(r.clients),
        period_ms=r.period_ms,
        reasons=dict(r.reasons),
        line=r.line,
    )


def _at(moment: Moment) -> str | None:
    return None if moment.time is None else show_time(moment.time)
