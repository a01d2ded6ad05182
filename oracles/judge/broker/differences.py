"""How what came differs from what the model allows, in words, and which rules that breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from attrs import field, frozen

from groupcheck.model.protocol.codes import UNKNOWN_TOPIC_OR_PARTITION, name_of
from groupcheck.oracles.judge.broker.kinds import Kind
from groupcheck.oracles.judge.following.worlds import (
    CLOSED,
    GENERATIONS,
    UNANSWERED,
    UNREADABLE,
    End,
    Problem,
    code_of,
    problems,
    seen,
)
from groupcheck.oracles.wire.connections import Answered, Closed


@frozen
class Difference:
    """A row in which the broker does what the model does not allow."""

    kind: Kind
    # What the model allows, each in words, and what came.
    allowed: tuple[str, ...]
    got: str
    # The rules that it breaks.
    rules: tuple[str, ...]
    # More about it.
    detail: str = field(default="", eq=False)
    # An answer that must come has not come.
    is_silence: bool = field(default=False, eq=False)


# The row with which a group is made.
NO_GROUP = Kind("no group", "JoinGroup", "no id")


class Differs(Exception):
    """The schedule ends with a difference."""

    def __init__(self, difference: Difference) -> None:
        self.difference = difference
        super().__init__(difference.got)


class Late(Exception):
    """So much time has passed that a timer may have run out: the schedule says nothing more."""


def compared(
    kind: Kind,
    ways: Sequence[End],
    answers: Mapping[int, Answered],
    number: int,
    rules: tuple[str, ...] = (),
) -> Difference:
    """What was allowed and what came. `number`: the request at hand; 0 if there is none. `rules`:
    those that are broken, if that is known.
    """
    allowed = sorted({in_words(codes_of(way), number) for way in ways})
    came = {n: seen(answer)[0] for n, answer in answers.items()}
    got = in_words(came, number)
    nothing = [Problem("", "no such step")]
    near = min((problems(way, answers) for way in ways), key=len, default=nothing)
    about = {problem.about for problem in near}
    if got in allowed:
        got += f" [{', '.join(sorted(about))}]"
    whys = [a.why for a in answers.values() if isinstance(a, Closed)]
    found = rules or broken(kind.name, ways, came, number, about)
    detail = "; ".join([*map(str, near), *whys])
    return Difference(kind, tuple(allowed), got, found, detail, UNANSWERED in about)


def not_answered(kind: Kind, answers: Mapping[int, Answered], number: int) -> Difference:
    """A question about the group that is not answered well."""
    came = {n: seen(answer)[0] for n, answer in answers.items()}
    got = "no answer" if number not in came else in_words(came, number)
    code = came.get(number)
    names = {UNREADABLE: "schema", CLOSED: "connection"}
    rule = "every_answer" if code is None else names.get(code, "round_waits")
    whys = "; ".join(a.why for a in answers.values() if isinstance(a, Closed))
    return Difference(kind, ("an answer",), got, (rule,), whys, code is None)


def not_refused(kind: Kind, code: int, answer: Mapping[str, Any], rule: str) -> Difference:
    """A request that is not refused with this code. A commit that is taken although its member or
    its generation is wrong breaks what generations are for.
    """
    got = code_of(answer)
    taken = not got and kind.name == "OffsetCommit" and code != UNKNOWN_TOPIC_OR_PARTITION
    rules = ("commit_fencing",) if taken else (rule,)
    return Difference(kind, (word_of(code),), word_of(got), rules)


def in_words(codes: Mapping[int, int], number: int) -> str:
    """The answer to the request at hand, and to those that waited."""
    own = [word_of(codes[number])] if number in codes else ["no answer yet"] if number else []
    others: dict[str, int] = {}
    for n, code in codes.items():
        if n != number:
            others[word_of(code)] = others.get(word_of(code), 0) + 1
    own += [f"{count} that waited: {code}" for code, count in sorted(others.items())]
    return ", ".join(own) or "nothing"


def codes_of(way: End) -> dict[int, int]:
    return {expected.number: expected.error for expected in way.answers}


def word_of(code: int) -> str:
    if code == CLOSED:
        return "closed"
    if code == UNREADABLE:
        return "unreadable"
    return name_of(code).partition(" ")[2] or f"error {code}"


CODE_RULE = {
    "JoinGroup": "join_code",
    "SyncGroup": "sync_code",
    "Heartbeat": "heartbeat_code",
    "LeaveGroup": "leave_code",
    "OffsetCommit": "commit_code",
}


# What is wrong -> the rule that it breaks, if nothing else is wrong before it.
WRONG_RULE = {
    "generationId": "generations_grow",
    GENERATIONS: "generations_grow",
    "members": "members_told",
    "leader": "members_told",
    "memberId": "members_told",
    "protocolName": "members_told",
    "skipAssignment": "members_told",
    "assignment": "plan_delivered",
}


def rules_of(api: str, waits: bool) -> tuple[str, ...]:
    """The rules that a request of this API tries."""
    more = {
        "JoinGroup": ("round_waits", "generations_grow", "members_told"),
        "SyncGroup": ("plan_delivered", "plan_awaited"),
        "OffsetCommit": ("commit_fencing",),
    }
    return (CODE_RULE[api], "every_answer", "schema", "connection", *more.get(api, ()))


def broken(
    api: str, ways: Sequence[End], came: Mapping[int, int], number: int, about: Set[str]
) -> tuple[str, ...]:
    """The rules that a difference breaks. `about`: what is wrong (`Problem.about`)."""
    found: dict[str, None] = {}
    due = [way for way in ways if number in codes_of(way)]
    if UNREADABLE in came.values():
        found["schema"] = None
    if CLOSED in came.values():
        found["connection"] = None
    if number in came and came[number] >= 0 and not due:
        found["round_waits" if api == "JoinGroup" else "plan_awaited"] = None
    elif number and number not in came and len(due) == len(ways):
        found["every_answer"] = None
    elif (
        number in came
        and came[number] >= 0
        and came[number] not in {codes_of(way)[number] for way in due}
    ):
        refused = api == "OffsetCommit" and came[number] == 0
        found["commit_fencing" if refused else CODE_RULE.get(api, "timers")] = None
    if not found:
        silent = UNANSWERED in about and not any(n != number for n in came)
        wrong = (rule for what, rule in WRONG_RULE.items() if what in about)
        found[next(wrong, "every_answer" if silent else "round_waits")] = None
    return tuple(found)
