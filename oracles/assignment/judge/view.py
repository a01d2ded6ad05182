"""A judged assignment at the terminal: the verdict, what is wrong, and a table of the assignment
beside one that is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from rich.console import Group
from rich.table import Table
from rich.text import Text

from groupcheck.model.assignors import Partition
from groupcheck.oracles.assignment.judge.judging import Judged
from groupcheck.oracles.assignment.judge.verdict_view import (
    FEW,
    beginning,
    left_out,
    plain_table,
    short,
)
from groupcheck.oracles.assignment.validity import Assigned, named
from groupcheck.oracles.kafka.values import by_topic
from groupcheck.oracles.printable import printable


def view(judged: Judged) -> Group:
    """The verdict, then what is wrong, then the table."""
    wrong = [f"{v.promise}: {v.words}" for v in judged.violations]
    core = [Text(short(f"  {words}"), "red") for words in judged.right.core]
    if core:
        core.insert(0, Text("\nNo assignment keeps all of these together:", "bold red"))
    begins = beginning(judged.verdict, title(judged), facts(judged), wrong)
    return Group(*begins, *core, Text(""), _table(judged))


def title(judged: Judged) -> str:
    """What the file says about itself."""
    question = judged.question
    return question.about or (
        f"an assignment for {question.assignor}" if question.assignor else "an assignment"
    )


def facts(judged: Judged) -> Iterable[tuple[str, str]]:
    """Name and words."""
    sizes = judged.best.sizes.values()
    yield "judged", ", ".join(judged.promises)
    for constraint in judged.question.constraints:
        yield "constraint", constraint.words()
    if judged.moved is not None:
        yield "moves", f"{len(judged.moved)}{_moved(judged.moved)}"
    yield "optimum", f"{judged.best.moves} moves, {min(sizes)} to {max(sizes)} partitions a member"
    if judged.right.assigned is not judged.assigned:
        yield "right", judged.right.origin
    for note in judged.notes:
        yield "note", note


def _moved(moved: Mapping[Partition, tuple[str, str | None]]) -> str:
    steps = [
        f"{named(p)} {frm} → {to or 'nobody yet'}" for p, (frm, to) in islice(moved.items(), FEW)
    ]
    more = len(moved) - len(steps)
    return (": " if steps else "") + ", ".join(steps) + (f", and {more:,} more" if more else "")


def _table(judged: Judged) -> Table:
    """Each member with what it has and, if that differs, what would be right."""
    columns = {"judged": judged.assigned}
    if judged.right.assigned not in (None, judged.assigned):
        columns["right"] = judged.right.assigned
    table = plain_table()
    for name in ("  member", *columns):
        table.add_column(name, overflow="fold")
    members = [member.id for member in judged.question.group.members]
    for member in members[:FEW]:
        shares = (Text(_share(member, assigned)) for assigned in columns.values())
        table.add_row(Text(f"  {printable(member)}"), *shares)
    if len(members) > FEW:
        table.add_row(left_out(len(members) - FEW))
    return table


def _share(member: str, assigned: Assigned | None) -> str:
    if assigned is None:
        return "-"
    shares = by_topic(assigned.get(member, frozenset())).items()
    told = (f"{topic} {','.join(map(str, numbers))}" for topic, numbers in shares)
    return short("; ".join(told) or "nothing")
