"""`groupcheck sweep`: from a file to a table, a page and an exit code. Small scopes come first, and
what they say about the larger ones is printed before those start.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from attrs import Factory, define

from groupcheck.model.engine import UserError
from groupcheck.model.engine.resident import cores
from groupcheck.model.engine.verdict import Kind
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show import json_schemas, parquet
from groupcheck.oracles.show.files import write
from groupcheck.oracles.show.suite import tell
from groupcheck.oracles.show.terminal import EXIT_CODES, answer, live, say
from groupcheck.oracles.sweep import rows as tables
from groupcheck.oracles.sweep import sweep_types
from groupcheck.oracles.sweep.cases import sweep_suite
from groupcheck.oracles.sweep.cells import Cell, allowed
from groupcheck.oracles.sweep.folder import PAGE, SIMULATIONS, TABLE, CellResult, Folder
from groupcheck.oracles.sweep.forecast import Families, Forecast
from groupcheck.oracles.sweep.growing import Sweep, grown
from groupcheck.oracles.sweep.live import RunningSweep
from groupcheck.oracles.sweep.outcome import Outcome
from groupcheck.oracles.sweep.page import page
from groupcheck.oracles.sweep.reading import read_sweep
from groupcheck.oracles.sweep.running import check_here
from groupcheck.oracles.sweep.simulation_rows import simulation_row, write_simulations
from groupcheck.oracles.sweep.simulations import SimulationCell
from groupcheck.oracles.sweep.sweep_types import Row
from groupcheck.oracles.sweep.words import answer_view, forecast_lines
from groupcheck.traces.phrases import plural

SCHEMA = "groupcheck.sweep/1"
WORST_FIRST: Sequence[Kind] = ("violated", "unknown", "holds")


@define
class Progress:
    """A sweep under way."""

    folder: Folder
    watched: RunningSweep
    # by the id of the cell: what became of it, and the forecast that was made before it ran
    done: dict[str, CellResult] = Factory(dict)
    forecasts: dict[str, Forecast] = Factory(dict)

    def finish(self, cell: Cell | SimulationCell, outcome: Outcome, page: str) -> None:
        """Keeps what became of a cell, at once."""
        self.done[cell.id] = self.folder.keep(cell, outcome, page, self.forecasts.get(cell.id))
        self.watched.see(cell, outcome)

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """By the id of the cell."""
        return {name: done.outcome for name, done in self.done.items()}


def run(
    file: Path,
    spark: str | None,
    out: Path | None,
    resume: bool,
    workers: int | None,
    as_json: bool,
    junit: Path | None = None,
    specs: Sequence[Path] = (),
) -> int:
    """Runs a sweep and returns the exit code. `specs`: Python files whose code it may run. Raises
    `UserError` for bad input.
    """
    began = time.monotonic()
    if spark is not None:
        from groupcheck.oracles.spark.session import checked_master

        checked_master(spark)
    if resume and out is None:
        raise UserError(
            "there is nothing to resume", where="--resume", do="name the folder with --out"
        )
    parquet.needed("groupcheck sweep", extra="sweep")
    sweep = grown(read_sweep(file), printable(str(file)), allowed(specs))
    folder = Folder(out or Path(f"sweep-{datetime.now():%Y%m%d-%H%M%S}"))
    folder.opened(resume)
    done = {cell.id: known for cell in sweep.every if (known := folder.done(cell))}
    progress = Progress(folder, RunningSweep(len(sweep.every), len(done)), done)
    if done:
        say(f"{len(done):,} of {plural(len(sweep.every), 'cell')} done already")
    try:
        _check(sweep, progress, spark, workers)
    except KeyboardInterrupt:
        say(
            f"interrupted: {len(done):,} of {plural(len(sweep.every), 'cell')} done;"
            f" continue with --out {folder.path} --resume"
        )
        return EXIT_CODES["unknown"]
    return _answer(sweep, progress, as_json, time.monotonic() - began, junit)


def _check(sweep: Sweep, progress: Progress, spark: str | None, workers: int | None) -> None:
    """Checks the cells that are not done: first those on which forecasts rest, then the others, the
    longest first.
    """
    families = Families.among(sweep.cells)
    left = [cell for cell in sweep.cells if cell.id not in progress.done]
    larger = [cell for cell in left if families.is_next(cell)]
    smaller = [cell for cell in left if not families.is_next(cell)]
    simulations = [cell for cell in sweep.simulations if cell.id not in progress.done]
    if not left and not simulations:
        return
    with ExitStack() as stack:
        stack.enter_context(live(progress.watched.view))
        if spark is None:
            check: Any = partial(check_here, workers=workers or cores())
        else:
            from groupcheck.oracles.sweep.on_spark import check_on, sweep_session

            progress.watched.doing = f"starting Spark on {printable(spark)}"
            session = stack.enter_context(sweep_session(spark))
            check = partial(check_on, session, spark, workers=workers or 1)
        progress.watched.doing = "small scopes"
        check(families.longest_first(smaller, progress.outcomes), finish=progress.finish)
        _forecast(families, larger, progress)
        progress.watched.doing = "larger scopes, the longest first"
        check(families.longest_first(larger, progress.outcomes), finish=progress.finish)
        progress.watched.doing = "simulations, the largest first"
        check(sorted(simulations, key=_work, reverse=True), finish=progress.finish)


def _work(cell: SimulationCell) -> tuple[int, int]:
    """A stand-in for the cost of a simulation."""
    setup = cell.question.setup()
    return setup.members * cell.question.replications, -cell.number


def _forecast(families: Families, cells: Sequence[Cell], progress: Progress) -> None:
    known = progress.outcomes
    made = [(cell, forecast) for cell in cells if (forecast := families.forecast(cell, known))]
    progress.forecasts |= {cell.id: forecast for cell, forecast in made}
    for line in forecast_lines(made):
        say(line)


def _answer(
    sweep: Sweep, progress: Progress, as_json: bool, seconds: float, junit: Path | None
) -> int:
    rows = [
        tables.row(cell, progress.done[cell.id], sweep.grids[cell.grid]) for cell in sweep.cells
    ]
    simulated = [
        simulation_row(cell, progress.done[cell.id].outcome, sweep.simulated_grids[cell.grid])
        for cell in sweep.simulations
    ]
    every: list[Row] = [*rows, *simulated]
    verdict = worst(every)
    folder = progress.folder.path
    answer(
        lambda: document(sweep, verdict, rows, simulated, folder, seconds),
        lambda: answer_view(sweep.title, verdict, sweep.every, every, seconds),
        as_json,
    )
    written = [folder / TABLE, folder / PAGE]
    tables.write_table(rows, folder / TABLE)
    if simulated:
        write_simulations(simulated, folder / SIMULATIONS)
        written.insert(1, folder / SIMULATIONS)
    write(folder / PAGE, page(sweep, verdict, rows, simulated))
    say(f"wrote {', '.join(map(str, written[:-1]))} and {written[-1]}")
    tell(lambda: sweep_suite(sweep.title, sweep.every, every), junit)
    return EXIT_CODES[verdict]


def worst(rows: Sequence[Row]) -> Kind:
    """The worst verdict: `violated` before `unknown` before `holds`. A cell that is as expected
    counts as `holds`; otherwise `unknown` counts as `unknown`, and both other verdicts as
    `violated`, because a violation that was expected and did not come is as bad.
    """
    counted = {
        "holds" if row.as_expected else "unknown" if row.verdict == "unknown" else "violated"
        for row in rows
    }
    return next(verdict for verdict in WORST_FIRST if verdict in counted)


def document(
    sweep: Sweep,
    verdict: Kind,
    rows: Sequence[sweep_types.Cell],
    simulated: Sequence[sweep_types.Simulation],
    folder: Path,
    seconds: float,
) -> dict[str, Any]:
    """All that `groupcheck sweep --json` prints, schema groupcheck.sweep/1."""
    every: list[Row] = [*rows, *simulated]
    counts = Counter(row.verdict for row in every)
    made = sum(row.forecast_by is not None for row in rows)
    shown = sweep_types.SweepDocument(
        name=sweep.title,
        verdict=verdict,
        seconds=round(seconds, 3),
        counts=sweep_types.VerdictCounts(
            violated=counts["violated"], unknown=counts["unknown"], holds=counts["holds"]
        ),
        unexpected=sum(not row.as_expected for row in every),
        forecasts=sweep_types.Forecasts(
            states=_forecasts(made, [row.states_as_forecast for row in rows]),
            seconds=_forecasts(made, [row.seconds_as_forecast for row in rows]),
        ),
        table=str(folder / TABLE),
        page=str(folder / PAGE),
        simulations_table=str(folder / SIMULATIONS) if simulated else None,
        cells=list(rows),
        simulations=list(simulated),
    )
    return json_schemas.document(SCHEMA, shown)


def _forecasts(made: int, held: Sequence[bool | None]) -> sweep_types.ForecastCount:
    checked = [one for one in held if one is not None]
    return sweep_types.ForecastCount(made=made, checked=len(checked), held=sum(checked))
