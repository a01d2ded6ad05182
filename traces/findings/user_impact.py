"""The findings that a group's timeline shows, whatever log it was made from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Literal

from groupcheck.traces.findings.findings import (
    FOUND_KEPT,
    HEARTBEAT,
    INITIAL_DELAY,
    REBALANCE,
    SESSION,
    Absence,
    ClientReason,
    Conflict,
    Empty,
    Findings,
    OpenRebalance,
    Restart,
    RoundsBy,
    Setting,
    StalledMember,
    Window,
)
from groupcheck.traces.findings.mass_expiry import mass_expiries
from groupcheck.traces.findings.short_consumers import POLL_TIMEOUT, short_consumers
from groupcheck.traces.story.events import RebalanceCause
from groupcheck.traces.story.member import Member, client_of
from groupcheck.traces.story.moments import Moment, Round, elapsed, ends_are_shown
from groupcheck.traces.story.timeline import Timeline

STOOD_MS = 10_000
MEASURED = 0.1
"""An interval that was measured may be longer than the one that was set, by this part."""
_ID = re.compile(r"\S{0,300}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SOON_MS = 60_000
_Kind = Literal["poll_timeout", "closed", "unsubscribed", "rejoin", "other"]
_REASONS: tuple[tuple[_Kind, str], ...] = (
    ("poll_timeout", POLL_TIMEOUT),
    ("closed", "being closed"),
    ("unsubscribed", "unsubscribe"),
    ("rejoin", "rejoin"),
    ("rejoin", "rebalance"),
    ("rejoin", "need to re-join"),
)


def findings_of(
    timeline: Timeline,
    *,
    away: Sequence[tuple[Moment, Moment, Literal["restart", "moved"]]] = (),
    waits_for: tuple[str, ...] = (),
) -> Findings:
    """The findings that the timeline shows. `away`: when the coordinator was gone; `waits_for`: the
    members that have not joined the round in which the log ends.
    """
    settings = tuple(_settings(timeline))
    # Only DEBUG lines tell when an epoch is reached by all, so a KIP-848 round may seem open.
    classic = not timeline.epochs
    return Findings(
        empty=tuple(_empty(timeline))[:FOUND_KEPT],
        not_stable=tuple(_not_stable(timeline))[:FOUND_KEPT] if classic else (),
        unsettled=_unsettled(timeline, waits_for) if classic else None,
        standing=tuple(_awaited(timeline))[:FOUND_KEPT],
        rounds=tuple(_rounds(timeline)),
        died_together=mass_expiries(timeline)[:FOUND_KEPT],
        restarts=tuple(_restart(timeline, *a) for a in away[:FOUND_KEPT]),
        settings=settings,
        conflicts=tuple(conflicts(settings)),
        absences=tuple(_absences(timeline))[:FOUND_KEPT],
        reasons=tuple(_reasons(timeline)),
        lives=short_consumers(timeline),
    )


def window(a: Moment | None, b: Moment | None, *, open: bool = False) -> Window:
    """From one moment to another."""
    line = a.line if a is not None else b.line if b is not None else 0
    return Window(a.time if a else None, b.time if b else None, line, open)


def _empty(t: Timeline) -> Iterator[Empty]:
    for k, r in enumerate(t.rounds):
        if r.outcome != "emptied":
            continue
        after = t.rounds[k + 1] if k + 1 < len(t.rounds) else None
        if _lived_on(r, after.from_generation if after is not None else t.died_in):
            continue
        until = after.started or after.joined_at if after else t.last
        went = tuple(dict.fromkeys([*r.expired, *r.not_rejoined, *r.left])) or r.causers
        ways = Counter(t.members[id].gone for id in went if id in t.members)
        how = ways.most_common(1)[0][0] if ways else ""
        polled = not any(
            POLL_TIMEOUT in (t.members[id].client_reason or "") for id in went if id in t.members
        )
        chosen = set(ways) == {"left"} if ways else by_leaving(r)
        chosen = chosen and polled
        yield Empty(
            window(r.joined_at, until, open=after is None), went, how, chosen, r.to_generation
        )


def _lived_on(emptied: Round, later: int | None) -> bool:
    """Had the group members again, by a later generation, though no line shows when?"""
    known = emptied.to_generation is not None and later is not None
    return known and (later or 0) > (emptied.to_generation or 0)


def by_leaving(r: Round) -> bool:
    """Did it begin because a member left by itself, and not because it did not poll in time?"""
    told = f"{r.reason} {r.client_reason or ''}"
    return r.cause is RebalanceCause.LEAVE and POLL_TIMEOUT not in told


def _not_stable(t: Timeline) -> Iterator[Window]:
    since: Moment | None = None
    for r in t.rounds:
        since = since or r.started
        if r.ended is not None:
            if since is not None:
                yield window(since, r.ended)
            since = None
        elif r.outcome == "lost":
            since = None
    if since is not None and t.open is not None:
        yield window(since, t.last, open=True)


def _unsettled(t: Timeline, waits_for: tuple[str, ...]) -> OpenRebalance | None:
    r = t.open
    if r is None or not ends_are_shown(t.rounds):
        return None
    since = r.started or r.joined_at
    joined = r.outcome == "stabilized"
    leader = (r.leader,) if joined and r.leader else ()
    return OpenRebalance(
        window(since, t.last, open=True),
        "sync" if joined else "join",
        leader if joined else waits_for,
    )


def _awaited(t: Timeline) -> Iterator[StalledMember]:
    for r in t.rounds:
        ms = elapsed(r.started, r.joined_at)
        if ms is not None and ms >= STOOD_MS:
            for id in r.held_up_by:
                yield StalledMember(id, client_of(id), window(r.started, r.joined_at), "awaited")


def _rounds(t: Timeline) -> Iterator[RoundsBy]:
    by: dict[RebalanceCause, list[Round]] = {}
    for r in t.rounds:
        by.setdefault(r.cause, []).append(r)
    for cause, rounds in sorted(by.items(), key=lambda c: (-len(c[1]), c[0].value)):
        starts = [r.started.time for r in rounds if r.started and r.started.time is not None]
        gaps = [b - a for a, b in pairwise(starts)]
        first = rounds[0].started or rounds[0].joined_at
        yield RoundsBy(
            cause,
            t.causes.get(cause.value, len(rounds)),
            Counter(client_of(id) for r in rounds for id in r.causers[:1]),
            int(median(gaps)) if gaps else None,
            Counter(r.client_reason for r in rounds if r.client_reason),
            first.line if first else 0,
        )


def _restart(t: Timeline, down: Moment, up: Moment, what: Literal["restart", "moved"]) -> Restart:
    after = next((r for r in t.rounds if _line(r) > up.line), None)
    followed: Literal["resumed", "rebalanced", "from_zero", "nothing"] = "nothing"
    known = any(_line(r) < down.line for r in t.rounds)
    if after is not None and after.from_generation == 0 and known:
        followed = "from_zero"
    elif (
        after is not None
        and after.cause != RebalanceCause.LEAVE
        and (elapsed(up, after.started) or 0) <= SOON_MS
    ):
        followed = "rebalanced"
    elif after is not None or (t.last is not None and t.last.line > up.line):
        followed = "resumed"
    named = after.from_generation if after is not None else None
    return Restart(window(down, up), what, followed, named)


def _line(r: Round) -> int:
    first = r.started or r.joined_at
    return first.line if first is not None else 0


def _settings(t: Timeline) -> Iterator[Setting]:
    told: dict[tuple[str, int], list[str]] = {}
    for client, asked in t.asked.items():
        told.setdefault((SESSION, asked.session), []).append(client)
        if asked.rebalance:
            told.setdefault((REBALANCE, asked.rebalance), []).append(client)
    for (name, value), clients in told.items():
        yield Setting(name, value, False, tuple(clients))
    initial = [
        ms
        for r in t.rounds
        if r.initial and r.outcome != "emptied" and (ms := elapsed(r.started, r.joined_at))
    ]
    if initial:
        yield Setting(INITIAL_DELAY, int(median(initial)), True, ())
    ended = [ms for r in t.rounds if r.not_rejoined and (ms := elapsed(r.started, r.joined_at))]
    if ended:
        clients = sorted({client_of(id) for r in t.rounds for id in r.not_rejoined})
        yield Setting(REBALANCE, int(median(ended)), True, tuple(clients))
    for died in mass_expiries(t):
        if died.session_ms is not None and not t.asked:
            clients = sorted({client_of(id) for id in died.members})
            yield Setting(SESSION, died.session_ms, True, tuple(clients), died.first.line)
            return


def conflicts(settings: Iterable[Setting]) -> Iterator[Conflict]:
    """Settings of one client that cannot work together."""
    some = list(settings)
    for session in (s for s in some if s.name == SESSION):
        for other in some:
            if not set(session.clients) & set(other.clients):
                continue
            pair, who = (session, other), ", ".join(sorted(set(session.clients))[:3])
            a, b = f"{SESSION} {session.value_ms}", f"{other.name} {other.value_ms}"
            if other.name == HEARTBEAT and session.value_ms <= other.value_ms:
                text = f"{a} of {who} is not longer than its {b}: its session ends between two"
                yield Conflict("session_below_heartbeat", f"{text} heartbeats", pair)
            elif other.name == HEARTBEAT and session.value_ms < 3 * _at_least(other):
                text = f"{a} of {who} is shorter than three times its {b}"
                yield Conflict("session_below_three_heartbeats", text, pair)
            elif (
                other.name == REBALANCE and not other.measured and other.value_ms < session.value_ms
            ):
                text = f"{b} of {who} is shorter than its {a}"
                yield Conflict("rebalance_below_session", text, pair)


def _at_least(setting: Setting) -> float:
    """The interval that was set, at the least."""
    return setting.value_ms * (1 - MEASURED if setting.measured else 1)


def _absences(t: Timeline) -> Iterator[Absence]:
    for m in t.members.values():
        silent = m.gone == "gone" and bool(t.epochs) and m.id in t.signs  # only requests tell
        if m.gone == "expired" or silent:
            since = t.signs.get(m.id)  # a coordinator's own log does not show heartbeats
            line = m.ended.line if m.ended else 0
            until = m.ended.time if m.ended else None
            kind: Literal["dead", "frozen"] = "frozen" if m.id in t.came_back else "dead"
            yield Absence(m.id, client_of(m.id), Window(since, until, line), kind)
        elif m.gone in ("not_rejoined", "fenced") or POLL_TIMEOUT in (m.client_reason or ""):
            yield Absence(m.id, client_of(m.id), _slow(t, m), "slow")


def _slow(t: Timeline, m: Member) -> Window:
    """The round that waited for it, or the time until it left."""
    r = next((r for r in t.rounds if m.id in r.not_rejoined), None)
    return window(r.started, r.joined_at) if r is not None else window(m.ended, m.ended)


def _reasons(t: Timeline) -> Iterator[ClientReason]:
    found: dict[str, dict[str, int]] = {}
    counts: Counter[str] = Counter()
    for m in t.members.values():
        if m.client_reason and m.ended is not None:
            text = _plain(m.client_reason)
            counts[text] += 1
            found.setdefault(text, {})[m.id] = m.ended.line
    for r in t.rounds:
        if r.client_reason and r.started is not None and r.cause != RebalanceCause.LEAVE:
            text = _plain(r.client_reason)
            counts[text] += 1
            for id in r.causers:
                found.setdefault(text, {}).setdefault(id, r.started.line)
    for text, count in counts.most_common(FOUND_KEPT):
        if text == "not provided":
            continue
        kind: _Kind = next((k for k, word in _REASONS if word in text), "other")
        who = found.get(text, {})
        yield ClientReason(kind, text, count, tuple(who)[:FOUND_KEPT], min(who.values(), default=0))


def _plain(reason: str) -> str:
    """The reason without member ids, so that alike reasons are the same text."""
    return _ID.sub("...", reason[:500])
