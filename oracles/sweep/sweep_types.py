"""The types of the document that `sweep --json` prints."""

from __future__ import annotations

from typing import Annotated

from attrs import frozen

from groupcheck.model.engine.verdict import Kind
from groupcheck.oracles.show.json_schemas import Amount, Count, Positive
from groupcheck.oracles.simulate.simulate_types import Interval


def of_scope(what: str) -> str:
    """The description of a number of the scope."""
    return f"{what} of the scope; null if it has no such field or for the variant's default."


@frozen(kw_only=True)
class VerdictCounts:
    """Cells by verdict."""

    violated: Annotated[Count, "Cells whose verdict is `violated`."]
    unknown: Annotated[Count, "Cells whose verdict is `unknown`."]
    holds: Annotated[Count, "Cells whose verdict is `holds`."]


@frozen(kw_only=True)
class ForecastCount:
    """How many forecasts of a figure came true."""

    made: Annotated[Count, "How many were made."]
    checked: Annotated[Count, "How many could be compared with a complete search."]
    held: Annotated[Count, "How many intervals contained the result."]


@frozen(kw_only=True)
class Forecasts:
    """What became of the forecasts."""

    states: Annotated[ForecastCount, "Forecasts of states."]
    seconds: Annotated[ForecastCount, "Forecasts of seconds."]


@frozen(kw_only=True)
class Cell:
    """One cell: a row of the table (docs/sweep.md)."""

    cell: Annotated[str, "Identity of the question, 20 hexadecimal digits."]
    number: Annotated[Positive, "Place of the cell in the file, from 1."]
    grid: Annotated[Positive, "Place of its grid in the file, from 1."]
    grid_name: Annotated[str | None, "Name of the grid; null without one."]
    variant: Annotated[str, "The protocol variant."]
    members: Annotated[Count | None, of_scope("Members")]
    partitions: Annotated[Count | None, of_scope("Partitions")]
    generations: Annotated[Count | None, of_scope("Generations")]
    assignor: Annotated[str | None, "Assignor of the scope; null if it has none."]
    faults: Annotated[dict[str, int], "Budget of each fault that may happen."]
    any_faults: Annotated[Count | None, "How many of any faults may happen instead; null without."]
    scope: Annotated[str, "Every field of the scope, as the text of a JSON object."]
    mutation: Annotated[
        str | None, "Id of the known bug that was put into the model; null for the healthy model."
    ]
    invariants: Annotated[
        list[str], "The invariants that were checked, or the promises about progress."
    ]
    progress: Annotated[bool, "Whether promises about progress were judged."]
    progress_not_judged: Annotated[
        list[str],
        "The promises about progress that the check left aside: `verdict` says nothing of them.",
    ]
    max_states: Annotated[Count | None, "Limit of states; null without."]
    max_seconds: Annotated[float | None, "Limit of seconds of wall clock; null without."]
    max_memory: Annotated[Count | None, "Limit of memory in bytes; null without."]
    expected: Annotated[Kind, "The verdict that the file expects."]
    verdict: Annotated[Kind, "The verdict."]
    as_expected: Annotated[bool, "Whether it is the expected one."]
    reason: Annotated[str, "Why."]
    failed: Annotated[bool, "Whether the check itself failed, again and again."]
    tries: Annotated[Count, "How often it was run."]
    complete: Annotated[bool, "Whether every state of the scope was seen."]
    states: Annotated[Count, "Distinct states."]
    transitions: Annotated[Count, "Outcomes of rules that fired."]
    depth: Annotated[Count, "Levels; the initial states are level 1."]
    rule_calls: Annotated[Count, "Calls of Python rules with different arguments."]
    bytes_per_state: Annotated[float, "Bytes that the search held at its peak, divided by states."]
    seconds: Annotated[Amount, "Seconds of wall clock of the search."]
    task_seconds: Annotated[
        Amount, "Seconds of wall clock of the whole task: model, search, story, page."
    ]
    broken: Annotated[list[str], "Invariants that break, or `deadlock`."]
    steps: Annotated[Count | None, "Steps to the first of them; null if none breaks."]
    key: Annotated[
        str | None, "Replays the counterexample (`groupcheck explain`); null without one."
    ]
    page: Annotated[
        str | None, "Page of the counterexample, relative to the folder; null without one."
    ]
    forecast_by: Annotated[
        str | None, "The number that grows, and its value; null if no forecast was made."
    ]
    forecast_states: Annotated[
        Count | None, "States that were forecast before the run; null without a forecast."
    ]
    forecast_states_low: Annotated[Count | None, "Lower end of the interval of states."]
    forecast_states_high: Annotated[Count | None, "Upper end of the interval of states."]
    forecast_seconds: Annotated[
        float | None, "Seconds that were forecast before the run; null without a forecast."
    ]
    forecast_seconds_low: Annotated[float | None, "Lower end of the interval of seconds."]
    forecast_seconds_high: Annotated[float | None, "Upper end of the interval of seconds."]
    states_as_forecast: Annotated[
        bool | None,
        "Whether the states lie in the interval; null without a forecast, or if not every state"
        " was seen.",
    ]
    seconds_as_forecast: Annotated[
        bool | None,
        "Whether the seconds lie in the interval; null without a forecast, or if not every state"
        " was seen.",
    ]
    model: Annotated[str, "Digest of the model's code."]
    version: Annotated[str, "Version of groupcheck."]


@frozen(kw_only=True)
class Simulation:
    """A simulation."""

    cell: Annotated[str, "Identity of the simulation, 20 hexadecimal digits."]
    number: Annotated[Positive, "Place of the cell in the file, from 1, after the checks."]
    grid: Annotated[Positive, "Place of its grid among those of simulations, from 1."]
    grid_name: Annotated[str | None, "Name of the grid; null without one."]
    variant: Annotated[str, "Name of the variant."]
    scenario: Annotated[str, "What happens to the group."]
    members: Annotated[Positive, "Members that the group has at most."]
    partitions: Annotated[Positive, "Partitions of its topic."]
    seed: Annotated[int, "The first seed."]
    replications: Annotated[Positive, "Runs."]
    settings: Annotated[dict[str, float | str], "Assumptions that the file gives, by name."]
    max_seconds: Annotated[float | None, "Limit of seconds of wall clock; null without."]
    at_most: Annotated[dict[str, float], "The most that the mean of a measure may be, by measure."]
    expected: Annotated[Kind, "The verdict that the file expects."]
    verdict: Annotated[
        Kind,
        "`violated` if the interval of some measure lies above its bound, `unknown` if it"
        " contains the bound, or at the limit of seconds.",
    ]
    as_expected: Annotated[bool, "Whether the verdict is the expected one."]
    reason: Annotated[str, "Why."]
    failed: Annotated[bool, "Whether the simulation itself failed on every try."]
    tries: Annotated[Positive, "How often it was started."]
    task_seconds: Annotated[Amount, "Wall clock of the simulations."]
    broken: Annotated[list[str], "Measures above their bounds."]
    measures: Annotated[
        dict[str, Interval],
        "The figures by name, as in groupcheck.simulate/1; none if the simulation failed or"
        " reached its limit.",
    ]
    version: Annotated[str, "Version of groupcheck."]


@frozen(kw_only=True)
class SweepDocument:
    """What `groupcheck sweep --json` prints: all cells of a sweep."""

    name: Annotated[str, "Name of the sweep."]
    verdict: Annotated[
        Kind,
        "That of the worst cell; a cell that is as expected counts as `holds`. It gives the exit"
        " code.",
    ]
    seconds: Annotated[Amount, "Seconds of wall clock of the whole sweep."]
    counts: VerdictCounts
    unexpected: Annotated[Count, "Cells that are not as expected."]
    forecasts: Forecasts
    table: Annotated[str, "The file with the Parquet table."]
    page: Annotated[str, "The file with the page."]
    simulations_table: Annotated[
        str | None, "Where the table of simulations was written; null without simulations."
    ]
    cells: Annotated[list[Cell], "One object for each cell, in the order of the file."]
    simulations: Annotated[
        list[Simulation], "The cells that are simulations, in the order of the file."
    ]


Row = Cell | Simulation
"""What became of a cell of either kind."""
