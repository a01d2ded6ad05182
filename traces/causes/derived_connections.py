"""Facts about connections that follow from several statements of one member: a coordinator that is
missing or away, connections that fail, requests that are cut off while they wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from groupcheck.traces.causes.at_work import COORDINATOR_ANSWERS
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.clients.nodes import coordinator_address, coordinator_text
from groupcheck.traces.clients.partitions import partitions_of
from groupcheck.traces.clients.statement import Statement, fact, ms_between
from groupcheck.traces.clients.who import LIBRDKAFKA, SARAMA
from groupcheck.traces.facts.defaults import CLOSE_SHARE

_HEARTBEAT = re.compile(r"Heartbeat failed \(\[Error 15\]|Skipping heartbeat: no active group")
LONG_MS = 60_000
"""A coordinator that is not there for so long is missing."""
AWAY_MS = 10_000
"""A usual restart of a broker is shorter."""
NEAR_MS, NEAR_LINES = 60_000, 3
"""A lost connection belongs to a session that times out within so many ms; without times, within so
many lines.
"""


def lost_connections(group: GroupEvidence) -> Iterator[Statement]:
    """Connections that ended shortly before a session timed out."""
    for some in group.of_each_process("disconnected", "session_timed_out"):
        for at, said in enumerate(some):
            if said.kind != "session_timed_out":
                continue
            for other in (*some[max(at - 20, 0) : at], *some[at + 1 : at + 2]):
                if other.kind != "disconnected" or other.fields.get("reason") == "idle":
                    continue
                ms = ms_between(other, said)
                lines = abs(said.line - other.line)
                if ms <= NEAR_MS if ms is not None else lines <= NEAR_LINES:
                    yield fact(other, "connection_lost", reason=other.fields.get("reason"))


def _of_client(said: Statement) -> bool:
    """Does the client say so itself, without a broker's answer? Libraries of Python raise the
    error from a heartbeat while they know no coordinator, whether they ask for one or not.
    """
    return _HEARTBEAT.search(said.text) is not None


_IT_ANSWERS = ("coordinator_found", "rebalancing", "member_unknown", "generation_old")
"""Who is told so has found its coordinator."""


def missing_coordinators(group: GroupEvidence) -> Iterator[Statement]:
    """Members that were told that there is no coordinator, and were told none for a minute or for
    the rest of the log.
    """
    for some in group.of_each_process(
        "coordinator_unavailable", *_IT_ANSWERS, *COORDINATOR_ANSWERS
    ):
        asked: list[Statement] = []
        for said in (*some, None):
            if said is not None and said.kind == "coordinator_unavailable":
                if not _of_client(said) and _none_there(said):
                    asked.append(said)
                continue
            waited = ms_between(asked[0], said or asked[-1]) if asked else None
            if asked and (said is None or (waited or 0) >= LONG_MS):
                told = [s for s in asked if "re-joining" not in s.text] or asked
                yield fact(asked[-1], "coordinator_missing", repeats=len(told), waited=waited)
            elif asked:
                yield fact(asked[-1], "recovered", of="coordinator_unavailable", after=waited)
            asked = []


def _none_there(said: Statement) -> bool:
    """Was the answer that there is no coordinator? A right that is missing, or a connection that
    fails, ends a look-up, too.
    """
    error = said.fields.get("error")
    return error is None or error == "COORDINATOR_NOT_AVAILABLE"


def away_coordinators(group: GroupEvidence) -> Iterator[Statement]:
    """Members that lost their coordinator and failed to connect until they found one again, or the
    log ends.
    """
    for some in group.of_each_process(
        "coordinator_lost", "coordinator_found", "disconnected", "joined", "closed"
    ):
        gone: Statement | None = None
        failed: list[Statement] = []
        for said in (*some, None):
            if said is not None and said.kind == "disconnected":
                failed += [said] if gone is not None else []
            elif said is not None and said.kind == "coordinator_lost":
                gone = gone or said
            elif gone is not None:
                lasted = ms_between(gone, said or some[-1]) or 0
                if lasted >= AWAY_MS and len(failed) >= 3:
                    yield fact(gone, "coordinator_absent", lasted=lasted, failed=len(failed))
                gone, failed = None, []


def cut_waits(group: GroupEvidence) -> Iterator[Statement]:
    """Requests to join whose connection ended before the answer came, how long that took, and
    whether the client itself gave up.
    """
    for some in group.of_each_process(*_ASKED, *_ANSWERED, *_ENDED):
        cuts = list(_cuts(some))
        by_others = [after for said, after in cuts if not _gave_up(said)]
        for said, after in cuts:
            by = "client" if _gave_up(said) else "other side"
            idle = _idle_limit(after, [] if by == "client" else by_others)
            yield fact(said, "waiting_cut", api="JoinGroup", after=after, by=by, idle=idle)


_ASKED = ("joining", "request_sent")
_ANSWERED = ("request_answered", "joined", "id_given", "synced", "assigned")
_ENDED = ("disconnected", "request_timed_out")
_OTHER_REQUESTS = ("request_sent", "request_answered")
"""They may be about another request than JoinGroup."""


def _cuts(some: Iterable[Statement]) -> Iterator[tuple[Statement, int]]:
    """A member's lines about the end of a connection, and how long JoinGroup had waited. If an
    answer follows, it was another connection.
    """
    sent: Statement | None = None
    cut: tuple[Statement, int] | None = None
    for said in some:
        if said.kind in _OTHER_REQUESTS and "Join" not in str(said.fields.get("api", "")):
            continue
        if said.kind in _ANSWERED:
            sent = cut = None
        elif said.kind in _ASKED:
            if cut:
                yield cut
            sent, cut = said, None
        elif sent and not cut and (after := ms_between(sent, said) or 0) >= _least(said):
            cut = said, after
    if cut:
        yield cut


def _least(said: Statement) -> int:
    """How long JoinGroup must have waited at least. While it joins, sarama sends nothing else."""
    return 900 if said.library == SARAMA and said.kind == "request_timed_out" else 5_000


def _gave_up(said: Statement) -> bool:
    """Did the client itself end the wait?"""
    reason = str(said.fields.get("reason", "")).lower()
    return said.kind == "request_timed_out" or "timeout" in reason or "timed out" in reason


def _idle_limit(ms: int, others: list[int]) -> str | None:
    """Whose limit it was. `others`: how long each wait took that the client did not end."""
    if abs(ms - 600_000) <= 15_000:
        return "connections.max.idle.ms of the broker (600000)"
    if 230_000 <= ms <= 360_000:
        return "the idle limit of a proxy or firewall"
    alike = [after for after in others if abs(after - ms) <= CLOSE_SHARE * ms / 2]
    return "an idle limit, as it took equally long each time" if len(alike) >= 2 else None


def changed_coordinators(group: GroupEvidence) -> Iterator[Statement]:
    """Members that were told that their broker is not the coordinator, and then found another."""
    for some in group.of_each_process("not_coordinator", "coordinator_found", "coordinator_lost"):
        known: str | None = None
        refused: Statement | None = None
        for said in some:
            named = coordinator_address(said)
            if said.kind == "not_coordinator":
                refused = refused or said
            elif said.kind == "coordinator_lost":
                known = named or known
            elif named and (refused is None or known is not None):
                if refused is not None and known != named:
                    after = ms_between(refused, said)
                    yield fact(said, "coordinator_changed", before=known, now=named, after=after)
                refused, known = None, named


def denying_coordinators(group: GroupEvidence) -> Iterator[Statement]:
    """Members that are told the same coordinator again after that one had refused the group, and
    that do not get to work any more.
    """
    for some in group.of_each_process("not_coordinator", "coordinator_found", *COORDINATOR_ANSWERS):
        found: Statement | None = None
        refused, same = 0, 0
        for said in some:
            if said.kind == "not_coordinator":
                refused += found is not None
            elif said.kind != "coordinator_found" or (
                found and coordinator_text(found) != coordinator_text(said)
            ):
                found, refused, same = None, 0, 0
            else:
                found, same = said, refused
        if found is not None and same and coordinator_text(found):
            yield fact(found, "coordinator_denies", broker=coordinator_text(found), repeats=same)


MOMENT_MS = 5_000


def found_topics(group: GroupEvidence) -> Iterator[Statement]:
    """Topics that were not there for a moment, as right after they are made: partitions of all of
    them were assigned soon afterwards.
    """
    missing = group.all("topic_unknown")
    if any(not _may_pass(said) for said in missing):
        return
    found = group.all("assigned", "subscription_changed")
    if missing and found and all(_is_there_after(said, found) for said in missing):
        after = ms_between(missing[0], found[-1])
        if after is None or after > MOMENT_MS:
            return
        yield fact(missing[-1], "recovered", of="topic_unknown", after=after)


def _may_pass(missing: Statement) -> bool:
    """Does the error, or librdkafka's first look at its metadata, leave that open?"""
    error = missing.fields.get("error")
    return error == "LEADER_NOT_AVAILABLE" or (missing.library == LIBRDKAFKA and error is None)


def _is_there_after(missing: Statement, found: list[Statement]) -> bool:
    return any(said.line > missing.line and _finds(said, missing) for said in found)


def _finds(said: Statement, missing: Statement) -> bool:
    if said.kind == "subscription_changed":  # librdkafka sees `topics` that match
        return said.library == LIBRDKAFKA and bool(said.fields.get("topics"))
    partitions = partitions_of(str(said.fields.get("partitions", "")))
    return missing.fields.get("topic") in {name.rpartition("-")[0] for name in partitions}


FINDERS = (
    found_topics,
    lost_connections,
    missing_coordinators,
    away_coordinators,
    cut_waits,
    changed_coordinators,
    denying_coordinators,
)
