"""The text that `groupcheck assign FILE` prints at the terminal: the verdict, the facts, what is
wrong, and a table. For an assignment the table shows it beside one that is right; for a sequence it
shows each change with its rounds, its moves and the fewest moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groupcheck.model.assignors import Partition
from groupcheck.oracles.assignment.constraints import constraint_words
from groupcheck.oracles.assignment.judge.assign_types import Price, PriceItem
from groupcheck.oracles.assignment.judge.judging import RIGHT, JudgedAssignment
from groupcheck.oracles.assignment.judge.sequence import JudgedChange, JudgedSequence
from groupcheck.oracles.assignment.validity import Assigned, named
from groupcheck.oracles.kafka.values import by_topic
from groupcheck.oracles.printable import printable
from groupcheck.oracles.show.text import facts_table

ENTRIES_PRINTED = 20  # violations, members and moves that are printed
SHORT = 400  # characters of a line
CHANGES = 100  # that are printed


def view(judged: JudgedAssignment | JudgedSequence) -> Group:
    """The verdict, then what is wrong, then the table."""
    if isinstance(judged, JudgedAssignment):
        wrong = [f"{v.promise}: {v.words}" for v in judged.violations]
        core = [Text(_short(f"  {words}"), "red") for words in judged.right.core]
        if core:
            core.insert(0, Text("\nNo assignment keeps all of these together:", "bold red"))
            core += [Text(_short(f"  because {words}"), "red") for words in judged.right.because]
        rest: list[RenderableType] = [*core, Text(""), _members(judged)]
    else:
        wrong = [f"{where}: {v.promise}: {v.words}" for where, v in judged.violations]
        rest = [Text(""), _changes(judged)]
    headline = Text.assemble(
        (judged.verdict, "bold green" if judged.verdict == RIGHT else "bold red"),
        "  ",
        (printable(title(judged)), "bold"),
    )
    lines = [Text(_short(f"  {words}"), "red") for words in wrong[:ENTRIES_PRINTED]]
    if len(wrong) > ENTRIES_PRINTED:
        lines.append(_left_out(len(wrong) - ENTRIES_PRINTED))
    return Group(headline, Padding(facts_table(facts(judged)), (0, 0, 0, 2)), *lines, *rest)


def title(judged: JudgedAssignment | JudgedSequence) -> str:
    """The title that the file gives itself, or what it is."""
    asked = judged.question
    what = "an assignment" if isinstance(judged, JudgedAssignment) else "a sequence"
    return asked.about or (f"{what} for {asked.assignor}" if asked.assignor else what)


def facts(judged: JudgedAssignment | JudgedSequence) -> Iterable[tuple[str, str]]:
    """Name and words."""
    yield "judged", ", ".join(judged.promises)
    if isinstance(judged, JudgedSequence):
        yield from _facts_of_changes(judged)
        return
    for constraint in judged.question.constraints:
        yield "constraint", constraint_words(constraint)
    price = judged.price()
    if price.of:
        yield "price", _two_prices(price)
    for one in price.of:
        if one.judged or one.right:
            yield "price", _price(one)
    if judged.moved is not None:
        yield "moves", f"{len(judged.moved)}{_moved(judged.moved)}"
    sizes = f"{min(judged.sizes)} to {max(judged.sizes)}"
    yield "optimum", f"{judged.best.moves} moves, {sizes} partitions a member"
    if judged.right.assigned is not judged.assigned:
        yield "right", judged.right.origin
    for note in judged.notes:
        yield "note", note


def _two_prices(one: Price | PriceItem) -> str:
    """`6, 0 in the right one`."""
    parts = [] if one.judged is None else [f"{one.judged:g}"]
    if one.right not in (None, one.judged):
        parts.append(f"{one.right:g} in the right one")
    return ", ".join(parts)


def _price(one: PriceItem) -> str:
    """The price of one constraint, and how the assignment breaks it."""
    how = f": {'; '.join(one.words[:ENTRIES_PRINTED])}" if one.words else ""
    return f"{_two_prices(one)}: {one.constraint}{how}"


def _facts_of_changes(judged: JudgedSequence) -> Iterable[tuple[str, str]]:
    rounds = sum(len(change.rounds) for change in judged.changes)
    yield "changes", f"{len(judged.changes)} in {rounds} round{'s' * (rounds != 1)}"
    moves, fewest = (
        sum(c.happened.moves for c in judged.changes),
        sum(c.happened.fewest for c in judged.changes),
    )
    yield "moves", f"{moves}, and {fewest} would do for balance at each change"
    notes = (note for change in judged.changes for round_ in change.rounds for note in round_.notes)
    for note in list(dict.fromkeys(notes))[:ENTRIES_PRINTED]:
        yield "note", note


def _moved(moved: Mapping[Partition, tuple[str, str | None]]) -> str:
    steps = [
        f"{named(p)} {frm} → {to or 'nobody yet'}"
        for p, (frm, to) in islice(moved.items(), ENTRIES_PRINTED)
    ]
    more = len(moved) - len(steps)
    return (": " if steps else "") + ", ".join(steps) + (f", and {more:,} more" if more else "")


def _members(judged: JudgedAssignment) -> Table:
    """Each member with what it has and, if that differs, what would be right."""
    columns = {"judged": judged.assigned}
    if judged.right.assigned not in (None, judged.assigned):
        columns["right"] = judged.right.assigned
    table = _plain_table()
    for name in ("  member", *columns):
        table.add_column(name, overflow="fold")
    members = [member.id for member in judged.question.group.members]
    for member in members[:ENTRIES_PRINTED]:
        shares = (Text(_share(member, assigned)) for assigned in columns.values())
        table.add_row(Text(f"  {printable(member)}"), *shares)
    if len(members) > ENTRIES_PRINTED:
        table.add_row(_left_out(len(members) - ENTRIES_PRINTED))
    return table


def _share(member: str, assigned: Assigned | None) -> str:
    if assigned is None:
        return "-"
    shares = by_topic(assigned.get(member, frozenset())).items()
    told = (f"{topic} {','.join(map(str, numbers))}" for topic, numbers in shares)
    return _short("; ".join(told) or "nothing")


def _changes(judged: JudgedSequence) -> Table:
    table = _plain_table()
    table.add_column("  change", overflow="fold")
    for name in ("rounds", "moves", "fewest"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("in the end", overflow="fold")
    for change in judged.changes[:CHANGES]:
        table.add_row(
            Text(_short(f"  {change.happened.words}")),
            f"{len(change.rounds)}{'' if change.happened.at_rest else ', not at rest'}"
            + _waits(change),
            str(change.happened.moves),
            str(change.happened.fewest),
            Text(_sizes(change)),
        )
    if len(judged.changes) > CHANGES:
        table.add_row(_left_out(len(judged.changes) - CHANGES))
    return table


def _waits(change: JudgedChange) -> str:
    """The longest delay after a round, if one was delayed."""
    longest = max(one.waits_ms for one in change.happened.rounds)
    return f", waits {longest / 1000:g} s" if longest else ""


def _sizes(change: JudgedChange) -> str:
    last = change.rounds[-1]
    if last.assigned is None:
        return "no assignment"
    members = last.question.group.members
    told = ", ".join(
        f"{m.id} {len(last.assigned.get(m.id, ()))}" for m in members[:ENTRIES_PRINTED]
    )
    return _short(
        told
        + (
            f", and {len(members) - ENTRIES_PRINTED:,} more"
            if len(members) > ENTRIES_PRINTED
            else ""
        )
    )


def _plain_table() -> Table:
    """A table without lines."""
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")


def _left_out(count: int) -> Text:
    """The line in place of `count` others."""
    return Text(f"  and {count:,} more (--json has them)", "dim")


def _short(text: str) -> str:
    """The text made fit to be shown, in at most `SHORT` characters."""
    text = printable(text)
    return text if len(text) <= SHORT else f"{text[: SHORT - 1]}…"
