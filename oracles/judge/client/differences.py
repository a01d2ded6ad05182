"""Rows in which a client does something else than Kafka's Java member, which is the model's: they
inform, and decide no verdict.

A run is followed with all states of the model's member that fit (`member_states`). Where none fits
a request, that row differs: the request is taken as one that the member never sent, and the run is
followed further; from a JoinGroup on, everything fits again.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping

from attrs import Factory, define, frozen

from groupcheck.model.assignors import Partition
from groupcheck.model.protocol.classic.client import Client, Member
from groupcheck.model.protocol.codes import name_of
from groupcheck.oracles.conform.member.member_memory import BACKS_OFF
from groupcheck.oracles.judge.client.events import Delivered, Failed
from groupcheck.oracles.judge.client.events import Event as Said
from groupcheck.oracles.judge.client.knowledge import EVENTS_GRACE_S, known
from groupcheck.oracles.judge.client.member_states import MOST_STATES, States, rows_for
from groupcheck.oracles.judge.client.moves import OF_MEMBERS, Setting
from groupcheck.oracles.judge.client.record import (
    NOTHING,
    App,
    Asked,
    Closed,
    Ended,
    Moved,
    Record,
    Stopping,
    Told,
)

READ_S = 1.5  # an answer that was sent so long ago has been read
LATE_S = 3.0  # a poll that has something to send has come in this time
# In place of a request.
LEFT, CUT, SILENT = "the client is closed", "the connection is cut", "the coordinator is silent"

# The member's state, whether it owns partitions, what happens to it (a request, a cut ...), and
# the code of the answer.
Kind = tuple[str, bool, str, int]


@frozen
class Difference:
    """A row that differs."""

    at: float
    # What the member knows, and what it does.
    row: str
    # The same for all rows that seem to have one cause.
    root: str
    # What Kafka's member may do there.
    allowed: tuple[str, ...]
    got: str


@define(eq=False)
class FollowedRun:
    """What came of following a run."""

    differences: list[Difference] = Factory(list)
    # The kinds of rows that it came to, where all likely states agree which.
    kinds: set[Kind] = Factory(set)
    # Why it was followed no further; empty: to its end.
    reason: str = ""


def followed(record: Record, setting: Setting) -> FollowedRun:
    """Follows a run."""
    found = FollowedRun()
    if record.dropped:
        found.reason = "events were left out"
        return found
    partitions = sum(record.topics.values())
    run = _Run(States(rows_for(setting, partitions), record), found, record.topics)
    ends = (e.at for e in record.events if isinstance(e, App) and _is_fatal(e.said))
    # It closes then; its last requests may come before that event.
    closes = next(ends, math.inf) - EVENTS_GRACE_S
    for event, knowledge in known(record):
        if event.at > closes:
            run.states.stopping()
        run.share = knowledge.share or NOTHING
        run.see(event)
        if isinstance(event, Asked | Told | Closed):
            run.note_readable(event.at)
        if len(run.states.worlds) >= MOST_STATES:
            found.reason = "too many states fit"
            break
    return found


def _is_fatal(told: Said) -> bool:
    return isinstance(told, Failed) and told.fatal


class _Run:
    """One run, event by event."""

    def __init__(self, states: States, found: FollowedRun, topics: Mapping[str, int]) -> None:
        self.states, self.found = states, found
        self.share = NOTHING
        self._asked: dict[int, Asked] = {}
        self._finds: set[int] = set()
        # Since when which partitions could be read, as bits; records that may not be handed over
        # are told once a round.
        self._readable: deque[tuple[float, int]] = deque([(0.0, 0)])
        self._muted = False
        # The last request that was answered with an error, and the code.
        self._last = ""
        self._joined = False
        self._stopping = False
        # What the client was told of its topics.
        self._topics = dict(topics)
        # FindCoordinator was refused, of which the member's rows say nothing.
        self._elsewhere = False

    def see(self, event: object) -> None:
        match event:
            case Asked() if event.api in OF_MEMBERS:
                self._time(event.at)
                self._request(event)
            case Told() if event.number in self._asked:
                self._time(event.at)
                self._answer(event)
            case Told() if event.grows(self._topics):
                self._topics |= event.partitions
                self._time(event.at)
                self.states.may_join()
            case Asked(api="FindCoordinator"):
                self._finds.add(event.number)
            case Told() if event.number in self._finds:
                self._elsewhere = event.error not in BACKS_OFF and event.error != 0
                if event.error:
                    self.states.starts_anew(event.at)
            case Closed():
                self._time(event.at)
                if event.cut:
                    self._kind(CUT, 0)
                self.states.closed(event.connection)
                self.states.starts_anew(event.at)
            case Moved():
                self._time(event.at)
                if event.kind == "silence":
                    self._kind(SILENT, 0)
                self.states.starts_anew(event.at)
            case Stopping():
                self._time(event.at)
                self._kind(LEFT, 0)
                self._stopping = True
                self.states.stopping()
            case App(said=Delivered()):
                assert isinstance(event.said, Delivered)
                self.states.handed(event.said.partition, event.said.last)
                self._delivered(event.at, event.said.partition)
            case App(said=Failed(fatal=True)):
                self._fatal(event)
            case Ended():
                self._end(event)

    def _time(self, now: float) -> None:
        self.states.rest(now)
        ready = now - LATE_S if self._joined and not self._stopping else 0.0
        late = self.states.forget(now - READ_S, ready)
        if late:
            self.states.worlds = dict(late)
            wanted = self._allowed()
            self._differs(now, "sends nothing", "nothing", wanted)
            self.states.starts_anew(now)

    def _request(self, asked: Asked) -> None:
        self._joined = True
        self._muted = self._muted and asked.api != "JoinGroup"
        if self.states.asked(asked):
            self._asked[asked.number] = asked
            return
        self._differs(asked.at, f"sends {asked.api}", self._unlike(asked), self._allowed())
        if asked.api == "JoinGroup":
            self.states.joins_anyway(asked, self.share)
            self._asked[asked.number] = asked

    def _unlike(self, asked: Asked) -> str:
        """What is different about a request."""
        sent = self.states.next_requests().get(asked.api)
        why = self.states.unlike(sent, asked) if sent is not None else ""
        return f"{asked.api} with another {why}" if why else asked.api

    def _allowed(self) -> tuple[str, ...]:
        return tuple(sorted(self.states.next_requests())) or ("nothing",)

    def _answer(self, told: Told) -> None:
        asked = self._asked.pop(told.number)
        self._kind(asked.api, told.error)
        if told.error:
            self._last = f"{asked.api} was answered {name_of(told.error)}"
        elif asked.api == "SyncGroup":
            self._last = ""
        self.states.told(told)

    def _delivered(self, now: float, partition: Partition) -> None:
        """The application has got records: may it, or might it shortly before?"""
        mask, could = self.states.mask((partition,)), 0
        for at, readable in reversed(self._readable):
            could |= readable
            if at < now - EVENTS_GRACE_S or could & mask:
                break
        if could & mask or self._muted:
            return
        self._time(now)
        self.note_readable(now)
        if not self._readable[-1][1] & mask:
            self._muted = True
            self._differs(now, "hands over records", "records", ("no records",))

    def note_readable(self, now: float) -> None:
        self._readable.append((now, self.states.readable()))
        while len(self._readable) > 1 and self._readable[1][0] < now - EVENTS_GRACE_S:
            self._readable.popleft()

    def _fatal(self, event: App) -> None:
        """The application was told that all is over, and closes."""
        self._time(event.at)
        expected = self._stopping or any(world.ends for world in self.states.worlds)
        if not expected and not self._elsewhere:
            self._differs(event.at, "tells of a fatal error", "a fatal error", self._allowed())
        self.states.stopping()
        self._stopping = True

    def _end(self, ended: Ended) -> None:
        """Has it sent what it sends on close?"""
        self.states.rest(ended.at)
        worlds = self.states.worlds
        closed = [w for w in worlds if w.memory is None]
        if not self._stopping or ended.code is None or not closed:
            return
        if all(w.unseen for w in closed) and len(closed) == len(worlds):
            self._differs(ended.at, "ends", "nothing", self._allowed())

    def _kind(self, what: str, code: int) -> None:
        """Notes the kind of a row, if all likely states agree which it is."""
        kinds = {
            (str(c.state), bool(c.owned), what, code)
            for world in self.states.likely()
            for c in [world.memory.client if world.memory else Client()]
        }
        if len(kinds) == 1:
            self.found.kinds |= kinds

    def _differs(self, at: float, does: str, got: str, allowed: tuple[str, ...]) -> None:
        here = next((w.memory for w in self.states.likely() if w.memory is not None), None)
        state = "closed" if here is None else _state(here.client)
        after = f" ({self._last})" if self._last else ""
        could = " or ".join(allowed)
        self.found.differences.append(
            Difference(at, f"{state}{after}: it {does}", f"{got} in place of {could}", allowed, got)
        )


def _state(client: Client) -> str:
    """The member's state in words."""
    words = {
        Member.UNJOINED: "no member",
        Member.PREPARING: "joining",
        Member.COMPLETING: "waiting for its share",
        Member.STABLE: "told to join again" if client.rejoin else "member",
    }
    owns = "owns partitions" if client.owned else "owns nothing"
    return f"{words[client.state]}, {owns}"
