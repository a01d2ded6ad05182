"""The brokers that lines name: by number, by address, or as the coordinator of a group."""

from __future__ import annotations

import re

from groupcheck.traces.clients.statement import Statement

NUMBERED = 2**31 - 1
"""Java numbers the connection to a coordinator with this minus the broker's id."""
FIRST_COORDINATOR = NUMBERED - 1_000_000
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
    return NUMBERED - number if number is not None and number >= FIRST_COORDINATOR else number


def coordinator_text(said: Statement) -> str | None:
    """The coordinator that the line names, by its address and its number."""
    address, number = coordinator_address(said), coordinator_number(said)
    if address is None or number is None or number < 0:
        return address or (f"broker {number}" if number is not None else None)
    return f"{address} (broker {number})"


def host_and_port(address: str | None) -> str:
    """host:port without the resolved address between them: inner/10.9.9.9:9092."""
    text = str(address or "")
    if ":" not in text:
        return ""
    host, port = text.rsplit(":", 1)
    return f"{host.split('/')[0].strip()}:{port}"
