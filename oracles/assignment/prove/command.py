"""`groupcheck assign --prove` at the terminal: the table of statements, and their test cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.assignment.prove.proofs import document, exit_code, prove_all
from groupcheck.oracles.assignment.prove.prove_types import Proof, Values
from groupcheck.oracles.show.meter import reports, time_left
from groupcheck.oracles.show.suite import ERROR, FAILURE, PASSED, Case, Suite, tell
from groupcheck.oracles.show.terminal import EXIT_CODES, answer, say


def run(as_json: bool, junit: Path | None = None) -> int:
    """Proves, prints the answer, and returns the exit code: 0 if all statements are proved and all
    mutants refuted, else 1. Raises `UserError` if z3 is not installed.
    """
    with reports(progress_line) as progress:
        proofs = prove_all(progress)
    from groupcheck.oracles.assignment.prove.statements import STATEMENTS  # it imports z3

    missing = len(STATEMENTS) - len(proofs)
    answer(lambda: document(proofs, missing), lambda: view(proofs, missing), as_json)
    if missing:
        say(f"interrupted: {missing} of {len(STATEMENTS)} statements were not looked at")
        return EXIT_CODES["unknown"]
    tell(lambda: proofs_suite(proofs), junit)
    return exit_code(proofs)


def progress_line(done: int, whole: int, words: str, seconds: float) -> str:
    """One line for a terminal."""
    return (
        f"{done} of {whole} statements  {seconds:.0f} s{time_left(done, whole, seconds)}  {words}"
    )


def view(proofs: Sequence[Proof], missing: int = 0) -> RenderableType:
    """The table; then, of each statement, the numbers that show that its premises are possible, and
    the numbers that refute its mutants.
    """
    standing = sum(p.stands for p in proofs)
    refuted, mutants = sum(p.refuted for p in proofs), sum(len(p.mutants) for p in proofs)
    whole = len(proofs) + missing
    good = standing == whole
    head = Text.assemble(("proved" if good else "not proved", "bold green" if good else "bold red"))
    head.append(f"  {standing} of {whole} statements stand, {refuted} of {mutants} mutants refuted")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("subject", "statement", "bound", "answer"):
        table.add_column(name, no_wrap=name != "statement")
    table.add_column("seconds", justify="right", no_wrap=True)
    table.add_column("mutants", justify="right", no_wrap=True)
    for p in proofs:
        fallen = f"{p.refuted}/{len(p.mutants)}"
        table.add_row(p.subject, p.words, p.bound, p.answer, f"{p.seconds:.2f}", fallen)
    names = Text(
        "\nP partitions, n members, q and r: P = q n + r with 0 <= r < n. Universal: for all such"
        " numbers. A loop's statement says that it holds before the first pass, and that each pass"
        " keeps it.",
        "dim",
    )
    evidence = (line for p in proofs for line in _evidence(p))
    return Group(head, Padding(table, (0, 0, 0, 2)), names, *evidence)


def _evidence(p: Proof) -> Iterator[Text]:
    yield Text(f"\n{p.subject}: {p.words}  [{p.source}]", "bold")
    if p.counterexample is not None:
        yield Text(f"  does not hold for {_numbers(p.counterexample)}", "bold red")
    possible = f"  its premises hold for {_numbers(p.premises)}" if p.premises else None
    yield Text(possible or "  no numbers found for which its premises hold")
    for m in p.mutants:
        how = f"refuted by {_numbers(m.counterexample)}" if m.counterexample else "not refuted"
        yield Text(f"  mutant, {m.words}: {how}", "" if m.counterexample else "bold red")


def _numbers(values: Values) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def proofs_suite(proofs: Iterable[Proof]) -> Suite:
    """One test case for each statement."""
    return Suite("assign --prove", tuple(map(_case, proofs)))


def _case(p: Proof) -> Case:
    became, why = PASSED, ""
    if p.answer == "unknown":
        became, why = ERROR, "unknown: z3 gave up"
    elif p.answer == "refuted":
        became, why = FAILURE, f"refuted by {p.counterexample}"
    elif not p.stands:
        kept = [m.words for m in p.mutants if m.counterexample is None]
        mutant = f"not refuted: mutant, {kept[0]}" if kept else ""
        became, why = FAILURE, mutant or "its premises may contradict each other"
    return Case(f"{p.subject}: {p.words}", became, why, seconds=p.seconds)
