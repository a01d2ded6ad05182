"""`groupcheck curve`: from options to a table and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from groupcheck.model.engine.resident import cores
from groupcheck.oracles.show import parquet as tables_of
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.terminal import EXIT_CODES, answer, say
from groupcheck.oracles.simulate.assumptions import with_settings
from groupcheck.oracles.simulate.document import assumptions, listed
from groupcheck.oracles.simulate.progress import sketched
from groupcheck.oracles.simulate.run_cache import RunCache
from groupcheck.oracles.simulate.uses import plots, tables
from groupcheck.oracles.simulate.uses.curves import CurveResult, answered, question, values_of
from groupcheck.traces.phrases import plural


def run(
    *,
    name: str,
    variant: str,
    members: int | None,
    partitions: int | None,
    values: Sequence[str],
    replications: int,
    seed: int,
    workers: int | None,
    settings: Sequence[tuple[str, str]],
    as_json: bool,
    csv: Path | None,
    parquet: Path | None,
    plot: Path | None,
    html: Path | None,
    resume: Path | None,
) -> int:
    """Simulates a curve, prints it and writes its files. Raises `UserError`, before anything runs
    where it can.
    """
    plots.possible(plot, html)
    if parquet is not None:
        tables_of.needed("--parquet")
    base = with_settings(dict(settings), with_settings(question(name).assumed))
    kept = RunCache.opened(resume)
    with reports(sketched(lambda _: "")) as report:
        found = answered(
            name,
            variant=variant,
            members=members,
            partitions=partitions,
            values=values_of(name, values),
            assumptions=base,
            replications=replications,
            seed=seed,
            workers=workers or cores(),
            least=1,
            report=report,
            kept=kept,
        )
    answer(lambda: tables.document(found), lambda: view(found), as_json)
    for path, writes in (
        (csv, tables.write_csv),
        (parquet, tables.write_parquet),
        (plot, plots.write_plot),
        (html, plots.write_html),
    ):
        if path is not None:
            writes(found, path)
            say(f"wrote {path}")
    return EXIT_CODES["unknown"] if found.reason else 0


def view(found: CurveResult) -> Any:
    """The curve as a table, one line for each point."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    curve = found.curve
    heads, rows = plots.figures(found)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for k, head in enumerate(heads):
        table.add_column(head, justify="right" if k else "left", overflow="fold", no_wrap=k < 1)
    for row in rows:
        table.add_row(*row)
    setup = curve.points[0].setup
    told = f"{plural(setup.members, 'member')}, {plural(setup.partitions, 'partition')}"
    told += f", seed {found.seed}, {plural(found.replications, 'replication')}"
    told += " (in brackets: 95 % t intervals)"
    if found.reason:
        told += f"\nUnknown: {found.reason}."
    return Group(
        Text(curve.title, "bold"),
        Text(plots.conclusion(found)),
        Text(told),
        table,
        Text("\nAssumptions: " + listed(assumptions(setup.stated))),
    )
