"""Members of a consumer group (KIP-848) that held partitions back which others waited for."""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.traces.findings.report import Anomaly
from groupcheck.traces.phrases import plural, seconds, some_of
from groupcheck.traces.story.handovers import together
from groupcheck.traces.story.moments import ACKNOWLEDGED, Handover, Moment, elapsed
from groupcheck.traces.story.timeline import Timeline

HELD_MS = 10_000
"""A member is told with its next heartbeat (group.consumer.heartbeat.interval.ms, 5 s), and gives
partitions up as soon as its callback and its commit are over.
"""
NAMED = 3
FOUND_KEPT = 100


def held_back(timeline: Timeline) -> Iterator[Anomaly]:
    """Each time that a living member held partitions back for long, in the order of time."""
    some = (h for x in timeline.rounds for h in together(x.handovers))
    found = (a for h in some if (a := _held(h, timeline.last)) is not None)
    for _, anomaly in zip(range(FOUND_KEPT), found, strict=False):
        yield anomaly


def _held(h: Handover, end: Moment | None) -> Anomaly | None:
    if h.how not in ("", ACKNOWLEDGED) or (h.released is None and h.taken):
        return None
    until = h.released or end
    ms = elapsed(h.since, until)
    if ms is None or ms < HELD_MS or until is None:
        return None
    names = f"{plural(len(h.partitions), 'partition')} ({some_of(sorted(h.partitions), NAMED)})"
    told = elapsed(h.since, h.asked)
    heard = "no line shows that it was told"
    if told is not None:
        heard = f"it was told after {seconds(told)}"
    waits = f"{h.heir} waited for them" if h.heir else "nobody was to have them"
    still = "" if h.released is not None else ", and still did when the log ended"
    text = (
        f"{h.source} held {names} back for {seconds(ms)}{still} (a new target assignment took them"
        f" away; {heard}); {waits}"
    )
    lines = tuple(at.line for at in (h.since, h.asked, h.released) if at is not None and at.line)
    return Anomaly("partitions_held_back", h.since.line, text, (), h.since.time, until.time, lines)
