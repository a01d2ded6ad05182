"""The answer to `replay --what-if` as one HTML page with a picture for each group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groupcheck.oracles.printable import printable
from groupcheck.oracles.replay.what_if.answer import WhatIf, interval
from groupcheck.oracles.replay.what_if.document import generations, sentences
from groupcheck.oracles.replay.what_if.view import HEAD, by_client, cells, change_of
from groupcheck.oracles.show.files import write
from groupcheck.oracles.simulate.uses.plots import (
    fixed,
    needed,
    page,
    picture,
    saved,
    table,
    text,
)

MOST_ROUNDS = 60
MOST_PROCESSES = 40


def drawn(w: WhatIf, format: str) -> bytes:
    """Three panels: rounds that the events of each rebalance begin, how long each process stands
    still, and how long partitions have no reader, in the baseline and after the change. Equal
    answers give equal bytes.
    """
    needed("a plot")
    from matplotlib.figure import Figure

    rows = [row for row in w.rows if row.simulated][:MOST_ROUNDS]
    stood = by_client(w.stood)[:MOST_PROCESSES]
    with fixed():
        figure = Figure(figsize=(11, 6 + 0.25 * len(stood)), layout="tight")
        above, below, last = figure.subplots(3, 1, height_ratios=(4, 4, 1))
        _bars(
            above,
            [generations(r.round) for r in rows],
            [sum(r.baseline) / w.replications for r in rows],
            [sum(r.changed) / w.replications for r in rows],
        )
        above.set_ylabel("rounds")
        above.set_title("Rounds that the events of each rebalance of the log begin", fontsize=10)
        above.tick_params(axis="x", rotation=90)
        below.set_title("Seconds that each process stands still", fontsize=10)
        _bars(
            below,
            [printable(s.names[-1])[:30].replace("$", r"\$") for s in stood],
            [interval(s.baseline).mean / 1000 for s in stood],
            [interval(s.changed).mean / 1000 for s in stood],
        )
        below.tick_params(axis="x", rotation=90)
        last.set_title("Seconds that partitions have no reader, summed up", fontsize=10)
        last.barh(["after", "baseline"], [interval(w.stopped[k]).mean / 1000 for k in (1, 0)])
        last.patches[0].set_color("C1")
        last.grid(axis="x", alpha=0.3)
        return saved(figure, format)


def _bars(axes: Any, names: Sequence[str], before: Sequence[float], after: Sequence[float]) -> None:
    places = range(len(names))
    axes.bar([k - 0.2 for k in places], before, width=0.4, label="baseline")
    axes.bar([k + 0.2 for k in places], after, width=0.4, label="after the change")
    axes.set_xticks([*places], names)
    axes.grid(axis="y", alpha=0.3)
    axes.legend()


def write_html(found: Sequence[WhatIf], path: Path) -> None:
    """Writes one page about the group with the most rebalances. Raises `UserError`."""
    w = max(found, key=lambda one: len(one.rows))
    parts = [
        picture(drawn(w, "svg")),
        *map(text, sentences(w)),
        text(f"Seed {w.seed}, {w.replications} replications, 95 % t intervals."),
        table(HEAD, [cells(row) for row in w.rows]),
    ]
    write(path, page(f"{w.outside.group}: what if {change_of(w)}?", parts))
