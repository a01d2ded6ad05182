"""Facts that follow from several statements about a group: who came back and when, what happened to
several members at once, what repeats with the period of a setting.

Each function reads the statements that were kept and yields new ones, of the kinds that
sentences/kinds.toml lists under "what follows from several lines". Such a statement quotes the line
on which it rests.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from attrs import evolve

from groupcheck.traces.causes import derived_connections
from groupcheck.traces.causes.at_work import MEMBER_WORKS
from groupcheck.traces.causes.closed_connections import ENDS
from groupcheck.traces.causes.coordinators import COORDINATORS
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.causes.slow_joins import JOINS
from groupcheck.traces.causes.two_applications import FINDERS as SHARED
from groupcheck.traces.causes.unreachable import REACH
from groupcheck.traces.clients.statement import MOST_MS, Statement, fact, ms_between
from groupcheck.traces.clients.who import BROKER, LIBRDKAFKA
from groupcheck.traces.facts.facts import in_time
from groupcheck.traces.facts.rules import Rule, shipped_rules
from groupcheck.traces.facts.watch import Watch
from groupcheck.traces.story.member import client_of

# -- Pauses that a process tells of by itself, and what they cost its consumers.

LONG_MS = 5_000
"""A shorter pause ends no session that anybody sets."""
SOON_MS, SOON_LINES = 60_000, 20
"""The cost of a pause shows within so many ms; without times, within so many lines."""
_COSTS = (
    "poll_expired",
    "session_timed_out",
    "member_unknown",
    "lost",
    "commit_refused",
    "heartbeat_failed",
    "broker_expired",
)
_PART = re.compile(r"(?P<number>\d{1,9})(?P<unit>ms|[hms])")
_UNITS = {"h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}


def long_pauses(group: GroupEvidence) -> Iterator[Statement]:
    """Pauses of a log after which its group is in trouble."""
    costs = group.all(*_COSTS)
    for said in group.all("process_stalled"):
        ms = _lasted(said)
        if ms >= LONG_MS and any(_follows(said, cost) for cost in costs):
            yield fact(said, "long_pause", lasted=ms, what=said.fields.get("what"))


def _lasted(said: Statement) -> int:
    """How long the process stood still, in ms."""
    told = said.fields.get("lasted")
    if isinstance(told, int | float):
        return int(told)
    seconds = said.fields.get("seconds")
    if isinstance(seconds, int | float):
        return int(seconds * 1_000)
    parts = _PART.finditer(str(said.fields.get("delta", "")))
    return sum(int(part["number"]) * _UNITS[part["unit"]] for part in parts)


def _follows(pause: Statement, cost: Statement) -> bool:
    if pause.log != cost.log:
        return False
    ms = ms_between(pause, cost)
    if ms is None:
        return 0 < cost.line - pause.line <= SOON_LINES
    return -1_000 <= ms <= SOON_MS


PAUSES = (long_pauses,)


RUBY_MS = 30_000
"""session_timeout of ruby-kafka by default."""
_ONE_THREAD = ("ruby",)
"""Libraries that send heartbeats from the thread that handles records, and print both."""
GONE_MS = 60_000
"""A member that is silent for so long after its poll time-out has not come back, as far as the log
goes."""
# What a member says from a thread that runs on while its poll loop stands still.
_BACKGROUND = {
    "took", "setting_told",  # of no client
    "poll_expired", "worker_poll_expired", "left", "generation_reset", "rejoin_requested",
    "rebalancing", "heartbeat", "heartbeat_failed", "coordinator_query", "coordinator_found",
    "coordinator_lost", "disconnected", "handler_slow", "handler_retries", "started", "closed",
    "member_unknown", "session_timed_out", "detail", "request_sent", "request_answered",
    "request_retried", "request_timed_out", "not_coordinator", "fatal", "offset_reset",
}  # fmt: skip
# A broker prints settings whose names end alike, such as group.max.session.timeout.ms.
_OWN_SETTING = re.compile(r"(?<![.\w])(?:session\.timeout|heartbeat\.interval)\.ms")
_LOSSES = {
    "poll_expired", "session_timed_out", "member_unknown", "lost", "generation_reset",
    "instance_fenced", "member_fenced",
}  # fmt: skip
_NO_MEMBER = ("UNKNOWN_MEMBER_ID", "CommitFailedError")
SAME_LEAVE_MS = 5_000
"""Client and coordinator tell of one LeaveGroup within that time."""
_ROUND_ENDS = ("joined", "synced", "assigned")


def derive(group: GroupEvidence, rules: Mapping[str, Rule] | None = None) -> list[Statement]:
    """All facts that follow from the statements about the group: those that Python finds, and those
    that rules find in what was kept.
    """
    return [
        *(said for find in _FACTS for said in find(group)),
        *_by_rules(group, rules or shipped_rules()),
    ]


def _by_rules(group: GroupEvidence, rules: Mapping[str, Rule]) -> Iterator[Statement]:
    """What the whole group shows is in the order of time, what a process says in that of lines."""
    kept = [r for r in rules.values() if r.of and not r.stream and r.per != "all groups"]
    some = group.all()
    alone = Watch([r for r in kept if r.per != "group"], group.writer)
    yield from alone.facts(some)
    yield from Watch([r for r in kept if r.per == "group"], group.writer).facts(in_time(some))


def poll_returns(group: GroupEvidence) -> Iterator[Statement]:
    """Whether members whose poll timed out came back."""
    if "poll_expired" not in group.tallies:
        return
    times = sorted(s.time for s in group.all() if s.time is not None)
    for some in group.of_each_process():
        for at, said in enumerate(some):
            if said.kind != "poll_expired":
                continue
            limit = said.fields.get("limit")
            if said.library == BROKER:  # who left has another id afterwards, so its silence is none
                if (back := _back_by_id(group, said)) is not None:
                    after = ms_between(said, back)
                    yield fact(back, "poll_returned", after=after, limit=limit)
                continue
            later = next((s for s in some[at + 1 :] if _by_application(said, s)), None)
            again = next((s for s in some[at + 1 :] if _expired_again(said, s)), None)
            rest = _rest(times, said)
            if later is not None:
                yield fact(later, "poll_returned", after=ms_between(said, later), limit=limit)
            elif again is None and rest >= GONE_MS and not _goes_on(group, said):
                yield fact(said, "poll_never_returned", silent=rest, limit=limit)


def _back_by_id(group: GroupEvidence, said: Statement) -> Statement | None:
    """The coordinator's line in which the client of a member that left has its next id; None if
    its name has several members at once, as the default name of many processes has.
    """
    client = client_of(said.member)
    spans: dict[str, list[Statement]] = {}
    for s in group.all():
        if s.library == BROKER and s.member and client_of(s.member) == client != s.member:
            spans.setdefault(s.member, []).append(s)
    some = sorted(spans.values(), key=lambda lines: lines[0].line)
    if any(a[-1].line >= b[0].line for a, b in pairwise(some)):
        return None
    later = next((lines[0] for lines in some if lines[0].line > said.line), None)
    return None if later is None else evolve(later, client=client)


def _goes_on(group: GroupEvidence, said: Statement) -> bool:
    """Does the process go on under another name, or without one?"""
    mine = (
        s for s in group.all() if said.process and (s.log, s.process) == (said.log, said.process)
    )
    return any(s.line > said.line and _by_application(said, s) for s in mine)


def _rest(times: list[int], said: Statement) -> int:
    """How long the log goes on after the statement, by the same clock."""
    if said.time is None:
        return 0
    last = bisect_right(times, said.time + MOST_MS)
    return times[last - 1] - said.time if last else 0


def _by_application(expired: Statement, later: Statement) -> bool:
    """A line that needs a call of the application; what the library does at once does not."""
    after = ms_between(expired, later)
    return later.kind not in _BACKGROUND and (after is None or after > 1_000)


def _expired_again(first: Statement, later: Statement) -> bool:
    """Several lines may tell of one time-out; a second time-out needs a poll in between."""
    return later.kind == "poll_expired" and (ms_between(first, later) or 0) > 1_000


_CHANGES = ("subscription_changed", "partitions_changed", "closed")


def _learns(said: Statement, every: Sequence[Statement]) -> bool:
    """Is it a client of librdkafka that learns of its topics for the first time? It prints so, too,
    between its start and its first join.
    """
    if said.library != LIBRDKAFKA or said.kind == "closed":
        return False
    before = [s.kind for s in every if s.line < said.line and s.kind in (*MEMBER_WORKS, "started")]
    return bool(before) and before[-1] == "started"


def changed_topics(group: GroupEvidence) -> Iterator[Statement]:
    """Changes of its topics that a client sees, if it is not at its start or its end."""
    for every in group.of_each_process(*_CHANGES, *MEMBER_WORKS, "started"):
        some = [s for s in every if s.kind in _CHANGES and not _learns(s, every)]
        for at, said in enumerate(some):
            before, topics = said.fields.get("before"), said.fields.get("topics")
            recent = some[max(at - 3, 0) : at]
            if said.kind == "partitions_changed" and before is None:
                if all(s.fields.get("before") != 0 for s in recent):
                    yield fact(said, "topics_changed", **said.fields)
            elif said.kind == "subscription_changed" and isinstance(before, int):
                closing = any(s.kind == "closed" for s in recent)
                if isinstance(topics, int) and topics < before and not closing:
                    yield fact(said, "topics_vanished", before=before, topics=topics)


def callbacks(group: GroupEvidence) -> Iterator[Statement]:
    """Members that began to revoke and did not join, although their heartbeats learnt of the
    rebalance again and again.
    """
    if "revoked" not in group.tallies:
        return
    for some in group.of_each_process():
        begun: Statement | None = None
        heard: list[Statement] = []
        for said in some:
            step = said.fields.get("step")
            if said.kind == "revoked" and step == "waiting":
                begun = begun or said
            elif said.kind == "revoked" and step != "marked":
                begun, heard = said, []
            elif begun is None:
                continue
            elif said.kind in ("rebalancing", "rejoin_requested"):
                heard += (
                    [said] if ms_between(begun, said) is None or ms_between(begun, said) else []
                )
            elif said.kind in (*_ROUND_ENDS, "joining", "lost", "id_given", "started", "closed"):
                if len(heard) >= 3 and (held := ms_between(begun, said) or 0) >= 10_000:
                    yield fact(heard[-1], "callback_slow", held=held, heard=len(heard))
                begun = None
        if begun is not None and len(heard) >= 2:
            yield fact(
                heard[-1], "callback_held", held=ms_between(begun, heard[-1]), heard=len(heard)
            )


def commits_in_rounds(group: GroupEvidence) -> Iterator[Statement]:
    """Commits that were refused after the member had heard of a rebalance and before it had its
    share, although it had not lost its membership.
    """
    for some in group.of_each_process():
        in_round = out = False
        for said in some:
            if said.kind in _LOSSES or (said.kind == "left" and "step" not in said.fields):
                in_round, out = False, True
            elif said.kind in ("rebalancing", "revoked", "rejoin_requested", "joining"):
                in_round = not out
            elif said.kind in ("synced", "assigned") and said.fields.get("step") in (
                None,
                "callback",  # Java's
                "partition",  # librdkafka's
            ):
                in_round = out = False
            elif said.kind == "joined":
                out = False
            elif said.fields.get("error") == "UNKNOWN_MEMBER_ID":
                in_round, out = False, True
            elif said.kind in ("commit_refused", "commit_failed") and in_round:
                yield fact(said, "commit_in_round", **said.fields)


def heartbeat_gaps(group: GroupEvidence) -> Iterator[Statement]:
    """A silence between heartbeats that is far longer than usual, and ends with a refusal. `quiet`:
    the member said nothing else either, although it usually says much.
    """
    for every in group.of_each_process():
        who = group.writer(every[0])
        some = [s for s in every if s.kind in ("heartbeat", "member_unknown", "heartbeat_failed")]
        usual = [
            g
            for a, b in pairwise(some)
            if b.kind == "heartbeat" and (g := ms_between(a, b) or 0) > 99
        ]
        if not usual:
            continue
        middle = sorted(usual)[len(usual) // 2]
        for a, b in pairwise(some):
            gap = ms_between(a, b)
            if gap is None or a.kind != "heartbeat" or b.kind == "heartbeat":
                continue
            if gap >= 6_000 and gap > 3 * middle:
                quiet = _quiet(every if who else group.all(), a, b)
                yield fact(b, "heartbeat_gap", gap=gap, usual=middle, quiet=1 if quiet else None)


def _quiet(every: list[Statement], begin: Statement, end: Statement) -> bool:
    """Did the member say nothing between the two lines, although at its usual rate it would have
    said at least three things besides heartbeats?
    """
    gap, whole = ms_between(begin, end) or 0, ms_between(every[0], every[-1]) or 1
    others = [s for s in every if s.kind not in ("heartbeat", "heartbeat_failed", "member_unknown")]
    edge = gap // 10
    said = [
        s for s in others if (ms_between(begin, s) or 0) > edge and (ms_between(s, end) or 0) > edge
    ]
    return not said and len(others) * gap / max(whole, 1) >= 3


def starved_heartbeats(group: GroupEvidence) -> Iterator[Statement]:
    """Silences of a client that sends its heartbeats between two records, from the thread that
    handles them: the next line comes later than a session usually lasts, and is no heartbeat.
    """
    for some in group.of_each_process():
        last: Statement | None = None
        for before, said in pairwise(some):
            last = before if before.kind == "heartbeat" else last
            gap = ms_between(before, said) or 0
            handled = said.kind in ("handled", "committed", "commit_refused", "commit_failed")
            if last is not None and handled and said.library in _ONE_THREAD and gap >= RUBY_MS:
                yield fact(said, "heartbeat_starved", gap=ms_between(last, said))


def expiries(group: GroupEvidence) -> Iterator[Statement]:
    """The events after the expiry of a member, as the coordinator tells them."""
    some = group.all("broker_expired", "broker_joined", "broker_empty", "broker_dead")
    for at, said in enumerate(some):
        if said.kind != "broker_expired":
            continue
        later = some[at + 1 :]
        back = next((s for s in later if s.kind == "broker_joined"), None)
        emptied = next((s for s in later if s.kind == "broker_empty"), None)
        if emptied is not None and (back is None or emptied.line < back.line):
            yield fact(said, "left_empty", alone="yes")
        if back is not None:
            yield fact(back, "joined_after_expiry", after=ms_between(said, back))
        elif any(s.kind == "broker_empty" for s in later) and (
            any(s.kind == "broker_dead" for s in later)
            or any(said.group.startswith(p) for p in ("console-consumer-", "console-share-"))
        ):
            yield fact(said, "gone_for_good")


def settings_clash(group: GroupEvidence) -> Iterator[Statement]:
    """A session timeout that leaves no room for three heartbeats."""
    session, heartbeat = "setting_session__timeout__ms", "setting_heartbeat__interval__ms"
    for some in group.of_each_process():
        told: dict[str, float] = {}
        for said in some:
            for name in (session, heartbeat):
                value = said.fields.get(name)
                if not isinstance(value, int | float) or "measured" in said.fields:
                    continue
                if said.kind == "setting" or _OWN_SETTING.search(said.text):
                    told[name] = value
            if len(told) == 2 and told[session] < 3 * told[heartbeat]:
                yield fact(said, "settings_clash", **told)
                break


def nameless_groups(group: GroupEvidence) -> Iterator[Statement]:
    """A refusal whose line ends where the group's name should stand."""
    for said in group.all("not_authorized"):
        if said.text.rstrip(" \"'`*").endswith("access group:"):
            yield fact(said, "acl_name_empty")


def refusals_after_leaving(group: GroupEvidence) -> Iterator[Statement]:
    """Commits that are refused because their member has left, for no reason that it tells, and has
    not joined again. `by_broker`: the coordinator tells at the same time that a member left.
    """
    told = [s for s in group.all("broker_rebalance") if "on LeaveGroup" in str(s.fields)]
    for some in group.of_each_process("left", "closed", "joining", "commit_refused", *_ROUND_ENDS):
        left: Statement | None = None
        for said in some:
            if said.kind == "left" and "reason" not in said.fields:
                left = said
            elif said.kind != "commit_refused":
                left = None
            elif left is not None and said.fields.get("error") in _NO_MEMBER:
                at = left.time or 0
                by = next((s for s in told if abs((s.time or 0) - at) <= SAME_LEAVE_MS), None)
                found = fact(said, "refused_after_leaving", after=ms_between(left, said))
                fields = {**found.fields, **({"by_broker": "yes"} if by else {})}
                rests = (left, said, *([by] if by else []))
                yield evolve(found, fields=fields, rests_on=rests)


_FACTS: tuple[Callable[[GroupEvidence], Iterable[Statement]], ...] = (
    poll_returns,
    callbacks,
    commits_in_rounds,
    heartbeat_gaps,
    starved_heartbeats,
    expiries,
    settings_clash,
    nameless_groups,
    changed_topics,
    *derived_connections.FINDERS,
    *COORDINATORS,
    *REACH,
    *ENDS,
    *JOINS,
    *PAUSES,
    *SHARED,
    refusals_after_leaving,
)
