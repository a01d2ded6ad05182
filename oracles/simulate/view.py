"""A comparison for people: a table side by side, ratios in sentences, assumptions, seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from attrs import frozen
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.simulate.compare import Comparison
from groupcheck.oracles.simulate.document import assumptions, listed
from groupcheck.oracles.simulate.intervals import Interval
from groupcheck.oracles.simulate.scenarios import SCENARIOS
from groupcheck.oracles.simulate.sensitivity import DIFFERENT, Sensitivity
from groupcheck.traces.phrases import plural


@frozen
class Unit:
    """How figures of one size are written: divided by something, with so many digits behind the
    point.
    """

    name: str
    divisor: float = 1.0
    digits: int = 0

    def bare(self, value: float) -> str:
        return f"{value / self.divisor:,.{self.digits}f}"

    def __call__(self, value: float) -> str:
        if not math.isfinite(value):
            return "unknown"
        return f"{self.bare(value)} {self.name}".rstrip()


def duration(ms: float) -> Unit:
    """Durations of this length as people write them: 12 ms, 3.4 s, 41 min."""
    if ms < 1000:
        return Unit("ms", digits=int(0 < ms < 10))
    return Unit("s", 1000, 1) if ms < 600_000 else Unit("min", 60_000)


def count(value: float) -> Unit:
    """Counts."""
    return Unit("")


def digits(value: float) -> Unit:
    """Numbers below 10, to three digits."""
    return Unit("", digits=2 if abs(value) >= 1 else 3)


def size(value: float) -> Unit:
    """Bytes."""
    return Unit("kB", 1000) if value >= 10_000 else Unit("B")


MEASURES: tuple[tuple[str, str, Callable[[float], Unit]], ...] = (
    ("longest_pause_ms", "longest pause of a member", duration),
    ("total_pause_ms", "all pauses together", duration),
    ("paused_members", "members that paused", count),
    ("longest_start_ms", "longest start of a process", duration),
    ("settled_ms", "until the group rests", duration),
    ("rounds", "rounds", count),
    ("moved_partitions", "partitions that moved", count),
    ("stopped_partitions", "partitions stopped", count),
    ("stopped_longest_ms", "longest stop of a partition", duration),
    ("lag_built_records", "records that piled up", count),
    ("lag_recovered_ms", "until no lag is left", duration),
    ("requests", "requests sent", count),
    ("join_answer_bytes", "answers to JoinGroup", size),
)


ALSO: tuple[tuple[str, str, Callable[[float], Unit]], ...] = (
    ("false_expiries", "sessions of running processes that expired", count),
    ("stopped_total_ms", "all stops of partitions together", duration),
    ("lag_peak_records", "most records that waited", count),
    ("false_expiries_per_member_hour", "false expiries of a member in an hour", digits),
)
MEASURED = {name: (words, unit_of) for name, words, unit_of in (*MEASURES, *ALSO)}
"""Every measure: in words, and how its figures are written."""


def view(comparison: Comparison, moved: Sensitivity | None = None) -> RenderableType:
    """The whole answer."""
    setup = comparison.rows[0].setup
    title = (
        f"{setup.scenario}: {plural(setup.members, 'member')},"
        f" {plural(setup.partitions, 'partition')}, seed {comparison.seed}"
    )
    if comparison.replications > 1:
        title += f", {comparison.replications} replications (means, 95 % t intervals)"
    parts: list[RenderableType] = [
        Text(title, style="bold"),
        Text(SCENARIOS[setup.scenario].doc),
        *([Text(f"Unknown: {comparison.reason}.")] if comparison.reason else []),
        _table(comparison),
        *(Text(sentence) for sentence in sentences(comparison)),
    ]
    if moved is not None:
        parts += [Text(""), _moves(moved, comparison)]
    parts += [Text(""), Text("Assumptions (--set NAME=VALUE changes one):"), _assumed(comparison)]
    return Group(*parts)


def _table(comparison: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold")
    for row in comparison.rows:
        table.add_column(row.setup.variant, justify="right", overflow="fold")
    for name, words, shown in MEASURES:
        cells = [cell(row.interval(name), shown) for row in comparison.rows]
        table.add_row(words, *cells)
    return table


def cell(found: Interval, unit_of: Callable[[float], Unit]) -> str:
    """A mean with the ends of its interval."""
    unit = unit_of(found.mean)
    if found.low is None or found.high is None or found.low == found.high:
        return unit(found.mean)
    return f"{unit(found.mean)} ({unit.bare(found.low)}-{unit.bare(found.high)})"


def conclusion(comparison: Comparison) -> str:
    """The answer in one sentence."""
    if comparison.reason:
        return comparison.reason[0].upper() + comparison.reason[1:] + "."
    if len(comparison.rows) > 1:
        pauses = [
            f"{cell(row.interval('longest_pause_ms'), duration)} with {row.setup.variant}"
            for row in comparison.rows
        ]
        return f"The longest pause of a member is {_listed(pauses)}."
    (row,) = comparison.rows
    pause, rest = row.interval("longest_pause_ms"), row.interval("settled_ms")
    text = f"No member of {row.setup.variant} pauses"
    if pause.mean:
        text = f"With {row.setup.variant}, the longest pause of a member is {cell(pause, duration)}"
    return f"{text}; the group rests after {cell(rest, duration)}."


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def sentences(comparison: Comparison) -> Iterator[str]:
    """The statements of the comparison, in words."""
    if len(comparison.rows) == 1:
        return
    yield ""
    first = comparison.rows[0].setup.variant
    for k, row in enumerate(comparison.rows):
        if k:
            yield _sentence(comparison, k, first, row.setup.variant)


def _sentence(comparison: Comparison, k: int, first: str, other: str) -> str:
    found = comparison.ratio("longest_pause_ms", k)
    if found is None:
        paused = comparison.rows[k].interval("longest_pause_ms").mean
        if not paused:
            return f"No member pauses with {other}, so there is no ratio of pauses."
        return f"The pauses of {first} and {other} have no ratio."
    text = f"The longest pause with {first} is {times(found.mean)} times that with {other}"
    if found.low is not None and found.high is not None:
        text += f" (geometric mean of paired runs; 95 % t interval: {times(found.low)} to"
        text += f" {times(found.high)})"
    return text + "."


def times(ratio: float) -> str:
    """A ratio with three digits, a large one with all that it has: 1.34, 24.2, 242, 1,234."""
    return f"{ratio:,.0f}" if ratio >= 99.95 else f"{ratio:#.3g}"


def _moves(moved: Sensitivity, comparison: Comparison) -> RenderableType:
    factors = sorted({factor for one in moved.moved for factor, _ in one.ratios})
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("assumption", overflow="fold")
    table.add_column("value", overflow="fold")
    for factor in factors:
        table.add_column(f"x {factor:g}", justify="right", overflow="fold")
    base = moved.base.mean if moved.base is not None else math.nan
    still = []
    ordered = sorted(moved.moved, key=lambda one: -one.spread(base)) if moved.base else moved.moved
    for one in ordered:
        known = dict(one.ratios)
        if moved.base is not None and one.spread(base) <= 1 + DIFFERENT:
            still.append(one.assumption)
            continue
        cells = [
            times(ratio.mean) if (ratio := known.get(factor)) is not None else "-"
            for factor in factors
        ]
        table.add_row(one.assumption, one.value, *cells)
    most = moved.deciding
    runs = plural(moved.replications, "run")
    words = f"In {runs} of {plural(moved.members, 'member')} the longest pauses have a ratio of"
    words += f" {times(base)}"
    members, replications = comparison.rows[0].setup.members, comparison.replications
    if (moved.members, moved.replications) != (members, replications):
        words += " (a quick look, so it is not the ratio above; --sensitivity looks at"
        words += f" {plural(replications, 'run')} of {plural(members, 'member')})"
    words += "."
    if most is not None:
        words += f" What decides it most is {most.assumption} ({most.value})."
    words += " One assumption at a time, made smaller or larger, gives:"
    rest = f"It moves by less than {DIFFERENT:.0%} with: {', '.join(still)}." if still else ""
    return Group(Text(words), table, Text(rest))


def _assumed(comparison: Comparison) -> RenderableType:
    given = assumptions(comparison.rows[0].setup.stated)
    return Padding(Text(listed(given)), (0, 0, 0, 2))
