"""What becomes of a classic group's round when the group is converted, gets a plan, or is loaded by
another broker: changes of the rules that do this.
"""

from __future__ import annotations

from typing import Any

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.codes import NOT_COORDINATOR, REBALANCE_IN_PROGRESS
from groupcheck.model.protocol.consumer.memory import (
    NO_ROUND,
    Convert,
    Phase,
    Round,
    RoundMember,
    Seat,
    order,
)
from groupcheck.model.protocol.consumer.messages import Answer, HandedOutId, remembered
from groupcheck.model.protocol.consumer.scope import AS_KAFKA
from groupcheck.model.protocol.migration.conversions import converted

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
    if errand.round and was.part.syncs:
        link = evolve(link, parked=Answer(assigned=seat.assigned))
    elif not errand.round and (was.waits or was.part.syncs):
        link = evolve(link, parked=Answer(REBALANCE_IN_PROGRESS))
    return {**after, "link": link, "seat": _converted(was, seat, stays, errand)}


def _converted(was: Seat, seat: Seat, stays: bool, errand: Convert) -> Seat:
    part = evolve(was.part, syncs=False) if stays else RoundMember(claimed=was.part.claimed)
    kept = was if stays and not errand.round else seat
    return evolve(kept, part=part, waits=False)


def ghosts_converted(before: Values, label: str, after: Values, scope: Any) -> Values:
    """`convert_end`: the same for members whose processes are gone."""
    errand, core = before["walk"].errand, before["core"]
    stays = errand.phase is not None and core.phase is not None
    pairs = [(g, converted(g, errand, core.held, scope)) for g in before["ghosts"]]
    ghosts = order([_converted(was, seat, stays, errand) for was, seat in pairs])
    return {**after, "ghosts": ghosts}


def all_converted(before: Values, label: str, after: Values, scope: Any) -> Values:
    """The round of a group that has become one of the other kind, or has a plan."""
    errand, core, last = before["walk"].errand, after["core"], before["core"].round
    if label == "upgraded":
        # Its join timer runs on, and finds no classic group until there is one again (K37).
        after_round = Round(join_timer=last.join_timer and scope.k37 == AS_KAFKA)
        core = evolve(core, exists=not errand.anew)
    elif label == "downgraded":
        join_timer = last.join_timer or errand.phase == Phase.PREPARING
        after_round = Round(recorded=True, join_timer=join_timer)
    elif label == "assigned":
        after_round = evolve(last, recorded=True)
    else:
        after_round = evolve(last, led=False)
        if scope.requests == "members":
            core = evolve(core, held=before["core"].held)
    return {**after, "core": evolve(core, round=after_round)}


def moves(before: Values, label: str, after: Values) -> Values | None:
    """`move_coordinator`: what is in no record is lost. A group whose members or generation have
    changed since its last record is not moved here; nor, where anybody asks, one in a round.
    """
    core = before["core"]
    if core.phase is not None and not core.round.recorded and core.phase != Phase.EMPTY:
        return None
    named = core.round.named and core.phase in (Phase.STABLE, Phase.PREPARING)
    loaded = Round(recorded=True, named=named) if core.phase is not None else NO_ROUND
    core = evolve(after["core"], round=loaded)
    if before["core"].phase == Phase.EMPTY:
        core = evolve(core, phase=None, round=NO_ROUND)
    return {**after, "core": core}


def member_loaded(before: Values, label: str, after: Values, scope: Any) -> Values:
    """`load_member`: nothing is parked, which a process notices, and no id is remembered."""
    link, seat = after["link"], after["seat"]
    if link.handed_out == HandedOutId.REMEMBERED:
        link = evolve(link, handed_out=HandedOutId.NONE)
    if seat is not None:
        if scope.requests == "members" and (before["seat"].waits or seat.part.syncs):
            link = evolve(link, parked=Answer(NOT_COORDINATOR))
        seat = _loaded(seat)
    return {**after, "seat": seat, "link": link}


def _loaded(seat: Seat) -> Seat:
    part = RoundMember(leads=seat.part.leads, claimed=seat.part.claimed)
    return evolve(seat, part=part, waits=False)


def ghosts_loaded(before: Values, label: str, after: Values, scope: Any) -> Values:
    """`load_ghosts`: the same for members whose processes are gone."""
    return {**after, "ghosts": order([_loaded(ghost) for ghost in after["ghosts"]])}


def dies(before: Values, label: str, after: Values, scope: Any) -> Values:
    """`crash`: an id that the process was handed out is remembered."""
    return {**after, "link": evolve(after["link"], handed_out=remembered(before["link"]))}
