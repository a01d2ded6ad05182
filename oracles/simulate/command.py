"""`groupcheck simulate`: from options to an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.model.engine.resident import cores
from groupcheck.model.variants import registry
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.parquet import needed
from groupcheck.oracles.show.terminal import EXIT_CODES, answer, say
from groupcheck.oracles.simulate import article
from groupcheck.oracles.simulate.assumptions import with_settings
from groupcheck.oracles.simulate.compare import Comparison, compare
from groupcheck.oracles.simulate.compare import compared as compared_results
from groupcheck.oracles.simulate.document import document
from groupcheck.oracles.simulate.progress import sketched
from groupcheck.oracles.simulate.run_cache import RunCache
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
    variant: str | None,
    compared: str | None,
    scenario: str,
    members: int,
    partitions: int | None,
    replications: int | None,
    seed: int,
    seconds: float | None,
    workers: int | None,
    whole: bool,
    settings: Mapping[str, str] | Sequence[tuple[str, str]],
    moves: bool,
    as_json: bool,
    csv: Path | None = None,
    parquet: Path | None = None,
    plot: Path | None = None,
    html: Path | None = None,
    resume: Path | None = None,
) -> int:
    """Simulates one variant, or several side by side, and prints the answer. Raises `UserError`."""
    files = {"csv": csv, "parquet": parquet, "plot": plot, "html": html}
    _writable(files)
    variants = _variants(variant, compared)
    _must_be_comparable(variants, moves)
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
    words = sketched(lambda found: sketch(compared_results(setups, found, 0, seed)))
    kept = RunCache.opened(resume)
    with reports(words) as report:
        comparison = compare(
            setups,
            replications or (COMPARED if compared else 1),
            seed,
            workers=workers or cores(),
            least=1,
            report=report,
            kept=kept,
        )
    moved = beside = None
    interrupted = comparison.replications < comparison.asked
    if not interrupted:
        try:
            beside = _beside(comparison, not settings and not whole, workers or cores(), kept)
            moved = _moved(comparison, moves, workers or cores(), kept)
        except KeyboardInterrupt:
            interrupted = True
            say("interrupted: what belongs to the comparison is not all there")

    def shown() -> Any:
        from groupcheck.oracles.simulate.view import view

        return view(comparison, moved, beside)

    answer(lambda: document(comparison, moved, beside), shown, as_json)
    _write(comparison, files)
    return EXIT_CODES["unknown"] if interrupted or comparison.reason else 0


def _beside(
    comparison: Comparison, also_then: bool, workers: int, kept: RunCache | None
) -> article.Beside | None:
    """The figures of an article, if it tells of these groups; `also_then`: also those on a
    coordinator of that time.
    """
    setups = [row.setup for row in comparison.rows]
    if not article.tells(setups):
        return None
    then = None
    if also_then:
        with reports(sketched(lambda _: "a coordinator of that time")) as report:
            then = compare(
                article.of_that_time(setups),
                comparison.replications,
                comparison.seed,
                workers=workers,
                report=report,
                kept=kept,
            )
    return article.beside(comparison, then)


def _write(comparison: Comparison, files: Mapping[str, Path | None]) -> None:
    for name, path in files.items():
        if path is not None:
            WRITES[name](comparison, path)
            say(f"wrote {path}")


def sketch(comparison: Comparison) -> str:
    """The longest pauses, as far as they are known."""
    from groupcheck.oracles.simulate.view import cell, duration

    told = [
        f"{row.setup.variant} {cell(row.interval('longest_pause_ms'), duration)}"
        for row in comparison.rows
    ]
    return "longest pause so far: " + ", ".join(told)


def _variants(variant: str | None, compared: str | None) -> list[str]:
    """The names that are asked for, without a look at whether they exist."""
    if compared is None:
        return [variant or "classic"]
    if variant is not None:
        raise UserError(
            f"{printable(variant)[:60]} stands beside --compare, which names all variants",
            where="VARIANT",
            do=f"write --compare {printable(f'{variant},{compared}')[:120]}, or leave one out",
        )
    return compared.split(",")


def _must_be_comparable(variants: Sequence[str], moves: bool) -> None:
    """Raises `UserError` for variants that cannot be asked for, before anything runs."""
    for name in variants:
        registry.load(name)
    if len(set(variants)) < len(variants):
        raise UserError("names a variant twice", where="--compare")
    if moves and len(variants) != 2:
        raise UserError(
            "is about the ratio of two variants", where="--sensitivity", do="add --compare A,B"
        )


def _moved(
    comparison: Comparison,
    asked: bool,
    workers: int,
    kept: RunCache | None,
) -> Sensitivity | None:
    """How the ratio of two variants moves: if that is asked with as many runs as they are compared
    with, otherwise where the ratio is small, and in a small group. Raises `UserError` if it is
    asked, and there is no ratio.
    """
    if len(comparison.rows) != 2:
        return None
    first, other = (row.setup for row in comparison.rows)
    found = comparison.ratio("longest_pause_ms", 1)
    if asked and found is None:
        raise UserError(
            f"the longest pauses of {first.variant} and {other.variant} have no ratio, since in"
            " some run no member pauses, or a pause does not end",
            where="--sensitivity",
            do="compare two variants whose members pause, or leave it out",
        )
    if not asked and (found is None or found.mean >= TWO_ORDERS):
        return None
    with reports(sketched(lambda _: "the sensitivity")) as report:
        if asked:
            return sensitivity(
                (first, other),
                replications=comparison.replications,
                seed=comparison.seed,
                workers=workers,
                report=report,
                kept=kept,
            )
        quick = deciding((first, other), comparison.seed, workers=workers, report=report, kept=kept)
    return quick if quick.base is not None else None


def _writable(files: Mapping[str, Path | None]) -> None:
    """Raises `UserError` where a file cannot be written, before anything runs."""
    plots.possible(files["plot"], files["html"])
    if files["parquet"] is not None:
        needed("--parquet")
