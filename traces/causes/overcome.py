"""What was overcome: a refusal after which the same members did what had been refused. It happened,
and it is not the cause of trouble that there is now.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import evolve

from groupcheck.traces.causes.found_cause import (
    FEW_EPISODES,
    FoundCause,
    concerns,
    episodes,
    is_after,
)
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.clients.sentences import trouble
from groupcheck.traces.clients.statement import Statement, ms_between
from groupcheck.traces.facts.needs import Need
from groupcheck.traces.lines.timestamps import show_span
from groupcheck.traces.members.commits import only_asks

SERIOUS_MS = 10_000
"""So long may a rebalance take, a refusal last, and partitions be without an owner, in a calm
group.
"""
_PASSING = {"join_failed", "sync_failed", "heartbeat_failed"}
_JOINS = ("joined", "leading", "synced", "assigned")
_DONE = {
    "joined": "joined",
    "synced": "was given its share",
    "assigned": "was given its partitions",
    "heartbeat": "was answered a heartbeat",
    "committed": "committed",
    "fetch_started": "began to fetch",
    "handled": "handled records",
    "coordinator_found": "found its coordinator",
}
"""What a member did, in words."""
_BACK = tuple(Need(kind) for kind in ("joined", "synced", "assigned"))


def with_overcome(
    found: FoundCause, shown: Sequence[Statement], evidence: GroupEvidence
) -> FoundCause:
    """The cause; if all members that `shown` names went on afterwards, it says so, and does no harm
    unless it lasted long, or what they had was given to others (`comes_back`).
    """
    back = found.cause.comes_back
    done = _done(found, shown, evidence, _BACK if back else found.cause.overcome_by)
    if done is None:
        return found
    lasted = ms_between(shown[0], done)
    later = f" {show_span(lasted)} later" if lasted else " afterwards"
    who = done.who if done.who and done.who != done.log else "the member"
    did = f"{who} {_DONE.get(done.kind, 'went on')}"
    if back:
        return evolve(found, text=f"{found.text} It came back: {did}{later} (line {done.line}).")
    what = "the group was stable" if done.kind == "broker_stable" else did
    text = f"{found.text} That is overcome: {what}{later} (line {done.line})."
    if (lasted or 0) >= SERIOUS_MS:
        return evolve(found, text=text, overcome=done)
    return evolve(
        found,
        cause=evolve(found.cause, settings={}),
        text=text,
        action="Nothing, unless it comes back.",
        present={},
        severity="calm",
        overcome=done,
    )


def _done(
    found: FoundCause,
    shown: Sequence[Statement],
    evidence: GroupEvidence,
    overcome_by: Sequence[Need],
) -> Statement | None:
    """What shows that it is overcome: of the first line of each member that says so, the last; None
    if one did not, if it comes back again and again, or was followed by more of it.
    """
    cause = found.cause
    if not overcome_by or found.sign.lasts or episodes(shown) > FEW_EPISODES:
        return None
    alike = [
        s for sign in cause.signs for n in sign.needs for s in evidence.all(n.kind) if n.fits(s)
    ]
    alike += evidence.all(*{*cause.accounts_for} & trouble().keys() or {""})
    last: dict[str, Statement] = {}
    for said in sorted([*shown, *alike], key=lambda s: s.line):
        last[evidence.writer(said)] = said
    stable = ["broker_stable"] if cause.overcome_by else []  # a member is not the group
    able = evidence.all(*{need.kind for need in overcome_by}, *stable)
    firsts = [_first(said, able, overcome_by, evidence) for said in last.values()]
    sure = [said for said in firsts if said is not None]
    return max(sure, key=lambda s: (s.time or 0, s.line)) if len(sure) == len(last) else None


def passed(kind: str, evidence: GroupEvidence) -> bool:
    """Did the same member join, or get an answer to its next heartbeat, soon after each refusal of
    this kind, and are there few of them?
    """
    some = evidence.all(kind) if kind in _PASSING else []
    if not some or evidence.tallies[kind].count > len(some) or episodes(some) > FEW_EPISODES:
        return False
    back = evidence.all(*_JOINS)
    if kind == "heartbeat_failed":
        back += [s for s in evidence.all("heartbeat") if s.fields.get("answer") == "ok"]
    return all(any(_soon(said, join, evidence) for join in back) for said in some)


def _soon(refused: Statement, join: Statement, evidence: GroupEvidence) -> bool:
    lasted = ms_between(refused, join)
    same = evidence.writer(refused) == evidence.writer(join)
    return same and is_after(refused, join) and (lasted or 0) < SERIOUS_MS


def _first(
    hit: Statement, able: Sequence[Statement], overcome_by: Sequence[Need], evidence: GroupEvidence
) -> Statement | None:
    """The first statement after the refusal that shows that its member went on."""
    who = evidence.writer(hit)
    for said in able:
        own = evidence.writer(said) == who or concerns(hit, said)
        if own and is_after(hit, said) and not only_asks(said) and _shows(overcome_by, hit, said):
            return said
    return None


def _shows(overcome_by: Sequence[Need], hit: Statement, said: Statement) -> bool:
    """Did its member what had been refused? Where the need says so, with the same topic."""
    if said.kind == "broker_stable":
        return True
    needs = [need for need in overcome_by if need.kind == said.kind and need.fits(said)]
    about = str(hit.fields.get("topic") or "")
    return any(not (need.same and about) or names_topic(said, about) for need in needs)


def names_topic(said: Statement, topic: str) -> bool:
    """Does the line name the topic, or a partition of it?"""
    return re.search(rf"(?<![\w.-]){re.escape(topic)}(?![\w.])(?!-[^\W\d])", said.text) is not None
