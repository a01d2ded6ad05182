"""`groupcheck advise`: from options to a recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from groupcheck.oracles.show.files import not_read
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.terminal import answer, say
from groupcheck.oracles.simulate.assumptions import with_settings
from groupcheck.oracles.simulate.uses import advice_document, advice_plot, plots
from groupcheck.oracles.simulate.uses.advice import Described, Week, advised


def run(
    *,
    members: int,
    partitions: int | None,
    restart: float,
    slow_message: float,
    deploys: float,
    bounces: float,
    crashes: float,
    slow_per_week: float,
    hangs: float,
    by: str,
    replications: int,
    seed: int,
    settings: Sequence[tuple[str, str]],
    as_json: bool,
    plot: Path | None,
    html: Path | None,
) -> int:
    """Simulates the alternatives and prints the recommendation. Raises `UserError`, before anything
    runs where it can.
    """
    not_read({"--plot": plot, "--html": html}, [])
    if plot is not None:
        plots.kind(plot)
        plots.needed("--plot")
    if html is not None:
        plots.needed("--html")
    described = Described(
        members=members,
        partitions=partitions or members,
        restart_ms=restart,
        slow_ms=slow_message,
        week=Week(
            deploys=deploys, bounces=bounces, crashes=crashes, slow=slow_per_week, hangs=hangs
        ),
        assumptions=with_settings(dict(settings)),
    )

    def told(done: int, total: int, seconds: float) -> str:
        left = f", about {seconds / done * (total - done):.0f} s left" if done > 9 else ""
        return f"simulation {done} of {total}{left}"

    with reports(told) as report:
        found = advised(described, by=by, replications=replications, seed=seed, report=report)
    answer(lambda: advice_document.document(found), lambda: advice_document.view(found), as_json)
    for path, writes in ((plot, advice_plot.write_plot), (html, advice_plot.write_html)):
        if path is not None:
            writes(found, path)
            say(f"wrote {path}")
    return 0
