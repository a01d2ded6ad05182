"""By how much the clocks of processes differ, from lines that have to be in order.

A client cannot print the answer to a request before the coordinator has printed what it answers,
and the coordinator cannot print what a request does before the client has printed that it sends it.
Each such pair of lines bounds the difference of the two clocks on one side. Lines belong together
by group, generation and member id; only ids that lines of the broker name, too, count.

Bounds that contradict each other (a clock that was set, another cluster) give no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import Factory, define, frozen

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import BROKER

MOST_PROCESSES, MOST_LINES, MOST_PAIRS = 1_000, 50_000, 2_000
LEAST_MISPLACED_MS = 500
"""Clocks drift, and are corrected."""
MOST_MS = 26 * 3_600_000
"""Clocks that differ by more are clocks without a date."""
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
    below: tuple[Statement, Statement]
    above: tuple[Statement, Statement]

    @property
    def ahead(self) -> int:
        """The middle."""
        return (self.at_least + self.at_most) // 2

    @property
    def differs(self) -> bool:
        """The clocks do not agree."""
        return self.at_least > 0 or self.at_most < 0


Skews = Mapping[Process, Skew]


def by_process(skews: Iterable[Skew]) -> Skews:
    """The first skew of each process; `skews` has the most exact first."""
    found: dict[Process, Skew] = {}
    for skew in skews:
        found.setdefault(skew.process, skew)
    return found


def ms_before(skews: Skews, ours: Statement, theirs: Statement) -> int:
    """How long a client's line is older than a broker's, at least; 0 if it may be younger. A time
    in whole seconds may be up to a second later.
    """
    skew = skews.get((ours.log, ours.process))
    if skew is None or ours.time is None or theirs.time is None or skew.broker[0] != theirs.log:
        return 0
    rounded = any(time % 1_000 == 0 for time in (ours.time, theirs.time))
    return max(theirs.time - (ours.time - skew.at_least) - 1_000 * rounded, 0)


@frozen
class _Pair:
    """A line of a client and one of a broker of which one must be the later one."""

    client: Statement
    broker: Statement
    client_later: bool
    # The client's line that names the generation or id: the same one, or the answer that follows.
    names: Statement

    @property
    def ms(self) -> int:
        """The bound: the client's clock is ahead by at most so much if its line is the later one,
        and by at least so much if it is the earlier one.
        """
        ms = (self.client.time or 0) - (self.broker.time or 0)
        return ms + _unit(self.client) if self.client_later else ms - _unit(self.broker)

    def allows(self, ahead: int) -> bool:
        return ahead <= self.ms if self.client_later else ahead >= self.ms


@frozen
class MisplacedLine:
    """A client's line that tells of an answer before, by both clocks, the broker gave it."""

    said: Statement
    against: Statement
    # By how much, in ms, at least.
    by: int


@define
class _Bounds:
    """All pairs of a client's process and a broker's."""

    pairs: list[_Pair] = Factory(list)

    def skew(self, ours: Process, broker: Process) -> Skew | None:
        """The difference that all pairs allow; None if there is none, or no bound on one side."""
        above = min((p for p in self.pairs if p.client_later), key=lambda p: p.ms, default=None)
        below = max((p for p in self.pairs if not p.client_later), key=lambda p: p.ms, default=None)
        if above is None or below is None or not _plausible(below.ms, above.ms):
            return None
        lines = (below.client, below.broker), (above.client, above.broker)
        return Skew(ours, broker, below.ms, above.ms, len(self.pairs), *lines)

    def misplaced(self) -> tuple[_Bounds, MisplacedLine] | None:
        """The pairs without those of one line that contradicts all others, and this line; None if
        there is no such line: the clock was set, or the lines are of two clusters. Lines before and
        after it must agree with each other.
        """
        if len(self.pairs) > MOST_PAIRS:
            return None
        edges = {p.ms for p in self.pairs}
        best = max(edges, key=lambda ms: sum(p.allows(ms) for p in self.pairs), default=0)
        wrong = [p for p in self.pairs if not p.allows(best)]
        rest = _Bounds([p for p in self.pairs if p.allows(best)])
        said = wrong[0].names if wrong else None
        others = {p.names.line for p in rest.pairs}
        if said is None or {p.names.line for p in wrong} != {said.line} or len(others) < 4:
            return None
        skew = rest.skew(("", ""), ("", ""))
        if skew is None or not min(others) < said.line < max(others):
            return None
        one = min(wrong, key=lambda p: p.ms)
        by = skew.at_least - one.ms
        if not one.client_later or by < LEAST_MISPLACED_MS:
            return None  # JoinGroup may be answered with a generation that had begun before
        return rest, MisplacedLine(said, one.broker, by)


@define
class _Events:
    """The lines of brokers by what identifies them; None for what two lines tell."""

    lines: dict[tuple[str, ...], Statement | None] = Factory(dict)
    members: set[str] = Factory(set)

    def add(self, said: Statement, *key: str) -> None:
        if len(self.lines) < MOST_LINES:
            self.lines[key] = None if key in self.lines else said


_SENDS_JOIN = ("(Re-)joining group", 'Joining group "')
"""Java's words and librdkafka's, when JoinGroup is sent."""
_STABLE, _ASSIGNED, _CREATED, _LEFT = "stable", "assigned", "created", "left"


@define
class Clocks:
    """All processes. Statements are added in the order of each log."""

    _events: _Events = Factory(_Events)
    # The client's lines, each with the event that it must follow (True) or precede, the member, and
    # the line that names both.
    _lines: list[tuple[Statement, bool, tuple[str, ...], str, Statement]] = Factory(list)
    # (log, process, client) -> the line of its last JoinGroup.
    _joining: dict[tuple[str, str, str], Statement] = Factory(dict)

    def add(self, said: Statement, group: str) -> None:
        """`group`: the one that its writer belongs to."""
        if said.time is None:
            return
        if said.library == BROKER:
            self._of_broker(said, group)
        elif len(self._lines) < MOST_LINES and said.client:
            self._of_client(said, group)

    def _of_broker(self, said: Statement, group: str) -> None:
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

    def _of_client(self, said: Statement, group: str) -> None:
        key = (said.log, said.process, said.client)
        generation = str(said.fields.get("generation", ""))
        if said.kind == "joining" and any(words in said.text for words in _SENDS_JOIN):
            self._joining[key] = said
        elif said.kind == "joined" and said.member:
            self._line(said, True, said.member, _STABLE, group, generation)
            self._begun(key, said, _STABLE, group, generation)
        elif said.kind == "synced" and said.member:
            self._line(said, True, said.member, _ASSIGNED, group, generation)
        elif said.kind == "id_given" and said.member:
            self._line(said, True, said.member, _CREATED, group, said.member)
            self._begun(key, said, _CREATED, group, said.member)
        elif said.kind in ("left", "poll_expired") and "sending LeaveGroup" in said.text:
            self._line(said, False, said.member, _LEFT, group, said.member)
        elif said.kind == "leading" and "Finished assignment for group at" in said.text:
            self._line(said, False, "", _ASSIGNED, group, generation)

    def _begun(self, key: tuple[str, str, str], answer: Statement, *event: str) -> None:
        joining = self._joining.pop(key, None)
        if joining is not None:
            self._lines.append((joining, False, event, answer.member, answer))

    def _line(self, said: Statement, later: bool, member: str, *event: str) -> None:
        self._lines.append((said, later, event, member, said))

    def skews(self) -> list[Skew]:
        """The differences that are bounded on both sides, when all logs have been read, the most
        exact first.
        """
        return self.skews_and_misplaced()[0]

    def skews_and_misplaced(self) -> tuple[list[Skew], list[MisplacedLine]]:
        """`skews`, and the lines that no difference explains."""
        bounds: dict[tuple[Process, Process], _Bounds] = {}
        for said, later, event, member, names in self._lines:
            other = self._events.lines.get(event)
            ours = (said.log, said.process)
            if other is None or (other.log, other.process) == ours:
                continue
            if member and member not in self._events.members:
                continue
            if len(bounds) >= MOST_PROCESSES and (ours, _process(other)) not in bounds:
                continue
            of = bounds.setdefault((ours, _process(other)), _Bounds())
            of.pairs.append(_Pair(said, other, later, names))
        found: list[Skew] = []
        misplaced: list[MisplacedLine] = []
        for (ours, broker), of in bounds.items():
            skew = of.skew(ours, broker)
            if skew is None and (one := of.misplaced()) is not None:
                rest, wrong = one
                misplaced.append(wrong)
                skew = rest.skew(ours, broker)
            if skew is not None:
                found.append(skew)
        return sorted(found, key=lambda s: s.at_most - s.at_least), misplaced


def _unit(said: Statement) -> int:
    """A line tells its time in whole units of so many ms, cut off."""
    return 1 if (said.time or 0) % 1_000 else 1_000


def _process(said: Statement) -> Process:
    return said.log, said.process


def _plausible(at_least: int, at_most: int) -> bool:
    """The bounds do not contradict each other, as they do if a clock was set or the lines are of
    two clusters.
    """
    return at_least <= at_most and max(abs(at_least), abs(at_most)) <= MOST_MS
