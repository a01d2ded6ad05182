"""Tables of log lines as data: a row says which sentence means which event, and which versions of
Kafka print it.

The tables themselves are in `grammar_scala`, `grammar_java` and `grammar_other`; they were derived
from the log calls of the release tags 0.9.0 to 3.9 and the release branches 4.0 to 4.4. Reasons of
rebalances are sentences inside a sentence and have a table here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import field, frozen

from groupcheck.model.protocol.classic.group import Phase
from groupcheck.traces.broker.assignments import held, shares
from groupcheck.traces.lines.template import Template, compile_template
from groupcheck.traces.story.events import Event, Reason, RebalanceCause, Timeouts

Version = tuple[int, int]
"""A minor release: (2, 8), (0, 11)."""
FIRST: Version = (0, 9)
LAST: Version = (9, 99)


def version(text: str) -> Version:
    """`"2.8.1"` -> `(2, 8)`. Raises ValueError if it does not begin with two numbers."""
    major, minor = text.split(".")[:2]
    return int(major), int(re.match(r"\d+", minor)[0])  # type: ignore[index]


@frozen
class GrammarRow:
    """A sentence and what it means."""

    event: type[Event]
    template: Template
    # The first and the last minor release that print it.
    since: Version
    until: Version
    # The class that prints it.
    source: str
    # Fields of the event that the sentence implies.
    fixed: Mapping[str, Any] = field(factory=dict)


PHASES = {str(phase): phase for phase in Phase} | {"AwaitingSync": Phase.COMPLETING}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
_COLLECTION = re.compile(r"(?:[A-Za-z.]{0,40}\(|\[)")


def member_ids(text: str) -> tuple[str, ...]:
    """`Set(a, b)`, `[a, b]` or `a, b` -> `("a", "b")`.

    An id ends with a UUID, and the client's own text before it may have commas, so pieces are
    joined until one ends with a UUID.
    """
    opening = _COLLECTION.match(text)
    if opening and text[-1:] in ")]":
        text = text[opening.end() : -1]
    pieces = text.split(", ") if text else []
    if not any(_UUID.search(p[-36:]) for p in pieces):
        return tuple(pieces)
    found: list[str] = []
    waiting: list[str] = []
    for piece in pieces:
        waiting.append(piece)
        if _UUID.search(piece[-36:]):
            found.append(", ".join(waiting))
            waiting = []
    return (*found, ", ".join(waiting)) if waiting else tuple(found)


def option(text: str) -> str | None:
    """Scala's `Some(x)` and `None`, Java's `Optional[x]`, `Optional.empty` and `null`."""
    for before, after in (("Some(", ")"), ("Optional[", "]")):
        if text.startswith(before) and text.endswith(after):
            text = text[len(before) : -1]
    return None if text in ("None", "null", "Optional.empty") else text


def assignors(text: str) -> tuple[str, ...]:
    """`List(range, cooperative-sticky)`, which versions before 2.8 end with a comma."""
    return tuple(text.strip(", ").removeprefix("List(").removesuffix(")").split(", "))


_CONVERT: Mapping[str, Callable[[str], Any]] = {
    "int": int,
    "state": lambda s: PHASES.get(s),
    "ids": member_ids,
    "assignors": assignors,
    "option": option,
    "reason": lambda s: parse_reason(s),
    "names": lambda s: tuple(s.split(", ")),
    "held": held,
    "shares": shares,
}


def convert(kinds: Mapping[str, str], found: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a matched template as values of their kinds. Fields whose name begins with `_`
    are dropped.
    """
    return {name: reader(kinds[name])(text) for name, text in found.items() if name[0] != "_"}


def reader(kind: str) -> Callable[[str], Any]:
    """The function that reads the text of a field of this kind."""
    return _CONVERT.get(kind, str)


def event_of(row: GrammarRow, values: dict[str, Any], place: Mapping[str, Any]) -> Event:
    """The event of a row, with the values of its fields; `place`: line, time, broker."""
    if "session" in values:
        values["timeouts"] = Timeouts(values.pop("session"), values.pop("rebalance"))
    return row.event(**{**place, **row.fixed, **values})


def rows(source: str, entries: Iterable[tuple[Any, ...]]) -> tuple[GrammarRow, ...]:
    """Rows from (event, since, until, sentence[, fixed fields])."""
    return tuple(
        GrammarRow(
            event,
            compile_template(sentence),
            version(since),
            LAST if until == "now" else version(until),
            source,
            *fixed,
        )
        for event, since, until, sentence, *fixed in entries
    )


_OPENING = re.compile(r"[^ =]*")


class Table:
    """Rows found by the first word of their sentence, in the order in which they were given."""

    def __init__(self, given: Iterable[GrammarRow]) -> None:
        self.rows = tuple(given)
        self._by_word: dict[str, list[GrammarRow]] = {}
        for row in self.rows:
            self._by_word.setdefault(_first_word(row.template.opening), []).append(row)

    def find(self, sentence: str) -> tuple[GrammarRow, dict[str, str]] | None:
        """The first row that the whole sentence fits, with the text of its fields."""
        for row in self._by_word.get(_first_word(sentence), ()):
            if sentence.startswith(row.template.opening):
                found = row.template.match(sentence)
                if found is not None:
                    return row, found
        return None


def _first_word(text: str) -> str:
    return _OPENING.match(text)[0]  # type: ignore[index]


_REASONS = [
    (
        RebalanceCause.JOIN,
        (
            "Adding new member {member} with group instance id {instance:option}; client reason:"
            " {client}"
        ),
    ),
    (RebalanceCause.JOIN, "Adding new member {member} with group instance id {instance:option}"),
    (RebalanceCause.JOIN, "Adding new member {member} with group instanceid {instance:option}"),
    (RebalanceCause.JOIN, "Adding new member {member}"),
    (
        RebalanceCause.LEADER_REJOIN,
        "Leader {member} re-joining group during {phase:state}; client reason: {client}",
    ),
    (RebalanceCause.LEADER_REJOIN, "Leader {member} re-joining group during {phase:state}"),
    (RebalanceCause.LEADER_REJOIN, "leader {member} re-joining group during {phase:state}"),
    (
        RebalanceCause.METADATA_CHANGE,
        "Updating metadata for member {member} during {phase:state}; client reason: {client}",
    ),
    (RebalanceCause.METADATA_CHANGE, "Updating metadata for member {member} during {phase:state}"),
    (
        RebalanceCause.STATIC_REPLACED,
        (
            "Updating metadata for static member {member} with instance id {instance:option};"
            " client reason: {client}"
        ),
    ),
    (
        RebalanceCause.STATIC_REPLACED,
        "Updating metadata for static member {member} with instance id {instance:option}",
    ),
    (RebalanceCause.METADATA_CHANGE, "Updating metadata for member {member}"),
    (
        RebalanceCause.MEMBER_REJOIN,
        "Member {member} joining group during {phase:state}; client reason: {client}",
    ),
    (RebalanceCause.MEMBER_REJOIN, "Member {member} joining group during {phase:state}"),
    (
        RebalanceCause.MEMBER_REJOIN,
        "Member {member} is joining group during {phase:state}; client reason: {client}",
    ),
    (
        RebalanceCause.PROTOCOL_CHANGE,
        (
            "Group's selectedProtocol will change because static member {member} with instance id"
            " {instance:option} joined with change of protocol; client reason: {client}"
        ),
    ),
    (
        RebalanceCause.PROTOCOL_CHANGE,
        (
            "Group's selectedProtocol will change because static member {member} with instance id"
            " {instance:option} joined with change of protocol"
        ),
    ),
    (RebalanceCause.SESSION_EXPIRED, "removing member {member} on heartbeat expiration."),
    (RebalanceCause.SESSION_EXPIRED, "removing member {member} on heartbeat expiration"),
    (RebalanceCause.LEAVE, "Removing member {member} on LeaveGroup; client reason: {client}"),
    (RebalanceCause.LEAVE, "Removing member {member} on LeaveGroup"),
    (RebalanceCause.LEAVE, "removing member {member} on LeaveGroup"),
    (RebalanceCause.LEAVE, "removing member  on LeaveGroup"),
    (RebalanceCause.LEAVE, "explicit `LeaveGroup` request for () members."),
    (RebalanceCause.LEAVE, "explicit `LeaveGroup` request for ({members:ids}) members."),
    (RebalanceCause.SYNC_TIMEOUT, "Removing {members:ids} on pending sync request expiration"),
    (
        RebalanceCause.APPEND_FAILED,
        "Error {client} when storing group assignment during SyncGroup (member: {member}).",
    ),
    (
        RebalanceCause.APPEND_FAILED,
        "Error {client} when storing group assignment during SyncGroup (member: {member})",
    ),
    (
        RebalanceCause.APPEND_FAILED,
        "Error when storing group assignment during SyncGroup (member: {member})",
    ),
    (
        RebalanceCause.APPEND_FAILED,
        "error when storing group assignment during SyncGroup (member: {member})",
    ),
    (RebalanceCause.OVER_CAPACITY, "Freshly-loaded group {_rest}"),
    (RebalanceCause.DOWNGRADE, "Downgrade group {_rest}"),
]
_REASON_TABLE: dict[str, list[tuple[RebalanceCause, Template]]] = {}
for _cause, _sentence in _REASONS:
    _template = compile_template(_sentence)
    _REASON_TABLE.setdefault(_first_word(_template.opening), []).append((_cause, _template))


def parse_reason(text: str) -> Reason:
    """The text inside `(reason: ...)`. A text that no version prints is kept, with the cause
    `not_told`.
    """
    for cause, template in _REASON_TABLE.get(_first_word(text), ()):
        if not text.startswith(template.opening):
            continue
        found = template.match(text)
        if found is not None:
            values = convert(template.kinds, found)
            members = values.get("members") or ((values["member"],) if "member" in values else ())
            return Reason(
                text,
                cause,
                tuple(m for m in members if m),
                values.get("instance"),
                values.get("phase"),
                values.get("client"),
            )
    return Reason(text, RebalanceCause.NOT_TOLD)
