"""Facts about the coordinator that lines name: found and given up again and again, or known and not
reached.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.traces.causes.at_work import COORDINATOR_ANSWERS
from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.clients.nodes import (
    FIRST_COORDINATOR,
    coordinator_address,
    coordinator_number,
    coordinator_text,
    host_and_port,
    node_of,
    node_text,
)
from groupcheck.traces.clients.statement import Statement, fact, ms_between

GIVEN_UP_MS = 30_000
"""A coordinator that is lost so soon after it was found was never of use."""
MOST_LOSSES = 20
"""So many losses are worth a word even if the member joins in between."""


def given_up(group: GroupEvidence) -> Iterator[Statement]:
    """Coordinators that are found and given up again and again by the same member, without a join.
    A broker that restarts shows that, too, but then the member joins in the end.
    """
    for some in group.of_each_process(
        "coordinator_found", "coordinator_lost", "disconnected", *COORDINATOR_ANSWERS
    ):
        found = gone = None
        lost: list[tuple[Statement, Statement]] = []
        for said in some:
            if said.kind == "coordinator_found":
                found = said
                if gone is not None and coordinator_text(gone) == coordinator_text(said):
                    lost.append((gone, gone))  # it was found before these lines begin
                gone = None
            elif said.kind in COORDINATOR_ANSWERS:
                found, lost = None, lost if len(lost) >= MOST_LOSSES else []
            elif found is not None and _gives_up(found, said):
                lost.append((found, said))
                found = None
            elif found is None and not lost and said.fields.get("disconnected") == "true":
                gone = said
        if len(lost) >= 2:
            reasons = [r for _, s in lost if (r := s.fields.get("reason"))]
            before, last = lost[-1]
            yield fact(
                last,
                "coordinator_given_up",
                repeats=len(lost),
                span=ms_between(lost[0][1], last),
                reason=max(reasons, key=reasons.count) if reasons else None,
                coordinator=coordinator_text(before) or coordinator_text(last),
            )


def _gives_up(found: Statement, said: Statement) -> bool:
    soon = (ms_between(found, said) or 0) <= GIVEN_UP_MS
    if said.kind == "disconnected":
        return soon and (node_of(said) or 0) >= FIRST_COORDINATOR
    return soon


def unreached(group: GroupEvidence) -> Iterator[Statement]:
    """Members that were told their coordinator, and whose connections fail or end: those to it
    (`same`: yes), or those to others (no). Without `same`, the lines do not tell where they lead.
    """
    for some in group.of_each_process(
        "coordinator_found", "disconnected", "joining", *COORDINATOR_ANSWERS
    ):
        if any(said.kind in COORDINATOR_ANSWERS for said in some):
            continue
        found = [said for said in some if said.kind == "coordinator_found"]
        # Before it was told a coordinator, it had none to connect to, unless a line that lies
        # before the log told it: then the connection is named as the coordinator's.
        at = [said.kind for said in some].index("coordinator_found") if found else 0
        ended = [
            said
            for k, said in enumerate(some)
            if said.kind == "disconnected" and (k > at or said.fields.get("of") == "coordinator")
        ]
        if not found or not ended:
            continue
        now = found[-1]
        same: str | None
        to_it = [s for s in ended if _leads_to(s, now)]
        failed = [s for s in to_it if s.fields.get("reason") == "could not connect" or _fails(s)]
        if len(failed) >= 2 or (failed and failed[-1].line < now.line):
            same, shown = "yes", failed
        elif len(found) >= 3 and len(ended) >= 3 and all(s.kind != "joining" for s in some):
            same, shown = "yes" if to_it else None, to_it or ended
        elif len(others := _all_elsewhere(ended, now)) >= 2:
            same, shown = "no", others
        else:
            continue
        yield fact(
            shown[-1],
            "coordinator_unreached",
            coordinator=coordinator_text(now),
            told=len(found),
            node=node_text(shown[-1]),
            same=same,
            repeats=len(shown),
        )


def _fails(said: Statement) -> bool:
    return "failed" in said.fields


def _all_elsewhere(ended: list[Statement], found: Statement) -> list[Statement]:
    """The attempts to connect that failed, if none leads to the coordinator."""
    failed = [s for s in ended if s.fields.get("reason") == "could not connect" or _fails(s)]
    return failed if all(_leads_to(s, found) is False for s in ended) else []


def _leads_to(said: Statement, found: Statement) -> bool | None:
    """Does the connection lead to the coordinator that was found? None if the lines do not tell."""
    node, number = node_of(said), coordinator_number(found)
    if said.fields.get("of") == "coordinator" or (node is not None and node >= FIRST_COORDINATOR):
        return True
    if node is not None and node >= 0 and number is not None:
        return node == number
    here, there = host_and_port(node_text(said)), host_and_port(coordinator_address(found))
    return here == there if here and there else None


COORDINATORS = (given_up, unreached)
