"""The handovers of a consumer group (KIP-848) as rows of a table, and in `--json`: who held which
partitions back, and for how long.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.oracles.replay import member_types
from groupcheck.oracles.replay.lanes import PARTITIONS_NAMED
from groupcheck.oracles.replay.rounds import lasted, short
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.phrases import some_of
from groupcheck.traces.story.handovers import together
from groupcheck.traces.story.moments import ACKNOWLEDGED, Handover, Moment, Round, elapsed

HANDOVER_COLUMNS = ("epoch", "partitions", "from", "to", "since", "told", "given up", "taken")
HANDOVERS_SHOWN = 24
ID_CHARS, TOPIC_CHARS = 22, 14
"""Characters of a topic's id, and how many of them are shown."""

Cells = tuple[str, str, str, str, str, str, str, str]


def handover_rows(rounds: Sequence[Round], room: int | None) -> list[Cells]:
    """The cells of `HANDOVER_COLUMNS`, in the order of time: what happened so long after the
    beginning. Member ids are cut to `room` characters.
    """
    return [_cells(x, h, room) for x in rounds for h in together(x.handovers)]


def _cells(x: Round, h: Handover, room: int | None) -> Cells:
    if h.released is None:
        gave = "" if h.taken is not None else h.how or "not yet"
    else:
        gave = _after(h, h.released, "")
        gave += f" ({h.how})" if h.how not in ("", ACKNOWLEDGED) else ""
    return (
        "?" if x.to_generation is None else str(x.to_generation),
        _names(h.partitions),
        short(h.source, room),
        "nobody" if h.dropped else short(h.heir, room) if h.heir else "?",
        show_time(h.since.time)[-12:],
        "" if h.asked == h.since else _after(h, h.asked, ""),
        gave,
        _after(h, h.taken, "not yet" if _waits(h) and not h.dropped else ""),
    )


def _waits(h: Handover) -> bool:
    """Is it known that somebody still waits? Of one member's log alone it is not."""
    return h.waits and (h.released is None or bool(h.heir))


def _after(h: Handover, at: Moment | None, never: str) -> str:
    ms = elapsed(h.since, at)
    return lasted(ms) if ms is not None else never if at is None else "?"


def _names(partitions: Sequence[str]) -> str:
    """`orders-3, -4, -5`."""
    out: list[str] = []
    topic = ""
    for partition in sorted(partitions, key=lambda p: (p.rpartition("-")[0], len(p), p)):
        before, _, number = partition.rpartition("-")
        name = short(before, TOPIC_CHARS) if len(before) == ID_CHARS else before
        out.append(f"-{number}" if before == topic else f"{name}-{number}")
        topic = before
    return some_of(out, PARTITIONS_NAMED)


def handover_documents(x: Round) -> list[member_types.Handover]:
    """All of a rebalance."""
    return [
        member_types.Handover(
            partitions=list(h.partitions),
            source=h.source,
            heir=h.heir or None,
            since=None if h.since.time is None else show_time(h.since.time),
            since_line=h.since.line or None,
            told_after_ms=elapsed(h.since, h.asked),
            held_ms=h.held_ms,
            released_by=h.how or None,
            taken_after_ms=elapsed(h.since, h.taken),
            waits=_waits(h),
        )
        for h in together(x.handovers)
    ]
