"""By how much the clocks of processes differ, from lines that have to be in order.

A client cannot print the answer to a request before the coordinator has printed what it answers,
and the coordinator cannot print what a request does before the client has printed that it sends it.
Each such pair of lines bounds the difference of the two clocks on one side. Lines belong together
by group, generation and member id; only ids that lines of the broker name, too, count.
"""

from __future__ import annotations

from attrs import Factory, define, frozen

from groupcheck.traces.clients.said import Said
from groupcheck.traces.clients.who import BROKER

MOST_PROCESSES, MOST_LINES = 1_000, 50_000
MOST_MS = 26 * 3_600_000
"""Clocks that differ by more are clocks without a date."""
FAR_MS = 2**62
Process = tuple[str, str]
"""Log, and the process or container that a prefix of its lines names."""


@frozen
class Skew:
    """The clock of a client's process is ahead of a broker's, by at least .. at most so many ms."""

    process: Process
    broker: Process
    at_least: int
    at_most: int
    # How many pairs of lines show it.
    pairs: int
    # The lines that bound it: (client, broker) from below and from above.
    below: tuple[Said, Said]
    above: tuple[Said, Said]

    @property
    def ahead(self) -> int:
        """The middle."""
        return (self.at_least + self.at_most) // 2

    @property
    def differs(self) -> bool:
        """The clocks do not agree."""
        return self.at_least > 0 or self.at_most < 0


@define
class _Bounds:
    at_least: int = -FAR_MS
    at_most: int = FAR_MS
    pairs: int = 0
    below: tuple[Said, Said] | None = None
    above: tuple[Said, Said] | None = None

    def client_later(self, client: Said, broker: Said) -> None:
        """The client's line is the later one."""
        ms = (client.time or 0) + _unit(client) - (broker.time or 0)
        self.pairs += 1
        if ms < self.at_most:
            self.at_most, self.above = ms, (client, broker)

    def client_earlier(self, client: Said, broker: Said) -> None:
        ms = (client.time or 0) - (broker.time or 0) - _unit(broker)
        self.pairs += 1
        if ms > self.at_least:
            self.at_least, self.below = ms, (client, broker)


@define
class _Events:
    """What the lines of brokers tell, by what identifies it; None for what is told twice."""

    lines: dict[tuple[str, ...], Said | None] = Factory(dict)
    members: set[str] = Factory(set)

    def add(self, said: Said, *key: str) -> None:
        if len(self.lines) < MOST_LINES:
            self.lines[key] = None if key in self.lines else said


_STABLE, _ASSIGNED, _CREATED, _LEFT = "stable", "assigned", "created", "left"


@define
class Clocks:
    """All processes. Statements are added in the order of each log."""

    _events: _Events = Factory(_Events)
    # The client's lines, each with the event that it must follow (True) or precede.
    _lines: list[tuple[Said, bool, tuple[str, ...], str]] = Factory(list)
    # (log, process, client) -> the line of its last JoinGroup.
    _joining: dict[tuple[str, str, str], Said] = Factory(dict)

    def add(self, said: Said, group: str) -> None:
        """`group`: the one that its writer belongs to."""
        if said.time is None:
            return
        if said.library == BROKER:
            self._of_broker(said, group)
        elif len(self._lines) < MOST_LINES and said.client:
            self._of_client(said, group)

    def _of_broker(self, said: Said, group: str) -> None:
        generation, member = str(said.fields.get("generation", "")), said.member.split(" ")[0]
        if member:
            self._events.members.add(member)
        if said.kind == "broker_stable" and "Stabilized group" in said.text:
            self._events.add(said, _STABLE, group, generation)
        elif said.kind == "broker_stable":
            self._events.add(said, _ASSIGNED, group, generation)
        elif said.kind == "broker_joined" and "new member id" in said.text:
            self._events.add(said, _CREATED, group, member)
        elif said.kind == "broker_left" and "LeaveGroup" in said.text:
            self._events.add(said, _LEFT, group, member)

    def _of_client(self, said: Said, group: str) -> None:
        key = (said.log, said.process, said.client)
        generation = str(said.fields.get("generation", ""))
        if said.kind == "joining" and "(Re-)joining group" in said.text:
            self._joining[key] = said
        elif said.kind == "joined" and said.member:
            self._line(said, True, said.member, _STABLE, group, generation)
            self._begun(key, said.member, _STABLE, group, generation)
        elif said.kind == "synced" and said.member:
            self._line(said, True, said.member, _ASSIGNED, group, generation)
        elif said.kind == "id_given" and said.member:
            self._line(said, True, said.member, _CREATED, group, said.member)
            self._begun(key, said.member, _CREATED, group, said.member)
        elif said.kind in ("left", "poll_expired") and "sending LeaveGroup" in said.text:
            self._line(said, False, said.member, _LEFT, group, said.member)
        elif said.kind == "leading" and "Finished assignment for group at" in said.text:
            self._line(said, False, "", _ASSIGNED, group, generation)

    def _begun(self, key: tuple[str, str, str], member: str, *event: str) -> None:
        joining = self._joining.pop(key, None)
        if joining is not None:
            self._line(joining, False, member, *event)

    def _line(self, said: Said, later: bool, member: str, *event: str) -> None:
        self._lines.append((said, later, event, member))

    def skews(self) -> list[Skew]:
        """The differences that are bounded on both sides, when all logs have been read, the most
        exact first.
        """
        bounds: dict[tuple[Process, Process], _Bounds] = {}
        for said, later, event, member in self._lines:
            other = self._events.lines.get(event)
            ours = (said.log, said.process)
            if other is None or (other.log, other.process) == ours:
                continue
            if member and member not in self._events.members:
                continue
            if len(bounds) >= MOST_PROCESSES and (ours, _process(other)) not in bounds:
                continue
            of = bounds.setdefault((ours, _process(other)), _Bounds())
            (of.client_later if later else of.client_earlier)(said, other)
        found = [
            Skew(ours, broker, b.at_least, b.at_most, b.pairs, b.below, b.above)
            for (ours, broker), b in bounds.items()
            if b.below is not None and b.above is not None and _plausible(b)
        ]
        return sorted(found, key=lambda s: s.at_most - s.at_least)


def _unit(said: Said) -> int:
    """A line tells its time in whole units of so many ms, cut off."""
    return 1 if (said.time or 0) % 1_000 else 1_000


def _process(said: Said) -> Process:
    return said.log, said.process


def _plausible(bounds: _Bounds) -> bool:
    """The bounds do not contradict each other, as they do if a clock was set or the lines are of
    two clusters.
    """
    return (
        bounds.at_least <= bounds.at_most
        and max(abs(bounds.at_least), abs(bounds.at_most)) <= MOST_MS
    )
