"""A judged assignment at the terminal: the verdict, what is wrong, and a table of what is judged
beside what would be right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from rich.console import Group
from rich.table import Table
from rich.text import Text

from groupcheck.model.assignors import Partition
from groupcheck.oracles.assignment.judging import Judged
from groupcheck.oracles.assignment.validity import Assigned, named
from groupcheck.oracles.assignment.verdict_view import FEW, beginning, left_out, short
from groupcheck.oracles.printable import printable


def view(judged: Judged) -> Group:
    """The verdict, then what is wrong, then the tables."""
    wrong = [f"{v.promise}: {v.words}" for v in judged.violations]
    core = (
        [Text("\nNo assignment keeps all of these together:", "bold red")]
        if judged.right.core
        else []
    )
    core += [Text(short(f"  {words}"), "red") for words in judged.right.core]
    return Group(
        *beginning(judged.verdict, title(judged), facts(judged), wrong),
        *core,
        Text(""),
        _table(judged),
    )


def title(judged: Judged) -> str:
    """What the file says of itself."""
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
    """Each member with what it has and, where that differs, what would be right."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    same = judged.assigned is judged.right.assigned
    for title in (
        "  member",
        "judged",
        *(() if same or judged.right.assigned is None else ("right",)),
    ):
        table.add_column(title, overflow="fold")
    members = [member.id for member in judged.question.group.members]
    for member in members[:FEW]:
        cells = (
            [judged.assigned]
            if len(table.columns) == 2
            else [judged.assigned, judged.right.assigned]
        )
        table.add_row(
            Text(f"  {printable(member)}"), *(Text(_share(member, cell)) for cell in cells)
        )
    if len(members) > FEW:
        table.add_row(left_out(len(members) - FEW))
    return table


def _share(member: str, assigned: Assigned | None) -> str:
    if assigned is None:
        return "-"
    by_topic: dict[str, list[int]] = {}
    for topic, number in sorted(assigned.get(member, ())):
        by_topic.setdefault(topic, []).append(number)
    return short(
        "; ".join(f"{topic} {','.join(map(str, numbers))}" for topic, numbers in by_topic.items())
        or "nothing"
    )
