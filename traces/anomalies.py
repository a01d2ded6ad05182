"""What stands out in a group's timeline: rebalance storms, ghosts, members that bounce, rounds that
waited for a member that was gone.

Thresholds are named constants, and the evidence has the figures, so that readers can judge for
themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from groupcheck.traces.moments import Round, elapsed
from groupcheck.traces.report import Anomaly
from groupcheck.traces.timeline import Member, Timeline, client_of
from groupcheck.traces.timestamps import show_time

STORM_ROUNDS, STORM_MS = 10, 600_000
BURST_LEAST = 3
SLOW_MS = 10_000
SHORT_LIVES, SHORT_LIFE_MS = 3, 10_000
BOUNCE_IDS, BOUNCE_GONE = 4, 3
HOUR_MS = 3_600_000
SHOWN = 20


def find_anomalies(timeline: Timeline) -> Iterator[Anomaly]:
    """All of them, in a fixed order of kinds."""
    yield from _storm(timeline)
    yield from _blocked(timeline)
    yield from _missed_the_window(timeline)
    yield from _ghosts(timeline)
    yield from _never_joined(timeline)
    yield from _bounces(timeline)
    yield from _short_lives(timeline)
    yield from _unassigned(timeline)


def _names(ids: list[str] | tuple[str, ...]) -> str:
    return ", ".join(ids[:SHOWN]) + (f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else "")


def plural(n: int, what: str) -> str:
    """`1 rebalance`, `2 rebalances`."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def seconds(ms: int) -> str:
    """`12.3 s`, `250 ms`."""
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s"


def busiest(starts: list[int], window: int) -> tuple[int, int]:
    """The window of `window` ms with the most rebalances: (how many, when it begins)."""
    most, when, left = 0, 0, 0
    for right, time in enumerate(starts):
        while time - starts[left] > window:
            left += 1
        if right - left + 1 > most:
            most, when = right - left + 1, starts[left]
    return most, when


def period(starts: list[int]) -> int | None:
    """The median time between the beginnings of two rebalances, in milliseconds."""
    gaps = [b - a for a, b in pairwise(starts)]
    return int(median(gaps)) if gaps else None


def _storm(timeline: Timeline) -> Iterator[Anomaly]:
    starts = sorted(timeline.starts)
    most, when = busiest(starts, STORM_MS)
    if most < STORM_ROUNDS:
        return
    causes = sorted(timeline.causes.items(), key=lambda c: (-c[1], c[0]))
    in_an_hour, _ = busiest(starts, HOUR_MS)
    gap = period(starts)
    text = (
        f"{most} rebalances within {STORM_MS // 60_000} minutes, most often because of"
        f" {causes[0][0]}"
    )
    evidence = [
        f"from {show_time(when)}",
        f"{in_an_hour} within an hour at most",
        f"a rebalance every {seconds(gap or 0)} (median)",
        "causes: " + ", ".join(f"{name} {n}" for name, n in causes),
    ]
    share = unstable_share(timeline)
    if share is not None:
        evidence.append(f"{share:.0%} of the time not Stable")
    line = next(
        (r.started.line for r in timeline.rounds if r.started and r.started.time == when), 0
    )
    yield Anomaly("rebalance_storm", line, text, tuple(evidence))


def unstable_share(timeline: Timeline) -> float | None:
    """The part of the observed time in which a classic group was rebalancing; None without
    timestamps or join phases.
    """
    if not timeline.counts.get("stabilized") and not timeline.counts.get("emptied"):
        return None
    whole = elapsed(timeline.first, timeline.last)
    return min(timeline.unstable_ms / whole, 1.0) if whole else None


def _join_ms(round: Round) -> int | None:
    return elapsed(round.started, round.joined_at)


def _blocked(timeline: Timeline) -> Iterator[Anomaly]:
    """Rounds that waited for members that were gone, until a session timeout ended the wait."""
    waits = [
        (ms, r)
        for r in timeline.rounds
        if r.waited_for.startswith("gone")
        and r.started is not None
        and (ms := _join_ms(r)) is not None
        and ms >= SLOW_MS
    ]
    if not waits:
        return
    total = sum(ms for ms, _ in waits)
    slowest, round = max(waits, key=lambda w: w[0])
    who = sorted({id for _, r in waits for id in r.held_up_by})
    assert round.started is not None
    yield Anomaly(
        "blocked_by_departed_member",
        round.started.line,
        f"{plural(len(waits), 'rebalance')} waited {seconds(total)} in all for members that were"
        f" gone without leaving, at most {seconds(slowest)}",
        (f"expired: {_names(who)}",),
    )


def _missed_the_window(timeline: Timeline) -> Iterator[Anomaly]:
    missed = [r for r in timeline.rounds if r.not_rejoined]
    if not missed:
        return
    lengths = [ms for r in missed if (ms := _join_ms(r)) is not None]
    removed = sum(len(r.not_rejoined) for r in missed)
    clients = Counter(client_of(id) for r in missed for id in r.not_rejoined)
    joined = sum(
        1 for m in timeline.members.values() if m.joined is not None and client_of(m.id) in clients
    )
    evidence = [
        f"{int(median(len(r.not_rejoined) for r in missed))} members a round (median)",
        f"clients: {_names([f'{c} ({n})' for c, n in clients.most_common()])}",
        f"{joined:,} ids of these clients joined in this log",
    ]
    if lengths:
        evidence.insert(
            0,
            f"the join phase lasted {seconds(int(median(lengths)))} (median), which is then the"
            " rebalance timeout",
        )
    first = missed[0].started or missed[0].joined_at
    text = (
        f"{plural(len(missed), 'rebalance')} ended by the rebalance timeout;"
        f" {plural(removed, 'member')} removed for not rejoining"
    )
    yield Anomaly("join_window_missed", first.line if first else 0, text, tuple(evidence))


def _ghosts(timeline: Timeline) -> Iterator[Anomaly]:
    """Members that expired together: their timers were armed together when a generation began, and
    no sign of life came from them since.
    """
    bursts = [b for b in timeline.bursts if b.count >= BURST_LEAST]
    if not bursts:
        return
    ids = [id for b in bursts for id in b.members]
    known = [timeline.members[id] for id in ids if id in timeline.members]
    seen = [m for m in known if m.joined is not None]
    unused = [m for m in seen if not m.used and not m.led]
    before = len(ids) - len(seen)
    clients = Counter(client_of(id) for id in ids)
    count = sum(b.count for b in bursts)
    largest = max(bursts, key=lambda b: b.count)
    text = (
        f"{count} members expired in bulk ({plural(len(bursts), 'time')}, at most {largest.count}"
        " together): ghosts, ids that nobody used after joining"
    )
    evidence = [
        f"{len(unused)} of them joined in this log and never led, rejoined visibly or left",
        f"{before} of them had joined before the log begins",
        f"clients: {_names([f'{c} ({n})' for c, n in clients.most_common()])}",
        f"largest generation: {timeline.largest} members",
        f"at line {largest.first.line} to {largest.last.line}",
    ]
    crowded = max(timeline.rounds, key=lambda r: len(r.joined), default=None)
    if crowded is not None and len(crowded.joined) >= BURST_LEAST:
        evidence.append(
            f"{len(crowded.joined)} ids joined in one round (to generation {crowded.to_generation})"
        )
    yield Anomaly("ghost_members", bursts[0].first.line, text, tuple(evidence))


def _never_joined(timeline: Timeline) -> Iterator[Anomaly]:
    unused = [m for m in timeline.members.values() if m.gone == "never_joined"]
    if unused:
        first = unused[0].handed_out or unused[0].ended
        yield Anomaly(
            "ids_never_used",
            first.line if first else 0,
            f"{plural(len(unused), 'id')} handed out and never used",
            (_names([m.id for m in unused]),),
        )


def _bounces(timeline: Timeline) -> Iterator[Anomaly]:
    """Clients that come back under new ids again and again."""
    lives: dict[str, list[Member]] = {}
    for m in timeline.members.values():
        if m.joined is not None or m.handed_out is not None:
            lives.setdefault(client_of(m.id), []).append(m)
    often = sorted(
        (
            (c, ms)
            for c, ms in lives.items()
            if len(ms) >= BOUNCE_IDS and sum(1 for m in ms if m.gone) >= BOUNCE_GONE
        ),
        key=lambda x: (-len(x[1]), x[0]),
    )
    if often:
        client, members = often[0]
        gone = Counter(m.gone for m in members if m.gone)
        first = members[0].handed_out or members[0].joined
        yield Anomaly(
            "bouncing_members",
            first.line if first else 0,
            f"{plural(len(often), 'client')} came back under new ids; {client} had {len(members)}",
            (
                *(f"{c}: {len(ms)} ids" for c, ms in often[:SHOWN]),
                f"{client} went: " + ", ".join(f"{k} {n}" for k, n in gone.most_common()),
            ),
        )


def _short_lives(timeline: Timeline) -> Iterator[Anomaly]:
    lives = [
        (ms, m)
        for m in timeline.members.values()
        if m.gone in ("left", "expired")
        and m.joined is not None
        and (ms := elapsed(m.joined, m.ended)) is not None
        and ms < SHORT_LIFE_MS
    ]
    if len(lives) >= SHORT_LIVES:
        typical = int(median(ms for ms, _ in lives))
        shortest, member = min(lives, key=lambda x: x[0])
        assert member.joined is not None
        yield Anomaly(
            "short_lived_members",
            member.joined.line,
            f"{len(lives)} members were gone within {SHORT_LIFE_MS // 1000} s of joining",
            (f"median {seconds(typical)}, shortest {seconds(shortest)}",),
        )


def _unassigned(timeline: Timeline) -> Iterator[Anomaly]:
    missing = [
        r
        for r in timeline.rounds
        if r.outcome in ("interrupted", "lost") and r.joined_at is not None
    ]
    if missing:
        first = missing[0].joined_at
        yield Anomaly(
            "generation_without_assignment",
            first.line if first else 0,
            f"{plural(len(missing), 'generation')} stabilized and given up before the leader's"
            " assignment arrived",
            (f"generations: {_names([str(r.to_generation) for r in missing])}",),
        )
