"""Anomalies in a group's timeline: rebalance storms, ghosts, members that bounce, rounds that
waited for a member that was gone.

Thresholds are named constants, and the evidence has the figures, so that readers can judge for
themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from statistics import median

from groupcheck.traces.findings.held_back import held_back
from groupcheck.traces.findings.mass_expiry import MassExpiry, mass_expiries
from groupcheck.traces.findings.report import Anomaly
from groupcheck.traces.findings.short_consumers import POLL_TIMEOUT, ShortConsumers, short_consumers
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.phrases import SHOWN, plural, seconds, some_of
from groupcheck.traces.story.events import RebalanceCause
from groupcheck.traces.story.member import Member, client_of
from groupcheck.traces.story.moments import Round, elapsed
from groupcheck.traces.story.timeline import Timeline

STORM_ROUNDS, STORM_MS = 10, 600_000
SLOW_MS = 10_000
LOOP_ROUNDS, LOOP_GAP_MS = 5, 10_000
SHORT_LIVES, SHORT_LIFE_MS = 3, 10_000
SHORT_LOG_MS = 60_000
PILE_LEAST = 10
BOUNCE_IDS, BOUNCE_GONE = 4, 3
HOUR_MS = 3_600_000
FEW = 3
LINES_QUOTED = 3
"""So many of the lines from which something was counted are quoted."""


def find_anomalies(timeline: Timeline) -> Iterator[Anomaly]:
    """All of them, in a fixed order of kinds."""
    yield from _storm(timeline)
    yield from _blocked(timeline)
    yield from _missed_the_window(timeline)
    yield from _ghosts(timeline)
    yield from _piled_up(timeline)
    yield from _never_joined(timeline)
    yield from _bounces(timeline)
    yield from _short_lives(timeline)
    yield from _unassigned(timeline)
    yield from held_back(timeline)


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
    lives = short_consumers(timeline)
    if lives is not None:
        yield _of_lives(lives)
        return
    starts = sorted(timeline.starts)
    most, when = busiest(starts, STORM_MS)
    if most < STORM_ROUNDS:
        yield from _loop(timeline)
        return
    if _replaced(timeline):
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
    lines = _begun(
        r for r in timeline.rounds if r.started and r.started.time and r.started.time >= when
    )
    yield Anomaly("rebalance_storm", lines[0] if lines else 0, text, tuple(evidence), lines=lines)


def _replaced(timeline: Timeline) -> bool:
    """Does each round only show that a client came or left on purpose, each once, and no more of
    them than it takes to replace the whole group? A rolling deployment looks like this.
    """
    rounds = timeline.rounds
    if len(rounds) < timeline.counts.get("rebalances", 0):  # not all of them were kept
        return False
    if any(
        r.cause not in (RebalanceCause.JOIN, RebalanceCause.LEAVE)
        or POLL_TIMEOUT in (r.client_reason or "")
        for r in rounds
    ):
        return False
    caused = Counter((client_of(id), r.cause) for r in rounds for id in r.causers)
    size = max((r.size or 0 for r in rounds), default=0)
    return max(caused.values(), default=0) == 1 and len({c for c, _ in caused}) <= 2 * size


def _of_lives(lives: ShortConsumers) -> Anomaly:
    each = "" if lives.life_ms is None else f", each for {seconds(lives.life_ms)} (median)"
    begun = f"{plural(lives.count, 'consumer')} came one after the other{each}"
    often = [] if lives.period_ms is None else [f"one every {seconds(lives.period_ms)} (median)"]
    evidence = [
        f"client: {lives.client}",
        f"{lives.left} left, {lives.expired} expired",
        *often,
    ]
    if lives.closed:
        return Anomaly(
            "one_consumer_a_message",
            lives.first.line,
            f"{begun}, and was closed: one consumer a message, or one a run",
            tuple(evidence),
        )
    if lives.silent_ms is not None:
        ended = (
            f"each expired {seconds(lives.silent_ms)} after its generation: no heartbeat came,"
            " or it was never closed"
        )
    else:
        ended = "never closed: each stayed in the group until its session ended"
    return Anomaly("never_closed", lives.first.line, f"{begun}; {ended}", tuple(evidence))


def _loop(timeline: Timeline) -> Iterator[Anomaly]:
    """One client that causes one round after the other, although its log is too short for a
    storm.
    """
    caused: dict[str, list[Round]] = {}
    for r in timeline.rounds:
        if r.causers and r.started is not None and r.started.time is not None:
            caused.setdefault(client_of(r.causers[0]), []).append(r)
    for client, rounds in sorted(caused.items(), key=lambda c: (-len(c[1]), c[0])):
        # The first round of each id that lives beside others of its client is no repetition.
        again = rounds[_most_at_once(timeline, client) :]
        starts = [r.started.time for r in rounds if r.started and r.started.time is not None]
        gap = period(starts[-len(again) - 1 :])
        if len(again) < LOOP_ROUNDS or gap is None or gap > LOOP_GAP_MS:
            continue
        why = Counter(r.cause.value for r in rounds)
        yield Anomaly(
            "rebalance_storm",
            rounds[0].started.line if rounds[0].started else 0,
            f"{plural(len(rounds), 'rebalance')} in {seconds(starts[-1] - starts[0])}, all caused"
            f" by {client}: one every {seconds(gap)} (median)",
            ("causes: " + ", ".join(f"{name} {n}" for name, n in why.most_common()),),
            lines=_begun(rounds),
        )
        return


def _begun(rounds: Iterable[Round]) -> tuple[int, ...]:
    """The lines with which the first rounds begin."""
    return tuple([r.started.line for r in rounds if r.started is not None][:LINES_QUOTED])


def _joined(members: Iterable[Member]) -> tuple[int, ...]:
    """The lines in which the first members came."""
    came = [m.handed_out or m.joined for m in members]
    return tuple([at.line for at in came if at is not None][:LINES_QUOTED])


def _most_at_once(timeline: Timeline, client: str) -> int:
    """How many ids of a client were members at a time, at most."""
    steps = []
    for m in timeline.members.values():
        if client_of(m.id) == client and m.first_seen is not None:
            steps.append((m.first_seen.line, 1))
            if m.ended is not None:
                steps.append((m.ended.line, -1))
    most = now = 0
    for _, step in sorted(steps):
        now += step
        most = max(most, now)
    return most


def unstable_share(timeline: Timeline) -> float | None:
    """The part of the observed time, as long as there was a group, in which a classic group
    rebalanced; None without timestamps or join phases.
    """
    if not timeline.counts.get("stabilized") and not timeline.counts.get("emptied"):
        return None
    if timeline.rounds and not any(r.started and r.started.time for r in timeline.rounds):
        return None  # a dump does not tell when rebalances begin
    whole = (elapsed(timeline.first, timeline.last) or 0) - timeline.absent_ms
    return min(timeline.unstable_ms / whole, 1.0) if whole > 0 else None


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
    ]
    if not any(ms >= SLOW_MS for ms, _ in waits):
        return
    total = sum(ms for ms, _ in waits)
    slowest, round = max(waits, key=lambda w: w[0])
    who = list(dict.fromkeys([*round.held_up_by, *(id for _, r in waits for id in r.held_up_by)]))
    assert round.started is not None
    yield Anomaly(
        "blocked_by_departed_member",
        round.started.line,
        f"{plural(len(waits), 'rebalance')} waited {seconds(total)} in all for members that were"
        f" gone without leaving, at most {seconds(slowest)}",
        (f"expired: {some_of(who, FEW)}",),
        lines=_begun([round, *(r for _, r in waits if r is not round)]),
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
        f"clients: {some_of([f'{c} ({n})' for c, n in clients.most_common()])}",
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
    times = [m.time for r in missed if (m := r.started or r.joined_at) and m.time is not None]
    line, span = first.line if first else 0, (min(times, default=None), max(times, default=None))
    yield Anomaly("join_window_missed", line, text, tuple(evidence), *span, lines=_begun(missed))


def _ghosts(timeline: Timeline) -> Iterator[Anomaly]:
    """Members that expired together: ghosts, and members that died at one time."""
    deaths = mass_expiries(timeline)
    ghosts = [d for d in deaths if d.ghosts]
    if ghosts:
        yield _of_ghosts(timeline, ghosts)
    died = [d for d in deaths if not d.ghosts]
    if died:
        yield _of_dead(died)


def _of_ghosts(timeline: Timeline, ghosts: list[MassExpiry]) -> Anomaly:
    count, largest = sum(d.count for d in ghosts), max(ghosts, key=lambda d: d.count)
    assert largest.session_ms is not None
    evidence = [
        f"clients: {_clients(id for d in ghosts for id in d.members)}",
        f"largest generation: {timeline.largest} members",
        f"at line {largest.first.line} to {largest.last.line}",
    ]
    if largest.after_ms is not None:
        evidence.insert(
            0,
            f"each expired {seconds(largest.after_ms)} after its only generation or its join: a"
            " whole session without a heartbeat",
        )
    return Anomaly(
        "ghost_members",
        ghosts[0].first.line,
        f"{count} members expired in bulk ({plural(len(ghosts), 'time')}, at most {largest.count}"
        " together): ghosts, ids that nobody used after joining",
        tuple(evidence),
        *_span(ghosts),
        tuple(d.first.line for d in ghosts[:LINES_QUOTED]),
    )


def _span(died: list[MassExpiry]) -> tuple[int | None, int | None]:
    """When the first and the last of them expired, in ms."""
    times = [time for d in died for time in (d.first.time, d.last.time) if time is not None]
    return min(times, default=None), max(times, default=None)


def _of_dead(died: list[MassExpiry]) -> Anomaly:
    largest = max(died, key=lambda d: d.count)
    after = largest.after_ms
    if after:
        text = (
            f"{largest.count} members were removed together, {seconds(after)} after the last"
            " generation: killed or cut off"
        )
    else:
        text = (
            f"{largest.count} members expired together; the log does not show their last"
            " generation, so it is open whether their processes died or were cut off, or nobody"
            " used these ids"
        )
    if len(died) > 1:
        text += f" ({plural(len(died), 'time')} in all, {sum(d.count for d in died)} members)"
    evidence = [f"clients: {_clients(id for d in died for id in d.members)}"]
    evidence += [
        f"line {d.first.line}: {d.count} members"
        + (f", {seconds(d.after_ms)} after the last generation" if d.after_ms else "")
        + f": {some_of(d.members, FEW)}"
        for d in died[:SHOWN]
    ]
    return Anomaly(
        "died_together",
        largest.first.line,
        text,
        tuple(evidence),
        *_span(died),
        tuple(dict.fromkeys((largest.first.line, largest.last.line))),
    )


def _clients(ids: Iterable[str]) -> str:
    return some_of([f"{c} ({n})" for c, n in Counter(map(client_of, ids)).most_common()])


def _piled_up(timeline: Timeline) -> Iterator[Anomaly]:
    """Ids of one client that pile up in one join phase, each made for a JoinGroup without an id."""
    crowded = max(timeline.rounds, key=lambda r: len(r.joined), default=None)
    if crowded is None or len(crowded.joined) < PILE_LEAST:
        return
    client, n = Counter(map(client_of, crowded.joined)).most_common(1)[0]
    ms = _join_ms(crowded)
    if n < PILE_LEAST or ms is None or ms < SLOW_MS or not crowded.handed_at_once:
        return
    yield Anomaly(
        "ids_pile_up",
        crowded.started.line if crowded.started else 0,
        f"{n} ids of {client} joined in one round of {seconds(ms)} (to generation"
        f" {crowded.to_generation}), made without the second step of a join: who repeats its"
        " JoinGroup gets another id each time",
        (f"largest generation: {timeline.largest} members",),
    )


def _never_joined(timeline: Timeline) -> Iterator[Anomaly]:
    unused = [
        m
        for m in timeline.members.values()
        if m.gone == "never_joined" and m.joined is None and m.id not in timeline.signs
    ]
    if unused:
        first = unused[0].handed_out or unused[0].ended
        yield Anomaly(
            "ids_never_used",
            first.line if first else 0,
            f"{plural(len(unused), 'id')} handed out and never used",
            (some_of([m.id for m in unused]),),
        )


def _bounces(timeline: Timeline) -> Iterator[Anomaly]:
    """Clients that come back under new ids again and again, unless their consumers come one after
    the other, which is another finding. A static member gets a new id each time that it comes back.
    """
    if short_consumers(timeline) is not None:
        return
    lives: dict[str, list[Member]] = {}
    for m in timeline.members.values():
        if m.instance is None and (m.joined is not None or m.handed_out is not None):
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
            lines=_joined(members),
        )


def _short_lives(timeline: Timeline) -> Iterator[Anomaly]:
    """Says nothing about a log shorter than a minute, in which every life is short."""
    if (elapsed(timeline.first, timeline.last) or 0) < SHORT_LOG_MS:
        return
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
            (f"generations: {some_of([str(r.to_generation) for r in missing])}",),
        )
