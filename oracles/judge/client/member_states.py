"""The states of the model's member that fit what a client was seen to do: the follower with its
sides swapped.

We answer, cut and are silent; the client polls, beats, commits, joins and leaves when it likes. A
state is a memory of the member's rows (`conform/member`) with what is on its way between the two:
requests that the model's member has sent and that have not arrived, and answers that it may not
have read. Between two events of the wire the member may do whatever the wire does not show: read
an answer, poll without sending anything, learn where to read, give up a silent coordinator.

Rows have positions of one watched partition. Here that stands for all that the client owns: it has
a position as soon as it owns something and was given time to fetch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.assignors import Partition, Partitions
from groupcheck.model.protocol import messages
from groupcheck.model.protocol.classic.client import Client, Member, Prepare
from groupcheck.model.protocol.codes import MEMBER_ID_REQUIRED
from groupcheck.model.protocol.messages import NO_GENERATION, NO_ID, Request
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.member_memory import (
    Does,
    Input,
    Memory,
    Outcome,
    RequestInFlight,
)
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.judge.client.moves import Setting
from groupcheck.oracles.judge.client.record import Asked, Record, Told
from groupcheck.oracles.judge.following.states import follow

MOST_GENERATIONS = 1_000
MOST_STATES = 300  # that are kept at once; beyond, the run is followed no further
SENDS = (Does.POLL, Does.SEND, Does.BEAT, Does.COMMIT, Does.NO_ANSWER)
SILENT = 0.7  # of a session: no answer to a heartbeat for so long may count as none


@frozen
class UnreadAnswer:
    """An answer that the client may not have read."""

    number: int
    at: float
    given: Input


@frozen
class Leaving:
    """A request that the model's member has sent, and what it owned then."""

    request: Request
    owned: int


@frozen(cache_hash=True)
class World:
    """The member, and what is on its way."""

    # None: it is closed.
    memory: Memory | None
    # The requests of `memory.flight` that have arrived, by their numbers on the wire.
    numbers: tuple[int, ...] = ()
    # Those that have not, in order.
    unseen: tuple[Leaving, ...] = ()
    answers: tuple[UnreadAnswer, ...] = ()
    # Its application was told an error that ends it.
    ends: bool = False


@cache
def rows_for(setting: Setting, partitions: int) -> Rows:
    """The rows of the member in that setting."""
    variant = "static_membership" if setting.static else "classic"
    if setting.assignor == "cooperative":
        variant = "cooperative"
    settings = {"partitions": str(partitions), "autocommit": "yes"}
    return rows_of(variant, MOST_GENERATIONS, None, settings)[0]


class States:
    """Every world that fits, each with since when its next poll would send something."""

    def __init__(self, rows: Rows, record: Record) -> None:
        self._rows = rows
        self._session_s = record.session_ms / 1000
        self._every = [(t, n) for t, many in sorted(record.topics.items()) for n in range(many)]
        self._ids: dict[str, int] = {"": NO_ID}
        self._asked: dict[int, Asked] = {}
        self._known: dict[tuple[Memory, Input], tuple[Outcome, ...]] = {}
        self._may_close = False
        self.worlds: dict[World, float | None] = {World(rows.start()): None}

    # -- names and numbers

    def id(self, name: str) -> int:
        """The model's number of an id."""
        return self._ids.setdefault(name, len(self._ids) - 1)

    def mask(self, partitions: Iterable[Any]) -> int:
        """Partitions as bits."""
        return sum(1 << self._every.index(p) for p in set(partitions) if p in self._every)

    def _outcomes(self, m: Memory, given: Input) -> tuple[Outcome, ...]:
        """What the member may do; each is asked many times in a run."""
        if (m, given) not in self._known:
            self._known[m, given] = self._rows.outcomes(m, given)
        return self._known[m, given]

    # -- what the wire does not show

    def rest(self, now: float) -> None:
        """Everything that may have happened meanwhile."""
        found = dict(self.worlds)
        todo = [*found.items()]
        while todo and len(found) < MOST_STATES:
            world, since = todo.pop()
            for after in self._hidden(world, now):
                if after not in found:
                    found[after] = since
                    todo.append((after, since))
        self.worlds = {
            world: (now if since is None else since) if self.must_send(world) else None
            for world, since in found.items()
        }

    def _hidden(self, world: World, now: float) -> Iterator[World]:
        m = world.memory
        if m is None:
            return
        if world.answers:
            answered = self._first(world, world.answers[0].number)
            assert answered.memory is not None
            for done in self._outcomes(answered.memory, world.answers[0].given):
                yield from self._went(answered, done, read=True)
        for done in self._outcomes(m, Input(Does.POLL)):
            if not done.sent:
                yield from self._went(world, done)
        c = m.client
        if c.owned and c.position < 0 and not c.failed:
            yield evolve(world, memory=evolve(m, client=evolve(c, position=0)))
        oldest = self._asked[world.numbers[0]] if world.numbers and not world.answers else None
        silent = oldest is not None and now - oldest.at > SILENT * self._session_s
        if silent and m.known and m.waits_for(messages.Heartbeat) and c.prepare != Prepare.SYNC:
            for done in self._outcomes(m, Input(Does.SILENCE)):
                yield from self._went(world, done)

    def _first(self, world: World, number: int) -> World:
        """The same world, in which that request is the oldest one in flight. Answers come in the
        order of their requests on one connection; a client may have several.
        """
        at, m = world.numbers.index(number), world.memory
        if not at or m is None:
            return world
        flight = (m.flight[at], *m.flight[:at], *m.flight[at + 1 :])
        numbers = (number, *world.numbers[:at], *world.numbers[at + 1 :])
        return evolve(world, memory=evolve(m, flight=flight), numbers=numbers)

    def _went(self, world: World, done: Outcome, read: bool = False) -> Iterator[World]:
        """The world behind a step of the member."""
        m, after = world.memory, done.after
        assert m is not None
        ends = world.ends or bool(done.thrown)
        sent = tuple(Leaving(request, m.client.owned) for request in done.sent)
        if after is None:
            yield World(None, unseen=(*world.unseen, *sent), ends=ends)
        elif m.flight and not after.flight and not sent and not read:  # its connection is given up
            yield World(after, ends=ends)
        else:
            numbers = world.numbers[1:] if read else world.numbers
            answers = world.answers[1:] if read else world.answers
            unseen = (*world.unseen, *sent)
            if read and not after.flight:
                numbers, answers, unseen = (), (), sent
            yield World(after, numbers, unseen, answers, ends)

    def must_send(self, world: World) -> bool:
        """Does its next poll send something?"""
        m = world.memory
        if m is None or world.unseen or world.ends:
            return False
        return any(done.sent for done in self._outcomes(m, Input(Does.POLL)))

    # -- what the wire shows

    def _sends(self, world: World) -> Iterator[World]:
        """What the member may do next that sends something, whatever it is."""
        m = world.memory
        if m is None:
            return
        for does in SENDS:
            if does != Does.POLL and (not m.known or m.client.failed):
                continue
            if does == Does.SEND and m.client.prepare != Prepare.SYNC:
                continue
            if does == Does.NO_ANSWER and not m.committing_first:
                continue
            for done in self._outcomes(m, Input(does)):
                if done.sent:
                    yield from self._went(world, done)
        if self._may_close or world.ends:
            for known in {m.known, True}:
                closing = evolve(m, known=known)
                for done in self._outcomes(closing, Input(Does.CLOSE)):
                    yield from self._went(evolve(world, memory=closing), done)

    def asked(self, asked: Asked) -> bool:
        """The client has sent a request; does a world fit? If none does, nothing changes."""
        ways = {
            way: since
            for world, since in self.worlds.items()
            for way in ([world] if world.unseen else self._sends(world))
        }
        fitting = follow(ways, asked, self._arrives)
        if fitting.states:
            self._asked[asked.number] = asked
            # A heartbeat or a commit leaves undone what the next poll has to send.
            beside = asked.api in ("Heartbeat", "OffsetCommit")
            self.worlds = {w: ways[way] if beside else None for way, w in fitting.reached}
        return bool(fitting.states)

    def _arrives(self, world: World, asked: Asked) -> World | None:
        """The world in which this request has arrived; None if it is not the next one."""
        m = world.memory
        if m is None and asked.api in ("Heartbeat", "OffsetCommit"):
            # While it closes its other thread may beat, and a commit is tried again.
            mine = world.unseen and type(world.unseen[0].request).__name__ == asked.api
            return evolve(world, unseen=world.unseen[1:]) if mine else world
        if not world.unseen or self.unlike(world.unseen[0], asked):
            return None
        numbers = () if m is None else (*world.numbers, asked.number)
        return evolve(world, numbers=numbers, unseen=world.unseen[1:])

    def unlike(self, sent: Leaving, asked: Asked) -> str:
        """How a request differs from what the model's member sends; empty: it does not."""
        request = sent.request
        if type(request).__name__ != asked.api:
            return "request"
        if isinstance(request, messages.LeaveGroup):
            names = asked.members or (asked.member,)
            return "" if request.id in map(self.id, names) else "member id"
        if self.id(asked.member) != getattr(request, "id", NO_ID):
            return "member id"
        if getattr(request, "generation", asked.generation) != asked.generation:
            return "" if isinstance(request, messages.JoinGroup) else "generation"
        if isinstance(request, messages.OffsetCommit) and self.mask(asked.offsets) & ~sent.owned:
            return "partitions"
        if isinstance(request, messages.JoinGroup) and self._rows.scope.cooperative:
            owned = {self.mask(p.owned) for p in asked.protocols}
            return "" if owned == {request.owned} else "owned partitions"
        return ""

    def told(self, told: Told) -> None:
        """The client was answered; it reads that when it likes."""
        asked = self._asked.get(told.number)
        if asked is None:
            return
        answer = UnreadAnswer(told.number, told.at, self._given(asked, told))
        self.worlds = {
            (
                evolve(world, answers=(*world.answers, answer))
                if told.number in world.numbers
                else world
            ): since
            for world, since in self.worlds.items()
        }

    def _given(self, asked: Asked, told: Told) -> Input:
        if asked.api == "JoinGroup" and told.error in (0, MEMBER_ID_REQUIRED):
            generation = NO_GENERATION if told.error else told.generation
            id = self.id(told.member)
            return Input(code=told.error, id=id, generation=generation, leads=bool(told.seats))
        if asked.api == "SyncGroup" and not told.error:
            return Input(share=self.mask(told.share))
        return Input(code=told.error)

    def closed(self, connection: int) -> None:
        """A connection of the client has ended, under whatever it had sent or was sending."""
        found = dict[World, float | None]()
        for world, since in self.worlds.items():
            under = [n for n in world.numbers if self._asked[n].connection == connection]
            for one in (world, *self._sends(world)):
                m = one.memory
                if m is None:
                    found[World(None, ends=one.ends)] = None
                    continue
                if one.unseen or under:
                    for done in self._outcomes(m, Input(Does.BREAK)):
                        assert done.after is not None
                        found[World(done.after, ends=one.ends)] = since
                if not under:
                    found[world] = since
                    if not world.numbers:
                        found[evolve(world, memory=evolve(m, known=False))] = since
        self.worlds = found

    def stopping(self) -> None:
        """The client was asked to close."""
        self._may_close = True

    def may_join(self) -> None:
        """Its topics have changed: it may join again, if it leads."""
        for world, since in [*self.worlds.items()]:
            m = world.memory
            if m is not None and m.client.state == Member.STABLE:
                joins = evolve(m, client=evolve(m.client, rejoin=True))
                self.worlds.setdefault(evolve(world, memory=joins), since)

    # -- time

    def forget(self, answered: float, ready: float) -> Mapping[World, float | None]:
        """Gives up worlds that have not read what was answered before `answered`, or have had
        something to send since before `ready`. The latter, if there are no others.
        """
        read = {
            world: since
            for world, since in self.worlds.items()
            if not world.answers or world.answers[0].at >= answered
        }
        late = {w: since for w, since in read.items() if since is not None and since < ready}
        self.worlds = {world: since for world, since in read.items() if world not in late}
        return {} if self.worlds else late

    def starts_anew(self, now: float) -> None:
        """What is ready to be sent may wait from now on."""
        self.worlds = {w: None if since is None else now for w, since in self.worlds.items()}

    def joins_anyway(self, asked: Asked, share: Partitions) -> None:
        """From a JoinGroup that no world explains on, the client is taken to have a round begun."""
        owned = self.mask(p for listed in asked.protocols for p in listed.owned)
        id, worlds = self.id(asked.member), dict[World, float | None]()
        self._asked[asked.number] = asked
        for owns in {owned, self.mask(share) if self._rows.scope.cooperative else owned}:
            client = Client(Member.PREPARING, id=id, prepare=Prepare.DONE, owned=owns)
            request = messages.JoinGroup(id, owned=owns)
            worlds[
                World(Memory(client, (RequestInFlight(request),), known=True), (asked.number,))
            ] = None
        self.worlds = worlds

    def likely(self) -> list[World]:
        """Those that have read most of what was answered, and polled since."""
        unread = min((len(world.answers) for world in self.worlds), default=0)
        read = [world for world in self.worlds if len(world.answers) == unread]
        return [world for world in read if self._polled(world)] or read

    def _polled(self, world: World) -> bool:
        """Does another poll change nothing by itself?"""
        m = world.memory
        done = () if m is None else self._outcomes(m, Input(Does.POLL))
        return all(one.sent or one.after == m for one in done)

    def handed(self, partition: Partition, last: int) -> None:
        """Its application has got records. Worlds in which it may not, because they lie behind the
        commit before JoinGroup and that is under way, are given up, if there are others.
        """
        fitting = {w: s for w, s in self.worlds.items() if not self._paused(w, partition, last)}
        self.worlds = fitting or self.worlds

    def _paused(self, world: World, partition: Partition, last: int) -> bool:
        m = world.memory
        if m is None or self._rows.may_process(m):
            return False
        return any(
            sent.awaited and self._asked[number].offsets.get(partition, last + 1) <= last
            for sent, number in zip(m.flight, world.numbers, strict=False)
        )

    def readable(self) -> int:
        """The partitions of which its application may get records, in any world, as bits."""
        found = 0
        for world in self.worlds:
            m = world.memory
            if m is not None and m.client.owned:
                reads = evolve(m, client=evolve(m.client, position=0))
                found |= m.client.owned if self._rows.may_process(reads) else 0
        return found

    # -- for words

    def next_requests(self) -> dict[str, Leaving]:
        """What the member may send next, by the name of the request."""
        found = dict[str, Leaving]()
        for world in self.worlds:
            for way in [world] if world.unseen else self._sends(world):
                if way.unseen:
                    found.setdefault(type(way.unseen[0].request).__name__, way.unseen[0])
        return found
