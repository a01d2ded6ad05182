"""Finds every known bug again: puts the mutation in, explores its smallest scope, and expects the
invariant that it names to break.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import frozen
from rich.console import Group
from rich.text import Text

from groupcheck.model.engine import Limits
from groupcheck.model.mutations import Mutation
from groupcheck.oracles.check.run import CheckResult, run
from groupcheck.oracles.explain.explanation import Explanation
from groupcheck.oracles.explain.subject import every_mutation, mutation_named, subject
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show import parquet
from groupcheck.oracles.show.text import explanation_view

ENGINE = "fast"


@frozen
class Found:
    """A mutation and the check of it."""

    mutation: Mutation
    result: CheckResult

    @property
    def told(self) -> Explanation | None:
        """The story of the invariant that the mutation names; None if that invariant held."""
        name = self.mutation.invariant
        return next((e for e in self.result.explanations if e.invariant == name), None)

    @property
    def fell(self) -> bool:
        """Whether the invariant that the mutation names is broken."""
        return self.told is not None

    def document(self) -> dict[str, Any]:
        """The fields of one object that `bugs --json` prints."""
        m, v, told = self.mutation, self.result.verdict, self.told
        return {
            "id": m.id,
            "ticket": m.ticket,
            "variant": m.family.base,
            "rule": m.rule,
            "invariant": m.invariant,
            "title": m.title,
            "scope": self.result.subject.scope(),
            "found": self.fell,
            "verdict": v.verdict,
            "broken": [violation.invariant for violation in v.violations],
            "states": v.states,
            "depth": told.depth if told else None,
            "key": told.key if told else None,
            "prose": told.prose if told else None,
        }


def find_all(ids: Sequence[str] = ()) -> list[Found]:
    """Checks these mutations, or all of them, each within its own scope. Raises `UserError` for an
    unknown id.
    """
    chosen = [mutation_named(name) for name in ids] if ids else every_mutation()
    return [
        Found(m, run(subject(m.family.base, mutation=m.id), Limits(), engine=ENGINE))
        for m in chosen
    ]


def write_parquet(found: Sequence[Found], path: Path) -> None:
    """Writes the bug table (docs/tables.md)."""
    rows = [one.document() for one in found]
    for row in rows:
        row["scope"] = json.dumps(row["scope"], sort_keys=True)
    parquet.write_table(rows, parquet.BUGS, path)


def view(found: Sequence[Found], told_whole: bool) -> Group:
    """Each bug with what it broke, and with its steps too if `told_whole`."""
    parts: list[Any] = []
    for one in found:
        m, v, told = one.mutation, one.result.verdict, one.told
        state = ("found", "bold green") if told else ("NOT FOUND", "bold red")
        name = (printable(m.id), "bold")
        parts.append(
            Text.assemble(state, "  ", name, f"  {printable(m.ticket)}  {printable(m.title)}")
        )
        if told is None:
            held = f"{m.invariant} is not broken: {v.verdict}, {v.reason}"
            parts.append(Text(f"    {printable(held)}\n"))
        elif told_whole:
            parts.append(explanation_view(told))
        else:
            where = f"{m.invariant} breaks at depth {told.depth}, {v.states:,} states"
            parts += [Text(f"    {printable(where)}"), Text(f"    {printable(told.sentence)}\n")]
    fell = sum(one.fell for one in found)
    parts.append(Text(f"{fell} of {len(found)} bugs found"))
    return Group(*parts)
