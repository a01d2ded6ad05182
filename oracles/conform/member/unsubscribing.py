"""The rows and steps of a member whose application unsubscribes (the feature `unsubscribe`): what
the model's rule says is executed, where the rows of the application say it for other members.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.client import Prepare
from groupcheck.model.protocol.classic.client_faults import lose_request
from groupcheck.model.protocol.classic.features.unsubscribe import forgets, unsubscribe
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import JoinGroup, LeaveGroup, SyncGroup
from groupcheck.oracles.conform.member.application import ApplicationRows
from groupcheck.oracles.conform.member.expected_steps import (
    Expectation,
    ExpectedSteps,
    Standing,
)
from groupcheck.oracles.conform.member.firing import clean
from groupcheck.oracles.conform.member.group_steps import GroupSteps, Misfit
from groupcheck.oracles.conform.member.member_memory import Does, Input, Memory, Outcome

UNSUBSCRIBE = unsubscribe.name
GIVEN = Input(Does.UNSUBSCRIBE)
UNHEARD = f"{UNSUBSCRIBE}:unheard"


class UnsubscribingRows(ApplicationRows):
    """The rows of such a member."""

    def outcomes(self, m: Memory, given: Input) -> tuple[Outcome, ...]:
        """Those of the application, by the model's rule where it has one: not before a SyncGroup
        was sent, and not without a coordinator.
        """
        usual = super().outcomes(m, given)
        if given != GIVEN or not m.known:
            return usual
        joins = [s.request for s in m.flight if isinstance(s.request, JoinGroup | SyncGroup)]
        parked = joins[0] if joins else None
        fired = [f for f in self._fire(unsubscribe, m, parked=parked) if f[0] != UNHEARD]
        if not fired:
            return usual
        ((name, now),) = fired
        (told,) = usual
        assert told.after is not None
        after = evolve(told.after, client=clean(now["client"]))
        return (attrs.evolve(told, rules=(name,), after=after),)


class ExpectedUnsubscribing(ExpectedSteps):
    """The outcomes that its rule must have."""

    def of(self, rule: str, at: Standing) -> list[Expectation]:
        """The outcomes that the rule must have; none if it must not fire."""
        if rule != UNSUBSCRIBE:
            return super().of(rule, at)
        return list(self._unsubscribes(at, at.memory)) if at.memory else []

    def _unsubscribes(self, at: Standing, m: Memory) -> Iterator[Expectation]:
        """Left out are a member that has something else to send first, and a call that changes
        nothing.
        """
        row, link = self.row(m, GIVEN), at.link
        unread = bool(link.queue) and link.parked is None
        nothing = forgets(at.client) == at.client
        if row is None or row.after is None or unread or nothing:
            return
        if m.client.prepare == Prepare.SYNC:
            return
        spends = (UNSUBSCRIBE,)
        leave = next((r for r in row.sent if isinstance(r, LeaveGroup)), None)
        if leave is None:
            yield Expectation(f"{UNSUBSCRIBE}:silent", link, row.after, GIVEN, None, spends)
            return
        sent = evolve(link, queue=(*link.queue, leave)) if not link.idle else Link(request=leave)
        name = f"{UNSUBSCRIBE}:{'heard' if link.idle else 'behind'}"
        yield Expectation(name, sent, row.after, GIVEN, None, spends)
        lost = self._broken(row.after)
        yield Expectation(UNHEARD, Link(), lost, GIVEN, None, (*spends, lose_request.name))


class UnsubscribingSteps(GroupSteps):
    """All steps of such a member in the group's model."""

    told_by = UnsubscribingRows
    counterparts = ExpectedUnsubscribing

    def _steps(self, at: Standing) -> Iterator[Standing | Misfit]:
        yield from super()._steps(at)
        if at.memory is not None and at.memory.known and not at.client.failed:
            yield from self._compared(UNSUBSCRIBE, at)
