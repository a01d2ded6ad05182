"""Exchanges in words: what a request was, how it was answered, and which promise of the model a
wrong answer breaks.
"""

from __future__ import annotations

from attrs import define

from groupcheck.model.protocol.codes import (
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    NONE,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    name_of,
)
from groupcheck.traces.exchanges.exchange import (
    CommitExchange,
    EpochExchange,
    Exchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
    SyncExchange,
)
from groupcheck.traces.phrases import plural

_FENCED = frozenset({ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID})


@define
class RefusedAnswer:
    """An answer that no world gives."""

    e: Exchange
    # What was possible instead.
    possible: str
    # The request waited, and no world answers it now.
    due: bool
    # The codes with which it could have been answered at once; None: it had to wait.
    allowed: frozenset[int | None] = frozenset()
    # The generations that fit.
    generations: frozenset[int] = frozenset()
    # The id that it gives to a static member was given before.
    given_before: bool = False
    # Why it does not fit, where that is told already.
    why: str = ""
    # What lines may be missing that would explain it (empty: none), where that is told already.
    hole: str | None = None


def request_text(e: Exchange) -> str:
    """`HEARTBEAT of a-5e59… in generation 2`."""
    who = e.member or _without_id(e)
    generation = (
        f" in generation {e.generation}"
        if isinstance(e, SyncExchange | HeartbeatExchange | CommitExchange)
        else f" in epoch {e.epoch}"
        if isinstance(e, EpochExchange)
        else ""
    )
    return f"{e.api} of {who}{generation}"


def _without_id(e: Exchange) -> str:
    if e.instance is None:
        return f"a new member (client {e.client})"
    return f"the static member {e.instance} without an id (client {e.client})"


def answer_text(e: Exchange) -> str:
    """`0 NONE, generation 3, leader a-5e59…`."""
    code = (
        next((x.code for x in e.leavers if x.code), e.code)
        if isinstance(e, LeaveExchange)
        else e.code
    )
    told = "nothing" if code is None else name_of(code)
    if isinstance(e, JoinExchange) and e.code == NONE:
        members = f", {len(e.members)} members" if e.members else ""
        told += f", generation {e.to_generation}, leader {e.leader}{members}"
    return told


def exchange_text(e: Exchange) -> str:
    """The exchange in one line, for evidence."""
    return f"{request_text(e)}, version {e.version}, on {e.connection}: answered {answer_text(e)}"


def why_not(refused: RefusedAnswer) -> str:
    """Why the answer cannot be, with the promise that it breaks where it breaks one."""
    e = refused.e
    if refused.why:
        return f"the answer to {request_text(e)} {refused.why}"
    allowed = [code for code in refused.allowed if code is not None]
    parked = None in refused.allowed
    if refused.due and not (refused.allowed - {None}):
        instead = ", but it was not time for that answer in any world that fits"
    elif parked and not allowed:
        instead = ", but the coordinator had to let it wait"
    elif allowed and not (len(allowed) == 1 and allowed[0] == e.code):
        instead = ", but could only be " + " or ".join(name_of(code) for code in sorted(allowed))
        instead += " or wait" if parked else ""
    else:
        instead = ", with contents that do not fit"
    broken = promise(refused)
    return f"{request_text(e)} was answered {answer_text(e)}{instead}" + (
        f" ({broken})" if broken else ""
    )


def promise(refused: RefusedAnswer) -> str:
    """The invariant of the model that the answer breaks; empty if it breaks none."""
    e, allowed = refused.e, refused.allowed - {None}
    if allowed == {FENCED_INSTANCE_ID}:
        return "replaced_id_fenced"
    if refused.given_before:
        return "takeover_gives_a_new_id"
    fenced = bool(allowed) and allowed <= _FENCED
    if isinstance(e, HeartbeatExchange):
        if fenced and e.code in (NONE, REBALANCE_IN_PROGRESS):
            return "heartbeat_fenced"
        return "round_announced" if e.code == NONE and allowed == {REBALANCE_IN_PROGRESS} else ""
    if isinstance(e, CommitExchange) and e.code == NONE:
        return (
            "commit_fenced"
            if fenced
            else "commits_wait_for_sync"
            if allowed == {REBALANCE_IN_PROGRESS}
            else ""
        )
    if isinstance(e, SyncExchange) and e.code == NONE:
        return "sync_fenced" if fenced else "views_agree" if allowed == {NONE} else ""
    if (
        isinstance(e, JoinExchange)
        and e.code == NONE
        and refused.generations
        and e.to_generation not in refused.generations
    ):
        return "generation_only_grows"
    return ""


def judged_text(
    heartbeats: tuple[int, int], classic: tuple[int, int], of_classic_groups: int
) -> str:
    """What was judged of a consumer group, and by which model. `heartbeats` and `classic` (answers
    to classic members): how many were judged, and how many could not be. `of_classic_groups`: how
    many answers were judged while the group was a classic one.
    """
    judged = (
        (heartbeats[0], "heartbeat", "", "consumer"),
        (classic[0], "answer", " to classic members", "migration"),
        (of_classic_groups, "answer", " of the classic group", "classic"),
    )
    told = [
        f"{plural(count, what)}{whose}, by the model `{model}`"
        for count, what, whose, model in judged
        if count
    ]
    not_judged = (
        (heartbeats[1], "heartbeat", "members whose record is not known"),
        (classic[1], "request", "classic members that are static or not known"),
    )
    read = [f"{plural(count, what)} of {whose}" for count, what, whose in not_judged if count]
    return "; ".join([*told, *([f"read, not judged: {', '.join(read)}"] if read else [])])
