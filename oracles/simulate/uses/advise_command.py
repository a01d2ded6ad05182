"""`groupcheck advise`: from options to a recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.terminal import answer, say
from groupcheck.oracles.simulate.uses import advice_document, advice_page, advice_plot, plots
from groupcheck.oracles.simulate.uses.advice import advised, expected_seconds
from groupcheck.oracles.simulate.uses.advice_group import Described, Week, given

LONG_S = 60.0  # from so many expected seconds on, people are told before


def run(
    *,
    members: int,
    partitions: int | None,
    restart: float,
    slow_message: float,
    outage: float,
    deploys: float,
    bounces: float,
    crashes: float,
    outages: float,
    slow_per_week: float,
    hangs: float,
    now: str | None,
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
    if plot is not None:
        plots.kind(plot)
        plots.needed("--plot")
    if html is not None:
        plots.needed("--html")
    assumptions, has = given(dict(settings), now)
    described = Described(
        members=members,
        partitions=partitions or members,
        restart_ms=restart,
        outage_ms=outage,
        slow_ms=slow_message,
        week=Week(
            deploys=deploys,
            bounces=bounces,
            crashes=crashes,
            outages=outages,
            slow=slow_per_week,
            hangs=hangs,
        ),
        now=has,
        assumptions=assumptions,
    )
    if replications > 1 and (seconds := expected_seconds(described, replications)) > LONG_S:
        say(
            f"about {seconds / 60:.0f} min of simulations; fewer --members or --replications, or a"
            " shorter --restart or --slow-message, make them fewer"
        )

    def told(done: int, total: int, seconds: float) -> str:
        left = f", about {seconds / done * (total - done):.0f} s left" if done > 9 else ""
        return f"simulation {done} of {total}{left}"

    with reports(told) as report:
        found = advised(described, by=by, replications=replications, seed=seed, report=report)
    answer(lambda: advice_document.document(found), lambda: advice_document.view(found), as_json)
    for path, writes in ((plot, advice_plot.write_plot), (html, advice_page.write_html)):
        if path is not None:
            writes(found, path)
            say(f"wrote {path}")
    return 0
