"""The member's rows by the rules of a group whose rebalance callbacks take time (`callbacks`): what
a poll does is what several steps of the group's model do one after the other.

onPartitionsRevoked of onJoinPrepare begins (`call_back`), the application commits or throws in it,
its heartbeat thread leaves the group meanwhile or hears an answer, and it ends (`callback_runs`). A
cooperative member calls it in onJoinComplete; there the group's model knows that it returns, that
it commits, and what its heartbeat thread hears, and `application` says what else may happen, as it
does of onPartitionsLost and onPartitionsAssigned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.client import (
    Client,
    Member,
    Prepare,
    beats,
    commit_answer,
    heartbeat_answer,
    join_complete,
    must_commit_first,
    wants_to_join,
)
from groupcheck.model.protocol.classic.features.callbacks import call_back, callback_runs
from groupcheck.model.protocol.codes import NONE, REBALANCE_IN_PROGRESS, name_of
from groupcheck.model.protocol.messages import NO_ID, Answer, Heartbeat
from groupcheck.oracles.conform.member.application import (
    LEAVES,
    UNREACHED,
    ApplicationRows,
    raised_by,
    reason_of,
    without_commit,
)
from groupcheck.oracles.conform.member.firing import clean, dirty
from groupcheck.oracles.conform.member.member_memory import (
    Does,
    During,
    Failure,
    Input,
    Memory,
    Outcome,
    RequestInFlight,
    callbacks,
    commits_in_callback,
)

COMMITTED, RETURNED, THREW = callback_runs.names
OF_CALLBACKS = (call_back.name, RETURNED, THREW, COMMITTED, *heartbeat_answer.names)
# The codes for which HeartbeatResponseHandler has a branch; the branch of 14 is that of all others.
HEARD = (NONE, 14, 15, 16, 22, 25, 27, 30, 82)


class CallbackRows(ApplicationRows):
    """The rows of a member of `callbacks` or `cooperative_callbacks`."""

    def inputs(self, m: Memory) -> Iterator[Input]:
        """Those of the application, and heartbeats that are answered while a callback runs."""
        yield from super().inputs(m)
        for does in (Does.POLL, Does.UNSUBSCRIBE):
            calls = any(callbacks(m, o) for o in self.outcomes(m, Input(does)))
            given = Input(does, during=During.BEATS)
            if calls and any(o.beats for o in self.outcomes(m, given)):
                for code in HEARD:
                    yield Input(does, during=During.BEATS, code=code)

    def _application_rules(self, outcome: Outcome) -> tuple[str, ...]:
        return tuple(name for name in outcome.rules if name in OF_CALLBACKS)

    def _joins(self, m: Memory) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        yield from super()._joins(m)
        for begun in self._begins(m):
            for now in self._ends(begun, RETURNED):
                yield (call_back.name, RETURNED), now

    def _completed(self, m: Memory) -> Iterator[Outcome]:
        for done in super()._completed(m):
            assert done.after is not None
            if done.after.client.prepare != Prepare.REVOKING:
                yield done
                continue
            for now in self._ends(done.after, RETURNED):
                after = evolve(done.after, client=clean(now["client"]))
                yield attrs.evolve(done, rules=(*done.rules, RETURNED), after=after)

    def _begins(self, m: Memory) -> Iterator[Memory]:
        """onPartitionsRevoked of onJoinPrepare runs."""
        for _, now in self._fire(call_back, m):
            yield evolve(m, client=clean(now["client"]))

    def _ends(self, m: Memory, how: str) -> Iterator[dict[str, Any]]:
        """The states that follow if the callback ends so, or commits."""
        for name, now in self._fire(callback_runs, m):
            if name == how:
                yield now

    def _broken_under(self, m: Memory, does: Does) -> Iterator[Outcome]:
        """The connection breaks under the JoinGroup that is sent once the callback is over."""
        begun = list(self._begins(m)) if does == Does.BREAK_POLL else []
        if not begun:
            yield from super()._broken_under(m, does)
        for running in begun:
            for now in self._ends(running, THREW):  # the next poll sends JoinGroup
                over = evolve(m, client=clean(now["client"]))
                for lost in super()._broken_under(over, does):
                    gave_up = (m.client.generation, m.client.id)
                    yield attrs.evolve(lost, gave_up=gave_up)

    def _prepares(self, m: Memory, given: Input) -> list[Outcome]:
        """The outcomes that `ApplicationRows` has for onPartitionsRevoked, by the rules of the
        group's model.
        """
        c = m.client
        waited = without_commit(
            evolve(m, failed=Failure.NOTHING) if m.failed == Failure.COMMIT else m
        )
        if must_commit_first(dirty(c), self.scope):  # its time is over
            waited = evolve(waited, client=evolve(c, prepare=Prepare.COMMITTED))
        begun = list(self._begins(waited))
        if not begun:
            return super()._prepares(m, given)
        return [
            attrs.evolve(o, rules=(call_back.name, *o.rules))
            for running in begun
            for o in self._runs(running, given, c)
        ]

    def _runs(self, m: Memory, given: Input, was: Client) -> Iterator[Outcome]:
        """The callback runs. `was`: the member before it. Nothing: it ends as if it did nothing."""
        if given.during == During.THROWS or self._throws(m, given):
            for now in self._ends(m, THREW):
                yield attrs.evolve(raised_by(m, now["client"], was), rules=(THREW,))
        elif given.during == During.COMMITS and commits_in_callback(m, Does.POLL):
            yield from self._commits_and_ends(m, given, was)
        elif given.during == During.LASTS:
            yield from self._leaves_meanwhile(m, was)
        elif given.during == During.BEATS:
            yield from self._hears(m, given.code, was)
        elif given.during == During.OUTLASTS:
            for now in self._ends(m, RETURNED):
                after = evolve(m, client=clean(now["client"]))
                gave_up = (was.generation, was.id)
                lost = Outcome((RETURNED,), after, gave_up=gave_up, reason=UNREACHED)
                yield from self._cut(lost)

    def _commits_and_ends(self, m: Memory, given: Input, was: Client) -> Iterator[Outcome]:
        """commitSync throws if it is refused, and the callback with it."""
        for begun in self._ends(m, COMMITTED):
            answer = Answer(begun["link"].request, given.code)
            for name, now in self._fire(commit_answer, m, answer=answer):
                if now["client"].prepare == Prepare.REVOKING:
                    for then in self._ends(evolve(m, client=now["client"]), RETURNED):
                        yield self._joins_behind(m, then, was)
                    continue
                # Nobody remembers the error of a commit that was waited for.
                client = evolve(now["client"], failed=was.failed)
                late = self._late_id(m, client, name, given.code)
                after = evolve(m, late_id=late)
                told = raised_by(after, client, was, reason_of(name, given.code))
                yield attrs.evolve(told, rules=(COMMITTED,))

    def _joins_behind(self, m: Memory, now: dict[str, Any], was: Client) -> Outcome:
        """JoinGroup is sent behind a commit that was accepted."""
        join = now["link"].request
        client, flight = clean(now["client"]), (*m.flight, RequestInFlight(join))
        after = evolve(m, client=client, flight=flight, late_id=NO_ID)
        gave_up = (was.generation, was.id)
        return Outcome((COMMITTED, RETURNED), after, (join,), gave_up=gave_up)

    def _leaves_meanwhile(self, m: Memory, was: Client) -> Iterator[Outcome]:
        """The heartbeat thread leaves; the member joins as a new one once the callback is over."""
        for left in self._left(m, unheard=False):
            assert left.after is not None
            for then in self._ends_outside(left.after):
                yield attrs.evolve(
                    then,
                    sent=(*left.sent, *then.sent),
                    gave_up=(was.generation, was.id),
                    reason=LEAVES,
                )

    def _ends_outside(self, m: Memory) -> Iterator[Outcome]:
        """The callback ends, and the member has lost its generation meanwhile: it joins. One that
        is fenced joins by the rule of the callback itself.
        """
        for now in self._ends(m, RETURNED):
            join = now["link"].request
            for then in self._joins_once_more(evolve(m, client=clean(now["client"]))):
                assert then.after is not None
                # resetStateAndRejoin asks for another onJoinPrepare.
                client = evolve(then.after.client, prepare=Prepare.NEEDED)
                after = evolve(then.after, client=client)
                sent = then.sent if join is None else (join,)
                yield attrs.evolve(then, after=after, rules=(RETURNED,), sent=sent)

    # -- heartbeats that are answered while a callback runs

    def _heard(self, m: Memory, name: str, code: int) -> Outcome:
        """The heartbeat thread sends a heartbeat while the callback of this name runs, unless one
        is under way, and reads the answer. No other request is in flight: it would be answered
        first. If the thread sends none, nothing happens.
        """
        c = m.client
        others = any(not isinstance(s.request, Heartbeat) for s in m.flight)
        if others or c.failed or not m.known or not beats(c):
            return Outcome((), m)
        for sent in [Outcome((), m)] if m.flight else self._beaten(m):
            assert sent.after is not None
            for told in self._answered(sent.after, Input(code=code)) if sent.after.flight else ():
                assert told.after is not None
                return attrs.evolve(told, beats=(name,), reason=_reason(code, told.after.client))
        return Outcome((), m)

    def _hears(self, m: Memory, code: int, was: Client) -> Iterator[Outcome]:
        """onPartitionsRevoked of onJoinPrepare. `was`: the member before it."""
        told = self._heard(m, "revoked", code)
        if not told.beats:
            return
        now = told.after
        assert now is not None
        if now.client.state != Member.STABLE:
            ended = list(self._ends_outside(now))
        else:
            ended = [self._joins_after(now, then) for then in self._ends(now, RETURNED)]
        for then in ended:
            yield attrs.evolve(
                then,
                rules=(*told.rules, *then.rules),
                gave_up=(was.generation, was.id),
                reason=told.reason if now.known else UNREACHED,
                beats=told.beats,
            )

    def _joins_after(self, m: Memory, ended: dict[str, Any]) -> Outcome:
        """JoinGroup is sent, or fails at once: the coordinator is lost."""
        client, join = clean(ended["client"]), ended["link"].request
        if not m.known:
            return Outcome((RETURNED,), evolve(m, client=client))
        after = evolve(m, client=client, flight=(*m.flight, RequestInFlight(join)), late_id=NO_ID)
        return Outcome((RETURNED,), after, (join,))

    def _joins_once_more(self, m: Memory) -> Iterator[Outcome]:
        """The member joins in this poll; the error of its heartbeat is thrown by the next one."""
        error = m.client.failed
        for then in self._send_join(evolve(m, client=evolve(m.client, failed=NONE))):
            assert then.after is not None
            client = evolve(then.after.client, failed=error)
            yield attrs.evolve(then, after=evolve(then.after, client=client))

    def _installs(self, m: Memory, given: Input) -> list[Outcome]:
        if given.during != During.BEATS:
            return super()._installs(m, given)
        return list(self._hears_at_the_end(m, given.code))

    def _hears_at_the_end(self, m: Memory, code: int) -> Iterator[Outcome]:
        """onPartitionsRevoked and onPartitionsAssigned of onJoinComplete, and those of the
        onJoinPrepare that follows in the same poll if the member has to join again.
        """
        for _, now in self._fire(join_complete, m):
            here = evolve(m, client=clean(now["client"]))
            if now["client"].prepare != Prepare.REVOKING:
                yield from self._hears_assigned(Outcome((), here), code)
                continue
            told = self._heard(here, "revoked", code)
            assert told.after is not None
            for now in self._ends(told.after, RETURNED):
                over = evolve(told.after, client=clean(now["client"]))
                first = attrs.evolve(told, rules=(*told.rules, RETURNED), after=over)
                yield from self._hears_assigned(first, code)

    def _hears_assigned(self, first: Outcome, code: int) -> Iterator[Outcome]:
        """The outcomes that follow onPartitionsRevoked of onJoinComplete, `first`."""
        assert first.after is not None
        told = self._heard(first.after, "assigned", code)
        here = told.after
        assert here is not None
        heard = (*first.beats, *told.beats)
        c = evolve(here.client, failed=NONE)
        found = [Outcome((), here)]
        if heard and here.known and wants_to_join(c):
            begun = list(self._begins(here))
            found = [o for running in begun for o in self._hears(running, code, c)]
            found = found or list(self._joins_once_more(here))
        for then in found if heard else []:
            yield attrs.evolve(
                then,
                rules=(*first.rules, *told.rules, *then.rules),
                reason=then.reason or told.reason,
                installed=True,
                beats=(*heard, *then.beats),
            )

    def _unsubscribes(self, m: Memory, given: Input) -> Iterator[Outcome]:
        if given.during != During.BEATS:
            yield from super()._unsubscribes(m, given)
            return
        idly = Input(Does.UNSUBSCRIBE)
        called = [name for o in super()._unsubscribes(m, idly) for name, _ in callbacks(m, o)]
        for name in called:
            told = self._heard(m, name, given.code)
            if told.beats:
                assert told.after is not None
                for left in super()._unsubscribes(told.after, idly):
                    gave_up = (m.client.generation, m.client.id)
                    rules = self._application_rules(told)
                    yield attrs.evolve(left, rules=rules, gave_up=gave_up, beats=told.beats)


def _reason(code: int, now: Client) -> str | None:
    """Why the member joins again after an answer to a heartbeat; None: as it was before."""
    if code == REBALANCE_IN_PROGRESS and now.rejoin:
        return "group is already rebalancing"
    if now.state == Member.UNJOINED:
        return f"encountered {name_of(code).partition(' ')[2]} from HEARTBEAT response"
    return None
