"""The answer to `replay --what-if` as one HTML page with a picture for each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from groupcheck.oracles.printable import printable
from groupcheck.oracles.replay.what_if.answer import RebalanceRow, Stood, WhatIf, interval
from groupcheck.oracles.replay.what_if.document import generations, sentences, unit_of
from groupcheck.oracles.replay.what_if.view import (
    HEAD,
    PROCESSES,
    by_client,
    cells,
    change_of,
    stood_cells,
)
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
BESIDE = 100  # letters of names that stand beside each other below an axis


def drawn(w: WhatIf, format: str) -> bytes:
    """Up to three panels: rounds that the events of each rebalance begin, how long each process
    stands still, and how long partitions have no reader, in the baseline and after the change. One
    in which all is 0 is left out. Equal answers give equal bytes.
    """
    needed("a plot")
    from matplotlib.figure import Figure

    rows = [row for row in w.rows if row.simulated][:MOST_ROUNDS]
    stood = [one for one in by_client(w.stood) if any((*one.baseline, *one.changed))]
    stood = stood[:MOST_PROCESSES]
    panels: list[tuple[int, Callable[[Any], None]]] = []
    if rows:
        panels.append((4, partial(_rounds, w, rows)))
    if stood:
        panels.append((4, partial(_stood, stood)))
    if any(map(any, w.stopped)):
        panels.append((1, partial(_stopped, w)))
    with fixed():
        height = 1 + sum(0.6 + 0.55 * weight for weight, _ in panels) + 0.12 * len(rows)
        figure = Figure(figsize=(11, height), layout="tight")
        every = figure.subplots(
            max(len(panels), 1), 1, squeeze=False, height_ratios=[k for k, _ in panels] or [1]
        )
        for (axes,), (_, draw) in zip(every, panels):
            draw(axes)
        return saved(figure, format)


def _rounds(w: WhatIf, rows: Sequence[RebalanceRow], axes: Any) -> None:
    axes.set_title("Rounds that the events of each rebalance of the log begin", fontsize=10)
    _bars(
        axes,
        [generations(r.round) for r in rows],
        [sum(r.baseline) / w.replications for r in rows],
        [sum(r.changed) / w.replications for r in rows],
    )
    axes.set_ylabel("rounds")


def _stood(stood: Sequence[Stood], axes: Any) -> None:
    before = [interval(s.baseline).mean for s in stood]
    after = [interval(s.changed).mean for s in stood]
    unit = unit_of(max(*before, *after))
    axes.set_title(f"How long each process stands still ({unit.name})", fontsize=10)
    _bars(
        axes,
        [printable(s.names[-1])[:30].replace("$", r"\$") for s in stood],
        [ms / unit.divisor for ms in before],
        [ms / unit.divisor for ms in after],
    )


def _stopped(w: WhatIf, axes: Any) -> None:
    means = [interval(side).mean for side in w.stopped]
    unit = unit_of(max(means))
    axes.set_title(f"How long partitions have no reader, summed up ({unit.name})", fontsize=10)
    axes.barh(["after", "baseline"], [ms / unit.divisor for ms in reversed(means)])
    axes.patches[0].set_color("C1")
    axes.grid(axis="x", alpha=0.3)


def _bars(axes: Any, names: Sequence[str], before: Sequence[float], after: Sequence[float]) -> None:
    places = range(len(names))
    axes.bar([k - 0.2 for k in places], before, width=0.4, label="baseline")
    axes.bar([k + 0.2 for k in places], after, width=0.4, label="after the change")
    axes.set_xticks([*places], names)
    if max(map(len, names)) * len(names) > BESIDE:
        axes.tick_params(axis="x", rotation=90)
    axes.grid(axis="y", alpha=0.3)
    axes.legend()


def write_html(found: Sequence[WhatIf], path: Path) -> None:
    """Writes one page about the group with the most rebalances. Raises `UserError`."""
    w = max(found, key=lambda one: len(one.rows))
    first, *others = sentences(w)
    parts = [
        *map(text, others),
        *([picture(drawn(w, "svg"))] if w.like_the_log else []),
        text(f"Seed {w.seed}, {w.replications} replications, 95 % t intervals."),
        table(HEAD, [cells(row) for row in w.rows]),
    ]
    if w.like_the_log:
        parts.append(table(PROCESSES, [stood_cells(s) for s in by_client(w.stood)], "right"))
    says = first.removeprefix("Unknown: ")
    title = f"{w.outside.group}: what if {change_of(w)}?"
    write(path, page(title, says, parts, unknown=w.verdict == "unknown"))
