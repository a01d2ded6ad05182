"""`groupcheck conform connect` at the terminal: progress, the table, the smallest examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.model.assignors.connect import of_version
from groupcheck.model.engine import UserError
from groupcheck.oracles.connect.comparing import ConnectConformance, compare, input_shown
from groupcheck.oracles.connect.driver import VERSIONS, Leaders
from groupcheck.oracles.connect.inputs import families
from groupcheck.oracles.kafka.versions import known
from groupcheck.oracles.printable import as_json as in_json
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.suite import FAILURE, PASSED, Case, Suite, tell
from groupcheck.oracles.show.terminal import answer

LONGEST = 700  # characters of an example at the terminal
NOT_HERE = {
    "members": "--members",
    "generations": "--generations",
    "faults": "--fault",
    "settings": "--set",
    "mutation": "--mutation",
    "max_rows": "--max-rows",
    "max_differences": "--max-differences",
    "findings": "--findings",
    "assignors": "--assignor",
    "parquet": "--parquet",
    "coverage": "--coverage",
    "live": "--live",
    "whole": "--whole",
    "schedules": "--schedules",
}
CONNECT = "connect"  # stands where a variant would


def run(
    variant: str,
    *,
    kafka: str,
    as_json: bool,
    seed: int = 0,
    diff: tuple[str, str] | None = None,
    junit: Path | None = None,
    sizes: Mapping[str, int] | None = None,
    **others: Any,
) -> int:
    """Compares, prints the answer, and returns the exit code: 0 all agree, 1 some differ. `sizes`
    are those of `families`. Raises `UserError` for another variant than Connect, or for an option
    that this comparison does not take.
    """
    if variant != CONNECT:
        raise UserError(
            f"the members of {variant} have no leader whose rounds are compared here",
            where="--side",
            do=f"see `conform {CONNECT}`; `conform assignors` compares the assignors of consumers",
        )
    for name, option in NOT_HERE.items():
        if others.get(name):
            raise UserError(
                "the comparison of Connect's leader does not have this option",
                where=option,
                do="leave it out",
            )
    newest = known(diff[1] if diff else kafka, VERSIONS)
    with ExitStack() as open_drivers:
        new = open_drivers.enter_context(Leaders(newest, long_run=True))
        old = open_drivers.enter_context(Leaders(diff[0], long_run=True)) if diff else None
        with reports(progress_line) as progress:
            result = compare(
                new,
                families(of_version(newest), seed, **(sizes or {})),
                older=old,
                seed=seed,
                progress=progress,
            )
    answer(result.document, lambda: view(result), as_json)
    tell(lambda: connect_suite(result), junit)
    return result.exit_code


def progress_line(family: str, inputs: int, differing: int, seconds: float) -> str:
    """One line for a terminal."""
    return f"{family}: {inputs:,} rounds, {differing:,} differ  {seconds:.0f} s"


def view(result: ConnectConformance) -> RenderableType:
    """The table, then the smallest input of each kind of difference."""
    real, other = result.sides
    said, colour = result.headline()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("rounds", no_wrap=True)
    for name in ("compared", "agreeing", "differing", "rounds/s"):
        table.add_column(name, justify="right", no_wrap=True)
    for t in result.tallies:
        rate = f"{t.inputs / t.seconds:,.0f}" if t.seconds else ""
        numbers = (t.inputs, t.inputs - t.differing, t.differing)
        table.add_row(t.name, *(f"{n:,}" for n in numbers), rate)
    out: list[RenderableType] = [
        Text.assemble((said, colour), f"  Connect's leader, of {other} and of {real}"),
        Padding(table, (0, 0, 0, 2)),
        Text(),
        *(Text(f"  {t.bound}", "dim") for t in result.tallies),
    ]
    for t in result.tallies:
        for kind, (number, example) in sorted(t.differences.items()):
            told = f"\n{t.name}: {', '.join(kind)} differ {number:,} times; the smallest input:"
            out.append(Text(told, "bold red"))
            answers = example.answers_shown(result.sides)
            out += _values({"input": input_shown(example.memory, example.round), **answers})
    return Group(*out)


def _values(named: dict[str, Any]) -> Iterator[Text]:
    for name, value in named.items():
        text = in_json(printed(value))
        cut = text if len(text) <= LONGEST else f"{text[:LONGEST]} ... (--json has it all)"
        yield Text(f"  {name}: {cut}")


def connect_suite(result: ConnectConformance) -> Suite:
    """One test case for each family of rounds."""
    cases = []
    for t in result.tallies:
        kinds = "\n".join(
            f"{', '.join(kind)}: {n:,} rounds" for kind, (n, _) in t.differences.items()
        )
        why = f"{t.differing:,} of {t.inputs:,} rounds differ" if t.differing else ""
        became = FAILURE if t.differing else PASSED
        cases.append(Case(t.bound, became, why, kinds, t.seconds))
    return Suite("conform connect", tuple(cases))
