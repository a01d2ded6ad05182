"""The classes of the exceptions that Kafka's member gives its application: those that a poll
throws, and those that the callbacks of commits are given.

Sources: JoinGroupResponseHandler and SyncGroupResponseHandler of Kafka's AbstractCoordinator,
OffsetCommitResponseHandler of ConsumerCoordinator, and Errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from groupcheck.model.protocol.classic.client import Member
from groupcheck.model.protocol.classic.features.full_offsets.members import NO_OFFSET_FOR_PARTITION
from groupcheck.model.protocol.codes import (
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.messages import LeaveGroup, OffsetCommit
from groupcheck.oracles.conform.member.member_memory import (
    LOST,
    Does,
    During,
    Failure,
    Input,
    Memory,
    Outcome,
)
from groupcheck.oracles.conform.member.moves import Observations, Standing
from groupcheck.oracles.kafka.client_commands import Answer, Disconnect

# The unit of a comparison: a name, what the real member shows, and what the model says.
Compared = tuple[str, Any, Any]

# The client's exception for an error code (org.apache.kafka.common.protocol.Errors).
EXCEPTIONS = {
    14: "CoordinatorLoadInProgressException",
    15: "CoordinatorNotAvailableException",
    16: "NotCoordinatorException",
    22: "IllegalGenerationException",
    23: "InconsistentGroupProtocolException",
    24: "InvalidGroupIdException",
    25: "UnknownMemberIdException",
    26: "InvalidSessionTimeoutException",
    27: "RebalanceInProgressException",
    30: "GroupAuthorizationException",
    35: "UnsupportedVersionException",
    81: "GroupMaxSizeReachedException",
    82: "FencedInstanceIdException",
}
UNEXPECTED, UNEXPECTED_CODE = "KafkaException", -1
FENCED = EXCEPTIONS[FENCED_INSTANCE_ID]
# The codes that each handler knows; others are unexpected.
KNOWN = {
    "JoinGroup": frozenset(EXCEPTIONS) - {22},
    "SyncGroup": frozenset({15, 16, 22, 25, 27, 30, 82}),
}
REBALANCES, HOPELESS = "RebalanceInProgressException", "CommitFailedException"
PASSES = "RetriableCommitFailedException"
# What the callback of a commit is given, by the outcome of the model's commit_answer; `dropped`
# depends on the code.
COMMITS = {
    "done": "",
    "rebalancing": REBALANCES,
    "retry": PASSES,
    "fatal": FENCED,
    "refused": HOPELESS,
    "ignored": REBALANCES,
}


def exception(api: str, code: int) -> str:
    """The simple name of the exception with which a JoinGroup or SyncGroup fails."""
    return EXCEPTIONS[code] if code in KNOWN[api] else UNEXPECTED


def failure(standing: Standing) -> str:
    """The exception of the JoinGroup or SyncGroup that has failed last, by the schedule."""
    for command in reversed(standing.commands):
        if isinstance(command, Disconnect):
            return "DisconnectException"
        if not isinstance(command, Answer):
            continue
        code = command.data.get("errorCode", NONE)
        if command.api == "JoinGroup":
            return exception("JoinGroup", code) if code else "UnjoinedGroupException"
        if command.api == "SyncGroup":
            return exception("SyncGroup", code) if code else "IllegalGenerationException"
    return "DisconnectException"


def thrown(
    before: Memory, given: Input, outcome: Outcome, seen: Observations, standing: Standing
) -> Iterator[Compared]:
    """The exceptions that the application's calls throw in a row: their classes and codes."""
    real = [(t.type, t.error) for _, _, t in seen.steps if t is not None]
    yield "exceptions", real, list(_thrown(before, given, outcome, standing))


def _thrown(
    before: Memory, given: Input, outcome: Outcome, standing: Standing
) -> Iterator[tuple[str, int]]:
    if outcome.raised and outcome.commits:
        yield _refusal(before, given.code)
    elif outcome.raised:
        yield UNEXPECTED, UNEXPECTED_CODE
    if outcome.thrown == NO_OFFSET_FOR_PARTITION:
        yield "NoOffsetForPartitionException", UNEXPECTED_CODE
    elif outcome.thrown != NONE:
        # Only 82 is thrown for a heartbeat or a commit.
        joins = before.failed == Failure.JOIN and not before.fenced
        type = failure(standing) if joins else FENCED
        yield type, UNEXPECTED_CODE if type == UNEXPECTED else outcome.thrown


def _refusal(m: Memory, code: int) -> tuple[str, int]:
    """The exception that the first commit in a callback of onJoinComplete throws. An exception of
    Kafka's goes through as it is there; elsewhere it is the cause of another one.
    """
    label = {REBALANCE_IN_PROGRESS: "rebalancing", FENCED_INSTANCE_ID: "fatal"}.get(code, "dropped")
    label = "refused" if code in (ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID) else label
    type = commit_error(m, code, label)
    return type, code if EXCEPTIONS.get(code) == type else UNEXPECTED_CODE


# -- commits


def commit_callbacks(
    before: Memory, given: Input, outcome: Outcome, seen: Observations
) -> Iterator[Compared]:
    """The results that the callbacks of commits are told: those that run in this row, and those
    that wait for the next poll.
    """
    was, now = seen.before.ended, seen.steps[-1][1].ended
    told = [c.thrown for _, look, _ in seen.steps for c in look.calls if c.call == "commitCallback"]
    if given.does != Does.CLOSE:
        due = [e.thrown for e in was if e.asked] if _run(before, given, outcome) else []
        lost = given.does == Does.UNSUBSCRIBE and given.during == During.OUTLASTS
        # Commits that are lost in a callback, if the application made them.
        more = told[len(due) :] if lost and before.waits_for(OffsetCommit) else []
        yield "commit callbacks", told, [*due, *(PASSES for _ in more)]
    commits = given.does in (Does.COMMIT, Does.BREAK_COMMIT)
    if given.does in (None, Does.BREAK, Does.SILENCE) or commits:
        kept = [] if commits else [e.thrown for e in was]
        wanted = [*kept, *_ended(before, given, outcome)]
        yield "commits that have ended", [e.thrown for e in now], wanted


def _run(m: Memory, given: Input, outcome: Outcome) -> bool:
    """Does this row run the callbacks of commits that have ended?"""
    if m.fenced:
        return False
    if given.does == Does.UNSUBSCRIBE:
        return given.during == During.COMMITS or not outcome.raised
    return given.does in (
        Does.POLL,
        Does.BREAK_POLL,
        Does.NO_ANSWER,
        Does.COMMIT,
        Does.BREAK_COMMIT,
    )


def _ended(m: Memory, given: Input, outcome: Outcome) -> Iterator[str]:
    lost = [s.request for s in m.flight]
    if given.does == Does.SILENCE and outcome.after and outcome.after.known:
        return  # no heartbeat thread runs that could give the connection up
    if given.does is None:
        first, *others = lost
        if isinstance(first, OffsetCommit):
            yield commit_error(m, given.code, outcome.rules[0].partition(":")[2])
        lost = others if given.code in LOST and not isinstance(first, LeaveGroup) else []
    elif given.does == Does.COMMIT:
        lost = []
        if not any(isinstance(r, OffsetCommit) for r in outcome.sent):
            yield refused_at_once(m)
    else:
        lost += [r for r in outcome.sent if isinstance(r, OffsetCommit)]
    yield from (PASSES for r in lost if isinstance(r, OffsetCommit))


def commit_error(m: Memory, code: int, label: str) -> str:
    """The exception that ends a commit that is answered, by the outcome of the model's
    commit_answer.
    """
    if label != "dropped":
        return COMMITS[label]
    if code == FENCED_INSTANCE_ID:
        return REBALANCES if m.client.state == Member.PREPARING else HOPELESS
    return EXCEPTIONS[code] if EXCEPTIONS.get(code) == "GroupAuthorizationException" else UNEXPECTED


def refused_at_once(m: Memory) -> str:
    """The exception that ends a commit that is not sent: without positions there is nothing to
    commit.
    """
    if m.client.position < 0:
        return ""
    return HOPELESS if m.client.state == Member.UNJOINED else REBALANCES
