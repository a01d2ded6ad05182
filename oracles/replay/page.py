"""A replay as one HTML page: no script, no network; every text is escaped by the template."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from groupcheck.oracles.replay.text import MUST_SEE, file_facts, group_facts, round_cells
from groupcheck.oracles.show.pages import PAGE, render
from groupcheck.traces.moments import Moment, Round
from groupcheck.traces.report import FileReport, GroupReport, worst_of
from groupcheck.traces.timestamps import show_time

WIDTH = 1000
GROUPS_SHOWN = 500
ROUNDS_SHOWN = 2000
MEMBERS_SHOWN = 2000


@frozen
class Bar:
    """A stretch of a group's life in the picture."""

    # Of `WIDTH` units.
    x: float
    width: float
    # preparing, completing, stable or empty
    kind: str
    title: str


def bars(g: GroupReport) -> list[Bar]:
    """The rounds of a group as stretches of time; none without timestamps."""
    t = g.timeline
    if (
        t.first is None
        or t.last is None
        or t.first.time is None
        or t.last.time is None
        or t.last.time <= t.first.time
    ):
        return []
    begin, whole = t.first.time, t.last.time - t.first.time
    drawn = []

    def stretch(start: Moment | None, end: Moment | None, kind: str, title: str) -> None:
        if (
            start is None
            or end is None
            or start.time is None
            or end.time is None
            or end.time < start.time
        ):
            return
        x = (start.time - begin) / whole * WIDTH
        drawn.append(
            Bar(
                round(x, 2),
                round(max((end.time - start.time) / whole * WIDTH, 0.6), 2),
                kind,
                title,
            )
        )

    shown = t.rounds[-ROUNDS_SHOWN:]
    for k, x in enumerate(shown):
        following = shown[k + 1].started if k + 1 < len(shown) else t.last
        stretch(
            x.started,
            x.joined_at or following,
            "preparing",
            f"to generation {x.to_generation}: {x.cause.value}",
        )
        if x.outcome == "emptied":
            stretch(x.joined_at, following, "empty", "Empty")
            continue
        stretch(
            x.joined_at,
            x.assigned or following,
            "completing",
            f"generation {x.to_generation} waits for its assignment",
        )
        stretch(x.assigned, following, "stable", f"generation {x.to_generation} is Stable")
    return drawn


def page(reports: Sequence[FileReport], layout: str = PAGE) -> str:
    """The whole page, or with the layout `FRAGMENT` a part of a notebook."""
    verdict, reason = worst_of(reports)
    return render(
        "replay.html",
        layout,
        reports=reports,
        verdict=verdict,
        reason=reason,
        width=WIDTH,
        must_see=MUST_SEE,
        groups_shown=GROUPS_SHOWN,
        rounds_shown=ROUNDS_SHOWN,
        members_shown=MEMBERS_SHOWN,
        bars=bars,
        file_facts=file_facts,
        group_facts=group_facts,
        cells=_cells,
        when=_when,
    )


def _cells(x: Round) -> tuple[str, ...]:
    return (str((x.started or x.joined_at or Moment(0, None)).line), *round_cells(x))


def _when(moment: Moment | None) -> str:
    return "" if moment is None else show_time(moment.time)
