"""The member's rows: every (memory, input) that is reachable at a scope, with what the model's
member does.

The member is taken out of the group and put into an environment that may do anything: the
application polls, commits, processes, closes, or does not poll in time; each request is answered
with every code, or its connection breaks. Rows also contain what the group's model leaves out
because it makes no difference to a group: several requests in flight, a coordinator that has to be
found again, back-offs. Every change of the member itself is an outcome of one of the spec's own
rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults as faults
from groupcheck.model.protocol.classic import offsets as offset_rules
from groupcheck.model.protocol.classic.client import NOTHING, WATCHED, Client, Member, Prepare
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    NONE,
    UNKNOWN_MEMBER_ID,
)
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)
from groupcheck.oracles.conform.member.error_effects import answered, failed
from groupcheck.oracles.conform.member.firing import Firing, clean, dirty
from groupcheck.oracles.conform.member.member_memory import (
    CODES,
    LOST,
    Does,
    Failure,
    Input,
    Memory,
    Outcome,
    RequestInFlight,
)

ANSWERED_BY = {
    JoinGroup: members.join_answer,
    SyncGroup: members.sync_answer,
    Heartbeat: members.heartbeat_answer,
    OffsetCommit: members.commit_answer,
    LeaveGroup: members.leave_answer,
}


class Rows(Firing):
    """The rows of a variant's member at a scope, perhaps with a mutation applied."""

    def start(self) -> Memory:
        """A member that has not polled yet."""
        return Memory()

    # -- inputs

    def inputs(self, m: Memory) -> Iterator[Input]:
        """Everything that may happen next, in a fixed order."""
        c = m.client
        yield Input(Does.POLL)
        yield Input(Does.CLOSE)
        if c.failed or not m.known:
            return
        if m.flight:
            yield from self.answers(m, m.flight[0].request)
            yield Input(Does.BREAK)
        if c.prepare == Prepare.SYNC:
            yield Input(Does.SEND)
        if not m.waits_for(Heartbeat):
            yield Input(Does.BEAT)
        yield Input(Does.NO_POLL)
        if c.prepare != Prepare.SYNC:
            yield Input(Does.SILENCE)
        if not self.scope.static_count and (members.beats(c) or c.prepare == Prepare.SYNC):
            yield Input(Does.BREAK_LEAVING)
        if not m.waits_for(OffsetCommit):
            yield Input(Does.COMMIT)
        if m.failed == Failure.NOTHING and not m.flight:
            if members.wants_to_join(c) or c.prepare == Prepare.SYNC:
                yield Input(Does.BREAK_POLL)
            if members.can_commit(dirty(c)):
                yield Input(Does.BREAK_COMMIT)
        if m.committing_first or (not m.joining and self._commits_first(m)):
            yield Input(Does.NO_ANSWER)
        if self.may_process(m) and c.position < self.scope.records:
            yield Input(Does.PROCESS)
        yield from self.fetches(m)

    def fetches(self, m: Memory) -> Iterator[Input]:
        """The offsets of the watched partition that an OffsetFetch may find."""
        fetches = m.client.owned & WATCHED and m.client.position < 0
        for offset in range(self.scope.records + 1 if fetches else 1):
            yield Input(Does.FETCH, offset=offset)

    def _commits_first(self, m: Memory) -> bool:
        """Would the next poll send the commit before JoinGroup?"""
        c = dirty(m.client)
        joins = m.failed == Failure.NOTHING and members.wants_to_join(c)
        return joins and members.must_commit_first(c, self.scope)

    def answers(self, m: Memory, request: Request) -> Iterator[Input]:
        """The answers to a request, with every code."""
        if isinstance(request, JoinGroup):
            yield from self._joined(m, request)
            yield Input(code=MEMBER_ID_REQUIRED, id=self._new_id(m))
        elif isinstance(request, SyncGroup):
            for share in range(1 << self.scope.partition_count):
                yield Input(share=share)
        else:
            yield Input()
        for code in CODES:
            if not (isinstance(request, JoinGroup) and code == MEMBER_ID_REQUIRED):
                yield Input(code=code)

    def _joined(self, m: Memory, request: JoinGroup) -> Iterator[Input]:
        """Answers with the generation that the member knows, and with the next one."""
        seen = [s.request.generation for s in m.flight if hasattr(s.request, "generation")]
        last = max(m.client.generation, 0, *seen)
        id = self._new_id(m) if request.id == NO_ID else request.id
        for generation in (last, last + 1):
            if 1 <= generation <= self.scope.last_generation:
                yield Input(id=id, generation=generation)
                yield Input(id=id, generation=generation, leads=True)

    def _new_id(self, m: Memory) -> int:
        used = {m.client.id, *(getattr(s.request, "id", NO_ID) for s in m.flight)}
        return next(n for n in range(len(used) + 1) if n not in used)

    # -- what the member does

    def outcomes(self, m: Memory, given: Input) -> tuple[Outcome, ...]:
        """The outcomes that the model's member may have; empty where the input cannot happen."""
        if given.does is None:
            return tuple(self._answered(m, given))
        return tuple(self._done(m, given))

    def _done(self, m: Memory, given: Input) -> Iterator[Outcome]:
        match given.does:
            case Does.POLL:
                yield from self._polled(m)
            case Does.SEND:
                yield from self._send_sync(m)
            case Does.BEAT:
                yield from self._beaten(m)
            case Does.PROCESS:
                yield from self._plain(m, offset_rules.process_record)
            case Does.FETCH:
                yield from self._fetched(m, given)
            case Does.COMMIT:
                yield from self._committed(m)
            case Does.BREAK:
                yield from self._broken(m)
            case Does.BREAK_POLL | Does.BREAK_COMMIT:
                yield from self._broken_under(m, given.does)
            case Does.SILENCE:
                silent = Outcome((), _late(m))
                yield from self._cut(silent) if members.beats(m.client) else (silent,)
            case Does.NO_POLL:
                yield from self._left(m, unheard=False)
            case Does.BREAK_LEAVING:
                yield from self._left(m, unheard=True)
            case Does.NO_ANSWER:
                yield from self._goes_on(m)
            case Does.CLOSE:
                yield from self._closed(m)

    def _fetched(self, m: Memory, given: Input) -> Iterator[Outcome]:
        """The application waits for committed offsets: the member asks for those of all partitions
        that it owns and that have no position. An eager member has no position, or all of them. To
        a cooperative one it matters that they may differ: in its rows no offset of another
        partition than the watched one was ever committed, so it asks for them each time. To ask,
        it polls the network, so that an unsent SyncGroup goes out.
        """
        c = m.client
        others = c.owned & ~WATCHED
        if self.scope.cooperative:
            asks = others | (c.owned & WATCHED if c.position < 0 else 0)
            found = asks & WATCHED
        else:
            asks = found = c.owned if c.position < 0 else 0
        for first in self._flushed(m) if asks else [Outcome((), m)]:
            assert first.after is not None
            fetched = list(self._starts(first.after, given))
            for done in fetched or [Outcome((), first.after)]:
                rules = (*first.rules, *done.rules)
                yield attrs.evolve(done, rules=rules, sent=first.sent, asks=asks, found=found)

    def _starts(self, m: Memory, given: Input) -> Iterator[Outcome]:
        """The member starts where the answer to its OffsetFetch says."""
        yield from self._plain(m, offset_rules.fetch_offset, given.offset)

    def _gives_up(self, c: Client) -> tuple[int, int] | None:
        """The generation and id with which onJoinPrepare gives up partitions; None if it does
        not.
        """
        return None if members.keeps(c, self.scope) else (c.generation, c.id)

    def _polled(self, m: Memory) -> Iterator[Outcome]:
        if m.fenced:
            yield Outcome((), m, thrown=m.client.failed)
            return
        m = evolve(m, known=True)
        c = m.client
        # onJoinPrepare runs before the poll thread looks at a request that is in flight or failed.
        late = c.prepare == Prepare.NEEDED and (m.joining or m.failed == Failure.JOIN)
        if c.failed and m.failed != Failure.JOIN:  # a heartbeat's error
            yield Outcome((), evolve(m, client=evolve(c, failed=NONE)), thrown=c.failed)
        elif m.overdue and (m.committing_first or m.failed == Failure.COMMIT):
            yield from self._forsaken(m)
        elif c.failed or m.failed != Failure.NOTHING or (late and members.wants_to_join(c)):
            now = evolve(members.prepared(c, self.scope) if late else c, failed=NONE)
            gave_up = self._gives_up(c) if late else None
            paused = m.paused and not late
            overdue = m.overdue and paused
            after = evolve(m, client=now, failed=Failure.NOTHING, paused=paused, overdue=overdue)
            yield Outcome((), after, thrown=c.failed, gave_up=gave_up)
        elif c.prepare == Prepare.SYNC:
            yield from self._send_sync(m)
        elif c.granted != NOTHING:
            yield from self._installed(m)
        elif members.wants_to_join(c) and not m.joining and not m.committing_first:
            yield from self._send_join(m)
        else:
            yield Outcome((), m)

    def _installed(self, m: Memory) -> Iterator[Outcome]:
        """onJoinComplete runs; a member that was told to rejoin meanwhile joins at once."""
        for done in self._completed(m):
            assert done.after is not None
            if not members.wants_to_join(done.after.client) or m.committing_first:
                yield attrs.evolve(done, installed=True)
                continue
            for then in self._send_join(done.after):
                rules = (*done.rules, *then.rules)
                yield attrs.evolve(then, rules=rules, installed=True)

    def _completed(self, m: Memory) -> Iterator[Outcome]:
        """onJoinComplete without what follows in the same poll."""
        yield from self._plain(m, members.join_complete)

    def _joins(self, m: Memory) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        """The rules by which a poll sends JoinGroup, or the commit before it."""
        for name, now in self._fire(members.send_join, m):
            yield (name,), now

    def _send_join(self, m: Memory) -> Iterator[Outcome]:
        prepared = m.client.prepare == Prepare.DONE
        for names, now in self._joins(m):
            request = now["link"].request
            first = isinstance(request, OffsetCommit)
            gave_up = None if prepared or first else self._gives_up(m.client)
            after = evolve(
                m,
                client=clean(now["client"]),
                flight=(
                    *(s if first else evolve(s, awaited=False) for s in m.flight),
                    RequestInFlight(request, first),
                ),
                paused=first,
                overdue=first and m.overdue,
                late_id=NO_ID,
            )
            done = Outcome(names, after, (request,), gave_up=gave_up)
            if not after.overdue:
                yield done
                continue
            for then in self._forsaken(after):
                rules, sent = (*names, *then.rules), (request, *then.sent)
                yield attrs.evolve(then, rules=rules, sent=sent)

    def _forsaken(self, m: Memory) -> Iterator[Outcome]:
        """The member joins without waiting for its commit any longer."""
        client = m.client
        if client.state == Member.STABLE:
            client = evolve(client, prepare=Prepare.COMMITTED)
        yield from self._send_join(evolve(m, client=client, failed=Failure.NOTHING, overdue=False))

    def _send_sync(self, m: Memory) -> Iterator[Outcome]:
        for name, now in self._fire(members.send_sync, m):
            yield self._sends((name,), m, now)

    def _flushed(self, m: Memory) -> list[Outcome]:
        """The network is polled before anything else: an unsent SyncGroup goes out."""
        return list(self._send_sync(m)) if m.client.prepare == Prepare.SYNC else [Outcome((), m)]

    def _beaten(self, m: Memory) -> Iterator[Outcome]:
        """One round of the heartbeat thread."""
        for first in self._flushed(m):
            here = first.after
            assert here is not None
            told = evolve(here, client=evolve(here.client, rejoin=False))
            fired = list(self._fire(members.send_heartbeat, told))
            for name, now in fired:
                kept = {**now, "client": evolve(now["client"], rejoin=here.client.rejoin)}
                done = self._sends((*first.rules, name), here, kept)
                yield attrs.evolve(done, sent=(*first.sent, *done.sent))
            if not fired:
                yield first

    def _committed(self, m: Memory) -> Iterator[Outcome]:
        """The application commits; a member that waits for its commit before JoinGroup commits the
        same once more.
        """
        for first in self._flushed(m):
            here = first.after
            assert here is not None
            prepare = here.client.prepare
            begun = Prepare.NEEDED if prepare == Prepare.COMMITTED else prepare
            told = evolve(here, client=evolve(here.client, prepare=begun))
            fired = list(self._fire(members.send_commit, told))
            for name, now in fired:
                kept = {**now, "client": evolve(now["client"], prepare=prepare)}
                yield self._sends((name,), here, kept)
            if not fired:
                yield first

    def may_process(self, m: Memory) -> bool:
        """May the application process records of the watched partition?"""
        held = m.paused and not self.scope.cooperative  # maybeMarkPartitionsPendingRevocation
        if m.client.position < 0 or (held and m.client.prepare != Prepare.COMMITTED):
            return False
        return any(
            self._fire(offset_rules.process_record, evolve(m, client=evolve(m.client, position=0)))
        )

    def _left(self, m: Memory, unheard: bool) -> Iterator[Outcome]:
        for first in self._flushed(m):
            assert first.after is not None
            here = _late(first.after)
            fired = list(self._fire(faults.poll_timeout, here))
            if not fired and not unheard:
                yield attrs.evolve(first, after=here)
            for name, now in fired:
                if self.scope.static_count:
                    rests = evolve(here, client=clean(now["client"]))
                    yield Outcome((*first.rules, name), rests, first.sent)
                    continue
                if (now["link"] == Link()) != unheard:
                    continue
                leave = LeaveGroup(here.client.id)
                flight = (*here.flight, RequestInFlight(leave))
                after = evolve(here, client=clean(now["client"]), flight=flight)
                done = Outcome((*first.rules, name), after, (*first.sent, leave))
                yield from self._cut(done) if unheard else (done,)

    def _goes_on(self, m: Memory) -> Iterator[Outcome]:
        """The time for the commit before JoinGroup is over: the member joins without it."""
        if m.committing_first:
            yield from self._forsaken(m)
        elif members.wants_to_join(m.client):
            for name, now in self._fire(faults.lose_request, m):
                commit = OffsetCommit(m.client.id, m.client.generation, m.client.position)
                begun = evolve(m, client=now["client"], flight=(*m.flight, RequestInFlight(commit)))
                for then in self._send_join(begun):
                    yield attrs.evolve(then, rules=(name, *then.rules), sent=(commit, *then.sent))

    def _closed(self, m: Memory) -> Iterator[Outcome]:
        """The member commits if it can, and leaves if it knows its coordinator."""
        gave_up = (m.client.generation, m.client.id)
        if not m.known:
            yield Outcome((), None, gave_up=gave_up)
            return
        can = self.scope.autocommit and not m.client.failed
        unsent = m.client.prepare == Prepare.SYNC and not self._polls_before_leaving(m)
        if self.scope.static_count and (not can or unsent):
            begun: list[Outcome] | Iterator[Outcome] = [Outcome((), m)]  # nothing is polled
        else:
            begun = self._committed(m) if can else self._flushed(m)
        for first in begun:
            here = first.after
            assert here is not None
            leaves: tuple[Request, ...] = ()
            rules = []
            for name, now in self._fire(faults.close, here):
                rules.append(name)
                if now["link"].request is not None or now["link"].queue:
                    leaves = (LeaveGroup(here.client.id),)
            behind = self._fire(faults.close, here, parked=SyncGroup(NO_ID, 0))
            rules += [name for name, _ in behind]
            yield Outcome((*first.rules, *rules), None, (*first.sent, *leaves), gave_up=gave_up)

    def _polls_before_leaving(self, m: Memory) -> bool:
        """Does a member that closes poll the network for its commit (maybeAutoCommitOffsetsSync)?
        It does so even if it may not commit.
        """
        c = m.client
        return self.scope.autocommit and not c.failed and c.position >= 0

    # -- answers and connections

    def _answered(self, m: Memory, given: Input) -> Iterator[Outcome]:
        oldest, left = m.flight[0], evolve(m, flight=m.flight[1:])
        answer = Answer(oldest.request, given.code, given.id, given.generation, given.share)
        for name, now in self._fire(ANSWERED_BY[type(oldest.request)], left, answer=answer):
            now["client"] = answered(m, oldest, now["client"])
            noticed = failed(m, oldest, answer, now["client"])
            late = self._late_id(m, now["client"], name, given.code)
            fenced = name == f"{members.commit_answer.name}:fatal"
            after = evolve(
                left, client=clean(now["client"]), failed=noticed, late_id=late, fenced=fenced
            )
            done = Outcome((name,), after)
            lost = given.code in LOST and not isinstance(oldest.request, LeaveGroup)
            yield from self._cut(done) if lost else (done,)

    def _late_id(self, m: Memory, now: Client, fired: str, code: int) -> int:
        """The id that the member forgets at its next poll, after an answer."""
        if fired.endswith(":refused") and code == UNKNOWN_MEMBER_ID:
            return NO_ID
        void = m.client.granted != NOTHING and now.state == Member.UNJOINED
        return m.client.id if void and code == ILLEGAL_GENERATION else m.late_id

    def _cut(self, done: Outcome) -> Iterator[Outcome]:
        """The member gives up its connection: whatever is in flight fails, and is retried."""
        m = done.after
        assert m is not None
        if not m.flight:
            yield attrs.evolve(done, after=evolve(m, known=False))
            return
        oldest, left = m.flight[0], evolve(m, flight=m.flight[1:])
        answer = Answer(oldest.request, COORDINATOR_NOT_AVAILABLE)
        for _, now in self._fire(ANSWERED_BY[type(oldest.request)], left, answer=answer):
            now["client"] = answered(m, oldest, now["client"])
            noticed = failed(m, oldest, answer, now["client"])
            after = evolve(left, client=clean(now["client"]), failed=noticed)
            yield from self._cut(attrs.evolve(done, after=after))

    def _broken(self, m: Memory) -> Iterator[Outcome]:
        joins = [s.request for s in m.flight if isinstance(s.request, JoinGroup | SyncGroup)]
        rules = []
        for rule in (faults.disconnect, members.request_timeout) if joins else ():
            for name, now in self._fire(rule, m, parked=joins[0], orphaned=True):
                m = evolve(m, client=clean(now["client"]))
                rules.append(name)
        yield from self._cut(Outcome(tuple(rules), m))

    def _broken_under(self, m: Memory, does: Does) -> Iterator[Outcome]:
        """The connection breaks under the request that is sent next: lost on its way there, held
        up, or lost on its way back are the same to the member.
        """
        c = m.client
        for rule in (faults.lose_response, faults.delay_request, faults.lose_request):
            if rule is faults.lose_request and c.prepare != Prepare.SYNC:
                continue
            found = []
            for name, now in self._fire(rule, m):
                request = now["link"].request or now["link"].late
                request = request or SyncGroup(c.id, c.generation)
                if not isinstance(request, LeaveGroup):
                    found.append((name, now["client"], request))
            # What a poll sends comes first, a commit of the application's last.
            for name, client, request in found[:1] if does == Does.BREAK_POLL else found[-1:]:
                yield self._lost_under(m, does, name, client, request)

    def _lost_under(
        self, m: Memory, does: Does, name: str, client: Client, request: Request
    ) -> Outcome:
        c, failed, late = m.client, Failure.NOTHING, m.late_id
        if does == Does.BREAK_POLL:
            failed = Failure.COMMIT if isinstance(request, OffsetCommit) else Failure.JOIN
            late = NO_ID
        joins = isinstance(request, JoinGroup)
        after = evolve(
            m,
            client=clean(client),
            known=False,
            failed=failed,
            paused=failed == Failure.COMMIT or (m.paused and not joins),
            overdue=m.overdue and not joins,
            late_id=late,
        )
        prepared = c.prepare == Prepare.DONE or not joins
        gave_up = None if prepared else self._gives_up(c)
        return Outcome((name,), after, (request,), gave_up=gave_up)


def _late(m: Memory) -> Memory:
    """So much time has passed that the member no longer waits for its commit before JoinGroup."""
    return evolve(m, overdue=m.paused)
