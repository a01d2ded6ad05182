"""`groupcheck conform assignors` at the terminal: progress, the table, the smallest examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.conform.comparing import (
    RANDOM,
    AssignorConformance,
    all_inputs,
    compare,
    findings_shown,
)
from groupcheck.oracles.assignment.conform.conform_assignors_types import Finding
from groupcheck.oracles.assignment.conform.inputs import MEMBERS
from groupcheck.oracles.assignment.groups import shown
from groupcheck.oracles.explain.unknown import one_of
from groupcheck.oracles.kafka.assignors import ASSIGNORS
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.side_by_side import Diff, side_by_side
from groupcheck.oracles.printable import as_json as in_json
from groupcheck.oracles.show.json_schemas import printed
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.suite import FAILURE, PASSED, Case, Suite, tell
from groupcheck.oracles.show.terminal import answer

LONGEST = 500  # characters of an example at the terminal
NOT_HERE = {
    "generations": "--generations",
    "faults": "--fault",
    "settings": "--set",
    "mutation": "--mutation",
    "max_rows": "--max-rows",
    "max_differences": "--max-differences",
}


def run(
    *,
    kafka: str,
    as_json: bool,
    assignors: Sequence[str] = (),
    members: int | None = None,
    seed: int = 0,
    diff: Diff | None = None,
    findings: bool = False,
    random: int = RANDOM,
    junit: Path | None = None,
    **others: Any,
) -> int:
    """Compares, prints the answer, and returns the exit code: 0 all agree, 1 some differ."""
    _fit(others, assignors, members)
    most = MEMBERS if members is None else members
    with ExitStack() as open_drivers:
        old: Driver | None = None
        if diff:
            old, new = open_drivers.enter_context(side_by_side(diff, long_run=True))
        else:
            new = open_drivers.enter_context(Driver(kafka, long_run=True))
        with reports(progress_line) as progress:
            result = compare(
                new,
                assignors or ASSIGNORS,
                inputs=lambda assignor: all_inputs(assignor, most, random, seed),
                older=old,
                seed=seed,
                findings=findings,
                progress=progress,
            )
    answer(result.document, lambda: view(result), as_json)
    tell(lambda: assignors_suite(result), junit)
    return result.exit_code


def _fit(others: dict[str, Any], assignors: Sequence[str], members: int | None) -> None:
    """Raises `UserError` for an option that the comparison of assignors does not have."""
    for name in NOT_HERE:
        if others.get(name):
            raise UserError(
                "the comparison of assignors does not have this option",
                where=NOT_HERE[name],
                do="leave it out",
            )
    for name in assignors:
        if name not in ASSIGNORS:
            raise one_of("assignor of Kafka's", name, ASSIGNORS)
    if members is not None and not 1 <= members <= MEMBERS:
        raise UserError(
            f"all inputs of {members} members are too many",
            where="--members",
            do=f"take 1 to {MEMBERS}",
        )


def progress_line(assignor: str, inputs: int, differing: int, seconds: float) -> str:
    """One line for a terminal."""
    return f"{assignor}: {inputs:,} inputs, {differing:,} differ  {seconds:.0f} s"


def view(result: AssignorConformance) -> RenderableType:
    """The table, then the smallest input of each kind of difference."""
    real, other = result.sides
    said, colour = result.headline()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("assignor", no_wrap=True)
    for name in ("inputs", "agreeing", "differing", "throws", "inputs/s"):
        table.add_column(name, justify="right", no_wrap=True)
    for t in result.tallies:
        rate = f"{t.inputs / t.seconds:,.0f}" if t.seconds else ""
        numbers = (t.inputs, t.inputs - t.differing, t.differing, t.threw)
        table.add_row(t.assignor, *(f"{n:,}" for n in numbers), rate)
    out: list[RenderableType] = [
        Text.assemble((said, colour), f"  the assignors of {other} and of {real}"),
        *([Text(f"  {result.build.told()}")] if result.build else []),
        Padding(table, (0, 0, 0, 2)),
    ]
    for t in result.tallies:
        out.append(Text(f"\n{t.assignor}", "bold"))
        out += [Text(f"  {number:>9,}  {bound}", "dim") for bound, number in t.bounds]
        for kind, (number, example) in sorted(t.differences.items()):
            out.append(Text(f"\n  {kind}, {number:,} times; the smallest input:", "bold red"))
            answers = example.answers_shown(result.sides)
            out += _values({"input": shown(example.group), **answers})
        if t.asked is not None:
            out += _findings(t.asked.answers, findings_shown(t.asked))
    return Group(*out)


def _findings(asked: int, findings: Sequence[Finding]) -> Iterator[Text]:
    """The promises that Kafka's own answers break."""
    broken = ":" if findings else " and never broken"
    yield Text(f"  its promises were asked of {asked:,} answers{broken}")
    for found in findings:
        why = "; ".join(found.circumstances) or "nothing unusual"
        words = f"\n  {found.promise} is broken by {found.answers:,} where {why}: {found.words}"
        yield Text(words, "bold red")
        yield from _values({"input": found.input, "answer": found.answer})


def _values(named: dict[str, Any]) -> Iterator[Text]:
    for name, value in named.items():
        text = in_json(printed(value))
        cut = text if len(text) <= LONGEST else f"{text[:LONGEST]} ... (--json has it all)"
        yield Text(f"    {name}: {cut}")


def assignors_suite(result: AssignorConformance) -> Suite:
    """One test case for each assignor that is compared with Kafka's class."""
    cases = []
    for tally in result.tallies:
        kinds = "\n".join(f"{kind}: {n:,} inputs" for kind, (n, _) in tally.differences.items())
        why = f"{tally.differing:,} of {tally.inputs:,} inputs differ" if tally.differing else ""
        became = FAILURE if tally.differing else PASSED
        cases.append(Case(tally.assignor, became, why, kinds, tally.seconds))
    return Suite("conform assignors", tuple(cases))
