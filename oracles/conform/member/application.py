"""The member's rows in which the application does more than poll: it unsubscribes, and its
rebalance callbacks throw, commit or take long.

The group's model has no rule for these. What the member does follows from what it remembers, by
the rules below, which name the method of Kafka's client that they are taken from. Where a callback
waits, what happens meanwhile is an outcome of the model's own rules.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic.client import (
    NOTHING,
    Client,
    Member,
    Prepare,
    beats,
    commit_answer,
    give_up,
    install,
    joining,
    prepared,
    reset,
)
from groupcheck.model.protocol.codes import ILLEGAL_GENERATION, NONE, UNKNOWN_MEMBER_ID, name_of
from groupcheck.model.protocol.messages import (
    NO_ID,
    Answer,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
)
from groupcheck.oracles.conform.member.member_memory import (
    CODES,
    LOST,
    Does,
    During,
    Failure,
    Input,
    Memory,
    Outcome,
    RequestInFlight,
    callbacks,
    commits_in_callback,
    revokes,
    thread_runs,
)
from groupcheck.oracles.conform.member.rows import Rows

LEAVES = "consumer pro-actively leaving the group"
UNREACHED = "rebalance failed due to CoordinatorNotAvailableException"
REBALANCES = "offset commit failed since group is already rebalancing"
# In a callback, a commit that loses the coordinator is a callback that outlasts the session.
ANSWERS = (NONE, *(code for code in CODES if code not in LOST))


class ApplicationRows(Rows):
    """All rows of the member: those of the group's model, and the application's."""

    def inputs(self, m: Memory) -> Iterator[Input]:
        """Everything that may happen next, in a fixed order."""
        for given in super().inputs(m):
            if not self._left_out(m, given):
                yield given
        yield Input(Does.UNSUBSCRIBE)
        for does in (Does.POLL, Does.CLOSE, Does.UNSUBSCRIBE):
            if any(callbacks(m, o) for o in self.outcomes(m, Input(does))):
                for during in (During.THROWS, During.LASTS, During.OUTLASTS):
                    yield Input(does, during=during)
                yield from self._commits(m, does)

    def _left_out(self, m: Memory, given: Input) -> bool:
        """Is this one of the things that Kafka's member can do in memories that the group's model
        does not have? An eager one reads and commits while its share is installed only in part.
        After a callback in which it has left, a member runs onJoinPrepare a second time although
        its JoinGroup is answered; but a coordinator answers that JoinGroup, which has no id, with
        79 first.
        """
        reads = given.does in (Does.FETCH, Does.PROCESS, Does.COMMIT)
        if reads and interrupted(m) and not self.scope.cooperative:
            return True
        again = m.client.state == Member.PREPARING and m.client.prepare == Prepare.NEEDED
        joined = given.does is None and isinstance(m.flight[0].request, JoinGroup)
        return again and joined and given.code == NONE

    def _commits(self, m: Memory, does: Does) -> Iterator[Input]:
        """commitSync in a callback. A commit that is under way already would be answered first."""
        before = [o for o in self.outcomes(m, Input(does)) if not o.installed]
        others = [r for o in before for r in o.sent]
        if does == Does.CLOSE or not commits_in_callback(m, does):
            yield Input(does, during=During.COMMITS)
        elif not m.waits_for(OffsetCommit) and not any(isinstance(r, OffsetCommit) for r in others):
            for code in ANSWERS:
                yield Input(does, during=During.COMMITS, code=code)

    def outcomes(self, m: Memory, given: Input) -> tuple[Outcome, ...]:
        """The actions of the member; empty where the input cannot happen."""
        if given.does == Does.UNSUBSCRIBE:
            return tuple(self._unsubscribes(m, given))
        if given.during == During.NOTHING:
            return super().outcomes(m, given)
        plain = super().outcomes(m, Input(given.does))
        if given.does == Does.CLOSE:
            found = self._closes(m, given, plain)
        elif any(o.installed for o in plain):
            found = self._installs(evolve(m, known=True), given)
        else:
            first = tuple(r for o in plain for r in o.sent if isinstance(r, OffsetCommit))
            here = evolve(m, known=True, flight=(*m.flight, *map(RequestInFlight, first)))
            told = () if given.during == During.OUTLASTS else first  # lost with the connection
            found = [attrs.evolve(o, sent=(*told, *o.sent)) for o in self._prepares(here, given)]
        return tuple(attrs.evolve(o, rules=self._application_rules(o)) for o in found or plain)

    def _application_rules(self, outcome: Outcome) -> tuple[str, ...]:
        """The rules of the group's model that say what the application does in a callback: none."""
        return ()

    def _answered(self, m: Memory, given: Input) -> Iterator[Outcome]:
        """A member that has left while its JoinGroup is in flight ignores 25. In the group's model
        no member has forgotten its id then, unless the coordinator has given it one.
        """
        request = m.flight[0].request
        left = isinstance(request, JoinGroup) and request.id != m.client.id
        if left and given.code == UNKNOWN_MEMBER_ID:
            yield Outcome((f"{members.join_answer.name}:ignored",), evolve(m, flight=m.flight[1:]))
        else:
            yield from super()._answered(m, given)

    # -- onJoinComplete: onPartitionsRevoked, onPartitionsAssigned

    def _installs(self, m: Memory, given: Input) -> list[Outcome]:
        """A callback that throws leaves the result of JoinGroup and SyncGroup in place: the next
        poll runs onJoinComplete again. One that takes longer than the poll interval comes back to a
        member that has left. An eager member has no position to commit.
        """
        c = m.client
        told = evolve(m, client=self._takes_over(c, c))
        if given.during == During.THROWS:
            return [Outcome((), told, raised=True, installed=True)]
        if given.during == During.LASTS:
            reason = None if revokes(c) else LEAVES
            return [attrs.evolve(o, installed=True, reason=reason) for o in self._joins_anew(told)]
        if given.during == During.OUTLASTS:
            (done,) = self._completed(m)
            return [attrs.evolve(o, installed=True) for o in self._cut(done)]
        return list(self._installs_and_commits(m, given)) if c.position >= 0 else []

    def _takes_over(self, c: Client, now: Client) -> Client:
        """The member `c`, which is `now` after the first callback, once it owns its share
        (assignFromSubscribed). onJoinComplete is not over.
        """
        taken = install(evolve(now, granted=c.granted), self.scope)
        stable = now.state == Member.STABLE
        return evolve(
            taken, granted=now.granted, prepare=now.prepare, rejoin=stable and taken.rejoin
        )

    def _installs_and_commits(self, m: Memory, given: Input) -> Iterator[Outcome]:
        """A cooperative member has positions to commit: onPartitionsRevoked and
        onPartitionsAssigned commit one after the other, even if the first one throws.
        """
        now, raised, reason = m, False, None
        commits: list[tuple[str, int]] = []
        for name, _ in callbacks(m, Outcome((), m, installed=True)):
            if name == "assigned":
                now = evolve(now, client=self._takes_over(m.client, now.client))
            if now.client.position < 0:
                continue
            if now.client.state != Member.STABLE:  # generationIfStable
                raised = True
                continue
            commits.append((name, now.client.position))
            for after, why in self._refused(now, given.code):
                # After onPartitionsRevoked the member has another reason to join again.
                now, raised, reason = after, True, why if name == "assigned" else None
        told = tuple(commits)
        if raised:
            yield Outcome((), now, raised=True, installed=True, reason=reason, commits=told)
            return
        for done in self._installed(now):
            yield attrs.evolve(done, commits=told)

    def _joins_anew(self, m: Memory) -> Iterator[Outcome]:
        """The heartbeat thread leaves during a callback (handlePollTimeoutExpiry); once it is over,
        the member joins as a new one.
        """
        for left in self._left(m, unheard=False):
            assert left.after is not None
            for then in self._send_join(left.after):
                yield attrs.evolve(then, sent=(*left.sent, *then.sent), reason=LEAVES)

    # -- onJoinPrepare: onPartitionsRevoked, onPartitionsLost

    def _prepares(self, m: Memory, given: Input) -> list[Outcome]:
        """The partitions are given up whether the callback throws or not; JoinGroup is sent in the
        next poll if it throws.
        """
        c = m.client
        waited = evolve(m, failed=Failure.NOTHING) if m.failed == Failure.COMMIT else m
        waited = without_commit(waited)
        gave_up = (c.generation, c.id)
        if given.during == During.THROWS or self._throws(m, given):
            return [raised_by(waited, prepared(c, self.scope), c)]
        if given.during == During.COMMITS and commits_in_callback(m, Does.POLL):
            there = evolve(waited, client=evolve(c, prepare=Prepare.DONE))
            refused = list(self._refused(there, given.code))
            return [
                raised_by(after, give_up(after.client), m.client, why) for after, why in refused
            ]
        if given.during == During.LASTS and beats(c):
            found = []
            for o in self._joins_anew(waited):
                assert o.after is not None
                # resetStateAndRejoin asks for another onJoinPrepare.
                client = evolve(o.after.client, prepare=Prepare.NEEDED)
                found.append(attrs.evolve(o, after=evolve(o.after, client=client), gave_up=gave_up))
            return found
        if given.during == During.OUTLASTS and beats(c):
            after = evolve(waited, client=joining(c, self.scope)[0])
            return list(self._cut(Outcome((), after, gave_up=gave_up, reason=UNREACHED)))
        return []

    # -- onLeavePrepare: onPartitionsRevoked, onPartitionsLost

    def _unsubscribes(self, m: Memory, given: Input) -> Iterator[Outcome]:
        """KafkaConsumer.unsubscribe. A callback that throws ends it before LeaveGroup is sent. The
        application polls once without a subscription, and subscribes again.
        """
        c = m.client
        gave_up = (c.generation, c.id)
        if given.during == During.THROWS or self._throws(m, given):
            polls = self._polls_in_callback(m, given)
            for first in self._flushed(m) if polls else [Outcome((), m)]:
                assert first.after is not None
                told = raised_by(first.after, give_up(first.after.client), c)
                yield attrs.evolve(told, leaves=True, sent=first.sent)
            return
        if given.during == During.COMMITS and commits_in_callback(m, Does.UNSUBSCRIBE):
            refused = list(self._refused(m, given.code))
            for after, why in refused:
                told = raised_by(after, give_up(after.client), c, why)
                yield attrs.evolve(told, leaves=True)
            if refused:
                return
        thread = m.known and thread_runs(m)
        if given.during in (During.LASTS, During.OUTLASTS):
            m = evolve(m, overdue=m.paused)
        if given.during == During.LASTS and thread:
            (left,) = self._left(m, unheard=False)
            assert left.after is not None
            yield from self._left_behind(left.after, left.sent, gave_up)
        elif given.during == During.OUTLASTS and thread:
            for first in self._flushed(m):
                for cut in self._cut(Outcome((), first.after)):
                    assert cut.after is not None
                    yield from self._left_behind(cut.after, (), gave_up)
        elif m.known and c.state != Member.UNJOINED and c.id != NO_ID:
            for first in self._flushed(m):
                assert first.after is not None
                if self.scope.static_count:
                    yield from self._left_behind(first.after, first.sent, gave_up)
                    continue
                leave = LeaveGroup(c.id)
                here = evolve(first.after, flight=(*first.after.flight, RequestInFlight(leave)))
                yield from self._left_behind(here, (*first.sent, leave), gave_up)
        else:
            yield from self._left_behind(m, (), gave_up)

    def _left_behind(
        self, m: Memory, sent: tuple[Request, ...], gave_up: tuple[int, int]
    ) -> Iterator[Outcome]:
        """resetGenerationOnLeaveGroup, and no subscription for one poll."""
        after = evolve(m, client=give_up(reset(m.client, True)), late_id=NO_ID)
        thrown = m.client.failed if m.fenced else NONE
        yield Outcome((), after, sent, thrown, gave_up, leaves=True, reason=LEAVES)

    def _closes(self, m: Memory, given: Input, plain: tuple[Outcome, ...]) -> list[Outcome]:
        """KafkaConsumer.close ends its heartbeat thread first, so that time changes nothing. A
        callback that throws ends it before LeaveGroup is sent.
        """
        commits = given.during == During.COMMITS and commits_in_callback(m, Does.CLOSE)
        throws = given.during == During.THROWS or self._throws(m, given)
        found = []
        for o in plain:
            others: tuple[Request, ...]
            others = tuple(r for r in o.sent if not isinstance(r, LeaveGroup))
            leave = tuple(r for r in o.sent if isinstance(r, LeaveGroup))
            if m.known and m.client.prepare == Prepare.SYNC:
                polls = self._polls_in_callback(m, given) or self._polls_before_leaving(m)
                flushed = self._flushed(m) if polls or (leave and not throws) else []
                others = flushed[0].sent if flushed else ()
            if throws:
                found.append(attrs.evolve(o, sent=others, raised=True))
            elif commits:
                found.append(attrs.evolve(o, sent=(*others, _commit(m.client), *leave)))
            else:
                found.append(attrs.evolve(o, sent=(*others, *leave)))
        return found

    def _polls_in_callback(self, m: Memory, given: Input) -> bool:
        """Is the network polled in a callback? It is for a commit that fails at once, too."""
        if given.during == During.COMMITS:
            return m.client.position >= 0 and not m.fenced
        return given.during in (During.LASTS, During.OUTLASTS)

    # -- commits in a callback

    def _throws(self, m: Memory, given: Input) -> bool:
        """Does commitSync throw in the callback without asking the coordinator? Outside a
        generation (generationIfStable), or after 82 (invokeCompletedOffsetCommitCallbacks).
        """
        if given.during != During.COMMITS:
            return False
        outside = m.client.position >= 0 and m.known and m.client.state != Member.STABLE
        return m.fenced or outside

    def _refused(self, m: Memory, code: int) -> Iterator[tuple[Memory, str | None]]:
        """The member whose commitSync throws because of an answer, and the reason that it joins
        again for then; nothing if it does not throw.
        """
        answer = Answer(_commit(m.client), code)
        for name, now in self._fire(commit_answer, m, answer=answer):
            label = name.partition(":")[2]
            if label in ("done", "retry"):
                continue
            # Nobody remembers the error of a commit that was waited for.
            client = evolve(now["client"], failed=m.client.failed, dirty=False)
            late = self._late_id(m, client, name, code)
            yield evolve(m, client=client, late_id=late), reason_of(name, code)


def interrupted(m: Memory) -> bool:
    """Has onPartitionsAssigned thrown? The member owns its share, and is not done with it."""
    return bool(m.client.granted != NOTHING and m.client.owned)


def reason_of(fired: str, code: int) -> str | None:
    """Why the member joins again after a refused commit in a callback; None: as it was before.
    `fired`: the outcome of commit_answer.
    """
    if fired.endswith(":rebalancing"):
        return REBALANCES
    if code in (ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID):
        return f"encountered {name_of(code).partition(' ')[2]} from OFFSET_COMMIT response"
    return None


def _commit(c: Client) -> OffsetCommit:
    return OffsetCommit(c.id, c.generation, c.position)


def without_commit(m: Memory) -> Memory:
    """onJoinPrepare no longer waits for its commit."""
    flight = tuple(evolve(s, awaited=False) for s in m.flight)
    return evolve(m, flight=flight, paused=False, overdue=False)


def raised_by(m: Memory, client: Client, was: Client, reason: str | None = None) -> Outcome:
    """The exception of a callback goes through to the application. `was`: the member before."""
    after = evolve(m, client=evolve(client, dirty=False))
    return Outcome((), after, raised=True, gave_up=(was.generation, was.id), reason=reason)
