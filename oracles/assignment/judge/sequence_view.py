"""A judged sequence at the terminal: the verdict, what is wrong, and each change with its rounds,
its moves and the fewest moves.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group
from rich.table import Table
from rich.text import Text

from groupcheck.oracles.assignment.judge.sequence import JudgedChange, JudgedSequence
from groupcheck.oracles.assignment.judge.verdict_view import (
    FEW,
    beginning,
    left_out,
    plain_table,
    short,
)

CHANGES = 100  # that are printed


def view(judged: JudgedSequence) -> Group:
    """The verdict, then what is wrong, then the table of changes."""
    wrong = [f"{where}: {v.promise}: {v.words}" for where, v in judged.violations]
    begins = beginning(judged.verdict, title(judged), facts(judged), wrong)
    return Group(*begins, Text(""), _table(judged))


def title(judged: JudgedSequence) -> str:
    """What the file says about itself."""
    return judged.asked.about or (
        f"a sequence for {judged.asked.assignor}" if judged.asked.assignor else "a sequence"
    )


def facts(judged: JudgedSequence) -> Iterable[tuple[str, str]]:
    """Name and words."""
    yield "judged", ", ".join(judged.promises)
    rounds = sum(len(change.rounds) for change in judged.changes)
    yield "changes", f"{len(judged.changes)} in {rounds} round{'s' * (rounds != 1)}"
    moves, fewest = (sum(c.moves for c in judged.changes), sum(c.fewest for c in judged.changes))
    yield "moves", f"{moves}, and {fewest} would do for balance at each change"
    notes = (note for change in judged.changes for round_ in change.rounds for note in round_.notes)
    for note in list(dict.fromkeys(notes))[:FEW]:
        yield "note", note


def _table(judged: JudgedSequence) -> Table:
    table = plain_table()
    table.add_column("  change", overflow="fold")
    for name in ("rounds", "moves", "fewest"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("in the end", overflow="fold")
    for change in judged.changes[:CHANGES]:
        table.add_row(
            Text(short(f"  {change.words}")),
            f"{len(change.rounds)}{'' if change.at_rest else ', not at rest'}",
            str(change.moves),
            str(change.fewest),
            Text(_sizes(change)),
        )
    if len(judged.changes) > CHANGES:
        table.add_row(left_out(len(judged.changes) - CHANGES))
    return table


def _sizes(change: JudgedChange) -> str:
    last = change.rounds[-1]
    if last.assigned is None:
        return "no assignment"
    members = last.question.group.members
    told = ", ".join(f"{m.id} {len(last.assigned.get(m.id, ()))}" for m in members[:FEW])
    return short(told + (f", and {len(members) - FEW:,} more" if len(members) > FEW else ""))
