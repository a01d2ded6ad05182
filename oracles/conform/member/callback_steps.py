"""The steps of a group whose rebalance callbacks take time (`callbacks`), compared with the rows.

In the rows a callback is a part of a poll. So its steps are compared as the sequence that the poll
is: it begins, something happens while it runs, it ends, and the member joins if that poll joins.
Each such sequence has a row: the callback does nothing, throws, commits, lasts too long, outlasts
the session, or a heartbeat is answered meanwhile. Nothing else can happen while it runs. All other
steps are compared as those of any group.

What it leaves out:

- 82 while a callback runs. The application of the group's member stops, but no member of these
  groups has an instance id.
- What follows if the member has left its generation or lost its coordinator while the callback ran.
  The group's member between that callback and its JoinGroup is in the middle of a poll.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic import client_faults as faults
from groupcheck.model.protocol.classic.client import Client, Member, Prepare
from groupcheck.model.protocol.classic.features.callbacks import call_back, callback_runs
from groupcheck.model.protocol.codes import FENCED_INSTANCE_ID
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    Store,
)
from groupcheck.oracles.conform.member.application import ANSWERS
from groupcheck.oracles.conform.member.callback_rows import (
    COMMITTED,
    HEARD,
    RETURNED,
    THREW,
    CallbackRows,
)
from groupcheck.oracles.conform.member.expected_steps import Effect, ExpectedSteps, Standing
from groupcheck.oracles.conform.member.group_steps import GroupSteps, Misfit
from groupcheck.oracles.conform.member.member_memory import Does, During, Input, Memory, Outcome
from groupcheck.oracles.conform.member.model_rules import POLL_TIMEOUT, SEND_HEARTBEAT, SEND_JOIN

JOINED = f"{SEND_JOIN}:sent"
# What may fire while a callback runs. The heartbeat thread sends no heartbeat that changes nothing.
MEANWHILE = (callback_runs.name, SEND_HEARTBEAT, POLL_TIMEOUT, faults.crash.name)
UNFENCED = tuple(code for code in ANSWERS if code != FENCED_INSTANCE_ID)
LASTS, OUTLASTS = (Input(Does.POLL, during=how) for how in (During.LASTS, During.OUTLASTS))


class ExpectedCallbackSteps(ExpectedSteps):
    """The actions that each rule must take where callbacks take time."""

    def calls_back(self, at: Standing, m: Memory) -> Memory | None:
        """The member whose next poll calls onPartitionsRevoked and joins; None if it does not."""
        begins = self.before_joining(at, m)
        polled = self.row(begins, Input(Does.POLL)) if begins else None
        return begins if polled and call_back.name in polled.rules else None

    def _lost(self, at: Standing, m: Memory) -> Iterator[tuple[Request, Memory | None, Input]]:
        """A JoinGroup that follows a callback is lost after the step in which the callback ends."""
        calls = self.calls_back(at, m) is not None
        for request, after, given in super()._lost(at, m):
            if not (calls and isinstance(request, JoinGroup)):
                yield request, after, given


class CallbackSteps(GroupSteps):
    """All steps of such a member in the group's model."""

    told_by = CallbackRows
    counterparts = ExpectedCallbackSteps
    _counterparts: ExpectedCallbackSteps

    def _polls(self, rule: str, at: Standing) -> list[Effect]:
        """A poll in which a callback begins is over when it has returned."""
        begun = list(self._fire(rule, at))
        if rule == SEND_JOIN:
            joined = [d for b in self._fire(call_back.name, at) for d in self._runs(b, RETURNED)]
            return [*begun, *(attrs.evolve(d, name=JOINED) for d in joined)]
        return [done for b in begun for done in (self._runs(b, RETURNED) if _running(b) else [b])]

    def _steps(self, at: Standing) -> Iterator[Standing | Misfit]:
        yield from super()._steps(at)
        m = at.memory
        if m is None or at.client.failed:
            return
        begins = self._counterparts.calls_back(at, m)
        begun = list(self._fire(call_back.name, at))
        if len(begun) != (begins is not None):
            yield self._misfit(f"{call_back.name} fires {len(begun)} times", Input(Does.POLL))
        elif begins is not None:
            yield from self._in_callback(begun[0], begins)
            yield from self._ends_early(begun[0], begins)
        for done in filter(_running, self._fire(members.join_complete.name, at)):
            yield from self._in_callback(done, m)
            for code in UNFENCED:
                yield from self._commits(done, m, code)

    # -- while a callback runs

    def _in_callback(self, begun: Effect, m: Memory) -> Iterator[Misfit]:
        """Checks the events while it runs, each time until the end of the poll. `m`: the rows'
        member before that poll.
        """
        yield from self._nothing_else(begun)
        yield from self._leaves(begun, m)
        for ended in self._runs(begun, RETURNED):
            yield from self._as_its_row(ended, m, OUTLASTS)
        request = Heartbeat(begun.client.id, begun.client.generation)
        for code in HEARD:
            if code == FENCED_INSTANCE_ID:
                continue
            given = Input(Does.POLL, during=During.BEATS, code=code)
            answered = evolve(begun.link, answer=Answer(request, code))
            heard = attrs.evolve(begun, link=answered)
            told = self._fires(members.heartbeat_answer.name, heard)
            ended_in = [done for now in told for done in self._runs(now, RETURNED)]
            yield from self._one(ended_in, m, given)

    def _nothing_else(self, begun: Effect) -> Iterator[Misfit]:
        at, given = _standing(begun), Input(Does.POLL)
        fired = {rule: list(self._fire(rule, at)) for rule in self._rules}
        for rule, found in fired.items():
            if found and rule not in MEANWHILE:
                yield self._misfit(f"{_named(found)} while a callback runs", given)
        gone = [done.client for done in fired[faults.crash.name]]
        if gone != [Client()]:
            yield self._misfit(f"a crash in a callback leads to {gone}", given)
        beats = [d.link for d in fired[SEND_HEARTBEAT]]
        request = Heartbeat(begun.client.id, begun.client.generation)
        if beats != [Link(request=request)] * (not begun.client.rejoin):
            yield self._misfit(f"heartbeats in a callback: {beats}", given)

    def _leaves(self, begun: Effect, m: Memory) -> Iterator[Misfit]:
        """The heartbeat thread leaves; its LeaveGroup is heard or not."""
        left = self._fires(POLL_TIMEOUT, begun)
        heard = Link(request=LeaveGroup(begun.client.id))
        if [(d.name, d.link) for d in left] != [
            (f"{POLL_TIMEOUT}:heard", heard),
            (f"{POLL_TIMEOUT}:unheard", Link()),
        ]:
            yield self._misfit(f"{_named(left)} in a callback", LASTS)
        for done in left:
            idle = attrs.evolve(done, link=Link())
            yield from self._one(self._runs(idle, RETURNED), m, LASTS)

    # -- how it ends

    def _ends_early(self, begun: Effect, m: Memory) -> Iterator[Standing | Misfit]:
        """onPartitionsRevoked of onJoinPrepare throws, or its commit is answered."""
        given = Input(Does.POLL, during=During.THROWS)
        threw = self._runs(begun, THREW)
        yield from self._one(threw, m, given)
        yield from self._goes_on(threw, m, given)
        for code in UNFENCED:
            yield from self._commits(begun, m, code)

    def _commits(self, begun: Effect, m: Memory, code: int) -> Iterator[Standing | Misfit]:
        """The application commits what it has processed and was not told is committed, and the
        commit is answered. A callback whose commit is accepted, or may be sent again, returns.
        """
        given = Input(Does.POLL, during=During.COMMITS, code=code)
        sent = self._runs(begun, COMMITTED)
        c = begun.client
        commit = OffsetCommit(c.id, c.generation, c.position)
        if [d.link for d in sent] != [Link(request=commit)] * c.dirty:
            yield self._misfit(f"{_named(sent)} in a callback", given)
            return
        request = commit if code else Store(commit)
        for begun_commit in sent:
            answered = attrs.evolve(begun_commit, link=Link(answer=Answer(request, code)))
            told = self._fires(members.commit_answer.name, answered)
            ended = [
                d for now in told for d in (self._runs(now, RETURNED) if _running(now) else [now])
            ]
            yield from self._one(ended, m, given)
            if begun.client.granted < 0:
                yield from self._goes_on(ended, m, given)

    def _goes_on(self, ended: list[Effect], m: Memory, given: Input) -> Iterator[Standing | Misfit]:
        row = self._counterparts.row(m, given)
        for done in ended if row and row.after else []:
            assert row is not None
            yield from self._rests(done.client, done.link, -1, row.after, given)

    def _one(self, ended: list[Effect], m: Memory, given: Input) -> Iterator[Misfit]:
        """A sequence has one end, and its row has the same."""
        if len(ended) != 1:
            yield self._misfit(f"a callback ends in {_named(ended)}", given)
        for done in ended:
            yield from self._as_its_row(done, m, given)

    def _as_its_row(self, ended: Effect, m: Memory, given: Input) -> Iterator[Misfit]:
        """Does the poll end as its row says? A member that is outside its generation when the
        callback ends joins in the same poll. One whose onJoinComplete throws runs it in the next
        one.
        """
        row = self._counterparts.row(m, given)
        if row and row.after and row.raised and row.installed:
            row = self._counterparts.row(row.after, Input(Does.POLL))
        if row is None or row.after is None:
            yield self._misfit("the sequence has no row", given)
            return
        done, polled = ended, self._joins_in(ended, row)
        if polled is None or polled.after is None:
            yield self._misfit("its commit is never accepted", given)
            return
        if polled.sent and done.link.idle and not row.raised:
            joined = list(self._fire(SEND_JOIN, _standing(done)))
            if len(joined) != 1:
                yield self._misfit("a member that was told to rejoin does not join", given)
                return
            (done,) = joined
        sent = [r for r in polled.sent if isinstance(r, JoinGroup | OffsetCommit)]
        if polled.after.known and done.link != Link(request=sent[-1] if sent else None):
            yield self._misfit(f"{_named([done])} sends {done.link}, in the rows {sent}", given)
        after = polled.after
        if after.client.state == Member.PREPARING and after.client.prepare == Prepare.NEEDED:
            # resetStateAndRejoin asks for another onJoinPrepare, in which nothing is left to do.
            after = evolve(after, client=evolve(after.client, prepare=Prepare.DONE))
        yield from self._same(done.client, after, given)

    def _joins_in(self, ended: Effect, row: Outcome) -> Outcome | None:
        """The rows' poll, for a group's member that commits only what is not committed."""
        first = isinstance(row.sent[0], OffsetCommit) if row.sent else False
        return self._counterparts.joins(row, ended.client.dirty) if first else row

    # -- the rules

    def _runs(self, begun: Effect, how: str) -> list[Effect]:
        return [d for d in self._fire(callback_runs.name, _standing(begun)) if d.name == how]

    def _fires(self, rule: str, before: Effect) -> list[Effect]:
        return list(self._fire(rule, _standing(before)))


def _running(done: Effect) -> bool:
    return done.client.prepare == Prepare.REVOKING


def _standing(done: Effect) -> Standing:
    return Standing(done.client, done.link, -1, None)


def _named(fired: list[Effect]) -> str:
    return ", ".join(done.name for done in fired) or "nothing"
