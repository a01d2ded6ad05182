"""The member's rows by the rules of a group whose rebalance callbacks take time (`callbacks`): what
a poll does is what several steps of the group's model do one after the other.

onPartitionsRevoked of onJoinPrepare begins (`call_back`), the application commits or throws in it,
its heartbeat thread leaves the group meanwhile, and it ends (`callback_runs`). A cooperative member
calls it in onJoinComplete; there the group's model knows that it returns and that it commits, and
`application` says what else may happen, as it does of onPartitionsLost and onPartitionsAssigned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import attrs

from groupcheck.model.engine import but
from groupcheck.model.protocol.classic.callbacks import call_back, callback_runs
from groupcheck.model.protocol.classic.client import (
    Client,
    Prepare,
    commit_answer,
    must_commit_first,
)
from groupcheck.model.protocol.messages import NO_ID, Answer
from groupcheck.oracles.conform.member.application import (
    LEAVES,
    UNREACHED,
    ApplicationRows,
    raised_by,
    reason_of,
    without_commit,
)
from groupcheck.oracles.conform.member.firing import clean, dirty
from groupcheck.oracles.conform.member.parts import (
    Does,
    During,
    Failed,
    Input,
    Memory,
    Outcome,
    Sent,
    commits_in_callback,
)

COMMITTED, RETURNED, THREW = callback_runs.names
OF_CALLBACKS = (call_back.name, RETURNED, THREW, COMMITTED)


class CallbackRows(ApplicationRows):
    """The rows of a member of `callbacks` or `cooperative_callbacks`."""

    in_one_poll: ClassVar[bool] = True

    def _told(self, outcome: Outcome) -> tuple[str, ...]:
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
                after = but(done.after, client=clean(now["client"]))
                yield attrs.evolve(done, rules=(*done.rules, RETURNED), after=after)

    def _begins(self, m: Memory) -> Iterator[Memory]:
        """onPartitionsRevoked of onJoinPrepare runs."""
        for _, now in self._fire(call_back, m):
            yield but(m, client=clean(now["client"]))

    def _ends(self, m: Memory, how: str) -> Iterator[dict[str, Any]]:
        """What follows if the callback ends so, or commits."""
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
                over = but(m, client=clean(now["client"]))
                for lost in super()._broken_under(over, does):
                    gave_up = (m.client.generation, m.client.id)
                    yield attrs.evolve(lost, gave_up=gave_up)

    def _prepares(self, m: Memory, given: Input) -> list[Outcome]:
        """What `ApplicationRows` says of onPartitionsRevoked, by the rules of the group's model."""
        c = m.client
        waited = without_commit(but(m, failed=Failed.NOTHING) if m.failed == Failed.COMMIT else m)
        if must_commit_first(dirty(c), self.scope):  # its time is over
            waited = but(waited, client=but(c, prepare=Prepare.COMMITTED))
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
        elif given.during == During.OUTLASTS:
            for now in self._ends(m, RETURNED):
                after = but(m, client=clean(now["client"]))
                gave_up = (was.generation, was.id)
                lost = Outcome((RETURNED,), after, gave_up=gave_up, reason=UNREACHED)
                yield from self._cut(lost)

    def _commits_and_ends(self, m: Memory, given: Input, was: Client) -> Iterator[Outcome]:
        """commitSync throws if it is refused, and the callback with it."""
        for begun in self._ends(m, COMMITTED):
            answer = Answer(begun["link"].request, given.code)
            for name, now in self._fire(commit_answer, m, answer=answer):
                if now["client"].prepare == Prepare.REVOKING:
                    for then in self._ends(but(m, client=now["client"]), RETURNED):
                        yield self._joins_behind(m, then, was)
                    continue
                # Nobody remembers the error of a commit that was waited for.
                client = but(now["client"], failed=was.failed)
                late = self._late_id(m, client, name, given.code)
                after = but(m, late_id=late)
                told = raised_by(after, client, was, reason_of(name, given.code))
                yield attrs.evolve(told, rules=(COMMITTED,))

    def _joins_behind(self, m: Memory, now: dict[str, Any], was: Client) -> Outcome:
        """JoinGroup is sent behind a commit that was accepted."""
        join = now["link"].request
        client, flight = clean(now["client"]), (*m.flight, Sent(join))
        after = but(m, client=client, flight=flight, late_id=NO_ID)
        gave_up = (was.generation, was.id)
        return Outcome((COMMITTED, RETURNED), after, (join,), gave_up=gave_up)

    def _leaves_meanwhile(self, m: Memory, was: Client) -> Iterator[Outcome]:
        """The heartbeat thread leaves; the member joins as a new one once the callback is over."""
        for left in self._left(m, unheard=False):
            assert left.after is not None
            for now in self._ends(left.after, RETURNED):
                for then in self._send_join(but(left.after, client=clean(now["client"]))):
                    assert then.after is not None
                    # resetStateAndRejoin asks for another onJoinPrepare.
                    client = but(then.after.client, prepare=Prepare.NEEDED)
                    yield attrs.evolve(
                        then,
                        after=but(then.after, client=client),
                        rules=(RETURNED,),
                        sent=(*left.sent, *then.sent),
                        gave_up=(was.generation, was.id),
                        reason=LEAVES,
                    )
