"""A sequence of rebalances, read from JSON and judged round by round: who joins, leaves, subscribes
anew, which topics grow (docs/assignment.md).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from attrs import evolve, field, frozen

from groupcheck.model.assignors import Group, Member, NoAssignment, Partitions
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.judging import RIGHT, WRONG, Judged, judge, shown
from groupcheck.oracles.assignment.promises import ASSIGNORS, PROMISES
from groupcheck.oracles.assignment.question import (
    MOST_MEMBERS,
    MOST_PARTITIONS,
    Question,
    assignment_from,
    assignor_from,
    members_from,
    promises_from,
    racks_from,
    text_from,
    topics_from,
)
from groupcheck.oracles.assignment.rounds import Step, follow
from groupcheck.oracles.assignment.strict_json import (
    a_count,
    a_name,
    an_array,
    an_object,
    name_shown,
)
from groupcheck.oracles.assignment.validity import Assigned, Violation

SCHEMA = "groupcheck.assign-sequence/1"
KEYS = frozenset({"about", "topics", "racks", "members", "assignor", "promises", "changes"})
OF_A_CHANGE = frozenset({"joins", "leaves", "subscribes", "grows", "assignments"})
MOST_WORK = 2_000_000  # changes times members and partitions
MOST_ROUNDS = 20  # that a file gives of one change


@frozen
class Sequence:
    """`owned`: what members claim before the first change, of `generation`. Under cooperation
    (KIP-429) rounds follow each other until one is at rest.
    """

    assignor: str | None
    promises: tuple[str, ...] | None
    steps: tuple[Step, ...]
    owned: Mapping[str, Partitions]
    generation: int
    weights: Mapping[str, Fraction] = field(factory=dict)
    about: str = ""

    @property
    def cooperative(self) -> bool:
        """Do members keep what they have while they join?"""
        return self.assignor == "cooperative-sticky" or "handed over" in (self.promises or ())


def sequence(value: Any) -> Sequence:
    """From the JSON value of a file. Raises `UserError` that names the place."""
    given = an_object(value, "the document", KEYS)
    topics = topics_from(given.get("topics"))
    members, weights = members_from(given.get("members"))
    group = Group(topics, members, racks_from(given.get("racks", {}), topics))
    assignor = assignor_from(given.get("assignor"))
    promises = promises_from(given["promises"]) if "promises" in given else None
    if assignor is None and promises is None:
        raise UserError(
            "neither an assignor nor promises to judge by", do='give "assignor", "promises" or both'
        )
    changes = an_array(given["changes"], "changes")
    steps = [
        Step(
            f"at first {', '.join(m.id for m in members[:5])}{' ...' if len(members) > 5 else ''}",
            group,
        )
    ]
    for number, change in enumerate(changes):
        where = f"changes[{number}]"
        steps.append(_step(an_object(change, where, OF_A_CHANGE), steps[-1].group, weights, where))
        if steps[-1].given is None and assignor is None:
            raise UserError(
                "who gives what?",
                where=where,
                do='give its "assignments", or an "assignor" for the whole',
            )
    _bounded(steps)
    owned = {m.id: m.owned for m in members if m.owned}
    if owned and any(
        set(a) & set(b) for n, a in enumerate(owned.values()) for b in list(owned.values())[:n]
    ):
        raise UserError(
            "a partition is claimed twice; what went before a sequence is one assignment",
            where="members",
        )
    if owned or assignor is None:
        steps = steps[1:]  # it is settled: the first rebalance is the first change's
    generation = max((m.generation for m in members), default=0)
    return Sequence(
        assignor,
        promises,
        tuple(steps),
        owned,
        max(generation, 0),
        weights,
        text_from(given.get("about", "")),
    )


def _bounded(steps: list[Step]) -> None:
    if len(steps) < 2:
        raise UserError("no changes", where="changes", do='give [{"leaves": ["c1"]}]')
    work = sum(
        len(step.group.members) + sum(size for _, size in step.group.topics) for step in steps
    )
    if work > MOST_WORK:
        raise UserError(
            f"members and partitions of all changes are {work:,}, more than {MOST_WORK:,}",
            where="changes",
        )


def _step(
    change: Mapping[str, Any], group: Group, weights: dict[str, Fraction], where: str
) -> Step:
    if not set(change) - {"assignments"}:
        raise UserError(
            "what changes?", where=where, do='give "joins", "leaves", "subscribes" or "grows"'
        )
    words: list[str] = []
    members = {member.id: member for member in group.members}
    for name in an_array(change.get("leaves", []), f"{where}.leaves"):
        del members[_there(name, members, f"{where}.leaves")]
        words.append(f"{name} leaves")
    if "joins" in change:
        joining, of_them = members_from(change["joins"], f"{where}.joins")
        weights.update(of_them)
        for member in joining:
            if member.id in members or member.owned:
                why = (
                    "is a member already"
                    if member.id in members
                    else "claims something: what it owns follows from the sequence"
                )
                raise UserError(f"{name_shown(member.id)} {why}", where=f"{where}.joins")
            members[member.id] = member
            words.append(f"{member.id} joins")
    for name, topics in an_object(change.get("subscribes", {}), f"{where}.subscribes").items():
        place = f"{where}.subscribes.{name}"
        members[name] = _subscribed(
            members[_there(name, members, f"{where}.subscribes")], topics, place
        )
        words.append(f"{name} subscribes to {', '.join(sorted(members[name].topics)) or 'nothing'}")
    sizes = dict(group.topics)
    for topic, size in an_object(change.get("grows", {}), f"{where}.grows").items():
        sizes[topic] = a_count(
            size, f"{where}.grows.{topic}", MOST_PARTITIONS, sizes.get(topic, 0) + 1
        )
        words.append(f"{topic} grows to {size} partitions")
    if not 0 < len(members) <= MOST_MEMBERS:
        raise UserError(
            "nobody is left" if not members else f"more than {MOST_MEMBERS} members", where=where
        )
    if sum(sizes.values()) > MOST_PARTITIONS:
        raise UserError(
            f"{sum(sizes.values())} partitions are more than {MOST_PARTITIONS}",
            where=f"{where}.grows",
        )
    now = evolve(group, topics=sizes, members=members.values())
    return Step(
        ", ".join(words) or "nothing changes",
        now,
        _given(change["assignments"], now, where) if "assignments" in change else None,
    )


def _there(name: Any, members: Mapping[str, Member], where: str) -> str:
    if a_name(name, where) not in members:
        raise UserError(f"unknown member {name_shown(name)}", where=where)
    return str(name)


def _subscribed(member: Member, topics: Any, where: str) -> Member:
    return evolve(member, topics=[a_name(topic, where) for topic in an_array(topics, where)])


def _given(value: Any, group: Group, where: str) -> tuple[Assigned, ...]:
    rounds = an_array(value, f"{where}.assignments")
    if not 0 < len(rounds) <= MOST_ROUNDS:
        raise UserError(
            f"{len(rounds)} rounds are not from 1 to {MOST_ROUNDS}", where=f"{where}.assignments"
        )
    return tuple(
        assignment_from(one, group, f"{where}.assignments[{n}]") for n, one in enumerate(rounds)
    )


@frozen
class JudgedChange:
    """One change: its rounds, each judged by itself, what moved in the end, and the fewest moves
    that a balanced assignment needed.
    """

    words: str
    rounds: tuple[Judged, ...]
    at_rest: bool
    moves: int
    fewest: int

    @property
    def violations(self) -> tuple[tuple[str, Violation], ...]:
        """Where (`c2 joins, round 1`) and how a promise is broken."""
        found = [
            (f"{self.words}, round {n}", v)
            for n, one in enumerate(self.rounds, 1)
            for v in one.violations
        ]
        if not self.at_rest and self.rounds[-1].assigned is not None:
            found.append(
                (
                    self.words,
                    Violation(
                        "at rest",
                        f"not at rest after {len(self.rounds)} round{'s' * (len(self.rounds) > 1)}",
                    ),
                )
            )
        return tuple(found)


@frozen
class JudgedSequence:
    """All changes."""

    asked: Sequence
    changes: tuple[JudgedChange, ...]
    seconds: float

    @property
    def violations(self) -> tuple[tuple[str, Violation], ...]:
        """Of all changes, in order."""
        return tuple(found for change in self.changes for found in change.violations)

    @property
    def verdict(self) -> str:
        """`right` or `wrong`."""
        return WRONG if self.violations else RIGHT

    @property
    def promises(self) -> tuple[str, ...]:
        """All that was asked of some round."""
        return tuple(
            dict.fromkeys(
                name for change in self.changes for one in change.rounds for name in one.promises
            )
        )

    def document(self) -> dict[str, Any]:
        """All that `groupcheck assign --json` prints."""
        return {
            "schema": SCHEMA,
            "verdict": self.verdict,
            "about": self.asked.about,
            "assignor": self.asked.assignor,
            "promises": {name: PROMISES[name].statement for name in self.promises},
            "violations": [
                {"where": where, "promise": v.promise, "words": v.words}
                for where, v in self.violations
            ],
            "moves": sum(change.moves for change in self.changes),
            "fewest": sum(change.fewest for change in self.changes),
            "changes": [_change_shown(change) for change in self.changes],
            "seconds": round(self.seconds, 3),
        }


def _change_shown(change: JudgedChange) -> dict[str, Any]:
    rounds = [one.document() for one in change.rounds]
    kept = ("judged", "violations", "moves", "right", "origin", "notes")
    return {
        "words": change.words,
        "at_rest": change.at_rest,
        "moves": change.moves,
        "fewest": change.fewest,
        "rounds": [
            {
                "claims": shown({m.id: m.owned for m in one.question.group.members}),
                **{key: document[key] for key in kept},
            }
            for one, document in zip(change.rounds, rounds)
        ],
    }


def judge_sequence(asked: Sequence) -> JudgedSequence:
    """Judges every round of it: what the file gives, or what the assignor answers. Ends where the
    assignor throws.
    """
    began = time.perf_counter()

    def answer(group: Group) -> Assigned | NoAssignment:
        assert asked.assignor is not None
        try:
            return ASSIGNORS[asked.assignor](group)
        except NoAssignment as none:
            return none

    changes = []
    for change in follow(
        answer,
        asked.steps,
        cooperative=asked.cooperative,
        owned=asked.owned,
        generation=asked.generation,
    ):
        rounds = []
        for one in change.rounds:
            given = None if isinstance(one.given, NoAssignment) else one.given
            rounds.append(
                judge(Question(one.group, asked.assignor, given, asked.promises, (), asked.weights))
            )
        changes.append(
            JudgedChange(change.words, tuple(rounds), change.at_rest, change.moves, change.fewest)
        )
    return JudgedSequence(asked, tuple(changes), time.perf_counter() - began)
