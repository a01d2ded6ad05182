"""What keeps a group from being called calm although no line tells of trouble: how its rebalances
went. Calm is a claim, and a group that rebalances again and again makes another one.
"""

from __future__ import annotations

from collections.abc import Sequence

from groupcheck.oracles.replay.rounds import lasted
from groupcheck.traces.causes.found_cause import is_after
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.causes.overcome import SERIOUS_MS
from groupcheck.traces.findings.user_impact import by_leaving
from groupcheck.traces.phrases import plural
from groupcheck.traces.story.events import GroupDied, RebalanceCause
from groupcheck.traces.story.moments import Round, elapsed, ends_are_shown

FEW, OFTEN_MS = 2, 10_000
"""More joins, each so soon after the rebalance before, are more than one consumer that starts."""
NEXT_ROUND_MS, LIVED = 1_000, 10
"""A group of fewer generations may be starting: its members come one after the other."""


def unsettled(rounds: Sequence[Round], by_members: bool = False) -> str:
    """Why these rebalances are no sign of a calm group, in a few words; empty if they may be.
    `by_members`: members tell them, who do not know what the coordinator waited for.
    """
    if not rounds:
        return ""
    longest = max((elapsed(r.started, r.ended) or 0 for r in rounds), default=0)
    if longest >= SERIOUS_MS:
        other = ", or its own requests were not answered" if by_members else ""
        return f"a rebalance took {lasted(longest)}: the group waited for a member{other}"
    last = rounds[-1]
    if last.outcome == "emptied" and not by_leaving(last):
        return "the group has no members when its log ends"
    joins = [r for r in rounds if r.cause is RebalanceCause.JOIN and _lived(r)]
    span = elapsed(joins[0].started, joins[-1].started) if joins else None
    if len(joins) > FEW and span is not None and span <= OFTEN_MS * len(joins):
        return f"{plural(len(joins), 'rebalance')} within {lasted(span)}, each with a new member"
    at_once = sum(map(_at_once, rounds, rounds[1:]))
    if at_once >= FEW:
        return f"{at_once} rebalances begin at once when the one before is over"
    if isinstance(last.last, GroupDied):
        return "the group is removed when its log ends: nobody is in it"
    if last.outcome == "open" and last.started is not None:
        if not ends_are_shown(rounds):
            return "no line shows how its last rebalance ends"
        return "its last rebalance is not over when its log ends"
    shown = any(r.outcome == "assigned" for r in rounds)  # else such lines may be filtered out
    if last.outcome == "stabilized" and shown and not by_members:
        return "its log ends before the members of its last generation are given their shares"
    return ""


def ends_left_out(evidence: GroupEvidence) -> bool:
    """Do its coordinator's lines show that a rebalance was over, and not how it ended? Then such
    lines were left out of the log, and that it ends in a rebalance does not follow.
    """
    begun = False
    for said in evidence.all("broker_rebalance", "broker_stable", "broker_joined", "broker_empty"):
        if said.kind == "broker_joined" and begun and said.fields.get("state") == "Stable":
            return True
        begun = said.kind == "broker_rebalance" or (begun and said.kind == "broker_joined")
    return False


_ON = ("joining", "joined", "synced", "assigned", "committed", "closed", "left", "fetch_started")


def told_last(evidence: GroupEvidence) -> str:
    """Who is told that a classic group rebalances, and does nothing afterwards that shows its
    rebalance begun or over; empty if nobody is.
    """
    told = [s for s in evidence.all("rebalancing") if "epoch" not in s.fields]
    last = {evidence.writer(s): s for s in told if s.fields.get("error") == "REBALANCE_IN_PROGRESS"}
    later = evidence.all(*_ON) if last else []
    for who, said in last.items():
        if not any(evidence.writer(s) == who and is_after(said, s) for s in later):
            return said.who or "a client"
    return ""


def _at_once(before: Round, after: Round) -> bool:
    """Does it begin as soon as the one before is over, in a group that is not just starting?"""
    pause = elapsed(before.ended, after.started)
    return pause is not None and pause <= NEXT_ROUND_MS and _lived(after)


def _lived(r: Round) -> bool:
    return (r.from_generation or 0) >= LIVED
