"""The rebalance with which the log of a broker ends, as the logs of other brokers tell of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import evolve

from groupcheck.traces.findings.report import FileReport, GroupReport


def as_others_tell(reports: Iterable[FileReport]) -> list[FileReport]:
    """The reports, in which a rebalance is lost with which the log of a coordinator ends, where
    another broker coordinates the group later: no line shows what became of it.
    """
    some = list(reports)
    seen: dict[str, list[GroupReport]] = {}
    for group in (g for r in some for g in r.groups):
        seen.setdefault(group.group, []).append(group)
    return [evolve(r, groups=tuple(_as_told(g, seen[g.group]) for g in r.groups)) for r in some]


def without_end(group: GroupReport) -> GroupReport:
    """The group as its log shows it, whose end is not known."""
    found = group.findings
    over = tuple(w for w in found.not_stable if not w.open)
    return evolve(group, findings=evolve(found, unsettled=None, not_stable=over))


def _as_told(group: GroupReport, seen: Sequence[GroupReport]) -> GroupReport:
    """The group, by all that brokers tell of it."""
    timeline = group.timeline
    last = timeline.open
    since = (last.started or last.joined_at) if last is not None else None
    if last is None or since is None or since.time is None:
        return group
    later = (g.timeline.last for g in seen if g.coordinator != group.coordinator)
    if not any(at is not None and (at.time or 0) > since.time for at in later):
        return group
    rounds = [*timeline.rounds[:-1], evolve(last, outcome="lost")]
    return evolve(without_end(group), timeline=evolve(timeline, rounds=rounds))
