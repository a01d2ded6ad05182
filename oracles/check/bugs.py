"""Every known bug found again: the mutation is put in, its smallest scope explored, and the
invariant that it names must fall.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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


@frozen
class Found:
    """A mutation and the check of it. `told` is the story of the invariant that the mutation names,
    None if that held.
    """

    mutation: Mutation
    result: CheckResult
    told: Explanation | None

    @property
    def fell(self) -> bool:
        return self.told is not None

    def document(self) -> dict[str, Any]:
        """As plain JSON."""
        m, v = self.mutation, self.result.verdict
        return {
            "id": m.id,
            "ticket": m.ticket,
            "variant": m.variant,
            "rule": m.rule,
            "invariant": m.invariant,
            "title": m.title,
            "scope": self.result.subject.scope(),
            "found": self.fell,
            "verdict": v.verdict,
            "broken": [violation.invariant for violation in v.violations],
            "states": v.states,
            "depth": self.told.depth if self.told else None,
            "key": self.told.key if self.told else None,
            "prose": self.told.prose if self.told else None,
        }


def find_all(ids: Sequence[str] = (), engine: str = "fast") -> list[Found]:
    """Checks these mutations, or all of them, in the order of their declaration. Raises `UserError`
    for an unknown id.
    """
    chosen = [mutation_named(name) for name in ids] if ids else every_mutation()
    return list(find(chosen, engine))


def find(mutations: Sequence[Mutation], engine: str) -> Iterator[Found]:
    """Checks each mutation within its own scope."""
    for m in mutations:
        result = run(subject(m.variant, mutation=m.id), Limits(), engine=engine)
        told = next((e for e in result.explanations if e.invariant == m.invariant), None)
        yield Found(m, result, told)


def write_parquet(found: Sequence[Found], path: Path) -> None:
    """Writes the bug table (docs/tables.md)."""
    documents = [one.document() for one in found]
    parquet.write_table(
        [{**d, "scope": json.dumps(d["scope"], sort_keys=True)} for d in documents],
        parquet.BUGS,
        path,
    )


def view(found: Sequence[Found], told_whole: bool) -> Group:
    """Each bug with what it broke, and with its steps too where `told_whole`."""
    parts: list[Any] = []
    for one in found:
        m = one.mutation
        state = ("found", "bold green") if one.fell else ("NOT FOUND", "bold red")
        parts.append(
            Text.assemble(
                state,
                "  ",
                (printable(m.id), "bold"),
                f"  {printable(m.ticket)}  {printable(m.title)}",
            )
        )
        if one.told is None:
            held = (
                f"{m.invariant} did not fall: {one.result.verdict.verdict},"
                f" {one.result.verdict.reason}"
            )
            parts.append(Text(f"    {printable(held)}\n"))
        elif told_whole:
            parts.append(explanation_view(one.told))
        else:
            where = (
                f"{m.invariant} breaks at depth {one.told.depth}, {one.result.verdict.states:,}"
                " states"
            )
            parts += [
                Text(f"    {printable(where)}"),
                Text(f"    {printable(one.told.sentence)}\n"),
            ]
    fell = sum(one.fell for one in found)
    parts.append(Text(f"{fell} of {len(found)} bugs found"))
    return Group(*parts)
