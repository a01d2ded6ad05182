"""`groupcheck simulate`: from options to an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.model.variants import registry
from groupcheck.oracles.show.files import not_read
from groupcheck.oracles.show.parquet import needed
from groupcheck.oracles.show.terminal import answer, say
from groupcheck.oracles.simulate.assumptions import with_settings
from groupcheck.oracles.simulate.compare import compare
from groupcheck.oracles.simulate.document import document
from groupcheck.oracles.simulate.sensitivity import Sensitivity, deciding, sensitivity
from groupcheck.oracles.simulate.setup import Setup
from groupcheck.oracles.simulate.uses import compared as compared_files
from groupcheck.oracles.simulate.uses import plots

COMPARED = 5  # replications of variants that are compared
WRITES = {
    "csv": compared_files.write_csv,
    "parquet": compared_files.write_parquet,
    "plot": compared_files.write_plot,
    "html": compared_files.write_html,
}
TWO_ORDERS = 100  # a ratio below this is explained without being asked for


def run(
    *,
    variant: str,
    compared: str | None,
    scenario: str,
    members: int,
    partitions: int | None,
    replications: int | None,
    seed: int,
    seconds: float,
    whole: bool,
    settings: Mapping[str, str] | Sequence[tuple[str, str]],
    moves: bool,
    as_json: bool,
    csv: Path | None = None,
    parquet: Path | None = None,
    plot: Path | None = None,
    html: Path | None = None,
) -> int:
    """Simulates one variant, or several side by side, and prints the answer. Raises `UserError`."""
    files = {"csv": csv, "parquet": parquet, "plot": plot, "html": html}
    _writable(files)
    variants = compared.split(",") if compared else [variant]
    for name in variants:
        registry.load(name)  # an unknown name is an error before anything runs
    if len(set(variants)) < len(variants):
        raise UserError("names a variant twice", where="--compare")
    if moves and len(variants) != 2:
        raise UserError(
            "is about the ratio of two variants", where="--sensitivity", do="add --compare A,B"
        )
    given = with_settings(dict(settings))
    setups = [
        Setup(
            variant=name,
            scenario=scenario,
            members=members,
            partitions=members if partitions is None else partitions,
            seconds=seconds,
            until_rest=not whole,
            assumptions=given,
        )
        for name in variants
    ]
    comparison = compare(setups, replications or (COMPARED if compared else 1), seed)
    moved: Sensitivity | None = None
    if moves:
        moved = sensitivity((setups[0], setups[1]), replications=replications or 1, seed=seed)
    elif len(setups) == 2:
        found = comparison.ratio("longest_pause_ms", 1)
        if found is not None and found.mean < TWO_ORDERS:
            moved = deciding((setups[0], setups[1]), seed)

    def shown() -> Any:
        from groupcheck.oracles.simulate.view import view

        return view(comparison, moved)

    answer(lambda: document(comparison, moved), shown, as_json)
    for name, path in files.items():
        if path is not None:
            WRITES[name](comparison, path)
            say(f"wrote {path}")
    return 0


def _writable(files: Mapping[str, Path | None]) -> None:
    """Raises `UserError` where a file cannot be written, before anything runs."""
    not_read({f"--{name}": path for name, path in files.items()}, [])
    if (plot := files["plot"]) is not None:
        plots.kind(plot)
    for name in ("plot", "html"):
        if files[name] is not None:
            plots.needed(f"--{name}")
    if files["parquet"] is not None:
        needed("--parquet")
