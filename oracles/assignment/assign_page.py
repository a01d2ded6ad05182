"""An assignment, or a sequence of them, as one HTML page: members by partitions, what is wrong
marked, and beside it what is right.

No script, no network; every text is escaped by the template. What is large is cut: first to what
something is said about.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from attrs import frozen

from groupcheck.model.assignors import Partition
from groupcheck.oracles.assignment.assign_view import facts, title
from groupcheck.oracles.assignment.judging import WRONG, Judged
from groupcheck.oracles.assignment.optimum import claimants
from groupcheck.oracles.assignment.sequence import JudgedSequence
from groupcheck.oracles.assignment.sequence_view import sequence_facts, sequence_title
from groupcheck.oracles.assignment.validity import Assigned, Place, named
from groupcheck.oracles.show.pages import render

MEMBERS_SHOWN = 60
PARTITIONS_SHOWN = 150
ROUNDS_SHOWN = 60
WORDS_SHOWN = 100


@frozen
class Cell:
    """`kind`: empty, has, kept (claimed before, too), moved (claimed by another), left (claimed,
    and no longer had), wrong.
    """

    kind: str
    words: str


@frozen
class Row:
    """One member."""

    member: str
    size: int
    marked: bool
    cells: tuple[Cell, ...]


@frozen
class Board:
    """One table. `topics`: name and how many of the columns are its; `columns`: number, and whether
    the column itself is marked.
    """

    title: str
    topics: tuple[tuple[str, int], ...]
    columns: tuple[tuple[int, bool], ...]
    rows: tuple[Row, ...]
    left_out: str


@frozen
class Section:
    """What was judged together: in words, and as tables side by side."""

    heading: str
    words: tuple[str, ...]
    boards: tuple[Board, ...]


def page(judged: Judged | JudgedSequence) -> str:
    """The whole page."""
    if isinstance(judged, Judged):
        about, told, core, sections = (
            title(judged),
            facts(judged),
            judged.right.core,
            [_section("", judged)],
        )
    else:
        about, told, core, sections = (
            sequence_title(judged),
            sequence_facts(judged),
            (),
            _sections(judged),
        )
    return render(
        "assign.html",
        verdict=judged.verdict,
        title=about,
        facts=list(told),
        core=core,
        sections=sections,
    )


def _sections(judged: JudgedSequence) -> list[Section]:
    rounds = [
        (
            f"{change.words}, round {n}" if len(change.rounds) > 1 else change.words,
            one,
            not change.at_rest and one is change.rounds[-1],
        )
        for change in judged.changes
        for n, one in enumerate(change.rounds, 1)
    ]
    if len(rounds) <= ROUNDS_SHOWN:
        return [_section(*one) for one in rounds]
    wrong = [one for one in rounds if one[1].verdict == WRONG or one[2]]
    few = Section(
        f"{ROUNDS_SHOWN} of {len(rounds):,} rounds at most are drawn, those that are wrong first",
        (),
        (),
    )
    return [few, *(_section(*one) for one in (wrong or rounds)[:ROUNDS_SHOWN])]


def _section(heading: str, judged: Judged, restless: bool = False) -> Section:
    words = [f"{v.promise}: {v.words}" for v in judged.violations] + [
        "not at rest after this round"
    ] * restless
    if len(words) > WORDS_SHOWN:
        words = [*words[:WORDS_SHOWN], f"and {len(words) - WORDS_SHOWN:,} more (--json has them)"]
    marked = frozenset(place for violation in judged.violations for place in violation.places)
    members, partitions, left_out = _shown(judged, marked)
    boards = []
    if judged.assigned is not None:
        boards.append(
            _board("judged", judged, judged.assigned, members, partitions, marked, left_out)
        )
    if judged.right.assigned is not None and judged.right.assigned is not judged.assigned:
        boards.append(
            _board(
                f"right: {judged.right.origin}",
                judged,
                judged.right.assigned,
                members,
                partitions,
                frozenset(),
                left_out,
            )
        )
    return Section(heading, tuple(words), tuple(boards))


def _shown(judged: Judged, marked: frozenset[Place]) -> tuple[list[str], list[Partition], str]:
    """Members and partitions in order; of too many those that are marked or change hands come
    first.
    """
    group = judged.question.group
    given = frozenset[Partition]().union(*(judged.assigned or {}).values())
    partitions = sorted({(topic, n) for topic, size in group.topics for n in range(size)} | given)
    members = [m.id for m in group.members]
    cells = {p for m, p in marked if m is not None}
    concerned = {p for _, p in marked} | set(judged.moved or ())
    concerning = {m for m, _ in marked} | {
        m for change in (judged.moved or {}).values() for m in change
    }
    few = set(
        sorted(partitions, key=lambda p: (p not in cells, p not in concerned))[:PARTITIONS_SHOWN]
    )
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
    judged: Judged,
    assigned: Assigned,
    members: Sequence[str],
    partitions: Sequence[Partition],
    marked: frozenset[Place],
    left_out: str,
) -> Board:
    claimed = claimants(judged.question.group)

    def cell(member: str, partition: Partition) -> Cell:
        had = claimed.get(partition)
        if partition not in assigned.get(member, ()):
            return (
                Cell("left", f"{member} had {named(partition)}")
                if had == member
                else Cell("empty", "")
            )
        words = f"{named(partition)} to {member}" + (
            f", from {had}" if had not in (None, member) else ""
        )
        if (member, partition) in marked:
            return Cell("wrong", words)
        return Cell("has" if had is None else "kept" if had == member else "moved", words)

    return Board(
        name,
        tuple((topic, len(list(of))) for topic, of in groupby(partitions, key=lambda p: p[0])),
        tuple((p[1], (None, p) in marked) for p in partitions),
        tuple(
            Row(
                m,
                len(assigned.get(m, ())),
                (m, None) in marked,
                tuple(cell(m, p) for p in partitions),
            )
            for m in members
        ),
        left_out,
    )
