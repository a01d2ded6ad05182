"""Facts about the coordinator that lines name: found and given up again and again, or known and not
reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.clients.statement import Statement, fact, ms_between

AT_WORK = ("joined", "synced", "assigned", "heartbeat", "committed")
GIVEN_UP_MS = 30_000
"""A coordinator that is lost so soon after it was found was never of use."""
MOST_LOSSES = 20
"""So many losses are worth a word even if the member joins in between."""
_NUMBERED = 2**31 - 1
"""Java numbers the connection to a coordinator with this minus the broker's id."""
_FIRST = _NUMBERED - 1_000_000
_NODE = re.compile(r"(?P<id>-?\d+)(?: \((?P<address>[^()]+)\))?")
_ADDRESS = re.compile(
    r"host='(?P<host>[^']{1,250})', port=(?P<port>\d{1,5})|(?P<address>[\w.-]{1,250}:\d{2,5})\b"
)
_ID = re.compile(r"\bid(?:=|: ?)(\d{1,10})")


def node_of(said: Statement) -> int | None:
    """The number of the node that a line names; below 0 for an address of bootstrap.servers."""
    node = said.fields.get("node")
    if isinstance(node, int):
        return node
    match = _NODE.match(str(node or ""))
    return int(match["id"]) if match else None


def node_text(said: Statement) -> str | None:
    """The node with its address, as the line tells it."""
    if address := said.fields.get("address"):
        return str(address)
    node = said.fields.get("node")
    if node is None:
        return None
    match = _NODE.match(str(node))
    return (match["address"] or match["id"]) if match else str(node).split(" (id")[0]


def coordinator_address(said: Statement) -> str | None:
    """The address of the coordinator that the line names, as host:port."""
    found = _ADDRESS.search(str(said.fields.get("coordinator", "")))
    if found is None:
        return None
    return found["address"] or f"{found['host']}:{found['port']}"


def coordinator_number(said: Statement) -> int | None:
    """The broker's number of the coordinator that the line names."""
    broker = said.fields.get("broker")
    if isinstance(broker, int):
        return broker
    found = _ID.search(str(said.fields.get("coordinator", "")))
    number = int(found[1]) if found else None
    return _NUMBERED - number if number is not None and number >= _FIRST else number


def coordinator_text(said: Statement) -> str | None:
    """The coordinator that the line names, by its address and its number."""
    address, number = coordinator_address(said), coordinator_number(said)
    if address is None or number is None or number < 0:
        return address or (f"broker {number}" if number is not None else None)
    return f"{address} (broker {number})"


def given_up(group: GroupEvidence) -> Iterator[Statement]:
    """Coordinators that are found and given up again and again by the same member, without a join.
    A broker that restarts shows that, too, but then the member joins in the end.
    """
    for some in group.of_each_process(
        "coordinator_found", "coordinator_lost", "disconnected", *AT_WORK
    ):
        found: Statement | None = None
        lost: list[tuple[Statement, Statement]] = []
        for said in some:
            if said.kind == "coordinator_found":
                found = said
            elif said.kind in AT_WORK:
                found, lost = None, lost if len(lost) >= MOST_LOSSES else []
            elif found is not None and _gives_up(found, said):
                lost.append((found, said))
                found = None
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
        return soon and (node_of(said) or 0) >= _FIRST
    return soon


def unreached(group: GroupEvidence) -> Iterator[Statement]:
    """Members that were told their coordinator, and whose connections fail or end: those to it
    (`same`: yes), or those to others (no). Without `same`, the lines do not tell where they lead.
    """
    for some in group.of_each_process("coordinator_found", "disconnected", "joining", *AT_WORK):
        if any(said.kind in AT_WORK for said in some):
            continue
        found = [said for said in some if said.kind == "coordinator_found"]
        ended = [said for said in some if said.kind == "disconnected"]
        if not found or not ended:
            continue
        now = found[-1]
        same: str | None
        to_it = [s for s in ended if _leads_to(s, now)]
        failed = [s for s in to_it if s.fields.get("reason") == "could not connect" or _fails(s)]
        if len(failed) >= 2:
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
    if said.fields.get("of") == "coordinator" or (node is not None and node >= _FIRST):
        return True
    if node is not None and node >= 0 and number is not None:
        return node == number
    here, there = _host(node_text(said)), _host(coordinator_address(found))
    return here == there if here and there else None


def _host(address: str | None) -> str:
    """host:port without the resolved address between them: inner/10.9.9.9:9092."""
    text = str(address or "")
    if ":" not in text:
        return ""
    host, port = text.rsplit(":", 1)
    return f"{host.split('/')[0].strip()}:{port}"


COORDINATORS = (given_up, unreached)
