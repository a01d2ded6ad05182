"""An assignment, or a sequence of them, as one HTML page: members by partitions, what is wrong
marked, and beside it what is right.

The page has no script and loads nothing; the template escapes every text. A large table is cut:
members and partitions that a violation or a move concerns are drawn first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from attrs import frozen

from groupcheck.model.assignors import Partition
from groupcheck.oracles.assignment.handover import claimants
from groupcheck.oracles.assignment.judge.judging import WRONG, JudgedAssignment
from groupcheck.oracles.assignment.judge.sequence import JudgedSequence
from groupcheck.oracles.assignment.judge.view import facts, title
from groupcheck.oracles.assignment.validity import Assigned, Place, named
from groupcheck.oracles.show.pages import render

MEMBERS_SHOWN = 60
PARTITIONS_SHOWN = 150
ROUNDS_SHOWN = 60
WORDS_SHOWN = 100


Cell = tuple[str, str]
"""One member and one partition: kind and words. The kind is empty, has, kept (it claimed the
partition), moved (another one claimed it), left (it claimed the partition and has it no longer), or
wrong.
"""

Row = tuple[str, bool, list[Cell], int]
"""One member: its name, whether it is marked, its cells, and how many partitions it has."""


@frozen
class Board:
    """One table."""

    title: str
    # Name, and number of columns.
    topics: tuple[tuple[str, int], ...]
    # For each column the partition's number, and whether the column itself is marked.
    columns: tuple[tuple[int, bool], ...]
    rows: list[Row]
    # What is not drawn; empty if everything is.
    left_out: str


@frozen
class Section:
    """A part of the page: in words, and as tables side by side."""

    heading: str
    words: tuple[str, ...]
    boards: tuple[Board, ...]


def page(judged: JudgedAssignment | JudgedSequence) -> str:
    """The whole page."""
    core: tuple[str, ...] = ()
    if isinstance(judged, JudgedAssignment):
        because = (f"because {words}" for words in judged.right.because)
        core, sections = (*judged.right.core, *because), [_section("", judged)]
    else:
        sections = _sections(judged)
    return render(
        "assign.html",
        verdict=judged.verdict,
        title=title(judged),
        facts=list(facts(judged)),
        core=core,
        sections=sections,
    )


def _sections(judged: JudgedSequence) -> list[Section]:
    rounds = [
        (
            f"{change.happened.words}, round {n}"
            if len(change.rounds) > 1
            else change.happened.words,
            one,
            not change.happened.at_rest and one is change.rounds[-1],
        )
        for change in judged.changes
        for n, one in enumerate(change.rounds, 1)
    ]
    if len(rounds) <= ROUNDS_SHOWN:
        return [_section(*one) for one in rounds]
    wrong = [one for one in rounds if one[1].verdict == WRONG or one[2]]
    few = f"{ROUNDS_SHOWN} of {len(rounds):,} rounds at most are drawn, those that are wrong first"
    return [Section(few, (), ()), *(_section(*one) for one in (wrong or rounds)[:ROUNDS_SHOWN])]


def _section(heading: str, judged: JudgedAssignment, restless: bool = False) -> Section:
    words = [f"{v.promise}: {v.words}" for v in judged.violations]
    words += ["not at rest after this round"] * restless
    if len(words) > WORDS_SHOWN:
        words = [*words[:WORDS_SHOWN], f"and {len(words) - WORDS_SHOWN:,} more (--json has them)"]
    marked = frozenset(place for violation in judged.violations for place in violation.places)
    shown = _shown(judged, marked)
    boards = []
    if judged.assigned is not None:
        boards.append(_board("judged", judged, judged.assigned, marked, *shown))
    right = judged.right
    if right.assigned is not None and right.assigned is not judged.assigned:
        told = f"right: {right.origin}"
        boards.append(_board(told, judged, right.assigned, frozenset(), *shown))
    return Section(heading, tuple(words), tuple(boards))


def _shown(
    judged: JudgedAssignment, marked: frozenset[Place]
) -> tuple[list[str], list[Partition], str]:
    """Members and partitions in order, and what is not drawn. If there are too many, those that are
    marked or move come first.
    """
    group, moved = judged.question.group, judged.moved or {}
    given = frozenset[Partition]().union(*(judged.assigned or {}).values())
    partitions = sorted({(topic, n) for topic, size in group.topics for n in range(size)} | given)
    members = [m.id for m in group.members]
    cells = {p for m, p in marked if m is not None}
    concerned = {p for _, p in marked} | set(moved)
    concerning = {m for m, _ in marked}.union(*moved.values())
    first = sorted(partitions, key=lambda p: (p not in cells, p not in concerned))
    few = set(first[:PARTITIONS_SHOWN])
    some = set(sorted(members, key=lambda m: m not in concerning)[:MEMBERS_SHOWN])
    hidden = len(members) - len(some), len(partitions) - len(few)
    left_out = (
        f"{hidden[0]:,} members and {hidden[1]:,} partitions are not drawn (--json has them)"
        if any(hidden)
        else ""
    )
    return [m for m in members if m in some], [p for p in partitions if p in few], left_out


def _board(
    name: str,
    judged: JudgedAssignment,
    assigned: Assigned,
    marked: frozenset[Place],
    members: Sequence[str],
    partitions: Sequence[Partition],
    left_out: str,
) -> Board:
    claimed = claimants(judged.question.group)

    def cell(member: str, partition: Partition) -> Cell:
        had = claimed.get(partition)
        if partition not in assigned.get(member, ()):
            return ("left", f"{member} had {named(partition)}") if had == member else ("empty", "")
        from_another = f", from {had}" if had not in (None, member) else ""
        kind = "has" if had is None else "kept" if had == member else "moved"
        return (
            "wrong" if (member, partition) in marked else kind,
            f"{named(partition)} to {member}{from_another}",
        )

    return Board(
        name,
        tuple((topic, len(list(of))) for topic, of in groupby(partitions, key=lambda p: p[0])),
        tuple((p[1], (None, p) in marked) for p in partitions),
        [
            (m, (m, None) in marked, [cell(m, p) for p in partitions], len(assigned.get(m, ())))
            for m in members
        ],
        left_out,
    )
