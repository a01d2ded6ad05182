"""`groupcheck assign --prove` at the terminal: the table of statements."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.assignment.cases import proofs_suite
from groupcheck.oracles.assignment.proofs import Proof, Values, document, exit_code, prove_all
from groupcheck.oracles.show.suite import tell
from groupcheck.oracles.show.terminal import answer


def run(as_json: bool, junit: Path | None = None) -> int:
    """Proves, prints, and gives the exit code: 0 all proved and all mutants refuted, else 1. Raises
    `UserError` where z3 is not installed.
    """
    proofs = prove_all(_tell if sys.stderr.isatty() else None)
    answer(lambda: document(proofs), lambda: view(proofs), as_json)
    tell(lambda: proofs_suite(proofs), junit)
    return exit_code(proofs)


def _tell(words: str) -> None:
    print(f"groupcheck: {words}", file=sys.stderr, flush=True)


def view(proofs: Sequence[Proof]) -> RenderableType:
    """The table, then of each statement the numbers that show its premises possible, and those that
    refute its mutants.
    """
    standing, refuted = (
        sum(p.stands for p in proofs),
        sum(m.counterexample is not None for p in proofs for m in p.mutants),
    )
    of_mutants = f"{refuted} of {sum(len(p.mutants) for p in proofs)} mutants refuted"
    good = standing == len(proofs)
    head = Text.assemble(("proved" if good else "not proved", "bold green" if good else "bold red"))
    head.append(f"  {standing} of {len(proofs)} statements stand, {of_mutants}")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("subject", "statement", "bound", "answer"):
        table.add_column(name, no_wrap=name != "statement")
    table.add_column("seconds", justify="right", no_wrap=True)
    table.add_column("mutants", justify="right", no_wrap=True)
    for p in proofs:
        fallen = sum(m.counterexample is not None for m in p.mutants)
        table.add_row(
            p.subject, p.words, p.bound, p.answer, f"{p.seconds:.2f}", f"{fallen}/{len(p.mutants)}"
        )
    names = Text(
        "\nP partitions, n members, q and r: P = q n + r with 0 <= r < n. Universal: for all such"
        " numbers. A loop's statement says that its first pass begins as is said, and that each"
        " pass keeps it.",
        "dim",
    )
    return Group(
        head, Padding(table, (0, 0, 0, 2)), names, *(line for p in proofs for line in _evidence(p))
    )


def _evidence(p: Proof) -> list[Text]:
    lines = [Text(f"\n{p.subject}: {p.words}  [{p.source}]", "bold")]
    if p.counterexample is not None:
        lines.append(Text(f"  does not hold for {_numbers(p.counterexample)}", "bold red"))
    lines.append(
        Text(
            f"  its premises hold for {_numbers(p.premises)}"
            if p.premises
            else "  no numbers found for which its premises hold"
        )
    )
    for m in p.mutants:
        how = f"refuted by {_numbers(m.counterexample)}" if m.counterexample else "not refuted"
        lines.append(Text(f"  mutant, {m.words}: {how}", "" if m.counterexample else "bold red"))
    return lines


def _numbers(values: Values) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
