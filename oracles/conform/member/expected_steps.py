"""The actions that each rule of the group's model must take, by the member's rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import define, field, frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.client import Client, Member, Prepare
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    NO_ID,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)
from groupcheck.oracles.conform.member.member_memory import (
    Does,
    Failure,
    Input,
    Memory,
    Outcome,
)
from groupcheck.oracles.conform.member.model_rules import (
    CLOSE,
    LOSE_REQUEST,
    POLL_TIMEOUT,
    PROCESS_RECORD,
    REQUEST_TIMEOUT,
    SEND_COMMIT,
    SEND_HEARTBEAT,
    SEND_JOIN,
    SEND_SYNC,
)
from groupcheck.oracles.conform.member.rows import Rows

NEW = Link()


@frozen
class Standing:
    """The model's member between two steps, and the same member in the rows."""

    client: Client
    link: Link
    # The offset that the member was last told is committed; -1 without a position.
    known: int
    # None once the member has closed.
    memory: Memory | None
    # The memory in which it has closed; None before.
    closed: Memory | None = None

    @property
    def uncommitted(self) -> bool:
        """Has the member processed records that it was not told are committed?"""
        position = self.client.position
        return position >= 0 and position != self.known


@frozen
class Expectation:
    """An outcome that a rule must have."""

    # Rule and outcome, as the spec names it.
    name: str
    # The connection afterwards, before anybody handles its request.
    link: Link
    # The member afterwards, in the rows; None if its process ends.
    memory: Memory | None
    # The row that tells so.
    given: Input
    # The member afterwards, where the rows do not tell: its process ends.
    client: Client | None = None
    # The faults that it spends.
    spends: tuple[str, ...] = ()
    # Does the group go on from here? False where the rows' member is ahead of the model's.
    goes_on: bool = True


@frozen
class Effect:
    """An outcome of a rule."""

    name: str
    client: Client
    link: Link
    offsets: Offsets
    budget: Budget


@define
class ExpectedSteps:
    """The outcomes that the rules of the group's model must have, for any standing."""

    rows: Rows
    _offered: dict[Memory, frozenset[Input]] = field(factory=dict)

    def of(self, rule: str, at: Standing) -> list[Expectation]:
        """The outcomes that the rule must have; none if it must not fire."""
        found: dict[str, Callable[[Standing, Memory], Iterator[Expectation]]] = {
            SEND_JOIN: self._send_join,
            SEND_SYNC: self._send_sync,
            SEND_COMMIT: self._send_commit,
            SEND_HEARTBEAT: self._send_heartbeat,
            REQUEST_TIMEOUT: self._request_timeout,
            PROCESS_RECORD: self._process,
            CLOSE: self._close,
            POLL_TIMEOUT: self._poll_timeout,
            LOSE_REQUEST: self._lose_sync,
            "lose_response": self._lose_response,
            "disconnect": self._disconnect,
            "delay_request": self._delay_request,
            "late_commit": self._late_commit,
        }
        if rule == "crash":
            return list(self._crash(at))
        if at.memory is None:  # only its connection is left
            return list(self._after_the_end(rule, at))
        return list(found[rule](at, at.memory))

    def row(self, m: Memory, given: Input) -> Outcome | None:
        """The row of this input; None if there is none, or if it is without an outcome."""
        if m not in self._offered:
            self._offered[m] = frozenset(self.rows.inputs(m))
        if given not in self._offered[m]:
            return None
        return next(iter(self.rows.outcomes(m, given)), None)

    def settled(self, m: Memory | None) -> Memory | None:
        """The member after the polls in which it only notices that a request has failed, or finds
        its coordinator again. (The abstractions `back-off` and `coordinator lookup`.) In a poll in
        which it loses partitions it does more: the group's member loses them when it joins.
        """
        return self._noticed(m, loses=False)

    def _noticed(self, m: Memory | None, loses: bool) -> Memory | None:
        while m is not None and _notices(m):
            polled = self.row(m, Input(Does.POLL))
            if polled is None or polled.sent or polled.installed or polled.after == m:
                break
            if polled.gave_up is not None and m.client.owned and not loses:
                break
            m = polled.after
        return m

    # -- what the poll thread sends

    def _joins(self, at: Standing, m: Memory) -> tuple[Request, Memory] | None:
        """The request that the next poll sends to join, and the member afterwards."""
        begins = self.before_joining(at, m)
        polled = self.row(begins, Input(Does.POLL)) if begins else None
        if polled is None or polled.after is None or not polled.sent:
            return None
        if not isinstance(polled.sent[0], JoinGroup | OffsetCommit):
            return None
        return polled.sent[0], polled.after

    def before_joining(self, at: Standing, m: Memory) -> Memory | None:
        """The member whose next poll joins; None if it does not. Kafka's member commits every
        position first; the model's only what is not committed. So a member that has nothing new to
        commit is compared after that commit was accepted. (`commits every position`)
        """
        m = self._noticed(m, loses=True) or m
        polled = self.row(m, Input(Does.POLL))
        if polled is None or not polled.sent or polled.installed or not at.link.idle:
            return None
        commits = isinstance(polled.sent[0], OffsetCommit)
        return self._committed(polled) if commits and not at.uncommitted else m

    def joins(self, polled: Outcome, uncommitted: bool) -> Outcome | None:
        """The poll in which the member joins, for a group's member that commits what is uncommitted
        and nothing else.
        """
        if uncommitted or not isinstance(polled.sent[0], OffsetCommit):
            return polled
        ready = self._committed(polled)
        return self.row(ready, Input(Does.POLL)) if ready else None

    def _committed(self, polled: Outcome) -> Memory | None:
        """The member whose commit before JoinGroup was accepted."""
        assert polled.after is not None
        told = self.row(polled.after, Input())
        return told.after if told else None

    def _send_join(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        if joins := self._joins(at, m):
            request, after = joins
            first = isinstance(request, OffsetCommit)
            name = f"{SEND_JOIN}:committed_first" if first else f"{SEND_JOIN}:sent"
            yield Expectation(name, Link(request=request), after, Input(Does.POLL))

    def _send_sync(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        if sent := self._sent(m, Input(Does.SEND), SyncGroup):
            yield Expectation(SEND_SYNC, _behind(at.link, sent[0]), sent[1], Input(Does.SEND))

    def _commits(self, at: Standing, m: Memory) -> tuple[Request, Memory] | None:
        """The commit that the application sends, if there is something new to commit. While the
        member waits for its commit before JoinGroup, Kafka's may send another one; the model's does
        not.
        """
        if not at.link.idle or not at.uncommitted or m.client.prepare == Prepare.COMMITTED:
            return None
        return self._sent(m, Input(Does.COMMIT), OffsetCommit)

    def _send_commit(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        if sent := self._commits(at, m):
            yield Expectation(SEND_COMMIT, Link(request=sent[0]), sent[1], Input(Does.COMMIT))

    def _send_heartbeat(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        """Left out are heartbeats while something else is under way, before SyncGroup is sent, and
        once the member was told to join again. (`heartbeats that change nothing`)
        """
        told = m.client.state == Member.STABLE and m.client.rejoin
        if not at.link.idle or told or m.client.prepare == Prepare.SYNC:
            return
        if sent := self._sent(m, Input(Does.BEAT), Heartbeat):
            yield Expectation(SEND_HEARTBEAT, Link(request=sent[0]), sent[1], Input(Does.BEAT))

    def _sent(self, m: Memory, given: Input, kind: type[Request]) -> tuple[Request, Memory] | None:
        """The request of this kind that the row sends last, and the member afterwards."""
        done = self.row(m, given)
        if done is None or done.after is None or not done.sent:
            return None
        return (done.sent[-1], done.after) if isinstance(done.sent[-1], kind) else None

    def _process(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        done = self.row(m, Input(Does.PROCESS))
        if done is not None:
            yield Expectation(PROCESS_RECORD, at.link, done.after, Input(Does.PROCESS))

    # -- connections that break, and processes that end

    def _broken(self, m: Memory) -> Memory | None:
        done = self.row(m, Input(Does.BREAK))
        return self.settled(done.after) if done else None

    def _request_timeout(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        if at.link.parked and at.link.orphaned:
            yield Expectation(REQUEST_TIMEOUT, NEW, self._broken(m), Input(Does.BREAK))

    def _disconnect(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        if at.link.parked:
            after = self._broken(m)
            yield Expectation("disconnect", NEW, after, Input(Does.BREAK), None, ("disconnect",))

    def _crash(self, at: Standing) -> Iterator[Expectation]:
        if at.client != Client():
            yield Expectation("crash", NEW, None, Input(Does.CLOSE), Client(), ("crash",))

    def _after_the_end(self, rule: str, at: Standing) -> Iterator[Expectation]:
        """A process that has closed and whose requests are under way does nothing more."""
        given, link = Input(Does.CLOSE), at.link
        if rule == REQUEST_TIMEOUT and link.parked and link.orphaned:
            yield Expectation(rule, NEW, None, given, at.client)
        if rule == "disconnect" and link.parked:
            yield Expectation(rule, NEW, None, given, at.client, (rule,))
        if rule == "lose_response" and link.queue and link.parked is None:
            yield Expectation(rule, NEW, None, given, at.client, (rule,))

    def _close(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        """Left out are a member that sends nothing because it has no id, which is a crash, and one
        that has something else to send first.
        """
        given, link, c = Input(Does.CLOSE), at.link, m.client
        unread = link.queue and link.parked is None
        if c.id == NO_ID or c.prepare == Prepare.SYNC or unread:
            return
        leave = self._leave(m)
        if self.rows.scope.static_count:
            yield Expectation(f"{CLOSE}:silent", NEW, None, given, Client(), (CLOSE,))
            return
        if leave is None:
            yield Expectation(f"{CLOSE}:unheard", NEW, None, given, Client(), (CLOSE,))
            return
        lost = (CLOSE, LOSE_REQUEST) if link.idle else (CLOSE,)
        yield Expectation(f"{CLOSE}:unheard", NEW, None, given, Client(), lost)
        if link.idle:
            heard = Link(request=leave, live=False)
            yield Expectation(f"{CLOSE}:heard", heard, None, given, Client(), (CLOSE,))
        else:
            waits = _behind(link, leave)
            closing = Client(closing=True)
            yield Expectation(f"{CLOSE}:behind", waits, None, given, closing, (CLOSE,))

    def _leave(self, m: Memory) -> Request | None:
        """The LeaveGroup of a member that closes."""
        done = self.row(m, Input(Does.CLOSE))
        return next((r for r in done.sent if isinstance(r, LeaveGroup)), None) if done else None

    def _poll_timeout(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        given = Input(Does.NO_POLL)
        silent = self.row(m, given) if self.rows.scope.static_count else None
        if silent and f"{POLL_TIMEOUT}:silent" in silent.rules and m.client.prepare != Prepare.SYNC:
            name, spends = f"{POLL_TIMEOUT}:silent", (POLL_TIMEOUT,)
            yield Expectation(name, at.link, silent.after, given, None, spends)
            return
        sent = self._sent(m, given, LeaveGroup)
        if sent and m.client.prepare != Prepare.SYNC:
            link = _behind(at.link, sent[0])
            yield Expectation(f"{POLL_TIMEOUT}:heard", link, sent[1], given, None, (POLL_TIMEOUT,))
        given = Input(Does.BREAK_LEAVING)
        if sent := self._sent(m, given, LeaveGroup):
            after, both = self.settled(sent[1]), (POLL_TIMEOUT, LOSE_REQUEST)
            yield Expectation(f"{POLL_TIMEOUT}:unheard", NEW, after, given, None, both)

    def _lose_sync(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        given = Input(Does.BREAK_POLL)
        lost = self.row(m, given)
        if at.link.parked is None and lost and isinstance(lost.sent[0], SyncGroup):
            after = self.settled(lost.after)
            yield Expectation(f"{LOSE_REQUEST}:sync", NEW, after, given, None, (LOSE_REQUEST,))

    def _lost(self, at: Standing, m: Memory) -> Iterator[tuple[Request, Memory | None, Input]]:
        """The requests that the member may send next, and the member whose connection breaks under
        it.
        """
        if joins := self._joins(at, m):
            request, now = joins[0], m
            if isinstance(request, JoinGroup):
                polled = self.row(m, Input(Does.POLL))
                if polled and isinstance(polled.sent[0], OffsetCommit):
                    now = self._committed(polled) or m
            given = Input(Does.BREAK_POLL)
            if lost := self.row(now, given):
                yield request, self.settled(lost.after), given
        if m.client.prepare == Prepare.SYNC:
            given = Input(Does.BREAK_POLL)
            if lost := self.row(m, given):
                yield lost.sent[0], self.settled(lost.after), given
        if commits := self._commits(at, m):
            given = Input(Does.BREAK_COMMIT)
            if lost := self.row(m, given):
                yield commits[0], self.settled(lost.after), given

    def _lose_response(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        spends = ("lose_response",)
        if not at.link.idle:
            if at.link.parked is None:
                after = self._broken(m)
                yield Expectation("lose_response", NEW, after, Input(Does.BREAK), None, spends)
            return
        for request, after, given in self._lost(at, m):
            link = Link(request=request, live=False)
            yield Expectation("lose_response", link, after, given, None, spends)

    def _delay_request(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        if not at.link.idle:
            return
        spends: tuple[str, ...] = ("delay_request",)
        for request, after, given in self._lost(at, m):
            yield Expectation("delay_request", Link(late=request), after, given, None, spends)
        leave = self._leave(m)
        if leave and m.client.prepare != Prepare.SYNC:
            spends, given = ("delay_request", CLOSE), Input(Does.CLOSE)
            yield Expectation("delay_request", Link(late=leave), None, given, Client(), spends)

    def _late_commit(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        """Kafka's member commits first and joins then. Here it joins first, with the same two
        requests.
        """
        joins, commits = self._joins(at, m), self._commits(at, m)
        if joins is None or commits is None or m.client.prepare != Prepare.NEEDED:
            return
        request, after = joins
        if isinstance(request, OffsetCommit):
            ready = self.row(after, Input())
            joins = self._joins(at, ready.after) if ready and ready.after else None
            if joins is None:
                return
            request, after = joins
        link = Link(request=request, queue=(commits[0],))
        spends = ("late_commit",)
        yield Expectation("late_commit", link, after, Input(Does.POLL), None, spends, goes_on=False)


def _notices(m: Memory) -> bool:
    """Has the next poll something to notice before it does anything?"""
    return not m.client.failed and (not m.known or m.failed != Failure.NOTHING)


def _behind(link: Link, request: Request) -> Link:
    """The connection on which the request was sent."""
    if link.parked is None and not link.queue:
        return Link(request=request)
    return evolve(link, queue=(*link.queue, request))
