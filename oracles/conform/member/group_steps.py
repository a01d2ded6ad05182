"""The member's steps in the group's model, compared with the member's rows.

The rows leave out what only the group's model has: one connection whose requests wait behind each
other, what was processed and is not committed, faults that spend a budget. Here the model's own
rules run with all of that, beside an environment that may answer, park or forget each request. The
rows are executed on Kafka's member; `expected_steps` says what each rule must do by them. A rule
that fires without a row is a difference; so is a row whose rule cannot fire.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from functools import reduce
from typing import Any, ClassVar

import attrs
from attrs import define, field, frozen

from groupcheck.model.engine import evolve
from groupcheck.model.engine.step import Semantics
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults as faults
from groupcheck.model.protocol.classic.client import NOTHING, Client, Member, Prepare
from groupcheck.model.protocol.classic.offsets import Offsets
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.faults import Budget
from groupcheck.model.protocol.link import Link, park, reply
from groupcheck.model.protocol.messages import (
    Answer,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    Store,
    SyncGroup,
)
from groupcheck.oracles.conform.member.expected_steps import (
    Effect,
    Expectation,
    ExpectedSteps,
    Standing,
)
from groupcheck.oracles.conform.member.member_memory import LOST, Does, Input, Memory
from groupcheck.oracles.conform.member.model_rules import (
    CLOSE,
    FETCH_OFFSET,
    LOSE_REQUEST,
    POLL_TIMEOUT,
    PROCESS_RECORD,
    SEND_COMMIT,
    SEND_HEARTBEAT,
    SEND_SYNC,
)
from groupcheck.oracles.conform.member.rows import ANSWERED_BY, Rows

MOST_STATES = 100_000  # of a healthy member at the default scope: 602
POLL = Input(Does.POLL)
LATE = LeaveGroup(99)  # a request of an earlier connection, which no step may touch
# The rules that are compared one by one. Those of the poll thread do nothing once the application
# has stopped; the others are compared only while it goes on, and the member knows its coordinator.
STOPPED = (members.send_join.name, faults.close.name, faults.crash.name)
LOOKS = (members.send_join.name, faults.crash.name)
RULES = (
    *(r.name for r in members.POLL_RULES if r is not members.join_complete),
    *(r.name for r in faults.FAULT_RULES),
    PROCESS_RECORD,
)
ASSIGNED = f"{members.sync_answer.name}:assigned"
NEW = Link()
LOSES_COMMIT = f"{LOSE_REQUEST}:commit"
FAULTS = frozenset(r.name for r in faults.FAULT_RULES)


@frozen
class Misfit:
    """A step that the group's model and the rows tell differently."""

    # The rows' memory before the step, and the input that is nearest to it.
    memory: Memory
    given: Input
    what: str


@define
class GroupSteps:
    """All steps of the model's member at the scope of some rows."""

    # The rows that say what each step must do, without those of the application.
    told_by: ClassVar[type[Rows]] = Rows
    counterparts: ClassVar[type[ExpectedSteps]] = ExpectedSteps

    rows: Rows
    # The memories from which rows were executed; None: they are not looked at.
    executed: Container[Memory] | None = None
    states: int = 0
    steps: int = 0
    _see: Semantics = field(init=False)
    _in_one_step: Semantics = field(init=False)
    _rules: dict[str, Any] = field(init=False)
    _counterparts: ExpectedSteps = field(init=False)
    # Of the standing that is compared now: its memory, and the last one before the member closed.
    _memory: Memory = field(init=False)

    def __attrs_post_init__(self) -> None:
        scope = attrs.evolve(self.rows.spec.scope, atomic_complete=True)
        self._in_one_step = Semantics(attrs.evolve(self.rows.spec, scope=scope))
        self._see = Semantics(self.rows.spec)
        self._rules = {r.name: r for r in self.rows.spec.rules if "client" in r.slots}
        self._counterparts = self.counterparts(self.told_by(self.rows.spec.scope, self.rows.spec))
        self._memory = self.rows.start()

    def run(self, most: int) -> list[Misfit]:
        """The first misfits of all steps, breadth first; `most`: 0 for all."""
        start = Standing(Client(), Link(), -1, self.rows.start())
        todo, seen, found = [start], {start}, list[Misfit]()
        for at in todo:
            self.states += 1
            if self.states == MOST_STATES:
                return [*found, self._misfit(f"{MOST_STATES:,} states and no end", POLL)]
            self._memory = at.memory or at.closed or self._memory
            for after in self._steps(at):
                if isinstance(after, Misfit):
                    found.append(after)
                    if len(found) == most:
                        return found
                elif after not in seen:
                    seen.add(after)
                    todo.append(after)
        return found

    # -- from one standing

    def _steps(self, at: Standing) -> Iterator[Standing | Misfit]:
        c, m = at.client, at.memory
        rules = RULES
        if c.failed:
            rules = STOPPED
        elif m is not None and not m.known:
            rules = LOOKS
        for rule in rules:
            yield from self._compared(rule, at)
        if m is not None and not c.failed:
            yield from self._completes(at, m)
            if m.known:
                yield from self._loses_commit(at, m)
                yield from self._fetches(at, m)
        if m is None or not c.failed:
            yield from self._environment(at)

    def _compared(self, rule: str, at: Standing) -> Iterator[Standing | Misfit]:
        """The outcomes of a rule, each with the one that it must have."""
        fired = self._polls(rule, at)
        allows = self.rows.scope.budget.allows  # a variant may lack faults
        wanted = [w for w in self._counterparts.of(rule, at) if all(map(allows, w.spends))]
        for done in fired:
            if done.name == LOSES_COMMIT:
                continue  # `_loses_commit`
            if done.name == PROCESS_RECORD and at.memory and at.memory.paused:
                continue  # the abstraction `paused partitions`
            match = next((w for w in wanted if self._fits(at, w, done)), None)
            if match is None or not self._counts(at, done):
                yield self._misfit(f"{_shown(done)} has no row", self._near(rule))
                continue
            wanted.remove(match)
            yield from self._after(at, done, match)
        for left in wanted:
            yield self._misfit(f"{left.name} never fires, with {left.link}", left.given)

    def _fits(self, at: Standing, wanted: Expectation, done: Effect) -> bool:
        spent = reduce(Budget.spend, wanted.spends, self.rows.scope.budget)
        said = (wanted.name, wanted.link, spent)
        client = wanted.client is None or wanted.client == done.client
        return said == (done.name, done.link, done.budget) and client

    def _counts(self, at: Standing, done: Effect) -> bool:
        """Is what was processed by any member the most that one of them has processed?"""
        if done.name != PROCESS_RECORD:
            return True
        mine, last = self._rules[done.name], at.client.position + 1
        for before in range(last + 2):
            offsets = evolve(self._offsets(), processed=before)
            fired = self._call(mine, at.client, at.link, offsets, self.rows.scope.budget)
            counted = evolve(offsets, processed=max(before, last))
            if [d.offsets for d in fired] != [counted]:
                return False
        return True

    def _after(self, at: Standing, done: Effect, want: Expectation) -> Iterator[Standing | Misfit]:
        if not want.goes_on:
            assert want.memory is not None
            yield from self._same(done.client, want.memory, want.given)
            return
        known = done.offsets.committed if done.name == FETCH_OFFSET else at.known
        yield from self._rests(done.client, done.link, known, want.memory, want.given)

    def _near(self, rule: str) -> Input:
        """The input that is nearest to a rule, to show the real member beside it."""
        nearest = {
            SEND_SYNC: Does.SEND,
            SEND_COMMIT: Does.COMMIT,
            SEND_HEARTBEAT: Does.BEAT,
            PROCESS_RECORD: Does.PROCESS,
            CLOSE: Does.CLOSE,
            POLL_TIMEOUT: Does.NO_POLL,
        }
        given = Input(nearest.get(rule, Does.POLL))
        return given if self._counterparts.row(self._memory, given) else Input(Does.POLL)

    def _misfit(self, what: str, given: Input) -> Misfit:
        return Misfit(self._memory, given, what)

    # -- steps that are compared together with the next one

    def _completes(self, at: Standing, m: Memory) -> Iterator[Standing | Misfit]:
        """onJoinComplete. Kafka's member joins in the same poll if it was told to meanwhile."""
        given = Input(Does.POLL)
        polled = self._counterparts.row(m, given)
        fired = self._polls(members.join_complete.name, at)
        if not (polled and polled.installed):
            if fired:
                yield self._misfit(f"{_shown(fired[0])} has no row", given)
            return
        if len(fired) != 1:
            yield self._misfit("join_complete never fires", given)
            return
        (done,) = fired
        if polled.sent:
            told = Standing(done.client, done.link, at.known, None)
            joined = self._polls(members.send_join.name, told)
            polled = self._counterparts.joins(polled, told.uncommitted)
            sent = polled and polled.sent and Link(request=polled.sent[0])
            if polled is None or len(joined) != 1 or joined[0].link != sent:
                yield self._misfit("a member that was told to rejoin does not join", given)
                return
            (done,) = joined
        yield from self._rests(done.client, done.link, at.known, polled.after, given)

    def _loses_commit(self, at: Standing, m: Memory) -> Iterator[Standing | Misfit]:
        """The commit before JoinGroup is lost: Kafka's member joins once its time is over. In the
        rows that commit is in flight for ever, so the steps do not go on from there.
        """
        given = Input(Does.NO_ANSWER)
        row = self._counterparts.row(m, given)
        fired = [f for f in self._fire(faults.lose_request.name, at) if f.name == LOSES_COMMIT]
        wanted = at.link.idle and at.uncommitted and row is not None and len(row.sent) == 2
        if len(fired) != wanted:
            yield self._misfit(f"{LOSES_COMMIT} fires {len(fired)} times", given)
        for done in fired if wanted else []:
            assert row is not None and row.after is not None
            spent = self.rows.scope.budget.spend(LOSE_REQUEST)
            left = Standing(done.client, Link(), at.known, None)
            joins = self._polls(members.send_join.name, left)
            if (done.link, done.budget) != (Link(), spent) or len(joins) != 1:
                yield self._misfit(f"{_shown(done)} has no row", given)
            elif joins[0].link != Link(request=row.sent[1]):
                yield self._misfit(f"{_shown(joins[0])} follows {LOSES_COMMIT}", given)
            else:
                yield from self._same(joins[0].client, row.after, given)

    def _fetches(self, at: Standing, m: Memory) -> Iterator[Standing | Misfit]:
        """A member that has no position asks for the committed offsets of all that it owns."""
        for watched in range(1, self.rows.scope.partition_count):
            asks = bool(at.client.owned >> watched & 1 and at.client.position < 0)
            fired = list(self._fire(FETCH_OFFSET, at, 0, watched))
            if asks != bool(fired) or any(d.offsets != self._offsets(watched) for d in fired):
                told = f"fetch_offset of t-{watched} fires {len(fired)} times"
                yield self._misfit(told, Input(Does.FETCH))
        for offset in range(self.rows.scope.records + 1):
            given = Input(Does.FETCH, offset=offset)
            row = self._counterparts.row(m, given)
            fired = list(self._fire(FETCH_OFFSET, at, offset))
            if bool(fired) != bool(row and FETCH_OFFSET in row.rules):
                yield self._misfit(f"fetch_offset fires {len(fired)} times", given)
            for done in fired:
                if row is not None and row.after is not None:
                    # Kafka's member asks behind its SyncGroup, which the group's may send later.
                    joins = row.after.client.prepare if row.sent else done.client.prepare
                    asked = attrs.evolve(done, client=evolve(done.client, prepare=joins))
                    found = Expectation(FETCH_OFFSET, at.link, row.after, given)
                    found = attrs.evolve(found, goes_on=not row.sent)
                    yield from self._after(at, asked, found)

    # -- the coordinator, and the connection

    def _environment(self, at: Standing) -> Iterator[Standing | Misfit]:
        """The parked request is answered or forgotten; the next one is read."""
        c, link, m = at.client, at.link, at.memory
        if link.parked is not None:
            if not link.orphaned:
                yield attrs.evolve(at, link=evolve(link, orphaned=True))
                yield from self._answers(c, evolve(link, parked=None), at.known, m, link.parked)
        elif link.queue:
            first, *others = link.queue
            read = evolve(link, request=first, queue=tuple(others))
            yield from self._rests(c, read, at.known, m, Input(Does.POLL))

    def _rests(
        self, client: Client, link: Link, known: int, m: Memory | None, given: Input
    ) -> Iterator[Standing | Misfit]:
        """Where the step may end: its request is answered or parked, if there is one. A request
        that is late is forgotten; `_touches` says that no step depends on it.
        """
        link = evolve(link, late=None)
        request = link.request
        if request is None:
            yield from self._rest(client, link, known, m, given)
        elif not link.live:
            over = reply(link, Answer(request))
            if over != evolve(link, request=None, live=True):
                yield self._misfit(f"an answer that nobody reads leaves {over}", given)
            yield from self._rest(client, over, known, m, given)
        else:
            yield from self._answers(client, link, known, m, request)
            if isinstance(request, JoinGroup | SyncGroup):
                parked = park(link, request)
                if parked != evolve(link, request=None, parked=request):
                    yield self._misfit(f"a parked request leaves {parked}", given)
                yield from self._rest(client, parked, known, m, given)

    def _answers(
        self, client: Client, link: Link, known: int, m: Memory | None, request: Request
    ) -> Iterator[Standing | Misfit]:
        """The request is answered with every code."""
        rule = ANSWERED_BY[type(request)].name
        for given in self._counterparts.rows.answers(m or self._memory, request):
            stored = isinstance(request, OffsetCommit) and given.code == NONE
            wrapped = Store(request) if stored and isinstance(request, OffsetCommit) else request
            answer = Answer(wrapped, given.code, given.id, given.generation, given.share)
            answered = evolve(link, request=None, answer=answer)
            fired = list(self._fire(rule, Standing(client, answered, known, m)))
            if m is None:
                yield from self._unheard(client, answered, fired)
                continue
            self._memory = m
            row = self._counterparts.row(m, given)
            names = [done.name for done in fired]
            if row is None or row.after is None or names != [*row.rules]:
                said = row and row.rules
                yield self._misfit(f"an answer leads to {names}, in the rows to {said}", given)
                continue
            now = known
            if stored and isinstance(request, OffsetCommit):
                now = request.offset
            (done,) = fired
            if done.name == ASSIGNED:
                yield from self._at_once(done, answered, given)
            if given.code in LOST and link.queue:
                # The rows' member gives up the connection, and what waits on it.
                yield from self._same(done.client, row.after, given)
                continue
            after = self._counterparts.settled(row.after)
            yield from self._rest(done.client, done.link, now, after, given)

    def _at_once(self, done: Effect, link: Link, given: Input) -> Iterator[Misfit]:
        """Compares the one step of a coarser scope with the answer and onJoinComplete."""
        left = Standing(done.client, NEW, -1, None)
        then = [d.client for d in self._fire(members.join_complete.name, left)]
        before = evolve(done.client, state=Member.COMPLETING, granted=NOTHING)
        rule = self._in_one_step.instance(members.sync_answer.name, 0)
        slots = {**self.rows.others, "client": before, "link": link}
        fired = self._in_one_step.call(rule, tuple(slots[s] for s in rule.rule.slots))
        if len(then) != 1 or [client for _, (client, *_) in fired] != then:
            yield self._misfit(f"the answer and onJoinComplete lead to {fired}", given)

    def _unheard(
        self, client: Client, link: Link, fired: list[Effect]
    ) -> Iterator[Standing | Misfit]:
        """An answer to a member that has closed: it goes on closing."""
        given, read = Input(Does.CLOSE), evolve(link, answer=None)
        if [(d.client.closing, d.link) for d in fired] != [(client.closing, read)]:
            yield self._misfit(f"a member that has closed hears {link.answer}", given)
        else:
            yield from self._rest(fired[0].client, read, -1, None, given)

    # -- between two steps

    def _rest(
        self, client: Client, link: Link, known: int, m: Memory | None, given: Input
    ) -> Iterator[Standing | Misfit]:
        """The member between two steps, if it is the rows' member."""
        if client.closing or m is None:
            yield from self._ends(client, link, given)
            return
        after = Standing(client, link, known if client.position >= 0 else -1, m)
        found: list[Standing | Misfit] = [*self._same(client, m, given)]
        flight = [s.request for s in m.flight]
        waits = [*([] if link.parked is None else [link.parked]), *link.queue]
        if flight != waits:
            found.append(self._misfit(f"{waits} wait, in the rows {flight}", given))
        if client.dirty != after.uncommitted:
            about = f"position {client.position}, {after.known} is committed"
            found.append(self._misfit(f"dirty is {client.dirty}: {about}", given))
        if self.executed is not None and m not in self.executed:
            found.append(self._misfit("no row leads to the member of this step", given))
        if client.rejoin and client.state != Member.STABLE:
            found.append(self._misfit(f"rejoin in {client.state}", given))
        yield from found or [after]

    def _ends(self, client: Client, link: Link, given: Input) -> Iterator[Standing | Misfit]:
        """A process that closes ends when nothing is under way, and not before."""
        idle = link.idle and link.request is None
        fired = list(self._fire(members.closed.name, Standing(client, link, -1, None)))
        gone = [Client()] if client.closing and idle else []
        if [done.client for done in fired] != gone or any(d.link != link for d in fired):
            yield self._misfit(f"a member that has closed becomes {fired}", given)
        elif not gone and client.closing:
            yield Standing(client, link, -1, None, self._memory)
        elif not gone and client != Client():
            yield self._misfit(f"a member that has closed remembers {client}", given)

    def _same(self, client: Client, m: Memory, given: Input) -> Iterator[Misfit]:
        """Is it the rows' member? Kafka's member runs onJoinPrepare a poll earlier than the model's
        if it was reset while its request was in flight; it owns nothing then. (`prepared ahead`)
        """
        c = evolve(client, dirty=False)
        ahead = m.client.prepare == Prepare.DONE and c.prepare == Prepare.NEEDED and not c.owned
        if ahead and c.state == Member.UNJOINED:
            c = evolve(c, prepare=Prepare.DONE)
        if c != m.client:
            yield self._misfit(f"{_changes(c, m.client)}", given)
        if client.dirty and client.position < 0:
            yield self._misfit("dirty without a position", given)

    # -- the rules

    def _polls(self, rule: str, at: Standing) -> list[Effect]:
        """The outcomes of a rule in a poll: with what the same poll does before and after it."""
        return list(self._fire(rule, at))

    def _offsets(self, watched: int = 0, committed: int = 0) -> Offsets:
        """The offsets of a partition of which nothing was processed."""
        first: Offsets = self.rows.others["offsets"]
        return evolve(first, watched=watched, committed=committed)

    def _fire(self, rule: str, at: Standing, offset: int = 0, watched: int = 0) -> Iterator[Effect]:
        """The outcomes of a rule of the spec. It must not touch a request that is late, and a fault
        must be granted.
        """
        self.steps += 1
        mine = self._rules[rule]
        offsets = self._offsets(watched, offset)
        whole = self._call(mine, at.client, at.link, offsets, self.rows.scope.budget)
        for done in whole:
            if rule in FAULTS and not self._granted(mine, at, done):
                done = attrs.evolve(done, budget=Budget())
            yield done
        if "link" in mine.slots:
            yield from self._touches(mine, at, whole)

    def _touches(self, rule: Any, at: Standing, whole: list[Effect]) -> Iterator[Effect]:
        """The outcomes in which a late request is not what it was before. One request is late at a
        time.
        """
        behind = evolve(at.link, late=LATE)
        late = self._call(rule, at.client, behind, self._offsets(), self.rows.scope.budget)
        delays = rule.name == faults.delay_request.name
        kept = [] if delays else [attrs.evolve(d, link=evolve(d.link, late=LATE)) for d in whole]
        if late != kept:
            yield from late or [Effect("?", at.client, at.link, self._offsets(), Budget())]

    def _granted(self, rule: Any, at: Standing, done: Effect) -> bool:
        """Does the outcome need each of the faults that it spends, and no other?"""

        def happens(left: Mapping[str, int]) -> bool:
            fired = self._call(
                rule, at.client, at.link, self._offsets(), Budget(tuple(left.items()))
            )
            wanted = (done.name, done.client, done.link)
            return any((d.name, d.client, d.link) == wanted for d in fired)

        before, after = (dict(b.left) for b in (self.rows.scope.budget, done.budget))
        spent = {name: n - after.get(name, 0) for name, n in before.items() if n > after[name]}
        without = ({k: n for k, n in before.items() if k != name} for name in spent)
        return bool(spent) and happens(spent) and not any(map(happens, without))

    def _call(
        self, rule: Any, client: Client, link: Link, offsets: Offsets, budget: Budget
    ) -> list[Effect]:
        others = self.rows.others
        slots = {"client": client, "link": link, "offsets": offsets, "budget": budget}
        found = []
        for name, values in self._see.call(
            self._see.instance(rule.name, 0), tuple({**others, **slots}[s] for s in rule.slots)
        ):
            now = dict(zip(rule.slots, values))
            found.append(Effect(name, **{s: now.get(s, was) for s, was in slots.items()}))
        return found


def _shown(done: Effect) -> str:
    sends = [r for r in (done.link.request, *done.link.queue, done.link.late) if r is not None]
    return f"{done.name} {sends}"


def _changes(c: Client, other: Client) -> str:
    names = [f.name for f in attrs.fields(Client) if getattr(c, f.name) != getattr(other, f.name)]
    said = (f"{n}: {getattr(c, n)!s}, in the rows {getattr(other, n)!s}" for n in names)
    return "; ".join(said)
