"""Facts about connections: who could not be reached, and which coordinator is found and given up
again and again.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.traces.causes.at_work import COORDINATOR_ANSWERS
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.clients.nodes import node_of, node_text
from groupcheck.traces.clients.statement import Statement, fact


def unreachable(group: GroupEvidence) -> Iterator[Statement]:
    """Members whose connections fail again and again, and that never reach a coordinator. Do the
    lines show that some broker answered? Then an address that it handed out is wrong, or one of
    several brokers is down.
    """
    good = ("coordinator_found", *COORDINATOR_ANSWERS)
    attempts = ("disconnected", "session_timed_out", *good)
    others = (*_ANSWERED, "request_timed_out", "started", "detail")
    for every in group.of_each_process(*attempts, *others):
        some = [s for s in every if s.kind in attempts]
        lines = {(s.log, s.line) for s in some}
        if len(lines) < 2 or any(s.kind != "disconnected" for s in some) or _only_ended(some):
            continue
        reason = next((r for s in some if (r := s.fields.get("reason"))), None)
        failed = [s for s in some if _failed(s)]
        handed_out = [s for s in failed if _was_handed_out(s)]
        seen = any(map(_answered, every))
        if not (seen and failed) and any(map(_was_connected, every)):
            continue
        if PRODUCER in some[-1].who and group.all(*good):
            continue  # it is no member of the group whose members work beside it
        kind = "never_connected"
        if handed_out:
            kind, failed = "address_unreachable", handed_out
        elif seen and failed:
            kind = "broker_unreachable"
        last = (failed or some)[-1]
        yield fact(
            last, kind, repeats=_attempts(failed or some), reason=reason, node=node_text(last)
        )


_ANSWERED = {
    "leader_missing", "topic_unknown", "unassigned_topics", "not_authorized", "fetch_session",
    "offset_out_of_range", "offset_missing", "commit_refused", "commit_failed",
    "leader_moved", "not_coordinator", "coordinator_unavailable", "coordinator_loading",
}  # fmt: skip
"""What a broker answers, or what only somebody sees who has a connection."""
PRODUCER = "#producer-"
"""In the names of librdkafka's producers."""
_FIRST_REQUESTS = ("Metadata", "ApiVersion", "Sasl", "-")
"""Requests of a client that has no other answer yet."""


def _was_connected(said: Statement) -> bool:
    """Does the line show that a broker has answered the client before?"""
    if said.kind == "request_timed_out":
        return not str(said.fields.get("api", "-")).startswith(_FIRST_REQUESTS)
    return _answered(said) or said.fields.get("step") == "fetch"


def _answered(said: Statement) -> bool:
    return said.kind in _ANSWERED or "cluster" in said.fields


def _only_ended(some: list[Statement]) -> bool:
    """Do the lines tell only that connections ended, as idle ones do, and of no failed attempt?
    librdkafka calls both "Broker transport failure".
    """
    return all(
        "down" in s.fields or (s.fields.get("error") == "_TRANSPORT" and not s.fields.get("reason"))
        for s in some
    )


def _failed(said: Statement) -> bool:
    return said.fields.get("reason") == "could not connect" or "failed" in said.fields


def _was_handed_out(said: Statement) -> bool:
    """Does a broker hand out the address of this attempt? bootstrap.servers have no numbers."""
    node = node_of(said)
    return said.fields.get("of") == "coordinator" or (node is not None and node >= 0)


def _attempts(failed: list[Statement]) -> int:
    """The Java client tells a failed attempt at a bootstrap server in two lines."""
    second = sum("Bootstrap broker" in s.text for s in failed)
    return max(second, len(failed) - second)


def unreachable_by_several(group: GroupEvidence) -> Iterator[Statement]:
    """An address that several clients of a log cannot connect to, each only once in these lines."""
    others = ("coordinator_found", "session_timed_out", "coordinator_lost", *COORDINATOR_ANSWERS)
    if group.all(*others):
        return
    each = group.of_each_process("disconnected")
    single = [some[0] for some in each if len(some) == 1 and _failed(some[0])]
    by_node: dict[str, list[Statement]] = {}
    for said in single:
        by_node.setdefault(node_text(said) or "", []).append(said)
    for node, some in by_node.items():
        if node and len(some) >= 3:
            kind = "address_unreachable" if _was_handed_out(some[-1]) else "never_connected"
            yield fact(some[-1], kind, repeats=len(some), reason="could not connect", node=node)


def single_failures(group: GroupEvidence) -> Iterator[Statement]:
    """An attempt to connect that failed, in a log that shows nothing else of its member: neither
    that it works, nor that it tried again.
    """
    others = ("coordinator_found", "session_timed_out", "coordinator_lost", *COORDINATOR_ANSWERS)
    for some in group.of_each_process("disconnected", *others):
        failed = [s for s in some if s.fields.get("failed") or _at_start(s)]
        if len({(s.log, s.line) for s in some}) == 1 and failed:
            kind = "address_unreachable" if _was_handed_out(failed[0]) else "single_failure"
            yield fact(failed[0], kind, **{**failed[0].fields, "node": node_text(failed[0])})


def _at_start(said: Statement) -> bool:
    """Could a client not connect to an address of its bootstrap.servers?"""
    return said.fields.get("reason") == "could not connect" and (node_of(said) or 0) < 0


REACH = (
    unreachable,
    unreachable_by_several,
    single_failures,
)
