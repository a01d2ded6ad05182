"""A comparison for people: a table side by side, ratios in sentences, assumptions, seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from attrs import frozen
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.simulate.article import OF_THAT_TIME, Beside, overlaps
from groupcheck.oracles.simulate.assumptions import Assumptions
from groupcheck.oracles.simulate.compare import Comparison
from groupcheck.oracles.simulate.document import assumptions, listed
from groupcheck.oracles.simulate.intervals import Interval
from groupcheck.oracles.simulate.kinds import kinds
from groupcheck.oracles.simulate.scenarios import SCENARIOS
from groupcheck.oracles.simulate.sensitivity import DIFFERENT, AssumptionRatios, Sensitivity
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
    """Numbers below 10, to three digits; 0 is said to be 0."""
    return Unit("", digits=2 if abs(value) >= 1 else 3 if value else 0)


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
    ("lag_peak_behind_ms", "most that a partition is behind", duration),
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


def view(
    comparison: Comparison, moved: Sensitivity | None = None, beside: Beside | None = None
) -> RenderableType:
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
    if beside is not None:
        parts += [Text(""), *_beside(beside)]
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
    multiples = [one for one in moved.moved if not one.is_value]
    factors = sorted({factor for one in multiples for factor, _ in one.ratios})
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("assumption", overflow="fold")
    table.add_column("value", overflow="fold")
    for factor in factors:
        table.add_column(f"x {factor:g}", justify="right", overflow="fold")
    base = moved.base.mean if moved.base is not None else math.nan
    still = []
    ordered = sorted(multiples, key=lambda one: -one.spread(base)) if moved.base else multiples
    for one in ordered:
        known = dict(one.ratios)
        if moved.base is not None and one.spread(base) <= 1 + DIFFERENT:
            still.append(one.assumption)
            continue
        cells = [_moved_to(one, factor, known.get(factor)) for factor in factors]
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
    return Group(Text(words), table, Text(rest), *_others(moved))


def _moved_to(one: AssumptionRatios, at: float, ratio: Interval | None) -> str:
    found = "-" if ratio is None else times(ratio.mean)
    return f"{found}*" if at in one.unsettled else found


def _others(moved: Sensitivity) -> Iterator[RenderableType]:
    """Assumptions at other values than multiples, and those that were not asked."""
    if others := [one for one in moved.moved if one.is_value]:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for head in ("assumption", "value", "at other values"):
            table.add_column(head, overflow="fold")
        for one in others:
            cells = (f"{_moved_to(one, at, ratio)} at {at:g}" for at, ratio in one.ratios)
            table.add_row(one.assumption, one.value, ", ".join(cells))
        yield table
    if any(one.unsettled for one in moved.moved):
        yield Text("* Some group did not come to rest before its run ended.")
    by_reason: dict[str, list[str]] = {}
    for name, why in moved.not_asked.items():
        by_reason.setdefault(why, []).append(name)
    told = "; ".join(f"{', '.join(names)} ({why})" for why, names in by_reason.items())
    yield Text(f"Not asked: {told or 'none'}.")


def _beside(beside: Beside) -> list[RenderableType]:
    """The article's figures and ours, in ms."""
    columns = [("article, 8 runs", beside.article), ("as above", beside.ours)]
    if beside.of_that_time is not None:
        columns.append(("a coordinator of that time", beside.of_that_time))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold")
    for name, _ in columns:
        table.add_column(name, justify="right", overflow="fold")
    every = [figures for _, figures in columns]
    table.add_row("longest pause, native", *(_with_ends(one.native) for one in every))
    table.add_row("  asynchronous", *(_with_ends(one.asynchronous) for one in every))
    table.add_row("ratio of these means", *(times(one.ratio_of_means) for one in every))
    ratios = ("-" if one.ratio is None else _with_ends(one.ratio) for one in every)
    table.add_row("  of geometric means", *ratios)
    told: list[RenderableType] = [
        Text("Beside the article's group of this size (ms; 95 % t intervals):"),
        table,
    ]
    for name, figures in columns[1:]:
        met = listed_words(overlaps(beside.article, figures))
        told.append(Text(f"Intervals that meet the article's, {name}: {met}."))
    if beside.of_that_time is not None:
        told.append(Text("A coordinator of that time has these inputs in place of the defaults:"))
        told += [
            Padding(Text(f"{one.name}={one.value}  {one.kind}: {one.source}"), (0, 0, 0, 2))
            for one in OF_THAT_TIME
        ]
    given = kinds(Assumptions())
    for kind in ("measured", "assumed"):
        names = [name for name, of in given.items() if of == kind]
        told.append(Text(f"{kind.capitalize()} are {', '.join(names)}."))
    told.append(Text("All others are defaults of Kafka, or say what happens."))
    return told


def listed_words(words: Sequence[str]) -> str:
    """Words in a sentence."""
    return _listed(words) if len(words) > 1 else "".join(words) or "none"


def _with_ends(found: Interval) -> str:
    if found.low is None or found.high is None:
        return times(found.mean)
    return f"{times(found.mean)} ({times(found.low)}-{times(found.high)})"


def _assumed(comparison: Comparison) -> RenderableType:
    given = assumptions(comparison.rows[0].setup.stated)
    return Padding(Text(listed(given)), (0, 0, 0, 2))
