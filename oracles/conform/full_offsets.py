"""Rows of offsets in full: what comes from outside the group, and how transactions end.

Each is a rule of the model that nobody in the group asks for. Here it is a request, which has an
answer; the sweep for expired offsets is a timer.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.features.failover_phases import LOADING
from groupcheck.model.protocol.classic.features.full_offsets import admin, commits
from groupcheck.model.protocol.classic.features.full_offsets.kept import OffsetStore
from groupcheck.model.protocol.classic.features.full_offsets.transactions import write_marker
from groupcheck.model.protocol.classic.features.zombie_coordinator import FORMER, SENT_AWAY
from groupcheck.model.protocol.codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    GROUP_ID_NOT_FOUND,
    GROUP_SUBSCRIBED_TO_TOPIC,
    NON_EMPTY_GROUP,
    NONE,
    NOT_COORDINATOR,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.oracles.conform.row import ENDS_TXN, Asks, Fires, Input, Memory, Outcome
from groupcheck.oracles.kafka import commands
from groupcheck.oracles.kafka.commands import Command, Fire
from groupcheck.oracles.kafka.memory import SWEEP
from groupcheck.oracles.kafka.memory import Memory as Real

TOPIC, OTHER = "t", "h"
DESCRIBES, SWEEPS = "describe_groups", admin.expire_offsets.name
NOT_LEADER = "not_leader"  # the label of its answer where it cannot append
RETENTION_MS = 8 * 24 * 3_600_000  # more than offsets.retention.minutes
COMMITS = (messages.OffsetCommit, messages.TxnOffsetCommit)
# Outcome -> the code of its answer.
_CODES = {
    f"{DESCRIBES}:told": NONE,
    f"{DESCRIBES}:no_group": GROUP_ID_NOT_FOUND,
    f"{admin.reset_offsets.name}:accepted": NONE,
    f"{admin.reset_offsets.name}:refused": UNKNOWN_MEMBER_ID,
    f"{admin.delete_offsets.name}:deleted": NONE,
    f"{admin.delete_offsets.name}:subscribed": GROUP_SUBSCRIBED_TO_TOPIC,
    f"{admin.delete_offsets.name}:no_group": GROUP_ID_NOT_FOUND,
    f"{admin.delete_groups.name}:deleted": NONE,
    f"{admin.delete_groups.name}:non_empty": NON_EMPTY_GROUP,
    f"{admin.delete_groups.name}:no_group": GROUP_ID_NOT_FOUND,
    **dict.fromkeys(
        (
            f"{write_marker.name}:{label}"
            for label in ("committed", "superseded", "aborted", "void")
        ),
        NONE,
    ),
}
_REQUESTS = {DESCRIBES, *ENDS_TXN, *(r.name for r in admin.ADMIN_RULES)} - {SWEEPS}
REFUSED = {f"{name}:{LOADING}": COORDINATOR_LOAD_IN_PROGRESS for name in _REQUESTS} | {
    f"{FORMER}{name}:{SENT_AWAY}": NOT_COORDINATOR for name in _REQUESTS
}
REFUSED |= {f"{FORMER}{name}:{NOT_LEADER}": NOT_LEADER_OR_FOLLOWER for name in ENDS_TXN}
CODES = {**_CODES, **{FORMER + name: code for name, code in _CODES.items()}, **REFUSED}
# The request ends with an exception, which waits for nothing.
PENDS = (
    f"{commits.txn_offset_commit.name}:accepted",
    f"{commits.txn_offset_commit.name}:anonymous",
)
FAILS = (f"{admin.reset_offsets.name}:refused", f"{admin.delete_offsets.name}:no_group")


def creation(kept: OffsetStore | None) -> tuple[Command, ...]:
    """The commands that make the other group."""
    return (commands.OffsetCommit(group=OTHER),) if kept is not None and kept.other else ()


def command(given: Fires) -> Command | None:
    """The command for such an input; None if it is another one."""
    if given.rule in ENDS_TXN:
        assert given.member is not None
        return commands.EndTxn(producer=given.member + 1, commit=ENDS_TXN[given.rule])
    if given.rule == DESCRIBES:
        return commands.DescribeGroups()
    match given.rule:
        case admin.reset_offsets.name:
            return commands.OffsetCommit(offsets={TOPIC: {0: 0}})
        case admin.delete_offsets.name:
            return commands.OffsetDelete()
        case admin.delete_groups.name:
            return commands.DeleteGroups(groups=("g", OTHER))
        case admin.expire_offsets.name:
            return Fire(timer=SWEEP, later_ms=RETENTION_MS)
    return None


def asks(given: Fires) -> bool:
    """Is it a request from outside the group?"""
    return isinstance(command(given), commands.Request)


def code(outcome: Outcome) -> int | None:
    """The code of the answer to such a request; None if it has none."""
    return CODES.get(outcome.rules[0]) if outcome.rules else None


def code_of_other(before: Memory, outcome: Outcome) -> int:
    """The code of the other group in the answer to DeleteGroups."""
    assert before.kept is not None
    usual = NONE if before.kept.other else GROUP_ID_NOT_FOUND
    return REFUSED.get(outcome.rules[0], usual)


def fails(outcome: Outcome) -> bool:
    """Does it end with an exception?"""
    return bool(outcome.rules) and (outcome.rules[0] in FAILS or outcome.rules[0] in REFUSED)


def held(outcome: Outcome) -> bool:
    """Would a former coordinator hold the answer back behind an append in flight?"""
    name, _, label = (outcome.rules[0] if outcome.rules else "").partition(":")
    if name == FORMER + admin.delete_groups.name:  # it asks for share groups first
        return True
    return name == FORMER + admin.delete_offsets.name and label in ("deleted", "subscribed")


def waits_for_nothing(request: messages.Request) -> bool:
    """Is it answered past the runtime, or reads what is replicated?"""
    past = isinstance(request, messages.JoinGroup | messages.SyncGroup)
    return past or (isinstance(request, messages.OffsetFetch) and not request.stable)


def pends(given: Input, outcome: Outcome) -> bool:
    """Is an offset of a transaction written?"""
    return isinstance(given, Asks) and outcome.rules[:1] in [(rule,) for rule in PENDS]


def creates(before: Memory, given: Input, outcome: Outcome) -> bool:
    """Does a JoinGroup make the group, of which it writes a record?"""
    kept, made = before.kept, outcome.after.kept
    if kept is None or made is None or kept.there or not made.there:
        return False
    return isinstance(given, Asks) and isinstance(given.request, messages.JoinGroup)


def appended(before: Memory, given: Input, outcome: Outcome) -> list[tuple[object, ...]] | None:
    """The records that such a step appends, as `comparing` sees them; None if it is another one."""
    kept, rule = before.kept, outcome.rules[0] if outcome.rules else ""
    if kept is None:
        return None
    if rule.startswith(FORMER) or rule in REFUSED:
        return []
    name, _, label = rule.partition(":")
    gone: list[tuple[object, ...]] = (
        [("offset", None)] if kept.committed >= 0 or kept.pending else []
    )
    if isinstance(given, Fires) and given.rule in ENDS_TXN:
        return [("marker", ENDS_TXN[given.rule])]
    if rule == f"{admin.reset_offsets.name}:accepted":
        return [("offset", 0)]
    if rule == f"{admin.delete_offsets.name}:deleted":
        return gone
    other: list[tuple[object, ...]] = [("offset", None), ("tombstone",)] if kept.other else []
    mine = [*gone, ("tombstone",)] if label == "deleted" else []
    if name == admin.delete_groups.name:
        return [*mine, *other]
    if name == admin.expire_offsets.name:
        return [*other, *mine]  # in the order of a hash table
    return None


def follows(before: Memory, given: Input, outcome: Outcome) -> bool:
    """Is a record of offsets appended, or waited for the records before it?"""
    waits = isinstance(given, Fires) and given.rule == admin.delete_groups.name
    stores = outcome.stored is not None or pends(given, outcome)
    return waits or stores or bool(appended(before, given, outcome))


def offsets_differ(memory: Memory, real: Real) -> Iterator[str]:
    """The differences between the real offsets in memory and the model's."""
    kept = memory.kept
    assert kept is not None
    committed = ((TOPIC, 0, kept.committed),) if kept.committed >= 0 else ()
    if committed != real.offsets:
        yield f"committed is {real.offsets}, in the model {committed}"
    pending = tuple(
        (me + 1, TOPIC, 0, txn.offset, txn.place > kept.place)
        for me, txn in enumerate(memory.txns)
        if txn.pends
    )
    if pending != real.pending:
        yield f"pending is {real.pending}, in the model {pending}"
