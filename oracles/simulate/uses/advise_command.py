"""`groupcheck advise`: from options to a recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from groupcheck.model.engine.resident import cores
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.terminal import EXIT_CODES, answer, say
from groupcheck.oracles.simulate.progress import sketched
from groupcheck.oracles.simulate.replications import Results
from groupcheck.oracles.simulate.run_cache import RunCache
from groupcheck.oracles.simulate.uses import advice_document, advice_page, plots
from groupcheck.oracles.simulate.uses.advice import (
    LEAST_REPLICATIONS,
    advised,
    expected_seconds,
    summed,
    usual_replications,
)
from groupcheck.oracles.simulate.uses.advice_group import GroupDescription, Week, given

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
    kafka: str | None,
    now: str | None,
    by: str,
    replications: int | None,
    seed: int,
    workers: int | None,
    settings: Sequence[tuple[str, str]],
    as_json: bool,
    plot: Path | None,
    html: Path | None,
    resume: Path | None,
) -> int:
    """Simulates the alternatives and prints the recommendation. Raises `UserError`, before anything
    runs where it can.
    """
    plots.possible(plot, html)
    assumptions, has = given(dict(settings), now, kafka)
    described = GroupDescription(
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
        kafka=kafka,
        now=has,
        assumptions=assumptions,
    )
    replications = replications or usual_replications(described)
    _warn(expected_seconds(described, replications) / (workers or cores()))
    with reports(sketched(partial(_sketch, described, by))) as report:
        found = advised(
            described,
            by=by,
            replications=replications,
            seed=seed,
            workers=workers or cores(),
            least=LEAST_REPLICATIONS,
            report=report,
            kept=RunCache.opened(resume),
        )
    answer(lambda: advice_document.document(found), lambda: advice_document.view(found), as_json)
    for path, writes in ((plot, advice_page.write_plot), (html, advice_page.write_html)):
        if path is not None:
            writes(found, path)
            say(f"wrote {path}")
    return EXIT_CODES["unknown"] if found.reason else 0


def _warn(seconds: float) -> None:
    """Says how long the simulations take, where that is long."""
    if seconds > LONG_S:
        say(
            f"about {seconds / 60:.0f} min of simulations; fewer --members or --replications, or a"
            " shorter --restart or --slow-message, make them fewer"
        )


def _sketch(described: GroupDescription, by: str, results: Results) -> str:
    """The recommendation, as far as it is known: after the first replication already."""
    done = len(results[0])
    so_far = summed(described, results, by=by, asked=done, seed=0)
    return f"so far: {advice_document.recommendation(so_far)}"
