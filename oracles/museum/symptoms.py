"""The symptoms of a bug, as they look from outside: each function says in one sentence where it
shows, or nothing.

Each is a promise of the model's, as far as it can be seen in requests, answers and callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from groupcheck.model.protocol.codes import REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID
from groupcheck.oracles.museum.seen import (
    AnswerSent,
    App,
    Cut,
    Fact,
    NetworkRequest,
    PerformanceRecord,
)

Symptom = Callable[[PerformanceRecord], str]
GIVEN_UP = ("revoked", "lost")


def planned_twice(seen: PerformanceRecord) -> str:
    """one_owner: a leader's plan gives a partition to two members."""
    for sent in seen.sent("SyncGroup"):
        for (a, mine), (b, other) in combinations(sorted((sent.plan or {}).items()), 2):
            if both := sorted({*mine} & {*other}):
                return f"the plan of {sent.member} gives {both[0]} to {a} and to {b}"
    return ""


def given_while_owned(seen: PerformanceRecord) -> str:
    """hand_off: a member is assigned a partition that another one has not given up."""
    owned: dict[str, set[str]] = {}
    for fact in seen.facts:
        if not isinstance(fact, App):
            continue
        if fact.what == "assigned":
            for other, theirs in owned.items():
                if other != fact.member and (both := sorted(theirs & {*fact.of})):
                    return f"{fact.member} is assigned {both[0]}, which {other} still owns"
            owned.setdefault(fact.member, set()).update(fact.of)
        elif fact.what in GIVEN_UP:
            owned.setdefault(fact.member, set()).difference_update(fact.of)
    return ""


def claims_what_it_lost(seen: PerformanceRecord) -> str:
    """lost_claims_nothing: a member whose id was refused still claims partitions."""
    for told, rest in _after(seen, lambda f: _was_answered(f, "JoinGroup", UNKNOWN_MEMBER_ID)):
        for fact in rest:
            if fact.member != told.member:
                continue
            if isinstance(fact, App) and fact.what == "assigned":
                break
            if isinstance(fact, NetworkRequest) and fact.claims:
                return (
                    f"{fact.member} was answered 25 UNKNOWN_MEMBER_ID, joins again and claims"
                    f" {fact.claims[0]}"
                )
    return ""


def loses_without_refusal(seen: PerformanceRecord) -> str:
    """reset_only_when_refused: a member loses partitions although it was only told that a round
    goes on.
    """
    for told, rest in _after(seen, lambda f: _was_answered(f, "SyncGroup", REBALANCE_IN_PROGRESS)):
        for fact in rest:
            if isinstance(fact, App) and fact.member == told.member and fact.what == "lost":
                return f"{fact.member} was answered 27 REBALANCE_IN_PROGRESS and loses {fact.of[0]}"
    return ""


def never_joins_again(seen: PerformanceRecord) -> str:
    """views_agree: a member whose SyncGroup was cut off does nothing more about it."""
    for cut, rest in _after(seen, lambda f: isinstance(f, Cut)):
        if not any(f.member == cut.member and _joins(f) for f in rest):
            return f"{cut.member} sends no JoinGroup after its SyncGroup was cut off"
    return ""


def forgets_the_change(seen: PerformanceRecord) -> str:
    """change_is_remembered: a leader that has seen another partition takes over the old plan and
    leaves it at that.
    """
    for told, rest in _after(seen, lambda f: _was_answered(f, "SyncGroup", 0)):
        if not any(f.member == told.member and _joins(f) for f in rest):
            return f"{told.member} does not join again, although the topic has another partition"
    return ""


def completes_what_it_left(seen: PerformanceRecord) -> str:
    """joined_with_identity: onJoinComplete runs although the member has left the group."""
    for left, rest in _after(
        seen, lambda f: isinstance(f, NetworkRequest) and f.api == "LeaveGroup"
    ):
        for fact in rest:
            if fact.member != left.member:
                continue
            if _joins(fact):
                break
            if isinstance(fact, App) and fact.what in ("assigned", "failed"):
                return f"{left.member} has left the group, and then: {fact}"
    return ""


def goes_on_after_commit(seen: PerformanceRecord) -> str:
    """revocation_pauses: the application gets records while the commit before the revocation is
    under way.
    """
    for commit, rest in _after(
        seen, lambda f: isinstance(f, NetworkRequest) and f.api == "OffsetCommit"
    ):
        for fact in rest:
            if fact.member != commit.member:
                continue
            if isinstance(fact, AnswerSent) or (isinstance(fact, App) and fact.what in GIVEN_UP):
                break
            if isinstance(fact, App) and fact.what == "processed":
                return (
                    f"{fact.member} processes {fact.of[0]} while its commit before the revocation"
                    " is under way"
                )
    return ""


def is_kept_for_ever(seen: PerformanceRecord) -> str:
    """timer_runs: a member that is not heard of any more stays in the group."""
    group = seen.group
    if group is None or not group.members:
        return ""
    return f"{group}, long after the session timeout of a member that says nothing"


def waits_for_ever(seen: PerformanceRecord) -> str:
    """sync_deadline_runs: the group waits for a SyncGroup that never comes."""
    group = seen.group
    if group is None or group.state != "CompletingRebalance":
        return ""
    return "the group is CompletingRebalance, long after the timeout of the round"


def is_over_sized(seen: PerformanceRecord) -> str:
    """size_cap: the group has more members than group.max.size, which is 1."""
    group = seen.group
    return f"{group}, and group.max.size is 1" if group and group.members > 1 else ""


def comes_back_too_early(seen: PerformanceRecord) -> str:
    """takeover_restarts_the_round: a static member that comes back is told the generation whose
    plan names its old id.
    """
    for crash, rest in _after(seen, lambda f: isinstance(f, Cut)):
        for fact in rest:
            if (
                _was_answered(fact, "JoinGroup", 0)
                and isinstance(fact, AnswerSent)
                and fact.generation == 1
            ):
                return (
                    f"{crash.member} comes back under a new id and joins generation 1, whose"
                    " members are known already"
                )
    return ""


def is_forgotten(seen: PerformanceRecord) -> str:
    """takeover_is_durable: a new coordinator does not know the id that a static member was told."""
    for fact in seen.facts:
        if isinstance(fact, AnswerSent) and fact.api == "Heartbeat" and fact.error:
            return f"the new coordinator answers {fact.error} to the id that {fact.member} has"
    return ""


def _after(
    seen: PerformanceRecord, is_one: Callable[[Fact], bool]
) -> Iterator[tuple[Fact, Sequence[Fact]]]:
    """Every such fact, with those that follow."""
    for number, fact in enumerate(seen.facts):
        if is_one(fact):
            yield fact, seen.facts[number + 1 :]


def _was_answered(fact: Fact, api: str, error: int) -> bool:
    return isinstance(fact, AnswerSent) and (fact.api, fact.error) == (api, error)


def _joins(fact: Fact) -> bool:
    return isinstance(fact, NetworkRequest) and fact.api == "JoinGroup"
