"""What becomes of a classic group's round, where anybody asks, when the group is converted, gets a
plan, or is loaded by another broker: changes of the rules that do this.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.codes import REBALANCE_IN_PROGRESS
from groupcheck.model.protocol.consumer.memory import NO_ROUND, Phase, Round, RoundMember
from groupcheck.model.protocol.consumer.messages import Answer, HandedOutId

Values = dict[str, Any]


def member_converted(before: Values, label: str, after: Values, scope: Any) -> Values:
    """What is parked of a member whose group becomes one of the other kind, or has a plan, is
    answered, and no id that was handed out is remembered.
    """
    errand, core, seat = before["walk"].errand, before["core"], after["seat"]
    link = after["link"]
    stays = errand.phase is not None and core.phase is not None
    if not stays and link.handed_out == HandedOutId.REMEMBERED:
        link = evolve(link, handed_out=HandedOutId.NONE)
    if seat is None:
        return {**after, "link": link}
    was = before["seat"]
    part = evolve(was.part, syncs=False) if stays else RoundMember(claimed=was.part.claimed)
    if errand.round and was.part.syncs:
        link = evolve(link, parked=Answer(assigned=seat.assigned))
    elif not errand.round and (was.waits or was.part.syncs):
        link = evolve(link, parked=Answer(REBALANCE_IN_PROGRESS))
    if stays and not errand.round:
        seat = evolve(was, waits=False)
    return {**after, "link": link, "seat": evolve(seat, part=part)}


def all_converted(before: Values, label: str, after: Values, scope: Any) -> Values:
    """The round of a group that has become one of the other kind, or has a plan."""
    errand, core, last = before["walk"].errand, after["core"], before["core"].round
    if label == "upgraded":
        # Its join timer runs on, and finds no classic group.
        after_round = Round(join_timer=last.join_timer)
        core = evolve(core, exists=not errand.anew)
    elif label == "downgraded":
        join_timer = last.join_timer or errand.phase == Phase.PREPARING
        after_round = Round(recorded=True, join_timer=join_timer)
    elif label == "assigned":
        after_round = evolve(last, recorded=True)
    else:
        after_round = evolve(last, led=False)
    return {**after, "core": evolve(core, round=after_round)}


def moves(before: Values, label: str, after: Values) -> Values | None:
    """`move_coordinator`: what is in no record is lost. A group whose members have changed since
    its last record is not moved here.
    """
    core = before["core"]
    if core.phase is not None and not core.round.recorded and core.phase != Phase.EMPTY:
        return None
    named = core.round.named and core.phase == Phase.STABLE
    loaded = Round(recorded=True, named=named) if core.phase is not None else NO_ROUND
    core = evolve(after["core"], round=loaded)
    if before["core"].phase == Phase.EMPTY:
        core = evolve(core, phase=None, round=NO_ROUND)
    return {**after, "core": core}


def member_loaded(before: Values, label: str, after: Values, scope: Any) -> Values:
    """`load_member`: nothing is parked, and no id is remembered."""
    link, seat = after["link"], after["seat"]
    if link.handed_out == HandedOutId.REMEMBERED:
        link = evolve(link, handed_out=HandedOutId.NONE)
    if seat is not None:
        part = RoundMember(leads=seat.part.leads, claimed=seat.part.claimed)
        seat = evolve(seat, part=part)
    return {**after, "seat": seat, "link": link}
