"""The comparison of coordinators as test cases: one for each kind of row."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from groupcheck.oracles.conform.conformance import (
    Conformance,
    VersionDiff,
)
from groupcheck.oracles.conform.row_results import kind_of
from groupcheck.oracles.conform.shown import difference_shown, situations_shown
from groupcheck.oracles.conform.situations.running import Executed
from groupcheck.oracles.show.json_schemas import ABSENT
from groupcheck.oracles.show.suite import ERROR, FAILURE, PASSED, Case, Suite


def conform_suite(result: Conformance) -> Suite:
    """One case for each kind of row: a request, or a timer or fault of the coordinator. A kind of
    which not every row was executed is an error. `result` lists its rows.

    One tour executes all rows, so its time is divided among the cases by their rows.
    """
    kinds: dict[str, list[tuple[bool, bool | None]]] = defaultdict(list)
    for row, executed, agrees in result.listed:
        kinds[kind_of(row.given)].append((executed, agrees))
    each = result.seconds / max(1, len(result.ledger.listed))
    cases = [_case(result, kind, rows, each * len(rows)) for kind, rows in sorted(kinds.items())]
    if result.verdict == "unknown" and all(case.became == PASSED for case in cases):
        cases.append(Case("every row and outcome is seen", ERROR, f"unknown: {result.why}"))
    if result.situations is not None:
        cases.append(_situations(result.situations))
    return Suite(f"conform {result.variant}, Kafka {result.kafka}", tuple(cases))


def _case(
    result: Conformance, kind: str, rows: list[tuple[bool, bool | None]], seconds: float
) -> Case:
    differing = sum(agrees is False for _, agrees in rows)
    left = sum(not executed for executed, _ in rows)
    if differing:
        why = f"{differing:,} of {len(rows):,} rows differ"
        first = next((d for d in result.ledger.differences if kind_of(d.row.given) == kind), None)
        told = difference_shown(first) if first else None
        text = [told.input, *told.differs, *told.transcript] if told else []
        return Case(kind, FAILURE, why, "\n".join(text), seconds)
    if left:
        reasons = "; ".join(result.ledger.unrealizable) or result.why
        why = f"unknown: {left:,} of {len(rows):,} rows were not executed: {reasons}"
        return Case(kind, ERROR, why, seconds=seconds)
    return Case(kind, seconds=seconds)


def _situations(executed: tuple[Executed, ...]) -> Case:
    told = situations_shown(executed).differences
    if not told:
        return Case("situations")
    first = told[0]
    text = "\n".join([first.situation, *first.differs, *first.transcript])
    return Case("situations", FAILURE, f"{len(told)} of {len(executed)} situations differ", text)


def versions_suite(result: VersionDiff) -> Suite:
    """One case for each change between two versions; a single one that passes if there is none."""
    tour = result.tour
    beside = () if tour.situations is None else (_situations(tour.situations),)
    return changes_suite("conform", result, tour.ledger.reason, tour.seconds, beside)


def changes_suite(
    command: str, result: Any, reason: str, seconds: float, beside: tuple[Case, ...] = ()
) -> Suite:
    """A suite of the changes between two versions of anything, and of cases `beside` them.
    `reason`: why not every row was executed; empty if they all were.
    """
    cases = []
    for number, change in enumerate(result.changes, 1):
        told = change.shown(result.versions)
        old, new = result.versions
        text = [
            f"{one.what}: {one.old} in {old}, {one.new} in {new}"
            for one in (() if told.values is ABSENT else told.values)
        ]
        text += [
            line
            for version, transcript in told.transcripts.items()
            for line in (f"Kafka {version}", *transcript)
        ]
        name = f"{number} after {told.after}"
        cases.append(Case(name, FAILURE, ", ".join(told.differs), "\n".join(text)))
    if reason:
        cases.append(Case("every row is executed", ERROR, f"unknown: {reason}"))
    same = Case("no difference", seconds=seconds)
    command += " --jars" if result.build else " --diff"
    return Suite(f"{command}, Kafka {' and '.join(result.versions)}", (*(cases or [same]), *beside))
