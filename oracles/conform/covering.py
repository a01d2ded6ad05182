"""`groupcheck conform --coverage`: what a run executed of Kafka's own classes, as data and as a
report.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TypeVar

from attrs import frozen
from rich.console import Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.kafka.coverage import coverage_types
from groupcheck.oracles.kafka.coverage.coverage_types import BranchTotal, Place, Reason
from groupcheck.oracles.kafka.coverage.measuring import COUNTED, Line, Method, read, total
from groupcheck.oracles.kafka.coverage.reasons import (
    FAMILIES,
    VERSION,
    ReasonsCheck,
    explained,
    table,
)
from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.processes.supervisor import temporary_folder

T = TypeVar("T")


@frozen
class Coverage:
    """The parts of Kafka's own classes that a run executed."""

    kafka: str
    methods: tuple[Method, ...]
    # None for a Kafka version whose unexecuted branches nobody has explained.
    explained: ReasonsCheck | None
    # How many JVMs broke down: what they executed was not counted.
    lost: int = 0

    @property
    def classes(self) -> dict[str, BranchTotal]:
        """The sums of each class."""
        return {name: total(self.of(name)) for name in COUNTED}

    def of(self, class_name: str) -> tuple[Method, ...]:
        return tuple(m for m in self.methods if m.class_name == class_name)

    @property
    def within_reach(self) -> int | None:
        """The number of branches that a classic group can reach."""
        if self.explained is None:
            return None
        return total(self.methods).branches - self.explained.out_of_reach

    def shown(self) -> coverage_types.Coverage:
        """The field `coverage` of `--json`."""
        why = self.explained
        return coverage_types.Coverage(
            kafka=self.kafka,
            jvms_lost=self.lost,
            total=total(self.methods),
            branches_within_reach=self.within_reach,
            classes=self.classes,
            methods=[_method_shown(m) for m in self.methods],
            reasons=list(why.reasons) if why else None,
            without_reason=list(map(_shown, why.without)) if why else None,
            outdated_reasons=list(map(_shown, why.outdated)) if why else None,
        )


def _method_shown(m: Method) -> coverage_types.Method:
    return coverage_types.Method(
        class_=m.class_name,
        method=m.name,
        line=m.lines[0].number,
        total=total((m,)),
        lines_unexecuted=[line.number for line in m.lines if not line.executed],
        branches_unexecuted={
            str(line.number): line.branches - line.branches_executed
            for line in m.lines
            if line.branches_executed < line.branches
        },
    )


def _shown(found: tuple[Place, int]) -> str:
    (class_name, method, line), branches = found
    return f"{class_name}.{method}, line {line}: {branches}"


def covered(version: str, run: Callable[[Driver], T]) -> tuple[T, Coverage]:
    """Runs something on a driver of its own, and counts what it executes of Kafka's classes."""
    with temporary_folder("groupcheck-coverage-") as place:
        counts = place / "counts"
        with Driver(version, counts=counts) as driver:
            result = run(driver)
        methods = read(version, counts)
    why = explained(methods, table()) if version == VERSION else None
    return result, Coverage(version, methods, why, driver.restarts)


def coverage_view(found: Coverage) -> RenderableType:
    """Classes, their methods, and why branches stay unexecuted."""
    return Group(
        Text(f"\nExecuted of Kafka {found.kafka}'s own classes", "bold"),
        *([Text(f"{found.lost} JVMs broke; what they executed is missing.")] if found.lost else []),
        _classes(found),
        *_methods(found),
        *_why(found),
    )


def _classes(found: Coverage) -> Table:
    shown = _table("class", "lines", "branches")
    for name, sums in found.classes.items():
        shown.add_row(name, *_shares(sums))
    shown.add_row("all", *_shares(total(found.methods)), style="bold")
    reach = found.within_reach
    if reach is not None:
        executed = total(found.methods).branches_executed
        shown.add_row("  within reach of a classic group", "", _share(executed, reach))
    return shown


def _table(*columns: str) -> Table:
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for k, column in enumerate(columns):
        side: JustifyMethod = "left" if k == 0 else "right"
        shown.add_column(column, justify=side, no_wrap=k > 0, overflow="fold")
    return shown


def _share(executed: int, of: int) -> str:
    return f"{executed}/{of} = {100 * executed // of} %" if of else ""


def _shares(sums: BranchTotal) -> tuple[str, str]:
    return (
        _share(sums.lines_executed, sums.lines),
        _share(sums.branches_executed, sums.branches),
    )


def _methods(found: Coverage) -> Iterator[RenderableType]:
    for name in found.classes:
        shown = _table("method", "lines", "branches", "lines not executed")
        shown.columns[3].no_wrap = False
        shown.columns[3].justify = "left"
        for m in found.of(name):
            sums = total((m,))
            if sums.lines_executed < sums.lines or sums.branches_executed < sums.branches:
                shown.add_row(f"{m.lines[0].number} {m.name}", *_shares(sums), _lines(m.lines))
        yield Text(f"\n{name}: methods of which not all was executed", "bold")
        yield shown


def _lines(lines: tuple[Line, ...]) -> str:
    """`12-15 18`: the lines that were not executed, stretches of code lines as one."""
    stretches = groupby(lines, key=lambda line: line.executed)
    ends = [[line.number for line in some] for executed, some in stretches if not executed]
    return " ".join(f"{s[0]}-{s[-1]}" if len(s) > 1 else str(s[0]) for s in ends)


def _reasons(some: list[Reason]) -> Table:
    """One row for each reason, with the methods and lines that it is about."""
    shown = Table("why", "branches", "where", box=None, padding=(0, 2, 0, 0), header_style="dim")
    shown.columns[1].justify = "right"
    places: dict[str, list[Reason]] = defaultdict(list)
    for reason in some:
        places[reason.why].append(reason)
    for why, reasons in places.items():
        lines: dict[str, dict[int, None]] = defaultdict(dict)
        for r in reasons:
            lines[r.class_name.rpartition("/")[2]][r.line] = None
        where = (f"{name} {', '.join(map(str, numbers))}" for name, numbers in lines.items())
        shown.add_row(why, str(sum(r.branches for r in reasons)), "; ".join(where))
    return shown


def _why(found: Coverage) -> Iterator[RenderableType]:
    why = found.explained
    if why is None:
        yield Text(f"\nWhy branches are not executed is known of Kafka {VERSION} only.")
        return
    for family, title in FAMILIES.items():
        some = [r for r in why.reasons if r.family == family]
        if some:
            yield Text(f"\n{sum(r.branches for r in some)} branches not executed: {title}", "bold")
            yield _reasons(some)
    for title, places in (
        ("Branches not executed in this run, for no known reason", why.without),
        ("Executed in this run, although a reason says that it cannot be", why.outdated),
    ):
        if places:
            yield Text(f"\n{title}", "bold")
            yield from (Text(f"  {_shown(place)}") for place in places)
