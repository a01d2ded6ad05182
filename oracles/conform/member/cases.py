"""The comparison of the member as test cases, one for each kind of row, and as a table."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from groupcheck.oracles.conform.cases import changes_suite
from groupcheck.oracles.conform.member.conformance import (
    MemberConformance,
    difference_shown,
)
from groupcheck.oracles.conform.member.shown import kind_of, row_shown
from groupcheck.oracles.conform.member.versions_differ import MemberVersions
from groupcheck.oracles.show.suite import ERROR, FAILURE, Case, Suite


def member_suite(result: MemberConformance) -> Suite:
    """One case for each kind of row: what happens, or the request that is answered; and one for the
    steps of the group's model. A kind of which not every row was executed is an error. `result`
    lists its rows.

    One tour executes all rows, so its time is divided among the cases by their rows.
    """
    kinds: dict[str, list[bool | None]] = defaultdict(list)
    for row, agrees in result.listed:
        kinds[kind_of(row)].append(agrees)
    each = result.seconds / max(1, len(result.listed))
    cases = [_case(result, kind, rows, each) for kind, rows in sorted(kinds.items())]
    if result.steps:
        cases.append(_steps(result))
    if result.verdict == "unknown":
        cases.append(Case("every row and outcome is executed", ERROR, f"unknown: {result.reason}"))
    name = f"conform {result.variant} --side member, Kafka {result.kafka}"
    return Suite(name, tuple(cases))


def _case(result: MemberConformance, kind: str, rows: list[bool | None], each: float) -> Case:
    seconds = each * len(rows)
    differing, left = rows.count(False), rows.count(None)
    if differing:
        first = next(d for d in result.differences if kind_of(d.row) == kind)
        told = difference_shown(first)
        text = "\n".join([told.input, *told.differs, *told.transcript])
        why = f"{differing:,} of {len(rows):,} rows differ"
        return Case(kind, FAILURE, why, text, seconds)
    if left:
        why = f"unknown: {left:,} of {len(rows):,} rows were not executed: {result.reason}"
        return Case(kind, ERROR, why, seconds=seconds)
    return Case(kind, seconds=seconds)


def _steps(result: MemberConformance) -> Case:
    """The steps of the group's model that were compared with the rows."""
    name = "steps of the group's model"
    if not result.misfits:
        return Case(name)
    told = difference_shown(result.misfits[0])
    text = "\n".join([told.input, *told.differs, *told.transcript])
    return Case(name, FAILURE, f"{len(result.misfits):,} steps differ from the rows", text)


def member_versions_suite(result: MemberVersions) -> Suite:
    """One case for each change between two versions; a single one that passes if there is none."""
    return changes_suite("conform --side member", result, result.reason, result.seconds)


def member_table(result: MemberConformance) -> list[dict[str, Any]]:
    """A row of the table for each row (docs/tables.md)."""
    same = {"variant": result.variant, "kafka": result.kafka, "mutation": result.mutation}
    return [
        {
            **same,
            "row": number,
            "memory": row_shown(row)[1],
            "generation": row.before.client.generation,
            "input": row_shown(row)[0],
            "outcomes": row.allowed,
            "executed": agrees is not None,
            "agrees": agrees,
        }
        for number, (row, agrees) in enumerate(result.listed)
    ]
